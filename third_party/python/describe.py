"""Prints, as JSON, what the build needs to know of the interpreter that runs this."""

import json
import os
import sys
import sysconfig


def library() -> str:
    """The path of the shared libpython, or an empty string."""
    name = sysconfig.get_config_var("INSTSONAME") or ""
    path = os.path.join(sysconfig.get_config_var("LIBDIR") or "", name)
    return path if ".so" in name and os.path.exists(path) else ""


print(
    json.dumps(
        {
            "executable": sys.executable,
            "version": "{}.{}".format(*sys.version_info[:2]),
            "include": sysconfig.get_paths()["include"],
            "ext_suffix": sysconfig.get_config_var("EXT_SUFFIX"),
            "library": library(),
        }
    )
)
