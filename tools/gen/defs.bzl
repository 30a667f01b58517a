"""Generated sources of the op table."""

load("//oneflow/functional/ops:families.bzl", "FAMILIES")

_OUTPUTS = {
    "bindings": ["bindings.cc"],
    "functional": [
        "functional.h",
        "functional_ops.h",
    ] + ["functional_{}.cc".format(family) for family in FAMILIES],
    "op_defs": [
        "op_defs.cc",
        "op_defs.h",
    ],
    "reference": ["ops.md"],
    "stubs": ["_C.pyi"],
}

def op_table(name, part, folder = "generated", **kwargs):
    """Files generated from the op table, as `<folder>/<file>` of the calling package.

    Args:
      name: of the target that makes them
      part: `op_defs`, `functional`, `bindings`, `stubs` or `reference`
      folder: where they go
      **kwargs: other attributes of genrule
    """
    native.genrule(
        name = name,
        srcs = ["//oneflow/functional/ops"],
        outs = ["{}/{}".format(folder, out) for out in _OUTPUTS[part]],
        cmd = "$(location //tools/gen) --part {} --out $(RULEDIR)/{} $(SRCS)".format(part, folder),
        tools = ["//tools/gen"],
        **kwargs
    )

def functional_sources(folder = "generated"):
    """The `.cc` files of part `functional`."""
    return ["{}/functional_{}.cc".format(folder, family) for family in FAMILIES]
