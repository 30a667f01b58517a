"""Prism, the proxy that compares calls with an OpenAPI description, as one file for Node.js; see README.md."""

load("//third_party/node:npm.bzl", "NODE_ATTRS", "NODE_ENVIRON", "node_of_machine", "node_of_wheel")

_MISSING = """#!/bin/sh
echo "prism could not be fetched: {reason}" >&2
echo "Open the way to npm's registry, then: tools/bazel sync --only=prism" >&2
exit 1
"""

_BUILD = """
exports_files(["node", "prism.js"])
"""

def _first_line(result):
    return (result.stderr + result.stdout).strip().replace("\"", "'").split("\n")[0]

def _make(ctx, tools):
    """Writes prism.js with the given Node.js and npm. Returns a reason when that failed, else None."""
    ctx.symlink(ctx.attr._package, "npm/package.json")

    # A copy: npm writes beside it.
    ctx.file("npm/package-lock.json", ctx.read(ctx.path(ctx.attr._package_lock)))
    path = ctx.path(tools.node).dirname
    environment = dict(tools.environment, PATH = "{}:{}".format(path, ctx.os.environ.get("PATH", "")))

    # No script of a package runs; each archive's hash is in the lock.
    install = ["ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"]
    result = ctx.execute(tools.npm + install, working_directory = "npm", environment = environment, timeout = 600)
    if result.return_code != 0:
        return "npm ci failed: " + _first_line(result)
    result = ctx.execute(
        [
            tools.node,
            "node_modules/esbuild/bin/esbuild",
            "node_modules/@stoplight/prism-cli/dist/index.js",
            # Its default entry finds its parts at run time, which a bundle has not.
            "--alias:jsonc-parser=jsonc-parser/lib/esm/main.js",
            "--bundle",
            "--log-level=error",
            "--outfile=../prism.js",
            "--platform=node",
        ],
        working_directory = "npm",
        environment = environment,
    )
    ctx.delete("npm")
    return None if result.return_code == 0 else "esbuild failed: " + _first_line(result)

def _impl(ctx):
    tools = node_of_wheel(ctx) or node_of_machine(ctx)
    reason = _make(ctx, tools) if tools else "there is no Node.js"
    if reason:
        # The rest of the build does not need it: only the tests that start it say what is missing.
        ctx.file("node", _MISSING.format(reason = reason), executable = True)
        ctx.file("prism.js", "")
    else:
        ctx.symlink(tools.node, "node")
    ctx.file("BUILD.bazel", _BUILD)

prism_repository = repository_rule(
    doc = "Prism as one file, and the Node.js that runs it. Fetched only for the tests that use it.",
    implementation = _impl,
    attrs = dict(
        NODE_ATTRS,
        _package = attr.label(default = "//third_party/prism:package.json", allow_single_file = True),
        _package_lock = attr.label(default = "//third_party/prism:package-lock.json", allow_single_file = True),
    ),
    environ = NODE_ENVIRON,
)
