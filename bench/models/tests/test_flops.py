"""Operations of a step: by hand, by what is published, and what cannot be counted."""

from __future__ import annotations

import doctest

import pytest

import oneflow as flow
from bench.models import flops, resnet
from bench.models.cases import parse
from bench.models.task import Task


def counted(case: str) -> int:
    """Operations of a step, from our graph."""
    task = Task(flow, parse(case), "graph", dropout=False)
    task.step()
    return flops.of_graph(task.graph_text())


def test_the_example() -> None:
    assert doctest.testmod(flops).failed == 0


def test_resnet50_has_the_published_number() -> None:
    """4.09e9 multiplications and additions for a picture of 224 x 224, half of what is counted."""

    class Forward(flow.nn.Graph):
        """Without weights' own values: only shapes matter."""

        def __init__(self) -> None:
            super().__init__()
            self.model = resnet.make(flow, resnet.RESNET50).eval()

        def build(self, x: flow.Tensor) -> flow.Tensor:
            with flow.no_grad():
                return self.model(x)

    graph = Forward()
    graph._compile(flow.zeros(1, 3, 224, 224))
    assert flops.of_graph(graph._graph_proto) == 8_178_368_512


def test_blocks_of_channels_count_as_channels() -> None:
    plain = """graph 'G':
  %0 = input 'x' : float32 (2, 32, 9, 9) cpu:0
  %1 = captured 'w' : float32 (48, 32, 3, 3) cpu:0
  %2 = convolution(%0, %1, none) : float32 (2, 48, 9, 9) cpu:0
  %3 = convolution_input_grad(%2, %1, none) : float32 (2, 32, 9, 9) cpu:0
  %4 = convolution_weight_grad(%2, %0) : float32 (48, 32, 3, 3) cpu:0
  return %3, %4
"""
    blocked = plain.replace("(2, 32, 9, 9)", "(2, 2, 9, 9, 16)").replace(
        "(2, 48, 9, 9)", "(2, 3, 9, 9, 16)"
    )
    blocked = blocked.replace("convolution", "blocked_convolution").replace(", none)", ")")
    assert flops.of_graph(blocked) == flops.of_graph(plain) == 3 * 2 * 2 * 48 * 81 * 32 * 9


def test_a_step_by_hand() -> None:
    """Text: 2 layers of width 32, 2 x 16 words, 97 in the vocabulary."""
    words, width = 2 * 16, 32
    layer = 2 * words * width * (4 * width + 8 * width) + 2 * 2 * words * 16 * width
    heads = 2 * words * width * (width + 97) + 2 * 2 * width * (width + 2)
    assert counted("bert-tiny:b2:s16:fp32:train") == 3 * (2 * layer + heads)


def test_operations_grow_with_the_batch() -> None:
    one, four = (counted(f"resnet-tiny:b{n}:fp32:train") for n in (1, 4))
    assert four == 4 * one


def test_dropout_in_attention_does_not_change_the_count() -> None:
    case = parse("bert-tiny:b2:s16:fp32:train")
    texts = []
    for dropout in (False, True):
        task = Task(flow, case, "graph", dropout=dropout)
        task.step()
        texts.append(task.graph_text())
    assert flops.of_graph(texts[0]) == flops.of_graph(texts[1])


def test_an_unknown_product_is_an_error() -> None:
    text = (
        "graph 'G':\n  %0 = input 'x' : float32 (2, 3) cpu:0\n  %1 = {}(%0) : float32 (2) cpu:0\n"
    )
    for name in ("fused_matmul_bias", "lstm_layer", "conv_of_tomorrow", "addmm"):
        with pytest.raises(ValueError, match=f"does not know .* {name}"):
            flops.of_graph(text.format(name))
    assert flops.of_graph(text.format("sum")) == 0
    with pytest.raises(ValueError, match="cannot read the line"):
        flops.of_graph("graph 'G':\n  what is this\n")
    with pytest.raises(ValueError, match="cannot read the shapes"):
        flops.of_graph("graph 'G':\n  %1 = sum(%0) : nonsense\n")
