"""`wb.schedules`: which of TVM's rules scheduled each kernel, and where each of the others gave up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.dialects import registry
from workbench.dialects.base import Shapes, Workload, choose_entry, workload_of
from workbench.dialects.compiler.results import Attempt, KernelSchedule, Place, restored
from workbench.dialects.trust import allowed
from workbench.errors import MeasureError, UnknownName
from workbench.experiments.symptoms import ROLE
from workbench.graph.model import Graph
from workbench.pipeline.config import AS_IS, Config, check_config, context_of
from workbench.target_text import TargetLike, target_text
from workbench.terminal import html_table, visible
from workbench.wording import counted, one_line
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, never, worker
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd

ERROR = 200
"characters of TVM's error on one line"


Row = TypeVar("Row")


@dataclass(frozen=True)
class ByKernel(Sequence[Row]):
    """A row for each kernel, found by its place or by the kernel's name."""

    by_name: Mapping[str, Row] = field(repr=False)
    "in order"
    target: str

    def __len__(self) -> int:
        return len(self.by_name)

    def __getitem__(self, place: Any) -> Any:
        """Return a row by its place or the name of its kernel, or those of a slice."""
        if not isinstance(place, str):
            return tuple(self.by_name.values())[place]
        if place not in self.by_name:
            raise UnknownName("kernel", place, list(self.by_name))
        return self.by_name[place]


@dataclass(frozen=True)
class Schedules(ByKernel[KernelSchedule]):
    """The kernels of a build in the order of their first call, each with the rules that were tried for its schedule."""

    graph: Graph = field(repr=False)
    "the module before its kernels are made"

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each rule that was tried: kernel, calls, rule, outcome, the test or the error, its function and line."""
        import pandas as pd

        columns = ["kernel", "calls", "rule", "outcome", "because", "function", "file", "line"]
        return pd.DataFrame([row for kernel in self for row in _rows(kernel)], columns=columns)

    @property
    def _title(self) -> str:
        rules = {kernel.rule for kernel in self} - {""}
        by = f", scheduled by {counted(len(rules), 'rule')}" if rules else ", none scheduled by a rule"
        return f"{counted(len(self), 'kernel')} for {self.target}{by}"

    def __str__(self) -> str:
        return visible("\n".join([self._title, *(line for kernel in self for line in _lines(kernel))]))

    def _repr_html_(self) -> str:
        rows = (
            {
                "kernel": kernel.name,
                "calls": kernel.calls,
                "schedule": how(kernel),
                "before it": "; ".join(said(each) for each in kernel.attempts if each.outcome != "took"),
            }
            for kernel in self
        )
        return html_table(self._title, rows)


def schedules(
    workload: Workload,
    target: TargetLike = "cuda",
    rules: Iterable[object] | None = None,
    opt_level: int = 3,
    disabled: Sequence[str] = (),
    required: Sequence[str] = (),
    config: Mapping[str, Any] | Config | None = None,
    *,
    entry: str | None = None,
    shapes: Shapes | None = None,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Schedules:
    """Find which rule schedules each kernel, and for each rule before it the test at which it declined or the error that it raised.

    TVM's own rules run, in the order in which TVM's pipeline for the target tries them; nothing is compiled, and no GPU is needed.
    Relax only: Relay's schedules are not on TIR.

    Parameters
    ----------
    target
        As TVM writes it. TVM's pipeline for a CPU has no rules.
    rules
        The rules to try instead of the pipeline's own: dlight's names, `"GEMV"` or `"gpu.GEMV"`, or rules of your own, which run in the
        notebook's TVM.
    config
        PassContext config, or a whole Config, instead of opt_level, disabled and required. With a database of schedules its records
        come before the rules.

    Raises
    ------
    MeasureError, WorkerLost
        TVM's pipeline failed before it came to the rules, or ended its process.

    Examples
    --------
    >>> w = wb.samples.load("mlp")
    >>> found = wb.schedules(w, "cuda -arch=sm_80")
    >>> print(found["fused_matmul_add_relu"].rule)
    Reduction
    """
    how = context_of(opt_level, disabled, required, config)
    build = build_of(workload, "schedules", target, rules, how, entry, shapes)
    with showing_progress(progress, f"Trying the rules of {build.program.name}") as report:
        if build.rules_of_tvm:
            limits: JobOptions = {"timeout": timeout, "progress": report, "cancelled": cancelled}
            answer = worker(ROLE).run("rules", build.program, build.asked, **limits)
            built_for, graph = answer["target"], Graph.from_data(answer["graph"])
            kernels = [restored(KernelSchedule, row) for row in answer["kernels"]]
        else:
            with allowed(build.program.trusted):
                compiler = registry.dialect(build.program.dialect).compiler
                graph, kernels = compiler.schedules(build.program, *build.asked.values())
            built_for = build.target
    return Schedules({kernel.name: kernel for kernel in kernels}, built_for, graph)


@dataclass(frozen=True)
class Build:
    """A build whose kernels get schedules, by TVM's pipeline or by rules that are given."""

    program: Workload
    target: str
    config: Config
    rules: Sequence[object]

    @property
    def asked(self) -> dict[str, Any]:
        """The arguments of a job about the build."""
        return {"target": self.target, "config": self.config.to_data(), "rules": list(self.rules)}

    @property
    def rules_of_tvm(self) -> bool:
        """True if only TVM's own rules are tried, in the child process. A user's rules are objects of the notebook's TVM."""
        return all(isinstance(each, str) for each in self.rules)

    def kernels(self, names: Iterable[str] | None = None, **limits: Any) -> dict[str, Any]:
        """Return the names of all kernels, and some kernels with their schedules, as values of JSON.

        `names`: of those kernels, "" for the first one; all of them if None.
        """
        asked = {**self.asked, "names": None if names is None else _listed(names)}
        if self.rules_of_tvm:
            return worker(ROLE).run("scheduled_kernels", self.program, asked, **limits)
        with allowed(self.program.trusted):
            return scheduled_module(self.program.dialect).sent_kernels(self.program, **asked)


