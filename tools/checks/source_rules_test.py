"""Each rule finds a planted fault, and lets good text pass."""

from __future__ import annotations

import pytest

from tools.checks import source_rules, workspace

ROOT = workspace.root()
RULES = source_rules.all_rules((ROOT / "tools/checks/forbidden.txt").read_text())
GUARD = "#ifndef ONEFLOW_VM_X_H_\n#define ONEFLOW_VM_X_H_\n"


def problems(path: str, text: str) -> list[str]:
    return [problem for rule in RULES for problem in rule(path, text)]


# Put together, so that this file and what searches it do not find each other.
MARK, SKIP, DISABLED = "TO" + "DO", "pytest.mark." + "skip", "DISABLED" + "_B"
REGISTRY, HOME = ".".join(("pypi", "org")), "/".join(("", "root", "x"))
LONG_FUNCTION = "def f() -> None:\n" + "    x = 1\n" * 60
PLANTED = [
    ("python/x.py", "x = 1\n" * 601, "601 lines"),
    ("python/x.py", LONG_FUNCTION, "f has 61 lines"),
    ("oneflow/vm/x.h", "#pragma once\n", "no guard ONEFLOW_VM_X_H_"),
    ("oneflow/vm/README.md", "x\n" * 21, "21 lines"),
    ("oneflow/a/b/c/d/x.cc", "int x;\n", "4 folders"),
    ("oneflow/api/python/x.cc", "auto s = PyGILState_Ensure();", "gil.h"),
    ("oneflow/api/python/x.cc", "py::gil_scoped_release r;", "gil.h"),
    ("oneflow/vm/x.cc", 'void f() { throw Error("x"); }', "Maybe<T>"),
    ("oneflow/vm/x.cc", "#ifdef ONEFLOW_CUDA\n#endif\n", "belongs in device/"),
    ("python/x.py", f"# {MARK}: later\n", MARK),
    ("python/tests/test_x.py", f"@{SKIP}\ndef f() -> None: ...\n", "proves nothing"),
    ("oneflow/vm/x_test.cc", f"TEST(A, {DISABLED}) {{}}", "proves nothing"),
    ("docs/x.md", f"pip install --index-url https://{REGISTRY}/simple x", "registries"),
    ("docs/x.md", f"cd {HOME}", "one machine"),
]
ENDS = [
    *("abort();", "::abort();", "std::abort();", "exit(1);", "std::exit(1);", "_exit(1);"),
    *("::_exit(1);", "_Exit(1);", "std::quick_exit(1);", "std::terminate();", "raise(SIGABRT);"),
    *("std::raise(6);", "kill(getpid(), 9);", "pthread_exit(nullptr);", "__builtin_trap();"),
    *(
        "assert(x > 0);",
        "Py_FatalError(m);",
        "Py_Exit(1);",
        "auto f = &std::abort;",
        "tgkill(p, t, 6);",
    ),
]
PLANTED += [
    (path, f"void f() {{ {call} }}", "may end the process")
    for call in ENDS
    for path in ("oneflow/vm/x.cc", "oneflow/lifetime/late_exit.cc", "oneflow/kernels/cuda/x.cu")
]
PLANTED += [
    ("oneflow/vm/x.cc", "#include <cassert>\n", "may end the process"),
    ("third_party/x.h", "inline void f() { exit(1); }", "may end the process"),
]
PYTHON_ENDS = [
    *("os._exit(1)", "os.abort()", "os.kill(os.getpid(), 9)", "sys.exit(1)", "raise SystemExit"),
    *("from os import _exit", "signal.raise_signal(6)", "exit(1)", "quit()"),
]
PLANTED += [("python/oneflow/x.py", call, "does not end the program") for call in PYTHON_ENDS]


@pytest.mark.parametrize(("path", "text", "expected"), PLANTED)
def test_finds_a_planted_fault(path: str, text: str, expected: str) -> None:
    found = problems(path, text)
    assert len(found) == 1, found
    assert expected in found[0]


GOOD = [
    ("third_party/python/requirements.lock", "x==1\n" * 1000),
    ("oneflow/vm/x.h", GUARD + '// never calls abort()\nconst char* k = "exit(1)";\n#endif\n'),
    ("oneflow/vm/x.cc", "void f(Queue* queue) { queue->exit(); AtExit(g); on_exit_(1); }"),
    ("oneflow/vm/x.cc", "void f() { static_assert(true); worker.kill(); my::raise_all(); }"),
    ("oneflow/lifetime/end_process.cc", "void f() { ::_exit(1); }"),
    ("oneflow/vm/x_test.cc", "void f() { ::_exit(1); }"),
    ("python/oneflow/x.py", "process.kill(); on_exit(1); atexit.register(f)"),
    ("python/oneflow/utils/data/_worker.py", "os._exit(0)"),
    ("python/tests/test_x.py", "sys.exit(1)"),
    ("oneflow/api/python/gil.cc", "PyThreadState* s = PyEval_SaveThread();"),
    ("oneflow/api/python/x.cc", "void f() { throw Error(); }"),
    ("oneflow/device/cuda/x.cc", "#ifdef ONEFLOW_CUDA\n#endif\n"),
]


@pytest.mark.parametrize(("path", "text"), GOOD)
def test_lets_good_text_pass(path: str, text: str) -> None:
    assert problems(path, text) == []


def test_each_folder_has_a_readme() -> None:
    paths = ["oneflow/vm/README.md", "oneflow/vm/x.h", "python/x/y.py", "oneflow/vm/a/x.h"]
    assert list(source_rules.folders_without_readme(paths)) == ["oneflow/vm/a: has no README.md"]


@pytest.mark.parametrize(
    ("text", "calls"), [("::_exit(1);", 1), ("_exit(1); _exit(2);", 2), ("// _exit(1);", 0)]
)
def test_the_process_ends_in_one_place(text: str, calls: int) -> None:
    found = list(source_rules.process_ends({source_rules.PROCESS_END: text}))
    assert [f" {calls} calls" in problem for problem in found] == ([] if calls == 1 else [True])
    assert len(list(source_rules.process_ends({}))) == 1


def test_lines_are_counted_through_comments() -> None:
    found = problems("oneflow/vm/x.cc", "/* a\n b */ // c\nvoid f() { abort(); }\n")
    assert found[0].startswith("oneflow/vm/x.cc:3:")
