"""The saved page of a real build gives the answers of the live one: for every node, state and pair of states."""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from widgets.saved import saved_answers

import workbench as wb
from workbench.widgets.saved_page import to_json
from workbench.widgets.stepper.trace_states import States

pytestmark = pytest.mark.one_dialect


@cache
def built(dialect: str) -> wb.PassStepper:
    return wb.PassStepper(wb.trace_build(wb.samples.load("conv_bias_batch_norm", dialect=dialect)))


@pytest.fixture
def stepper(dialect: str) -> wb.PassStepper:
    return built(dialect)


@pytest.fixture
def answers(stepper: wb.PassStepper, tmp_path: Path) -> dict[str, Any]:
    return saved_answers(stepper.save(tmp_path / "x.html"))


def test_lineage_of_every_node(stepper: wb.PassStepper, answers: dict[str, Any]) -> None:
    states = States(stepper.trace)
    certainties: set[str] = set()
    for state in range(len(states)):
        numbers = answers[f"lineages,{state}"]
        assert len(numbers) == len(states.graph(state).nodes)
        for node, number in enumerate(numbers):
            places = states.lineage(state, node)["places"]
            assert answers[f"lineage,{number}"] == places, f"state {state}, node {node}"
            certainties.update(place["sure"] for place in places)
    # links by span or place are the ones that a page once derived on its own, and wrongly
    assert certainties & {"span", "place"}


def test_every_pair_of_states_that_can_be_pinned(stepper: wb.PassStepper, answers: dict[str, Any]) -> None:
    states = States(stepper.trace)
    pinnable = sorted({0, *(after for _, after in states.of_step)})
    assert len(pinnable) > 4
    for pair in combinations(pinnable, 2):
        assert answers["diff,{},{}".format(*pair)] == json.loads(to_json(states.message(("diff", *pair))))


def test_every_state_and_text(stepper: wb.PassStepper, answers: dict[str, Any]) -> None:
    states = States(stepper.trace)
    for wish in [(kind, n) for kind in ("state", "facts", "text") for n in range(len(states))]:
        assert answers["{},{}".format(*wish)] == json.loads(to_json(states.message(wish)))
