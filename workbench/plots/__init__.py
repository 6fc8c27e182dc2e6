"""One function per plot, `(DataFrame, ax=None) -> Axes`. With an Axes given, no global state changes.

Examples
--------
>>> w = wb.samples.load("parallel_cast")
>>> rows = wb.measure(w, [0, 3], budget=0.05)
>>> ax = wb.plots.kernel_count(rows)
>>> ax.get_xlabel()
'kernels (calls in one run)'
"""

from workbench.colours import DARK, LIGHT
from workbench.measurement.columns import byte_unit, figures, time_unit
from workbench.plots.ablation import ablation
from workbench.plots.configurations import kernel_count, launch_overhead, runtime
from workbench.plots.cpu_gpu import cpu_gpu
from workbench.plots.handovers import handovers
from workbench.plots.kernel_errors import kernel_errors
from workbench.plots.kernel_times import kernel_times
from workbench.plots.memory import memory
from workbench.plots.roofline import roofline
from workbench.plots.tuning import tuning_progress
from workbench.plots.waterfall import peak_by_pass, waterfall

__all__ = [
    "DARK",
    "LIGHT",
    "ablation",
    "byte_unit",
    "cpu_gpu",
    "figures",
    "handovers",
    "kernel_count",
    "kernel_errors",
    "kernel_times",
    "launch_overhead",
    "memory",
    "peak_by_pass",
    "roofline",
    "runtime",
    "time_unit",
    "tuning_progress",
    "waterfall",
]
