"""safetensors: against bytes written here by hand; damage of every kind."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail

import oneflow as flow

ARRAYS: dict[str, np.ndarray] = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "half": np.array([0.5, -2.0], np.float16),
    "double": np.array(2.5),
    "long": np.array([[-(2**40)]]),
    "int": np.array([7], np.int32),
    "byte": np.array([0, 255], np.uint8),
    "char": np.array([-128], np.int8),
    "flag": np.array([True, False]),
    "none": np.zeros((0, 3), np.float32),
}
NAMES = {"float32": "F32", "float16": "F16", "float64": "F64", "int64": "I64", "int32": "I32",
         "uint8": "U8", "int8": "I8", "bool": "BOOL"}  # fmt: skip


def by_hand(header: Any, data: bytes) -> io.BytesIO:
    """A file of this header and these elements."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return io.BytesIO(struct.pack("<Q", len(text)) + text + data)


def good() -> tuple[dict[str, Any], bytes]:
    """Header and data of ARRAYS, and a bfloat16."""
    header: dict[str, Any] = {"__metadata__": {"made": "by hand"}}
    data = b""
    for name, array in ARRAYS.items():
        end = len(data) + array.nbytes
        header[name] = {"dtype": NAMES[array.dtype.name], "shape": list(array.shape),
                        "data_offsets": [len(data), end]}  # fmt: skip
        data += array.tobytes()
    header["bf16"] = {"dtype": "BF16", "shape": [2], "data_offsets": [len(data), len(data) + 4]}
    return header, data + b"\xc0\x3f\x00\xc0"


def test_every_dtype_is_read() -> None:
    loaded = flow.load(by_hand(*good()))
    assert list(loaded) == [*ARRAYS, "bf16"]
    for name, array in ARRAYS.items():
        got = loaded[name].numpy()
        assert got.dtype == array.dtype
        assert got.shape == array.shape
        assert (got == array).all()
    assert loaded["bf16"].dtype == flow.bfloat16
    assert flow._C.cast(loaded["bf16"], flow.float32).numpy().tolist() == [1.5, -2.0]


def test_what_is_written(tmp_path: Path) -> None:
    loaded = flow.load(by_hand(*good()))
    path = tmp_path / "model.safetensors"
    flow.save(loaded, path, metadata={"made": "by hand"})
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header, data = good()
    assert length % 8 == 0
    assert json.loads(raw[8 : 8 + length]) == header
    assert raw[8 + length :] == data


def test_layouts_and_modules(tmp_path: Path) -> None:
    base = flow.tensor(ARRAYS["a"])
    flow.save({"t": base.transpose(0, 1)}, tmp_path / "t.safetensors")
    assert (flow.load(tmp_path / "t.safetensors")["t"].numpy() == ARRAYS["a"].T).all()
    model = flow.nn.Linear(3, 2)
    flow.save(model.state_dict(), tmp_path / "m.safetensors")
    other = flow.nn.Linear(3, 2)
    other.load_state_dict(flow.load(tmp_path / "m.safetensors"))
    assert (other.bias.detach().numpy() == model.bias.detach().numpy()).all()


def entry(**changes: Any) -> dict[str, Any]:
    """A header of one tensor, changed."""
    return {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}}


@pytest.mark.parametrize(
    ("header", "size", "message"),
    [
        (entry(dtype="F8"), 8, "unknown dtype 'F8'"),
        (entry(shape=[3]), 8, "does not fit"),
        (entry(shape=[-2]), 8, "impossible shape"),
        (entry(shape=[2**62, 4]), 8, "does not fit"),
        (entry(data_offsets=[0, 4]), 8, "does not fit"),
        (entry(data_offsets=[4, 12]), 12, "begins at 4, not 0"),
        (entry(data_offsets="no"), 8, "impossible shape or place"),
        (entry(), 9, "has 9 bytes of data, its header 8"),
        (entry(), 4, "has 4 bytes of data, its header 8"),
        (entry(more=1), 8, "is no tensor"),
        (b'{"x": 1, "x": 1}', 0, "occurs twice"),
        (b'{"x": ', 0, "JSONDecodeError"),
        (b'{"\xff": 1}', 0, "UnicodeDecodeError"),
        ({"f": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]}}, 1, "other than 0 and 1"),
    ],
)
def test_damage_is_an_error(header: Any, size: int, message: str) -> None:
    with pytest.raises(RuntimeError, match=message) as caught:
        flow.load(by_hand(header, b"\x07" * size))
    assert str(caught.value).startswith("[load] expects a safetensors file, got the buffer")


def test_a_header_longer_than_the_file() -> None:
    with pytest.raises(RuntimeError, match="header has 99 bytes"):
        flow.load(io.BytesIO(struct.pack("<Q", 99) + b"{}"))


@pytest.mark.parametrize("wrong", [[1], {"x": 1}, {1: flow.ones(1)}])
def test_only_named_tensors_are_written(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(TypeError, match="for safetensors"):
        flow.save(wrong, tmp_path / "x.safetensors")
    with pytest.raises(TypeError, match="strings to strings"):
        flow.save({}, tmp_path / "x.safetensors", metadata={"a": wrong})
    assert not list(tmp_path.iterdir())


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that takes columns for rows."""
    right = flow.load

    def wrong(file: Any) -> Any:
        turned = {n: t.t().reshape(t.shape) if t.ndim == 2 else t for n, t in right(file).items()}
        return turned

    monkeypatch.setattr(flow, "load", wrong)
    must_fail(test_every_dtype_is_read)
