"""Plots: an Axes in, the same Axes out, nothing else touched."""

from __future__ import annotations

import re

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from workbench.colours import DARK, LIGHT, family
from workbench.measurement.machine import Ceilings, ceilings
from workbench.plots import (
    ablation,
    cpu_gpu,
    handovers,
    kernel_count,
    kernel_errors,
    kernel_times,
    launch_overhead,
    roofline,
    runtime,
    tuning_progress,
    waterfall,
)  # fmt: skip
from workbench.plots.style import to_both, to_svg
from workbench.widgets.blocks import NARROW
from workbench.wording import time_unit

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
def test_only_failed_rows_are_an_empty_plot(plot, ax):
    plot(pd.DataFrame([{"config": "opt 3", "status": "failed", "message": "no"}]), ax=ax)
    assert "nothing" in ax.get_title(loc="left")


def test_every_bar_has_its_number(ax):
    kernel_count(rows(["a", "b", "c"]), ax=ax)
    assert {text.get_text() for text in ax.texts} == {"8", "3"}


def test_the_title_is_the_finding(ax):
    assert "opt 3: 3 kernels" in kernel_count(rows(), ax=ax).get_title(loc="left")
    title = runtime(rows(), ax=Figure().subplots()).get_title(loc="left")
    assert title == "opt 0: 50 µs, opt 3: 100 µs; not raced, so no difference is claimed"


PAIR = rows(["opt 3 passes -EliminateCommonSubexpr", "opt 3"]).assign(kernels_sum_us=30.0, launches=3)
WITHOUT = pd.DataFrame(
    [
        {"direction": d, "pass": p, "kernels": 3, "status": "counted"}
        for d, p in (("control", ""), ("without", "A" * 20))
    ]
)


@pytest.mark.parametrize(
    ("plot", "data"),
    [(runtime, PAIR), (runtime, PAIR.assign(q3_us=[50, 5000])), (launch_overhead, PAIR), (ablation, WITHOUT)],
)
def test_label_of_the_axis_is_within_a_figure_of_the_page(plot, data):
    figure = Figure(figsize=(NARROW, 3), layout="constrained")
    ax = plot(data, ax=figure.subplots())
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    label = ax.xaxis.label.get_window_extent(canvas.get_renderer())
    assert 0 <= label.x0 < label.x1 <= figure.bbox.width


@pytest.mark.parametrize(("microseconds", "unit"), [(0.2, "ns"), (3.0, "µs"), (3e3, "ms"), (3e6, "s")])
def test_times_are_shown_in_a_unit_that_reads_well(microseconds, unit, ax):
    assert runtime(rows(microseconds=microseconds), ax=ax).get_xlabel().startswith(unit)
    assert time_unit(microseconds)[1] == unit


KERNELS = [
    {"index": 0, "name": "tvmgen_default_fused_nn_dense_add", "op": "nn.dense", "median_us": 30.0, "flops": 6e4},
    {"index": 1, "name": "tvmgen_default_fused_nn_dense_add_1", "op": "nn.dense", "median_us": 10.0, "flops": 2e4},
    {"index": 2, "name": "tvmgen_default_fused_nn_softmax", "op": "nn.softmax", "median_us": 20.0, "flops": None},
]
TIMED_KERNELS = pd.DataFrame([{**kernel, "bytes_read": 900, "bytes_written": 100} for kernel in KERNELS])
CEILINGS = Ceilings(bytes_per_second=1e9, flops_per_second=4e9, method="a stream")


def steps(*rows, columns=("pass", "kernels", "traffic_bytes", "median_us", "q1_us", "q3_us")):
    return pd.DataFrame(rows, columns=list(columns))


FALLS = steps(
    ("input", 8, 900, 50.0, 49.0, 51.0), ("InferType", 8, 900, 50.0, 49.0, 51.0), ("Fuse", 3, 300, 20.0, 19.0, 21.0)
)
ABLATED = pd.DataFrame(
    [
        ("nothing", "control", 3, 300, 1.0, 0.99, 1.01),
        ("FuseOps", "without", 8, 900, 2.0, 1.9, 2.1),
        ("SimplifyExpr", "without", 3, 300, 1.01, 0.98, 1.05),
    ],
    columns=["pass", "direction", "kernels", "traffic_bytes", "ratio", "low", "high"],
)
HANDED = pd.DataFrame(
    [("a", 0, 1, "int32", 400), ("a", 1, -1, "int8", 999), ("b", 0, 1, "int8", 100)],
    columns=["config", "producer", "consumer", "dtype", "bytes"],
)


