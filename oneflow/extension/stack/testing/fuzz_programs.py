"""Writes random Python programs that call `record(tag)`, and knows where each call stands."""

from __future__ import annotations

import dataclasses
import itertools
import random
import re
import sys
from collections.abc import Callable, Iterator

HEADER = "from fuzz_support import *"
_MAX_DEPTH = 4


@dataclasses.dataclass(frozen=True)
class Place:
    """A range of a program's text; columns in UTF-8 bytes from 0, lines from 1."""

    file: str
    line: int
    end_line: int
    column: int
    end_column: int


@dataclasses.dataclass
class Truth:
    """Where `record(tag)` stands, and the calls that lead to it, outermost first."""

    file: str
    text: str
    calls: tuple[tuple[str, str], ...]


@dataclasses.dataclass
class Program:
    """The texts of a program by file name, the main one first, and the truth of each tag."""

    main: str
    files: dict[str, str]
    truths: dict[int, Truth]

    def place(self, file: str, text: str) -> Place:
        """Where `text`, which occurs once but for the amount of white space, stands in `file`."""
        source = self.files[file]
        found = list(re.finditer(r"\s+".join(map(re.escape, text.split())), source))
        assert len(found) == 1, (text, source)
        line, column = _line_and_column(source, found[0].start())
        end_line, end_column = _line_and_column(source, found[0].end())
        return Place(file, line, end_line, column, end_column)


def _line_and_column(source: str, offset: int) -> tuple[int, int]:
    begin = source.rfind("\n", 0, offset) + 1
    return source.count("\n", 0, offset) + 1, len(source[begin:offset].encode())


def _indent(lines: list[str]) -> list[str]:
    return ["    " + line for text in lines for line in text.split("\n")]


class Writer:
    """One program: expressions are strings, statements lists of lines, `calls` leads to them."""

    def __init__(self, seed: int, main: str) -> None:
        self.random = random.Random(seed)
        self.main = main
        self.file = main
        self.functions: list[str] = []
        self.files: dict[str, str] = {main: ""}
        self.truths: dict[int, Truth] = {}
        self.numbers: Iterator[int] = itertools.count(1)
        self.budget = self.random.randint(4, 20)
        self.in_event_loop = False  # an event loop cannot run inside another
        self.is_warm = False  # loops that run often do not nest

    def program(self) -> Program:
        """Writes it."""
        body = self.block((), 0)
        self.files[self.main] = self.text([HEADER], body)
        return Program(self.main, self.files, self.truths)

    def text(self, head: list[str], body: list[str]) -> str:
        """The file so far: head, functions, body."""
        return "\n".join(head + self.functions + body) + "\n"

    def block(self, calls: tuple, depth: int) -> list[str]:
        """A few statements, at least one of which records."""
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            self.budget -= 1
            small = depth >= _MAX_DEPTH or self.budget < 0
            kinds = STATEMENTS_WITHOUT_BLOCK if small else STATEMENTS
            lines += self.random.choice(kinds)(self, calls, depth)
        return lines

    def record(self, calls: tuple) -> str:
        """A call of the op, in one of many spellings."""
        tag = next(self.numbers)
        spelling = self.random.choice(
            [
                "record({})",
                "record({})",
                "record( {} )",
                "record(\n  {})",
                "record(\n  {}\n)",
                "record({} + 0)",
                "record(*({},))",
                "record(int('{}',\n  10))",
                "record(*[{}],\n  **{{}})",
                "(record)({})",
            ]
        )
        text = spelling.format(tag)
        self.truths[tag] = Truth(self.file, text, calls)
        return text

    def leaf(self, calls: tuple, depth: int) -> str:
        """An expression that records, here or in a function that it calls."""
        self.budget -= 1
        if depth >= _MAX_DEPTH or self.budget < 0 or self.random.random() < 0.4:
            return self.record(calls)
        return self.random.choice(CALLS)(self, calls, depth + 1)

    def expression(self, calls: tuple, depth: int) -> str:
        """A leaf, perhaps inside something larger."""
        return self.random.choice(EXPRESSIONS)(self, calls, depth)

    def define(self, kind: str, name: str, body: list[str]) -> None:
        """Adds a function of one argument to the file."""
        empty = [""] * self.random.choice([0, 0, 0, 1, 3, 130, 300])
        self.functions += [*empty, f"{kind} {name}(site):", *_indent(body)]


Calls = tuple[tuple[str, str], ...]
Expression = Callable[[Writer, Calls, int], str]
Statement = Callable[[Writer, Calls, int], list[str]]


