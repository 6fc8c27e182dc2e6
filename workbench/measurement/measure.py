"""`wb.measure`: configurations built, checked and timed on this machine, one row each."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Shapes, Workload, choose_entry, workload_of
from workbench.dialects.compiler.inputs import Inputs, with_inputs
from workbench.errors import WorkbenchError
from workbench.measurement.build_and_time import MeasureOptions, Variant, measured
from workbench.measurement.count import piped
from workbench.measurement.remote.devices import measured_elsewhere
from workbench.measurement.remote.tracker import Tracker
from workbench.measurement.row import INTERRUPTED, Row, new_row, table
from workbench.measurement.store import append
from workbench.pipeline.config import Config
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline
from workbench.target_text import TargetLike, target_text, target_texts
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, never
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd

DEFAULT = tuple(range(4))
"opt levels 0 to 3"


def measure(
    workload: Workload,
    configs: Iterable[Any] = DEFAULT,
    targets: TargetLike | Iterable[TargetLike] = ("llvm",),
    *,
    entry: str | None = None,
    shapes: Shapes | None = None,
    inputs: Inputs | None = None,
    budget: float = 1.0,
    timeout: float = TIMEOUT,
    memory: int | None = None,
    seed: int = 0,
    check: bool = True,
    per_kernel: bool = False,
    remote: Tracker | None = None,
    executor: Executor | None = None,
    store: bool = True,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> pd.DataFrame:
    """Build, check and time each configuration for each target.

    Parameters
    ----------
    configs
        Opt levels, pipelines or their text, dicts of Config's fields, or Configs; a single one needs no list.
    targets
        In TVM's syntax; plain `llvm` gets this host's `-mcpu`, plain `cuda` this GPU's `-arch`.
    entry, shapes
        The function to run and the sizes to run it with, as `wb.load` takes them.
    inputs
        Arrays by the name of the input, `{"ids": array}`; of a tuple a tuple of arrays. The other inputs are random.
    budget
        Seconds of timing a row, after the warm-up; as many again for its kernels.
    timeout
        Seconds that a build, or a run, may take.
    memory
        Bytes that the child process may hold; nine tenths of the free memory by default.
    check
        Whether to compare each configuration's outputs with those of the reference (measurement/build_and_time.py), on the same random
        inputs; a row whose outputs differ has status `wrong`.
    per_kernel
        Whether to time each call of a kernel too.
    remote
        Run on the devices that this tracker lends, all of them at once; targets are then used as written.
    executor
        Compile on its processes or machines, several at once: a ProcessPoolExecutor, or `client.get_executor()` of Dask's.
        Timing begins when everything is built, unless a tracker's devices do it.
    store
        Whether to keep the rows for `wb.history`.
    progress
        Called with a description of the work and the fraction that is done; by default both are shown in the cell or the
        terminal after a second.
    cancelled
        Returns whether to stop. A configuration that is not measured by then is a row with status `cancelled`.

    Returns
    -------
    pandas.DataFrame
        One row for each (config, target): counts, `median_us`, `q1_us`, `q3_us`, the raw `samples` in seconds, the check, and
        the conditions. A build or run that fails, crashes, or exceeds its time or memory is a row with that status and the
        reason. Ctrl-C ends the measurement and returns the measured rows; the others have status `interrupted`.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> rows = wb.measure(w, [0, 3], budget=0.05)
    >>> rows[["config", "kernels", "status"]]
      config  kernels status
    0  opt 0        8     ok
    1  opt 3        5     ok
    """
    workload = workload_of(workload, "measure")
    workload = with_inputs(choose_entry(workload, entry, shapes), inputs)
    if isinstance(configs, (str, Mapping, Pipeline)) or not isinstance(configs, Iterable):
        configs = [configs]
    wanted = target_texts(targets)
    asked = [(Config.of(given), given, target) for given in configs for target in wanted]
    rows: dict[int, Row] = {}
    # `measured_rows` has given a row to all that were not measured
    with suppress(KeyboardInterrupt), showing_progress(progress, f"Measuring {workload.name}") as report:
        limits: JobOptions = {"timeout": timeout, "memory": memory, "progress": report, "cancelled": cancelled}
        places = {"tracker": remote, "executor": executor}
        how = MeasureOptions(budget=budget, seed=seed, check=check, per_kernel=per_kernel, **places, **limits)
        rows.update(measured_rows(workload, asked, how, store=store))
    from workbench.measurement.tables import Table

    return Table(table([rows[place] for place in sorted(rows)]))


def measured_rows(
    workload: Workload, asked: Sequence[tuple[Config, object, str]], how: MeasureOptions, *, store: bool = True
) -> Iterator[tuple[int, Row]]:
    """Yield the place and the row of each configuration as it ends; with `store` the row is on the disk by then.

    `asked` are configurations, each with the form in which it was given, and its target. Ctrl-C yields the others as
    `interrupted`, and is raised then.
    """
    runner, run, missing = Runner(workload), uuid.uuid4().hex[:12], dict(enumerate(asked))
    variants = (_variant(runner, *each, how, run) for each in asked)

    def labelled(place: int) -> MeasureOptions:
        label = f"{asked[place][0].label} for {asked[place][2]} ({place + 1} of {len(asked)})"

        def within(what: str, fraction: float | None) -> None:
            how.progress(f"{label}: {what}", (place + (fraction or 0.0)) / len(asked))

        return replace(how, progress=within)

    try:
        if how.tracker is None and how.executor is None:
            ended = ((place, measured(each, labelled(place))) for place, each in enumerate(variants))
        else:
            ended = measured_elsewhere(list(variants), how)
        for place, row in ended:
            if store:
                append(row)
            del missing[place]
            yield place, row
    except KeyboardInterrupt:
        # `wb.history` does not keep these
        message = "interrupted before it was measured; call wb.measure again with this configuration"
        for place, (config, _, target) in missing.items():
            yield place, replace(new_row(workload, config, target, run), status=INTERRUPTED, message=message)
        raise


def _variant(runner: Runner, config: Config, given: object, target: str, how: MeasureOptions, run: str) -> Variant:
    """Return the variant of a row; only this process can run a pipeline with functions. If that fails, the row is complete."""
    workload = runner.workload
    variant = Variant(new_row(workload, config, target, run), target, workload, workload, config, config)
    if not isinstance(given, Pipeline) or not any(step.run for step in given) or how.cancelled():
        return variant
    try:
        return replace(variant, program=piped(runner, given, config.opt_level), build=config.context())
    except WorkbenchError as error:
        return replace(variant, row=variant.row.failed(error))


def measure_one(
    workload: Workload,
    config: Config,
    target: TargetLike,
    limits: MeasureOptions,
    *,
    origin: Workload | None = None,
    store: bool = True,
) -> Row:
    """Measure one configuration of `workload`, the result of its pipeline if there is one; failures are rows too.

    `origin` is the workload before the pipeline, with whose outputs the outputs are compared.
    """
    start, target = workload if origin is None else origin, target_text(target)
    row = new_row(start, config, target, uuid.uuid4().hex[:12])
    row = measured(Variant(row, target, start, workload, config, config.context()), limits)
    if store:
        append(row)
    return row


def raise_interrupt(rows: pd.DataFrame) -> None:
    """Raise KeyboardInterrupt if an interrupt ended the measurement, for a caller that needs all rows."""
    if (rows["status"] == INTERRUPTED).any():
        raise KeyboardInterrupt
