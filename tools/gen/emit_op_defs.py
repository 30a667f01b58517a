"""op_defs.h and op_defs.cc: one OpDef for each row that is no composite."""

from __future__ import annotations

from tools.gen.cpp import BANNER, definition, guard
from tools.gen.table import Row

_FAILURE = {"": "kNoInplace", "keeps_value": "kKeepsValue", "skips": "kSkips"}


def header(rows: list[Row]) -> str:
    """The declarations."""
    lines = ['#include "oneflow/op/op_def.h"\n', "namespace oneflow {\n"]
    lines += [f"extern const OpDef {definition(row)};" for row in rows if row.primitive]
    lines += ["\n// All of them, ended by nullptr.", "extern const OpDef* const kAllOpDefs[];"]
    lines.append("\n}  // namespace oneflow\n")
    return guard("op/generated/op_defs.h", "\n".join(lines))


def source(rows: list[Row]) -> str:
    """The definitions."""
    primitive = [row for row in rows if row.primitive]
    lines = [
        BANNER,
        '#include "oneflow/op/generated/op_defs.h"\n',
        "#include <cstddef>\n",
        '#include "oneflow/kernels/attrs.h"',
        '#include "oneflow/op/op_attrs.h"',
        '#include "oneflow/op/rules.h"\n',
        "namespace oneflow {\n",
    ]
    lines += [_definition(row) for row in primitive]
    lines.append("const OpDef* const kAllOpDefs[] = {")
    lines += [f"    &{definition(row)}," for row in primitive]
    lines += ["    nullptr,", "};\n", "}  // namespace oneflow\n"]
    return "\n".join(lines)


def _definition(row: Row) -> str:
    tensors = row.signature.tensors
    inputs = -1 if any(t.type == "Tensor[]" for t in tensors) else len(tensors)
    fields = [
        f'"{row.python_name}"',
        f"/*num_inputs=*/{inputs}",
        f"/*num_outputs=*/{row.signature.outputs}",
        f"&{row.meta}",
        f"&{row.sbp}",
        "/*attrs_size=*/" + ("0" if row.attrs == "NoAttrs" else f"sizeof({row.attrs})"),
        "/*random_slot=*/" + (f"offsetof({row.attrs}, {row.random})" if row.random else "-1"),
        f"/*is_view=*/{_bool(row.is_view)}",
        f"/*promotes=*/{_bool(row.promotes != 'none' and len(tensors) > 1)}",
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
