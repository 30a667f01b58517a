"""Random programs on several threads at once: each gives what it gives alone.

The threads own what they make, read tensors that all share, and hand tensors on through queues.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.vm.generator import Generator
from tests.vm.interpreter import Interpreter, Variable
from tests.vm.program import Program
from tests.vm.runner import Mismatch, Prepared, Runner, compare_modes, describe, foreign, settle

import oneflow as flow

_SLOW = bool(os.environ.get("ONEFLOW_SANITIZER"))
PROGRAMS = int(os.environ.get("ONEFLOW_TEST_PROGRAMS", "12" if _SLOW else "72")) // 4
SEED = int(os.environ.get("ONEFLOW_TEST_SEED", "1"))
LENGTH = 60 if _SLOW else 200
THREADS = 4
MODES = ("queued", "random", "auto", "inline")


@pytest.fixture(autouse=True)
def quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def name_of(seed: int, thread: int) -> str:
    return f"program {seed} of thread {thread}"


def handed_over(sent: list[tuple[str, Variable]], name: str) -> list[tuple[str, Variable]]:
    """What another thread finds in its inbox: errors are those of the sender's lines."""
    for _, variable in sent:
        poison = variable.memory.poison
        if poison is not None and poison > 0:
            variable.memory.poison = foreign(name, poison)
    return sent


class Team:
    """The programs of one seed: what is made before, and what each thread does."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        before = Generator(seed, "shared_", alone=False)
        for _ in range(6):
            before._new()
        self.before = before.program
        self.programs: list[Program] = []
        sent: list[tuple[str, Variable]] = []
        for thread in range(THREADS):
            generator = Generator(
                1000 * seed + thread, f"t{thread}_", self._start(sent), alone=False
            )
            sent = self._write(generator, len(sent), last=thread == THREADS - 1)
            sent = handed_over(sent, name_of(seed, thread))

    def _start(self, inbox: list[tuple[str, Variable]]) -> Interpreter:
        """The state in which a thread begins."""
        state = Interpreter()
        for line, statement in enumerate(self.before):
            state.step(line + 1, statement)
        # What Python can see without asking stays with the main thread.
        state.variables = {k: v for k, v in state.variables.items() if v.is_tensor}
        for variable in state.variables.values():
            variable.memory.frozen = True
        state.inbox = list(inbox)
        return state

    def _write(
        self, generator: Generator, to_receive: int, last: bool
    ) -> list[tuple[str, Variable]]:
        while len(generator.program) < LENGTH:
            generator.statement()
            if to_receive and generator.random.random() < 0.1:
                generator.add("receive")
                to_receive -= 1
            if not last and generator.random.random() < 0.06:
                generator.send()
        for _ in range(to_receive):
            generator.add("receive")
        self.programs.append(generator.generate(0))
        return generator.state.sent

    def prepare(self) -> list[Prepared]:
        prepared = []
        sent: list[tuple[str, Variable]] = []
        for thread, program in enumerate(self.programs):
            state = self._start(sent)
            prepared.append(Prepared(program, name_of(self.seed, thread), state))
            sent = handed_over(state.sent, name_of(self.seed, thread))
        return prepared


def run_together(team: Team, prepared: list[Prepared], mode: str) -> list[list[tuple[int, bytes]]]:
    """Runs the threads in a mode; raises the first Mismatch."""
    flow._oneflow_internal.set_vm_mode(mode)
    shared = Runner(Prepared(team.before, "before"), mode)
    shared.run()
    runners = [Runner(p, mode, dict(shared.env), others_fail=True) for p in prepared]
    for sender, receiver in zip(runners, runners[1:]):
        receiver.inbox = lambda box=sender.outbox: box.get(timeout=60)
    errors: queue.Queue[tuple[int, BaseException]] = queue.Queue()

    def work(thread: int) -> None:
        try:
            runners[thread].run()
        except BaseException as error:  # noqa: BLE001 - told to the main thread
            errors.put((thread, error))
            runners[thread].outbox.put(error)  # who waits for tensors need not wait on

    threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    settle()
    if not errors.empty():
        thread_number, error = errors.get()
        why = describe(prepared[thread_number].program, error)
        raise Mismatch(f"seed {team.seed}, thread {thread_number}: {why}") from error
    return [runner.seen for runner in runners]


def test_threads_do_not_disturb_each_other() -> None:
    handed = 0
    for seed in range(SEED, SEED + PROGRAMS):
        team = Team(seed)
        prepared = team.prepare()
        handed += sum(s.kind == "receive" for p in team.programs for s in p)
        modes = MODES if seed % 4 == 0 else MODES[:2]
        first: Any = None
        for mode in modes:
            seen = run_together(team, prepared, mode)
            first = first or seen
            for one, other, p in zip(first, seen, prepared):
                compare_modes(p.program, one, other, f"seed {seed}: {modes[0]} and {mode}")
    assert handed > PROGRAMS


def test_control() -> None:
    """A thread that changes what others own is noticed."""
    team = Team(3)
    prepared = team.prepare()
    wrong = next(
        i for i, e in enumerate(prepared[2].expected) if e.value is not None and e.value.size
    )
    expected = prepared[2].expected[wrong]
    assert expected.value is not None
    expected.value, expected.level = expected.value + expected.value.dtype.type(1), 0
    expected.error = None
    with pytest.raises(Mismatch, match="thread 2"):
        run_together(team, prepared, "queued")
