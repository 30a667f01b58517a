"""Models of flowvision: a forward and one training step each, from weights and pictures of NumPy's.

    tools/bazel run //python/tests/libraries:flowvision_0.2.2 -- [--record FILE] [MODEL...]

Prints a table and ends with status 1 if a model fails. What a model gives is compared with what it
gave on OneFlow 0.9.0, where it ran there; flowvision_recorded.json has that, and `--record` writes
such a file.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import oneflow as flow

RECORDED = Path(__file__).with_name("flowvision_recorded.json")
# Of the largest number of a field. A step goes through fifty and more layers whose float32 sums are
# added up in another order, and through batch norms of few elements.
TOLERANCE = {"output": 1e-4, "loss": 1e-4, "later": 2e-2, "step": 2e-2}


class Kind(NamedTuple):
    """What a model takes."""

    detects: bool = False
    size: int = 224
    options: tuple[tuple[str, Any], ...] = ()
    learning_rate: float = 1e-3


_DETECTOR = Kind(True, 128, (("pretrained_backbone", False), ("num_classes", 5)))
_SMALL = (*_DETECTOR.options, ("min_size", 128), ("max_size", 160))

MODELS: dict[str, Kind] = {
    "resnet50": Kind(),
    "vit_base_patch16_224": Kind(),
    "swin_tiny_patch4_window7_224": Kind(),
    # Heads that predict on dense grids, as those of YOLO (flowvision has none), and by regions.
    "ssd300_vgg16": _DETECTOR,
    "ssdlite320_mobilenet_v3_large": _DETECTOR,
    "retinanet_resnet50_fpn": _DETECTOR._replace(options=_SMALL),
    "fcos_resnet50_fpn": _DETECTOR._replace(options=_SMALL),
    # Their second stage is trained on what the first proposes, which a long step changes.
    "fasterrcnn_resnet50_fpn": _DETECTOR._replace(options=_SMALL, learning_rate=1e-4),
    "maskrcnn_resnet50_fpn": _DETECTOR._replace(options=_SMALL, learning_rate=1e-4),
}
# One, the smallest, of each other family: they are not compared.
OTHERS = (
    "cait_S24_224", "convmixer_768_32_relu", "convnext_small_224",
    "crossformer_tiny_patch4_group7_224", "cswin_tiny_224", "deeplabv3_mobilenet_v3_large_coco",
    "deit_tiny_distilled_patch16_224", "deit_small_patch16_LS_224", "densenet121", "dla34",
    "efficientnet_b0", "fan_tiny_12_p16_224", "fan_tiny_8_p4_hybrid", "fast_neural_style",
    "fcn_resnet50_coco", "genet_small", "ghostnet", "gmlp_ti16_224", "mlp_mixer_s32_224",
    "googlenet", "hrnet_w18_small", "inception_v3", "iresnet50", "levit_128s",
    "lraspp_mobilenet_v3_large_coco", "mnasnet0_5", "mobilenet_v2", "mobilenet_v3_small",
    "mobilevit_xx_small", "poolformer_s12", "pvt_tiny", "regionvit_tiny_224", "regnet_x_400mf",
    "regnet_y_400mf", "res2net50_14w_8s", "resmlp_12_224", "resnest50", "resnext50_32x4d",
    "rexnet_lite_1_0", "rexnetv1_1_0", "se_resnet50", "shufflenet_v2_x0_5", "squeezenet1_1",
    "uniformer_small", "van_tiny", "vgg11_bn",
)  # fmt: skip
_SIZES = {"inception_v3": 299, "iresnet50": 112, "mobilevit_xx_small": 256}
# What no runtime can run, by a fault of flowvision's own: what it raises.
NO_MODEL = {("0.2.1", "resnest50"): "'oneflow.Tensor' object has no attribute 'zeros_'"}
NO_FORWARD = {("0.2.1", "fcos_resnet50_fpn"): "'ImageList' object has no attribute 'image_size'"}


class Outcome(NamedTuple):
    """What a model gave: of its output and its parameters' changes a few numbers."""

    output: list[float]
    loss: float
    later: float  # the same loss after the step
    step: list[float]


