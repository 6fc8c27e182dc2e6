"""The rules of dlight, watched while they run: which schedules a kernel, and the test at which each of the others gave up."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import tvm

from workbench.analysis.units import linked
from workbench.dialects.base import Workload, refuse_without_main
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.results import Attempt, FallbackKernel, Fallbacks, KernelSchedule
from workbench.dialects.compiler.tuning import key_of, load_intrinsics, noting, opened
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relax.compiler import refusals
from workbench.dialects.relax.compiler.kernel_inputs import buffers_of
from workbench.dialects.relax.compiler.kernels import CALLS, FUSED, SCHEDULED, Watch, pipeline, program_of_module
from workbench.dialects.relax.entries import run_alone
from workbench.dialects.relax.graph import build_graph
from workbench.dialects.relax.kinds import blocks_of, prim_funcs, reduces
from workbench.dialects.scheduling import require_database
from workbench.errors import MeasureError, UnknownName
from workbench.graph.model import Graph

DLIGHT = "tvm.s_tir.dlight"


@tvm.ir.instrument.pass_instrument
class Rules:
    """Watches the rules that a pipeline applies, as an instrument of its PassContext and inside of `watching`.

    `on`: whether to go on after a rule that raised, to know which of the next rules would take the kernel. TVM's own pipeline ends there.
    """

    def __init__(self, on: bool = False) -> None:
        self.on = on
        self.functions: dict[str, Any] = {}
        "kernels, as they were before a rule was applied; the pass changes its module in place"
        self.attempts: dict[str, tuple[Attempt, ...]] = {}
        "name of a kernel -> the rules that were tried, in order"
        self.taken: dict[str, Any] = {}
        "name of a kernel -> its schedule"
        self.looked: dict[str, Any] = {}
        "name of a kernel -> the module that was looked up in a database for it"

    def run_before_pass(self, module: tvm.IRModule, info: Any) -> None:
        if str(info.name) == SCHEDULED:
            self.functions |= prim_funcs(module)

    @contextmanager
    def watching(self) -> Iterator[None]:
        transform: Any = importlib.import_module(f"{DLIGHT}.base.transform")
        own = transform._apply_rules  # noqa: SLF001  the pass keeps neither rules nor traces

        def apply(function: Any, target: Any, rules: Sequence[Any], tunable: bool) -> Any:
            name = next(name for name, each in self.functions.items() if each.same_as(function))
            taken = self.apply(name, function, target, rules, tunable)
            return taken if taken is None or isinstance(taken, list) else [taken]

        transform._apply_rules = apply  # noqa: SLF001
        try:
            yield
        finally:
            transform._apply_rules = own  # noqa: SLF001

    def apply(self, name: str, function: Any, target: Any, rules: Sequence[Any], tunable: bool = False) -> Any:
        """Try rules until one takes the kernel; return its schedule."""
        tried, taken = [], None
        for rule in rules:
            attempt, taken = attempted(rule, function, target, tunable, self.on)
            tried.append(attempt)
            if taken is not None:
                self.taken[name] = taken[0] if isinstance(taken, list) else taken
                break
        self.attempts[name] = (*self.attempts.get(name, ()), *tried)
        return taken

    def apply_given(self, functions: Mapping[str, Any], target: tvm.target.Target, rules: Sequence[Any]) -> None:
        """Try rules that are given for the kernels that have no schedule."""
        for name, function in functions.items() if rules else ():
            if not is_scheduled(function):
                with target:
                    self.apply(name, function, target, rules)
        self.functions = {name: self.functions.get(name, function) for name, function in functions.items()}


def schedules(
    workload: Workload, target: str, config: Mapping[str, Any], rules: Sequence[Any] = ()
) -> tuple[Graph, tuple[KernelSchedule, ...]]:
    """Return a build's kernels, each with the rules that were tried for its schedule, and their graph.

    `rules`: dlight's names (`Matmul`, `gpu.GEMV`) or rules; the pipeline's own if there are none.
    """
    made = make_target(target)
    watch, watched = run_rules(workload, made, config, rules)
    records = list(opened(config["schedules"]).get_all_tuning_records()) if watched.looked else []
    graph = build_graph(run_alone(watch.first(FUSED, CALLS), workload), workload.name)
    rows = program_of_module(run_alone(watch.first(CALLS), workload), workload.name).rows(None)
    nodes: dict[str, list[tuple[int, ...]]] = {}
    for row, unit in zip(rows, linked(graph, rows), strict=True):
        if row["function"] in watched.functions:
            nodes.setdefault(str(row["function"]), []).append(unit.nodes if unit else ())
    return graph, tuple(
        KernelSchedule(
            name,
            tuple(sorted({node for call in calls for node in call})),
            len(calls),
            reduces(watched.functions[name]),
            is_scheduled(watched.functions[name]),
            _record(name, watched.looked, records, made),
            watched.attempts.get(name, ()),
        )
        for name, calls in nodes.items()
    )


def run_rules(
    workload: Workload, target: tvm.target.Target, config: Mapping[str, Any], rules: Sequence[Any] = ()
) -> tuple[Watch, Rules]:
    """Run TVM's pipeline until the kernels have their schedules; return its modules, and the kernels with the rules that were tried."""
    refuse_without_main(workload, MeasureError)
    given = rules_of(rules, target)
    watch, watched = Watch(stop=CALLS, schedules=not given), Rules(on=True)
    with ExitStack() as around:
        if config.get("schedules"):
            require_database(str(config["schedules"]))
            load_intrinsics()
            around.enter_context(noting(opened(config["schedules"]), watched.looked))
        for each in (target, pass_context(config, [watch, watched]), watched.watching()):
            around.enter_context(each)
        pipeline(target, config)(workload.module)
        watched.apply_given(prim_funcs(watch.first(CALLS)), target, given)
    # a reshape that became a call of the runtime leaves its kernel without a call
    called = prim_funcs(tvm.relax.transform.DeadCodeElimination(["main"])(watch.first(CALLS)))
    watched.functions = {name: each for name, each in watched.functions.items() if name in called}
    return watch, watched


