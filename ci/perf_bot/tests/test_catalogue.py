"""The bot's own cases: what is asked for by name, and that every program is there to be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.harness import torch_env
from ci.perf_bot import decide, measure
from ci.perf_bot.cases import case_from_json
from ci.perf_bot.catalogue import make_catalogue
from ci.perf_bot.schema import BASE, HEAD, PYTORCH, check_result
from ci.perf_bot.tests.samples import result

CATALOGUE = make_catalogue()


def test_the_default_rows_are_resnet_by_batch_and_bert() -> None:
    names = [case.name for case in CATALOGUE.choose([])]
    assert names == [*(f"resnet50/{batch}" for batch in (16, 8, 4, 2, 1)), "bert"]
    assert decide.family_size(CATALOGUE.choose([])) == 18


def test_cases_are_chosen_by_name_and_by_group() -> None:
    assert [c.name for c in CATALOGUE.choose(["bert", "digits"])] == ["bert", "digits"]
    assert len(CATALOGUE.choose(["resnet50-eager/"])) == 5
    assert all(c.name.startswith("ops/") for c in CATALOGUE.choose(["ops/"]))


@pytest.mark.parametrize("name", ["", "resnet", "/", "no/", "ops", "--help"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="expects one of resnet50/16, "):
        CATALOGUE.choose([name])


def test_every_program_is_there_and_its_commands_are_whole(tmp_path: Path) -> None:
    torch = torch_env.TorchPython("/usr/bin/python3", "2.13", "as given")
    sites = {BASE: tmp_path / "b", HEAD: tmp_path / "h"}
    sides = measure.make_sides(sites, torch)
    cases = list(CATALOGUE.cases.values())
    plan = measure.make_plan(CATALOGUE, cases, sides, 2, tmp_path, decide.POLICY)
    assert {p.name for p in plan.programs} == set(CATALOGUE.programs)
    for program in plan.programs:
        ours, theirs = program.commands[HEAD], program.commands[PYTORCH]
        assert ours and theirs and Path(ours[1]).is_file()
        assert (ours[2], theirs[0], theirs[2]) == ("oneflow", "/usr/bin/python3", "torch")
        assert ours == program.commands[BASE] == program.commands["base again"]
        paths = [program.env[v]["PYTHONPATH"].split(":")[0] for v in (BASE, HEAD, "base again")]
        # A side sees its own library first, whatever lies on the bot's own path.
        assert paths == [str(tmp_path / "b"), str(tmp_path / "h"), str(tmp_path / "b")]
    by_name = {p.name: p for p in plan.programs}
    ours = by_name["resnet50/4"].commands[HEAD] or ()
    theirs = by_name["resnet50/4"].commands[PYTORCH] or ()
    assert (ours[3], theirs[3]) == ("graph", "eager") and ours[4:] == theirs[4:]


def test_answers_may_differ_by_their_noise_and_no_more() -> None:
    found = {name: program.rtol for name, program in CATALOGUE.programs.items()}
    assert found["bert"] == found["bert-eager"] == 0.02
    assert {found[f"resnet50/{batch}"] for batch in (16, 8, 4, 2, 1)} == {1e-3}


def test_cases_travel_as_json_and_fit_the_schema() -> None:
    made = result()
    for case in CATALOGUE.cases.values():
        assert case_from_json(case.to_json()) == case
        row = {**made["rows"][0], **{k: v for k, v in case.to_json().items() if k in SHOWN}}
        row["input_shape"] = list(case.input_shape)
        row["case"] = case.name
        check_result({**made, "rows": [row]})


SHOWN = ("title", "model", "items", "item", "backward", "processes")
