"""What an earlier run left serves again only if it is whole, of the same build, and trusted."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ci.perf_bot import builds, wheels
from ci.perf_bot.tests.fake_repository import FakeRepository

Spoil = Callable[[Path], object]


@pytest.fixture(name="wheel")
def fixture_wheel(tmp_path: Path) -> Path:
    """A wheel of two modules."""
    path = tmp_path / "x-0.1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("x/__init__.py", "ANSWER = 42\n")
        made.writestr("x/part.py", "")
    return path


def test_an_entry_serves_again(tmp_path: Path, wheel: Path) -> None:
    cache = tmp_path / "wheels"
    site = wheels.store(cache, "name", wheel)
    assert wheels.find(cache, "name") == site
    assert (site / "x" / "__init__.py").read_text() == "ANSWER = 42\n"
    assert list((site / "x" / "__pycache__").glob("__init__.*.pyc"))
    assert wheels.find(cache, "other") is None
    assert cache.stat().st_mode & 0o077 == 0


def test_importing_an_entry_leaves_it_whole(tmp_path: Path, wheel: Path) -> None:
    site = wheels.store(tmp_path / "wheels", "name", wheel)
    code = f"import sys; sys.path.insert(0, {str(site)!r}); import x.part; print(x.__file__)"
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code]) == 0
    assert wheels.find(tmp_path / "wheels", "name") == site


SPOILT: dict[str, Spoil] = {
    "a changed file": lambda site: (site / "x/__init__.py").write_text("ANSWER = 43\n"),
    "a further file": lambda site: (site / "x/sitecustomize.py").write_text(""),
    "a forged compiled module": lambda site: [
        path.write_bytes(path.read_bytes()[:-1] + b"x") for path in site.glob("x/__pycache__/*")
    ],
    "a lost file": lambda site: (site / "x/part.py").unlink(),
    "a link": lambda site: (site / "numpy").symlink_to(site / "x"),
    "no manifest": lambda site: (site.parent / "manifest.json").unlink(),
    "half a manifest": lambda site: (site.parent / "manifest.json").write_text('{"x'),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT.keys())
def test_an_entry_that_is_not_whole_is_dropped(tmp_path: Path, wheel: Path, spoil: Spoil) -> None:
    cache = tmp_path / "wheels"
    spoil(wheels.store(cache, "name", wheel))
    assert wheels.find(cache, "name") is None
    assert list(cache.iterdir()) == []


def test_the_name_has_all_that_the_wheel_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = ("a" * 40, "b" * 40, "//x", ("--jobs=2",))
    names = {wheels.name_of(*usual)}
    for place, other in enumerate(("c" * 40, "c" * 40, "//y", ())):
        changed = [*usual]
        changed[place] = other
        names.add(wheels.name_of(*changed))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "version", "another Python")
    names.add(wheels.name_of(*usual))
    assert len(names) == 6 and all(len(name) < 64 for name in names)


def test_old_entries_go(tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels, "KEPT", 2)
    cache = tmp_path / "wheels"
    for number, name in enumerate("abc"):
        wheels.store(cache, name, wheel)
        os.utime(cache / name, (1e9 + number, 1e9 + number))
        if name == "b":
            wheels.find(cache, "a")
    assert sorted(path.name for path in cache.iterdir()) == ["a", "c"]


def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    open_to_all = tmp_path / "work"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with pytest.raises(OSError, match="only this user"), builds.locked(open_to_all):
        pass


def test_read_only_folders_are_removed(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").write_text("")
    (tmp_path / "a/b").chmod(0o500)
    wheels.remove(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def forge(work: Path) -> None:
    """What a stranger's program can do on a machine that outlives it: a whole entry of its own, and
    a worktree whose build packs something else.
    """
    for home in (work / "wheels").iterdir():
        (home / "site/oneflow/__init__.py").write_text("COST = 0.5\n")
        manifest = json.dumps(wheels.manifest_of(home / "site"))
        (home / "manifest.json").write_text(manifest)
    for side in ("base", "head"):
        (work / side).mkdir(exist_ok=True)
        (work / side / "forged").write_text("")


def test_in_a_workflow_nothing_serves_again(tmp_path: Path) -> None:
    repository = FakeRepository(tmp_path / "repository")
    commit = repository.commit("first")
    work, log = tmp_path / "work", tmp_path / "log"
    at_home = builds.Builder(builds.Repository(repository.folder), work, reuse=True)
    in_workflow = replace(at_home, reuse=wheels.may_reuse({"GITHUB_ACTIONS": "true"}))
    with builds.locked(work):
        at_home.build("base", commit, log)
        forge(work)
        (work / "bazel-base").mkdir(exist_ok=True)
        (work / "bazel-base/forged").write_text("")
        made = in_workflow.build("base", commit, log)
        assert "COST = 0.01" in (made.site / "oneflow/__init__.py").read_text()
        assert not list(work.glob("*base/forged"))
        # A positive control: at home the forged entry would have served.
        forge(work)
        assert (
            "0.5" in (at_home.build("base", commit, log).site / "oneflow/__init__.py").read_text()
        )
