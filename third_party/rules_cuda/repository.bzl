"""rules_cuda: upstream's release, pinned, or the stand-in; see README.md."""

VERSION = "0.2.5"

_SHA256 = "fe8d3d8ed52b9b433f89021b03e3c428a82e10ed90c72808cc4988d1f4b9d1b3"

_URL = "https://github.com/bazel-contrib/rules_cuda/releases/download/v{0}/rules_cuda-v{0}.tar.gz"

_STAND_IN = {
    "archs.bzl": "//third_party/rules_cuda:stand_in/archs.bzl",
    "BUILD.bazel": "//third_party/rules_cuda:stand_in/cuda.BUILD",
    "defs.bzl": "//third_party/rules_cuda:stand_in/defs.bzl",
}

def _unpack_upstreams(ctx):
    """Unpacks upstream's release; False where it cannot be fetched, or would not load."""

    # Bazel 7.1 and newer have this method; Debian's Bazel has no version to read.
    if not hasattr(ctx, "watch"):
        return False
    fetched = ctx.download_and_extract(
        [_URL.format(VERSION)],
        allow_fail = True,
        sha256 = _SHA256,
        stripPrefix = "rules_cuda-v" + VERSION,
    )
    if not fetched.success:
        return False

    # The runtime of our toolkit, not that of one on the machine.
    build = ctx.read("cuda/BUILD.bazel")
    ctx.file("cuda/BUILD.bazel", build.replace(
        "\"@local_cuda//:cuda_runtime\"",
        "\"@oneflow//third_party/cuda:runtime\"",
    ))
    return True

def _impl(ctx):
    if _unpack_upstreams(ctx):
        ctx.symlink(Label("//third_party/rules_cuda:toolchain.BUILD"), "toolchain/BUILD.bazel")
        return
    ctx.file("WORKSPACE", "workspace(name = \"rules_cuda\")\n")
    ctx.file("BUILD.bazel")
    ctx.file("toolchain/BUILD.bazel", "# The stand-in has no toolchain.\n")
    for name, label in _STAND_IN.items():
        ctx.symlink(Label(label), "cuda/" + name)

rules_cuda_repository = repository_rule(
    doc = "Upstream's rules_cuda where its archive is to be had and Bazel is new enough, else the stand-in.",
    implementation = _impl,
)