def two_devices(cuda=True):
    right = [{**kernel, "median_us": kernel["median_us"] / 4} for kernel in KERNELS]
    cpu = {**rows(["opt 3"]).iloc[0], "device": "cpu", "per_kernel": KERNELS, "kernels_sum_us": 40.0, "launches": 2}
    gpu = {
        **rows(["opt 3"], 12.0).iloc[0],
        "device": "cuda",
        "per_kernel": right,
        "kernels_sum_us": 11.0,
        "launches": 2,
    }
    none = {
        "config": "opt 3",
        "device": "cuda",
        "kernels": 4,
        "status": "not measured",
        "message": "no CUDA device here",
    }
    return pd.DataFrame([cpu, gpu if cuda else none])


COMPARED = pd.DataFrame(
    [
        {"index": 0, "kernel": "$fused$_conv", "own": 1e-7, "inherited": None, "whole": 1e-7, "same": True},
        {"index": 1, "kernel": "fused_dense", "own": None, "inherited": None, "whole": None, "same": None},
        {"index": 2, "kernel": "fused_add", "own": 0.25, "inherited": 1e-7, "whole": 0.25, "same": False},
        {"index": 3, "kernel": "fused_softmax", "own": 0.0, "inherited": 0.25, "whole": float("inf"), "same": True},
    ]
)
DRAWN = {
    kernel_errors: COMPARED,
    kernel_count: rows(),
    runtime: rows(),
    waterfall: FALLS,
    ablation: ABLATED,
    kernel_times: TIMED_KERNELS,
    launch_overhead: two_devices(),
    roofline: TIMED_KERNELS,
    handovers: HANDED,
    cpu_gpu: two_devices(),
}
NAMED = {"config", "pass", "name", "op", "dtype", "message"}
"columns whose texts come from a module or a person"


def title(plot, data, **options):
    return plot(data, ax=Figure().subplots(), **options).get_title(loc="left")


def words(plot, data, **options):
    return [text.get_text() for text in plot(data, ax=Figure().subplots(), **options).texts]


@pytest.mark.parametrize("plot", DRAWN, ids=lambda plot: plot.__name__)
def test_draws_on_the_axes_given_and_sets_no_global_state(plot, ax):
    before = dict(mpl.rcParams)
    assert plot(DRAWN[plot], ax=ax) is ax
    assert ax.has_data()
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sum_us", [60.0, 1e5], ids=["kernels are a part of the run", "kernels alone take longer"])
@pytest.mark.parametrize("plot", DRAWN, ids=lambda plot: plot.__name__)
def test_long_names_leave_the_bars_room_in_a_tab(plot, sum_us):
    data = DRAWN[plot].head(2).assign(kernels_sum_us=sum_us)
    light, dark, said = to_both(plot, data.assign(**dict.fromkeys(NAMED & {*data}, "x" * 80)), 2, width=NARROW)
    assert light != dark
    assert said


@pytest.mark.parametrize("plot", DRAWN, ids=lambda plot: plot.__name__)
def test_makes_axes_of_its_own_where_none_are_given(plot):
    made = plot(DRAWN[plot])
    assert isinstance(made, Axes)
    plt.close(made.figure)


@pytest.mark.parametrize("plot", DRAWN, ids=lambda plot: plot.__name__)
@pytest.mark.parametrize("empty", [pd.DataFrame(), None], ids=["no columns", "no rows"])
def test_nothing_measured_is_an_empty_plot_that_says_so(plot, empty, ax):
    plot(DRAWN[plot].iloc[:0] if empty is None else empty, ax=ax)
    assert any(word in ax.get_title(loc="left") for word in ("nothing", "no ", "not "))


@pytest.mark.parametrize("plot", DRAWN, ids=lambda plot: plot.__name__)
@pytest.mark.filterwarnings("ignore:Glyph")
def test_hostile_names_are_drawn_as_text_on_light_and_dark(plot):
    data = pd.concat([DRAWN[plot]] * 5, ignore_index=True)
    for column in NAMED & set(data.columns):
        data[column] = [HOSTILE[i % len(HOSTILE)] + str(i) for i in range(len(data))]
    *drawn, _ = to_both(plot, data, 10)
    for svg in drawn:
        assert "<svg" in svg
        assert "<script" not in svg


@pytest.mark.parametrize("plot", [runtime, waterfall, roofline], ids=lambda plot: plot.__name__)
def test_drawn_once_for_both_pages_it_is_what_each_theme_draws(plot):
    light, dark, finding = to_both(plot, DRAWN[plot], 4)
    chance = re.compile(r"\b[mpC][0-9a-f_]{8,}\b")  # clip paths and markers are called by chance
    for theme, found in ((LIGHT, light), (DARK, dark)):
        assert chance.sub("", found) == chance.sub("", to_svg(plot, DRAWN[plot], theme, 4))
    assert finding == title(plot, DRAWN[plot])