# ---- calls: an expression that reaches new code


def _call(w: Writer, calls: Calls, depth: int, kind: str, outer: str, tail: list[str]) -> str:
    number = next(w.numbers)
    text = outer.format(f"f{number}(site={number})")
    w.define(kind, f"f{number}", w.block((*calls, (w.file, text)), depth) + tail)
    return text


def function(w: Writer, calls: Calls, depth: int) -> str:
    return _call(w, calls, depth, "def", "{}", ["return site"])


def partially(w: Writer, calls: Calls, depth: int) -> str:
    number = next(w.numbers)
    text = f"partial(f{number},\n site={number})()"
    w.define("def", f"f{number}", [*w.block((*calls, (w.file, text)), depth), "return site"])
    return text


def decorated(w: Writer, calls: Calls, depth: int) -> str:
    return _call(w, calls, depth, "@decorated\ndef", "{}", ["return site"])


def generator(w: Writer, calls: Calls, depth: int) -> str:
    outer = w.random.choice(
        ["list({})", "sum({})", "max({},\n  default=0)", "next({})", "{}.send(None)"]
    )
    text = _call(w, calls, depth, "def", outer, ["yield site"])
    return f"len({text})" if outer == "list({})" else text


def closed(w: Writer, calls: Calls, depth: int) -> str:
    number = next(w.numbers)
    caught, outer = w.random.choice(
        [
            ("except ValueError:", "g{0}.throw(ValueError())"),
            ("finally:", "g{0}.close()"),
            ("except GeneratorExit:", "g{0}.close()"),
        ]
    )
    text = outer.format(number)
    body = w.block((*calls, (w.file, text)), depth)
    tail = ["yield site"] if "throw" in outer else []
    w.define("def", f"f{number}", ["try:", "    yield 1", caught, *_indent(body), *tail])
    return f"(lambda g{number}: len([next(g{number}), {text}]))(f{number}(site=0))"


def delegating(w: Writer, calls: Calls, depth: int) -> str:
    number = next(w.numbers)
    text, inner = f"list(g{number}(site={number}))", f"yield from f{number}(site=0)"
    w.define("def", f"g{number}", [inner])
    reached = (*calls, (w.file, text), (w.file, inner))
    w.define("def", f"f{number}", ["yield 0", *w.block(reached, depth), "yield site"])
    return f"len({text})"


def coroutine(w: Writer, calls: Calls, depth: int) -> str:
    in_loop = not w.in_event_loop and w.random.random() < 0.1
    number = next(w.numbers)
    start = f"g{number}(site={number})"
    text, inner = (
        f"run_asyncio({start})" if in_loop else f"run({start})",
        f"await f{number}(site=0)",
    )
    w.define("async def", f"g{number}", [inner, "return site"])
    outside, w.in_event_loop = w.in_event_loop, w.in_event_loop or in_loop
    body = w.block((*calls, (w.file, text), (w.file, inner)), depth)
    w.in_event_loop = outside
    suspended = ["await Later()"] if w.random.random() < 0.5 else []
    w.define("async def", f"f{number}", [*suspended, *body, "return site"])
    return text


def async_comprehension(w: Writer, calls: Calls, depth: int) -> str:
    number = next(w.numbers)
    text = f"run(g{number}(site={number}))"
    w.define("async def", f"f{number}", [*w.block((*calls, (w.file, text)), depth), "yield site"])
    w.define("async def", f"g{number}", [f"return len([x async for x in f{number}(site)])"])
    return text


def async_forms(w: Writer, calls: Calls, depth: int) -> str:
    number = next(w.numbers)
    text = f"run(f{number}(site={number}))"
    head = w.random.choice(["async with Later() as c:", "async for c in Later():"])
    body = _indent(w.block((*calls, (w.file, text)), depth))
    w.define("async def", f"f{number}", [head, *body, "return site"])
    return text


def gathered(w: Writer, calls: Calls, depth: int) -> str:
    if w.in_event_loop:
        return async_forms(w, calls, depth)
    number = next(w.numbers)
    w.in_event_loop = True
    body = ["await Later()", *w.block((), depth), "await Later()", *w.block((), depth)]
    w.in_event_loop = False
    w.define("async def", f"f{number}", [*body, "return site"])
    return f"gathered(f{number}, {number})"


