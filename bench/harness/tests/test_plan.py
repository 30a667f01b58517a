"""Plans as JSON, and the refusal of what is none."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from bench.harness.plan import Plan, Program, Row, plan_from_json, standard_versus
from bench.harness.verdict import Policy

COMMANDS = {"base": ["a"], "head": ["b", "c"], "base again": ["a"], "pytorch": None}
GOOD = Plan(
    [Program("p", COMMANDS, [Row("t", "T", target=1.3)], {"*": {"A": "1"}}, 5.0, {"t": {"x": 1}})],
    standard_versus(list(COMMANDS)),
    Policy(max_pairs=12),
    {"head": "v2"},
    "again",
)


def test_a_plan_survives_json() -> None:
    value = json.loads(json.dumps(GOOD.to_json()))
    assert plan_from_json(value).to_json() == GOOD.to_json()


def test_a_first_look_has_just_so_many_pairs() -> None:
    policy = Policy(pairs=3)
    assert policy.schedule(rows=135).pairs == (3,)
    plan = replace(GOOD, policy=policy)
    assert plan_from_json(json.loads(json.dumps(plan.to_json()))).policy == policy
    with pytest.raises(ValueError, match="at least 1 pair"):
        Policy(pairs=0)


def test_the_control_stands_beside_the_gate() -> None:
    roles = {(v.candidate, v.reference): v.role for v in standard_versus(list(COMMANDS))}
    assert roles == {
        ("head", "base"): "gate",
        ("base again", "base"): "control",
        ("head", "pytorch"): "info",
    }


def test_a_missing_variant_takes_no_share_of_the_error_rate() -> None:
    assert (len(GOOD.family("gate")), len(GOOD.family("info"))) == (1, 0)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["programs"], {}, "expects a list"),
        (["programs", 0, "name"], 3, "plan.programs[0].name"),
        (["programs", 0, "commands"], [], "plan.programs[0].commands"),
        (["programs", 0, "commands", "head"], "rm -rf", "list of strings or null"),
        (["programs", 0, "commands", "head"], [], "list of strings or null"),
        (["programs", 0, "commands", "head"], ["a", 1], "list of strings or null"),
        (["programs", 0, "timeout_s"], "long", "timeout_s"),
        (["programs", 0, "rtol"], True, "rtol"),
        (["programs", 0, "env", "*"], {"A": 1}, "env.*.A"),
        (["programs", 0, "rows", 0, "metric"], None, "rows[0].metric"),
        (["programs", 0, "rows", 0, "better"], "taller", "lower or higher"),
        (["programs", 0, "rows", 0, "target"], "fast", "target"),
        (["programs", 0, "rows", 0, "at_most"], "5 us", "at_most"),
        (["programs", 0, "shell"], "sh", "unknown field 'shell'"),
        (["versus", 0, "role"], "judge", "role"),
        (["versus", 0, "candidate"], 1, "candidate"),
        (["versus", 0, "target"], "fast", "target"),
        (["policy", "family_rate"], 2.0, "rates and confidence in (0, 1)"),
        (["policy", "family_rate"], "low", "plan.policy.family_rate"),
        (["labels", "head"], 2, "plan.labels.head"),
        (["repeat"], 2, "plan.repeat"),
    ],
)
def test_a_faulty_plan_is_refused_by_name(path: list[Any], value: Any, words: str) -> None:
    faulty = copy.deepcopy(json.loads(json.dumps(GOOD.to_json())))
    place = faulty
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(ValueError) as raised:
        plan_from_json(faulty)
    assert words in str(raised.value)


def test_two_programs_of_one_name_are_refused() -> None:
    value = GOOD.to_json()
    value["programs"] = [value["programs"][0]] * 2
    with pytest.raises(ValueError, match="unique names"):
        plan_from_json(value)