def test_cpu_and_cuda_stand_in_one_row_each_judged_by_its_own_fastest():
    data = two_devices()
    ax = runtime(data, ax=Figure().subplots())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["opt 3"]
    assert ax.get_title(loc="left") == "CPU: opt 3: 50 µs; CUDA: opt 3: 12 µs"


def test_a_device_that_is_not_there_is_said_in_its_place_and_counted_all_the_same():
    data = two_devices(cuda=False)
    assert title(runtime, data) == "CPU: opt 3: 50 µs; CUDA: nothing timed; 1 not measured"
    assert "CUDA: ! not measured" in words(runtime, data)
    assert "! opt 3, CUDA: not measured: no CUDA device here" in " ".join(words(runtime, data))
    assert title(cpu_gpu, data) == "CUDA: no CUDA device here"
    assert len(kernel_count(data, ax=Figure().subplots()).patches) == 2


def test_a_wrong_answer_never_wins_and_is_marked():
    data = rows(["right", "wrong"]).assign(status=["ok", "wrong"])
    data.loc[1, ["median_us", "q1_us", "q3_us"]] = [1.0, 0.9, 1.1]
    assert title(runtime, data).startswith("right: 50")
    assert any("! wrong result" in text for text in words(runtime, data))


def test_a_waterfall_leaves_out_what_changes_nothing_and_says_what_changes_most():
    ax = waterfall(FALLS, ax=Figure().subplots())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["input", "Fuse", "result"]
    assert ax.get_title(loc="left") == "8 to 3 kernels; Fuse changes most (-5)"
    assert "passes left out that leave this as it is: 1" in [text.get_text() for text in ax.texts]


def test_timed_stages_have_their_times_and_no_difference():
    said = title(waterfall, FALLS, what="median_us")
    assert said == "50 to 20 µs; not raced, so no difference is claimed"
    assert words(waterfall, FALLS, what="median_us")[:3] == ["50", "20", "20"]


def test_an_ablation_claims_what_its_intervals_show_and_no_more():
    assert title(ablation, ABLATED) == "without FuseOps it is 2.0 times slower"
    noise = ABLATED[ABLATED["pass"] != "FuseOps"]
    assert title(ablation, noise) == "1 pass raced; no difference shown"
    assert title(ablation, noise.replace("without", "only")) == ""
    counted = ABLATED.assign(ratio=float("nan"))
    assert title(ablation, counted) == "without FuseOps: 8 kernels instead of 3; not timed"


@pytest.mark.parametrize(("by", "first"), [("op", "nn.dense  x2"), ("kernel", "0  fused_nn_dense_add")])
def test_kernel_times_are_sorted_and_stacked_by_op(by, first):
    ax = kernel_times(TIMED_KERNELS, ax=Figure().subplots(), by=by)
    assert ax.get_yticklabels()[0].get_text() == first
    assert ("67%" if by == "op" else "50%") in ax.get_title(loc="left")


def test_kernels_beyond_the_most_that_can_be_read_are_one_bar_of_their_sum():
    ax = kernel_times(TIMED_KERNELS, ax=Figure().subplots(), by="kernel", most=1)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0  fused_nn_dense_add", "2 others"]
    assert any(text.get_text().startswith("30") for text in ax.texts[1:])


def test_launch_overhead_is_the_difference_and_never_less_than_none():
    data = two_devices().iloc[:1]
    assert title(launch_overhead, data) == "opt 3: 20% of a run is spent outside kernels"
    assert "10 µs beyond, 20%\n5 µs a launch" in words(launch_overhead, data)
    assert "no overhead to be seen" in title(launch_overhead, data.assign(kernels_sum_us=60.0))


def test_a_roofline_says_how_near_the_longest_kernel_comes_and_what_it_left_out():
    assert title(roofline, TIMED_KERNELS, ceilings=CEILINGS).startswith("fused_nn_dense_add reaches 50% of its ceiling")
    assert "ceilings were not measured" in title(roofline, TIMED_KERNELS)
    assert any("1 kernel with unknown" in text for text in words(roofline, TIMED_KERNELS))


def test_handovers_leave_out_the_programs_own_inputs_and_outputs():
    assert title(handovers, HANDED) == "400 to 100 bytes between kernels (int32 400 to 0; int8 0 to 100)"