def threads(w: Writer, calls: Calls, depth: int) -> str:
    number = next(w.numbers)
    outside = w.in_event_loop, w.is_warm
    # One thread's turns that do not count would silence the other's.
    w.in_event_loop, w.is_warm = w.is_warm, True
    w.define("def", f"f{number}", [*w.block((), depth), "return site"])
    w.in_event_loop, w.is_warm = outside
    return f"{w.random.choice(['spawn', 'pooled'])}(f{number}, {number})"


def observed(w: Writer, calls: Calls, depth: int) -> str:
    number = next(w.numbers)
    install = w.random.choice(["settrace", "setprofile"])
    text = f"observed({install!r}, f{number}, {number})"
    w.define("def", f"f{number}", [*w.block((*calls, (w.file, text)), depth), "return site"])
    return text


def recursion(w: Writer, calls: Calls, depth: int) -> str:
    number = next(w.numbers)
    text, again = f"f{number}(site={number})", f"f{number}(site - 1)"
    reached = (*calls, (w.file, text), (w.file, again), (w.file, again))
    end = [f"if site > {number - 2}:", f"    return {again}"]
    w.define("def", f"f{number}", [*end, *w.block(reached, depth), "return site"])
    return text


def closure(w: Writer, calls: Calls, depth: int) -> str:
    number = next(w.numbers)
    text, inner = f"f{number}(site={number})", f"inner{number}()"
    body = w.block((*calls, (w.file, text), (w.file, inner)), depth)
    nested = ["kept = site", f"def inner{number}(default=0):", *_indent([*body, "return kept"])]
    w.define("def", f"f{number}", [*nested, f"return {inner}"])
    return text


def method(w: Writer, calls: Calls, depth: int) -> str:
    number = next(w.numbers)
    head, text = w.random.choice(
        [
            ("def m(self, site):", f"K{number}().m({number})"),
            ("def __call__(self, site):", f"K{number}()({number})"),
            ("def __add__(self, site):", f"K{number}() + {number}"),
            ("def __getitem__(self, site):", f"K{number}()[{number}]"),
            ("def __contains__(self, site):", f"{number} in K{number}()"),
            ("def __init__(self):", f"K{number}()"),
            ("def __getattr__(self, name):", f"K{number}().missing"),
            ("def __len__(self):", f"len(K{number}())"),
            ("def __bool__(self):", f"bool(K{number}())"),
            ("def __lt__(self, site):", f"K{number}() < {number}"),
            ("def __radd__(self, site):", f"{number} + K{number}()"),
            ("def __matmul__(self, site):", f"K{number}()\n @ {number}"),
            ("def __neg__(self):", f"- K{number}()"),
            ("def __index__(self):", f"[7][K{number}()]"),
            ("def __hash__(self):", f"hash(K{number}())"),
            ("@property\ndef p(self):", f"K{number}().p"),
            ("@staticmethod\ndef s(site):", f"K{number}.s({number})"),
            ("@classmethod\ndef c(cls, site):", f"K{number}.c(site={number})"),
        ]
    )
    body = w.block((*calls, (w.file, text)), depth)
    last = "pass" if "__init__" in head else "return False" if "bool" in head else "return 0"
    w.functions += [f"class K{number}:", *_indent([head, *_indent([*body, last])])]
    return f"({text})"


def executed(w: Writer, calls: Calls, depth: int) -> str:
    name = f"<exec {next(w.numbers)} of {w.main}>"
    outside, w.functions, w.file = (w.functions, w.file), [], name
    if w.random.random() < 0.5:
        mode, w.files[name] = "exec", w.text([HEADER], w.block(calls, depth))
    else:
        mode, w.files[name] = "eval", f"({w.expression(calls, _MAX_DEPTH)})"
    w.functions, w.file = outside
    # In a dict of its own, or in ours, where it finds our names.
    names = w.random.choice(["dict(globals())", "globals()"])
    return f"bool({mode}(compiled({name!r}, {mode!r}), {names}))"


CALLS: list[Expression] = [
    function,
    function,
    partially,
    decorated,
    generator,
    closed,
    delegating,
    coroutine,
    async_comprehension,
    async_forms,
    gathered,
    threads,
    observed,
    recursion,
    closure,
    method,
    method,
    executed,
]


# ---- expressions around a leaf


def wrapped(pattern: str) -> Expression:
    """An expression with a leaf in place of each `{}`."""

    def make(w: Writer, calls: Calls, depth: int) -> str:
        return pattern.format(*(w.leaf(calls, depth) for _ in range(pattern.count("{}"))))

    return make