def picked(array: Any, count: int = 8) -> list[float]:
    """Some elements of an array, and the mean of their absolute values."""
    flat = np.asarray(array, np.float64).ravel()
    if not flat.size:
        return []
    some = flat[np.linspace(0, flat.size - 1, count).astype(int)]
    return [float(np.abs(flat).mean()), *map(float, some)]


def initialise(model: Any) -> None:
    """Weights that depend on the parameters' names and shapes only."""
    with flow.no_grad():
        for name, parameter in model.named_parameters():
            rng = np.random.default_rng(zlib.crc32(name.encode()))
            shape = tuple(parameter.shape)
            fan = int(np.prod(shape[1:])) if len(shape) > 1 else 100
            values = rng.standard_normal(shape) * (1.0 / fan) ** 0.5
            if len(shape) == 1 and name.endswith("weight"):
                values = values + 1.0
            parameter.copy_(flow.tensor(values.astype(np.float32)))
        for name, buffer in model.named_buffers():
            if name.endswith("running_var"):
                buffer.fill_(1.0)
            elif name.endswith("running_mean"):
                buffer.fill_(0.0)


def pictures(kind: Kind) -> list[Any]:
    """Two of them, the same for each model of a kind."""
    rng = np.random.default_rng(1)
    size = (3, kind.size, kind.size)
    return [flow.tensor(rng.uniform(0, 1, size).astype(np.float32)) for _ in range(2)]


def targets(kind: Kind) -> list[dict[str, Any]]:
    """Boxes of all sizes, labels and masks for the two pictures."""
    boxes = np.array(
        [[4, 4, 120, 112], [8, 8, 72, 96], [40, 24, 82, 66], [90, 10, 110, 30], [20, 90, 29, 99]],
        np.float32,
    )
    masks = np.zeros((len(boxes), kind.size, kind.size), np.uint8)
    for mask, (left, top, right, bottom) in zip(masks, boxes.astype(int)):
        mask[top:bottom, left:right] = 1
    return [
        {
            "boxes": flow.tensor(boxes + shift),
            "labels": flow.tensor(np.array([1, 3, 2, 4, 1], np.int64)),
            "masks": flow.tensor(masks),
        }
        for shift in (0.0, 4.0)
    ]


def loss_of(model: Any, kind: Kind) -> Any:
    """The loss in training; the same choices are drawn each time."""
    flow.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - the library draws from it
    if kind.detects:
        return sum(model(pictures(kind), targets(kind)).values())
    inputs = flow.stack(pictures(kind))
    return flow.nn.functional.cross_entropy(model(inputs), flow.tensor([3, 5]))


def forward(model: Any, kind: Kind) -> list[float]:
    """What the model says of the pictures."""
    model.eval()
    with flow.no_grad():
        if not kind.detects:
            return picked(model(flow.stack(pictures(kind))).numpy())
        found = model(pictures(kind))
    assert len(found) == 2 and all(len(each["boxes"]) for each in found), "nothing was found"
    for each in found:
        assert {"boxes", "scores", "labels"} <= set(each)
        assert len(each["boxes"]) == len(each["scores"]) == len(each["labels"])
    return [float(len(found[0]["boxes"]))]


def train(model: Any, kind: Kind) -> tuple[float, float, list[float]]:
    """Loss before and after one step of SGD, and how far the parameters went."""
    model.train()
    parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimizer = flow.optim.SGD(list(parameters.values()), lr=kind.learning_rate)
    before = {name: p.numpy().copy() for name, p in parameters.items()}
    loss = loss_of(model, kind)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    moved = [float(np.abs(p.numpy() - before[n]).mean()) for n, p in parameters.items()]
    assert np.isfinite(moved).all(), "a parameter is not finite after the step"
    assert sum(m > 0 for m in moved) > 0.9 * len(moved), "too few parameters moved"
    return float(loss.item()), float(loss_of(model, kind).item()), picked(moved)


