"""bindings.cc: for each Python name a function over api/python/arg_parser.h."""

from __future__ import annotations

from tools.gen.cpp import BANNER, string
from tools.gen.doc import docstring
from tools.gen.signature import TYPES, Param, Signature
from tools.gen.table import Row, python_names

_GETTERS = {
    "Tensor": "Tensor",
    "Tensor?": "OptionalTensor",
    "Tensor[]": "TensorList",
    "Scalar": "GetScalar",
    "Scalar?": "OptionalScalar",
    "int": "Int",
    "int?": "OptionalInt",
    "float": "Float",
    "bool": "Bool",
    "int[]": "IntList",
    "int[]?": "OptionalIntList",
    "dtype": "GetDataType",
    "dtype?": "OptionalDataType",
    "device?": "OptionalDevice",
    "generator?": "OptionalGenerator",
    "str": "String",
}
_WITHOUT_DEFAULT = ("Tensor", "Tensor[]")
_ZEROS = {
    "Scalar": "Scalar()",
    "int": "0",
    "float": "0.0",
    "bool": "false",
    "int[]": "Dims()",
    "dtype": "DataType::kFloat",
    "str": '""',
}
_CAST = "reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>"


def source(rows: list[Row]) -> str:
    """The whole file."""
    names = python_names(rows)
    parts = [
        BANNER,
        '#include "oneflow/api/python/arg_parser.h"',
        '#include "oneflow/functional/generated/functional.h"\n',
        "namespace oneflow {\n",
        "namespace {\n",
    ]
    methods, functions = [], []
    for name, overloads in names.items():
        parts.append(_run(name, overloads))
        flags = "METH_FASTCALL | METH_KEYWORDS"
        if any("function" in row.places for row, _ in overloads):
            parts.append(_wrapper("Function", name, "nullptr"))
            functions.append(f'    {{"{name}", {_CAST}(&Function_{name})), {flags}, kDoc_{name}}},')
        if any("method" in row.places for row, _ in overloads):
            parts.append(_wrapper("Method", name, "self"))
            methods.append(f'    {{"{name}", {_CAST}(&Method_{name})), {flags}, kDoc_{name}}},')
    parts.append("}  // namespace\n")
    for table, entries in (("Functions", functions), ("Methods", methods)):
        parts.append(f"extern PyMethodDef kGenerated{table}[];")
        parts.append(f"PyMethodDef kGenerated{table}[] = {{")
        parts += [*entries, "    {nullptr, nullptr, 0, nullptr},", "};\n"]
    parts.append("}  // namespace oneflow\n")
    return "\n".join(parts)


def _wrapper(kind: str, name: str, self: str) -> str:
    return (
        f"PyObject* {kind}_{name}(PyObject* self, PyObject* const* args, Py_ssize_t nargs,\n"
        f"    PyObject* kwnames) {{\n"
        f"  return Run_{name}({self}, args, nargs, kwnames);\n}}\n"
    )


def _run(name: str, overloads: list[tuple[Row, bool]]) -> str:
    lines = [f"const char kDoc_{name}[] =\n    {string(docstring(name, overloads))};\n"]
    for i, (row, _) in enumerate(overloads):
        params = "".join(f"\n    {_param(p)}," for p in row.signature.params)
        if params:
            lines.append(f"const Param kParams_{name}_{i}[] = {{{params}\n}};")
    signatures = "".join(
        f"\n    {_signature(name, i, row)}," for i, (row, _) in enumerate(overloads)
    )
    lines.append(f"const Signature kSignatures_{name}[] = {{{signatures}\n}};\n")
    lines.append(f"PyObject* Run_{name}(PyObject* self, PyObject* const* args, Py_ssize_t nargs,")
    lines.append("    PyObject* kwnames) {")
    lines.append(f'  ArgParser parser("{name}", kSignatures_{name}, {len(overloads)});')
    lines.append("  switch (parser.Match(self, args, nargs, kwnames)) {")
    for i, (row, inplace) in enumerate(overloads):
        lines.append(f"    case {i}:")
        lines.append(f"      return WrapResult({_cpp_call(row, inplace)});")
    lines += ["    default:", "      return nullptr;", "  }", "}", ""]
    return "\n".join(lines)


def _param(p: Param) -> str:
    flags = (p.required, p.keyword_only, p.varargs)
    words = ", ".join("true" if flag else "false" for flag in flags)
    return f'{{"{p.name}", ParamType::{TYPES[p.type][1]}, {words}}}'


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
        if p.type in _ZEROS:
            default = ", " + (_ZEROS[p.type] if p.required else p.cpp_default())
        words.append(f"parser.{_GETTERS[p.type]}({i}{default})")
    return words
