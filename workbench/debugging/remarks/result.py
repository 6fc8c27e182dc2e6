"""`wb.remarks`: the decisions of the passes of a trace as remarks; their table, and their comparison with earlier ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from workbench.debugging.remarks.decisions import (
    FOLDED,
    FUSE_OPS,
    SHORTENED,
    chain_remarks,
    fold_remarks,
    fusion_remarks,
    merge_remarks,
    pass_of,
    ran,
    unmerged_remarks,
)
from workbench.debugging.remarks.remark import ANALYSIS, KINDS, MISSED, PASSED, Remark, read, write
from workbench.dialects.base import Workload
from workbench.dialects.trust import UNTRUSTED
from workbench.errors import Cancelled, WorkbenchError, instead
from workbench.pipeline.build import trace_build
from workbench.pipeline.config import Config
from workbench.pipeline.run import trace
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.step import Step
from workbench.pipeline.trace import Trace
from workbench.target_text import TargetLike
from workbench.terminal import html_table, visible
from workbench.wording import counted
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import Progress, never
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd

SHOWN, LISTED = 20, 40
"missed remarks in the text form; lost ones in that of a comparison"
_COLUMNS = {"pass_name": "pass"}
"the column of a field that has another name"


@dataclass(frozen=True)
class Remarks(Sequence[Remark]):
    """Remarks in the order of the passes; the remarks of one pass are in the order of its decisions."""

    remarks: tuple[Remark, ...] = ()

    def __len__(self) -> int:
        return len(self.remarks)

    @overload
    def __getitem__(self, place: int) -> Remark: ...
    @overload
    def __getitem__(self, place: slice) -> Remarks: ...
    def __getitem__(self, place: int | slice) -> Remark | Remarks:
        return Remarks(self.remarks[place]) if isinstance(place, slice) else self.remarks[place]

    def find(self, kind: str = "", pass_name: str = "", name: str = "") -> Remarks:
        """Return the remarks of this kind, pass and reason code; an empty text stands for any."""
        wanted = {"kind": kind, "pass_name": pass_name, "name": name}
        given = {field: value for field, value in wanted.items() if value}
        return Remarks(tuple(r for r in self if all(getattr(r, field) == value for field, value in given.items())))

    @cached_property
    def dearest(self) -> Remarks:
        """The missed remarks, those with the most bytes first."""
        return _by_bytes(self.find(MISSED))

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each remark, with its fields as columns."""
        import pandas as pd

        names = [each.name for each in fields(Remark)]
        rows = [[getattr(remark, name) for name in names] for remark in self]
        frame = pd.DataFrame(rows, columns=[_COLUMNS.get(name, name) for name in names], dtype=object)
        return frame.astype({"bytes": "Int64"})

    def lost(self, since: Remarks) -> Remarks:
        """Return the passed remarks of an earlier program that have no counterpart here, those with the most bytes first.

        A counterpart has the same pass, function and operators, and the same layer if there is one; node ids do not count.

        Parameters
        ----------
        since
            The remarks of the earlier program, such as those of the main branch.
        """
        gone, here = list(since.find(PASSED)), list(self.find(PASSED))
        # a layer may have another name, or is not known
        for identity in (lambda each: each.key, lambda each: (each.pass_name, each.function, each.operators)):
            gone, here = list(_beyond(gone, here, identity)), list(_beyond(here, gone, identity))
        return _by_bytes(gone)

    def write(self, path: str | Path, format: str | None = None) -> Path:
        """Write the remarks to a file, and return its path.

        Parameters
        ----------
        format
            `yaml` for LLVM's optimisation remarks, `jsonl` for one JSON object a line; by default by the suffix.

        Raises
        ------
        WorkbenchError
            The file cannot be written, or there is no such format.
        """
        return write(self.remarks, Path(path), format)

    @classmethod
    def open(cls, path: str | Path) -> Remarks:
        """Read a file that `write` wrote, in either format.

        Raises
        ------
        LoadError
            The file is not such a file, or it is damaged or too large.
        """
        return cls(read(Path(path)))

    @property
    def headline(self) -> str:
        """The number of remarks of each kind."""
        count = Counter(remark.kind for remark in self)
        return f"{counted(len(self), 'remark')}: " + ", ".join(f"{count[kind]:,} {kind}" for kind in KINDS)

    def __str__(self) -> str:
        lines = [
            f"  {_bytes_in_layer(each)}, {each.pass_name}, {each.name}: {each.text}" for each in self.dearest[:SHOWN]
        ]
        if len(self.dearest) > SHOWN:
            lines.append(f"  and {len(self.dearest) - SHOWN} more missed")
        return visible("\n".join([self.headline, *lines]))

    def _repr_html_(self) -> str:
        rows = (
            {"bytes": each.bytes, "pass": each.pass_name, "reason": each.name, "layer": each.layer, "": each.text}
            for each in self.dearest
        )
        return html_table(self.headline, rows)


def _bytes_in_layer(remark: Remark, operators: str = "") -> str:
    size = "unknown bytes" if remark.bytes is None else counted(remark.bytes, "byte")
    return size + operators + (f" in {remark.layer}" if remark.layer else "")


def _by_bytes(found: Iterable[Remark]) -> Remarks:
    return Remarks(tuple(sorted(found, key=lambda remark: -1 if remark.bytes is None else remark.bytes, reverse=True)))


