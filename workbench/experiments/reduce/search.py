"""The search for a smaller program and configuration: offer an edit, make the program in the child process, probe it, keep it or not."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from workbench.analysis.tensors import Tensor, tensor
from workbench.dialects.base import Workload
from workbench.errors import Cancelled, WorkerLost
from workbench.experiments.reduce.size import Size, has_empty, size_of
from workbench.experiments.symptoms import YES, Finding, Limits, Symptom, probe
from workbench.graph.model import Graph
from workbench.pipeline.config import Config
from workbench.pipeline.run import applied_in_child
from workbench.pipeline.spec import PassStep, Pipeline
from workbench.wording import counted
from workbench.worker.parent import silent


@dataclass(frozen=True)
class Shrink:
    """An edit after which the program still shows the symptom."""

    edit: PassStep | None
    "the pass; None if only values of parameters changed"
    said: str
    "the edit in words"
    before: Size
    after: Size
    workload: Workload = field(repr=False)
    "the program after it"
    finding: Finding
    "the evidence that the symptom is the same"


@dataclass
class Search:
    """The smallest program so far, and the way to it."""

    workload: Workload
    config: Config
    pipeline: Pipeline | None
    "of the configuration, if it has Python functions, which run in this process"
    symptom: Symptom
    limits: Limits
    wanted: Finding
    "the answer for the program that the search began with"
    deadline: float
    "of time.monotonic()"
    found: Finding = field(init=False)
    "the answer for the smallest program so far"
    steps: list[Shrink] = field(default_factory=list)
    probes: int = 1
    refused: int = 0
    "edits that TVM's type inference, or the pass itself, refused"
    _seen: set[tuple[str, ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.size, self.found = size_of(self.workload), self.wanted
        self._seen.add(_key(self.workload))

    @property
    def graph(self) -> Graph:
        return self.workload.graph

    def offer(self, said: str, edit: PassStep | None, params: Mapping[str, Any] | None = None) -> bool:
        """Keep the program after an edit if it is smaller and shows the same symptom; return whether it is kept.

        Without an edit only the parameters change; without `params` those of before are kept, as far as they remain. `said`
        is the edit in words.
        """
        self._check_time()
        made = self._made(edit, self.workload.params if params is None else params)
        if made is None:
            return False
        key, size = _key(made), size_of(made)
        if key in self._seen or size >= self.size:
            return False
        self._seen.add(key)
        found = self._probe(made, said, self.config, self.pipeline)
        if found is None:
            return False
        self.steps.append(Shrink(edit, said, self.size, size, made, found))
        self.workload, self.size, self.found = made, size, found
        return True

    def settle(self, said: str, config: Config, pipeline: Pipeline | None) -> bool:
        """Keep a configuration if the program shows the same symptom under it; return whether it is kept."""
        self._check_time()
        found = self._probe(self.workload, said, config, pipeline)
        if found is None:
            return False
        self.config, self.pipeline, self.found = config, pipeline, found
        return True

    def _check_time(self) -> None:
        if self.limits.cancelled() or time.monotonic() > self.deadline:
            raise Cancelled("the search was ended before nothing smaller was left to try")

    def _made(self, edit: PassStep | None, params: Mapping[str, Any]) -> Workload | None:
        """Return the program after an edit, with its types inferred; None if there is none or it is the same."""
        old, module = self.workload, self.workload.module
        if edit is not None:
            try:
                found = applied_in_child(old, edit, 0, self.limits.timeout, self.limits.cancelled)
            except WorkerLost as error:
                raise Cancelled(str(error)) from None
            self.refused += found.status == "error"
            if found.module is None:
                return None
            module = found.module
        # not `old.of(module)`: the limits of the new inputs, which may be indices, are those of the new program
        made = Workload(module, {}, old.name, old.dialect, trusted=old.trusted, shapes=old.shapes)
        # TVM infers such types for a `split` into more parts than there are elements, and does not refuse them
        if has_empty(made.graph) and not has_empty(old.graph):
            self.refused += 1
            return None
        made.params = fitted(made, params)
        return made

    def _probe(self, made: Workload, said: str, config: Config, pipeline: Pipeline | None) -> Finding | None:
        self.probes += 1
        about = f"{counted(self.size.operators, 'operator')} left, probe {self.probes}: {said}"
        self.limits.progress(about, None)
        found = probe(self.symptom, made, config, pipeline, replace(self.limits, progress=silent))
        return found if (found.answer, found.key) == (YES, self.wanted.key) else None


def _key(workload: Workload) -> tuple[str, ...]:
    """Return a key that two equal programs share, values of constants included."""
    return (workload.graph.to_json(), *sorted(workload.params))


def fitted(workload: Workload, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the inputs of a program that have some, each cut and converted to the type of its input."""
    types = {node.op: tensor(node.type) for node in workload.graph.nodes if node.kind == "param"}
    return {name: cut for name, value in params.items() if (cut := _cut(value, types.get(name))) is not None}


def _cut(value: Any, kind: Tensor | None) -> Any:
    """Return the first elements along each dimension, of the data type; None if the value does not have enough of them."""
    if kind is None:
        return None
    if (tuple(value.shape), str(value.dtype)) == (kind.shape, kind.dtype):
        return value
    fits = len(value.shape) == len(kind.shape) and all(
        isinstance(d, int) and d <= have for d, have in zip(kind.shape, value.shape, strict=True)
    )
    array = value if isinstance(value, np.ndarray) else value.numpy()
    return array[tuple(slice(d) for d in kind.shape)].astype(kind.dtype, copy=False) if fits else None
