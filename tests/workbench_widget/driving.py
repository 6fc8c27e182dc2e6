"""Pipelines and passes for the tests of the Workbench's Python side."""

from __future__ import annotations

from typing import Any

MERGE = "EliminateCommonSubexpr"
PIPELINE = {
    "relay": "EliminateCommonSubexpr,FoldConstant,FuseOps",
    "relax": "EliminateCommonSubexpr,LegalizeOps,AnnotateTIROpPattern,FoldConstant,FuseOps",
}


def statuses(bench):
    return [row["status"] for row in bench.state["passes"]]


def rows(bench):
    """The measured rows in their order."""
    return list(bench.session.measurements.all().values())


def headline(bench):
    """The sentence above the measured rows."""
    return next(block["text"] for block in bench.measure_tab if block.get("name") == "headline")


def buttons(blocks):
    """The words of each button, by its action."""
    return {block["act"]: block["label"] for block in blocks if block["t"] == "act"}


def names(bench):
    return [step.name for step in bench.pipeline]


def run_code(bench) -> dict[str, Any]:
    """Run the code that a Workbench shows, as a user does; return its names."""
    names: dict[str, Any] = {}
    exec(bench.state["code"], names)
    return names
