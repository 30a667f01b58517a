"""functional_<family>.h and .cc: the C++ API of all ops, with their derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.gen.cpp import BANNER, camel, definition, guard, helper_expression, names_in
from tools.gen.families import callees, identifiers, includes
from tools.gen.formula import (
    Backward,
    Gradient,
    compile_backward,
    compile_composite,
    gradient_name,
)
from tools.gen.signature import Param
from tools.gen.table import Family, Row

_OPTIONS = ("device", "dtype", "generator")
_FOLDER = "oneflow/functional/generated"
_COMMON_HEADERS = (
    "oneflow/functional/attr_helpers.h",
    "oneflow/functional/composites.h",
    "oneflow/functional/dispatch.h",
    "oneflow/functional/op_node.h",
    "oneflow/kernels/attrs.h",
    "oneflow/op/op_attrs.h",
)


def files(families: Sequence[Family]) -> dict[str, str]:
    """The whole part: headers and a source for each family, and headers of all."""
    table = {row.name: row for family in families for row in family.rows}
    out = {
        "functional.h": _umbrella("functional", families),
        "functional_ops.h": _umbrella("functional_ops", families),
    }
    for family in families:
        out[f"functional_{family.name}.h"] = _header(family)
        out[f"functional_ops_{family.name}.h"] = _ops_header(family)
        out[f"functional_{family.name}.cc"] = _source(family, families, table)
    return out


def _umbrella(stem: str, families: Sequence[Family]) -> str:
    lines = includes(f"{_FOLDER}/{stem}_{family.name}.h" for family in families)
    return guard(f"functional/generated/{stem}.h", "\n".join([*lines, ""]))


def _header(family: Family) -> str:
    """The declarations of the API."""
    lines = [
        "#include <cstdint>\n#include <optional>\n#include <string>\n#include <vector>\n",
        '#include "oneflow/common/maybe.h"\n#include "oneflow/core/device.h"',
        '#include "oneflow/core/dims.h"\n#include "oneflow/core/generator.h"',
        '#include "oneflow/core/scalar.h"\n#include "oneflow/functional/call_types.h"',
        '#include "oneflow/tensor/tensor.h"\n',
        "namespace oneflow::functional {\n",
    ]
    for row in family.rows:
        if not row.inplace_only:
            lines.append(f"// {row.doc['summary'].strip()}")
            lines.append(f"{_returns(row)} {row.name}({_params(row, defaults=True)});")
        if row.inplace_name:
            summary = row.doc["summary"].strip() if row.inplace_only else "The same."
            lines.append(f"// {summary} In place; returns what it changed.")
            lines.append(f"{_returns(row)} {row.name}_({_params(row, defaults=True)});")
    lines.append("\n}  // namespace oneflow::functional\n")
    return guard(f"functional/generated/functional_{family.name}.h", "\n".join(lines))


def _ops_header(family: Family) -> str:
    """Declares the FunctionalOps, for composites that write in place."""
    lines = ['#include "oneflow/functional/op_node.h"\n', "namespace oneflow::functional {\n"]
    lines += [
        f"extern const FunctionalOp {functional_op(row)};" for row in family.rows if row.primitive
    ]
    lines.append("\n}  // namespace oneflow::functional\n")
    return guard(f"functional/generated/functional_ops_{family.name}.h", "\n".join(lines))


def functional_op(row: Row) -> str:
    """The name of a row's FunctionalOp."""
    return f"k{camel(row.name)}Op"


def _source(family: Family, families: Sequence[Family], table: Mapping[str, Row]) -> str:
    """The definitions of one family."""
    body = []
    for row in family.rows:
        if row.composite:
            body.append(_composite(row, table))
        else:
            body.append(_functional_op(row, table))
            if not row.inplace_only:
                body.append(_call(row))
            if row.inplace_name:
                body.append(_inplace_call(row))
    text = "\n".join(body)
    called = callees(text, families)
    headers = [f"{_FOLDER}/functional_{name}.h" for name in called if name != family.name]
    lines = [
        BANNER,
        f'#include "{_FOLDER}/functional_{family.name}.h"\n',
        *includes(
            [
                *_COMMON_HEADERS,
                *headers,
                *family.includes,
                f"{_FOLDER}/functional_ops_{family.name}.h",
                f"oneflow/op/generated/op_defs_{family.name}.h",
            ]
        ),
        "\nnamespace oneflow::functional {\n",
        text,
        "}  // namespace oneflow::functional\n",
    ]
    return "\n".join(lines)


def _returns(row: Row) -> str:
    if row.signature.choice:
        return "Maybe<TensorChoice>"
    return "Maybe<TensorPtr>" if row.signature.outputs == 1 else "Maybe<TensorTuple>"


def _params(row: Row, defaults: bool) -> str:
    """The C++ parameter list; defaults only where every later parameter has one, too."""
    params = row.signature.params
    words = []
    for i, p in enumerate(params):
        word = f"{p.cpp_type} {p.name}"
        if defaults and all(not later.required for later in params[i:]):
            word += f" = {p.cpp_default()}"
        words.append(word)
    return ", ".join(words)