def build_of(
    workload: object,
    caller: str,
    target: TargetLike,
    rules: Iterable[object] | None,
    config: Config,
    entry: str | None,
    shapes: Shapes | None,
) -> Build:
    """Return the build of a caller's arguments. Raises WorkbenchError: an argument is wrong."""
    workload = workload_of(workload, caller)
    if config.disabled != AS_IS:  # which names passes of both dialects
        check_config(workload, config)
    return Build(choose_entry(workload, entry, shapes), target_text(target), config, _listed(rules or ()))


def _listed(given: Iterable[Any]) -> list[Any]:
    return [given] if isinstance(given, str) else list(given)


def scheduled_module(dialect: str, *, newest: bool = False) -> Any:
    """Return the module of kernels with their schedules, in this process's TVM. `newest`: whether TVM 0.27 is needed.

    Raises MeasureError: this dialect or this TVM has none.
    """
    if dialect != "relax":
        raise MeasureError(
            "Relay makes its schedules of TE, and only those on TIR have steps and can be checked; wb.to_relax makes a Relax program"
        )
    if newest and find_spec("tvm.sym") is None:
        raise MeasureError("wb.check_schedule needs TVM 0.27 or newer, with Relax")
    from workbench.dialects.relax.compiler import scheduled

    return scheduled


def how(kernel: KernelSchedule) -> str:
    """Return in a few words where a kernel's schedule comes from."""
    note = f" ({kernel.record})" if kernel.record else ""
    if kernel.raised:
        after = f"; {kernel.taken} would take it" if kernel.taken else "; no other rule takes it"
        return f"none, the build ends with the error of {kernel.raised}{after}{note}"
    return (kernel.rule or ("a record" if kernel.recorded else "none")) + note


def said(attempt: Attempt) -> str:
    """Return what came of a rule, in one sentence without a full stop: the test that it ended at, and the helper's."""
    if attempt.outcome == "raised":
        at = "".join(f" at `{place.text}`{_values(place)}" for place in attempt.places[:1])
        return f"{attempt.rule} raised {one_line(attempt.error, ERROR)}{at}"
    tests = [f"`{place.text}`{_values(place)}" for place in attempt.places]
    names = [place.function.rpartition(".")[2] for place in attempt.places]
    inner = "".join(f", and {name} returned at {test}" for name, test in zip(names[1:], tests[1:], strict=True))
    return f"{attempt.rule} {attempt.outcome}" + (f" at {tests[0]}{inner}" if tests else "")


def _values(place: Place) -> str:
    values = ", ".join(f"{name} is {value}" for name, value in place.values.items())
    return f" ({values})" if values else ""


def _lines(kernel: KernelSchedule) -> Iterator[str]:
    yield f"{kernel.name} ({counted(kernel.calls, 'call')}): {how(kernel)}"
    yield from (f"  {said(each)}" for each in kernel.attempts if each.outcome != "took")


def _rows(kernel: KernelSchedule) -> Iterator[tuple[object, ...]]:
    for attempt in kernel.attempts:
        place = attempt.places[-1] if attempt.places else None
        at = (place.function, Path(place.file).name, place.line) if place else ("", "", None)
        because = attempt.error or (place.text if place else "")
        yield kernel.name, kernel.calls, attempt.rule, attempt.outcome, because, *at
    if not kernel.attempts:
        yield kernel.name, kernel.calls, "", how(kernel), "", "", "", None
