"""A fuzzing comparison with PyTorch: one piece of test code runs in both frameworks.

    @autotest(n=5)
    def test_add(test_case):
        x = random_tensor(ndim=2, dim0=3)
        y = random_tensor(ndim=2, dim0=3)
        return torch.add(x, y)

`torch` here is both frameworks at once; `random_tensor` gives a tensor in each, with equal
numbers. After the code has run, what it returned is differentiated, and every tensor that it made,
its gradient, and the parameters of every module are compared. Needs PyTorch.
"""

import os

from oneflow.test_utils.automated_test_util.dual_calls import (
    BothDoNotSupportError,
    OneFlowGraphBuildOrRunError,
    PyTorchDoesNotSupportError,
)
from oneflow.test_utils.automated_test_util.generators import (
    Nothing,
    all_cpu_placement,
    all_placement,
    all_sbp,
    choice_pytorch_tensor,
    constant,
    cpu_device,
    gpu_device,
    nothing,
    oneof,
    random,
    random_bool,
    random_cpu_placement,
    random_device,
    random_gpu_placement,
    random_or_nothing,
    random_placement,
    random_pytorch_tensor,
    random_sbp,
)
from oneflow.test_utils.automated_test_util.profiler import profile
from oneflow.test_utils.automated_test_util.torch_flow_dual_object import (
    DualObject,
    GetDualObject,
    autotest,
    choice_tensor,
    globaltest,
    random_tensor,
    torch,
)

__all__ = [
    "BothDoNotSupportError",
    "DualObject",
    "GetDualObject",
    "Nothing",
    "OneFlowGraphBuildOrRunError",
    "PyTorchDoesNotSupportError",
    "all_cpu_placement",
    "all_placement",
    "all_sbp",
    "autotest",
    "choice_pytorch_tensor",
    "choice_tensor",
    "constant",
    "cpu_device",
    "globaltest",
    "gpu_device",
    "nothing",
    "oneof",
    "os",
    "profile",
    "random",
    "random_bool",
    "random_cpu_placement",
    "random_device",
    "random_gpu_placement",
    "random_or_nothing",
    "random_placement",
    "random_pytorch_tensor",
    "random_sbp",
    "random_tensor",
    "torch",
]
