"""flowvision's own resnet50 and bench's are one network: its state dict loads, the scores agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import oneflow as flow
from bench.models import real_weights


@pytest.fixture(name="file", scope="module")
def fixture_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What flowvision's model gives."""
    file = tmp_path_factory.mktemp("weights") / "flowvision.npz"
    assert real_weights.main(["save", "flowvision", str(file)]) == 0
    return file


def test_flowvisions_weights_give_its_scores(file: Path) -> None:
    assert real_weights.load("oneflow", file) <= real_weights.TOLERANCE
    assert real_weights.main(["load", "oneflow", str(file)]) == 0


def changed(file: Path, folder: Path, name: str, by: float | None) -> list[str]:
    """The words for a file in which an array is scaled, or left out."""
    with np.load(file) as found:
        arrays = {key: found[key] for key in found.files}
    if by is None:
        del arrays[real_weights.STATE + name]
    else:
        arrays[real_weights.STATE + name] = by * arrays[real_weights.STATE + name]
    np.savez(folder / "changed.npz", **arrays)
    return ["load", "oneflow", str(folder / "changed.npz")]


@pytest.mark.parametrize(
    ("name", "by"),
    [("layer3.5.bn2.running_var", 1.01), ("layer1.0.downsample.0.weight", 1.01), ("fc.bias", None)],
)
def test_control_of_other_weights(
    file: Path, tmp_path: Path, name: str, by: float | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert real_weights.main(changed(file, tmp_path, name, by)) == 1
    said = capsys.readouterr()
    assert "NOT as" in said.out or name in said.err


def test_what_is_refused(tmp_path: Path) -> None:
    for words in (["save", "oneflow"], ["load", "torchvision"], ["load", "keras"]):
        with pytest.raises(SystemExit):
            real_weights.main([*words, str(tmp_path / "x.npz")])
    assert flow.__version__
