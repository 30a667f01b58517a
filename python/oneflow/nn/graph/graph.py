"""Graph: a program that is traced once, compiled, and run many times."""

from __future__ import annotations

import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import oneflow as flow
from oneflow import _oneflow_internal
from oneflow.framework import global_tensor
from oneflow.nn.graph._blocks import Blocks
from oneflow.nn.graph._compiled import Compiled, Tracer, write
from oneflow.nn.graph._state import load_state, state_of
from oneflow.nn.graph.graph_block import GraphModule
from oneflow.nn.graph.graph_config import GraphConfig
from oneflow.nn.graph.optimizer import OptDict, Step, check_parameters
from oneflow.nn.graph.proxy import Proxy
from oneflow.nn.graph.util import add_indent, describe, flatten
from oneflow.nn.modules.module import Module
from oneflow.optim.optimizer import Optimizer

Tensor = _oneflow_internal.Tensor
_autocasting = _oneflow_internal.is_autocast_enabled
_grad_enabled: Callable[[], bool] = flow.is_grad_enabled
_default_dtype: Callable[[], Any] = flow.get_default_dtype
_tracing = _oneflow_internal.graph.tracing
_MANY = 32  # signatures of one graph, at which a warning says that each is traced

_child = False  # whether this process is a fork child: its graphs are its parent's


def _in_child() -> None:
    global _child
    _child = True


os.register_at_fork(after_in_child=_in_child)


