"""The folders of OneFlow up to 0.9: read, written, refused."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.samples import write_folder
from tests.support import must_fail

import oneflow as flow


def check(loaded: Any) -> None:
    """The object that OneFlow 0.9.0 saved in the sample."""
    weight = loaded["model"]["weight"]
    assert isinstance(loaded["model"], OrderedDict)
    assert isinstance(weight, flow.nn.Parameter)
    assert weight is loaded["again"]
    assert (weight.detach().numpy() == np.arange(6, dtype=np.float32).reshape(2, 3) / 4).all()
    assert loaded["epoch"] == 3
    assert loaded["t"].numpy().tolist() == [1, 2]
    assert loaded["t"].dtype == flow.int64
    assert loaded["dtype"] == flow.float16
    assert loaded["size"] == flow.Size((2, 3))
    assert loaded["h"].dtype == flow.float16
    assert loaded["flags"].numpy().tolist() == [True, False]
    assert loaded["number"].dtype == flow.float64
    assert loaded["number"].shape == flow.Size([])
    assert loaded["bytes"].numpy().tolist() == [0, 255]


def test_the_folder_of_oneflow_0_9(tmp_path: Path) -> None:
    check(flow.load(write_folder(tmp_path)))


def test_round_trip(tmp_path: Path) -> None:
    loaded = flow.load(write_folder(tmp_path))
    loaded["more"] = (None, True, 0x7100, "text q", b"x", 1.5, [2**70, -1], {"a": ()})
    loaded["bf16"] = flow.tensor([1.5, -2.0], dtype=flow.bfloat16)
    target = tmp_path / "again"
    target.mkdir()  # a folder that is there, as people make it before
    flow.save(loaded, target)
    assert (target / "pickled_data").is_file()
    again = flow.load(target)
    check(again)
    assert again["more"] == loaded["more"]
    assert again["bf16"].dtype == flow.bfloat16
    assert flow._C.cast(again["bf16"], flow.float32).numpy().tolist() == [1.5, -2.0]


def test_the_pickle_is_what_oneflow_0_9_expects(tmp_path: Path) -> None:
    """Read by the plain unpickler, with classes in the places where that version has them."""
    flow.save({"w": flow.nn.Parameter(flow.ones(2))}, tmp_path / "s", save_as_external_data=True)
    seen = []

    class Reader(pickle.Unpickler):
        """Notes the names."""

        def find_class(self, module: str, name: str) -> Any:
            seen.append((module, name))
            keep = {"__setstate__": lambda self, state: setattr(self, "path", state)}
            return type(name, (), keep)

    with open(tmp_path / "s" / "pickled_data", "rb") as stream:
        content = Reader(stream).load()
    assert seen == [("oneflow.nn", "Parameter")]
    assert content["protocol_version"] == 1
    assert content["data"]["w"].path == {"path": "tensor_0"}
    meta = (tmp_path / "s/tensor_0/meta").read_text()
    assert meta.split() == ["shape", "{", "dim:", "2", "}", "data_type:", "kFloat"]


def test_a_module_survives(tmp_path: Path) -> None:
    first, second = flow.nn.Linear(3, 2), flow.nn.Linear(3, 2)
    flow.save(first.state_dict(), tmp_path / "m", save_as_external_data=True)
    flow.save(first.state_dict(), tmp_path / "m")  # replaces the folder that is there
    second.load_state_dict(flow.load(tmp_path / "m"))
    assert (second.weight.detach().numpy() == first.weight.detach().numpy()).all()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m"]


def test_folders_without_a_pickle(tmp_path: Path) -> None:
    root = write_folder(tmp_path)
    (root / "pickled_data").unlink()
    with pytest.raises(IsADirectoryError, match="without pickled_data"):
        flow.load(root)
    (root / "snapshot_done").touch()
    loaded = flow.load(root)
    assert len(loaded) == 6
    assert all(isinstance(t, flow.Tensor) for t in loaded.values())


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="1 other files"):
        flow.save({}, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(TypeError, match="got object at the object"):
        flow.save({"x": object()}, tmp_path / "new", save_as_external_data=True)
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda root: (root / "tensor_8/meta").write_text("shape {"), "does not give a shape"),
        (lambda root: (root / "tensor_8/out").write_bytes(b"xx"), "bytes, got 2"),
        (lambda root: (root / "tensor_8/out").unlink(), "lacks a file"),
        (lambda root: hostile(root, b"cos\nsystem\n(S'false'\ntR."), "names os.system"),
        (lambda root: hostile(root, b"coneflow\nTensor\n)\x81}(S'path'\nS'../x'\nub."), "outside"),
        (lambda root: hostile(root, b"(dS'a'\nI1\ns."), "protocol_version"),
    ],
)
def test_damage_is_an_error(tmp_path: Path, change: Any, message: str) -> None:
    root = write_folder(tmp_path)
    change(root)
    with pytest.raises(RuntimeError, match=message):
        flow.load(root)


def hostile(root: Path, text: bytes) -> None:
    """Puts an object of this pickle in the place of the saved one."""
    head = b"\x80\x02}(X\x10\x00\x00\x00protocol_versionK\x01X\x04\x00\x00\x00data"
    body = text if text.startswith(b"(d") else head + text[:-1] + b"u."
    (root / "pickled_data").write_bytes(body)


def test_ranks() -> None:
    for call in (lambda: flow.save(1, "x", 3), lambda: flow.load("x", 3)):
        with pytest.raises(ValueError, match="there is one, 0; got 3"):
            call()


def test_control(tmp_path: Path) -> None:
    """One bit of one tensor's file is another."""
    root = write_folder(tmp_path)
    weight = next(path for path in root.glob("*/out") if path.stat().st_size == 24)
    data = bytearray(weight.read_bytes())
    data[5] ^= 1
    weight.write_bytes(data)
    must_fail(check, flow.load(root))
