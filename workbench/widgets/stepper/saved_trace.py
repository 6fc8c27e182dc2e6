"""The answers to a page's requests, in the file of a saved page.

Each answer is the message that `States.message` sends to a live page, so that both pages show the same: the page unpacks it and
derives nothing. The answers are packed in chunks, and the page unpacks a chunk on its first use.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise, permutations

from workbench.errors import WorkbenchError
from workbench.pipeline.step import Transition
from workbench.widgets.page_types import LostMessage, Place, SavedTrace
from workbench.widgets.saved_page import to_json
from workbench.widgets.stepper.trace_states import WHOLE, States, Wish

CHUNK = 200_000
"characters of JSON in a chunk; a larger answer has a chunk of its own"
PAIR_NODES = 160_000
"most nodes in the differences of all pairs of states: those of bert-12 take 9 s"
CODE_STEPS = 70
"most steps with code for all pairs: 5,000 short texts"
PLACES = 400_000
"most places of all lineages: about 3 s"
ABSENT = {
    "diff": "This saved page has no difference of these two states: the trace is too large for all pairs. "
    "Pin the two steps in the notebook and save the page again.",
    "code": "# This saved page has no code for these two steps: the trace has too many. stepper.compare(a, b) compares them.",
    "lineage": "This saved page has no histories of nodes: the trace is too large. Open it in a notebook to follow a node.",
}
"the answers to requests that a saved page cannot hold"


def saved_trace(states: States, shown: tuple[int, int]) -> SavedTrace:
    """Return the answers that a page needs for a trace; `shown` are the two states on the page."""
    chunks: list[str] = []
    places: dict[str, int] = {}
    for chunk in _chunked(_answers(states, shown)):
        places.update(dict.fromkeys(chunk, len(chunks)))
        text = "{" + ",".join(f'"{key}":{value}' for key, value in chunk.items()) + "}"
        packed = gzip.compress(text.encode(errors="replace"), mtime=0)
        chunks.append(base64.b64encode(packed).decode())
    return {"chunks": chunks, "places": places, "absent": ABSENT}


def _chunked(answers: Iterable[tuple[str, str]]) -> Iterator[Mapping[str, str]]:
    chunk: dict[str, str] = {}
    size = 0
    for key, text in answers:
        if size + len(text) > CHUNK and chunk:
            yield chunk
            chunk, size = {}, 0
        chunk[key] = text
        size += len(text)
    yield chunk


def _answers(states: States, shown: tuple[int, int]) -> Iterator[tuple[str, str]]:
    """Yield keys and JSON, what the page asks for first at the start."""
    numbers = range(len(states))
    steps = _distinct((states.pair(WHOLE), *states.of_step))
    pairs = _distinct((*steps, shown, *pairwise(numbers), *_all_pairs(states)))
    wishes: list[Wish] = [("facts", n) for n in numbers]
    wishes += [("counts", *pair) for pair in steps]
    wishes += [("state", n) for n in numbers]
    wishes += [("diff", *pair) for pair in pairs]
    wishes += [("text", n) for n in numbers]
    steps_and_start = range(WHOLE, len(states.of_step))
    wishes += [("code", step) for step in steps_and_start]
    wishes += (
        [("code", *pair) for pair in permutations(steps_and_start, 2)] if len(states.of_step) <= CODE_STEPS else []
    )
    for wish in wishes:
        yield ",".join(map(str, wish)), to_json(_answer(states, wish))
    for key, value in _lineages(states):
        yield key, to_json(value)


def _distinct(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    return [pair for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]


def _answer(states: States, wish: Wish) -> object:
    """Return the answer, or the reason why it cannot be had: the other states are still of use."""
    try:
        return states.message(wish)
    except WorkbenchError as error:
        lost: LostMessage = {"type": "lost", "wish": list(wish), "text": str(error)}
        return lost


def _all_pairs(states: States) -> list[tuple[int, int]]:
    """Return the pairs of states that can be pinned, the earlier one first; [] if they are too many."""
    pairs = list(combinations(sorted({0, *(after for _, after in states.of_step)}), 2))
    try:
        nodes = sum(len(states.graph(state).nodes) for pair in pairs for state in pair)
    except WorkbenchError:
        return []
    return pairs if nodes <= PAIR_NODES else []


def _lineages(states: States) -> Iterator[tuple[str, list[int] | list[Place]]]:
    """Yield for each state the number of each node's lineage, and each distinct lineage once.

    Two nodes of neighbouring states have one lineage if each is the only image of the other, with the same certainty: the walk
    from either passes through the other. Most nodes of a trace do, so that there are about as many lineages as nodes of one state.
    """
    numbers_of: dict[int, list[int]] = {}
    firsts: list[tuple[int, int]] = []
    carried: dict[int, int] = {}
    try:
        for state, step in zip(states.visited, (*states.trace.transitions, None), strict=True):
            numbers = [carried.get(node, -1) for node in range(len(states.graph(state).nodes))]
            # a state that comes again is followed from its first place
            if state not in numbers_of:
                for node, number in enumerate(numbers):
                    if number < 0:
                        numbers[node] = len(firsts)
                        firsts.append((state, node))
                numbers_of[state] = numbers
            carried = {} if step is None else _carried(step, numbers)
    except WorkbenchError:
        return
    if len(firsts) * len(states.visited) > PLACES:
        return
    for state, numbers in numbers_of.items():
        yield f"lineages,{state}", numbers
    for number, (state, node) in enumerate(firsts):
        yield f"lineage,{number}", states.lineage(state, node)["places"]


def _carried(step: Transition, numbers: Sequence[int]) -> dict[int, int]:
    """Return the lineages that go on to the next state, by node there."""
    found: dict[int, int] = {}
    for node, number in enumerate(numbers):
        images = step.forward.of(node)
        if len(images) != 1 or number < 0:
            continue
        ((image, sure),) = images
        if step.backward.of(image) == ((node, sure),):
            found[image] = number
    return found
