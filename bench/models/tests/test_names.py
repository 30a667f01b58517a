"""Parameters have the names and shapes of torchvision's ResNet-50 and of transformers' BERT."""

from __future__ import annotations

from typing import Any

import oneflow as flow
from bench.models import bert, resnet
from bench.models.cases import BERTS


def shapes(model: Any) -> dict[str, tuple[int, ...]]:
    """Of everything in the state dict."""
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def torchvision_resnet50() -> dict[str, tuple[int, ...]]:
    """Written out from torchvision's rules: stages of 3, 4, 6, 3 blocks, widths 64 to 512."""
    found: dict[str, tuple[int, ...]] = {}

    def layer(conv: str, norm: str, outputs: int, inputs: int, kernel: int) -> None:
        found[f"{conv}.weight"] = (outputs, inputs, kernel, kernel)
        for name in ("weight", "bias", "running_mean", "running_var"):
            found[f"{norm}.{name}"] = (outputs,)
        found[f"{norm}.num_batches_tracked"] = ()

    layer("conv1", "bn1", 64, 3, 7)
    inputs = 64
    for stage, (count, width) in enumerate(zip((3, 4, 6, 3), (64, 128, 256, 512)), 1):
        for block in range(count):
            at = f"layer{stage}.{block}"
            layer(f"{at}.conv1", f"{at}.bn1", width, inputs, 1)
            layer(f"{at}.conv2", f"{at}.bn2", width, width, 3)
            layer(f"{at}.conv3", f"{at}.bn3", 4 * width, width, 1)
            if block == 0:
                layer(f"{at}.downsample.0", f"{at}.downsample.1", 4 * width, inputs, 1)
            inputs = 4 * width
    found |= {"fc.weight": (1000, 2048), "fc.bias": (1000,)}
    return found


def test_resnet50() -> None:
    got = shapes(resnet.make(flow, resnet.RESNET50))
    assert got == torchvision_resnet50() and len(got) == 320


def test_a_state_dict_of_those_names_loads() -> None:
    model = resnet.make(flow, resnet.RESNET50)
    state = {name: flow.full(shape, 0.5) for name, shape in torchvision_resnet50().items()}
    missing = model.load_state_dict(state)
    assert missing.missing_keys == [] and missing.unexpected_keys == []
    assert float(model.layer4[2].bn3.running_var.mean().item()) == 0.5


def test_strides_are_in_the_3x3_convolutions() -> None:
    model = resnet.make(flow, resnet.RESNET50)
    for stage in (model.layer2, model.layer3, model.layer4):
        assert tuple(stage[0].conv1.stride) == (1, 1) and tuple(stage[0].conv2.stride) == (2, 2)


def test_resnet18_has_basic_blocks() -> None:
    config = resnet.Config((2, 2, 2, 2), bottleneck=False)
    got = shapes(resnet.make(flow, config))
    assert len(got) == 122 and got["layer4.1.conv2.weight"] == (512, 512, 3, 3)
    assert sum(p.numel() for p in resnet.make(flow, config).parameters()) == 11_689_512


def test_bert() -> None:
    got = shapes(bert.make(flow, bert.TINY))
    width, words = bert.TINY.width, bert.TINY.words
    for name, shape in {
        "bert.embeddings.word_embeddings.weight": (words, width),
        "bert.embeddings.token_type_embeddings.weight": (2, width),
        "bert.encoder.layer.1.attention.self.key.bias": (width,),
        "bert.encoder.layer.0.attention.output.LayerNorm.weight": (width,),
        "bert.encoder.layer.1.intermediate.dense.weight": (4 * width, width),
        "bert.encoder.layer.1.output.dense.weight": (width, 4 * width),
        "bert.pooler.dense.weight": (width, width),
        "cls.predictions.bias": (words,),
        "cls.predictions.transform.LayerNorm.bias": (width,),
        "cls.seq_relationship.weight": (2, width),
    }.items():
        assert got[name] == shape
    assert len(got) == 5 + 2 * 16 + 2 + 1 + 4 + 2


def test_the_sizes_of_the_paper() -> None:
    """110 million parameters and 340 million, the heads apart."""
    for name, millions in (("bert-base", 109.5), ("bert-large", 335.1)):
        c = BERTS[name]
        layer = 12 * c.width**2 + 13 * c.width
        embeddings = (c.words + c.places + 2 + 2) * c.width
        assert round((c.layers * layer + embeddings + c.width**2 + c.width) / 1e6, 1) == millions
