"""The time that received text takes grows as its length: of every regular expression of the package, and of every reader."""

from __future__ import annotations

import ast
import builtins
import gc
import importlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice, product
from pathlib import Path
from time import thread_time
from typing import Any, NamedTuple

import pytest

import workbench as wb
from workbench.analysis.patterns.text import parse as parse_pattern
from workbench.analysis.tensors import size_of
from workbench.debugging.remarks.remark import parse as parse_remarks
from workbench.dialects.relax.parser.expressions import Vocabulary
from workbench.dialects.relax.parser.source import find_program
from workbench.dialects.relay.paste.reading import read_all
from workbench.experiments.symptoms import without_numbers
from workbench.graph import received
from workbench.graph.layers import layered
from workbench.graph.model import Graph, GraphBuilder
from workbench.measurement.kernels import function_in
from workbench.target_text import target_text

if sys.version_info >= (3, 11):
    from re import _compiler as sre_compile
    from re import _parser as sre_parse
else:
    import sre_compile
    import sre_parse

PACKAGE = Path(wb.__file__).parent
CALLS = {"compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
ONE_PLACE = {"match", "fullmatch"}
"methods that try one place; the others try each"


# -- growth


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Return the least processor time of some calls."""
    found = []
    gc.disable()  # a collection takes longer than most of this work
    for _ in range(times):
        start = thread_time()
        work()
        found.append(thread_time() - start)
    gc.enable()
    return min(found)


STEPS = ((8, 20, 100), (64, 256, 30), (400, 1600, 10))
"two sizes, and the growth of the time that is too much: exponential, cubic and quadratic work are found in this order"


def grows_faster(
    work: Callable[[str], object],
    start: str,
    repeated: str,
    end: str = "",
    steps: Sequence[tuple[int, int, int]] = STEPS,
) -> bool:
    """Return whether the time of work grows faster than its text: four times the size takes over ten times as long.

    A suspicion is measured again, because other processes only add time.
    """
    for small, large, most in steps:
        texts = [start + repeated * max(1, size // len(repeated)) + end for size in (small, large)]
        if all(
            seconds(partial(work, texts[1]), times) > most * max(seconds(partial(work, texts[0]), times), 1e-6)
            for times in (1, 2, 4)
        ):
            return True
    return False


# -- patterns


class Pattern(NamedTuple):
    """A regular expression of the package, and how it is applied."""

    at: str
    text: str | bytes
    flags: int
    one_place: bool


class Names(dict[str, str]):
    """Names that a pattern takes from a function's locals; the name is as good a value as any."""

    def __init__(self, known: dict[str, Any]) -> None:
        super().__init__()
        self.known = known

    def __missing__(self, name: str) -> str:
        if name in self.known or hasattr(builtins, name):
            raise KeyError(name)
        return name


def patterns() -> Iterator[Pattern]:
    """Yield every regular expression in the source of the package, also of modules that need TVM."""
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "re." not in source:
            continue
        tree = ast.parse(source)
        found = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and is_of_re(node.func)]
        known = names_in(path) if found else {}
        for call in found:
            place = f"{path.relative_to(PACKAGE)}:{call.lineno}"
            more = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
            flags = sum(value(each, known) for each in more if ast.unparse(each).startswith("re."))
            yield Pattern(place, value(call.args[0], known), flags, uses(call, tree) <= ONE_PLACE)


def is_of_re(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and ast.unparse(function.value) == "re" and function.attr in CALLS


def names_in(path: Path) -> dict[str, Any]:
    try:
        return vars(importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)))
    except ImportError:  # it needs a TVM; its patterns are plain texts
        return {"re": re}


def value(expression: ast.expr, known: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(expression), "pattern", "eval"), known, Names(known))


def uses(call: ast.Call, tree: ast.Module) -> set[str]:
    """Return the methods by which the pattern of a call is applied in its file; `search` if they are not known."""
    function = call.func
    assert isinstance(function, ast.Attribute)
    if function.attr != "compile":
        return {function.attr}
    names = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and node.value is call
        for target in node.targets
        if isinstance(target, ast.Name) and target.id.startswith("_")
    }
    used = {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in names
    }
    mentions = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in names]
    return used if used and len(mentions) > 1 else {"search"}


ANY = " \n\t\0a0_.%@/*\"\\'()[]{}<>-:,=;|é"
REPEATS = {sre_parse.MAX_REPEAT, sre_parse.MIN_REPEAT}
CHARACTERS = {sre_parse.LITERAL, sre_parse.NOT_LITERAL, sre_parse.IN, sre_parse.ANY}
MANY = 30
"repetitions from which a repeat is attacked"


