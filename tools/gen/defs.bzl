"""Generated sources of the op table."""

load("//oneflow/functional/ops:families.bzl", "FAMILIES")

def _of_families(pattern):
    return [pattern.format(family) for family in FAMILIES]

_OUTPUTS = {
    "bindings": ["bindings.cc"] + _of_families("bindings_{}.cc"),
    "functional": [
                      "functional.h",
                      "functional_ops.h",
                  ] + _of_families("functional_{}.h") + _of_families("functional_ops_{}.h") +
                  _of_families("functional_{}.cc"),
    "op_defs": [
        "op_defs.cc",
        "op_defs.h",
    ] + _of_families("op_defs_{}.cc") + _of_families("op_defs_{}.h"),
    "stubs": ["_C.pyi"],
}

def op_table(name, part, folder = "generated", **kwargs):
    """Files generated from the op table, as `<folder>/<file>` of the calling package.

    Args:
      name: of the target that makes them
      part: `op_defs`, `functional`, `bindings` or `stubs`
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

def generated(part, suffix, folder = "generated"):
    """The generated files of a part that end in `suffix`."""
    return ["{}/{}".format(folder, out) for out in _OUTPUTS[part] if out.endswith(suffix)]
