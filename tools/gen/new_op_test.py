"""The scaffolder: what it writes is a sound row, and a kernel that compiles."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.gen.main import PARTS, generate
from tools.gen.new_op import main
from tools.gen.table import load_families


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what the scaffolder reads and writes."""
    rows = tmp_path / "oneflow/functional/ops"
    rows.mkdir(parents=True)
    for source in Path("oneflow/functional/ops").glob("*.yaml"):
        shutil.copy(source, rows / source.name)
    kernels = tmp_path / "oneflow/kernels/cpu"
    kernels.mkdir(parents=True)
    listing = '"""Doc."""\n\nSINGLE_FILE_KERNELS = [\n    "slice_backward",\n]\n'
    (kernels / "single_file_kernels.bzl").write_text(listing, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("options", [[], ["--kernel"]])
def test_the_new_row_is_sound(checkout: Path, options: list[str]) -> None:
    assert main(["brand_new", *options], checkout) == 0
    paths = sorted((checkout / "oneflow/functional/ops").glob("*.yaml"))
    families = load_families(paths, checkout)
    elementwise = next(family for family in families if family.name == "elementwise")
    assert elementwise.rows[-1].name == "brand_new"
    for part in PARTS:
        assert any("brand_new" in text.lower() or "BrandNew" in text
                   for text in generate(part, families).values()) or part == "op_defs"  # fmt: skip


def test_the_kernel_is_listed(checkout: Path) -> None:
    assert main(["brand_new", "--kernel"], checkout) == 0
    folder = checkout / "oneflow/kernels/cpu"
    kernel = (folder / "brand_new.cc").read_text(encoding="utf-8")
    assert "ONEFLOW_REGISTER_UNARY_KERNEL(brand_new, Formula)" in kernel
    listing = (folder / "single_file_kernels.bzl").read_text(encoding="utf-8")
    assert '    "brand_new",\n    "slice_backward",\n' in listing


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["Brand"], "no name for an op"),
        (["add"], "in the table already: elementwise.yaml:5"),
        (["brand_new", "--family", "none"], "no family `none`; there are activation"),
    ],
)
def test_refuses(
    checkout: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    assert main(arguments, checkout) == 1
    assert reason in capsys.readouterr().err


def test_a_target_of_that_name_is_left_alone(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build = checkout / "oneflow/kernels/cpu/BUILD.bazel"
    build.write_text('of_cc_library(\n    name = "isa",\n)\n', encoding="utf-8")
    table = checkout / "oneflow/functional/ops/elementwise.yaml"
    before = table.read_text(encoding="utf-8")
    assert main(["isa", "--kernel"], checkout) == 1
    assert "has a target `isa` already" in capsys.readouterr().err
    assert table.read_text(encoding="utf-8") == before


def test_an_existing_kernel_file_is_left_alone(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = checkout / "oneflow/kernels/cpu/brand_new.cc"
    kernel.write_text("mine", encoding="utf-8")
    assert main(["brand_new", "--kernel"], checkout) == 1
    assert "exists already" in capsys.readouterr().err
    assert kernel.read_text(encoding="utf-8") == "mine"