# Below `not` and in conditions only calls: a compiler may join what else stands there with `not` or
# the jump, and then gives it their position.
EXPRESSIONS: list[Expression] = [
    wrapped("{}"),
    wrapped("{}"),
    wrapped("({}, {})"),
    wrapped("str({}) + str({}) + str({})"),
    wrapped("[{} for _ in range(2)]"),
    wrapped("{{{} for _ in 'ab'}}"),
    wrapped("{{k: {} for k in range(2)}}"),
    wrapped("max(int(bool({})) for _ in (0, 1))"),
    wrapped("(lambda: {})()"),
    wrapped("(lambda *a, b=1: {})(1, 2, b=3)"),
    wrapped("list(map(lambda _: {}, range(2)))"),
    wrapped("sorted((1, 2), key=lambda _: bool({}))"),
    wrapped("({} if {} else {})"),
    wrapped("(value := {})"),
    wrapped("dict(a={},\n  b={})"),
    wrapped("['äöü', '表', '😀', {}]"),
    wrapped("print(end='', *[str({})[:0]])"),
    wrapped("({} and\n {})"),
    wrapped("(" + " " * 140 + "{})"),
    wrapped("[0, {},\n  1, {}]"),
    wrapped("[[{} for _ in 'a'] for _ in range(2)]"),
    wrapped("(lambda: [y for _ in (1,) if (y := {})])()"),
    wrapped("{{**{{'k': {}}}, 'l': {}}}"),
    wrapped("(lambda f: f())(lambda: {})"),
    wrapped("(lambda a={}: a)()"),
    wrapped("(0 <= bool({}) <= bool({}) + 1)"),
    wrapped("[1, 2, 3][: bool({})]"),
    wrapped("max(*[bool({}), 0])"),
    wrapped("(not bool({}))"),
    wrapped("('a'\n 'b' + str({}))"),
    wrapped("re.sub('.', lambda m: str({}), 'ab')"),
    wrapped("reduce(lambda a, b: {}, (1, 2, 3))"),
    wrapped("[*filter(lambda _: bool({}), (1,))]"),
    wrapped("any(bool({}) for _ in (1,) if bool({}) + 1)"),
    wrapped("[print(end=''), {}][1]"),
]
if sys.version_info >= (3, 12):  # before, positions inside f-strings were not those of the text
    EXPRESSIONS += [wrapped("f'ü{{{}}}'")]


# ---- statements


def plain(w: Writer, calls: Calls, depth: int) -> list[str]:
    return [w.expression(calls, depth)]


def lines_of_one_frame(w: Writer, calls: Calls, depth: int) -> list[str]:
    return [w.record(calls) for _ in range(w.random.randint(2, 4))]


def one_line(w: Writer, calls: Calls, depth: int) -> list[str]:
    return [f"word = 'grün 表'; {w.record(calls)}; {w.record(calls)}"]


def assignment(w: Writer, calls: Calls, depth: int) -> list[str]:
    return [f"größe = {w.expression(calls, depth)}"]


def for_loop(w: Writer, calls: Calls, depth: int) -> list[str]:
    return ["for i in range(2):", *_indent(w.block(calls, depth + 1))]


def while_loop(w: Writer, calls: Calls, depth: int) -> list[str]:
    return [f"while {w.expression(calls, depth)}:", *_indent([*w.block(calls, depth + 1), "break"])]


def condition(w: Writer, calls: Calls, depth: int) -> list[str]:
    then, other = _indent(w.block(calls, depth + 1)), _indent(w.block(calls, depth + 1))
    return [f"if {w.expression(calls, depth)}:", *then, "else:", *other]


def failing(w: Writer, calls: Calls, depth: int) -> list[str]:
    tried = [w.expression(calls, depth), "1 // 0"]
    caught, last = _indent(w.block(calls, depth + 1)), _indent(w.block(calls, depth + 1))
    return ["try:", *_indent(tried), "except ZeroDivisionError as e:", *caught, "finally:", *last]


def context(w: Writer, calls: Calls, depth: int) -> list[str]:
    number = next(w.numbers)
    enter, leave = w.record(calls), w.record(calls)
    methods = ["def __enter__(self):", *_indent([enter])]
    methods += ["def __exit__(self, *e):", *_indent([leave, "return True"])]
    w.functions += [f"class K{number}:", *_indent(methods)]
    return [f"with K{number}() as c:", *_indent([*w.block(calls, depth + 1), "1 // 0"])]