def run(name: str) -> Outcome:
    """Makes the model and tries it."""
    import flowvision

    kind = MODELS[name]
    flow.manual_seed(0)
    model = find(name)(pretrained=False, **dict(kind.options))
    initialise(model)
    broken = NO_FORWARD.get((flowvision.__version__, name))
    try:
        output = forward(model, kind)
    except AttributeError as error:
        if str(error) != broken:
            raise
        output = [float("nan")]
    loss, later, step = train(model, kind)
    assert np.isfinite([loss, later]).all(), f"the loss is {loss}, then {later}"
    assert later < loss, f"the loss is {loss}, then {later}"
    return Outcome(output, loss, later, step)


def step_of(name: str) -> float:
    """The loss of one of OTHERS, after a step of SGD on it."""
    flow.manual_seed(0)
    options = {"pretrained_backbone": False} if name.endswith("_coco") else {}
    model = find(name)(pretrained=False, **options)
    model.train()
    size = _SIZES.get(name, 224)
    result = model(flow.randn(2, 3, size, size))
    while not isinstance(result, flow.Tensor):
        result = (list(result.values()) if isinstance(result, dict) else result)[0]
    loss = (result - 1).pow(2).mean()  # some begin with results that are 0
    loss.backward()
    before = {n: p.numpy().copy() for n, p in model.named_parameters()}
    flow.optim.SGD(model.parameters(), lr=0.1).step()
    moved = [not np.array_equal(p.numpy(), before[n]) for n, p in model.named_parameters()]
    # Where a last layer, or a branch, begins with weights of 0, nothing before it moves yet.
    assert any(moved), f"{sum(moved)} of {len(moved)} parameters moved"
    assert all(np.isfinite(p.numpy()).all() for p in model.parameters())
    return float(loss.item())


def find(name: str) -> Callable[..., Any]:
    """The function of flowvision that makes a model."""
    import flowvision

    models = flowvision.models
    places = (
        *(models, models.detection, models.segmentation, models.style_transfer),
        models.face_recognition,
    )
    return next(getattr(place, name) for place in places if hasattr(place, name))


def differences(got: Outcome, want: dict[str, Any]) -> list[str]:
    """What is not as recorded."""
    found = []
    for field, value in got._asdict().items():
        wanted = np.atleast_1d(np.asarray(want[field], np.float64))
        have = np.atleast_1d(np.asarray(value, np.float64))
        near = TOLERANCE[field] * float(np.abs(wanted).max())
        if wanted.shape != have.shape or not (np.abs(wanted - have) <= near).all():
            found.append(f"{field}: {have.tolist()}, recorded {wanted.tolist()}")
    return found


def attempt(name: str, recorded: dict[str, Any]) -> tuple[Outcome | None, str]:
    """What the model gave, and why it failed, or nothing."""
    try:
        got = run(name)
    except Exception:
        return None, traceback.format_exc()
    return got, "\n".join(differences(got, recorded[name])) if name in recorded else ""


def main() -> int:
    """See the module's text."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--record")
    parser.add_argument("models", nargs="*", default=list(MODELS))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    import flowvision

    recorded = {} if asked.record else json.loads(RECORDED.read_text())
    results = {}
    failures = {}
    columns = "".join(word.rjust(12) for word in ("forward", "loss", "after step", "compared", "s"))
    print(f"flowvision {flowvision.__version__}\n{'model':32}{columns}")
    for name in asked.models:
        start = time.monotonic()
        got, why = attempt(name, recorded)
        if got:
            results[name] = got._asdict()
        if why:
            failures[name] = why
        numbers = [got.output[0], got.loss, got.later] if got else []
        row = "".join(f"{c:12.5f}" for c in numbers) or " " * 36
        verdict = "FAILED" if why else "with 0.9.0" if name in recorded else "-"
        print(f"{name:32}{row}{verdict:>12}{time.monotonic() - start:12.1f}", flush=True)
    for name, why in failures.items():
        print(f"\n{name}:\n{why}", file=sys.stderr)
    if asked.record:
        Path(asked.record).write_text(json.dumps(results, indent=1) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
