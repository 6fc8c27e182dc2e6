"""Whatever text comes in, a Graph or a WorkbenchError comes out."""

from __future__ import annotations

import random
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.dialects.relay.graph import build_graph
from workbench.dialects.relay.parser import parse
from workbench.errors import WorkbenchError

PIECES = (
    *"%@(){}[],;:=?*<>-/\"'\\ \n.0#",
    *(
        "let",
        "fn",
        "if",
        "else",
        "match",
        "def",
        "type",
        "meta[relay.Constant][0]",
        "%0",
        "%x",
        "%0.1",
        "/*",
        "*/",
        "=>",
        "->",
    ),
    *("1f", "-inf", "True", "#[metadata]", "é", "\x00", "ref(", "free_var", "999999999999999999999", "1e999", '"'),
)


@lru_cache
def originals() -> tuple[str, ...]:
    """Texts that between them hold every construct of the printer."""
    fused = wb.trace(wb.samples.load("parallel_cast"), "FuseOps").end.text
    match = """#[version = "0.0.5"]
    type L[A] { C(A, L[A]), N, }
    def @main[A](%x: L[int8] /* ty=L[int8] */, %c: bool, %p: (int8, int8), Primitive=1, Composite="a.b") -> int8 {
      let %v: int8 = (let %w = 1i8; %w);
      %0 = if (%c) { ref(%v) } else if (%c) { ref(2i8) } else { ref(%p.0) };
      %1 = ref_write(%0, -1i8) /* ty=() span=a b:1:2 */;
      %2 = fn (%y {virtual_device=VirtualDevice(device_type=1)}: int8) -> int8 { add(%y, %v, axis=[1, [2]], k="s", n=None) };
      match (%x) { C(%h: int8, _) => { %2(%h) }, N => { @main(%x, %c, %p) }, _ => { ref_read(%0) }, }
    }"""
    return fused, match


def look(text: str) -> None:
    try:
        graph = build_graph(parse(text), "damaged", lambda op, dynamic: None)
    except WorkbenchError:
        return
    assert len(graph.inputs) == len(graph.nodes)
    assert all(edge.source < edge.target for edge in graph.edges)


def test_the_originals_read():
    for text in originals():
        assert build_graph(parse(text), "original", lambda op, dynamic: None).nodes


def mutated(text: str, choose: random.Random) -> str:
    for _ in range(choose.randint(1, 4)):
        at, length = choose.randrange(len(text) + 1), choose.choice((0, 0, 1, 1, 5, 40))
        put = choose.choice((choose.choice(PIECES), "", text[at : at + choose.randrange(60)]))
        text = text[:at] + put + text[at + length :]
    return text


def mutate(times: int, seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(times):
        text = mutated(choose.choice(originals()), choose)
        try:
            look(text)
        except Exception as error:
            raise AssertionError(f"{error!r} of:\n{text}") from error


def test_damaged_text():
    mutate(600, seed=1)


@pytest.mark.long
def test_much_damaged_text():
    mutate(20_000, seed=2)


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=40))
@settings(max_examples=400)
def test_garbage(text):
    look(text)
    look("def @main(%x: int8) {" + text)


@given(st.data())
def test_truncated_text(data):
    text = data.draw(st.sampled_from(originals()))
    look(text[: data.draw(st.integers(0, len(text)))])
