"""Arguments for the rows of the op table that have no samples: random, in place only, updates."""

from __future__ import annotations

from typing import Any

_FIRST = ["R(3, 4)", "R(5)"]
_SECOND = ["R(3, 4)", "R(5)"]
_STEP: dict[str, Any] = {"model": _FIRST, "model_diff": _SECOND, "learning_rate_val": 0.1}
_ADAM: dict[str, Any] = {
    **_STEP, "m": ["P(3, 4)", "P(5)"], "v": ["P(3, 4)", "P(5)"], "beta1": 0.9, "beta2": 0.99,
    "epsilon": 1e-6,
}  # fmt: skip
_POSITIVE = ["P(3, 4)", "P(5)"]

OWN: dict[str, list[dict[str, Any]]] = {
    "gt_": [{"input": "R(2, 3)", "other": "R(2, 3)"}],
    "scalar_gt_": [{"input": "R(2, 3)", "other": 0.5}],
    "fill_": [{"input": "R(2, 3)", "value": 2}],
    "fill_with_": [{"input": "R(2, 3)", "value": "R()"}],
    "zero_": [{"input": "R(2, 3)"}],
    "randn": [{"size": [3, 4]}, {"size": [0]}],
    "rand": [{"size": [3, 4]}, {"size": []}],
    "normal_": [{"input": "R(3, 4)"}],
    "uniform_": [{"input": "R(3, 4)", "a": -1.0, "b": 2.0}],
    "ctc_loss": [
        {
            "log_probs": "np.log(P(5, 2, 3) / 10)", "targets": "I(2, 2, low=1, high=3)",
            "input_lengths": "I(2, low=5, high=6)", "target_lengths": "I(2, low=2, high=3)",
            "max_target_length": 2,
        }
    ],
    "scalar_sub_": [{"input": "R(2, 3)", "other": 2}],
    "copy_": [{"input": "R(2, 3)", "other": "R(3)"}, {"input": "R(2, 3)", "other": "R(2, 3)"}],
    "embedding_renorm": [{"weight": "R(5, 3)", "indices": "I(4, high=5)", "max_norm": 0.5}],
    "clamp_min_": [{"input": "R(2, 3)", "min": 0}],
    "clamp_max_": [{"input": "R(2, 3)", "max": 1}],
    "clip_": [{"input": "R(2, 3)", "min": -1, "max": 1}],
    "multi_tensor_sgd_update": [_STEP],
    "multi_tensor_momentum_update": [{**_STEP, "momentum_buf": _SECOND, "momentum": 0.9}],
    "multi_tensor_adam_update": [{**_ADAM, "max_v": []}],
    "multi_tensor_adagrad_update": [{**_STEP, "sum": _POSITIVE, "epsilon": 1e-6}],
    "multi_tensor_adadelta_update": [
        {**_STEP, "square_avgs": _POSITIVE, "acc_deltas": _POSITIVE, "rho": 0.9, "epsilon": 1e-6}
    ],
    "multi_tensor_rmsprop_update": [
        {
            **_STEP, "square_avg": _POSITIVE, "grad_avg": [], "momentum_buf": [], "alpha": 0.9,
            "epsilon": 1e-6,
        }
    ],
    "multi_tensor_lamb_update": [_ADAM],
    "multi_tensor_norm": [{"tensors": _FIRST}],
    "multi_tensor_clip": [{"tensors": _FIRST, "norm": ["np.asarray(P())"], "max_norm": 0.5}],
    "multi_tensor_scale": [{"tensors": _FIRST, "factor": 0.5}],
    "multi_tensor_clamp": [{"tensors": _FIRST, "low": -0.5, "high": 0.5}],
    "bernoulli": [{"input": "np.abs(R(3, 4)) / 2"}],
    "bernoulli_p": [{"input": "R(3, 4)", "p": 0.3}],
    "bernoulli_": [{"input": "np.abs(R(3, 4)) / 2"}],
    "bernoulli_p_": [{"input": "R(3, 4)", "p": 0.3}],
    "exponential_": [{"input": "R(3, 4)"}],
    "multinomial": [{"input": "P(3, 4)", "num_samples": 2}],
    "eye_": [{"input": "R(3, 4)"}],
    "sum_to_shape": [{"input": "R(2, 3)", "shape": [3]}],
    "scalar_masked_fill_": [{"input": "R(2, 3)", "mask": "R(2, 3) > 0", "value": 3}],
    "gumbel_softmax": [{"x": "R(3, 4)"}],
}  # fmt: skip
