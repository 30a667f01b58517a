"""Models from repositories: a folder or a GitHub repository with a `hubconf.py`.

A public function of `hubconf.py` is an entry point; its list `dependencies` names modules that must
be there. Running an entry point runs the repository's code.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import urllib.request
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

MODULE_HUBCONF = "hubconf.py"
VAR_DEPENDENCY = "dependencies"
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
READ_DATA_CHUNK = 8192
ENV_ONEFLOW_HOME = "ONEFLOW_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
ENV_GITHUB_TOKEN = "GITHUB_TOKEN"

_state: dict[str, str | None] = {"dir": None}


def get_dir() -> str:
    """The folder that downloads go to: `hub` in $ONEFLOW_HOME, by default `~/.cache/oneflow`.

    Example:
        >>> import oneflow as flow
        >>> flow.hub.get_dir().endswith("hub")
        True
    """
    if _state["dir"] is not None:
        return _state["dir"]
    cache = os.environ.get(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    home = os.environ.get(ENV_ONEFLOW_HOME, os.path.join(cache, "oneflow"))
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str) -> None:
    """Sets the folder that downloads go to.

    Example:
        >>> import oneflow as flow
        >>> before = flow.hub.get_dir()
        >>> flow.hub.set_dir("/some/hub")
        >>> flow.hub.get_dir()
        '/some/hub'
        >>> flow.hub.set_dir(before)
    """
    _state["dir"] = os.path.expanduser(d)


def list(github: str, force_reload: bool = False, source: str = "github") -> Any:
    """The entry points of a repository.

    Args:
        github: "owner/name" or "owner/name:branch"; with source="local" a folder
        force_reload: whether to download again what is there

    Example:
        >>> import oneflow as flow, tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "hubconf.py").write_text("def model(): return 3")
        ...     names = flow.hub.list(folder, source="local")
        ...     names, flow.hub.load(folder, "model", source="local")
        (['model'], 3)
    """
    module = _hubconf(_folder("list", github, source, force_reload))
    return [name for name, value in vars(module).items()
            if callable(value) and not name.startswith("_")]  # fmt: skip


def help(github: str, model: str, force_reload: bool = False, source: str = "github") -> str | None:
    """The docstring of an entry point.

    Example:
        >>> import oneflow as flow, tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "hubconf.py").write_text("def one(): 'Makes 1.'")
        ...     flow.hub.help(folder, "one", source="local")
        'Makes 1.'
    """
    folder = _folder("help", github, source, force_reload)
    return _entry("help", _hubconf(folder), model).__doc__


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    force_reload: bool = False,
    **kwargs: Any,
) -> Any:
    """What an entry point returns for these arguments.

    Raises:
        RuntimeError: there is no such entry point, or a module that it needs is missing.
        ValueError: another source than "github" and "local".

    Example: see `list`.
        >>> import oneflow as flow
        >>> flow.hub.load("x", "y", source="nowhere")
        Traceback (most recent call last):
        ValueError: [load] expects the source github or local, got 'nowhere'
    """
    module = _hubconf(_folder("load", repo_or_dir, source, force_reload))
    return _entry("load", module, model)(*args, **kwargs)


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Downloads a file; it appears under its name once it is whole.

    Args:
        hash_prefix: how the SHA-256 of the file must begin
        progress: accepted; nothing is printed

    Raises:
        RuntimeError: the hash is another.

    Example:
        >>> import oneflow as flow, tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     source = pathlib.Path(folder, "a")
        ...     _ = source.write_text("text")
        ...     flow.hub.download_url_to_file(source.as_uri(), folder + "/b")
        ...     pathlib.Path(folder, "b").read_text()
        'text'
    """
    target = Path(dst).expanduser()
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as part:
        try:
            with urllib.request.urlopen(
                urllib.request.Request(url, headers=_headers(url))
            ) as reply:
                while chunk := reply.read(READ_DATA_CHUNK):
                    digest.update(chunk)
                    part.write(chunk)
            part.close()
            if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(
                    f"[download_url_to_file] expects a SHA-256 that begins with {hash_prefix!r}, "
                    f"got {digest.hexdigest()!r}"
                )
            os.replace(part.name, target)
        finally:
            Path(part.name).unlink(missing_ok=True)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
) -> Any:
    """Downloads a checkpoint, unless it is there, and loads it.

    Args:
        model_dir: folder for the file; default `checkpoints` in `get_dir()`
        check_hash: whether the file's name ends in the beginning of its SHA-256: name-0a1b2c3d.ext

    Example:
        >>> import oneflow as flow, tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     flow.save({"x": flow.ones(1)}, folder + "/a")
        ...     url = pathlib.Path(folder, "a").as_uri()
        ...     flow.hub.load_state_dict_from_url(url, folder + "/here")["x"].tolist()
        [1.0]
    """
    from oneflow.framework.serialization import load as load_file

    folder = Path(model_dir or os.path.join(get_dir(), "checkpoints"))
    name = file_name or os.path.basename(urlparse(url).path)
    if not (folder / name).exists():
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, str(folder / name), found.group(1) if found else None, progress)
    return load_file(str(folder / name), map_location=map_location)


def _headers(url: str) -> dict[str, str]:
    headers = {"User-Agent": "oneflow.hub"}
    token = os.environ.get(ENV_GITHUB_TOKEN)
    if token and urlparse(url).hostname in ("github.com", "api.github.com"):
        headers["Authorization"] = f"token {token}"
    return headers


def _folder(caller: str, where: str, source: str, force_reload: bool) -> Path:
    if source == "local":
        return Path(where).expanduser()
    if source != "github":
        raise ValueError(f"[{caller}] expects the source github or local, got {source!r}")
    name, _, branch = where.partition(":")
    owner, _, repository = name.partition("/")
    if not owner or not repository:
        raise ValueError(f"[{caller}] expects owner/name or owner/name:branch, got {where!r}")
    return _download(owner, repository, branch or "main", force_reload)


def _download(owner: str, repository: str, branch: str, force_reload: bool) -> Path:
    folder = Path(get_dir(), f"{owner}_{repository}_{branch.replace('/', '_')}")
    if folder.exists() and not force_reload:
        return folder
    archive = folder.with_suffix(".zip")
    url = f"https://github.com/{owner}/{repository}/zipball/{branch}"
    download_url_to_file(url, str(archive))
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as unpacked:
        with zipfile.ZipFile(archive) as content:
            content.extractall(unpacked)
        (root,) = Path(unpacked).iterdir()
        root.rename(folder)
    archive.unlink()
    return folder


def _hubconf(folder: Path) -> Any:
    path = folder / MODULE_HUBCONF
    spec = importlib.util.spec_from_file_location("hubconf", path)
    if spec is None or spec.loader is None or not path.exists():
        raise RuntimeError(f"[hub] expects a file {MODULE_HUBCONF} in {folder}, found none")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module


def _entry(caller: str, module: Any, name: str) -> Any:
    needed = getattr(module, VAR_DEPENDENCY, [])
    missing = [one for one in needed if importlib.util.find_spec(one) is None]
    if missing:
        raise RuntimeError(
            f"[{caller}] expects the modules {', '.join(missing)}; install them first"
        )
    function = getattr(module, name, None)
    if not callable(function):
        raise RuntimeError(f"[{caller}] expects an entry point, got {name!r}, which is none")
    return function
