"""Rows: a fault is said with file:line and the op; the real table is sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.gen import emit_functional
from tools.gen.main import PARTS, generate, main
from tools.gen.table import load_families
from tools.gen.yaml_lines import TableError

GOOD = """\
- name: twice
  signature: "twice(Tensor input, *, Scalar alpha=2) -> Tensor"
  doc:
    summary: Doubles.
    args: {input: tensor, alpha: factor}
    returns: tensor
    errors: []
    example: ">>> 1"
  attrs: {struct: ScalarAttrs, fields: {value: alpha}}
  meta: InferUnary
  sbp: SbpElementwise
  backward: {input: dy}
  kernels: {cpu: [twice.cpu.vector]}
"""


def check(tmp_path: Path, text: str) -> None:
    """Loads a table of this text, and emits all of it."""
    (tmp_path / "ops.yaml").write_text(text, encoding="utf-8")
    families = load_families([tmp_path / "ops.yaml"], tmp_path)
    for part in PARTS:
        generate(part, families)


def test_the_row_that_the_faults_are_planted_in_is_good(tmp_path: Path) -> None:
    check(tmp_path, GOOD)


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("meta:", "mata:", 10, "no column `mata`"),
        ("  meta: InferUnary\n", "", 1, "needs `meta`"),
        ("  meta: InferUnary", "  meta: [1]", 10, "`meta` expects str"),
        ("  meta: InferUnary", "  meta: A\n  meta: B", 11, "given twice"),
        ("Scalar alpha=2", "Number alpha=2", 2, "no known type"),
        ('"twice(', '"thrice(', 2, "called `thrice`"),
        ("summary: Doubles.", "summary: Doubles", 4, "full stop"),
        ("alpha: factor}", "beta: factor}", 5, "expects input, alpha"),
        ("    returns: tensor\n", "", 3, "lacks `returns`"),
        ('    example: ">>> 1"\n', "", 3, "lacks `example`"),
        ("fields: {value: alpha}", "fields: {value: 1}", 9, "fills no attribute"),
        ("fields: {value: alpha}", "fields: {value: alpha, x: beta}", 9, "`beta` is no parameter"),
        ("backward: {input: dy}", "backward: {x: dy}", 12, "`x` is no tensor"),
        ("backward: {input: dy}", "backward: {input: dx}", 12, "no operand, output"),
        ("backward: {input: dy}", 'backward: {input: "f(dy)"}', 12, "`f` is no op"),
        ("backward: {input: dy}", 'backward: {input: "twice(dy, 3)"}', 12, "too many arguments"),
        ("backward: {input: dy}", 'backward: {input: "twice(dy, b=3)"}', 12, "no parameter `b`"),
        ("backward: {input: dy}", "backward: {input: out2}", 12, "no output 2"),
        ("backward: {input: dy}", "backward: {input: input.size}", 12, "only shape"),
        ("backward: {input: dy}", "backward: {input: input.shape}", 12, "is no tensor"),
        ("backward: {input: dy}", 'backward: {input: "dy +"}', 12, "no Python expression"),
        ("backward: {input: dy}", "syncs: true", 1, "either `backward` or"),
        ("kernels: {cpu: [twice.cpu.vector]}", "kernels: {cpu: []}", 13, "expects `kernels"),
        ("twice.cpu.vector", "twice.vector", 13, "not called"),
        ("kernels: {cpu:", "kernels: {tpu: [], cpu:", 13, "no `tpu`"),
        ("kernels:", "is_view: true\n  kernels:", 14, "a view runs no kernel"),
        ("kernels:", "composite: Twice\n  kernels:", 9, "a composite row has no `attrs`"),
        ("kernels:", "promotes: maybe\n  kernels:", 13, "expects none, common"),
        ("kernels:", "inplace: {name: twice}\n  kernels:", 13, "must end in `_`"),
        ("kernels:", "inplace: {name: t_, failure: x}\n  kernels:", 13, "expects one of"),
        ("kernels:", "random: slot\n  attrs2: 1\n  kernels:", 14, "no column `attrs2`"),
        ("kernels:", "numpy: '1 +'\n  kernels:", 13, "no Python expression"),
        ("kernels:", "numpy: input\n  kernels:", 13, "nothing to compare"),
        ("kernels:", "python: {in: [class]}\n  kernels:", 13, "`in` expects"),
        ("kernels:", "bad_inputs: [{args: {}, error: E, match: x}]\n  kernels:", 13, "bad input"),
        ("- name: twice", "- name: Twice", 1, "no name for an op"),
        ("doc:", "doc: {a: [}\n  x:", 3, "not YAML"),
    ],
)
def test_faults_are_said_with_their_line(
    tmp_path: Path, old: str, new: str, line: int, reason: str
) -> None:
    assert old in GOOD
    with pytest.raises(TableError) as caught:
        check(tmp_path, GOOD.replace(old, new, 1))
    assert reason in str(caught.value)
    assert str(caught.value).startswith(f"ops.yaml:{line}: ")


def test_a_name_is_given_once(tmp_path: Path) -> None:
    with pytest.raises(
        TableError, match=r"ops.yaml:14: op `twice`: `twice` is already .* ops.yaml:1"
    ):
        check(tmp_path, GOOD + GOOD)


def test_main_prints_the_fault_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ops.yaml").write_text(GOOD.replace("meta", "mata"), encoding="utf-8")
    status = main(["--out", str(tmp_path), "--part", "stubs", str(tmp_path / "ops.yaml")])
    assert status == 1
    assert "ops.yaml:10: op `twice`: no column `mata`" in capsys.readouterr().err


def test_a_family_names_its_headers(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_text("- includes: [oneflow/op/rules_x.h]\n" + GOOD, encoding="utf-8")
    families = load_families([path], tmp_path)
    assert [row.name for row in families[0].rows] == ["twice"]
    for part, name in (("functional", "functional_ops.cc"), ("op_defs", "op_defs_ops.cc")):
        assert '#include "oneflow/op/rules_x.h"' in generate(part, families)[name]


@pytest.mark.parametrize("headers", ["rules.h", "[rules.h]", "[oneflow/op/rules_x.cc]"])
def test_headers_are_a_list_of_ours(tmp_path: Path, headers: str) -> None:
    with pytest.raises(TableError, match="ops.yaml:1: `includes` expects a list"):
        check(tmp_path, f"- includes: {headers}\n" + GOOD)


def test_the_table_of_the_project_is_sound() -> None:
    paths = sorted(Path("oneflow/functional/ops").glob("*.yaml"))
    families = load_families(paths)
    assert sum(len(family.rows) for family in families) >= 40
    source = emit_functional.files(families)["functional_elementwise.cc"]
    assert "Maybe<TensorPtr> add(const TensorPtr& input" in source