def attacks(pattern: Pattern) -> Iterator[tuple[str, str, str]]:
    """Yield beginnings, texts to repeat, and ends, from the structure of a pattern: each repeat is filled and then fails."""
    text = pattern.text if isinstance(pattern.text, str) else pattern.text.decode("latin-1")
    parsed = sre_parse.parse(text, pattern.flags)
    alphabet = representatives(parsed)
    seen = set()
    for before, body in [*repeats("", list(parsed), parsed.state, alphabet), ("", None)]:
        pumps = list(alphabet) if body is None else list(samples(body, parsed.state, alphabet))
        for pump, whole, end in product(pumps, (False, True), ("\0", "x*/\n")):
            attack = ("", before + pump, end) if whole else (before, pump, end)
            if attack[1] and attack not in seen:
                seen.add(attack)
                yield attack


def representatives(parsed: Any) -> str:
    """Return characters, one of all that the parts of a pattern treat alike, and a line break, which `^` treats apart."""
    leaves = [matcher(node, parsed.state) for node in flat(parsed)]
    letters = dict.fromkeys(ANY + "".join(chr(code) for kind, code in flat(parsed) if kind is sre_parse.LITERAL))
    alike = {tuple(bool(leaf(letter)) for leaf in leaves): letter for letter in letters}
    return "".join(dict.fromkeys([*alike.values(), "\n"]))


def flat(nodes: Any) -> Iterator[Any]:
    """Yield the parts of a parsed pattern that match one character."""
    for kind, argument in nodes:
        if kind in CHARACTERS:
            yield kind, argument
        for inner in insides(kind, argument):
            yield from flat(inner)


def matcher(node: Any, state: Any) -> Callable[[str], object]:
    flags = state.flags & (re.DOTALL | re.IGNORECASE)
    return sre_compile.compile(sre_parse.SubPattern(state, [node]), flags).fullmatch


def insides(kind: Any, argument: Any) -> list[Any]:
    """Return the sequences inside a node of a parsed pattern."""
    if kind is sre_parse.BRANCH:
        return list(argument[1])
    if kind in REPEATS:
        return [argument[2]]
    if kind is sre_parse.SUBPATTERN:
        return [argument[3]]
    if kind in (sre_parse.ASSERT, sre_parse.ASSERT_NOT):
        return [argument[1]]
    return []


