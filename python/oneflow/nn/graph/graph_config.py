"""GraphConfig: how a graph is compiled."""

from __future__ import annotations

from typing import Any

from oneflow.framework import global_tensor

_FLOATS = ("float16", "bfloat16")

# Settings of OneFlow before 1.0 which have other names there, or are gone.
_OLD = {
    "enable_auto_parallel_mainstem_algo": "call enable_auto_parallel_trunk_algo",
    "enable_auto_parallel_prune_parallel_cast_ops": "it is done in any case",
    "set_auto_parallel_transfer_cost": "call set_auto_parallel_wait_time",
    "set_zero_redundancy_optimizer_min_size_after_split": "call enable_zero(shard_min_size=...)",
    "enable_xla_jit": "graphs are run by the project's own kernels alone",
    "enable_tensorrt": "graphs are run by the project's own kernels alone",
    "enable_openvino": "graphs are run by the project's own kernels alone",
}


def _check_bool(caller: str, value: Any) -> bool:
    if not isinstance(value, (bool, int)):
        raise TypeError(f"[GraphConfig.{caller}] expects True or False, got {value!r}")
    return bool(value)


class GraphConfig:
    """The settings of a graph, `graph.config`; they are read when the graph is traced.

    Three change what a graph computes or how: `enable_amp`, `set_gradient_accumulation_steps` and
    `disable_passes`. The others are OneFlow's, and are remembered; what they choose between is said
    at each. Those that divide work between ranks raise where there are several.

    Attributes:
        training: whether the graph has an optimizer
        proto: the settings that were made, as a dict

    Example:
        >>> import oneflow as flow
        >>> class Double(flow.nn.Graph):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.config.enable_amp(True)
        ...     def build(self, x):
        ...         return x @ x
        >>> Double()(flow.ones(2, 2)).dtype
        oneflow.bfloat16

    Source: the names follow OneFlow's nn.graph.GraphConfig.
    """

    def __init__(self) -> None:
        self.proto: dict[str, Any] = {}
        self.training = False
        self.changes = 0  # how many settings were made: the graph is traced again after one

    def _set(self, name: str, value: Any) -> None:
        if self.proto.get(name) != value:
            self.proto[name] = value
            self.changes += 1

    # What changes the graph.

    def enable_amp(self, mode: bool = True, *, dtype: Any = None) -> None:
        """Traces `build` under autocast: products in a short dtype; see `oneflow.autocast`.

        Args:
            mode: whether to
            dtype: the short dtype; default bfloat16 on a CPU, float16 on a GPU

        Raises:
            TypeError: `dtype` is neither float16 nor bfloat16.
        """
        if dtype is not None and str(dtype).rpartition(".")[2] not in _FLOATS:
            raise TypeError(
                f"[GraphConfig.enable_amp] expects float16 or bfloat16 as dtype, got {dtype}"
            )
        self._set("enable_amp", _check_bool("enable_amp", mode))
        self._set("amp_dtype", dtype)

    def set_gradient_accumulation_steps(self, value: int) -> None:
        """Runs `build` on several parts of a batch, and steps the optimizers once.

        The tensors that the graph is called with are cut into `value` parts of equal size along
        their first axis (a tensor without axes goes to each part whole). `build` is traced once for
        each. Gradients are the mean over the parts. Outputs are joined along the first axis;
        outputs without axes are stacked, so that a loss becomes a tensor of shape (value,).

        Raises:
            ValueError: `value` is no int of at least 1.
        """
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(
                "[GraphConfig.set_gradient_accumulation_steps] expects an int of at least 1, "
                f"got {value!r}"
            )
        self._set("gradient_accumulation_steps", value)

    def disable_passes(self, *names: str) -> None:
        """Leaves out passes over the graph, by the names that `graph.passes()` shows."""
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"[GraphConfig.disable_passes] expects names, got {name!r}")
        self._set("disable_passes", tuple(names))

    # What is done in any case.

    def allow_fuse_model_update_ops(self, mode: bool = True) -> None:
        """Accepted: one op updates all parameters of a group in any case."""
        self._set("allow_fuse_model_update_ops", _check_bool("allow_fuse_model_update_ops", mode))

    def allow_fuse_add_to_output(self, mode: bool = True) -> None:
        """Accepted: elementwise ops are fused unless `disable_passes` says otherwise."""
        self._set("allow_fuse_add_to_output", _check_bool("allow_fuse_add_to_output", mode))

    def allow_fuse_cast_scale(self, mode: bool = True) -> None:
        """Accepted: elementwise ops are fused unless `disable_passes` says otherwise."""
        self._set("allow_fuse_cast_scale", _check_bool("allow_fuse_cast_scale", mode))

    def enable_multi_tensor_update(self, mode: bool = True) -> None:
        """Accepted: one op updates all parameters of a group in any case."""
        self._set("enable_multi_tensor_update", _check_bool("enable_multi_tensor_update", mode))

    def enable_fused_model_update_cast(self, mode: bool = True) -> None:
        """Accepted, without effect: parameters are cast where they are used."""
        self._set(
            "enable_fused_model_update_cast", _check_bool("enable_fused_model_update_cast", mode)
        )

    def enable_compress_memory(self, mode: bool = True) -> None:
        """Accepted: the memory of values that are not alive together is shared in any case."""
        self._set("enable_compress_memory", _check_bool("enable_compress_memory", mode))

    def enable_straighten_algorithm(self, mode: str = "MemoryFirst") -> None:
        """Accepted, without effect: ops run in the order of the trace.

        Raises:
            ValueError: no mode of OneFlow's.
        """
        modes = ("Disable", "SpeedFirst", "MemoryFirst", "OverlapCpuGpu", "DelayShortGpu")
        if mode not in modes:
            raise ValueError(
                f"[GraphConfig.enable_straighten_algorithm] expects one of {', '.join(modes)}, "
                f"got {mode!r}"
            )
        self._set("straighten_algorithm", mode)

    def enable_choose_best_memory_allocation(self, mode: bool = True) -> None:
        """Accepted, without effect: there is one way of placing values, best fit over lifetimes."""
        self._set(
            "enable_choose_best_memory_allocation",
            _check_bool("enable_choose_best_memory_allocation", mode),
        )

    def set_outputs_buffer_size(self, value: int = 2) -> None:
        """Accepted, without effect: the outputs of each run are tensors of their own.

        Raises:
            ValueError: `value` is no int of at least 1.
        """
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(
                f"[GraphConfig.set_outputs_buffer_size] expects an int of at least 1, got {value!r}"
            )
        self._set("outputs_buffer_size", value)

    def enable_cudnn_conv_heuristic_search_algo(self, mode: bool = True) -> None:
        """Accepted, without effect: it chooses among cuDNN's convolutions."""
        self._set(
            "cudnn_conv_heuristic_search_algo",
            _check_bool("enable_cudnn_conv_heuristic_search_algo", mode),
        )

    # What concerns several ranks.

    def _for_ranks(self, name: str, value: Any) -> None:
        ranks = global_tensor.world_size()
        if value and ranks > 1:
            raise NotImplementedError(
                f"[GraphConfig.{name}] expects a single rank, got {ranks}: graphs do not divide "
                "work between ranks"
            )
        self._set(name, value)

    def enable_zero(
        self,
        mode: bool = True,
        *,
        stage: int = 2,
        shard_min_size: int = 1024,
        shard_restore_level: int = 1,
    ) -> None:
        """With one rank nothing is left to divide, and it is accepted.

        Raises:
            ValueError: `stage` is none of 1, 2 and 3, or `shard_min_size` is not above 0.
            NotImplementedError: there are several ranks.
        """
        if stage not in (1, 2, 3):
            raise ValueError(f"[GraphConfig.enable_zero] expects stage 1, 2 or 3, got {stage!r}")
        if not shard_min_size > 0:
            raise ValueError(
                f"[GraphConfig.enable_zero] expects shard_min_size above 0, got {shard_min_size!r}"
            )
        self._for_ranks("enable_zero", _check_bool("enable_zero", mode))
        self._set("zero_options", (stage, shard_min_size, shard_restore_level))

    def set_zero_redundancy_optimizer_mode(self, mode: str = "distributed_split") -> None:
        """OneFlow's old name of `enable_zero`.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            "[GraphConfig.set_zero_redundancy_optimizer_mode] is no more; call enable_zero(True)"
        )

    def enable_auto_parallel(self, mode: bool = True) -> None:
        """With one rank nothing is left to choose, and it is accepted.

        Raises:
            NotImplementedError: there are several ranks.
        """
        self._for_ranks("enable_auto_parallel", _check_bool("enable_auto_parallel", mode))

    def enable_auto_parallel_ignore_user_sbp_config(self, mode: bool = True) -> None:
        """As `enable_auto_parallel`."""
        self._for_ranks(
            "enable_auto_parallel_ignore_user_sbp_config",
            _check_bool("enable_auto_parallel_ignore_user_sbp_config", mode),
        )

    def set_auto_parallel_computation_cost_ratio(self, ratio: float) -> None:
        """As `enable_auto_parallel`."""
        self._for_ranks("set_auto_parallel_computation_cost_ratio", ratio)

    def set_auto_parallel_wait_time(self, cost: float) -> None:
        """As `enable_auto_parallel`."""
        self._for_ranks("set_auto_parallel_wait_time", cost)

    def enable_auto_parallel_trunk_algo(self, mode: bool = True) -> None:
        """As `enable_auto_parallel`."""
        self._for_ranks(
            "enable_auto_parallel_trunk_algo", _check_bool("enable_auto_parallel_trunk_algo", mode)
        )

    def enable_auto_parallel_sbp_collector(self, mode: bool = True) -> None:
        """As `enable_auto_parallel`."""
        self._for_ranks(
            "enable_auto_parallel_sbp_collector",
            _check_bool("enable_auto_parallel_sbp_collector", mode),
        )

    def enable_auto_memory(self, mode: str = "AdaptiveMemory") -> None:
        """As `enable_auto_parallel`.

        Raises:
            ValueError: no mode of OneFlow's.
            NotImplementedError: there are several ranks, and the mode is not "Disable".
        """
        modes = ("Disable", "SlightMemoryDown", "ModerateMemoryDown", "HeavyMemoryDown",
                 "AdaptiveMemory")  # fmt: skip
        if mode not in modes:
            raise ValueError(
                f"[GraphConfig.enable_auto_memory] expects one of {', '.join(modes)}, got {mode!r}"
            )
        self._for_ranks("enable_auto_memory", None if mode == "Disable" else mode)

    # What there is not.

    def __getattr__(self, name: str) -> Any:
        if name in _OLD:
            raise AttributeError(f"[GraphConfig] {name} is no more: {_OLD[name]}")
        raise AttributeError(f"[GraphConfig] there is no setting {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OLD or callable(getattr(type(self), name, None)):
            raise AttributeError(
                f"[GraphConfig] expects a call, {name}(...), got an assignment to it"
            )
        object.__setattr__(self, name, value)

    # What the graph reads.

    @property
    def steps(self) -> int:
        """Into how many parts a batch is cut."""
        steps: int = self.proto.get("gradient_accumulation_steps", 1)
        return steps

    def computes_in(self, dtype: Any) -> bool:
        """Whether amp is on, and in this dtype."""
        context = self.autocast()
        return context is not None and context.fast_dtype == dtype

    def autocast(self) -> Any:
        """The autocast context to trace in, or None."""
        from oneflow import cuda
        from oneflow.amp.autocast_mode import autocast

        if not self.proto.get("enable_amp", False):
            return None
        device = "cuda" if cuda.is_available() else "cpu"
        return autocast(device, dtype=self.proto.get("amp_dtype"))

    def __repr__(self) -> str:
        words = [f"training={self.training}"]
        words += [f"{name}={value}" for name, value in self.proto.items() if value is not None]
        return f"(CONFIG:config:GraphConfig({', '.join(words)}))"
