"""save and load: what goes in comes out; bad files are refused; a save is atomic."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import pickle
import resource
import subprocess
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import raises, same, values

import oneflow as flow
from oneflow.framework import _atomic_file, _checkpoint_write
from oneflow.framework.serialization import CheckpointError


def example() -> dict[Any, Any]:
    """Everything that can be saved, small."""
    return {
        "weight": flow.nn.Parameter(flow.randn(2, 3)),
        "long": flow.arange(4),
        "double": flow.ones(1, dtype=flow.float64, requires_grad=True),
        "flag": flow.tensor([True, False]),
        "empty": flow.zeros(0, 3),
        "scalar": flow.tensor(2.5),
        "array": np.arange(6, dtype=np.int16).reshape(2, 3).T,
        "numbers": [np.float32(1.5), np.int64(7), np.bool_(True)],
        "plain": (1, -(2**70), 2.5, float("inf"), True, None, "naïve", b"\x00\xff", [], {}, ()),
        "ordered": OrderedDict([("b", 1), ("a", 2)]),
        3: {(1, 2): "tuple key"},
        "kinds": [flow.float32, flow.device("cpu"), flow.Size([1, 2])],
    }


def equal(a: Any, b: Any) -> bool:
    """Whether two objects are the same, down to types and bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, flow.Tensor):
        same_kind = a.dtype == b.dtype and a.requires_grad == b.requires_grad
        return same_kind and equal(values(a), values(b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    return bool(a == b)


def saved(obj: Any) -> bytes:
    """The bytes of the file."""
    buffer = io.BytesIO()
    flow.save(obj, buffer)
    return buffer.getvalue()


def loaded(data: bytes) -> Any:
    """The object of these bytes."""
    return flow.load(io.BytesIO(data))


# What goes in comes out.


def test_round_trip(tmp_path: Path) -> None:
    obj = example()
    flow.save(obj, tmp_path / "x.of")
    found = flow.load(str(tmp_path / "x.of"))
    assert equal(obj, found)
    assert isinstance(found["weight"], flow.nn.Parameter)
    assert equal(obj, flow.load(tmp_path / "x.of", map_location="cpu"))
    with open(tmp_path / "x.of", "rb") as stream:
        assert equal(obj, flow.load(stream))


def test_nan_and_negative_zero_keep_their_bits() -> None:
    array = np.array([np.nan, -0.0, np.inf, 5e-324])
    assert equal(loaded(saved(array)), array)
    assert math.isnan(loaded(saved(math.nan)))


def test_identity_is_kept() -> None:
    weight = flow.nn.Parameter(flow.ones(2))
    found = loaded(saved({"encoder": weight, "decoder": [weight]}))
    assert found["encoder"] is found["decoder"][0]


def test_views_and_results_are_saved_as_they_look() -> None:
    base = flow.arange(6).reshape(2, 3)
    assert equal(loaded(saved(base.T)), base.T.contiguous())
    result = flow.ones(2, requires_grad=True) * 3
    assert loaded(saved(result)).is_leaf


def test_state_dicts(tmp_path: Path) -> None:
    net = flow.nn.Sequential(flow.nn.Linear(2, 3), flow.nn.Linear(3, 1))
    flow.save(net.state_dict(), tmp_path / "net.of")
    found = flow.load(tmp_path / "net.of")
    assert found._metadata["0"] == {"version": 1}
    assert equal(found, net.state_dict())


@pytest.mark.parametrize(("name", "keywords"), [
    ("model.of", {}), ("m.safetensors", {}), ("folder", {"save_as_external_data": True}),
])  # fmt: skip
def test_folders_on_the_way_are_made(name: str, keywords: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "output" / "models" / name
    flow.save({"w": flow.ones(2)}, path, **keywords)
    same(flow.load(path)["w"], np.ones(2, np.float32))


def test_a_loaded_tensor_is_its_own() -> None:
    data = saved(flow.ones(3))
    first = loaded(data)
    first.zero_()
    assert equal(loaded(data), flow.ones(3))


def test_the_same_object_gives_the_same_bytes() -> None:
    obj = example()
    assert saved(obj) == saved(obj)


def test_saving_leaves_tensors_as_they_were() -> None:
    weight = flow.nn.Parameter(flow.ones(2))
    saved(weight)
    assert weight.requires_grad
    assert weight.is_leaf


def test_other_tools_can_read_the_file(tmp_path: Path) -> None:
    flow.save({"w": flow.arange(3)}, tmp_path / "x.of")
    with zipfile.ZipFile(tmp_path / "x.of") as archive:
        assert archive.namelist() == ["oneflow.json", "data/0"]
        assert archive.testzip() is None
        elements = np.frombuffer(archive.read("data/0"), dtype="<i8")
    assert elements.tolist() == [0, 1, 2]


# Damage.


def check_truncation(load: Any) -> None:
    """A file that lacks any part of its end is refused."""
    data = saved({"w": flow.arange(5), "n": 1})
    for length in range(len(data)):
        with pytest.raises(CheckpointError):
            load(data[:length])


def check_bit_flips(load: Any) -> None:
    """With any bit turned over, the file is refused, or gives exactly what was saved."""
    obj = {"w": flow.arange(3), "text": "abc", "n": 1234}
    data = saved(obj)
    refused = 0
    for position in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[position] ^= 1 << bit
            try:
                found = load(bytes(damaged))
            except CheckpointError:
                refused += 1
            else:
                assert equal(found, obj), f"bit {bit} of byte {position} goes unnoticed"
    assert refused > len(data) * 8 * 0.6


def test_truncation_at_every_byte() -> None:
    check_truncation(loaded)


def test_every_bit_flip() -> None:
    check_bit_flips(loaded)


def test_random_damage_gives_no_other_error() -> None:
    rng = np.random.default_rng(0)
    data = saved(example())
    for _ in range(500):
        damaged = bytearray(data)
        start = int(rng.integers(len(data)))
        length = int(rng.integers(1, 64))
        kind = int(rng.integers(3))
        if kind == 0:
            del damaged[start : start + length]
        elif kind == 1:
            damaged[start:start] = rng.bytes(length)
        else:
            damaged[start : start + length] = rng.bytes(length)
        try:
            loaded(bytes(damaged))
        except CheckpointError as error:
            assert str(error).startswith("[load] expects a file of oneflow.save")


@pytest.mark.parametrize("data", [b"", b"PK", b"\x00" * 100, b"PK\x05\x06" + b"\x00" * 18])
def test_what_is_no_checkpoint(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.of").write_bytes(data)
    with raises(CheckpointError, "expects a file of oneflow.save", "x.of"):
        flow.load(tmp_path / "x.of")


# Hostile files.


def archive(index: Any, entries: dict[str, bytes] | None = None, **options: Any) -> bytes:
    """A zip archive with this index, and entries that claim to be arrays."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as out:
        text = index if isinstance(index, (str, bytes)) else json.dumps(index)
        out.writestr("oneflow.json", text)
        for name, data in (entries or {}).items():
            out.writestr(name, data)
    return buffer.getvalue()


def index_of(root: Any, **changes: Any) -> dict[str, Any]:
    index = {
        "format": "oneflow checkpoint",
        "version": 1,
        "arrays": [],
        "tensors": [],
        "root": root,
    }
    return {**index, **changes}


def one_array(shape: Any, dtype: Any = "float32") -> dict[str, Any]:
    return index_of({"array": 0}, arrays=[{"dtype": dtype, "shape": shape}])


class RunsCode:
    """Were it unpickled, it would leave a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def deep(levels: int) -> str:
    return json.dumps(index_of(0)).replace('"root": 0', '"root": ' + "[" * levels + "]" * levels)


def doubled_entry() -> bytes:
    data = {"data/0": b"\0" * 4}
    buffer = io.BytesIO(archive(one_array([1]), data))
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(buffer, "a") as out:
        out.writestr("data/0", b"\0" * 4)
    return buffer.getvalue()


def encrypted_flag() -> bytes:
    data = bytearray(archive(index_of(1)))
    data[6] |= 1  # of the entry
    data[data.rindex(b"PK\x01\x02") + 8] |= 1  # and in the directory
    return bytes(data)


HOSTILE: list[tuple[Any, str]] = [
    (lambda: archive(one_array([2**40, 2**20]), {"data/0": b"\0" * 8}), "needs .* bytes, got 8"),
    (lambda: archive(one_array([2**62, 2**62]), {"data/0": b""}), "needs .* bytes, got 0"),
    (lambda: archive(one_array([-1]), {"data/0": b""}), "impossible shape"),
    (lambda: archive(one_array([True]), {"data/0": b"\0" * 4}), "impossible shape"),
    (lambda: archive(one_array([1.0]), {"data/0": b"\0" * 4}), "impossible shape"),
    (lambda: archive(one_array([1] * 100), {"data/0": b"\0" * 4}), "impossible shape"),
    (lambda: archive(one_array("12"), {"data/0": b"\0" * 4}), "lacks 'shape'"),
    (lambda: archive(one_array([1], "object"), {"data/0": b"\0" * 8}), "unknown dtype"),
    (lambda: archive(one_array([1], ["float32"]), {"data/0": b"\0" * 4}), "lacks 'dtype'"),
    (lambda: archive(one_array([1], "bool"), {"data/0": b"\x07"}), "bytes other than 0 and 1"),
    (lambda: archive(one_array([1])), "entries do not match"),
    (lambda: archive(index_of(1), {"../../etc/passwd": b"x"}), "entries do not match"),
    (lambda: archive(index_of(1), {"/etc/passwd": b"x"}), "entries do not match"),
    (lambda: archive(index_of({"array": -1})), "names the array"),
    (lambda: archive(index_of({"array": 10**30})), "names the array"),
    (lambda: archive(index_of({"tensor": 0})), "names the tensor"),
    (lambda: archive(index_of({"tensor": True}, tensors=[{}])), "names the tensor"),
    (lambda: archive(index_of({"tensor": 0}, tensors=[{}])), "lacks 'kind'"),
    (lambda: archive(index_of({"code": "import os"})), "unknown kind 'code'"),
    (lambda: archive(index_of({"value": 1})), "unknown kind"),
    (lambda: archive(index_of({})), "unknown kind"),
    (lambda: archive(index_of({"dict": [[[1], 2]]})), "unhashable"),
    (lambda: archive(index_of({"dict": [[1, 2, 3]]})), "no pair"),
    (lambda: archive(index_of({"dict": 3})), "damaged"),
    (lambda: archive(index_of({"odict": []})), "damaged"),
    (lambda: archive(index_of({"tuple": 3})), "no list"),
    (lambda: archive(index_of({"size": ["a"]})), "something else than whole numbers"),
    (lambda: archive(index_of({"bytes": "zz"})), "damaged"),
    (lambda: archive(index_of({"bytes": 3})), "damaged"),
    (lambda: archive(index_of({"float": "1"})), "impossible number"),
    (lambda: archive(index_of({"dtype": "os"})), "unknown dtype"),
    (lambda: archive(index_of({"device": "tpu:0"})), "damaged"),
    (lambda: archive(index_of({"device": 0})), "damaged"),
    (lambda: archive('{"format": NaN}'), "impossible number"),
    (lambda: archive(deep(90_000)), "damaged|deeper"),
    (lambda: archive(deep(150)), "nested deeper"),
    (lambda: archive('{"n": ' + "9" * 10_000 + "}"), "damaged"),
    (lambda: archive(b"\xff\xfe"), "damaged"),
    (lambda: archive("[]"), "does not say"),
    (lambda: archive({"format": "other"}), "does not say"),
    (lambda: archive(index_of(1, version=2)), "format version 2"),
    (lambda: archive(index_of(1, arrays={})), "lacks arrays"),
    (lambda: archive(index_of(1, tensors=None)), "lacks tensors"),
    (
        lambda: archive({k: v for k, v in index_of(1).items() if k != "root"}),
        "lacks root",
    ),
    (
        lambda: archive(one_array([2**28], "bool"), {"data/0": b"\0" * 2**28}, compression=8),
        "is compressed",
    ),
    (doubled_entry, "occurs twice"),
    (encrypted_flag, "encrypted"),
]


@pytest.mark.parametrize(("make", "message"), HOSTILE)
def test_hostile_files_are_refused(make: Any, message: str) -> None:
    with raises(CheckpointError, r"\[load\] expects a file of oneflow.save", message):
        loaded(make())


def test_overlapping_entries_are_refused() -> None:
    """A bomb of entries that share their bytes claims more than the file holds."""
    name = "data/0"
    data = archive(one_array([250], "int8"), {name: b"\0" * 250})
    directory = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    record = data[directory : data.index(b"PK\x05\x06")]
    copies = b"".join(record.replace(name.encode(), f"data/{i}".encode()) for i in range(1, 10))
    end = bytearray(data[data.index(b"PK\x05\x06") :])
    for field in (8, 10):
        end[field : field + 2] = (11).to_bytes(2, "little")
    size = int.from_bytes(end[12:16], "little") + len(copies)
    end[12:16] = size.to_bytes(4, "little")
    bomb = data[: data.index(b"PK\x05\x06")] + copies + bytes(end)
    with raises(CheckpointError, "bytes, the file only|Overlapped|damaged"):
        loaded(bomb)


def test_pickles_are_never_run(tmp_path: Path) -> None:
    target = tmp_path / "ran"
    payload = pickle.dumps(RunsCode(target))
    for data in (
        payload,
        archive("{}", {"archive/data.pkl": payload}),
        archive(index_of(1), {"data/0": payload}),
        archive(payload),
    ):
        with pytest.raises(CheckpointError):
            loaded(data)
    assert not target.exists()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as out:
        out.writestr("archive/data.pkl", payload)
    with raises(CheckpointError, "Path.touch, which would have to run code of the file"):
        loaded(buffer.getvalue())
    assert not target.exists()
    pickle.loads(payload)
    assert target.exists(), "the payload is harmless: this test could not fail"


def test_memory_is_taken_only_for_bytes_that_exist() -> None:
    """A tiny file that claims 2 GiB is refused without taking them."""
    data = archive(one_array([2**29]), {"data/0": b"\0" * 16})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CheckpointError):
        loaded(data)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


# Bad arguments.


def contains_itself() -> Any:
    loop: list[Any] = []
    loop.append(loop)
    return loop


BAD: list[tuple[Any, Any, str]] = [
    (lambda: saved(object()), TypeError, "got object at the object"),
    (lambda: saved({"a": [1, {2}]}), TypeError, r"got set at the object\['a'\]\[1\]"),
    (lambda: saved(flow.nn.Linear(1, 1)), TypeError, r"got Linear .* state_dict\(\)"),
    (lambda: saved(np.array(["a"])), TypeError, "expects arrays of"),
    (lambda: saved(np.array([1j])), TypeError, "complex128"),
    (lambda: saved(contains_itself()), ValueError, "contain itself"),
    (lambda: flow.save(1, 3.5), TypeError, "expects a path or a file object, got float"),
    (lambda: flow.load(None), TypeError, "expects a path or a file object, got NoneType"),
    (lambda: flow.load("/nowhere/x.of"), FileNotFoundError, "x.of"),
    (lambda: flow.load("/"), IsADirectoryError, "the folder"),
    (lambda: flow.load(io.BytesIO(saved(1)), map_location=3), TypeError, "map_location"),
    (
        lambda: flow.load(io.BytesIO(saved(1)), map_location="tpu"),
        (ValueError, RuntimeError),
        "tpu",
    ),
    (lambda: flow.save(1, "/proc/nowhere/x.of"), FileNotFoundError, "cannot be made"),
    (lambda: flow.save(1, "/"), FileExistsError, "an empty folder"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_bad_input_is_a_clear_error(wrong: Any, kind: Any, message: str) -> None:
    with raises(kind, message):
        wrong()


# A save is complete or did not happen.


def check_failed_save_keeps_the_old_file(save: Any, folder: Path) -> None:
    """`save(obj, path)` raises part of the way; the old file stays, and no other is left."""
    path = folder / "model.of"
    flow.save({"epoch": 1}, path)
    with pytest.raises(OSError):
        save({"epoch": 2, "w": flow.zeros(1000)}, path)
    assert flow.load(path) == {"epoch": 1}
    assert os.listdir(folder) == ["model.of"]


class Full(io.RawIOBase):
    """A stream on a device that fills up."""

    def __init__(self, inner: Any, room: int) -> None:
        self.inner = inner
        self.room = room

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(self.inner.write(data))


@pytest.mark.parametrize("room", [0, 10, 300, 1000, 4000])
def test_no_space(room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = _checkpoint_write.write

    def write_to_full(stream: Any, *rest: Any) -> None:
        write(Full(stream, room), *rest)

    def save(obj: Any, path: Path) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(_checkpoint_write, "write", write_to_full)
            with raises(OSError, "no space left on the device; what was there is unchanged"):
                flow.save(obj, path)
            flow.save(obj, path)

    check_failed_save_keeps_the_old_file(save, tmp_path)


LIMITED = """
import resource, signal, sys
import oneflow as flow
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    flow.save({"epoch": 2, "w": flow.zeros(100_000)}, sys.argv[1])
except OSError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("limit", [0, 1, 100, 4096, 100_000])
def test_a_limit_of_the_system(limit: int, tmp_path: Path) -> None:
    """The kernel itself cuts the file off."""
    path = tmp_path / "model.of"
    flow.save({"epoch": 1}, path)
    result = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), str(limit)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=100,
    )
    assert result.returncode == 0, result.stderr
    assert "larger than is allowed; what was there is unchanged" in result.stdout
    assert flow.load(path) == {"epoch": 1}
    assert os.listdir(tmp_path) == ["model.of"]


@pytest.mark.parametrize("step", ["fsync", "replace", "fchmod"])
def test_a_failure_at_each_step(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise OSError(errno.EIO, "the device is gone")

    def save(obj: Any, path: Path) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(_atomic_file.os, step, fail)
            flow.save(obj, path)

    check_failed_save_keeps_the_old_file(save, tmp_path)


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    def interrupt(stream: Any) -> None:
        stream.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _atomic_file.write(str(tmp_path / "x.of"), interrupt)
    assert os.listdir(tmp_path) == []


def test_an_object_that_cannot_be_saved_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.of"
    flow.save(1, path)
    with pytest.raises(TypeError):
        flow.save(object(), path)
    assert flow.load(path) == 1


def test_modes_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "x.of", tmp_path / "link.of"
    old = os.umask(0o027)
    try:
        flow.save(1, path)
        assert path.stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(old)
    path.chmod(0o600)
    link.symlink_to(path)
    flow.save(2, link)
    assert link.is_symlink()
    assert flow.load(path) == 2
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_device_is_written_to_directly() -> None:
    flow.save({"a": 1}, "/dev/null")
    assert not os.path.isfile("/dev/null")
    with raises(OSError, "no space left on the device"):
        flow.save({"a": 1}, "/dev/full")


# Positive controls: planted faults.


def save_in_place(obj: Any, path: Path) -> None:
    """What a save without care does: the old file is gone before the new one is complete."""
    with open(path, "wb") as stream:
        stream.write(saved(obj)[:100])
        raise OSError(errno.ENOSPC, "full")


class _NoChecksum(zipfile.ZipExtFile):
    def _update_crc(self, newdata: Any) -> None:
        return None


def load_without_checksums(data: bytes) -> Any:
    original = zipfile.ZipExtFile
    zipfile.ZipExtFile = _NoChecksum  # type: ignore[misc]
    try:
        return loaded(data)
    finally:
        zipfile.ZipExtFile = original  # type: ignore[misc]


def test_controls(tmp_path: Path) -> None:
    with pytest.raises((CheckpointError, AssertionError)):
        check_failed_save_keeps_the_old_file(save_in_place, tmp_path)
    with pytest.raises(AssertionError, match="goes unnoticed"):
        check_bit_flips(load_without_checksums)
    with pytest.raises(pytest.fail.Exception):
        check_truncation(lambda data: loaded(saved(1)))
