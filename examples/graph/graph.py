"""Fits a curve twice: op by op, and as a graph that is traced once. Prints losses and times.

tools/bazel run //examples:graph
tools/bazel run //examples:graph -- --show      prints the graph, with the line of each op
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import oneflow as flow
from oneflow import nn

STEPS = 2000


def make_network() -> nn.Sequential:
    """The network with fresh weights: (N, 1) numbers in, (N, 1) out."""
    return nn.Sequential(
        nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
    )


def make_optimizer(network: nn.Module) -> Any:
    """Adam for a network."""
    return flow.optim.Adam(network.parameters(), lr=3e-3)


class TrainGraph(nn.Graph):
    """A training step: forward, backward and the update are one graph."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.loss = nn.MSELoss()
        self.add_optimizer(make_optimizer(network))

    def build(self, x: Any, y: Any) -> Any:
        """Called once; what it does is recorded, and run at each call of the graph."""
        loss = self.loss(self.network(x), y)
        loss.backward()
        return loss


def eager_step(network: nn.Module) -> Callable[[Any, Any], Any]:
    """The same step, op by op."""
    loss_of, optimizer = nn.MSELoss(), make_optimizer(network)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(network(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def fit(step: Callable[[Any, Any], Any], steps: int) -> tuple[float, float]:
    """(loss after the steps, microseconds for each step) on the curve sin(3 x)."""
    x = flow.linspace(-1, 1, 64).reshape(64, 1)
    y = flow.sin(x * 3)
    step(x, y)
    start = time.perf_counter()
    for _ in range(steps):
        loss = step(x, y)
    last = loss.item()
    return last, (time.perf_counter() - start) / steps * 1e6


def main(arguments: list[str] | None = None) -> tuple[float, float]:
    """Runs the example; the losses of both ways."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--show", action="store_true", help="print the graph")
    options = parser.parse_args(arguments)
    flow.manual_seed(0)
    one, other = make_network(), make_network()
    other.load_state_dict(one.state_dict())
    eager, eager_time = fit(eager_step(one), options.steps)
    with TrainGraph(other) as graph:
        traced, graph_time = fit(graph, options.steps)
        if options.show:
            print(graph)
    print(f"{'':8}{'loss':>12}{'time of a step':>20}")
    print(f"{'eager':8}{eager:12.7f}{eager_time:17.1f} us")
    print(f"{'graph':8}{traced:12.7f}{graph_time:17.1f} us")
    return eager, traced


if __name__ == "__main__":
    main()
