"""The lints of schedules: kernels that TVM builds with a fallback, and tuned records that a build does not look up.

A file of AutoTVM's records may come from anybody: each line is bounded JSON, and a pickled record is not opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.debugging.lints.result import Lint, config_text
from workbench.dialects.base import Workload
from workbench.errors import LoadError, MeasureError, WorkbenchError, WorkerLost, reason
from workbench.experiments.symptoms import ROLE
from workbench.graph.model import Graph
from workbench.graph.received import Damaged, contents, fields, parse
from workbench.pipeline.config import Config
from workbench.wording import counted
from workbench.worker.parent import JobOptions, worker

FALLBACK, UNUSED = "fallback-kernel", "record-not-used"
_NO_GAIN = "no gain is predicted, because TVM has no estimate of a schedule that it has not tried"
SHOWN = 3
"kernels, or lines of a log, that a message names"


@dataclass(frozen=True)
class Build:
    """A build that the child process is asked about."""

    workload: Workload
    config: Config
    target: str
    limits: JobOptions

    def ask(self, job: str, **more: object) -> Any:
        """Return the answer of a job."""
        asked = {"target": self.target, "config": self.config.to_data(), **more}
        return worker(ROLE).run(job, self.workload, asked, **self.limits)

    @property
    def tune(self) -> str:
        """Return the call that searches for schedules of the build."""
        given = ["w"]
        if self.target != "llvm":
            given.append(repr(self.target))
        if (config := config_text(replace(self.config, schedules=""))) != config_text(Config()):
            given.append(f"config={config}")
        if self.config.schedules:
            given.append(f"folder={self.config.schedules!r}")
        return f"wb.tune_schedules({', '.join(given)})"

    def lint(
        self, name: str, message: str, call: str = "", nodes: tuple[int, ...] = (), operators: tuple[str, ...] = ()
    ) -> Lint:
        """Return a lint whose fix is not another configuration."""
        return Lint(name, message, nodes, operators, None, self.config, self.config, call=call or self.tune)


# -- kernels


def fallback_kernels(build: Build, log: str | Path | None) -> Iterator[Lint]:
    """Yield the kernels that TVM builds with a fallback, and the records of a log that the build does not use; raises WorkbenchError."""
    if log is not None and build.workload.dialect != "relay":
        raise WorkbenchError("Relax has no AutoTVM, so a build uses no log; give schedules= of wb.Config instead")
    records = None if log is None else read_log(Path(log))
    try:
        found = build.ask("fallbacks", log=[] if records is None else list(records.texts))
    except WorkerLost:
        raise
    except MeasureError as error:
        if records is None:
            return
        raise MeasureError(
            f"the build with the records of {Path(str(log)).name!r} fails: {error}; leave out those of another TVM"
        ) from error
    graph = Graph.from_data(found["graph"])
    # one search schedules all kernels that TVM has no schedule for: a CPU's pipeline of Relax schedules none
    together: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for kernel in found["kernels"]:
        alone = "" if kernel["cause"] in ("unscheduled", "rule") else kernel["name"]
        together.setdefault((kernel["cause"], alone), []).append(kernel)
    for kernels in together.values():
        nodes = tuple(node for kernel in kernels for node in kernel["nodes"])
        operators = tuple(graph.nodes[node].op for node in nodes)
        why = (
            _NO_GAIN
            if kernels[0]["cause"] != "rule"
            else f"{_NO_GAIN}; wb.schedules(w, {build.target!r}) shows why the other rules declined"
        )
        yield build.lint(FALLBACK, f"{_kernels(kernels, operators)}; {why}", "", nodes, operators)
    if records is not None:
        yield from _unused_lines(build, str(log), records, found["unused"])


def _kernels(kernels: Sequence[Mapping[str, Any]], names: tuple[str, ...]) -> str:
    kernel, operators = kernels[0], ", ".join(dict.fromkeys(names))
    if len(kernels) > 1:
        shown = ", ".join(str(each["name"]) for each in kernels[:SHOWN])
        more = f" and {len(kernels) - SHOWN} more" if len(kernels) > SHOWN else ""
        return {
            "unscheduled": f"{len(kernels)} kernels are compiled without a schedule, because TVM's passes have none for {shown}{more}",
            "rule": f"{len(kernels)} kernels have the schedule of dlight's fallback rule, one thread for a reduction: {shown}{more}",
        }[kernel["cause"]]
    return {
        "untuned": f"{operators} is compiled as {kernel['name']} with a default configuration, because no tuning record is for it",
        "warned": f"{operators} is compiled as {kernel['name']}, and TVM warns: {kernel['said']}",
        "unscheduled": f"{kernel['name']} ({operators}) is compiled without a schedule: TVM's passes have none for it",
        "rule": f"{kernel['name']} ({operators}) has the schedule of dlight's fallback rule: one thread computes a whole reduction",
    }[kernel["cause"]]


# -- records of AutoTVM


@dataclass(frozen=True)
class Log:
    """The records of a log, and the lines that are not records."""

    lines: tuple[int, ...]
    "of each record, 1-based"
    texts: tuple[str, ...]
    "of each record, JSON"
    bad: tuple[tuple[int, str], ...]
    "line and reason"


LARGEST = 64 << 20
"bytes of a log"
_RECORD = {"input": list, "config": dict, "result": list}
_CONFIG = {"index": int, "entity": list}
_KNOB = ("name", "kind", "value")
_INPUT, _RESULT = (str, str, list, dict), (list, int, float, float)


def read_log(path: Path) -> Log:
    """Return the records of a log; raises LoadError."""
    try:
        data = contents(path, LARGEST)
    except (OSError, ValueError) as error:
        raise LoadError(
            f"the log {path.name!r} cannot be read ({reason(error)}); give a file of AutoTVM's records of one model"
        ) from error
    good: list[tuple[int, str]] = []
    bad: list[tuple[int, str]] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip() or line.startswith(b"#"):
            continue
        try:
            good.append((number, _record(line)))
        except Damaged as error:
            bad.append((number, str(error)))
    if not good:
        why = f"; line {bad[0][0]}: {bad[0][1]}" if bad else ""
        raise LoadError(
            f"the log {path.name!r} has no record of AutoTVM{why}; give the file that a tuner's log_to_file wrote"
        )
    return Log(tuple(number for number, _ in good), tuple(text for _, text in good), tuple(bad))


def _record(line: bytes) -> str:
    """Return a record as JSON; raise Damaged if it is not one."""
    if b"\t" in line:
        raise Damaged("it may be a pickled record, which is not opened")
    found = parse(line)
    if isinstance(found, dict) and {"i", "r"} <= found.keys():
        raise Damaged("it is a record of AutoScheduler, which is not read")
    if isinstance(found, dict) and "v" in found:
        raise Damaged("it is of a version that TVM does not read anymore")
    kept = fields(found, _RECORD)
    fields(kept["config"], _CONFIG)
    for name, wanted in (("input", _INPUT), ("result", _RESULT)):
        if len(kept[name]) != len(wanted):
            raise Damaged(f"{name!r} has {counted(len(kept[name]), 'value')}, not {len(wanted)}")
        fields(dict(enumerate(kept[name])), dict(enumerate(wanted)))
    costs = kept["result"][0]
    fields(dict(enumerate(costs)), dict.fromkeys(range(max(1, len(costs))), float))
    for entity in kept["config"]["entity"]:
        if not isinstance(entity, list) or len(entity) != len(_KNOB):
            raise Damaged("a knob of its configuration is not a list of three values")
    kept["config"].setdefault("code_hash", None)
    return json.dumps(kept)


def _unused_lines(build: Build, path: str, log: Log, unused: list[dict[str, Any]]) -> Iterator[Lint]:
    for number, why in log.bad:
        yield build.lint(UNUSED, f"line {number} of the log is not a record of AutoTVM: {why}")
    other = replace(build, config=Config())
    theirs = unused
    if unused and build.config.same_build() != other.config:
        theirs = other.ask("fallbacks", log=list(log.texts))["unused"]
    left = {tuple(each["places"]) for each in theirs}
    for each in unused:
        lines = [log.lines[place] for place in each["places"]]
        named = f"of {each['task']} " if each["task"] else ""
        where = f"line{'s' * (len(lines) != 1)} {', '.join(map(str, lines[:SHOWN]))}{', ...' * (len(lines) > SHOWN)}"
        said = f"the build does not use {counted(len(lines), 'record')} {named}({where})"
        by_default, ours = tuple(each["places"]) not in left, each["ours"]
        why = {
            "operator": f"no operator looks up this task; those of the build are {ours or 'none'}",
            "arguments": f"the record has {each['theirs']} where the build has {ours}",
            "target": f"they are for {each['theirs']}, and the target is {ours}",
            "failed": "each of them failed when it was measured",
            "invalid": f"TVM does not read it: {each['theirs']}",
        }[each["cause"]]
        if by_default:
            why = f"{other.config.label} looks them up, and these passes do not"
        call = ""
        if by_default or each["cause"] == "target":
            target = each["target"] if each["cause"] == "target" else build.target
            call = (
                f"with tvm.autotvm.apply_history_best({path!r}): tvm.relay.build(w.module, {target!r}, params=w.params)"
            )
        yield build.lint(UNUSED, f"{said}: {why}", call)


# -- records of MetaSchedule


@dataclass(frozen=True)
class Lookups:
    """The kernels that a build looks up, and the records of its database."""

    used: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    "key -> the kernel: those that have a record of a candidate that ran"
    graph: Graph = field(default_factory=Graph)
    records: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    "key -> `best` and `plain`: seconds of one call of the best candidate and without a schedule"

    @staticmethod
    def of(build: Build) -> Lookups:
        """Ask the child process."""
        found = build.ask("lookups")
        records = found["records"]
        ran = {row["key"]: row for row in found["kernels"] if records.get(row["key"], {}).get("best") is not None}
        return Lookups(ran, Graph.from_data(found["graph"]), records)


def unused_records(build: Build) -> Iterator[Lint]:
    """Yield a lint of the records that TVM's default build looks up and this one does not, or of a database without any for it.

    Other passes make other kernels, and TVM compiles those without a schedule. Records of other models in the database are no lint: one
    database serves all models of a machine.
    """
    how = build.config
    now = Lookups.of(build) if how.schedules else Lookups()
    if not now.records:
        return
    other = Config(schedules=how.schedules)
    then = now if other == how.same_build() else Lookups.of(replace(build, config=other))
    # a record helps if the best candidate is another one than the kernel without a schedule
    left = {
        key: kernel
        for key, kernel in then.used.items()
        if key not in now.used and then.records[key]["best"] != then.records[key]["plain"]
    }
    if left:
        names = ", ".join(kernel["function"] for kernel in left.values())
        said = f"this build does not look up the schedules of {names}; {other.label} does"
        nodes = tuple(sorted({node for kernel in left.values() for node in kernel["nodes"]}))
        operators = tuple(then.graph.nodes[node].op for node in nodes)
        times = [(each["calls"], then.records[key]["best"], then.records[key]["plain"]) for key, each in left.items()]
        known = [calls * (plain - best) for calls, best, plain in times if best is not None and plain is not None]
        saved = float(sum(known)) if len(known) == len(times) else None
        yield Lint(UNUSED, said, nodes, operators, None, how, other, saved)
    elif not now.used and _is_built(without := replace(build, config=replace(how, schedules=""))):
        said = f"the database has {counted(len(now.records), 'tuned kernel')}, and this program has none of them"
        yield Lint(UNUSED, said, (), (), None, how, without.config)


def _is_built(build: Build) -> bool:
    try:
        build.ask("build")
    except WorkerLost:
        raise
    except MeasureError:
        return False
    return True