class Graph:
    """A program that is traced once for each form of its arguments, compiled, and then run.

    A subclass calls `super().__init__()` first, assigns modules as attributes, and defines `build`.
    Calling the graph runs it: the first call with arguments of some shapes, dtypes, devices and
    structure calls `build` with tensors that have no value yet, and compiles what it did; every
    later one runs that, without Python. docs/graph.md says what is traced and what raises.

    * Modules are shared: what the graph trains, eager code and other graphs see.
    * `backward()` in `build` computes gradients, and `add_optimizer` adds the step that uses them;
      each run starts with none. They are the graph's own: `.grad` of parameters stays as it is.
    * Tensors that `build` finds elsewhere are read anew, and written, at each run.

    Attributes:
        config: a GraphConfig
        name: the class's name and a number

    Raises:
        RuntimeError: when it is called after `close`, after the session was closed, in a fork
            child, at exit, or in a `build`.
        TypeError: an argument or result is neither tensor, number, string, None, nor a list, tuple
            or dict of such.

    Thread safety: threads may call one graph; with optimizers their calls take turns.

    Example:
        >>> import oneflow as flow
        >>> class Train(flow.nn.Graph):
        ...     def __init__(self, model):
        ...         super().__init__()
        ...         self.model = model
        ...         self.add_optimizer(flow.optim.SGD(model.parameters(), lr=0.5))
        ...     def build(self, x):
        ...         loss = self.model(x).sum()
        ...         loss.backward()
        ...         return loss
        >>> model = flow.nn.Linear(2, 1, bias=False)
        >>> _ = flow.nn.init.ones_(model.weight)
        >>> train = Train(model)
        >>> train(flow.ones(1, 2)), train(flow.ones(1, 2))
        (tensor(2., dtype=oneflow.float32), tensor(1., dtype=oneflow.float32))

    Source: the interface follows OneFlow's nn.Graph.
    """

    _child_init_cnt: dict[str, int] = {}
    _debug = False

    def __init__(self) -> None:
        kind = type(self).__name__
        number = Graph._child_init_cnt.get(kind, 0)
        Graph._child_init_cnt[kind] = number + 1
        self._name = f"{kind}_{number}"
        self._blocks = Blocks()
        self.config = GraphConfig()
        self._opts: list[OptDict] = []
        self._graphs: dict[Any, Compiled] = {}
        self._latest: Compiled | None = None
        self._before: Any = None
        self._lock = threading.RLock()
        self._closed = False
        self._grad_scaler: Any = None
        self._debug_level = -1
        self._loaded: dict[str, Any] = {}

    def build(self, *args: Any, **kwargs: Any) -> Any:
        """What the graph computes; every subclass defines it.

        Raises:
            NotImplementedError: the subclass does not.
        """
        raise NotImplementedError(f"[Graph] {type(self).__name__} does not define build(self, ...)")

    # Running.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            made = self._same_as_before(args)
            if made is not None:
                return self._run(made, list(args))
        leaves: list[Any] = []
        structure = flatten((args, kwargs), leaves, f"an argument of graph {self._named()!r}")
        made = self._compiled_for(structure, leaves)
        if not kwargs and len(leaves) == len(args):
            self._before = (made, _forms(leaves), Module._changes, _modes())
        return self._run(made, leaves)

    def _run(self, made: Compiled, leaves: list[Any]) -> Any:
        if not made.steps:
            return made.run(leaves)
        with self._lock:
            return made.run(leaves)

    def _same_as_before(self, args: tuple[Any, ...]) -> Compiled | None:
        """What ran last, if it may run for these arguments too: a short way for the usual call."""
        before = self.__dict__.get("_before")
        if before is None:
            return None
        made, forms, changes, modes = before
        if len(args) != len(forms) or Module._changes != changes or _modes() != modes:
            return None
        for tensor, form in zip(args, forms):
            if not isinstance(tensor, Tensor):
                return None
            if (tensor.shape, tensor.dtype, tensor.device, tensor.requires_grad) != form:
                return None
        self._check_usable()
        return None if made.stale(self.config) else made

    def _named(self) -> str:
        name = self.__dict__.get("_name")
        if name is None:
            raise AttributeError(
                f"[Graph] expects {type(self).__name__}.__init__ to call super().__init__() first"
            )
        return str(name)

    def _compiled_for(self, structure: Any, leaves: list[Any]) -> Compiled:
        self._check_usable()
        forms, modes = _forms(leaves), _modes()
        made = self._graphs.get((structure, forms, self._blocks.mode(), modes))
        if made is not None and not made.stale(self.config):
            return made
        # Stale perhaps for another requires_grad alone: there may be a graph for that, too.
        key = (structure, forms, self._blocks.mode(anew=True), modes)
        made = self._graphs.get(key)
        if made is None or made.stale(self.config):
            made = self._trace(key, structure, leaves)
        return made

    def _check_usable(self) -> None:
        """RuntimeError where no graph can be run."""
        tracing = _tracing()
        if tracing is not None:
            raise RuntimeError(
                f"[Graph] expects no call of graph {self._name!r} while graph {tracing!r} is being "
                "built; call its modules, or its build, instead"
            )
        if self._closed:
            raise RuntimeError(f"graph {self._name!r} is closed")
        if _child:
            raise RuntimeError(
                f"[Graph] expects graph {self._name!r} to run in the process that made it, got a "
                "fork child; start processes by spawn"
            )

    def _trace(self, key: Any, structure: Any, leaves: list[Any]) -> Compiled:
        with self._lock:
            made = self._graphs.get(key)  # another thread may have been first
            if made is not None and not made.stale(self.config):
                return made
            self._check_usable()
            if made is not None:
                self._graphs.pop(key).close()
            if self._grad_scaler is not None and self.config.computes_in(flow.float16):
                raise NotImplementedError(
                    "[Graph.set_grad_scaler] expects amp in bfloat16, which needs no scale, got "
                    "float16: a graph does not scale losses"
                )
            tracer = Tracer(
                self._name, self.build, self._blocks, self.config, self._opts, self._say
            )
            made = tracer.trace(structure, leaves)
            # Modules that `build` met now belong to the key of every form from here on.
            key = (*key[:2], self._blocks.mode(), *key[3:])
            self._graphs[key] = self._latest = made
        if self._debug_level >= 2:
            self._say(2, made.handle.describe_trace())
            self._say(3, made.handle.describe())
            self._say(3, f"{self._name}: passes {self.passes()}, memory {self.memory()}")
        if len(self._graphs) == _MANY:
            warnings.warn(
                f"[Graph] graph {self._name!r} was traced for {_MANY} different forms of its "
                "arguments, and keeps a compiled graph for each; numbers and strings among them "
                "belong to the form",
                stacklevel=4,
            )
        return made

    def _compile(self, *args: Any, **kwargs: Any) -> None:
        """Traces and compiles for such arguments, and runs nothing."""
        leaves: list[Any] = []
        structure = flatten((args, kwargs), leaves, f"an argument of graph {self._named()!r}")
        self._compiled_for(structure, leaves)

    build_graph = _compile

    # Parts.

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Proxy) and isinstance(value.to(Module), Module):
            value = value.to(Module)
        if isinstance(value, Module):
            self._named()
            self.__dict__.pop(name, None)
            self._blocks.modules[name] = value
            Module._changes += 1
        elif isinstance(value, Optimizer):
            raise AttributeError(
                f"[Graph] expects optimizers by add_optimizer, got one as attribute {name!r}"
            )
        elif isinstance(value, Tensor):
            raise AttributeError(
                f"[Graph] expects tensors inside modules, got one as attribute {name!r}; a tensor "
                "that build finds elsewhere is read at each run, too"
            )
        else:
            blocks = self.__dict__.get("_blocks")
            if blocks is not None and name in blocks.modules:
                del blocks.modules[name]
                Module._changes += 1
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        blocks = self.__dict__.get("_blocks")
        if blocks is not None and name in blocks.modules:
            return blocks[name]
        hint = "" if blocks is not None else "; was super().__init__() called first?"
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}{hint}")

    def __delattr__(self, name: str) -> None:
        if name in self._blocks.modules:
            del self._blocks.modules[name]
            Module._changes += 1
        else:
            object.__delattr__(self, name)

    def _add_module(self, name: str, module: Any) -> None:
        if not isinstance(module, Module):
            raise TypeError(f"[Graph] expects a Module as {name!r}, got {type(module).__name__}")
        setattr(self, name, module)

    def add_optimizer(self, optim: Any, *, lr_sch: Any = None, is_sparse: bool = False) -> None:
        """Adds an optimizer: each run ends with its step, and then with that of its scheduler.

        Groups with clip_grad_max_norm and clip_grad_norm_type have their gradients clipped before.
        Learning rates are read anew at each run, also such that were set by hand; a group's
        lr_scale, if it has one, is a factor. `zero_grad` is not needed, and must not be called.

        Args:
            optim: an Optimizer of `oneflow.optim`; its parameters are those of the graph's modules
            lr_sch: its scheduler; default none
            is_sparse: accepted; gradients of embeddings are dense

        Raises:
            TypeError: no Optimizer, one whose step decides in Python (LBFGS), or no LRScheduler.
            ValueError: a scheduler of another optimizer; and at the first call, a parameter that is
                in none of the graph's modules.
        """
        self._named()
        given = optim if isinstance(optim, dict) else {"optim": optim, "lr_sch": lr_sch,
                                                       "is_sparse": is_sparse}  # fmt: skip
        self._opts.append(OptDict(given))
        self.config.training = True
        self.config.changes += 1

    def set_grad_scaler(self, grad_scaler: Any = None) -> None:
        """Accepted, without effect, as bfloat16 has float32's range of exponents.

        Raises:
            TypeError: no GradScaler.
            NotImplementedError: at the next trace, if amp is to compute in float16.
        """
        from oneflow.amp import GradScaler, StaticGradScaler

        if not isinstance(grad_scaler, (GradScaler, StaticGradScaler)):
            raise TypeError(
                f"[Graph.set_grad_scaler] expects a GradScaler, got {type(grad_scaler).__name__}"
            )
        self._grad_scaler = grad_scaler

    # State.

    def state_dict(self, destination: Any = None) -> dict[str, Any]:
        """The state of the graph's modules and optimizers.

        Args:
            destination: a dict to fill, and return; default a new one

        Returns:
            for each module its name and its state_dict; for each tensor of an optimizer's state
            "path of the parameter-name"; "System-Train-TrainStep", the steps done; and the
            schedulers' states
        """
        found: dict[str, Any] = OrderedDict() if destination is None else destination
        found.update(state_of(self._blocks, self._opts))
        return found

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Takes over what `state_dict` returned.

        Args:
            state_dict: of a graph with modules of the same names
            strict: whether every module must be in it, with every parameter and buffer

        Raises:
            TypeError: no dict.
            KeyError: `strict`, and a module is missing.
            RuntimeError: as `Module.load_state_dict`.
        """
        load_state(self._blocks, self._opts, state_dict, strict)

    # What it says of itself.

    @property
    def name(self) -> str:
        """The class's name and a number."""
        return self._named()

    @property
    def training(self) -> bool:
        """Whether it has an optimizer."""
        return self.config.training

    @property
    def is_compiled(self) -> bool:
        """Whether it was traced for any arguments."""
        return self._latest is not None

    def _newest(self, caller: str) -> Compiled:
        if self._latest is None:
            raise RuntimeError(
                f"[Graph.{caller}] expects a graph that was called, got {self._name!r}"
            )
        return self._latest

    def passes(self) -> dict[str, int]:
        """How often each pass over the graph that was traced last fired.

        Raises:
            RuntimeError: the graph was not called yet.
        """
        return dict(self._newest("passes").handle.passes())

    def memory(self) -> dict[str, int]:
        """Bytes: "plan", "peak" as planned, "lower_bound" (values alive together), and more.

        Raises:
            RuntimeError: the graph was not called yet.
        """
        return dict(self._newest("memory").handle.memory())

    def debug(
        self,
        v_level: int = 0,
        *,
        ranks: int | list[int] | None = None,
        max_py_stack_depth: int = 2,
        only_user_py_stack: bool = True,
        op_repr_with_py_stack: bool = False,
    ) -> None:
        """Prints what tracing does, from the next trace on.

        Args:
            v_level: -1 nothing; 0 when it starts and how long it took; 1 inputs, outputs and states
                too; 2 each op with its shapes and Python line; 3 the graph after its passes
            ranks: which ranks print, -1 for all; default 0. The others say once that they do not
            max_py_stack_depth, only_user_py_stack, op_repr_with_py_stack: accepted; each op is
                shown with the line that made it

        Raises:
            TypeError: `v_level` is no int.
            ValueError: `ranks` is neither an int nor a list of such.
        """
        if isinstance(v_level, bool) or not isinstance(v_level, int):
            raise TypeError(f"[Graph.debug] expects an int as v_level, got {v_level!r}")
        chosen = [0] if ranks is None else ranks if isinstance(ranks, list) else [ranks]
        if not all(isinstance(rank, int) for rank in chosen):
            raise ValueError(f"[Graph.debug] expects an int or a list of ints, got {ranks!r}")
        rank = global_tensor.rank()
        mine = -1 in chosen or rank in chosen
        if not mine and v_level >= 0:
            write(f"[graph] rank {rank} prints nothing of {self._named()}; ranks {chosen} do")
        self._debug_level = v_level if mine else -1
        self._debug = self._debug_level >= 0
        for name in self._blocks.modules:
            self._blocks[name]._block._debug = self._debug

    def _say(self, level: int, text: str) -> None:
        if level <= self._debug_level:
            write(f"[graph] {text}")

    def _lines(self) -> list[str]:
        lines = [repr(self.config)]
        settings = {block.path: block for block, _ in self._blocks.blocks()}
        for path, module in self._blocks.named_modules():
            block = settings.get(path)
            words = block.words() if isinstance(block, GraphModule) else ""
            head = repr(module).split("\n", 1)[0]
            lines.append(f"(MODULE:{path}:{head.rstrip('(')}){words}")
            lines += [
                f"  ({kind}:{path}.{name}:{describe(tensor)})"
                for kind, members in (
                    ("PARAMETER", module._parameters),
                    ("BUFFER", module._buffers),
                )
                for name, tensor in members.items()
                if tensor is not None
            ]
        for opt in self._opts:
            lines.append(f"(OPTIMIZER:{opt.optimizer!r})")
        if self._latest is not None:
            lines += [f"(INPUT:{i}:{text})" for i, text in enumerate(self._latest.inputs)]
            lines += self._latest.handle.describe().rstrip("\n").split("\n")
            lines += [f"(OUTPUT:{i}:{text})" for i, text in enumerate(self._latest.outputs)]
        return lines

    def __repr__(self) -> str:
        body = "".join(f"\n  {add_indent(line, 2)}" for line in self._lines())
        return f"(GRAPH:{self._named()}:{type(self).__name__}): ({body}\n)"

    # The end.

    def close(self) -> None:
        """Waits for its runs, and gives its memory back. Calling it after that raises."""
        with self._lock:
            self._closed = True
            closing, self._graphs, self._latest = list(self._graphs.values()), {}, None
            self._before = None
        for made in closing:
            made.close()

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError(
            f"[Graph] expects state_dict() where {self._named()!r} is to be copied or saved, got a "
            "copy of the graph itself"
        )

    @staticmethod
    def trace(function: Callable[..., Any]) -> Graph:
        """Makes a function a graph.

        Args:
            function: takes and returns what `build` may

        Returns:
            the graph, to be called like the function

        Example:
            >>> import oneflow as flow
            >>> @flow.nn.Graph.trace
            ... def double(x):
            ...     return x * 2
            >>> double(flow.ones(2))
            tensor([2., 2.], dtype=oneflow.float32)
        """
        name = getattr(function, "__name__", "Function")

        def build(self: Graph, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        made: Graph = type(name, (Graph,), {"build": build})()
        return made

    # Names that OneFlow's own programs use.

    def finish_complie_and_init_runtime(self) -> None:
        """Nothing: `build_graph` compiles, too."""

    def _filter_states(self) -> None:
        """Checks that the optimizers' parameters are those of the modules."""
        steps = [Step(opt.optimizer, None) for opt in self._opts]
        check_parameters(self._name, steps, self._blocks.named_parameters())

    _generate_config_proto = _filter_states

    @property
    def _graph_proto(self) -> str:
        return str(self._newest("_graph_proto").handle.describe_trace())

    _full_graph_proto = _compiled_graph_proto = _graph_proto


def _forms(leaves: list[Any]) -> tuple[Any, ...]:
    return tuple([(t.shape, t.dtype, t.device, t.requires_grad) for t in leaves])


def _modes() -> tuple[Any, ...]:
    """What else `build` may depend on."""
    if not _autocasting():
        return (_grad_enabled(), _default_dtype())
    return (_grad_enabled(), _default_dtype(), _oneflow_internal.get_autocast_cpu_dtype())
