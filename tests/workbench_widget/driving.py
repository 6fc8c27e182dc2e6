"""What the tests of the Workbench's Python side share: the pipelines, and the page's own door."""

from __future__ import annotations

MERGE = "EliminateCommonSubexpr"
PIPELINE = {
    "relay": "EliminateCommonSubexpr,FoldConstant,FuseOps",
    "relax": "EliminateCommonSubexpr,LegalizeOps,AnnotateTIROpPattern,FoldConstant,FuseOps",
}


def says(bench, **message):
    """A message of the page, through the door that the page uses; waits for what it starts."""
    bench._handle_custom_msg(message, [])
    assert bench.wait()


def statuses(bench):
    return [row["status"] for row in bench.state["passes"]]


def names(bench):
    return [step.name for step in bench.pipeline]
