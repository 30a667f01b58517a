"""Files of torch.save: every value, and no code of theirs."""

from __future__ import annotations

import io
import zipfile
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from tests.formats.samples import sample

import oneflow as flow
from oneflow.framework import _safe_pickle


@pytest.fixture(params=["archive", "stream"])
def loaded(request: pytest.FixtureRequest) -> Any:
    """The object of the sample, from both forms."""
    return flow.load(io.BytesIO(sample(f"torch {request.param}")))


def test_tensors(loaded: Any) -> None:
    model = loaded["model"]
    assert isinstance(model, OrderedDict)
    assert model._metadata == {"": {"version": 1}}  # type: ignore[attr-defined]
    base = np.arange(12, dtype=np.float32).reshape(3, 4)
    wanted: dict[str, np.ndarray] = {
        "weight": base / 4,
        "transposed": base.T,
        "part": base[1:, ::2],
        "half": np.array([0.5, 65504], np.float16),
        "ints": np.array([[1, -(2**40)]]),
        "flags": np.array([True, False]),
        "bytes": np.array([0, 255], np.uint8),
        "number": np.array(2.5),
        "empty": np.zeros((0, 3), np.float32),
    }
    assert list(model) == ["weight", "transposed", "part", "bf16", *list(wanted)[3:]]
    for name, array in wanted.items():
        got = model[name].detach().numpy()
        assert got.dtype == array.dtype
        assert got.shape == array.shape
        assert (got == array).all()
    assert model["bf16"].dtype == flow.bfloat16
    wide = flow._C.cast(model["bf16"], flow.float32).numpy()
    np.testing.assert_allclose(wide, [1.5, -2.0, 3e38], rtol=4e-3)


def test_what_is_no_tensor(loaded: Any) -> None:
    assert loaded["epoch"] == 3
    assert loaded["lr"] == [0.1, (1, None)]
    assert loaded["array"].tolist() == [[1, 2], [3, 4]]
    assert loaded["array"].dtype == np.int32
    assert loaded["size"] == flow.Size([2, 3])
    assert loaded["dtype"] == flow.float16
    assert loaded["device"] == "cpu"
    assert loaded["scalar"] == 1.25


def test_parameters_and_gradients(loaded: Any) -> None:
    weight = loaded["model"]["weight"]
    assert isinstance(weight, flow.nn.Parameter)
    assert weight.requires_grad
    assert loaded["grad"].requires_grad
    assert not isinstance(loaded["grad"], flow.nn.Parameter)


@pytest.mark.parametrize("name", ["hostile archive", "hostile stream"])
def test_code_does_not_run(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match=r"__builtin__.print, which would have to run code"):
        flow.load(io.BytesIO(sample(f"torch {name}")))
    assert "code ran" not in capfd.readouterr().out


def test_a_pickled_module_is_no_state_dict() -> None:
    with pytest.raises(RuntimeError, match=r"names torch.nn.modules.linear.Linear"):
        flow.load(io.BytesIO(sample("torch module")))


def test_pytorch_can_be_refused() -> None:
    for name in ("archive", "stream"):
        with pytest.raises(RuntimeError):
            flow.load(io.BytesIO(sample(f"torch {name}")), support_pytorch_format=False)


@pytest.mark.parametrize("name", ["archive", "stream"])
def test_a_file_cut_short_is_an_error(name: str) -> None:
    whole = sample(f"torch {name}")
    for length in range(0, len(whole), 97):
        with pytest.raises(RuntimeError, match=r"\[load\] expects"):
            flow.load(io.BytesIO(whole[:length]))


@pytest.mark.parametrize("name", ["archive", "stream"])
def test_a_damaged_byte_gives_an_error_or_another_object(name: str) -> None:
    """No byte, changed, makes it raise anything else, or run anything."""
    whole = bytearray(sample(f"torch {name}"))
    rng = np.random.default_rng(3)
    for place in rng.choice(len(whole), 300, replace=False):
        changed = bytearray(whole)
        changed[place] ^= int(rng.integers(1, 256))
        try:
            flow.load(io.BytesIO(bytes(changed)))
        except RuntimeError as error:
            assert str(error).startswith("[load] expects")


def changed_archive(change: Any) -> io.BytesIO:
    """The archive with one of its entries replaced."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(sample("torch archive"))) as source:
        with zipfile.ZipFile(out, "w") as target:
            for name in source.namelist():
                data = change(name, source.read(name))
                if data is not None:
                    target.writestr(name, data)
    out.seek(0)
    return out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n, d: None if n.endswith("data/0") else d, "storage '0' is missing"),
        (lambda n, d: d[:-4] if n.endswith("data/0") else d, "has 44 bytes"),
        (lambda n, d: b"big" if n.endswith("byteorder") else d, "big-endian"),
        (
            lambda n, d: d.replace(b"K\x03K\x04\x86", b"K\x03K\x07\x86"),
            "reaches outside its storage",
        ),
    ],
)
def test_storages_are_checked(change: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        flow.load(changed_archive(change))


def test_a_reader_that_imports_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def imports(self: Any, module: str, name: str) -> Any:
        return getattr(__import__(module, fromlist=[name]), name)

    monkeypatch.setattr(_safe_pickle.SafeUnpickler, "find_class", imports)
    with pytest.raises(AssertionError):
        test_code_does_not_run("hostile archive", capfd)
