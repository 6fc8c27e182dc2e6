"""Plot of the same kernels on the CPU and on the GPU."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from workbench.colours import LIGHT, Theme, family
from workbench.measurement.columns import duration, kernel_name, time_unit
from workbench.plots.rows import conditions, device
from workbench.plots.style import axes, complete, cut, dress, empty, say
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Kernel = dict[str, Any]
TOLD = 5
"number of kernels with a name: those farthest from the line of equal times"


def cpu_gpu(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT) -> Axes:
    """Plot each kernel's time on the CPU and on CUDA as a dot. Below the line CUDA's median is lower.

    Kernels are paired by what they compute: the n-th kernel of an operator on one side is the n-th on the other. Where fusion
    gives the sides different numbers of an operator's kernels, the rest is counted below the plot.

    Parameters
    ----------
    data
        Rows of `wb.measure(..., targets=["llvm", "cuda"], per_kernel=True)`. For a side that was not timed, the plot shows the reason.
    """
    sides = {name: _timed(data, name) for name in ("CPU", "CUDA")}
    missing = [name for name, found in sides.items() if not found]
    if missing:
        return empty(axes(ax, 2), "; ".join(f"{name}: {_why(data, name)}" for name in missing), theme)
    pairs, alone = _paired(sides["CPU"], sides["CUDA"])
    ax = axes(ax, 6)
    times = [time for pair in pairs for time in (pair[0]["median_us"], pair[1]["median_us"])] or [1.0]
    low, high = min(times) / 1.6, max(times) * 1.6
    factor, unit = time_unit(max(times))
    ends = [low * factor, high * factor]
    ax.plot(ends, ends, color=theme.faint, linewidth=1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    for cpu, gpu in pairs:
        ax.scatter(
            [cpu["median_us"] * factor],
            [gpu["median_us"] * factor],
            color=family(cpu.get("op"))[1],
            s=36,
            alpha=0.85,
            edgecolor=theme.page,
            linewidth=0.7,
            zorder=3,
        )
    far = sorted(pairs, key=lambda pair: -_ratio(pair) if _ratio(pair) > 1 else -1 / _ratio(pair))[:TOLD]
    for cpu, gpu in far:
        say(
            ax,
            cpu["median_us"] * factor,
            gpu["median_us"] * factor,
            cut(kernel_name(cpu), 30),
            theme,
            fontsize="x-small",
            xytext=(6, 5),
        )
    ax.set_xlabel(f"{unit} on the CPU")
    ax.set_ylabel(f"{unit} on CUDA")
    said = f"not drawn: {counted(alone, 'kernel')} fused otherwise on the other side" if alone else ""
    dress(ax, _finding(pairs), theme, " · ".join(part for part in (said, conditions(data)) if part))
    return ax


def _timed(data: pd.DataFrame, which: str) -> list[Kernel]:
    for row in complete(data, "config").to_dict("records"):
        kernels = row.get("per_kernel")
        if device(row) == which and isinstance(kernels, list) and kernels:
            return [kernel for kernel in kernels if (kernel.get("median_us") or 0) > 0]
    return []


def _why(data: pd.DataFrame, which: str) -> str:
    for row in complete(data, "config").to_dict("records"):
        if device(row) == which:
            message = row.get("message")
            return str(message) if isinstance(message, str) and message else "its kernels were not timed"
    return "not measured"


def _paired(left: list[Kernel], right: list[Kernel]) -> tuple[list[tuple[Kernel, Kernel]], int]:
    by_op: dict[object, tuple[list[Kernel], list[Kernel]]] = defaultdict(lambda: ([], []))
    for place, kernels in enumerate((left, right)):
        for kernel in kernels:
            by_op[kernel.get("op")][place].append(kernel)
    pairs = [pair for a, b in by_op.values() if len(a) == len(b) for pair in zip(a, b, strict=True)]
    return pairs, sum(len(a) + len(b) for a, b in by_op.values() if len(a) != len(b))


def _ratio(pair: tuple[Kernel, Kernel]) -> float:
    return pair[0]["median_us"] / pair[1]["median_us"]


def _finding(pairs: list[tuple[Kernel, Kernel]]) -> str:
    if not pairs:
        return "no kernel is the same on both sides"
    cpu, gpu = max(pairs, key=_ratio)
    times = f"{duration(cpu['median_us'])} on the CPU, {duration(gpu['median_us'])} on CUDA"
    return f"{cut(kernel_name(cpu), 30)}: {times}; devices are not raced, so no difference is claimed"
