"""cuda_library under rules_cuda's load path, for a Bazel that is too old for rules_cuda, or a machine that cannot fetch it.

Same attributes, but no relocatable device code (`rdc`): each library holds all device code that its kernels call.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load(":archs.bzl", "CudaArchsInfo")

_HEADERS = [".cuh", ".h", ".hpp", ".hh", ".inl"]
_SOURCES = [".cc", ".cpp", ".cu"]

_MODES = {
    "dbg": ["-O0", "-g"],
    "fastbuild": ["-O1"],
    "opt": ["-O3", "-DNDEBUG"],
}

def _directories(ctx):
    """The folders of the attribute `includes`, as paths from the execution root."""
    found = []
    for path in ctx.attr.includes:
        if path.startswith("/") or ".." in path.split("/"):
            fail("{}: includes expects folders below the package, got '{}'".format(ctx.label, path))
        parts = [ctx.label.workspace_root, ctx.label.package, "" if path == "." else path]
        found.append("/".join([part for part in parts if part]))
        found.append("/".join([part for part in [ctx.bin_dir.path] + parts if part]))
    return found

def _compile(ctx, compiler, source, context):
    """Declares nvcc's run over `source`; returns the object file."""
    object = ctx.actions.declare_file("_cuda_objs/{}/{}.o".format(ctx.label.name, source.basename))
    args = ctx.actions.args()
    args.add("-ccbin", compiler)
    args.add_all(ctx.attr._archs[CudaArchsInfo].gencodes, before_each = "-gencode")
    args.add("-Xcompiler", "-fPIC")

    # Names of temporary files are in the object: the same ones each time.
    args.add("-objtemp")
    args.add_all(context.quote_includes, before_each = "-I")
    args.add_all(context.includes, before_each = "-I")
    args.add_all(context.system_includes, before_each = "-isystem")
    args.add_all(depset(ctx.attr.local_defines, transitive = [context.defines]), format_each = "-D%s")
    args.add_all(_MODES[ctx.var["COMPILATION_MODE"]])
    args.add_all(ctx.attr.copts)
    args.add_all(ctx.attr.host_copts, before_each = "-Xcompiler")
    args.add_all(ctx.attr.ptxasopts, before_each = "-Xptxas")
    args.add("-c", source)
    args.add("-o", object)
    headers = [file for file in ctx.files.srcs if not _is_source(file)]
    ctx.actions.run(
        executable = ctx.file._nvcc,
        arguments = [args],
        inputs = depset([source] + headers, transitive = [context.headers]),
        tools = [ctx.file._nvcc] + ctx.files._compiler_files,
        outputs = [object],
        mnemonic = "CudaCompile",
        progress_message = "Compiling CUDA {}".format(source.short_path),
        use_default_shell_env = True,
    )
    return object

def _is_source(file):
    return "." + file.extension in _SOURCES

def _impl(ctx):
    cc_toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = cc_toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    deps = [dep[CcInfo] for dep in ctx.attr.deps + [ctx.attr._runtime]]
    own = cc_common.create_compilation_context(
        headers = depset(ctx.files.hdrs),
        system_includes = depset(_directories(ctx)),
        quote_includes = depset([".", ctx.bin_dir.path]),
        defines = depset(ctx.attr.defines),
    )
    context = cc_common.merge_cc_infos(
        direct_cc_infos = [CcInfo(compilation_context = own)],
        cc_infos = deps,
    ).compilation_context
    sources = [file for file in ctx.files.srcs if _is_source(file)]
    objects = depset([_compile(ctx, cc_toolchain.compiler_executable, file, context) for file in sources])
    linking, outputs = cc_common.create_linking_context_from_compilation_outputs(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = cc_toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(objects = objects, pic_objects = objects),
        user_link_flags = ctx.attr.host_linkopts,
        alwayslink = ctx.attr.alwayslink,
        linking_contexts = [dep.linking_context for dep in deps],
        disallow_dynamic_library = True,
    )
    library = outputs.library_to_link
    return [
        DefaultInfo(files = depset([library.pic_static_library] if library else [])),
        CcInfo(compilation_context = context, linking_context = linking),
    ]

cuda_library = rule(
    doc = "Compiles CUDA code into a library that C++ rules can depend on.",
    implementation = _impl,
    attrs = {
        "alwayslink": attr.bool(doc = "Whether programs that depend on it hold all of it."),
        "copts": attr.string_list(doc = "Flags for nvcc."),
        "defines": attr.string_list(doc = "Macros for this library and for all that depend on it."),
        "deps": attr.label_list(providers = [CcInfo]),
        "hdrs": attr.label_list(allow_files = _HEADERS),
        "host_copts": attr.string_list(doc = "Flags for the host's compiler."),
        "host_linkopts": attr.string_list(doc = "Flags for the linker of programs that depend on it."),
        "includes": attr.string_list(doc = "Folders in which all that depend on it find headers."),
        "local_defines": attr.string_list(doc = "Macros for this library."),
        "ptxasopts": attr.string_list(doc = "Flags for ptxas."),
        "srcs": attr.label_list(allow_files = _SOURCES + _HEADERS),
        "_archs": attr.label(default = "//cuda:archs"),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
        "_compiler_files": attr.label(default = "@oneflow//third_party/cuda:compiler_files"),
        "_nvcc": attr.label(allow_single_file = True, default = "@oneflow//third_party/cuda:nvcc"),
        "_runtime": attr.label(default = "//cuda:runtime"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
