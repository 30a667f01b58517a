"""A program that depends on the kernels holds their device code for each processor."""

from __future__ import annotations

import os
import re
import subprocess

PROCESSORS = ("sm_80", "sm_90")
FUNCTORS = (
    "OrScaled",
    "AddScaledIhE",  # uint8
    "AddScaledItE",  # uint16
    "AddScaledIjE",  # uint32
    "AddScaledImE",  # uint64
    "AddScaledIfE",  # float
    "AddScaledIdE",  # double
    "6__half.*AddScaledHalf",
    "13__nv_bfloat16.*AddScaledHalf",
)
KERNELS = ("DenseBinaryKernel", "StridedBinaryKernel")


def look(option: str, program: str) -> str:
    command = [os.environ["ONEFLOW_CUOBJDUMP"], option, os.environ[program]]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout


def entries(dump: str) -> dict[str, list[str]]:
    """Mangled names of the kernels in the output of `--dump-elf-symbols`, by processor."""
    found: dict[str, list[str]] = {}
    processor = ""
    for line in dump.splitlines():
        if match := re.match(r"arch = (\w+)", line):
            processor = match[1]
        if "STO_ENTRY" in line:
            found.setdefault(processor, []).append(line.split()[-1])
    return found


def test_each_kernel_is_there_for_each_processor_and_dtype() -> None:
    found = entries(look("--dump-elf-symbols", "ONEFLOW_PROGRAM"))
    assert sorted(found) == sorted(PROCESSORS)
    missing = [
        (processor, kernel, functor)
        for processor, names in found.items()
        for kernel in KERNELS
        for functor in FUNCTORS
        if not any(re.search(f"{kernel}.*{functor}", name) for name in names)
    ]
    assert missing == []


def test_newer_processors_get_ptx() -> None:
    listing = look("--list-ptx", "ONEFLOW_PROGRAM")
    assert set(re.findall(r"sm_\d+", listing)) == {"sm_90"}, listing


def test_a_program_without_device_code_has_none() -> None:
    assert entries(look("--dump-elf-symbols", "ONEFLOW_PROGRAM_WITHOUT")) == {}
    assert look("--list-ptx", "ONEFLOW_PROGRAM_WITHOUT") == ""
