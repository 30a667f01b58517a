"""bindings_<family>.cc: for each Python name a function over api/python/arg_parser.h."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.gen.cpp import BANNER, string
from tools.gen.doc import docstring
from tools.gen.families import includes
from tools.gen.signature import TYPES, Param, Signature
from tools.gen.table import Family, Row, python_names

Overloads = list[tuple[Row, bool]]

_GETTERS = {
    "Tensor": "Tensor",
    "Tensor?": "OptionalTensor",
    "Tensor[]": "TensorList",
    "Scalar": "GetScalar",
    "Scalar?": "OptionalScalar",
    "Scalar[]": "ScalarList",
    "int": "Int",
    "int?": "OptionalInt",
    "float": "Float",
    "float?": "OptionalFloat",
    "float[]": "FloatList",
    "bool": "Bool",
    "bool?": "OptionalBool",
    "int[]": "IntList",
    "int[]?": "OptionalIntList",
    "int[*]": "LongIntList",
    "int[][]": "ShapeList",
    "dtype": "GetDataType",
    "dtype?": "OptionalDataType",
    "device?": "OptionalDevice",
    "generator?": "OptionalGenerator",
    "str": "String",
    "str?": "OptionalString",
}
_WITHOUT_DEFAULT = ("Tensor", "Tensor[]")
_ZEROS = {
    "Scalar": "Scalar()",
    "int": "0",
    "float": "0.0",
    "bool": "false",
    "int[]": "Dims()",
    "int[*]": "std::vector<int64_t>()",
    "float[]": "std::vector<double>()",
    "Scalar[]": "std::vector<Scalar>()",
    "dtype": "DataType::kFloat",
    "str": '""',
}
# Where a name is seen, what its wrapper is called, and the operand that comes first.
_PLACES = (("function", "Function", "nullptr"), ("method", "Method", "self"))
_ARGUMENTS = "PyObject* self, PyObject* const* args, Py_ssize_t nargs,\n    PyObject* kwnames"
_CAST = "reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>"


def files(families: Sequence[Family]) -> dict[str, str]:
    """The whole part: a source for each family, and the tables of all functions and methods.

    A name belongs to the family of its first overload.
    """
    home = {row.name: family.name for family in families for row in family.rows}
    names = python_names(row for family in families for row in family.rows)
    out = {}
    for family in families:
        own = {name: rows for name, rows in names.items() if home[rows[0][0].name] == family.name}
        called = {home[row.name] for overloads in own.values() for row, _ in overloads}
        out[f"bindings_{family.name}.cc"] = _source(own, called)
    out["bindings.cc"] = _tables(names)
    return out


def _source(names: Mapping[str, Overloads], called: set[str]) -> str:
    parts = [
        BANNER,
        *includes(
            ["oneflow/api/python/arg_parser.h"]
            + [f"oneflow/functional/generated/functional_{family}.h" for family in called]
        ),
        "\nnamespace oneflow {\n",
        "namespace bindings {\n",
    ]
    for name, overloads in names.items():
        parts.append(_run(name, overloads))
        for place, kind, self in _PLACES:
            if any(place in row.places for row, _ in overloads):
                parts.append(_wrapper(kind, name, self))
    parts += ["}  // namespace bindings", "}  // namespace oneflow\n"]
    return "\n".join(parts)


def _tables(names: Mapping[str, Overloads]) -> str:
    parts = [BANNER, '#include "oneflow/api/python/arg_parser.h"\n', "namespace oneflow {\n"]
    parts.append("namespace bindings {\n")
    parts += [f"extern const char kDoc_{name}[];" for name in names]
    entries: dict[str, list[str]] = {kind: [] for _, kind, _ in _PLACES}
    flags = "METH_FASTCALL | METH_KEYWORDS"
    for name, overloads in names.items():
        for place, kind, _ in _PLACES:
            if any(place in row.places for row, _ in overloads):
                parts.append(f"PyObject* {kind}_{name}({_ARGUMENTS});")
                entries[kind].append(
                    f'    {{"{name}", {_CAST}(&bindings::{kind}_{name})), {flags}, '
                    f"bindings::kDoc_{name}}},"
                )
    parts.append("\n}  // namespace bindings\n")
    for kind, lines in entries.items():
        parts.append(f"extern PyMethodDef kGenerated{kind}s[];")
        parts.append(f"PyMethodDef kGenerated{kind}s[] = {{")
        parts += [*lines, "    {nullptr, nullptr, 0, nullptr},", "};\n"]
    parts.append("}  // namespace oneflow\n")
    return "\n".join(parts)


def _wrapper(kind: str, name: str, self: str) -> str:
    head = f"PyObject* {kind}_{name}({_ARGUMENTS})"
    return f"{head};\n{head} {{\n  return Run_{name}({self}, args, nargs, kwnames);\n}}\n"


def _run(name: str, overloads: list[tuple[Row, bool]]) -> str:
    text = string(docstring(name, overloads))
    lines = [f"extern const char kDoc_{name}[];\nconst char kDoc_{name}[] =\n    {text};\n"]
    for i, (row, _) in enumerate(overloads):
        params = "".join(f"\n    {_param(p)}," for p in row.signature.params)
        if params:
            lines.append(f"static const Param kParams_{name}_{i}[] = {{{params}\n}};")
    signatures = "".join(
        f"\n    {_signature(name, i, row)}," for i, (row, _) in enumerate(overloads)
    )
    for i, (row, _) in enumerate(overloads):
        if row.signature.result_names:
            fields = ", ".join(f'"{field}"' for field in row.signature.result_names)
            lines.append(f'static ResultNames names_{name}_{i} = {{"{name}", {{{fields}}}}};')
    lines.append(f"static const Signature kSignatures_{name}[] = {{{signatures}\n}};\n")
    lines.append(f"static PyObject* Run_{name}({_ARGUMENTS}) {{")
    lines.append(f'  ArgParser parser("{name}", kSignatures_{name}, {len(overloads)});')
    lines.append("  switch (parser.Match(self, args, nargs, kwnames)) {")
    for i, (row, inplace) in enumerate(overloads):
        lines.append(f"    case {i}:")
        lines.append(
            f"      return parser.Finish({_cpp_call(row, inplace)}{_names(name, i, row)});"
        )
    lines += ["    default:", "      return nullptr;", "  }", "}", ""]
    return "\n".join(lines)


def _names(name: str, index: int, row: Row) -> str:
    """The further argument of Finish where results have names."""
    return f", &names_{name}_{index}" if row.signature.result_names else ""


def _param(p: Param) -> str:
    flags = (p.required, p.keyword_only, p.varargs)
    words = ", ".join("true" if flag else "false" for flag in flags)
    size = f", {p.size}" if p.size else ""
    return f'{{"{p.name}", ParamType::{TYPES[p.type][1]}, {words}{size}}}'


def _signature(name: str, index: int, row: Row) -> str:
    count = len(row.signature.params)
    params = f"kParams_{name}_{index}" if count else "nullptr"
    text = row.signature.text(name).replace('"', '\\"')
    return f'{{"{text}", {params}, {count}}}'


def _cpp_call(row: Row, inplace: bool) -> str:
    function = f"functional::{row.name}{'_' if inplace else ''}"
    return f"{function}({', '.join(_arguments(row.signature))})"


def _arguments(signature: Signature) -> list[str]:
    words = []
    for i, p in enumerate(signature.params):
        default = ""
        if p.type == "ignored":
            words.append("Ignored()")
            continue
        if p.type in _ZEROS:
            default = ", " + (_ZEROS[p.type] if p.required else p.cpp_default())
        words.append(f"parser.{_GETTERS[p.type]}({i}{default})")
    return words
