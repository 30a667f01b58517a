"""What is measured: a model at a size, in a dtype, trained or run forward.

A case has a short text, which travels on command lines and names its metric:

    resnet50:b16:fp32:train      bert-base:b8:s128:bf16:train      bert-base:b8:s128:l2:fp32:train
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from bench.models import bert, resnet

DTYPES = ("fp32", "bf16")
PHASES = ("train", "inference")
RESNETS: dict[str, resnet.Config] = {"resnet50": resnet.RESNET50, "resnet-tiny": resnet.TINY}
BERTS: dict[str, bert.Config] = {
    "bert-base": bert.BASE,
    "bert-large": bert.LARGE,
    "bert-tiny": bert.TINY,
}
MODELS = (*RESNETS, *BERTS)
# Batch and sequence where none is given.
USUAL = {"bert-base": (8, 128), "bert-large": (1, 512), "bert-tiny": (2, 16), "resnet-tiny": (4, 0)}
BATCHES = (16, 8, 4, 2, 1)
DEEPEST = 200
_TEXT = re.compile(
    r"(?P<model>[a-z0-9-]+):b(?P<batch>\d{1,4})(?::s(?P<sequence>\d{1,4}))?"
    r"(?::l(?P<depth>\d{1,3}))?:(?P<dtype>\w+):(?P<phase>\w+)"
)


@dataclass(frozen=True)
class Case:
    """One model at one size.

    Attributes:
        model: one of MODELS.
        batch: samples of a step.
        sequence: words of a sample; 0 for pictures.
        dtype: `fp32`, or `bf16` for autocast to bfloat16.
        phase: `train` for a whole step, `inference` for a forward without gradients.
        depth: layers of a model for text, blocks of the third stage of one for pictures; 0 for the
            model's own.

    Raises:
        ValueError: a field is none of these, or the sequence does not fit the model.

    >>> case = parse("bert-base:b8:s128:bf16:train")
    >>> case.batch, str(case)
    (8, 'bert-base:b8:s128:bf16:train')
    """

    model: str
    batch: int
    sequence: int = 0
    dtype: str = "fp32"
    phase: str = "train"
    depth: int = 0

    def __post_init__(self) -> None:
        if self.model not in MODELS or self.dtype not in DTYPES or self.phase not in PHASES:
            raise ValueError(
                f"[case] expects a model of {MODELS}, a dtype of {DTYPES} and a phase of {PHASES}, "
                f"got {self.model!r}, {self.dtype!r} and {self.phase!r}"
            )
        longest = BERTS[self.model].places if self.model in BERTS else 0
        fits = 1 <= self.sequence <= longest if longest else self.sequence == 0
        if self.batch < 1 or not fits:
            raise ValueError(
                f"[case] expects a batch of at least 1 and a sequence of "
                f"{f'1 to {longest}' if longest else 0} for {self.model}, got {self.batch} and "
                f"{self.sequence}"
            )
        if not 0 <= self.depth <= DEEPEST:
            raise ValueError(f"[case] expects a depth of 1 to {DEEPEST}, got {self.depth}")

    def __str__(self) -> str:
        words = f":s{self.sequence}" if self.sequence else ""
        words += f":l{self.depth}" if self.depth else ""
        return f"{self.model}:b{self.batch}{words}:{self.dtype}:{self.phase}"

    @property
    def trains(self) -> bool:
        """Whether a step updates the weights."""
        return self.phase == "train"

    def pictures(self) -> resnet.Config:
        """The shape of a model for pictures.

        >>> Case("resnet50", 1, depth=23).pictures().layers
        (3, 4, 23, 3)
        """
        config = RESNETS[self.model]
        first, second, third, last = config.layers
        return replace(config, layers=(first, second, self.depth or third, last))

    def text(self) -> bert.Config:
        """The shape of a model for text."""
        config = BERTS[self.model]
        return replace(config, layers=self.depth or config.layers)

    def title(self) -> str:
        """For people.

        >>> Case("resnet50", 16).title()
        'ResNet-50, batch 16, fp32'
        """
        name = {
            "resnet50": "ResNet-50",
            "bert-base": "BERT-base",
            "bert-large": "BERT-large",
        }.get(self.model, self.model)
        words = f" x {self.sequence}" if self.sequence else ""
        words += f", depth {self.depth}" if self.depth else ""
        phase = "" if self.trains else ", inference"
        return f"{name}, batch {self.batch}{words}, {self.dtype}{phase}"

    def testers_name(self, mode: str) -> str:
        """The row's name in the testers' table.

        >>> Case("resnet50", 96).testers_name("graph")
        'ResNet50_DCcpu_FP32_mb96_gb96_acc1_1n1g'
        """
        dtype = {"fp32": "FP32", "bf16": "BF16"}[self.dtype]
        sizes = f"mb{self.batch}_gb{self.batch}" if self.model in RESNETS else ""
        if self.model in RESNETS:
            kind = "ResNet50" if self.model == "resnet50" else "ResNetTiny"
            kind += f"_l{self.depth}" if self.depth else ""
            which = "" if mode == "graph" else f"_{mode}"
            phase = "" if self.trains else "_inference"
            return f"{kind}{which}{phase}_DCcpu_{dtype}_{sizes}_acc1_1n1g"
        config = self.text()
        kind = self.model.replace("-", "_") + ("_pretrain" if self.trains else "_inference")
        return (
            f"{kind}_{mode}_nl{config.layers}_nah{config.heads}_hs{config.width}_{dtype}_acfalse_"
            f"DP1_MP1_PP1_zerofalse_stage0_mbs{self.batch}_gbs{self.batch}_acc1_1n1g"
        )


def parse(text: str) -> Case:
    """Reads a case.

    Raises:
        ValueError: the text is no case; the message shows one.
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"[case] expects a text such as resnet50:b16:fp32:train, got {text!r}")
    fields: dict[str, Any] = found.groupdict()
    return Case(
        fields["model"],
        int(fields["batch"]),
        int(fields["sequence"] or 0),
        fields["dtype"],
        fields["phase"],
        int(fields["depth"] or 0),
    )


def usual(model: str, dtype: str = "fp32", phase: str = "train") -> list[Case]:
    """The sizes at which a model is measured when nothing else is asked for.

    >>> [str(case) for case in usual("bert-large")]
    ['bert-large:b1:s512:fp32:train']
    """
    sizes = [USUAL[model]] if model in USUAL else [(batch, 0) for batch in BATCHES]
    return [Case(model, batch, sequence, dtype, phase) for batch, sequence in sizes]