def _composite(row: Row, table: Mapping[str, Row]) -> str:
    head = f"{_returns(row)} {row.name}({_params(row, defaults=False)}) {{\n"
    if row.composite_function:
        arguments = ", ".join(p.name for p in row.signature.params if p.type != "ignored")
        inner = f"composites::{row.composite}({arguments})"
        return f'{head}  return NamedAs("{row.python_name}", {inner});\n}}\n'
    statements, result = compile_composite(row, table)
    body = "".join(f"    {s}\n" for s in statements) + f"    return {result};\n  }};\n"
    made = f"  const auto made = [&]() -> {_returns(row)} {{\n{body}"
    return f'{head}{made}  return NamedAs("{row.python_name}", made());\n}}\n'


def _functional_op(row: Row, table: Mapping[str, Row]) -> str:
    _check_params_used(row)
    compiled = compile_backward(row, table)
    function = "nullptr"
    text = ""
    if compiled.blocks:
        function = f"&{camel(row.name)}Backward"
        function_text = _backward_function(row, compiled.uses_attrs, compiled.blocks)
        text = f"namespace {{\n\n{function_text}\n{_uses(row, compiled)}}}  // namespace\n\n"
    masks = ", ".join(
        f"/*{name}=*/0x{value:x}"
        for name, value in [
            ("save_inputs", compiled.save_inputs),
            ("save_outputs", compiled.save_outputs),
            ("save_metas", compiled.save_metas),
            ("grad_inputs", compiled.grad_inputs),
        ]
    )
    about = "nullptr, 0, nullptr"
    if compiled.blocks:
        about = f"k{camel(row.name)}Uses, {len(compiled.uses)}, k{camel(row.name)}Inputs"
    return text + (
        f"const FunctionalOp {functional_op(row)} = {{&{definition(row)}, {function}, {masks}, "
        f"{about}}};\n"
    )


def _uses(row: Row, compiled: Backward) -> str:
    """What each gradient needs saved, and the operands' names for messages."""
    uses = ", ".join(f"{{{i}, 0x{inputs:x}, 0x{outs:x}}}" for i, inputs, outs in compiled.uses)
    names = ", ".join(f'"{p.name}"' for p in row.signature.tensors)
    return (
        f"const GradientUse k{camel(row.name)}Uses[] = {{{uses}}};\n"
        f"const char* const k{camel(row.name)}Inputs[] = {{{names}}};\n\n"
    )


def _backward_function(row: Row, uses_attrs: bool, blocks: list[Gradient]) -> str:
    lines = [
        f"Maybe<void> {camel(row.name)}Backward(const OpNode& node, const TensorTuple& dys,",
        "                     TensorTuple* dxs) {",
    ]
    if uses_attrs:
        lines.append(f"  const {row.attrs}& attrs = node.GetAttrs<{row.attrs}>();")
    for block in blocks:
        results = [(block.input, block.result), *block.shared]
        index, used = block.input, set().union(*map(identifiers, [*block.statements, block.result]))
        needs = f"node.NeedsGradFrom({index})"
        if not block.is_list:
            needs = " || ".join(f"node.NeedsGrad({i})" for i, _ in results)
            needs = f"({needs})" if block.shared else needs
        arrived = " || ".join(f"dys[{dy}] != nullptr" for dy in block.dys)
        arrived = f"({arrived})" if len(block.dys) > 1 else arrived
        lines.append(f"  if ({needs} && {arrived}) {{")
        for dy in block.dys:
            if gradient_name(dy) in used:
                lines.append(f"    const TensorPtr& {gradient_name(dy)} = dys[{dy}];")
        lines += [f"    {statement}" for statement in block.statements]
        if block.is_list:
            lines += [f"    JUST(node.SetListGradients({index}, {block.result}, dxs));", "  }"]
        elif block.shared:
            lines += [f"    if (node.NeedsGrad({i})) {{ (*dxs)[{i}] = {r}; }}" for i, r in results]
            lines.append("  }")
        else:
            lines += [f"    (*dxs)[{index}] = {block.result};", "  }"]
    lines += ["  return Ok();", "}", ""]
    return "\n".join(lines)


def _call(row: Row) -> str:
    tensors = row.signature.tensors
    lines = [f"{_returns(row)} {row.name}({_params(row, defaults=False)}) {{"]
    first = _promotion(row, lines)
    inputs, count = _inputs(row, tensors, lines, first)
    attrs = _attrs(row, lines)
    options = _options(row, lines)
    outputs = row.signature.outputs
    if outputs == 1:
        lines.append("  TensorPtr output;")
        target = "&output"
    else:
        lines.append(f"  TensorTuple output({outputs});")
        target = "output.data()"
    call = f"Dispatch({functional_op(row)}, {inputs}, {count}, {attrs}, {target}{options})"
    lines += [f"  JUST({call});", "  return output;", "}", ""]
    return "\n".join(lines)


