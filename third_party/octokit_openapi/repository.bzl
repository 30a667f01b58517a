"""GitHub's own descriptions of its API, from npm's package; see README.md."""

load("//third_party/node:npm.bzl", "NODE_ATTRS", "NODE_ENVIRON", "node_of_machine", "node_of_wheel")

_PACKAGE = "@octokit/openapi@23.0.2"
_SHA256 = "71a18407dd5e8464f4e0525daf03deabbe65abd9287d6adc7b5d98f516cd0d0c"
_FILES = ["api.github.com.json", "ghes-3.19.json"]

def _fetch(ctx, tools):
    """Writes the descriptions. Returns a reason when that failed, else None."""
    result = ctx.execute(tools.npm + ["pack", "--silent", _PACKAGE], environment = tools.environment, timeout = 600)
    if result.return_code != 0:
        return "npm pack failed: " + result.stderr.strip().split("\n")[0]
    archive = result.stdout.strip().split("\n")[-1]
    found = ctx.execute(["sha256sum", archive]).stdout.split(" ")[0]
    if found != _SHA256:
        fail("{} has sha256 {}, expected {}".format(_PACKAGE, found, _SHA256))

    # The whole is 400 MB.
    command = ["tar", "-xzf", archive, "--strip-components=2"]
    result = ctx.execute(command + ["package/generated/" + name for name in _FILES])
    ctx.delete(archive)
    return None if result.return_code == 0 else "tar failed: " + result.stderr.strip()

def _impl(ctx):
    tools = node_of_machine(ctx) or node_of_wheel(ctx)
    reason = _fetch(ctx, tools) if tools else "there is no npm"
    if reason:
        # Whoever reads a description fails, and sees why; all else builds without npm.
        for name in _FILES:
            ctx.file(name, "{} could not be fetched: {}\n".format(_PACKAGE, reason))
    ctx.delete("nodejs")
    ctx.file("BUILD.bazel", "exports_files({})\n".format(_FILES))

octokit_openapi_repository = repository_rule(
    doc = "The descriptions of api.github.com and of GitHub Enterprise Server 3.19. Fetched only for the tests that use them.",
    implementation = _impl,
    attrs = NODE_ATTRS,
    environ = NODE_ENVIRON,
)
