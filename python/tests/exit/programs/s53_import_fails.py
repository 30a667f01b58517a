"""53: the package's import fails half-way, by a syntax error planted in one of its modules."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import way_out

spec = importlib.util.find_spec("oneflow")
assert spec is not None and spec.submodule_search_locations
source = Path(spec.submodule_search_locations[0])
copy = Path.cwd() / "broken"
shutil.copytree(source, copy / "oneflow", copy_function=lambda old, new: os.symlink(old, new))
broken = copy / "oneflow" / "framework" / "creation.py"
broken.unlink()
broken.write_text("def ones(:\n")
sys.path.insert(0, str(copy))
way_out.pause()
import oneflow  # noqa: E402,F401
