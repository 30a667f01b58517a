"""What to measure: programs, their variants, and which of them are compared.

A plan is plain data and travels as JSON, inside each result, so that a result can be repeated.
Reading one checks every field; a plan or result from elsewhere is input, not code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from bench.harness.verdict import Policy

GATE, CONTROL, INFO = "gate", "control", "info"
ROLES = (GATE, CONTROL, INFO)


@dataclass(frozen=True)
class Versus:
    """A candidate variant against a reference variant.

    Attributes:
        candidate: name of the variant that is judged.
        reference: name of the variant it is measured against.
        role: `gate`: being slower is a regression; `control`: the two are the same program;
            `info`: for the reader.
        target: speed that an `info` comparison should reach, as a ratio; None: the row's target.
    """

    candidate: str
    reference: str
    role: str
    target: float | None = None


@dataclass(frozen=True)
class Row:
    """One metric of a program, one row of the report.

    Attributes:
        metric: its name in the JSON lines.
        title: its name in the report.
        unit: of the samples; all variants must agree.
        better: `lower` for costs such as times, `higher` for rates.
        target: speed that the `info` comparisons should reach, as a ratio; None for none.
        at_most: what the first variant's figure should be at most, in `unit`; None for no limit.
    """

    metric: str
    title: str
    unit: str = "s"
    better: str = "lower"
    target: float | None = None
    at_most: float | None = None


@dataclass(frozen=True)
class Program:
    """A program with its variants.

    Attributes:
        name: unique in the plan.
        commands: argument list for each variant; None when it is not available here.
        rows: what its processes report; other metrics are recorded, but not compared.
        env: added to the environment, for each variant (`"*"`: for all).
        timeout_s: after which a process is ended.
        expected: for each metric, the answer its check must hold; an empty one leaves it to the
            variants to agree with each other.
        rtol, atol: how far a number in a check may differ.
    """

    name: str
    commands: Mapping[str, Sequence[str] | None]
    rows: Sequence[Row]
    env: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    timeout_s: float = 300.0
    expected: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rtol: float = 1e-4
    atol: float = 1e-6

    def available(self) -> list[str]:
        """The variants that have a command."""
        return [name for name, command in self.commands.items() if command is not None]


@dataclass(frozen=True)
class Plan:
    """A whole run.

    Attributes:
        programs: what is measured.
        versus: what is compared, for each row of each program.
        policy: rates and tolerance.
        labels: for the report, what each variant is (a commit, a version, why it is missing).
        repeat: the command that repeats the run.
    """

    programs: Sequence[Program]
    versus: Sequence[Versus]
    policy: Policy = Policy()
    labels: Mapping[str, str] = field(default_factory=dict)
    repeat: str = ""

    def family(self, role: str) -> list[tuple[Program, Row, Versus]]:
        """The comparisons of a role that can be made here: they share one error rate."""
        return [
            (program, row, versus)
            for program in self.programs
            for row in program.rows
            for versus in self.versus
            if versus.role == role
            and program.commands.get(versus.candidate) is not None
            and program.commands.get(versus.reference) is not None
        ]

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON values."""
        return asdict(self)


def standard_versus(variants: Sequence[str]) -> list[Versus]:
    """The usual comparisons among variants named base, head, "base again", "head again", pytorch.

    >>> [f"{v.candidate} / {v.reference}: {v.role}" for v in standard_versus(["head", "pytorch"])]
    ['head / pytorch: info']
    """
    usual = [
        Versus("head", "base", GATE),
        Versus("base again", "base", CONTROL),
        Versus("head again", "head", CONTROL),
        Versus("head", "pytorch", INFO),
    ]
    return [v for v in usual if v.candidate in variants and v.reference in variants]


