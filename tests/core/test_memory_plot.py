"""The rows of a memory plan, and its plot: to scale, with the largest live set marked."""

from __future__ import annotations

from itertools import pairwise

import matplotlib as mpl

mpl.use("agg")

import pytest
from core.test_plots import HOSTILE
from matplotlib.figure import Figure
from memory_plans import chain

from workbench.colours import DARK, LIGHT
from workbench.measurement.memory.plan import MemoryPlan, rows_of
from workbench.pipeline.config import Config
from workbench.plots import memory
from workbench.plots.style import to_both


def test_each_tensor_with_memory_is_in_one_row() -> None:
    plan = chain(6)
    placed = sorted(place for row in rows_of(plan) for place in row.tensors)
    assert placed == [i for i, each in enumerate(plan.tensors) if each.role != "constant"]
    sizes = [row.bytes for row in rows_of(plan) if row.label.startswith("storage")]
    assert sizes == sorted(sizes, reverse=True)


def test_tensors_in_a_row_outside_of_the_plan_do_not_overlap() -> None:
    plan = chain(6)
    bare = MemoryPlan(
        tuple(type(each)(**{**vars(each), "storage": None}) for each in plan.tensors),
        (),
        plan.steps,
        "llvm",
        Config(),
        (),
        plan.graph,
    )
    rows = rows_of(bare)
    assert len(rows) == 3, "two for the chain, of which a kernel reads one and writes one, and one for the workspace"
    for row in rows:
        lives = [(plan.tensors[place].born, plan.tensors[place].dies) for place in row.tensors]
        assert all(before[1] < after[0] for before, after in pairwise(lives))


def test_plot_is_to_scale() -> None:
    plan = chain(4)
    ax = Figure().subplots()
    assert memory(plan, ax) is ax
    assert ax.get_ylabel() == "storages, in kB"
    top = max(path.vertices[:, 1].max() for bars in ax.collections for path in bars.get_paths())
    assert top == (plan.planned_bytes + 500) / 1000, "the workspace has a row on top"
    assert "at most 7 kB live, in kernel 3 (fused_add_3)" in ax.get_title(loc="left").replace("\n", " ")
    assert {text.get_text() for text in ax.texts} >= {"7 kB"}


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_plot_of_no_kernels_has_a_sentence(theme) -> None:
    ax = Figure().subplots()
    memory(MemoryPlan((), (), (), "llvm", Config(), ("No plan: control flow.",), chain(1).graph), ax, theme=theme)
    assert ax.get_title(loc="left") == "the plan has no kernels"
    assert any("No plan: control flow." in text.get_text() for text in ax.texts)


def test_hostile_names_are_drawn_as_text() -> None:
    light, _, title = to_both(memory, chain(8, names=HOSTILE[:8]), 8)
    assert "<script>" not in light
    assert title
