"""The lint of tuned schedules that a build does not look up: other passes make other kernels, and TVM compiles those without a schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from workbench.debugging.lints.result import Lint
from workbench.dialects.base import Workload
from workbench.errors import MeasureError, WorkerLost
from workbench.experiments.symptoms import ROLE
from workbench.graph.model import Graph
from workbench.pipeline.config import Config
from workbench.target_text import TargetLike, target_text
from workbench.wording import counted
from workbench.worker.parent import JobOptions, worker

UNUSED = "record-not-used"


@dataclass(frozen=True)
class Kernel:
    """A kernel that a build looks up."""

    function: str
    key: str
    nodes: tuple[int, ...]
    calls: int


@dataclass(frozen=True)
class Lookups:
    """The kernels that a build looks up, and the records of its database."""

    kernels: tuple[Kernel, ...] = ()
    graph: Graph = field(default_factory=Graph)
    records: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    "key -> `best` and `plain`: seconds of one call of the best candidate and without a schedule"

    @property
    def used(self) -> dict[str, Kernel]:
        """Return the kernels that have a record of a candidate that ran, by key."""
        return {each.key: each for each in self.kernels if self.records.get(each.key, {}).get("best") is not None}

    def helps(self, key: str) -> bool:
        """Return whether the best candidate of a kernel is another one than the kernel without a schedule."""
        return self.records[key]["best"] != self.records[key]["plain"]


def unused_records(workload: Workload, how: Config, target: TargetLike, limits: JobOptions) -> Iterator[Lint]:
    """Yield a lint of the records that TVM's default build looks up and this one does not, or of a database without any for it.

    Records of other models in the database are no lint: one database serves all models of a machine.
    """
    now = _lookups(workload, how, target, limits) if how.schedules else Lookups()
    other = Config(schedules=how.schedules)
    if not now.records:
        return
    then = now if other == how.same_build() else _lookups(workload, other, target, limits)
    left = {key: kernel for key, kernel in then.used.items() if key not in now.used and then.helps(key)}
    if left:
        names = ", ".join(kernel.function for kernel in left.values())
        said = f"this build does not look up the schedules of {names}; {other.label} does"
        nodes = tuple(sorted({node for kernel in left.values() for node in kernel.nodes}))
        operators = tuple(then.graph.nodes[node].op for node in nodes)
        yield Lint(UNUSED, said, nodes, operators, None, how, other, _saved(then, left))
    elif not now.used and _builds(workload, without := replace(how, schedules=""), target, limits):
        said = f"the database has {counted(len(now.records), 'tuned kernel')}, and this program has none of them"
        yield Lint(UNUSED, said, (), (), None, how, without)


def _saved(found: Lookups, kernels: Mapping[str, Kernel]) -> float | None:
    """Return the seconds of a run by which the best candidates were faster than the kernels without a schedule."""
    total = 0.0
    for key, kernel in kernels.items():
        best, plain = found.records[key]["best"], found.records[key]["plain"]
        if best is None or plain is None:
            return None
        total += kernel.calls * (plain - best)
    return total


def _lookups(workload: Workload, config: Config, target: TargetLike, limits: JobOptions) -> Lookups:
    asked = {"target": target_text(target), "config": config.to_data()}
    found = worker(ROLE).run("lookups", workload, asked, **limits)
    kernels = (Kernel(row["function"], row["key"], tuple(row["nodes"]), row["calls"]) for row in found["kernels"])
    return Lookups(tuple(kernels), Graph.from_data(found["graph"]), found["records"])


def _builds(workload: Workload, config: Config, target: TargetLike, limits: JobOptions) -> bool:
    try:
        worker(ROLE).run("build", workload, {"target": target_text(target), "config": config.to_data()}, **limits)
    except WorkerLost:
        raise
    except MeasureError:
        return False
    return True
