"""The op table: what a row may say, and a check of every row.

A row is checked as far as it can be without a C++ compiler; what is wrong is said with file:line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tools.gen import signature
from tools.gen.yaml_lines import Node, TableError, load

MAX_KERNELS = 7  # kMaxKernelsPerOp less the end mark
MAX_OUTPUTS = 8  # kMaxOpOutputs
PLACES = ("function", "method")
FAILURES = ("keeps_value", "skips")
ERRORS = ("TypeError", "ValueError", "IndexError", "RuntimeError", "NotImplementedError",
          "OutOfMemoryError")  # fmt: skip
STRATEGIES = ("broadcast", "elementwise", "reduce", "reduce_some", "none")

COLUMNS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "signature": (str,),
    "python": (Node,),
    "aliases": (list,),
    "doc": (Node,),
    "attrs": (Node,),
    "meta": (str,),
    "sbp": (str,),
    "backward": (Node, str),
    "not_differentiable": (str,),
    "once_differentiable": (str,),
    "syncs": (bool,),
    "inplace": (Node,),
    "random": (str,),
    "is_view": (bool,),
    "promotes": (str,),
    "kernels": (Node,),
    "composite": (str,),
    "numpy": (str,),
    "samples": (Node,),
    "bad_inputs": (list,),
}
ALWAYS = ("name", "signature", "doc")
PRIMITIVE_ONLY = ("attrs", "meta", "sbp", "backward", "random", "is_view", "promotes", "kernels",
                  "inplace")  # fmt: skip
DOC_KEYS = ("summary", "formula", "args", "returns", "errors", "example", "source")
DOC_REQUIRED = ("summary", "args", "returns", "errors")


@dataclass
class Row:
    """One checked row. Names are those of the columns; see docs/adding_an_op.md."""

    name: str
    signature: signature.Signature
    doc: Node
    source: Node
    python_name: str = ""
    places: tuple[str, ...] = PLACES
    aliases: tuple[str, ...] = ()
    attrs: str = "NoAttrs"
    attr_fields: dict[str, str] = field(default_factory=dict)
    meta: str = ""
    sbp: str = ""
    backward: dict[str, str] = field(default_factory=dict)
    not_differentiable: str = ""
    once_differentiable: str = ""
    syncs: bool = False
    inplace_name: str = ""
    inplace_failure: str = ""
    inplace_only: bool = False
    inplace_lists: int = 1
    random: str = ""
    is_view: bool = False
    promotes: str = "none"
    kernels: dict[str, list[str]] = field(default_factory=dict)
    composite: str = ""
    numpy: str = ""
    strategy: str = "none"
    constants: tuple[str, ...] = ()
    sample_range: tuple[float, ...] = ()
    sample_dtypes: tuple[str, ...] = ("float32", "float64", "int64")
    samples: list[Node] = field(default_factory=list)
    bad_inputs: list[Node] = field(default_factory=list)

    @property
    def primitive(self) -> bool:
        """Whether the row has kernels, or is a view; a composite calls other rows."""
        return not self.composite

    @property
    def composite_function(self) -> bool:
        """Whether `composite` names a function of composites.h, and is no expression."""
        return re.fullmatch(r"[A-Z]\w*", self.composite) is not None

    def error(self, column: str, message: str) -> TableError:
        """An error about one column of this row."""
        return TableError(self.source.where(column), f"op `{self.name}`: {message}")


@dataclass
class Family:
    """The rows of one file, and the headers that its C++ needs beside the common ones."""

    name: str
    rows: list[Row] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)


def load_families(paths: Iterable[Path], root: Path | None = None) -> list[Family]:
    """Reads and checks the files, in the order given. TableError at the first fault."""
    families = []
    for path in paths:
        shown = str(path.relative_to(root)) if root and path.is_relative_to(root) else str(path)
        content = load(path, shown)
        if not isinstance(content, list):
            raise TableError(f"{shown}:1", "expects a list of rows, each beginning `- name: `")
        families.append(_read_family(path.stem, shown, content))
    _check_table([row for family in families for row in family.rows])
    return families


def load_table(paths: Iterable[Path], root: Path | None = None) -> list[Row]:
    """The rows of all files."""
    return [row for family in load_families(paths, root) for row in family.rows]


def _read_family(name: str, shown: str, content: list[object]) -> Family:
    family = Family(name)
    for i, item in enumerate(content):
        if not isinstance(item, Node):
            raise TableError(f"{shown}:1", f"expects rows that are mappings, got `{item}`")
        if i == 0 and list(item) == ["includes"]:
            family.includes = _headers(item)
        else:
            family.rows.append(read_row(item))
    return family


def _headers(node: Node) -> list[str]:
    """The headers named by the first entry of a file, `- includes: [...]`."""
    headers = node["includes"]
    if not isinstance(headers, list) or not all(
        isinstance(h, str) and h.startswith("oneflow/") and h.endswith(".h") for h in headers
    ):
        raise TableError(node.where("includes"), "`includes` expects a list of oneflow/....h")
    return headers


def read_row(node: Node) -> Row:
    """Checks one row by itself."""
    _check_columns(node)
    try:
        parsed = signature.parse(node["signature"])
    except signature.SignatureError as error:
        raise TableError(node.where("signature"), f"op `{node['name']}`: {error}") from error
    row = Row(name=node["name"], signature=parsed, doc=node["doc"], source=node)
    if parsed.name != row.name:
        raise row.error("signature", f"the signature is called `{parsed.name}`")
    _read_python(row)
    _read_doc(row)
    _read_test(row)
    row.syncs = node.get("syncs", False)
    row.composite = node.get("composite", "")
    row.not_differentiable = node.get("not_differentiable", "")
    row.once_differentiable = node.get("once_differentiable", "")
    if row.not_differentiable and row.once_differentiable:
        raise row.error("once_differentiable", "the row is not differentiable at all")
    if row.composite:
        _check_composite(row)
    else:
        _read_primitive(row)
    return row


def _check_columns(node: Node) -> None:
    name = node.get("name", "?")
    for key, value in node.items():
        if key not in COLUMNS:
            known = ", ".join(COLUMNS)
            raise TableError(node.where(key), f"op `{name}`: no column `{key}`; known: {known}")
        if not isinstance(value, COLUMNS[key]):
            wanted = " or ".join("mapping" if t is Node else t.__name__ for t in COLUMNS[key])
            raise TableError(
                node.where(key),
                f"op `{name}`: `{key}` expects {wanted}, got {type(value).__name__} `{value}`",
            )
    for key in ALWAYS:
        if key not in node:
            raise TableError(node.where(), f"op `{name}`: the column `{key}` is missing")
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        raise TableError(node.where("name"), f"`{name}` is no name for an op")


def _keys(row: Row, column: str, node: Node, known: Iterable[str]) -> None:
    """Checks the keys of a mapping inside a row."""
    for key in node:
        if key not in known:
            raise TableError(
                node.where(key),
                f"op `{row.name}`: `{column}` has no `{key}`; known: {', '.join(known)}",
            )


def _read_python(row: Row) -> None:
    node = row.source.get("python") or Node()
    if node:
        _keys(row, "python", node, ("name", "in"))
    row.python_name = node.get("name", row.name)
    places = node.get("in", list(PLACES))
    if not isinstance(places, list) or not set(places) <= set(PLACES):
        raise row.error("python", f"`in` expects a list of {' and '.join(PLACES)}, got {places}")
    row.places = tuple(places)
    row.aliases = tuple(row.source.get("aliases", []))
    first = row.signature.params[0].type if row.signature.params else ""
    if "method" in row.places and first != "Tensor":
        raise row.error("python", "a method's first parameter must be a Tensor; set `in`")


def _read_doc(row: Row) -> None:
    _keys(row, "doc", row.doc, DOC_KEYS)
    for key in DOC_REQUIRED:
        if key not in row.doc:
            raise row.error("doc", f"`doc` lacks `{key}`")
    if row.places and "example" not in row.doc:
        raise row.error("doc", "`doc` lacks `example`, which a row that Python sees has")
    described = list(row.doc["args"] or {})
    expected = [p.name for p in row.signature.params]
    if described != expected:
        raise TableError(
            row.doc.where("args"),
            f"op `{row.name}`: `doc.args` expects {', '.join(expected)}, got "
            + ", ".join(described),
        )
    if "\n" in row.doc["summary"].strip() or not row.doc["summary"].strip().endswith("."):
        raise TableError(
            row.doc.where("summary"), f"op `{row.name}`: the summary is one line with a full stop"
        )


def _read_test(row: Row) -> None:
    node = row.source.get("samples") or Node()
    if node:
        _keys(row, "samples", node, ("strategy", "dtypes", "also", "constants", "range"))
    row.strategy = node.get("strategy", "none")
    if row.strategy not in STRATEGIES:
        raise row.error("samples", f"`strategy` expects one of {', '.join(STRATEGIES)}")
    row.sample_dtypes = tuple(node.get("dtypes", row.sample_dtypes))
    if not set(row.sample_dtypes) <= set(signature.DTYPES):
        raise row.error("samples", f"unknown dtype in {list(row.sample_dtypes)}")
    row.samples = node.get("also", [])
    row.constants = tuple(node.get("constants", ()))
    row.sample_range = tuple(node.get("range", ()))
    if len(row.sample_range) not in (0, 2):
        raise row.error("samples", "`range` expects [low, high]")
    row.numpy = str(row.source.get("numpy", ""))
    if row.numpy:
        _check_python(row, "numpy", row.numpy)
    if row.numpy and row.strategy == "none" and not row.samples:
        raise row.error("numpy", "nothing to compare: give `samples` a strategy, or `also`")
    names = [p.name for p in row.signature.params]
    for sample in row.samples:
        _keys(row, "samples.also", sample, names)
    row.bad_inputs = row.source.get("bad_inputs", [])
    for bad in row.bad_inputs:
        _keys(row, "bad_inputs", bad, ("args", "error", "match"))
        if bad.get("error") not in ERRORS or "args" not in bad or "match" not in bad:
            raise TableError(
                bad.where(),
                f"op `{row.name}`: a bad input has `args`, `match` and an `error` of "
                + ", ".join(ERRORS),
            )
        _keys(row, "bad_inputs.args", bad["args"], names)


def _check_python(row: Row, column: str, text: str) -> None:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise row.error(column, f"`{text}` is no Python expression: {error.msg}") from error


def _check_composite(row: Row) -> None:
    for column in PRIMITIVE_ONLY:
        if column in row.source:
            raise row.error(column, f"a composite row has no `{column}`")
    if not row.composite_function:
        _check_python(row, "composite", row.composite)


def _read_primitive(row: Row) -> None:
    node = row.source
    for column in ("meta", "sbp"):
        if column not in node:
            raise row.error(column, f"a row without `composite` needs `{column}`")
    row.meta, row.sbp = node["meta"], node["sbp"]
    row.is_view = node.get("is_view", False)
    row.random = node.get("random", "")
    row.promotes = node.get("promotes", "none")
    if not re.fullmatch(r"none|common|[A-Z]\w*\(.*\)", row.promotes):
        raise row.error("promotes", "expects none, common, or a call that gives the dtype")
    _read_attrs(row)
    _read_backward(row)
    _read_inplace(row)
    _read_kernels(row)
    _check_lists(row)


def _check_lists(row: Row) -> None:
    """Lists among the operands and results of a primitive."""
    if row.signature.choice:
        raise row.error("signature", "only a composite can choose what it returns")
    if row.signature.outputs > MAX_OUTPUTS:
        raise row.error("signature", f"expects at most {MAX_OUTPUTS} outputs of a primitive")
    if row.signature.outputs < 0:
        if not row.inplace_only or row.backward:
            raise row.error("signature", "only a composite, or an update in place, has Tensor[]")
        if any(p.type != "Tensor[]" for p in row.signature.tensors):
            raise row.error("signature", "an update of a Tensor[] expects lists only")
        return
    if any(p.type == "Tensor[]" for p in row.signature.tensors[:-1]):
        raise row.error("signature", "a Tensor[] must be the last operand of a primitive")


def _read_attrs(row: Row) -> None:
    node = row.source.get("attrs") or Node()
    if node:
        _keys(row, "attrs", node, ("struct", "fields"))
    row.attrs = node.get("struct", "NoAttrs")
    row.attr_fields = {k: str(v) for k, v in (node.get("fields") or {}).items()}
    for name, text in row.attr_fields.items():
        _check_python(row, "attrs", text)
        if not re.fullmatch(r"[a-z_]\w*(\.[a-z_]\w*)*", name):
            raise row.error("attrs", f"`{name}` is no field")
    if row.random and row.attrs == "NoAttrs":
        raise row.error("random", "a row that draws needs an attribute struct with a RandomSlot")


def _read_backward(row: Row) -> None:
    if ("backward" in row.source) == bool(row.not_differentiable):
        raise row.error("backward", "expects either `backward` or `not_differentiable: reason`")
    backward = row.source.get("backward")
    if backward is None:
        return
    if not isinstance(backward, Node):
        raise row.error(
            "backward", "expects a mapping from an input to the formula of its gradient"
        )
    for name, text in backward.items():
        if row.signature.input_index(name) < 0:
            raise TableError(
                backward.where(name), f"op `{row.name}`: `{name}` is no tensor of the signature"
            )
        _check_python(row, "backward", str(text))
        row.backward[name] = str(text)


def _read_inplace(row: Row) -> None:
    node = row.source.get("inplace")
    if node is None:
        return
    _keys(row, "inplace", node, ("name", "failure", "only", "lists"))
    row.inplace_lists = node.get("lists", 1)
    row.inplace_only = node.get("only", False)
    row.inplace_name = node.get("name", "")
    row.inplace_failure = node.get("failure", "")
    if not row.inplace_name.endswith("_"):
        raise row.error("inplace", "`name` must end in `_`")
    if row.inplace_failure not in FAILURES:
        raise row.error("inplace", f"`failure` expects one of {', '.join(FAILURES)}")
    wanted, count = "Tensor", row.signature.outputs
    if count < 0:
        wanted, count = "Tensor[]", row.inplace_lists
    targets = row.signature.params[:count]
    if row.is_view or not targets or any(p.type != wanted for p in targets):
        raise row.error("inplace", f"needs a {wanted} for each result first, and no view")


def _read_kernels(row: Row) -> None:
    if row.is_view:
        if "kernels" in row.source:
            raise row.error("kernels", "a view runs no kernel")
        return
    node = row.source.get("kernels")
    if node is None or (node and not node.get("cpu")):
        raise row.error("kernels", "expects `kernels: {cpu: [...]}`, or {} for undefined elements")
    _keys(row, "kernels", node, ("cpu", "cuda"))
    for device, names in node.items():
        if not isinstance(names, list) or len(names) > MAX_KERNELS:
            raise row.error("kernels", f"expects a list of at most {MAX_KERNELS} names")
        for name in names:
            if not re.fullmatch(rf"\w+\.{device}\.\w+", str(name)):
                raise row.error("kernels", f"`{name}` is not called <op>.{device}.<variant>")
        row.kernels[device] = list(names)


def _check_table(rows: list[Row]) -> None:
    """What concerns rows together: names."""
    seen: dict[str, Row] = {}
    for row in rows:
        for name in [row.name] + ([f"{row.name}_"] if row.inplace_name else []):
            if name in seen:
                other = seen[name].source.where("name")
                raise row.error("name", f"`{name}` is already in the table, at {other}")
            seen[name] = row


def python_names(rows: Iterable[Row]) -> dict[str, list[tuple[Row, bool]]]:
    """What Python sees: for each name its overloads in order, as (row, in place)."""
    out: dict[str, list[tuple[Row, bool]]] = {}
    for row in rows:
        if not row.places:
            continue
        for name in () if row.inplace_only else (row.python_name, *row.aliases):
            out.setdefault(name, []).append((row, False))
        if row.inplace_name:
            out.setdefault(row.inplace_name, []).append((row, True))
    return {name: out[name] for name in sorted(out)}
