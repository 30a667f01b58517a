"""Scaffolds an op: its row in the op table, with samples, and with --kernel a kernel file.

    tools/new_op square --family elementwise
    tools/new_op tanh --family elementwise --kernel

What it writes builds and passes its tests as it is, for an op that copies its operand; change it
from there. Needs nothing but Python.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

_ROW = """
- name: {name}
  signature: "{name}(Tensor input) -> Tensor"
  doc:
    summary: Copies its operand.
    formula: "out = input"
    args: {{input: tensor of any shape}}
    returns: tensor of input's shape and dtype
    errors: ["NotImplementedError: no kernel for input's dtype"]
    example: |
      >>> flow._C.{name}(flow.tensor([1.0, 2.0])).numpy().tolist()
      [1.0, 2.0]
{body}  numpy: "input"
  samples: {{strategy: elementwise{dtypes}}}
"""

_COMPOSITE = """\
  composite: copy(input)
"""

_PRIMITIVE = """\
  meta: InferFloatingUnary
  sbp: SbpElementwise
  backward: {{input: dy}}
  kernels: {{cpu: [{name}.cpu.reference]}}
"""

_KERNEL = """\
// The kernel {name}: out = input.
#include "oneflow/kernels/cpu/math/unary_kernel.h"

namespace oneflow {{
namespace cpu {{

namespace {{

struct Formula {{
  template <typename T>
  static T Apply(T x) {{
    return x;
  }}
}};

ONEFLOW_REGISTER_UNARY_KERNEL({name}, Formula);

}}  // namespace

}}  // namespace cpu
}}  // namespace oneflow
"""

_NEXT = """\
Next: change what was written; then
  tools/bazel run //tools/gen:update                 # the reference page and the stubs
  tools/bazel test //python/tests/ops/... //tools/gen/...
docs/adding_an_op.md says what each column means."""


class Refusal(Exception):
    """What the user asked cannot be done; the text says why."""


def check_row(root: Path, family: str, name: str) -> None:
    """Refuses an unknown family, and a name that is taken."""
    folder = root / "oneflow/functional/ops"
    if not (folder / f"{family}.yaml").exists():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.yaml")))
        raise Refusal(f"no family `{family}`; there are {known}")
    for other in sorted(folder.glob("*.yaml")):
        for number, line in enumerate(other.read_text(encoding="utf-8").splitlines(), 1):
            if line == f"- name: {name}":
                raise Refusal(f"`{name}` is in the table already: {other.name}:{number}")


def add_row(root: Path, family: str, name: str, kernel: bool) -> Path:
    """Appends the row to its family; returns the file."""
    path = root / f"oneflow/functional/ops/{family}.yaml"
    body = _PRIMITIVE.format(name=name) if kernel else _COMPOSITE
    dtypes = ", dtypes: [float32, float64]" if kernel else ""
    text = path.read_text(encoding="utf-8").rstrip("\n") + "\n"
    path.write_text(text + _ROW.format(name=name, body=body, dtypes=dtypes), encoding="utf-8")
    return path


def add_kernel(root: Path, name: str) -> list[Path]:
    """Writes the kernel file, and its line in the build; returns both."""
    folder = root / "oneflow/kernels/cpu"
    build = folder / "BUILD.bazel"
    if build.exists() and f'name = "{name}"' in build.read_text(encoding="utf-8"):
        raise Refusal(f"oneflow/kernels/cpu has a target `{name}` already")
    kernel, listing = folder / f"{name}.cc", folder / "single_file_kernels.bzl"
    kernel.write_text(_KERNEL.format(name=name), encoding="utf-8")
    text = listing.read_text(encoding="utf-8")
    names = sorted({*re.findall(r'^    "(\w+)",$', text, re.MULTILINE), name})
    head = text[: text.index("[") + 1]
    listing.write_text(
        head + "\n" + "".join(f'    "{n}",\n' for n in names) + "]\n", encoding="utf-8"
    )
    return [kernel, listing]


def main(arguments: Sequence[str], root: Path) -> int:
    """Scaffolds; 1 and one line of text when that cannot be done."""
    parser = argparse.ArgumentParser(
        prog="tools/new_op", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("name", help="name of the op, as in Python")
    parser.add_argument("--family", default="elementwise", help="file of the op table")
    parser.add_argument("--kernel", action="store_true", help="no existing op can express it")
    options = parser.parse_args(arguments)
    try:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", options.name):
            raise Refusal(f"`{options.name}` is no name for an op: use lower case and `_`")
        check_row(root, options.family, options.name)
        if options.kernel and (root / f"oneflow/kernels/cpu/{options.name}.cc").exists():
            raise Refusal(f"oneflow/kernels/cpu/{options.name}.cc exists already")
        written = add_kernel(root, options.name) if options.kernel else []
        written.append(add_row(root, options.family, options.name, options.kernel))
    except Refusal as refusal:
        print(f"tools/new_op: {refusal}", file=sys.stderr)
        return 1
    for path in written:
        print(f"wrote {path.relative_to(root)}")
    print(_NEXT)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).resolve().parents[2]))
