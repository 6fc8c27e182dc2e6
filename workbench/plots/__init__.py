"""Layer 4: one function a plot, `(DataFrame, ax=None) -> Axes`. No global state is touched when an Axes is given."""

from workbench.plots.ablation import ablation
from workbench.plots.counts import kernel_count
from workbench.plots.cpu_gpu import cpu_gpu
from workbench.plots.handovers import handovers
from workbench.plots.kernel_times import kernel_times
from workbench.plots.overhead import launch_overhead
from workbench.plots.roofline import roofline
from workbench.plots.style import DARK, LIGHT, byte_unit, figures, time_unit
from workbench.plots.times import runtime
from workbench.plots.tuning import tuning_progress
from workbench.plots.waterfall import waterfall

__all__ = [
    "DARK",
    "LIGHT",
    "ablation",
    "byte_unit",
    "cpu_gpu",
    "figures",
    "handovers",
    "kernel_count",
    "kernel_times",
    "launch_overhead",
    "roofline",
    "runtime",
    "time_unit",
    "tuning_progress",
    "waterfall",
]
