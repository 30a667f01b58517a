"""The rule that makes the wheel."""

def _oneflow_wheel_impl(ctx):
    # The wheel's own name holds tags that only the build finds out, so the output is a folder.
    folder = ctx.actions.declare_directory("dist")
    report = ctx.actions.declare_file("auditwheel.txt")
    args = ctx.actions.args()
    args.add("--out-dir", folder.path)
    args.add("--report", report)
    args.add("--extension", ctx.file.extension)
    for target, name in ctx.attr.libraries.items():
        args.add("--library", "{}={}".format(name, target.files.to_list()[0].path))
    args.add("--version-file", ctx.file.version_file)
    args.add("--readme", ctx.file.readme)
    args.add_all(ctx.files.package)
    ctx.actions.run(
        outputs = [folder, report],
        inputs = ctx.files.package + ctx.files.libraries +
                 [ctx.file.extension, ctx.file.version_file, ctx.file.readme],
        executable = ctx.executable._builder,
        arguments = [args],
        mnemonic = "OneflowWheel",
        progress_message = "Making the wheel",
    )
    return [DefaultInfo(
        files = depset([folder, report]),
        runfiles = ctx.runfiles(files = [folder, report]),
    )]

oneflow_wheel = rule(
    implementation = _oneflow_wheel_impl,
    attrs = {
        "extension": attr.label(allow_single_file = True, mandatory = True),
        "libraries": attr.label_keyed_string_dict(allow_files = True),
        "package": attr.label_list(allow_files = True),
        "readme": attr.label(allow_single_file = True, mandatory = True),
        "version_file": attr.label(allow_single_file = True, mandatory = True),
        "_builder": attr.label(
            default = "//python/wheel:build_wheel",
            executable = True,
            cfg = "exec",
        ),
    },
    doc = "A folder `dist` with the wheel, and auditwheel's report beside it.",
)
