"""op_defs_<family>.h and .cc: one OpDef for each row that is no composite."""

from __future__ import annotations

from collections.abc import Sequence

from tools.gen.cpp import BANNER, definition, guard
from tools.gen.families import includes
from tools.gen.table import Family, Row

_FOLDER = "oneflow/op/generated"
_COMMON_HEADERS = ("oneflow/kernels/attrs.h", "oneflow/op/op_attrs.h", "oneflow/op/rules.h")
_FAILURE = {"": "kNoInplace", "keeps_value": "kKeepsValue", "skips": "kSkips"}


def files(families: Sequence[Family]) -> dict[str, str]:
    """The whole part: a header and a source for each family, and the list of all."""
    out = {"op_defs.h": _list_header(families), "op_defs.cc": _list_source(families)}
    for family in families:
        out[f"op_defs_{family.name}.h"] = _header(family)
        out[f"op_defs_{family.name}.cc"] = _source(family)
    return out


def _list_header(families: Sequence[Family]) -> str:
    lines = includes(f"{_FOLDER}/op_defs_{family.name}.h" for family in families)
    lines += ["\nnamespace oneflow {\n", "// All of them, ended by nullptr."]
    lines += ["extern const OpDef* const kAllOpDefs[];", "\n}  // namespace oneflow\n"]
    return guard("op/generated/op_defs.h", "\n".join(lines))


def _list_source(families: Sequence[Family]) -> str:
    lines = [BANNER, f'#include "{_FOLDER}/op_defs.h"\n', "namespace oneflow {\n"]
    lines.append("const OpDef* const kAllOpDefs[] = {")
    for family in families:
        lines += [f"    &{definition(row)}," for row in family.rows if row.primitive]
    lines += ["    nullptr,", "};\n", "}  // namespace oneflow\n"]
    return "\n".join(lines)


def _header(family: Family) -> str:
    """The declarations."""
    lines = ['#include "oneflow/op/op_def.h"\n', "namespace oneflow {\n"]
    lines += [f"extern const OpDef {definition(row)};" for row in family.rows if row.primitive]
    lines.append("\n}  // namespace oneflow\n")
    return guard(f"op/generated/op_defs_{family.name}.h", "\n".join(lines))


def _source(family: Family) -> str:
    """The definitions. A family's headers of the functional layer are above this one."""
    headers = [h for h in family.includes if not h.startswith("oneflow/functional/")]
    lines = [
        BANNER,
        f'#include "{_FOLDER}/op_defs_{family.name}.h"\n',
        "#include <cstddef>\n",
        *includes([*_COMMON_HEADERS, *headers]),
        "\nnamespace oneflow {\n",
        *[_definition(row) for row in family.rows if row.primitive],
        "}  // namespace oneflow\n",
    ]
    return "\n".join(lines)


def _definition(row: Row) -> str:
    tensors = row.signature.tensors
    lists = [i for i, t in enumerate(tensors) if t.type == "Tensor[]"]
    inputs = -1 - lists[0] if lists else len(tensors)
    fields = [
        f'"{row.python_name}"',
        f"/*num_inputs=*/{inputs}",
        f"/*num_outputs=*/{row.signature.outputs}",
        f"&{row.meta}",
        f"&{row.sbp}",
        "/*attrs_size=*/" + ("0" if row.attrs == "NoAttrs" else f"sizeof({row.attrs})"),
        "/*random_slot=*/" + (f"offsetof({row.attrs}, {row.random})" if row.random else "-1"),
        f"/*is_view=*/{_bool(row.is_view)}",
        f"/*promotes=*/{_bool(row.promotes != 'none' and (bool(lists) or len(tensors) > 1))}",
        f"/*syncs=*/{_bool(row.syncs)}",
        f"InplaceFailure::{_FAILURE[row.inplace_failure]}",
        "{" + ", ".join(_kernels(row, device) for device in ("cpu", "cuda")) + "}",
        "{}",
        "{}",
    ]
    body = "".join(f"    {f},\n" for f in fields)
    return f"const OpDef {definition(row)} = {{\n{body}}};\n"


def _kernels(row: Row, device: str) -> str:
    names = [f'"{name}"' for name in row.kernels.get(device, [])]
    return "{" + ", ".join([*names, "nullptr"]) + "}"


def _bool(value: bool) -> str:
    return "true" if value else "false"
