"""buildifier, pinned; see README.md."""

load("//third_party/node:npm.bzl", "NODE_ATTRS", "NODE_ENVIRON", "node_of_wheel")

VERSION = "8.2.1"

# The binary inside npm's package is the one of upstream's release: one hash for both.
_SHA256 = {
    "amd64": "6ceb7b0ab7cf66fceccc56a027d21d9cc557a7f34af37d2101edb56b92fcfa1a",
    "arm64": "3baa1cf7eb41d51f462fdd1fff3a6a4d81d757275d05b2dd5f48671284e9a1a5",
}

_MISSING = """#!/bin/sh
echo "buildifier {version} could not be fetched: {reason}" >&2
echo "Install npm, or open the network to its upstream release, then: tools/bazel sync --only=buildifier" >&2
exit 1
"""

_URL = "https://github.com/bazelbuild/buildtools/releases/download/v{}/buildifier-linux-{}"

def _from_npm(ctx, cpu, npm, environment = {}):
    """Writes `buildifier` from npm's package; `npm` is the command. Returns a reason when that failed, else None."""
    arguments = npm + ["pack", "--silent", "@bazel/buildifier@" + VERSION]
    result = ctx.execute(arguments, timeout = 120, environment = environment)
    if result.return_code != 0:
        return "npm pack failed: " + result.stderr.strip().replace("\"", "'").split("\n")[0]
    archive = result.stdout.strip().split("\n")[-1]
    ctx.extract(archive, output = "npm")
    ctx.symlink("npm/package/buildifier-linux_" + cpu, "buildifier")
    found = ctx.execute(["sha256sum", "buildifier"]).stdout.split(" ")[0]
    if found != _SHA256[cpu]:
        fail("buildifier of npm's package has sha256 {}, expected {}".format(found, _SHA256[cpu]))
    ctx.execute(["chmod", "+x", "npm/package/buildifier-linux_" + cpu])
    return None

def _from_upstream(ctx, cpu):
    """Writes `buildifier` from upstream's release; returns whether that worked."""
    return ctx.download(
        _URL.format(VERSION, cpu),
        "buildifier",
        sha256 = _SHA256[cpu],
        executable = True,
        allow_fail = True,
    ).success

def _from_npm_in_wheel(ctx, cpu):
    """As _from_npm, with the npm of a wheel, for machines that have none."""
    tools = node_of_wheel(ctx)
    if not tools:
        return "npm is not installed, and its wheel is not to be had"
    reason = _from_npm(ctx, cpu, tools.npm, tools.environment)
    ctx.delete("nodejs")
    return reason

def _impl(ctx):
    machine = ctx.execute(["uname", "-m"]).stdout.strip()
    cpu = {"aarch64": "arm64", "x86_64": "amd64"}.get(machine)
    npm = ctx.which("npm")
    reason = "npm is not installed" if cpu else "no binary for " + machine
    if cpu and npm:
        reason = _from_npm(ctx, cpu, [npm])
    if cpu and reason and _from_upstream(ctx, cpu):
        reason = None
    if cpu and reason and not npm:
        reason = _from_npm_in_wheel(ctx, cpu)
    if reason:
        # The rest of the build does not need it: only the lint says what is missing.
        ctx.file("buildifier", _MISSING.format(reason = reason, version = VERSION), executable = True)
    ctx.file("BUILD.bazel", "exports_files([\"buildifier\"])\n")

buildifier_repository = repository_rule(
    doc = "buildifier's binary: npm's package where npm is, else upstream's release, else npm's package by the npm of a wheel.",
    implementation = _impl,
    attrs = NODE_ATTRS,
    environ = NODE_ENVIRON,
)