def _record(name: str, looked: Mapping[str, Any], records: Sequence[Any], target: tvm.target.Target) -> str:
    """Return what there is to say of a kernel's record, or of that of the most similar kernel; empty without one."""
    if name not in looked:
        return ""
    (own,), ours = prim_funcs(looked[name]).values(), key_of(looked[name])
    for record in records:
        if key_of(record.workload.mod) == ours:
            # TVM looks up the kernel alone
            return "" if _kind(record.target) == _kind(target) else f"tuned for {record.target}"
    near = [function for record in records for function in prim_funcs(record.workload.mod).values()]
    for other in near:
        if _blocks(other) == _blocks(own):
            return f"the closest record is of {_tensors(other)}, and this kernel is of {_tensors(own)}"
    return ""


def _kind(target: tvm.target.Target) -> tuple[object, ...]:
    """Return what decides a target's code: MetaSchedule adds a number of cores to it."""
    return target.kind.name, *(str(target.attrs.get(each, "")) for each in ("mcpu", "mtriple", "arch"))


def _blocks(function: Any) -> list[str]:
    """Return the names of a kernel's blocks, which LegalizeOps gives by operator."""
    return sorted(str(block.name_hint) for block in blocks_of(function.body))


def _tensors(function: Any) -> str:
    return ", ".join(
        f"{each.dtype}[{', '.join(str(getattr(size, 'value', size)) for size in each.shape)}]"
        for each in buffers_of(function)
        if each is not None
    )


def fallbacks(workload: Workload, target: str, config: Mapping[str, Any], log: Sequence[str] = ()) -> Fallbacks:  # noqa: ARG001  Relax has no AutoTVM
    """Return the kernels with a reduction that no pass scheduled, or that dlight's fallback rule did.

    For other kernels TVM has nothing better: the fallback rule is made for them, and a CPU's code generator vectorizes their loops.
    """
    graph, kernels = schedules(workload, target, config)
    found = (
        FallbackKernel("rule" if kernel.rule else "unscheduled", kernel.name, kernel.nodes)
        for kernel in kernels
        if kernel.reduces and not kernel.recorded and kernel.rule in ("", "Fallback")
    )
    return Fallbacks(graph, tuple(found))


def is_scheduled(function: Any) -> bool:
    """Return whether a kernel is marked as scheduled; `tir.is_scheduled` before TVM 0.27."""
    return any(str(key).endswith(".is_scheduled") and bool(value) for key, value in (function.attrs or {}).items())


def rules_of(rules: Sequence[Any], target: tvm.target.Target) -> list[Any]:
    """Return rules, those of dlight by their names. Raises MeasureError: one is not a rule, or its name is unknown."""
    for each in rules:
        if not (isinstance(each, str) or (hasattr(each, "apply") and not isinstance(each, type))):
            called = f"; call it: {each.__name__}()" if isinstance(each, type) else ""
            raise MeasureError(
                f"a rule is the name of one of dlight's or an object with `apply`, not {each!r:.80}{called}"
            )
    return [rule_of(each, target) if isinstance(each, str) else each for each in rules]


def rule_of(name: str, target: tvm.target.Target) -> Any:
    """Return the rule of dlight with a name, `GEMV` or `gpu.GEMV`; raises UnknownName."""
    folder, _, rule = name.rpartition(".")
    folder = folder or ("cpu" if target.kind.name in ("llvm", "c") else "gpu")
    base = importlib.import_module(f"{DLIGHT}.base").ScheduleRule
    found = vars(importlib.import_module(f"{DLIGHT}.{folder}")) if folder in ("cpu", "gpu", "adreno") else {}
    known = {each: kind for each, kind in found.items() if isinstance(kind, type) and issubclass(kind, base)}
    if rule not in known:
        raise UnknownName("rule of dlight", name, sorted(known))
    return known[rule]()


def attempted(rule: Any, function: Any, target: Any, tunable: bool, on: bool = True) -> tuple[Attempt, Any]:
    """Apply one rule; return what came of it, and its schedule or list of schedules, None if it gave none.

    `on`: whether an error of the rule is an outcome, and the places are looked for; a build wants the name alone.
    """
    name = type(rule).__name__
    own = getattr(sys.modules.get(type(rule).__module__), "__file__", None) or ""
    watch = refusals.Watch((str(Path(sys.modules[DLIGHT].__file__ or "").parent), own))
    try:
        taken = rule.apply(function, target, tunable)
        if taken is None and on:
            # again: while it is watched, the import of tensor intrinsics in a rule that takes the kernel would take minutes
            with watch.on():
                taken = rule.apply(function, target, tunable)
    except Exception as error:
        if not on:
            raise
        said = str(error).strip() or "no message"
        return Attempt(name, "raised", watch.raised_at(error), error=f"{type(error).__name__}: {said}"), None
    if taken is None:
        return Attempt(name, "declined", watch.declined_at()), None
    first = taken[0] if isinstance(taken, list) else taken
    return Attempt(name, "took", trace=str(first.trace)), taken