def plan_from_json(value: Any) -> Plan:
    """Reads a plan.

    Raises:
        ValueError: a field is missing, unknown or of the wrong type; the message names it.
    """
    data = _object(value, Plan, "plan")
    programs = [_program(p, f"plan.programs[{i}]") for i, p in enumerate(_list(data, "programs"))]
    versus = [_versus(v, f"plan.versus[{i}]") for i, v in enumerate(_list(data, "versus"))]
    names = [p.name for p in programs]
    if len(set(names)) != len(names):
        raise ValueError(f"plan.programs: expects unique names, got {names}")
    return Plan(
        programs=programs,
        versus=versus,
        policy=_policy(data.get("policy", {})),
        labels=_strings(data.get("labels", {}), "plan.labels"),
        repeat=_typed(data.get("repeat", ""), str, "plan.repeat"),
    )


def _program(value: Any, where: str) -> Program:
    data = dict(_object(value, Program, where))
    _typed(data.get("name"), str, f"{where}.name")
    for variant, command in _typed(data.get("commands"), dict, f"{where}.commands").items():
        if command is not None and not _is_command(command):
            raise ValueError(f"{where}.commands.{variant}: expects a list of strings or null")
    for variant, env in _typed(data.get("env", {}), dict, f"{where}.env").items():
        _strings(env, f"{where}.env.{variant}")
    for name in ("timeout_s", "rtol", "atol"):
        if name in data:
            data[name] = float(_typed(data[name], (int, float), f"{where}.{name}"))
    _typed(data.get("expected", {}), dict, f"{where}.expected")
    data["rows"] = [_row(r, f"{where}.rows[{i}]") for i, r in enumerate(_list(data, "rows"))]
    return Program(**data)


def _is_command(value: Any) -> bool:
    """Whether it is a list with at least one word, all of them strings."""
    words = value if isinstance(value, (list, tuple)) else []
    return bool(words) and all(isinstance(word, str) for word in words)


def _row(value: Any, where: str) -> Row:
    data = _object(value, Row, where)
    for name in ("metric", "title"):
        _typed(data.get(name), str, f"{where}.{name}")
    if data.get("better", "lower") not in ("lower", "higher"):
        raise ValueError(f"{where}.better: expects lower or higher, got {data['better']!r}")
    for name in ("target", "at_most"):
        if data.get(name) is not None:
            _typed(data[name], (int, float), f"{where}.{name}")
    return Row(**data)


def _versus(value: Any, where: str) -> Versus:
    data = _object(value, Versus, where)
    _strings({name: item for name, item in data.items() if name != "target"}, where)
    if data.get("target") is not None:
        _typed(data["target"], (int, float), f"{where}.target")
    if data.get("role") not in ROLES:
        raise ValueError(f"{where}.role: expects one of {ROLES}, got {data.get('role')!r}")
    return Versus(**data)


def _policy(value: Any) -> Policy:
    data = _object(value, Policy, "plan.policy")
    for name, item in data.items():
        kinds = (int, type(None)) if name in ("max_pairs", "pairs") else (int, float)
        _typed(item, kinds, f"plan.policy.{name}")
    return Policy(**data)


def _object(value: Any, kind: type, where: str) -> dict[str, Any]:
    """A JSON object that has the fields of a dataclass and no other; missing ones may default."""
    data: dict[str, Any] = _typed(value, dict, where)
    known = {f.name for f in fields(kind)}
    if unknown := sorted(set(data) - known):
        raise ValueError(f"{where}: unknown field {unknown[0]!r}; known are {sorted(known)}")
    return data


def _list(data: Mapping[str, Any], name: str) -> list[Any]:
    value = data.get(name)
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{name}: expects a list, got {type(value).__name__}")
    return list(value)


def _strings(value: Any, where: str) -> dict[str, str]:
    data: dict[str, str] = _typed(value, dict, where)
    for key, item in data.items():
        _typed(item, str, f"{where}.{key}")
    return data


def _typed(value: Any, kinds: Any, where: str) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise ValueError(f"{where}: expects {kinds}, got {type(value).__name__}")
    return value
