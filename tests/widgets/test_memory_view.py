"""MemoryView: its columns, its sentences, the selection that it shares with views of graphs, its files."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from ipywidgets import Widget, link
from memory_plans import chain
from page_driver import Page
from traitlets import TraitError
from widgets import hostile
from widgets.conforming import misfits_of
from widgets.saved import saved_values
from widgets.test_saving import Elements

import workbench as wb
from workbench.errors import UnknownName, WorkbenchError
from workbench.measurement.memory.plan import MemoryPlan


def numbers(code: str, column: bytes) -> list[int]:
    return [each for (each,) in struct.iter_unpack(f"<{code}", column)]


def test_columns_have_a_value_for_each_tensor_with_a_row() -> None:
    (payload,) = wb.MemoryView(chain(3)).plans
    strings = payload["strings"]
    named = [strings[n] for n in numbers("I", payload["tensor"]["name_s"])]
    assert named == ["t0", "t2", "t1", "x", "scratch"], "the largest storage first, no constant"
    assert numbers("I", payload["tensor"]["row"]) == [0, 0, 1, 2, 3]
    assert numbers("i", payload["tensor"]["born"]) == [0, 2, 1, -1, 1]
    assert numbers("i", payload["tensor"]["dies"]) == [1, 2, 2, 0, 1]
    assert numbers("d", payload["tensor"]["bytes"]) == [1000, 3000, 2000, 1000, 500]
    assert [strings[n] for n in numbers("I", payload["row"]["label_s"])][2:] == [
        "storage 0, global, cpu",
        "outside of the plan",
    ]
    assert numbers("I", payload["tensor"]["node_end"]) == [1, 2, 3, 4, 4]


def test_curve_is_of_live_and_of_held_bytes() -> None:
    plan = chain(3)
    (payload,) = wb.MemoryView(plan).plans
    assert numbers("d", payload["step"]["live"]) == [2000, 3000, 5000] == list(plan.needed_bytes)
    assert numbers("d", payload["step"]["held"]) == [6000, 6000, 6000]
    assert numbers("d", payload["step"]["workspace"]) == [-1, 500, -1]


def test_headline_has_peak_and_planned_bytes() -> None:
    view = wb.MemoryView(chain(3))
    assert view.headline == (
        "6 kB held at the peak, 6 kB planned in 3 storages and 1 row of tensors outside of the plan; "
        "at most 5 kB live, in kernel 2 (fused_add_2). "
        "One sentence about the plan."
    )
    both = wb.MemoryView(chain(3), chain(2), titles=["with FuseOps", "without"])
    assert both.headline == (
        "Held at the peak: 6 kB with FuseOps, 4 kB without. "
        "Planned: 6 kB with FuseOps, 4 kB without. One sentence about the plan."
    )


def test_plan_without_kernels_is_shown() -> None:
    view = wb.MemoryView(MemoryPlan((), (), (), "llvm", wb.Config(), ("Control flow is not planned.",), chain(1).graph))
    assert view.headline == "The plan has no kernels. Control flow is not planned."
    assert "Control flow is not planned." in Page(view).still()


def test_selection_links_with_a_graph() -> None:
    plan = chain(4)
    view, graph = wb.MemoryView(plan), wb.GraphView(plan.graph)
    link((view, "selection"), (graph, "selection"))
    Page(view).change(selection=[3])
    assert graph.selection == [3]
    graph.selection = [2, 4]
    assert view.selection == [2, 4]


def test_selection_of_two_plans_links_with_a_comparison() -> None:
    before, after = chain(4), chain(3)
    view, graphs = wb.MemoryView(before, after), wb.CompareView(before.graph, after.graph)
    link((view, "selection"), (graphs, "selection"))
    Page(view).change(selection={"before": [], "after": [3]})
    assert graphs.selection == {"before": [], "after": [3]}


def test_list_has_the_largest_tensors_with_their_nodes() -> None:
    (block,) = wb.MemoryView(chain(3)).blocks
    assert [line["text"] for line in block["rows"]][:2] == [
        "t2: output, 3 kB, (1, 16) float32; kernels 2 to 2; storage 1, global, cpu",
        "t1: intermediate, 2 kB, (1, 16) float32; kernels 1 to 2; storage 2, global, cpu",
    ]
    assert [line["nodes"] for line in block["rows"]] == [[4], [3], [2], [0], []]
    (block,) = wb.MemoryView(chain(300)).blocks
    assert block["rows"][-1]["text"] == "and 102 smaller tensors"


@pytest.mark.parametrize("selection", [[99], [-1]])
def test_unknown_nodes_are_refused(selection: list[int]) -> None:
    with pytest.raises(WorkbenchError, match="is not in this graph"):
        wb.MemoryView(chain(3), selection=selection)


def test_selection_of_another_form_is_refused() -> None:
    with pytest.raises(TraitError, match="a list of ids"):
        wb.MemoryView(chain(3), selection={"before": [1]})
    with pytest.raises(WorkbenchError, match="not for \\['now'\\]"):
        wb.MemoryView(chain(3), chain(2), selection={"now": [1]})


def test_unknown_keyword_gets_the_nearest_name() -> None:
    with pytest.raises(WorkbenchError, match="height"):
        wb.MemoryView(chain(3), hight=300)
    with pytest.raises(WorkbenchError, match="two titles, not 1"):
        wb.MemoryView(chain(3), chain(3), titles=["one"])


def test_traits_are_of_their_types() -> None:
    assert misfits_of(wb.MemoryView(chain(3), chain(2))) == []
    assert isinstance(wb.MemoryView(chain(3)), Widget)


def test_saved_page_has_the_plans(tmp_path: Path) -> None:
    view = wb.MemoryView(chain(3), chain(2), selection={"after": [2]}, viewport={"start": 0, "end": 2, "top": 0})
    values = saved_values(view.save(tmp_path / "m.html"))
    assert len(values["plans"]) == 2
    assert values["selection"] == {"before": [], "after": [2]}
    assert values["viewport"] == {"start": 0, "end": 2, "top": 0}


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_picture_is_the_plot(suffix: str, tmp_path: Path) -> None:
    data = wb.MemoryView(chain(3), chain(2)).save(tmp_path / f"m.{suffix}").read_bytes()
    assert data.lstrip()[:5] in (b"<?xml", b"%PDF-", b"\x89PNG\r")


def test_other_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="its suffix must be one of"):
        wb.MemoryView(chain(3)).save(tmp_path / "m.gif")


def test_hostile_names_are_text(tmp_path: Path) -> None:
    view = wb.MemoryView(chain(len(hostile.NAMES), names=hostile.NAMES))
    assert [tag for tag, _ in Elements(Page(view).still()).found] == ["div", "style", "p"]
    page = view.save(tmp_path / "m.html").read_text(encoding="utf-8")
    plain = wb.MemoryView(chain(3)).save(tmp_path / "p.html").read_text(encoding="utf-8")
    assert Elements(page).found == Elements(plain).found
    assert "<b>bold" not in view.save(tmp_path / "m.svg").read_text(encoding="utf-8")


def test_live_bytes_of_a_plan_are_an_overlay() -> None:
    plan = chain(3)
    overlay = wb.overlay_of(plan)
    assert (overlay.title, overlay.unit) == ("live memory", "bytes")
    assert overlay.nodes == {2: 2000, 3: 3000, 4: 5000}
    with pytest.raises(UnknownName, match="flops"):
        wb.overlay_of(plan, "flops")
