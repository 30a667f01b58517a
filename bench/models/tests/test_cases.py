"""Cases as text, and what is refused."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from bench.models import cases, peak, weights


def test_examples() -> None:
    assert doctest.testmod(cases).failed == 0 and doctest.testmod(cases).attempted >= 5
    assert doctest.testmod(weights).failed == 0 and doctest.testmod(peak).failed == 0


@pytest.mark.parametrize("model", cases.MODELS)
def test_text_and_back(model: str) -> None:
    for case in cases.usual(model, "bf16", "inference"):
        assert cases.parse(str(case)) == case


def test_a_depth_of_its_own() -> None:
    case = cases.parse("bert-base:b2:s128:l3:fp32:train")
    assert cases.parse(str(case)) == case and case.text().layers == 3
    assert "depth 3" in case.title() and "_nl3_" in case.testers_name("graph")
    assert cases.Case("bert-base", 2, 128).text() == cases.BERTS["bert-base"]
    pictures = cases.parse("resnet50:b1:l23:fp32:train")
    assert pictures.pictures().layers == (3, 4, 23, 3) and "ResNet50_l23_" in pictures.testers_name(
        "graph"
    )
    assert cases.Case("resnet50", 1).pictures() == cases.RESNETS["resnet50"]


@pytest.mark.parametrize(
    "text",
    ["", "resnet50", "resnet50:b0:fp32:train", "resnet50:b4:s8:fp32:train",
    "bert-base:b1:fp32:train",
     "bert-base:b1:s513:fp32:train", "resnet50:b4:fp16:train", "resnet50:b4:fp32:test",
     "resnet51:b4:fp32:train", "resnet50:b99999:fp32:train", "resnet50:b4:fp32:train;",
     "resnet50:b4:l201:fp32:train", "bert-base:b1:l2:s8:fp32:train"],
)  # fmt: skip
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\[case\]"):
        cases.parse(text)


def test_names_of_the_testers() -> None:
    name = cases.parse("bert-large:b1:s512:fp32:train").testers_name("eager")
    assert name == (
        "bert_large_pretrain_eager_nl24_nah16_hs1024_FP32_acfalse_DP1_MP1_PP1_zerofalse_stage0_"
        "mbs1_gbs1_acc1_1n1g"
    )
    names = {
        case.testers_name(mode)
        for model in cases.MODELS
        for dtype in cases.DTYPES
        for phase in cases.PHASES
        for case in cases.usual(model, dtype, phase)
        for mode in ("graph", "eager")
    }
    assert len(names) == 2 * 2 * 2 * (len(cases.BATCHES) + 4)


def test_inputs_come_from_the_seed() -> None:
    case = cases.parse("bert-tiny:b2:s16:fp32:train")
    for a, b in zip(weights.inputs(case), weights.inputs(case)):
        np.testing.assert_array_equal(a, b)
    words, kinds, labels, follows = weights.inputs(case)
    assert words.shape == kinds.shape == labels.shape == (2, 16) and follows.shape == (2,)
    asked = labels != -100
    assert asked.sum() == 32 // weights.ASKED and (labels[asked] == words[asked]).all()
    assert (weights.inputs(case, 1)[0] != words).any()
    assert not np.array_equal(
        weights.parameter("a.weight", (3, 3)), weights.parameter("b.weight", (3, 3))
    )
