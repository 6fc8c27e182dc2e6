"""The fusion mirror agrees with TVM's recorded answers about 400 random programs of each dialect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from answers import each
from fusion_answers import (
    RELAX,
    RELAX_SETTINGS,
    RELAY,
    RELAY_SETTINGS,
    agree,
    graph_of,
    mirrored,
    relax_kernels,
    relax_mirrored,
    relay_answer,
)


def test_relay(tell: Callable[[object], None]) -> None:
    kernels = 0
    for row in RELAY.rows():
        graph = graph_of(row)
        for settings, theirs in zip(RELAY_SETTINGS, each(row), strict=True):
            assert relay_answer(*mirrored(graph, **settings)) == theirs, (graph.name, settings)
            kernels += len(theirs or ())
    tell(f"fusion mirror, recorded: {kernels} kernels, 0 disagreements")


def test_relax(tell: Callable[[object], None]) -> None:
    kernels = 0
    for row in RELAX.rows():
        graph = graph_of(row)
        for settings, theirs in zip(RELAX_SETTINGS, map(relax_kernels, each(row)), strict=True):
            assert agree(relax_mirrored(graph, **settings), theirs), (graph.name, settings)
            kernels += len(theirs)
    tell(f"fusion mirror (Relax), recorded: {kernels} kernels, 0 disagreements")


def test_record_of_other_programs_fails_with_the_command() -> None:
    with pytest.raises(AssertionError, match=r"record again: TVM_WORKBENCH_RECORD=1 \.venv-relay/bin/python -m pytest"):
        replace(RELAY, sources=("answers.py",)).rows()
