"""Signatures: what is read, and what is refused."""

from __future__ import annotations

import pytest

from tools.gen.signature import SignatureError, cpp_value, parse


def test_reads_types_defaults_and_the_star() -> None:
    got = parse("add(Tensor input, Tensor other, *, Scalar alpha=1) -> Tensor")
    assert [p.name for p in got.params] == ["input", "other", "alpha"]
    assert [p.keyword_only for p in got.params] == [False, False, True]
    assert got.params[2].default == 1
    assert got.outputs == 1
    assert got.text("add") == "add(Tensor input, Tensor other, *, Scalar alpha=1)"


def test_counts_outputs() -> None:
    assert parse("f(Tensor x) -> (Tensor, Tensor)").outputs == 2
    assert parse("f(Tensor x) -> Tensor[]").outputs == -1


def test_only_the_last_positional_int_list_takes_varargs() -> None:
    view = parse("view(Tensor input, int[] size) -> Tensor")
    assert view.params[1].varargs
    total = parse("sum(Tensor input, int[] dim, bool keepdim=False) -> Tensor")
    assert not total.params[1].varargs
    named = parse("zeros(int[] size, *, dtype? dtype=None) -> Tensor")
    assert named.params[0].varargs


@pytest.mark.parametrize(
    ("kind", "value", "cpp"),
    [
        ("Tensor?", None, "nullptr"),
        ("int?", None, "std::nullopt"),
        ("Scalar", 1, "Scalar(1)"),
        ("Scalar", True, "Scalar(true)"),
        ("float", 1, "1.0"),
        ("bool", False, "false"),
        ("str", "mean", '"mean"'),
        ("dtype", "float32", "DataType::kFloat"),
        ("int[]", [1, -1], "Dims{1, -1}"),
    ],
)
def test_defaults_in_cpp(kind: str, value: object, cpp: str) -> None:
    assert cpp_value(kind, value) == cpp


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("add(Tensor x)", "expects `name"),
        ("add(Tensr x) -> Tensor", "no known type"),
        ("add(Tensor x, Tensor x) -> Tensor", "twice"),
        ("add(Tensor x, int n=1, int m) -> Tensor", "follows `n`"),
        ("add(Tensor x, *, *, int n=1) -> Tensor", "`\\*` appears twice"),
        ("add(Tensor x, int n=None) -> Tensor", "cannot be None"),
        ("add(Tensor x, int n=1.5) -> Tensor", "no default"),
        ("add(Tensor x, int n=foo) -> Tensor", "no literal"),
        ("add(Tensor X) -> Tensor", "no name"),
        ("add(Tensor x) -> int", "expects a result"),
    ],
)
def test_refuses(text: str, reason: str) -> None:
    with pytest.raises(SignatureError, match=reason):
        parse(text)
