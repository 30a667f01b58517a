"""No include and no Bazel dep of oneflow/ goes up or sideways (tools/layers.txt), and the check
finds planted ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.checks import layers, workspace

ROOT = workspace.root()
LAYERS = layers.parse((ROOT / "tools/layers.txt").read_text())


def problems(path: str, text: str) -> list[str]:
    read = (
        layers.includes
        if path.endswith((".h", ".cc", ".cu", ".cuh", ".inc"))
        else layers.dependencies
    )
    found = [layers.problem(use, LAYERS) for use in read(path, text)]
    return [text for text in found if text]


def sources() -> list[Path]:
    suffixes = (".h", ".cc", ".cu", ".cuh", ".inc", "BUILD.bazel", "BUILD")
    files = workspace.files(ROOT, suffixes)
    return [f for f in files if f.parts[0] == layers.TOP and len(f.parts) > 2]


def test_every_use_goes_down() -> None:
    found = []
    for path in sources():
        found += problems(str(path), (ROOT / path).read_text())
    assert found == []


def test_looks_at_files() -> None:
    assert len(sources()) > 20
    assert Path("oneflow/common/maybe.h") in sources()


def test_folders_are_layers() -> None:
    lost = {str(f.parent) for f in sources() if not layers.layer_of(str(f.parent)[8:], LAYERS)}
    assert lost == set()


PLANTED = [
    ("oneflow/common/x.h", '#include "oneflow/core/shape.h"\n', "common goes up to core"),
    ("oneflow/vm/x.cc", '#include "oneflow/graph/plan.h"\n', "vm goes up to graph"),
    ("oneflow/device/x.cc", '# include "oneflow/device/cpu/x.h"', "device goes up to device/cpu"),
    ("oneflow/kernels/cpu/x.cc", '#include "oneflow/kernels/cuda/x.h"', "are siblings"),
    ("oneflow/comm/gloo/x.h", "#include <oneflow/comm/nccl/x.h>", "are siblings"),
    ("oneflow/functional/x.h", '#include "oneflow/profiler/trace.h"', "only boot, api/python"),
    ("oneflow/vm/x.cc", '#include "../graph/plan.h"', "'..'"),
    ("oneflow/vm/x.cc", '#include "oneflow/boot/env.h"', "vm goes up to boot"),
    ("oneflow/vm/x_test.cc", '#include "oneflow/graph/x.h"', "vm goes up to graph"),
    ("oneflow/vm/x.cc", '#include "oneflow/helpers/x.h"', "in no layer"),
    (
        "oneflow/core/BUILD.bazel",
        'of_cc_library(name = "a", deps = ["//oneflow/common:b", "//oneflow/vm:stream"])',
        "core goes up to vm",
    ),
    (
        "oneflow/device/cpu/BUILD.bazel",
        'cc_library(name = "a", deps = select({"x": ["//oneflow/device/cuda"], "y": []}))',
        "are siblings",
    ),
    (
        "oneflow/op/BUILD.bazel",
        '[of_cc_library(name = n, srcs = ["//oneflow/api/python:x.cc"]) for n in ["a"]]',
        "op goes up to api/python",
    ),
]


@pytest.mark.parametrize(("path", "text", "expected"), PLANTED)
def test_finds_a_planted_fault(path: str, text: str, expected: str) -> None:
    found = problems(path, text)
    assert len(found) == 1
    assert expected in found[0]


ALLOWED = [
    ("oneflow/vm/x.cc", '#include "oneflow/vm/stream.h"\n#include "oneflow/kernels/cpu/x.h"'),
    ("oneflow/vm/x_test.cc", '#include "oneflow/boot/env.h"'),
    ("oneflow/boot/x.cc", '#include "oneflow/profiler/trace.h"'),
    ("oneflow/device/cuda/x.cc", '#include "oneflow/device/stream.h"'),
    ("oneflow/vm/BUILD.bazel", 'of_cc_test(name = "a", deps = ["//oneflow/boot:env"])'),
    ("oneflow/core/BUILD.bazel", 'cc_library(name = "a", visibility = ["//oneflow/vm:x"])'),
]


@pytest.mark.parametrize(("path", "text"), ALLOWED)
def test_allows_what_goes_down(path: str, text: str) -> None:
    assert problems(path, text) == []
