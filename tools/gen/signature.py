"""The signature of a row: `add(Tensor input, Tensor other, *, Scalar alpha=1) -> Tensor`."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

# The words of a signature, and for each: its C++ parameter, and the ParamType of the bindings.
TYPES: dict[str, tuple[str, str]] = {
    "Tensor": ("const TensorPtr&", "kTensor"),
    "Tensor?": ("const TensorPtr&", "kOptionalTensor"),
    "Tensor[]": ("const TensorTuple&", "kTensorList"),
    "Scalar": ("Scalar", "kScalar"),
    "Scalar?": ("const std::optional<Scalar>&", "kOptionalScalar"),
    "Scalar[]": ("const std::vector<Scalar>&", "kScalarList"),
    "int": ("int64_t", "kInt"),
    "int?": ("std::optional<int64_t>", "kOptionalInt"),
    "float": ("double", "kFloat"),
    "float?": ("std::optional<double>", "kOptionalFloat"),
    "float[]": ("const std::vector<double>&", "kFloatList"),
    "bool": ("bool", "kBool"),
    "bool?": ("std::optional<bool>", "kOptionalBool"),
    "int[]": ("const Dims&", "kIntList"),
    "int[]?": ("const std::optional<Dims>&", "kOptionalIntList"),
    "int[*]": ("const std::vector<int64_t>&", "kLongIntList"),
    "int[][]": ("const std::vector<Dims>&", "kShapeList"),
    "dtype": ("DataType", "kDataType"),
    "dtype?": ("std::optional<DataType>", "kOptionalDataType"),
    "device?": ("std::optional<Device>", "kOptionalDevice"),
    "generator?": ("const GeneratorPtr&", "kOptionalGenerator"),
    "str": ("const std::string&", "kString"),
    "str?": ("const std::optional<std::string>&", "kOptionalString"),
    "ignored": ("Ignored", "kIgnored"),
}

DTYPES = {
    "bool": "kBool",
    "uint8": "kUInt8",
    "int8": "kInt8",
    "int16": "kInt16",
    "int32": "kInt32",
    "int64": "kInt64",
    "float16": "kFloat16",
    "bfloat16": "kBFloat16",
    "float32": "kFloat",
    "float64": "kDouble",
}

# int[2]: two integers; one given alone, or in a list, stands for both.
_SIZED = re.compile(r"int\[([1-9]\d?)\](\??)\Z")
_NAME = re.compile(r"[a-z_][a-z0-9_]*\Z")
_SIGNATURE = re.compile(r"(?P<name>\w+)\((?P<params>.*)\) -> (?P<returns>.+)\Z")


class SignatureError(ValueError):
    """A signature that does not follow the grammar."""


@dataclass(frozen=True)
class Param:
    """One parameter. `default` is a Python value (a dtype's name for dtypes); see `required`."""

    name: str
    type: str
    required: bool
    default: Any
    keyword_only: bool
    varargs: bool  # a list that may also be given as separate positional arguments
    size: int = 0  # of an int[N]

    @property
    def is_tensor(self) -> bool:
        """Whether it is an operand, and no attribute."""
        return self.type in ("Tensor", "Tensor?", "Tensor[]")

    @property
    def cpp_type(self) -> str:
        """The C++ parameter type."""
        return TYPES[self.type][0]

    def cpp_default(self) -> str:
        """The default as a C++ expression."""
        return cpp_value(self.type, self.default)

    def text(self) -> str:
        """The parameter as in the signature."""
        kind = self.type.replace("[]", f"[{self.size}]") if self.size else self.type
        if self.required:
            return f"{kind} {self.name}"
        shown = self.default if self.type == "dtype" else repr(self.default)
        return f"{kind} {self.name}={shown}".replace("'", '"')


@dataclass(frozen=True)
class Signature:
    """A parsed signature; `outputs` is a count, -1 for a list of tensors.

    `choice`: a list, or a single tensor, as the arguments say.
    """

    name: str
    params: tuple[Param, ...]
    outputs: int
    result_names: tuple[str, ...] = ()  # of a named tuple, as in `(Tensor values, Tensor indices)`
    choice: bool = False

    @property
    def tensors(self) -> list[Param]:
        """The operands, in order."""
        return [p for p in self.params if p.is_tensor]

    def param(self, name: str) -> Param | None:
        """The parameter of that name."""
        return next((p for p in self.params if p.name == name), None)

    def input_index(self, name: str) -> int:
        """Position of an operand among the operands; -1 if there is none."""
        return next((i for i, p in enumerate(self.tensors) if p.name == name), -1)

    def text(self, name: str) -> str:
        """The signature under another name, without its result."""
        words: list[str] = []
        starred = False
        for p in self.params:
            if p.keyword_only and not starred:
                words.append("*")
                starred = True
            words.append(p.text())
        return f"{name}({', '.join(words)})"


# For each list its C++ type, and the type of an item.
_LISTS = {
    "int[]": ("Dims", "int"),
    "int[]?": ("Dims", "int"),
    "int[*]": ("std::vector<int64_t>", "int"),
    "float[]": ("std::vector<double>", "float"),
    "Scalar[]": ("std::vector<Scalar>", "Scalar"),
}


def cpp_value(kind: str, value: Any) -> str:
    """A Python value as a C++ expression of the C++ type of `kind`."""
    if value is None:
        plain = {"Tensor?": "nullptr", "generator?": "nullptr", "ignored": "Ignored()"}
        return plain.get(kind, "std::nullopt")
    if kind.startswith("dtype"):
        return f"DataType::{DTYPES[value]}"
    if kind == "Tensor[]":
        return "TensorTuple{}"
    if kind == "int[][]":
        return f"std::vector<Dims>{{{', '.join(cpp_value('int[]', v) for v in value)}}}"
    if kind in _LISTS:
        return f"{_LISTS[kind][0]}{{{', '.join(cpp_value(_LISTS[kind][1], v) for v in value)}}}"
    if kind.startswith("str"):
        return f'"{value}"'
    if kind in ("float", "float?"):
        return repr(float(value))
    if kind.startswith("Scalar"):
        return f"Scalar({str(value).lower() if isinstance(value, bool) else repr(value)})"
    return str(value).lower() if isinstance(value, bool) else str(value)


CHOICE = "Tensor|Tensor[]"


def parse(text: str) -> Signature:
    """Reads a signature. SignatureError says what is wrong with it."""
    match = _SIGNATURE.match(text.strip())
    if match is None:
        raise SignatureError(f"expects `name(type param, ...) -> Tensor`, got `{text}`")
    params: list[Param] = []
    keyword_only = False
    for word in _split(match["params"]):
        if word == "*":
            if keyword_only:
                raise SignatureError("`*` appears twice")
            keyword_only = True
            continue
        params.append(_param(word, keyword_only))
    _check_params(params)
    outputs, names = _outputs(match["returns"].strip())
    choice = match["returns"].strip() == CHOICE
    return Signature(match["name"], _with_varargs(params), outputs, names, choice)


def _split(text: str) -> list[str]:
    """Splits at commas that stand outside brackets and quotes."""
    words, depth, quoted, start = [], 0, False, 0
    for i, char in enumerate(text):
        quoted ^= char == '"'
        depth += 0 if quoted else (char in "([") - (char in ")]")
        if char == "," and depth == 0 and not quoted:
            words.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*words, last] if last or words else []


