"""What a graph remembers of each module and tensor that it was given: names, and settings."""

from __future__ import annotations

from typing import Any


class GraphBlockType:
    """The kinds of blocks.

    Example:
        >>> from oneflow.nn.graph.graph_block import GraphBlockType
        >>> GraphBlockType.MODULE
        'MODULE'
    """

    NONE = "NONE"
    MODULE = "MODULE"
    PARAMETER = "PARAMETER"
    BUFFER = "BUFFER"


class GraphBlock:
    """A module or tensor of a graph.

    Attributes:
        name: the attribute's name
        name_prefix: the path of what holds it, with a dot at its end, or ""
        type: a word of `GraphBlockType`
        stage_id, stage_placement: what `set_stage` was given

    Example:
        >>> import oneflow as flow
        >>> class Net(flow.nn.Graph):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.layers = flow.nn.Sequential(flow.nn.Linear(2, 2))
        >>> block = Net().layers[0].to(flow.nn.graph.GraphModule)
        >>> block.name_prefix, block.name, block.type
        ('layers.', '0', 'MODULE')
    """

    def __init__(self, prefix: str, name: str, kind: str) -> None:
        self.name = name
        self.name_prefix = prefix
        self.type = kind
        self.stage_id: int | None = None
        self.stage_placement: Any = None

    @property
    def path(self) -> str:
        """Prefix and name."""
        return self.name_prefix + self.name

    def set_stage(self, stage_id: int | None = None, placement: Any = None) -> None:
        """Remembers which stage of a pipeline it belongs to; one process runs all stages."""
        self.stage_id = stage_id
        self.stage_placement = placement


class GraphModule(GraphBlock):
    """A module of a graph: `graph.module.to(GraphModule)`.

    Attributes:
        activation_checkpointing: whether backward computes the module's inner values again instead
            of keeping them; set it before the graph is called first; default None, which is no

    Example:
        >>> import oneflow as flow
        >>> class Net(flow.nn.Graph):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.layer = flow.nn.Linear(2, 2)
        ...         self.layer.to(flow.nn.graph.GraphModule).activation_checkpointing = True
        ...     def build(self, x):
        ...         return self.layer(x).sum()
        >>> Net()(flow.ones(1, 2)).shape
        oneflow.Size([])
    """

    def __init__(self, prefix: str = "", name: str = "") -> None:
        super().__init__(prefix, name, GraphBlockType.MODULE)
        self.activation_checkpointing: bool | None = None
        self._debug = False
        self._is_executing_forward = False

    def words(self) -> str:
        """The settings, for `print(graph)`."""
        words = [] if self.stage_id is None else [f"stage_id={self.stage_id}"]
        if self.activation_checkpointing is not None:
            words.append(f"activation_checkpointing={self.activation_checkpointing}")
        return f" ({', '.join(words)})" if words else ""


class GraphTensor(GraphBlock):
    """A parameter or buffer of a graph: `graph.module.weight.to(GraphTensor)`.

    Example:
        >>> import oneflow as flow
        >>> class Net(flow.nn.Graph):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.layer = flow.nn.Linear(2, 2)
        >>> Net().layer.weight.to(flow.nn.graph.GraphTensor).type
        'PARAMETER'
    """

    def __init__(self, prefix: str = "", name: str = "", kind: str = GraphBlockType.NONE) -> None:
        super().__init__(prefix, name, kind)