def match(w: Writer, calls: Calls, depth: int) -> list[str]:
    body = _indent(["case int(n) if n >= 0:", *_indent(w.block(calls, depth + 1))])
    return [f"match {w.record(calls)}:", *body]


def class_body(w: Writer, calls: Calls, depth: int) -> list[str]:
    return [f"class C{next(w.numbers)}:", *_indent(w.block(calls, depth + 1))]


def local_function(w: Writer, calls: Calls, depth: int) -> list[str]:
    name = f"local{next(w.numbers)}"
    default = w.record(calls)
    return [f"def {name}(a={default}):", *_indent(w.block(calls, depth + 1)), f"{name}()"]


def asserted(w: Writer, calls: Calls, depth: int) -> list[str]:
    return [f"assert {w.record(calls)} >= 0, 'no'"]


def warm_loop(w: Writer, calls: Calls, depth: int) -> list[str]:
    if w.is_warm:
        return for_loop(w, calls, depth)
    outside = w.is_warm, w.in_event_loop
    w.is_warm = w.in_event_loop = True  # event loops would take long
    body = _indent(w.block(calls, depth + 1))
    w.is_warm, w.in_event_loop = outside
    return ["for turn in warm():", *body]


def continued(w: Writer, calls: Calls, depth: int) -> list[str]:
    return [f"value = 0 or \\\n  {w.expression(calls, depth)}"]


def loop_else(w: Writer, calls: Calls, depth: int) -> list[str]:
    other = _indent(w.block(calls, depth + 1))
    return [f"for i in ({w.record(calls)}, 1):", "    continue", "else:", *other]


def two_contexts(w: Writer, calls: Calls, depth: int) -> list[str]:
    number = next(w.numbers)
    enter = ["def __enter__(self):", *_indent([w.record(calls)])]
    leave = ["def __exit__(self, *e):", *_indent([w.record(calls)])]
    w.functions += [f"class K{number}:", *_indent([*enter, *leave])]
    head = f"with (K{number}() as a,\n  K{number}() as b):"
    return [head, *_indent(w.block(calls, depth + 1))]


def finalizer(w: Writer, calls: Calls, depth: int) -> list[str]:
    number = next(w.numbers)
    body = w.block((), depth + 1)  # who drops the last reference is not said
    w.functions += [f"class K{number}:", *_indent(["def __del__(self):", *_indent(body)])]
    return [f"K{number}()"]


def subclassed(w: Writer, calls: Calls, depth: int) -> list[str]:
    number = next(w.numbers)
    body = ["def __init_subclass__(cls, **k):", *_indent(w.block((), depth + 1))]
    w.functions += [f"class K{number}:", *_indent(body)]
    keyword = w.record(calls)
    return [f"class C{number}(K{number}, key={keyword}):", "    pass"]


def decorator(w: Writer, calls: Calls, depth: int) -> list[str]:
    name = f"local{next(w.numbers)}"
    first, second, annotation = w.record(calls), w.record(calls), w.record(calls)
    head = [f"@passing({first})", f"@passing({second})", f"def {name}(a: {annotation} = 0):"]
    return [*head, *_indent(w.block(calls, depth + 1)), f"{name}()"]


def group(w: Writer, calls: Calls, depth: int) -> list[str]:
    body = _indent(w.block(calls, depth + 1))
    raised = "    raise ExceptionGroup('g', [ValueError(), KeyError()])"
    return ["try:", raised, "except* ValueError:", *body, "except* KeyError:", "    pass"]


def type_alias(w: Writer, calls: Calls, depth: int) -> list[str]:
    number = next(w.numbers)
    read = f"T{number}.__value__"
    value = w.leaf((*calls, (w.file, read)), _MAX_DEPTH)
    return [f"type T{number} = (1, {value})", f"value = {read}"]  # evaluated when it is first read


STATEMENTS_WITHOUT_BLOCK: list[Statement] = [
    plain,
    plain,
    continued,
    lines_of_one_frame,
    one_line,
    assignment,
    asserted,
]
STATEMENTS: list[Statement] = [
    *STATEMENTS_WITHOUT_BLOCK,
    for_loop,
    while_loop,
    condition,
    failing,
    context,
    match,
    class_body,
    local_function,
    warm_loop,
    warm_loop,
    loop_else,
    two_contexts,
    finalizer,
    subclassed,
    decorator,
]
if sys.version_info >= (3, 11):
    STATEMENTS += [group]
if sys.version_info >= (3, 12):
    STATEMENTS += [type_alias]
