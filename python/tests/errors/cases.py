"""What goes wrong, and what is printed: the cases that docs/errors.md shows.

Each is a small program. `printed.py` runs them, `test_document.py` compares the page with what they
print, and with the rule that a message names the op, what it expects and what it got.
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """One program that ends in an error.

    Attributes:
        title: the heading above it
        program: what is run; `flow` is imported
        words: what a reader should know besides
        own_process: it needs a process of its own, for what happens to the whole of one
        environ: that process's environment, as (name, value)
        other_form: why its message is not `[op] expects X, got Y`; empty: it is
    """

    title: str
    program: str
    words: str = ""
    own_process: bool = False
    environ: tuple[tuple[str, str], ...] = ()
    other_form: str = ""


NOT_OURS = "Python's own message"
SAYS_WHAT_FAILED = "a failure, not a mistake: nothing was expected of the program"

SECTIONS: dict[str, list[Case]] = {
    "Shapes": [
        Case(
            "Shapes that do not broadcast",
            "images = flow.ones(16, 3, 8, 8)\nmean = flow.ones(4)\nimages + mean\n",
        ),
        Case(
            "A product of matrices that do not fit",
            "a = flow.ones(2, 3)\nb = flow.ones(2, 3)\na @ b\n",
        ),
        Case(
            "A layer that was made for other inputs",
            "layer = flow.nn.Linear(4, 2)\nlayer(flow.ones(8, 3))\n",
        ),
        Case("A view of another size", "x = flow.ones(2, 3)\nx.view(4)\n"),
        Case("A size below zero", "flow.zeros(3, -1)\n"),
        Case(
            "A loss whose targets do not fit the scores",
            "scores = flow.ones(4, 10)\ntargets = flow.zeros(5, dtype=flow.int64)\n"
            "flow.nn.functional.cross_entropy(scores, targets)\n",
        ),
    ],
    "Dtypes": [
        Case(
            "A number that the dtype cannot hold",
            "x = flow.ones(2, dtype=flow.int32)\nx + 2**40\n",
            "No element wraps around.",
        ),
        Case(
            "A float into integers, in place",
            "counts = flow.arange(3)\ncounts += 0.5\n",
        ),
        Case("A dtype that is none", 'flow.ones(2, dtype="float32")\n'),
        Case(
            "An op that has no kernel for a dtype",
            "flow.softmax(flow.ones(2, dtype=flow.bool), 0)\n",
        ),
        Case("Gradients of integers", "flow.ones(2, dtype=flow.int64, requires_grad=True)\n"),
        Case("Data that are no numbers", 'flow.tensor(["a", "b"])\n'),
    ],
    "Devices": [
        Case("A GPU where there is none", 'flow.ones(2, device="cuda")\n'),
        Case("A device that does not exist", 'flow.ones(2).to("tpu")\n'),
    ],
    "Indices": [
        Case("An index past the end", "x = flow.ones(2, 3)\nx[0, 3]\n"),
        Case("A dim that the tensor does not have", "flow.ones(2, 3).sum(2)\n"),
        Case(
            "A class that does not exist",
            "scores = flow.zeros(20000, 10)\n"
            "targets = flow.zeros(20000, dtype=flow.int64)\n"
            "targets[7] = 10\n"
            "loss = flow.nn.functional.cross_entropy(scores, targets)\n"
            "print(loss.item())\n",
            "The kernel finds it, in the background: the exception comes where the loss is "
            "read, and "
            "names the line that asked for it.",
        ),
    ],
    "Arguments": [
        Case("An argument of another type", 'flow.add(flow.ones(2), "1")\n'),
        Case("An argument that there is not", "flow.sum(flow.ones(2), axes=0)\n"),
        Case("A number out of its range", "flow.ones(2).uniform_(2.0, 1.0)\n"),
        Case(
            "An option of an optimizer",
            "model = flow.nn.Linear(2, 2)\nflow.optim.SGD(model.parameters(), lr=-0.1)\n",
        ),
        Case("A seed that is none", 'flow.manual_seed("42")\n'),
        # One that resembles no other: only newer versions of Python ask whether it was meant.
        Case("A name that does not exist", "flow.nn.Perceptron(2, 2)\n", other_form=NOT_OURS),
    ],
    "Gradients": [
        Case(
            "Backward from more than one number",
            "x = flow.ones(3, requires_grad=True)\n(x * 2).backward()\n",
        ),
        Case("Backward where nothing was recorded", "flow.ones(3).sum().backward()\n"),
        Case(
            "Backward twice",
            "x = flow.ones(3, requires_grad=True)\nloss = (x * x).sum()\n"
            "loss.backward()\nloss.backward()\n",
        ),
        Case(
            "A value that backward needs was changed",
            "x = flow.ones(3, requires_grad=True)\ny = x * 2\nloss = (y * y).sum()\n"
            "with flow.no_grad():\n    y += 1\nloss.backward()\n",
            "Beneath stand the op whose gradient cannot be computed, and the call of backward.",
        ),
        Case(
            "A parameter changed in place",
            "layer = flow.nn.Linear(2, 2)\nlayer.weight += 1\n",
        ),
        Case(
            "A gradient with respect to what was not used",
            "x = flow.ones(2, requires_grad=True)\ny = flow.ones(2, requires_grad=True)\n"
            "flow.autograd.grad(x.sum(), y)\n",
        ),
        Case(
            "A hook that returns another shape",
            "x = flow.ones(3, requires_grad=True)\nx.register_hook(lambda grad: grad.sum())\n"
            "x.sum().backward()\n",
        ),
        Case(
            "A failure in backward",
            "x = flow.ones(3, requires_grad=True)\n"
            "y = flow._C.throw_error_in_backward(x)\n"
            "loss = y.sum()\nloss.backward()\nprint(x.grad.numpy())\n",
            "An op that fails on purpose in its backward. Both lines are named: the op's, "
            "and that of "
            "`backward()`.",
            other_form=SAYS_WHAT_FAILED,
        ),
    ],
    "Memory": [
        Case(
            "More memory than there is",
            "def batch(size):\n    return flow.ones(size, 1000, 1000)\n\n"
            "kept = []\nfor size in (4, 8, 12, 16):\n    kept.append(batch(size))\nbatch(40)\n",
            "It is raised at the line that asked. It can be caught, and the program goes on. Here "
            "the limit is 250 MB.",
            own_process=True,
            environ=(("ONEFLOW_CPU_MEMORY_LIMIT", "250000000"),),
        ),
        Case(
            "In-place on memory that is read-only",
            "import numpy as np\na = np.ones(3, np.float32)\na.flags.writeable = False\n"
            "flow.from_numpy(a).mul_(2)\n",
        ),
        Case(
            "In-place on elements that overlap",
            "flow.ones(1, 3).expand(2, 3).mul_(2)\n",
        ),
    ],
    "Later than its line": [
        Case(
            "An op that fails in the background",
            "def step(x):\n    return flow._C.throw_error(x, 10)\n\n"
            "y = step(flow.ones(2))\nz = y + 1\nprint(z.numpy())\n",
            "An op that fails on purpose, after 10 ms. What depends on it is skipped. Who "
            "reads it gets "
            "the exception that the op would have raised, with its line.",
            other_form=SAYS_WHAT_FAILED,
        ),
        Case(
            "The same, issued by another thread",
            "import threading\n\nresults = []\n\ndef work():\n"
            "    results.append(flow._C.throw_error(flow.ones(2), 10))\n\n"
            "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\n"
            "results[0].numpy()\n",
            other_form=SAYS_WHAT_FAILED,
        ),
        Case(
            "The same, with no stacks recorded",
            "y = flow._C.throw_error(flow.ones(2), 10)\nprint(y.numpy())\n",
            "`ONEFLOW_PYTHON_STACK_GETTER=0` turns the recorder off.",
            own_process=True,
            environ=(("ONEFLOW_PYTHON_STACK_GETTER", "0"),),
            other_form=SAYS_WHAT_FAILED,
        ),
        Case(
            "An error that nobody read",
            "y = flow._C.throw_error(flow.ones(2), 10)\n",
            "It is printed at the end of the program, whose status is then 1 in place of 0. "
            "`ONEFLOW_UNREAD_ERRORS=warn` leaves the status as it is.",
            own_process=True,
            other_form=SAYS_WHAT_FAILED,
        ),
        Case(
            "Many that nobody read",
            "for i in range(30):\n    y = flow._C.throw_error(flow.ones(2), 1)\n",
            own_process=True,
            other_form=SAYS_WHAT_FAILED,
        ),
        Case(
            "An interrupt while the program waits",
            "import os, signal, threading\n\n"
            "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "try:\n    flow._C.throw_error(flow.ones(2), 1500, at_call=0).numpy()\n"
            "except KeyboardInterrupt:\n    print('interrupted')\n    raise\n",
            own_process=True,
            other_form=NOT_OURS,
        ),
    ],
    "Processes and files": [
        Case(
            "A value that was still being computed when the process forked",
            "import os\n\ny = flow._C.throw_error(flow.ones(2), 1500, at_call=0)  # takes 1.5 s\n"
            "if os.fork() == 0:\n    y.numpy()\nos.wait()\ny.numpy()\n",
            "A fork waits for what is queued, but no longer than a shutdown would.",
            own_process=True,
            # Python 3.12 and newer warn of a fork beside a thread.
            environ=(
                ("ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS", "0.2"),
                ("PYTHONWARNINGS", "ignore::DeprecationWarning"),
            ),
        ),
        Case(
            "An error in a worker of a DataLoader",
            "class Broken(flow.utils.data.Dataset):\n    def __len__(self):\n        return 8\n\n"
            "    def __getitem__(self, index):\n        return flow.ones(2) + flow.ones(index)\n\n"
            "for batch in flow.utils.data.DataLoader(Broken(), batch_size=4, num_workers=1):\n"
            "    pass\n",
        ),
        Case(
            "A file that is no checkpoint",
            "import tempfile\n\nwith tempfile.NamedTemporaryFile(suffix='.bin') as file:\n"
            "    file.write(b'something else')\n    file.flush()\n    flow.load(file.name)\n",
        ),
        Case(
            "A file that is closed",
            "import io\n\nfile = io.BytesIO()\nflow.save({'x': flow.ones(2)}, file)\nfile.close()\n"
            "flow.load(file)\n",
        ),
        Case(
            "A checkpoint of another model",
            "state = flow.nn.Linear(2, 3).state_dict()\nflow.nn.Linear(2, "
            "4).load_state_dict(state)\n",
        ),
    ],
    "Bugs of ours": [
        Case(
            "An error that should be impossible",
            "flow._C.throw_error(flow.ones(2), kind='internal')\n",
            "On purpose, here. The lines name the places in C++ that it passed through.",
            other_form=SAYS_WHAT_FAILED,
        ),
        Case(
            "A library that throws inside a kernel",
            "flow._C.throw_error(flow.ones(2), kind='exception')\n",
            other_form=SAYS_WHAT_FAILED,
        ),
    ],
}

CASES = [case for cases in SECTIONS.values() for case in cases]
