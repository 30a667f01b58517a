"""44: other large extensions, scikit-learn with its own OpenMP runtime among them, imported before
or after; torch and pyarrow too where the interpreter has them. A graph that ran and one that never
did are alive at the end.
"""

import importlib
import importlib.util
from typing import Any

import way_out


def others() -> Any:
    """Uses what it imports, so that their threads start."""
    import numpy as np
    from scipy import linalg
    from sklearn.cluster import KMeans

    for name in ("torch", "pyarrow"):
        if importlib.util.find_spec(name):
            importlib.import_module(name)
    points = np.array([[0.0], [0.1], [9.0], [9.1]])
    clusters = KMeans(2, n_init=1, random_state=0).fit(points).labels_
    return linalg.det(np.eye(200) * 1.0) * 2, len(set(clusters))


if way_out.case() == "before":
    determinant, clusters = others()

import oneflow as flow  # noqa: E402

if way_out.case() == "after":
    determinant, clusters = others()

x = flow.ones(2, 2)
print((x @ x).sum().item(), determinant, clusters)
y = flow.ones(300, 300) @ flow.ones(300, 300)
run, never_run = (flow.nn.Graph.trace(lambda x: x @ x) for _ in range(2))
z = run(y)
way_out.pause()