def test_cpu_and_cuda_are_compared_kernel_by_kernel():
    said = "fused_nn_dense_add: 30 µs on the CPU, 7.5 µs on CUDA; devices are not raced, so no difference is claimed"
    assert title(cpu_gpu, two_devices()).replace("\n", " ") == said


@pytest.mark.parametrize(
    ("op", "kind"), [("nn.conv2d", "convolution"), ("relax.matmul", "matrix product"), ("max", "reduction"),
                     ("maximum", "elementwise"), ("nn.layer_norm", "softmax and norms"), (None, "not known")],
)  # fmt: skip
def test_an_operator_has_one_colour_in_every_plot(op, kind):
    assert family(op)[0] == kind


def test_the_ceilings_of_this_machine_are_measured_and_say_how(tell):
    found = ceilings()
    # between a slow disk and the fastest of today's accelerators
    assert 1e8 < found.bytes_per_second < 1e14
    assert 1e8 < found.flops_per_second < 1e16
    assert "numpy" in found.method
    assert ceilings() is found
    tell(
        f"ceilings here: {found.bytes_per_second / 1e9:.1f} GB/s, {found.flops_per_second / 1e9:.0f} GFLOP/s ({found.method})"
    )


def searched(*tried):
    """Trials as (status, kernels) in the order in which they were tried."""
    return pd.DataFrame([{"number": i, "status": status, "kernels": n} for i, (status, n) in enumerate(tried)])


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_search_is_drawn_with_its_best_so_far_and_what_may_not_win(ax, theme):
    rows = searched(("ok", 8), ("failed", None), ("ok", 9), ("ok", 4), ("wrong", 2))
    assert tuning_progress(rows, ax=ax, value="kernels", theme=theme) is ax
    assert ax.get_title(loc="left") == "4 kernels, from 8: the fewest of 5 candidates, found at number 4"
    steps = next(line for line in ax.lines if line.get_drawstyle() == "steps-post")
    assert list(steps.get_ydata()) == [8, 8, 4, 4]
    assert list(steps.get_xdata()) == [1, 3, 4, 5]
    assert [list(line.get_xdata()) for line in ax.lines if line.get_marker() == "x"] == [[2, 5]]
    assert "default 8" in [text.get_text() for text in ax.texts]


@pytest.mark.parametrize(
    ("tried", "said"),
    [
        ((), "nothing tried yet"),
        ((("failed", None),), "1 candidate tried, none can win"),
        ((("ok", 5),), "5 kernels by default; nothing else was tried yet"),
        ((("ok", 5), ("ok", 5)), "5 kernels by default; none of 2 candidates has fewer"),
    ],
)
def test_a_search_that_found_nothing_says_so(ax, tried, said):
    tuning_progress(searched(*tried), ax=ax, value="kernels")
    assert ax.get_title(loc="left") == said


@pytest.mark.parametrize(
    ("value", "said", "found"),
    [
        ("median_us", "40 µs by default; none of 2 candidates measured less", "20 µs, from 40: the lowest median"),
        ("kernels", "40 kernels by default; none of 2 candidates has fewer", "20 kernels, from 40: the fewest of 3"),
        ("handover_bytes", "40 bytes by default; none of 2 candidates hands over less", "20 bytes, from 40: the least"),
        (
            "build_seconds",
            "40 s by default; none of 2 candidates was built in less",
            "20 s, from 40: the shortest build",
        ),
        ("own", "40 own by default; none of 2 candidates has a smaller own", "20 own, from 40: the smallest own of 3"),
    ],
)
def test_a_title_says_of_which_value_it_speaks_for_a_search_may_have_other_objectives(ax, value, said, found):
    equal = searched(("ok", 40), ("ok", 40)).rename(columns={"kernels": value})
    # it is better in the other objective
    equal["other"] = [2, 1]
    tuning_progress(equal, ax=ax, value=value)
    assert ax.get_title(loc="left") == said
    better = searched(("ok", 40), ("ok", 20), ("ok", 30)).rename(columns={"kernels": value})
    tuning_progress(better, ax=ax, value=value)
    assert ax.get_title(loc="left").startswith(found)


def test_wrong_kernel_is_named_over_the_errors():
    ax = kernel_errors(COMPARED, ax=Figure().subplots())
    assert ax.get_yscale() == "log"
    assert ax.get_title(loc="left") == "1 of 3 kernels with an error of its own, the first fused_add"
    assert [text.get_text() for text in ax.texts] == ["fused_add", "1 kernel not compared"]
    assert "no error" in title(kernel_errors, COMPARED[:1])