def _param(word: str, keyword_only: bool) -> Param:
    declared, has_default, default = word.partition("=")
    kind, _, name = declared.strip().rpartition(" ")
    sized = _SIZED.match(kind)
    size = int(sized[1]) if sized else 0
    kind = f"int[]{sized[2]}" if sized else kind
    if kind not in TYPES:
        raise SignatureError(f"`{word}` has no known type; known are {', '.join(TYPES)}")
    if not _NAME.match(name):
        raise SignatureError(f"`{name}` is no name for a parameter")
    value = _default(kind, name, default.strip(), size) if has_default else None
    required = not has_default and kind != "ignored"
    return Param(name, kind, required, value, keyword_only, varargs=False, size=size)


def _default(kind: str, name: str, text: str, size: int) -> Any:
    if kind in ("dtype", "dtype?") and text in DTYPES:
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError) as error:
        raise SignatureError(f"the default of `{name}`, `{text}`, is no literal") from error
    if size and isinstance(value, int):
        value = [value] * size
    if value is None and not kind.endswith("?") and kind != "ignored":
        raise SignatureError(f"`{name}` of type {kind} cannot be None; write {kind}?")
    expected: dict[str, tuple[type, ...]] = {
        "Scalar": (bool, int, float),
        "int": (int,),
        "float": (int, float),
        "bool": (bool,),
        "int[]": (list, tuple),
        "int[*]": (list, tuple),
        "float[]": (list, tuple),
        "Scalar[]": (list, tuple),
        "str": (str,),
        "ignored": (object,),
    }
    base = kind.rstrip("?")
    if kind == "Tensor[]" and value == []:
        return value
    if value is not None and not isinstance(value, expected.get(base, ())):
        raise SignatureError(f"`{text}` is no default for `{name}` of type {kind}")
    return value


def _check_params(params: list[Param]) -> None:
    seen: set[str] = set()
    optional = ""
    for p in params:
        if p.name in seen:
            raise SignatureError(f"`{p.name}` appears twice")
        seen.add(p.name)
        if p.required and optional and not p.keyword_only:
            raise SignatureError(f"`{p.name}` without a default follows `{optional}` with one")
        optional = optional if p.required else p.name


def _with_varargs(params: list[Param]) -> tuple[Param, ...]:
    positional = [p for p in params if not p.keyword_only]
    last = positional[-1] if positional else None
    lists = ("int[]", "Tensor[]")
    if last is None or last.type not in lists or not last.required or last.size:
        return tuple(params)
    flagged = Param(last.name, last.type, True, None, False, varargs=True)
    return tuple(flagged if p is last else p for p in params)


def _outputs(text: str) -> tuple[int, tuple[str, ...]]:
    if text == "Tensor":
        return 1, ()
    if text in ("Tensor[]", CHOICE):
        return -1, ()
    results = [w.split() for w in text.strip("()").split(",")]
    named = {len(r) == 2 and bool(_NAME.match(r[1])) for r in results}
    wrong = any(r[:1] != ["Tensor"] for r in results) or len(named) != 1
    if not (text.startswith("(") and text.endswith(")")) or wrong:
        raise SignatureError(f"expects a result Tensor, (Tensor, Tensor) or Tensor[], got `{text}`")
    if not named.pop():
        if any(len(r) != 1 for r in results):
            raise SignatureError(f"`{text}` has a name that is none")
        return len(results), ()
    return len(results), tuple(r[1] for r in results)