def repeats(before: str, nodes: list[Any], state: Any, alphabet: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield what comes before each repeat of a sequence, and its body."""
    for place, (kind, argument) in enumerate(nodes):
        if kind in REPEATS and argument[1] >= MANY:
            yield before, list(argument[2])
            rest = [*argument[2], *nodes[place + 1 :]]
            yield before, rest[: len(argument[2]) + 1]
        for inner in insides(kind, argument):
            yield from repeats(before, list(inner), state, alphabet)
        before += sample([nodes[place]], state, alphabet)


def sample(nodes: list[Any], state: Any, alphabet: str) -> str:
    return next(samples(nodes, state, alphabet), "")


def samples(nodes: list[Any], state: Any, alphabet: str) -> Iterator[str]:
    """Yield texts that a sequence matches, a few for each node of it."""
    choices = [list(islice(of_node(node, state, alphabet), 40)) or [""] for node in nodes]
    first = [each[0] for each in choices]
    yield "".join(first)
    for place, others in enumerate(choices):
        yield from ("".join([*first[:place], other, *first[place + 1 :]]) for other in others[1:])


def of_node(node: Any, state: Any, alphabet: str) -> Iterator[str]:
    kind, argument = node
    if kind in CHARACTERS:
        yield from filter(matcher(node, state), alphabet)
    elif kind in REPEATS:
        least = max(1, min(argument[0], 50))
        yield from (each * least for each in samples(list(argument[2]), state, alphabet))
    elif kind not in (sre_parse.ASSERT, sre_parse.ASSERT_NOT):
        for inner in insides(kind, argument):
            yield from samples(list(inner), state, alphabet)


def superlinear(pattern: Pattern) -> str:
    """Return a text that a pattern takes too long for; "" for a linear one."""
    compiled = re.compile(pattern.text, pattern.flags)

    def apply(text: Any) -> None:
        if pattern.one_place:
            compiled.match(text)
            compiled.fullmatch(text)
        else:
            compiled.sub(text[:0], text)

    def encoded(text: str) -> str | bytes:
        return text if isinstance(pattern.text, str) else text.encode("latin-1", "replace")

    for start, repeated, end in attacks(pattern):
        if grows_faster(lambda text: apply(encoded(text)), start, repeated, end):
            return f"{start!r} + {repeated!r} * n + {end!r}"
    return ""


PATTERNS = list(patterns())


@pytest.mark.parametrize("pattern", PATTERNS, ids=[pattern.at for pattern in PATTERNS])
def test_pattern_is_linear(pattern: Pattern) -> None:
    assert not superlinear(pattern)


@pytest.mark.parametrize(
    ("text", "one_place"),
    [
        (r"(?m)^\s*(?:@|class\b|def\b)", False),
        (r"(?s)/\*\s*(?:ty=(?P<type>.*?))?\s*(?:\bspan=(?P<span>.*?))?\s*\*/", True),
        (r"(?m)\bdef\s+@[\w.]+[^\S\n]*(?:/\*.*?\*/\s*)?[(\[]", False),
        (r"(?s)(.*/.*):0:0", True),
        (r"\d+$", False),
        (r"\((?:a+)+\)", True),
        (rb"x[a-z]*\d", False),
    ],
)
def test_quadratic_pattern_is_found(text: str | bytes, one_place: bool) -> None:
    assert superlinear(Pattern("planted", text, 0, one_place))


# -- readers


def read_relay(text: str) -> None:
    for reading in read_all(text):
        reading.graph("main")


def read_graph(text: str) -> None:
    """Read a graph whose names, types, spans and attributes are a text, and draw it."""
    builder = GraphBuilder("g", "relay")
    data = builder.node("param", text, type=text, span=text)
    data = builder.node("op", "nn.relu", [data], type=text, name=text, span=f"{text}:0:0", attrs={"a": text})
    builder.outputs = [builder.node("op", "nn.dense", [data, data], type=text, span="a/b:0:0", scope=text)]
    graph = Graph.from_json(builder.build().to_json())
    assert layered(graph)
    assert graph.to_graphviz().source


_MAIN = "def @main(%x: Tensor[(1), float32]) {{ exp(%x, a={}) }}"
_NAMES = Vocabulary(frozenset({"R.Tensor", "R.add"}), frozenset({"R.Tensor"}))
_SCRIPT = '@R.function\ndef main(x: R.Tensor((1,), "float32")):\n    y = R.add(x, {})\n    return y\n'
READERS: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "Relay text": (read_relay, ("{}", "%0 = exp(%x){}", "def @main({}", _MAIN, f"> {_MAIN}")),
    "any text": (wb.load, ("{}", "@I.ir_module\nclass M:\n    {}")),
    "Relax text": (lambda text: find_program(text, _NAMES), ("{}", "import a\n{}", _SCRIPT)),
    "pipeline": (wb.Pipeline.parse, ("{}", "A{{a={}}}", "A{{a='{}'}}")),
    "target": (target_text, ("{}", "llvm {}", '{{"kind":"{}"}}')),
    "pattern": (parse_pattern, ("{}", "is_op('{}')(wildcard())", "wildcard().has_attr({{'a':{}}})")),
    "remarks": (
        lambda text: list(parse_remarks(text)),
        ("{}", "# tvm-workbench remarks, version 1, 1 remarks\n{}", "{{{}"),
    ),
    "JSON": (received.parse, ("{}", '["{}"]')),
    "literal": (received.literal, ("{}", "'{}'")),
    "type": (size_of, ("{}", "Tensor[({}), float32]")),
    "names of a graph": (read_graph, ("{}",)),
    "message": (lambda text: str(wb.WorkbenchError(without_numbers(text))), ("{}",)),
    "code of kernels": (lambda text: [function_in(text, form, "f") for form in ("c", "cuda", "llvm", "tir")], ("{}",)),
}
"what reads a text, and the texts around the repeated one"
UNITS = (
    "\n", " ", "a", "0", "(", "[", "{", "/*", "/* ", '"', "'", "\\", "\x00", "\x1b[", "%", "@", "-", ",", "/",
    "def @a/* ", "> %0 = ", "%0 = a(%0);\n", "free_var %a;\n", "fn (", "#[", "* ty=", "&a", "type A ", "a(", "a=1,",
    "-a=1 ", "%0 = add(%0, 1f * ty=float32 *) * net/a/add * * ty=Tensor[(3), float32] *; ", "@a\n", "class A:\n",
    "lambda ", "not ", "+1", "meta[a]", "Tensor[(", "a/b", "x y ",
)  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_reader_is_linear(name: str) -> None:
    read, frames = READERS[name]

    def work(text: str) -> None:
        with suppress(wb.WorkbenchError, received.Damaged):
            read(text)

    for frame, unit in product(frames, UNITS):
        start, end = frame.format("\0\0").split("\0\0")
        assert not grows_faster(work, start, unit, end, ((1000, 4000, 10),)), (frame, unit)


def test_quadratic_reader_is_found() -> None:
    def work(text: str) -> None:
        while text:
            text = "".join(text[1:])

    assert grows_faster(work, "", "a", "", ((1000, 4000, 10),))
