"""Kernels of Relay's and of Relax's build of one ONNX model, aligned by its nodes; Relay builds in its own environment."""

from __future__ import annotations

import subprocess
import sys
from math import prod
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.analysis.alignment import ONE, Alignment, align
from workbench.analysis.tensors import tensors
from workbench.analysis.units import Side
from workbench.errors import LoadError
from workbench.graph.model import Graph

sys.path.insert(0, str(Path(__file__).parent.parent))
from compiler_models import MODELS
from sourced_graph import fused

TESTS = Path(__file__).parent.parent
RELAY = TESTS.parent / ".venv-relay" / "bin" / "python"
pytestmark = pytest.mark.skipif(not RELAY.exists(), reason="needs the Relay environment: make setup")


def relays(name: str, folder: Path) -> Graph:
    path = folder / "relay.json"
    subprocess.run([RELAY, TESTS / "sourced_graph.py", name, path], check=True, capture_output=True, timeout=600)
    return wb.Graph.from_json(path.read_text())


def same_results(alignment: Alignment) -> list[bool]:
    """For each pair of kernels without movers whether their results have the same number of elements."""
    pairs = [group for group in alignment.groups if group.kind == ONE and not any(group.moves)]
    return [_elements(alignment.left, pair.left) == _elements(alignment.right, pair.right) for pair in pairs]


def _elements(side: Side, places: tuple[int, ...]) -> int:
    (place,) = places
    return sum(prod(map(int, each.shape)) for each in tensors(side.graph.nodes[side.kernels[place].output].type))


# test_compare_every_model.py has the others
@pytest.mark.long
@pytest.mark.parametrize("name", ["LSTM, unrolled", "BERT"])
def test_most_operations_are_aligned_exactly(name: str, tmp_path: Path, tell: Any):
    found = align(relays(name, tmp_path), fused(wb.load(MODELS[name]())))
    counts = f"{len(found.left.kernels)} kernels of Relay and {len(found.right.kernels)} of Relax"
    tell(f"{name}: {found.exact:.1%} of the operations aligned exactly; {counts}: {found}")
    assert found.exact >= 0.95
    # a pair has the same result, whatever its operators are called
    assert same_results(found)
    assert all(same_results(found))


def test_the_operator_lstm_does_not_load_in_relax():
    with pytest.raises(LoadError, match=r"cannot convert 1 of the model's ONNX operators: LSTM \(once: '/lstm/LSTM'\)"):
        wb.load(MODELS["LSTM"]())
