"""One pinned source archive: from the Debian archive where apt reaches one, else from its upstream address.

Debian keeps upstream's archives as they are, so that one sha256 serves both ways.
"""

_FETCH = """
import sys
sys.path[0] = sys.argv[1]
from tools.launcher import debian
sys.exit(debian.main(sys.argv[2:]))
"""

def _impl(ctx):
    python = ctx.which("python3")
    apt = ctx.which("apt-get")
    if python and apt:
        cache = ctx.os.environ.get("ONEFLOW_BAZEL_CACHE", "") or str(ctx.path("cache"))
        result = ctx.execute([
            python,
            "-E",
            "-s",
            "-B",
            "-c",
            _FETCH,
            str(ctx.path(ctx.attr._debian).dirname.dirname.dirname),
            "source",
            ctx.attr.debian_package,
            ",".join(ctx.attr.debian_suites),
            ctx.attr.sha256,
            cache,
            str(ctx.path("archive.tar.gz")),
        ])
        if result.return_code == 0:
            ctx.extract("archive.tar.gz", stripPrefix = ctx.attr.strip_prefix)
        else:
            # buildifier: disable=print
            print("{}: {}; trying {}".format(ctx.name, result.stderr.strip(), ctx.attr.urls[0]))
            ctx.download_and_extract(ctx.attr.urls, sha256 = ctx.attr.sha256, stripPrefix = ctx.attr.strip_prefix)
    else:
        ctx.download_and_extract(ctx.attr.urls, sha256 = ctx.attr.sha256, stripPrefix = ctx.attr.strip_prefix)
    for name in ["BUILD", "BUILD.bazel", "WORKSPACE", "WORKSPACE.bazel", "MODULE.bazel"]:
        ctx.delete(name)
    ctx.file("WORKSPACE", "workspace(name = \"{}\")\n".format(ctx.name))
    ctx.template("BUILD.bazel", ctx.attr.build_file)

distribution_archive = repository_rule(
    implementation = _impl,
    attrs = {
        "build_file": attr.label(mandatory = True, allow_single_file = True),
        "debian_package": attr.string(mandatory = True, doc = "name of the source package"),
        "debian_suites": attr.string_list(mandatory = True, doc = "suites to look in, in order"),
        "sha256": attr.string(mandatory = True),
        "strip_prefix": attr.string(),
        "urls": attr.string_list(mandatory = True),
        "_debian": attr.label(default = "//tools/launcher:debian.py", allow_single_file = True),
    },
    environ = ["ONEFLOW_BAZEL_CACHE"],
)
