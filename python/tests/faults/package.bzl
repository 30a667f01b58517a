"""The package `oneflow` around the extension module that misbehaves on request."""

def _package_impl(ctx):
    folder = ctx.actions.declare_directory("package")
    copies = [(file, file.path.rpartition("python/oneflow/")[2]) for file in ctx.files.package]
    copies += [(ctx.file.extension, "_oneflow_internal.so"), (ctx.file.plants, "_python_plants.py")]
    copies += [(file, file.basename) for file in ctx.files.libraries]
    to = folder.path + "/oneflow/"
    folders = {(to + name).rpartition("/")[0]: None for _, name in copies}
    lines = ["mkdir -p '{}'".format(name) for name in folders]
    lines += ["cp -L '{}' '{}{}'".format(file.path, to, name) for file, name in copies]
    lines.append("chmod u+w {0}__init__.py && echo 'from oneflow import _python_plants  # noqa' >> {0}__init__.py".format(to))
    ctx.actions.run_shell(
        outputs = [folder],
        inputs = [file for file, _ in copies],
        command = "set -e\n" + "\n".join(lines),
        mnemonic = "OneflowWithFaults",
        progress_message = "Making the package with planted faults",
    )
    return [DefaultInfo(files = depset([folder]), runfiles = ctx.runfiles(files = [folder]))]

package_with_faults = rule(
    implementation = _package_impl,
    attrs = {
        "extension": attr.label(allow_single_file = True, mandatory = True),
        "libraries": attr.label_list(allow_files = True),
        "package": attr.label_list(allow_files = True),
        "plants": attr.label(allow_single_file = [".py"], mandatory = True, doc = "run at the end of the import"),
    },
    doc = "A folder `package` for PYTHONPATH that holds the package.",
)
