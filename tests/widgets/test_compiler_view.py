"""CompilerView: its graphs, lines and colours, from a pair of sides that no compiler made."""

from __future__ import annotations

from dataclasses import replace

import hostile
import pytest
from widgets.compared import pair, program

import workbench as wb
from workbench.debugging.compilers.result import CompilerComparison
from workbench.debugging.compilers.side import Compiler, CompilerSide
from workbench.errors import WorkbenchError


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