def _beyond(some: list[Remark], others: list[Remark], identity: Callable[[Remark], Hashable]) -> Iterator[Remark]:
    """Yield the remarks without a partner of the same identity among the others."""
    left = Counter(map(identity, others))
    for remark in some:
        left[identity(remark)] -= 1
        if left[identity(remark)] < 0:
            yield remark


def lost_text(lost: Sequence[Remark], now: Sequence[Remark], since: str) -> str:
    """Return the number of lost remarks, and a line for each with the reason that the later program, `now`, gives."""
    if not lost:
        return visible(f"no fusion, merge or fold lost since {since}")
    count = Counter(map(_noun, lost))
    head = ", ".join(counted(many, noun) for noun, many in count.items())
    reasons: dict[Hashable, list[Remark]] = {}
    for each in reversed(now):
        if each.kind != PASSED:
            reasons.setdefault(_producer(each), []).append(each)
    lines = [f"{head} lost since {since}:"]
    for each in lost[:LISTED]:
        said = _bytes_in_layer(each, f": {' -> '.join(each.operators)}")
        said += "" if each.pass_name == FUSE_OPS else f", {each.pass_name}"
        if found := reasons.get(_producer(each)):
            reason = found.pop()
            said += f"; now {reason.name}: {reason.text}"
        lines.append(f"  {said}")
    if len(lost) > LISTED:
        lines.append(f"  and {len(lost) - LISTED} more")
    return visible("\n".join(lines))


def _producer(remark: Remark) -> Hashable:
    """Return the identity of the first operator: a node that no phase looks at has a remark without a consumer."""
    return remark.pass_name, remark.function, remark.layer, remark.operators[:1], remark.bytes


def _noun(remark: Remark) -> str:
    if remark.pass_name == FUSE_OPS:
        return "fusion"
    return "fold" if remark.name in (FOLDED, SHORTENED) else "merge"


def remarks(
    source: Workload | Trace,
    target: TargetLike = "llvm",
    config: Config | Pipeline | Mapping[str, Any] | str | int | None = None,
    *,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Remarks:
    """Return each decision of the passes as a record: fused, merged or folded, or not, and why.

    The decisions of FuseOps are those of `wb.explain_fusion` on the graph before each FuseOps; its branches, chains and hazards are
    those of `wb.parallel_branches` and `wb.constant_chains`. A merge or a fold is "passed" only if the graph after the pass shows it.

    Parameters
    ----------
    source
        A Trace, or a Workload, whose passes then run: those of the compiler in the child process, or those of `config`.
    target, config
        Of the build of a Workload, as `wb.memory` takes them; a Trace has its own.

    Returns
    -------
    Remarks
        A sequence of records with `kind` (passed, missed, analysis), `pass_name`, `name` (the reason code), `message`, `change`,
        `operators`, `nodes`, `layer`, `source` and `bytes`. `.write` makes a file, `.lost(since)` compares two programs.

    Raises
    ------
    WorkbenchError
        The source is neither, or a trace comes with a config.
    MeasureError, WorkerLost
        The passes could not be started, or ended their process.

    Examples
    --------
    >>> found = wb.remarks(wb.samples.load("mlp", layers=1))
    >>> print(found.headline)
    4 remarks: 2 passed, 1 missed, 1 analysis
    >>> [(each.operators, each.name, each.bytes) for each in found.dearest]
    [(('transpose', 'matmul'), 'path_kind', 4096)]
    """
    if isinstance(source, Trace) and config is not None:
        raise WorkbenchError("a trace has its passes already; leave config out, or give remarks the workload")
    if not isinstance(source, (Trace, Workload)):
        raise WorkbenchError(f"remarks takes a Workload or a Trace, not {type(source).__name__}; {instead(source)}")
    how = Config.of({} if config is None else config)
    with showing_progress(progress, f"Collecting the remarks of {source.name}") as report:
        made = source if isinstance(source, Trace) else trace_of(source, target, how, timeout, report, cancelled)
        found: list[Remark] = []
        for place, step in enumerate(made.steps):
            if cancelled():
                raise Cancelled("the remarks were cancelled")
            report(step.name, place / len(made.steps))
            found += _of_step(made, step)
        return Remarks((*found, *unmerged_remarks(made), *chain_remarks(made)))


def trace_of(
    workload: Workload,
    target: TargetLike,
    config: Config,
    timeout: float,
    progress: Progress,
    cancelled: Callable[[], bool],
) -> Trace:
    """Return the trace of a Config's pipeline, or else of the compiler's own passes up to the kernels."""
    if config.pipeline:
        return trace(workload, config.pipeline, config.opt_level)
    switched = config.opt_level, config.disabled, config.required, config.options
    return trace_build(
        workload, target, *switched, whole=False, timeout=timeout, progress=progress, cancelled=cancelled
    )


def _of_step(made: Trace, step: Step) -> Iterator[Remark]:
    name = pass_of(step)
    if step.error:
        yield Remark(MISSED, name, "failed", f"The pass failed: {step.error}.")
    elif step.detail == UNTRUSTED:
        yield Remark(ANALYSIS, name, "untrusted", f"Its constants are not folded: {UNTRUSTED}.")
    elif not ran(step):
        yield Remark(ANALYSIS, name, step.status, _NOT_RUN[step.status])
    elif name == FUSE_OPS:
        yield from fusion_remarks(made, step)
    else:
        yield from merge_remarks(made, step)
        yield from fold_remarks(made, step)


_NOT_RUN = {"off": "The pass is switched off.", "skipped": "The pass needs a higher opt_level than the trace has."}
