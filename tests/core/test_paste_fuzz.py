"""Whatever is done to a paste, graphs or a WorkbenchError come of it, and soon."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pastes import MODULES, paste

from workbench.dialects.relay.paste.reading import is_relay, read_all
from workbench.errors import WorkbenchError

SECONDS = 5.0
"of CPU for texts of a few thousand characters, which take milliseconds: only what hangs takes as long"
PRINTED = """#[version = "0.0.5"]
type L[A] { C(A, L[A]), N, }
def @main[A](%x: L[int8] /* ty=L[int8] */, %c: bool, %p: (int8, int8), Primitive=1, Composite="a.b") -> int8 {
  let %v: int8 = (let %w = 1i8; %w);
  %0 = if (%c) { ref(%v) } else if (%c) { ref(2i8) } else { ref(%p.0) };
  %1 = ref_write(%0, -1i8) /* ty=() span=a b:1:2 */;
  %2 = fn (%y {virtual_device=VirtualDevice(device_type=1)}: int8) -> int8 { add(%y, %v, axis=[1, [2]], k="s", n=None) };
  match (%x) { C(%h: int8, _) => { %2(%h) }, N => { @main(%x, %c, %p) }, _ => { ref_read(%0) }, }
}
"""
ORIGINALS = [PRINTED, *map(paste, MODULES)]
PIECES = st.sampled_from(
    [
        *"%@(){}[],;:=?*<>-/\"'\\ \n\t.0#|$&\u201c\u2013\u00a0\u200b",
        *("let ", "fn (", "if (", "match (", "def @", "def @main(", "type ", "free_var %", "%0", "%x = ", "%1 = ", "%0.1"),
        *("/*", "*/", "* ty=int8 *", "=>", "->", "&gt;", "...", ">>> ", "\n12: ", "#[metadata]", "#[version", "<br/>"),
        *("meta[relay.Constant][0]", "1f", "-inf", "True", "\x00", "\ud800", "999999999999999999999", "1e999", "add(%0, ", "```"),
    ]
)  # fmt: skip
EDITS = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.sampled_from((0, 0, 1, 1, 3, 40)), st.just("") | PIECES | st.text(max_size=3)),
    min_size=1,
    max_size=5,
)  # fmt: skip
MUTATIONS = st.tuples(st.sampled_from(ORIGINALS), EDITS)


def mutated(original: str, edits: list[tuple[float, int, str]]) -> str:
    text = original
    for place, length, put in edits:
        at = int(place * len(text))
        text = text[:at] + put + text[at + length :]
    return text


def outcome(text: str, seen: Counter) -> None:
    started = time.process_time()
    is_relay(text)
    try:
        for reading in read_all(text):
            graph = reading.graph("fuzzed")
            assert len(graph.inputs) == len(graph.nodes)
            assert all(edge.source < edge.target for edge in graph.edges)
            assert graph.nodes
        seen["a graph, repaired" if reading.repairs else "a graph"] += 1
    except WorkbenchError:
        seen["an error"] += 1
    seconds = time.process_time() - started
    assert seconds < SECONDS
    seen["slowest, ms"] = max(seen["slowest, ms"], round(seconds * 1e3))


def test_the_originals_read():
    assert all(reading.graph("x").nodes for text in ORIGINALS for reading in read_all(text))


def test_mutations_of_pastes(tell):
    """tests/fuzz has more of them, in a process that is watched."""
    seen: Counter = Counter()

    @settings(max_examples=300)
    @given(MUTATIONS)
    def run(mutation):
        outcome(mutated(*mutation), seen)

    run()
    assert seen["an error"]
    assert seen["a graph, repaired"]
    tell(f"300 mutations of pastes: {dict(seen)}")


HOSTILE = {
    "comments": "/* " * 10_000,
    "closed comments": "/* x */" * 5_000,
    "quotes": '"\\"' * 10_000,
    "backslashes": '\\"' * 16_666,
    "digits": "1" * 33_333 + "x",
    "types": "* ty=" * 6_666,
    "versions": "#[" * 16_666,
    "entities": "&amp" * 6_666,
    "tags": "<b " * 10_000,
    "functions": "fn (%x: int8) { " * 2_000,
    "definitions": "def @a() { " * 3_000,
    "many functions": "".join(f"def @f{i}() {{ 1 }}\n" for i in range(1_500)),
    "a chain of functions": "".join(f"def @f{i}() {{ @f{i + 1}() }} then\n" for i in range(1_000)),
    "many modules": "%1 = a(%x)\n" * 2_666,
    "free variables": "".join(f"%{i} = add(%x{i}, %y{i});\n" for i in range(1_166)),
    "unused values": "".join(f"%{i} = exp(%x);\n" for i in range(2_000)),
    "remarks": "".join(f"%{i + 1} = exp(%{i});\n...\n" for i in range(1_500)),
    "calls": "%0 = " + "add(" * 6_666,
    "tuples": "%0 = (" + "%1, " * 8_333,
    "lists": "%0 = a(b=" + "[" * 30_000,
    "objects": "%0 = a(b=F(" + "(" * 30_000,
    "spaces": " " * 33_333,
    "lines": "\n" * 33_333,
    "bars": "\n| | |" * 5_000,
    "numbers": "1 " * 16_666,
    "an open type": "* ty=Tensor[(1," + " " * 33_333,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_text_that_repeats_what_is_never_closed_ends_soon(kind):
    outcome(HOSTILE[kind], Counter())