def _inplace_call(row: Row) -> str:
    lines = [f"{_returns(row)} {row.name}_({_params(row, defaults=False)}) {{"]
    if row.promotes not in ("none", "common"):
        wanted = helper_expression(row, row.promotes, "promotes")
        target = row.signature.params[0].name
        lines.append(f'  JUST(CheckInplaceDtype("{row.python_name}", {target}, {wanted}));')
    inputs, count = _inputs(row, row.signature.tensors, lines, "")
    attrs = _attrs(row, lines)
    options = _list_targets(row, lines) or _options(row, lines)
    call = f"DispatchInplace({functional_op(row)}, {inputs}, {count}, {attrs}{options})"
    targets = [p.name for p in row.signature.params[: max(row.signature.outputs, 1)]]
    result = targets[0] if len(targets) == 1 else "TensorTuple{" + ", ".join(targets) + "}"
    lines += [f"  JUST({call});", f"  return {result};", "}", ""]
    return "\n".join(lines)


def _list_targets(row: Row, lines: list[str]) -> str:
    """DispatchOptions that say how many tensors an update of lists writes."""
    if row.signature.outputs > 0:
        return ""
    sizes = " + ".join(f"{p.name}.size()" for p in row.signature.params[: row.inplace_lists])
    lines.append("  DispatchOptions options;")
    lines.append(f"  options.targets = static_cast<int>({sizes});")
    return ", options"


def _promotion(row: Row, lines: list[str]) -> str:
    """Casts the first operand where the row says so; returns the name that replaces it."""
    if row.promotes in ("none", "common") or not row.signature.tensors:
        return ""
    first = row.signature.tensors[0].name
    wanted = helper_expression(row, row.promotes, "promotes")
    lines.append(f"  const DataType wanted = {wanted};")
    lines.append(f"  if (__builtin_expect({first}->dtype() != wanted, 0)) {{")
    others = [
        f"JUST(functional::cast({first}, wanted))" if p.name == first else p.name
        for p in row.signature.params
    ]
    lines.append(f"    return {row.name}({', '.join(others)});")
    lines.append("  }")
    return first


def _inputs(row: Row, tensors: list[Param], lines: list[str], first: str) -> tuple[str, str]:
    """The operands as (pointer, count) for the dispatcher."""
    if not tensors:
        return "nullptr", "0"
    if len(tensors) == 1 and tensors[0].type == "Tensor[]":
        name = tensors[0].name
        return f"{name}.data()", f"static_cast<int>({name}.size())"
    if any(t.type == "Tensor[]" for t in tensors):
        single = ", ".join(t.name for t in tensors if t.type != "Tensor[]")
        lines.append(f"  TensorTuple inputs{{{single}}};")
        lines += [
            f"  inputs.insert(inputs.end(), {t.name}.begin(), {t.name}.end());"
            for t in tensors
            if t.type == "Tensor[]"
        ]
        return "inputs.data()", "static_cast<int>(inputs.size())"
    if len(tensors) == 1:
        return f"&{tensors[0].name}", "1"
    lines.append(f"  const TensorPtr inputs[] = {{{', '.join(t.name for t in tensors)}}};")
    return "inputs", str(len(tensors))


def _attrs(row: Row, lines: list[str]) -> str:
    if row.attrs == "NoAttrs":
        return "nullptr"
    lines.append(f"  {row.attrs} attrs;")
    for path, text in row.attr_fields.items():
        value = helper_expression(row, text, "attrs")
        param = row.signature.param(text)
        if param is not None and param.type.startswith("int[]"):
            value = f"AttrOf({value})"
        lines.append(f"  attrs.{path} = {value};")
    return "&attrs"


def _options(row: Row, lines: list[str]) -> str:
    """DispatchOptions, from the parameters device, dtype and generator."""
    wanted = [p for p in row.signature.params if p.name in _OPTIONS and _is_option(row, p)]
    creates = not row.signature.tensors
    if not wanted and not creates:
        return ""
    lines.append("  DispatchOptions options;")
    for p in wanted:
        if p.name == "generator":
            lines.append("  options.generator = generator;")
        elif p.name == "device":
            lines.append("  options.device = device.value_or(Device());")
    if creates:
        dtype = "DefaultDtype()"
        if row.promotes != "none":
            dtype = helper_expression(row, row.promotes, "promotes")
        elif any(p.name == "dtype" for p in wanted):
            dtype = "dtype.value_or(DefaultDtype())"
        lines.append(f"  options.dtype = {dtype};")
    return ", options"


def _is_option(row: Row, param: Param) -> bool:
    """Whether a parameter goes to the dispatcher and to nothing else."""
    if param.name == "generator":
        return True
    used = any(param.name in names_in(text) for text in row.attr_fields.values())
    return not used and not row.signature.tensors


def _check_params_used(row: Row) -> None:
    used = {p.name for p in row.signature.tensors}
    used |= {p.name for p in row.signature.params if p.name in _OPTIONS and _is_option(row, p)}
    for text in row.attr_fields.values():
        used |= names_in(text)
    if row.promotes not in ("none", "common"):
        used |= names_in(row.promotes)
    for p in row.signature.params:
        if p.name not in used and p.type != "ignored":
            raise row.error("attrs", f"the parameter `{p.name}` fills no attribute")
