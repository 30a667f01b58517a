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


def test_names_results() -> None:
    got = parse("f(Tensor x) -> (Tensor values, Tensor indices)")
    assert (got.outputs, got.result_names) == (2, ("values", "indices"))
    for wrong in ("(Tensor values, Tensor)", "(Tensor 1, Tensor 2)", "(int values, Tensor x)"):
        with pytest.raises(SignatureError):
            parse(f"f(Tensor x) -> {wrong}")


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
        ("int[]?", [3], "Dims{3}"),
        ("int[*]", [1, 2], "std::vector<int64_t>{1, 2}"),
        ("int[][]", [[1], []], "std::vector<Dims>{Dims{1}, Dims{}}"),
        ("float[]", [1], "std::vector<double>{1.0}"),
        ("Scalar[]", [1, 0.5], "std::vector<Scalar>{Scalar(1), Scalar(0.5)}"),
        ("float?", None, "std::nullopt"),
        ("float?", 2, "2.0"),
        ("bool?", True, "true"),
        ("str?", "none", '"none"'),
        ("ignored", None, "Ignored()"),
        ("Tensor[]", [], "TensorTuple{}"),
    ],
)
def test_defaults_in_cpp(kind: str, value: object, cpp: str) -> None:
    assert cpp_value(kind, value) == cpp


def test_a_list_of_fixed_size_is_made_of_one_integer() -> None:
    pool = parse("pool(Tensor x, int[2] size, int[2]? stride=None, int[2] padding=0) -> Tensor")
    assert [p.size for p in pool.params] == [0, 2, 2, 2]
    assert [p.type for p in pool.params[1:]] == ["int[]", "int[]?", "int[]"]
    assert pool.params[3].default == [0, 0]
    assert not any(p.varargs for p in pool.params)
    shown = pool.text("pool")
    assert shown == "pool(Tensor x, int[2] size, int[2]? stride=None, int[2] padding=[0, 0])"


def test_what_is_ignored_need_not_be_given() -> None:
    clone = parse("clone(Tensor x, *, ignored memory_format=None) -> Tensor")
    assert not clone.params[1].required


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
        ("pool(Tensor x, int[0] n) -> Tensor", "no known type"),
        ("cat(Tensor[] x=None) -> Tensor", "cannot be None"),
        ("add(Tensor x) -> int", "expects a result"),
    ],
)
def test_refuses(text: str, reason: str) -> None:
    with pytest.raises(SignatureError, match=reason):
        parse(text)
