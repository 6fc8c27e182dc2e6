"""Plots: an Axes in, the same Axes out, nothing else touched."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workbench.plots import kernel_count, runtime
from workbench.plots.style import DARK, LIGHT, time_unit, to_svg

HOSTILE = ["$x$ $", "<script>alert(1)</script>", "a_b^c{", "\\frac{", "", "n" * 3000, "A\nB", "%s", "_hidden", "日本"]


def rows(names=("opt 0", "opt 3"), microseconds=50.0):
    return pd.DataFrame(
        [
            {
                "config": name,
                "kernels": 8 - 5 * (i % 2),
                "median_us": microseconds * (1 + i),
                "q1_us": microseconds * (0.9 + i),
                "q3_us": microseconds * (1.1 + i),
                "samples": [microseconds * (1 + i) * 1e-6] * 3,
            }
            for i, name in enumerate(names)
        ]
    )


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.mark.parametrize("plot", [kernel_count, runtime])
def test_draws_on_the_axes_given_and_sets_no_global_state(plot, ax):
    before = dict(mpl.rcParams)
    assert plot(rows(), ax=ax) is ax
    assert ax.has_data()
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == []


@pytest.mark.parametrize("plot", [kernel_count, runtime])
def test_makes_axes_of_its_own_where_none_are_given(plot):
    made = plot(rows())
    assert isinstance(made, Axes)
    plt.close(made.figure)


@pytest.mark.parametrize("plot", [kernel_count, runtime])
@pytest.mark.parametrize("data", [rows(names=()), rows().iloc[:0]], ids=["no rows, no columns", "no rows"])
def test_nothing_measured_is_an_empty_plot_that_says_so(plot, data, ax):
    plot(data, ax=ax)
    assert "nothing" in ax.get_title(loc="left")


@pytest.mark.parametrize("plot", [kernel_count, runtime])
def test_only_failed_rows_are_an_empty_plot(plot, ax):
    plot(pd.DataFrame([{"config": "opt 3", "status": "failed", "message": "no"}]), ax=ax)
    assert "nothing" in ax.get_title(loc="left")


@pytest.mark.parametrize("plot", [kernel_count, runtime])
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.filterwarnings("ignore:Glyph")
def test_hostile_names_are_drawn_as_text(plot, name):
    svg = to_svg(plot, rows([name, name + "2"]), LIGHT, 2)
    assert "<script" not in svg


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_an_svg_is_a_picture_without_scripts_or_outside_references(theme):
    svg = to_svg(runtime, rows(), theme, 2)
    assert "<svg" in svg
    assert "<script" not in svg


def test_every_bar_has_its_number(ax):
    kernel_count(rows(["a", "b", "c"]), ax=ax)
    assert {text.get_text() for text in ax.texts} == {"8", "3"}


def test_the_title_is_the_finding(ax):
    assert "opt 3: 3 kernels" in kernel_count(rows(), ax=ax).get_title(loc="left")
    assert "opt 0 is fastest" in runtime(rows(), ax=Figure().subplots()).get_title(loc="left")


def test_no_difference_is_claimed_where_quartiles_overlap(ax):
    data = rows()
    data["q3_us"] = data["q3_us"] + 1000
    assert "no difference" in runtime(data, ax=ax).get_title(loc="left")


@pytest.mark.parametrize(("microseconds", "unit"), [(0.2, "ns"), (3.0, "µs"), (3e3, "ms"), (3e6, "s")])
def test_times_are_shown_in_a_unit_that_reads_well(microseconds, unit, ax):
    assert runtime(rows(microseconds=microseconds), ax=ax).get_xlabel().startswith(unit)
    assert time_unit(microseconds)[1] == unit
