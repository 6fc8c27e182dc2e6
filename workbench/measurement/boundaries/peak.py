"""The change of a program's peak memory where two kernels become one, from TVM's memory plans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workbench.analysis.fusion.boundaries import Boundary
from workbench.dialects.base import Workload
from workbench.errors import MeasureError
from workbench.measurement.boundaries.trial import FUSE, Limits
from workbench.measurement.memory.planning import memory_config
from workbench.pipeline.config import Config
from workbench.pipeline.fusion_edits import cut_step, force_step
from workbench.pipeline.spec import Pipeline


def peak_changes(workload: Workload, boundaries: Iterable[Boundary], limits: Limits) -> Iterator[tuple[Boundary, int]]:
    """Yield each boundary with the peak bytes as one kernel, less those as two.

    Raises
    ------
    MeasureError, WorkerLost
        A boundary cannot be moved, or the passes fail.
    """

    def peak(*steps: object) -> int:
        config = Config(pipeline=str(Pipeline([*steps, FUSE])))
        how = memory_config(workload, config, limits.target, progress=limits.progress, cancelled=limits.cancelled)
        return how.peak_bytes

    now = peak()
    for boundary in boundaries:
        if boundary.refusal:
            raise MeasureError(f"there is nothing to compare: {boundary.refusal}")
        if boundary.joined:
            yield boundary, now - peak(cut_step(boundary.graph, boundary.edges))
        else:
            yield boundary, peak(force_step(boundary.graph, boundary.nodes)) - now
