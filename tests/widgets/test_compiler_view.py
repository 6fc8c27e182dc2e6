"""CompilerView: its graphs, lines and colours, from a pair of sides that no compiler made."""

from __future__ import annotations

from dataclasses import replace

import hostile
import pytest

import workbench as wb
from workbench.debugging.compilers.compiler import Compiler
from workbench.debugging.compilers.differences import Difference
from workbench.debugging.compilers.result import CompilerComparison, CompilerPair
from workbench.debugging.compilers.side import CompilerSide
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph, GraphBuilder
from workbench.measurement.kernels import Kernels
from workbench.pipeline.config import Config

TYPE = "Tensor[(2, 3), float32]"


def program(*kernels: tuple[str, str], dialect: str = "relay") -> Graph:
    """A chain of kernels of one operator, each with the node of the model that it computes."""
    builder = GraphBuilder("model", dialect)
    at = builder.node("param", "x", type=TYPE)
    for op, source in kernels:
        at = builder.node("op", op, [at], type=TYPE, source=(source,) if source else ())
    builder.outputs = [at]
    return builder.build()


def side(graph: Graph, times: list[float]) -> CompilerSide:
    calls = tuple({"index": place, "nodes": [place + 1]} for place in range(len(graph.nodes) - 1))
    kernels = Kernels(calls, "llvm", Config(), 0.0, answer={"graph": graph.to_data()})
    return CompilerSide(
        Compiler(graph.dialect), "llvm", kernels=kernels, optimized=graph, kernel_us=dict(enumerate(times))
    )


def pair(times: bool = True) -> CompilerPair:
    """Two kernels on the left, of which the first one is two on the right."""
    left = program(("exp", "layer.0.norm.Exp"), ("relu", "layer.0.Relu"))
    right = program(
        ("mean", "layer.0.norm.Exp"), ("exp", "layer.0.norm.Exp"), ("relu", "layer.0.Relu"), dialect="relax"
    )
    split = Difference(
        ("layer.0.norm.Exp",), "split", ("tvmgen_default_exp",), ("mean", "exp"), 48, 96,
        3.0 if times else None, 5.0 if times else None, "Relax: exp (node 2) is <opaque>.", ((0,), (0, 1)),
    )  # fmt: skip
    same = Difference(("layer.0.Relu",), "one to one", ("relu",), ("relu",), 48, 48, 1.0, 1.0, "", ((1,), (2,)))
    return CompilerPair(
        side(left, [3.0, 1.0] if times else []), side(right, [1.0, 4.0, 1.0] if times else []), rows=(split, same),
        unraced="budget=0",
    )  # fmt: skip


def lines(view: wb.CompilerView) -> list[dict[str, object]]:
    (found,) = (block["rows"] for block in view.blocks if block["t"] == "rows")
    return [dict(line) for line in found]


def test_the_kernels_of_both_sides_are_nodes_with_the_marks_of_their_alignment():
    view = wb.CompilerView(pair())
    assert [node.op for node in view.kernels.left.nodes] == ["x", "exp", "nn.relu"]
    assert view.kernels.changes.split == ((1, (1, 2)),)
    assert view.titles == ["Relay", "Relax"]
    assert view.shown_graphs()[1] is view.kernels.right


def test_a_line_has_counts_the_difference_the_names_and_the_reason_and_selects_its_kernels():
    (line,) = lines(wb.CompilerView(pair()))
    assert line["text"] == (
        "layer.0.norm: Exp: 1 kernel in Relay, 2 kernels in Relax; Relax 2 µs more, each kernel by itself"
    )
    assert line["small"] == "Relay: exp. Relax: mean, exp. Relax: exp is <opaque>."
    assert (line["nodes"], line["after"]) == ([1], [1, 2])


def test_without_times_the_bytes_are_compared_and_there_are_no_colours():
    view = wb.CompilerView(pair(times=False))
    assert lines(view)[0]["text"].endswith("Relax 48 bytes more read and written")
    assert view.overlay_state == {}


def test_colours_are_the_kernels_own_times_on_one_scale():
    state = wb.CompilerView(pair()).overlay_state
    assert (state["title"], state["unit"]) == ("time by itself", "µs")
    assert state["values"] == {"1": 3.0, "2": 1.0}
    assert state["after"]["values"] == {"1": 1.0, "2": 4.0, "3": 1.0}


def test_a_comparison_has_its_first_target_or_the_one_that_is_asked_for():
    found = CompilerComparison("model", (pair(), replace(pair(), left=replace(pair().left, target="cuda"))))
    assert wb.CompilerView(found).pair is found.pairs[0]
    assert wb.CompilerView(found, "cuda").pair is found.pairs[1]
    with pytest.raises(WorkbenchError, match="target of this comparison"):
        wb.CompilerView(found, "metal")


def test_a_side_without_kernels_and_another_value_are_refused_with_a_sentence():
    lost = replace(pair(), right=CompilerSide(Compiler("relax"), "llvm", status="crashed", message="its process ended"))
    with pytest.raises(WorkbenchError, match=r"no kernels to compare: Relax: .*its process ended"):
        wb.CompilerView(lost)
    with pytest.raises(WorkbenchError, match=r"takes a comparison, not Graph: wb\.CompilerView\(wb\.compare_compilers"):
        wb.CompilerView(program(("exp", "a")))


def test_hostile_names_are_text_in_the_saved_page(tmp_path):
    made = pair()
    evil = replace(made.rows[0], left=tuple(hostile.NAMES[:3]), sources=tuple(hostile.NAMES[:2]))
    page = wb.CompilerView(replace(made, rows=(evil,))).save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<script") == wb.CompilerView(made).save(tmp_path / "good.html").read_text().count("<script")
