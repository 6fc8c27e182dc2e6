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
from workbench.plots.configurations import kernel_count, launch_overhead, runtime
from workbench.plots.kernels import cpu_gpu, handovers, kernel_errors, kernel_times, roofline
from workbench.plots.memory import memory
from workbench.plots.passes import ablation, peak_by_pass, waterfall
from workbench.plots.tuning import tuning_progress

__all__ = [
    "DARK",
    "LIGHT",
    "ablation",
    "cpu_gpu",
    "handovers",
    "kernel_count",
    "kernel_errors",
    "kernel_times",
    "launch_overhead",
    "memory",
    "peak_by_pass",
    "roofline",
    "runtime",
    "tuning_progress",
    "waterfall",
]
