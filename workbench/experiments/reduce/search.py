"""The search for a smaller program and configuration, and its phases. An edit is made in the child process, probed, and kept or not."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from workbench.analysis.subprograms import operators
from workbench.analysis.tensors import Tensor, tensor, tensors
from workbench.dialects.base import Workload
from workbench.errors import Cancelled, WorkerLost
from workbench.experiments.bisect.probing import changes_of
from workbench.experiments.ddmin import ddmin
from workbench.experiments.reduce.size import (
    FILLED,
    SIMPLER,
    Size,
    filled,
    has_empty,
    is_filled,
    is_filled_array,
    size_of,
)
from workbench.experiments.symptoms import YES, Finding, Larger, Limits, Slower, Symptom, Wrong, probe
from workbench.graph.model import Graph
from workbench.measurement.count import as_it_stands
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
    """Return the values of inputs, each cut and converted to the type of its input."""
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


T = TypeVar("T")
NEAREST, FARTHEST = 2, 2
"earlier values of the same type that are tried in the place of a value"
SMALL = (1, 2, 3, 4)
"sizes that are tried in the place of a larger one, before half of it"


def run_phases(search: Search) -> bool:
    """Run the phases, those that make a probe faster first; return False if they were ended early."""
    with suppress(Cancelled, KeyboardInterrupt):
        free_parameters(search)
        inline_functions(search)
        halve(search)
        free_each_parameter(search)
        remove_operators(search)
        inline_each_function(search)
        if simplify_types(search):
            # a cast between equal types is not needed anymore
            remove_operators(search)
        simplify_values(search)
        shrink_configuration(search)
        return True
    return False


def free_parameters(search: Search) -> None:
    """Make all parameters inputs: a compiler that folds no weights is faster."""
    if search.workload.params:
        _free(search, list(search.workload.params))


def free_each_parameter(search: Search) -> None:
    """Make parameters inputs, one by one if the symptom needs some of their values."""
    _all_or_each(list(search.workload.params), lambda names: _free(search, names))


def _free(search: Search, names: Sequence[str]) -> bool:
    left = {name: value for name, value in search.workload.params.items() if name not in names}
    return search.offer(f"{counted(len(names), 'parameter')} without values", None, left)


def _all_or_each(items: Sequence[T], offer: Callable[[Sequence[T]], bool]) -> None:
    """Offer a change of all items at once, and if it is not kept, of each."""
    if items and not offer(items) and len(items) > 1:
        for item in items:
            offer([item])


def inline_functions(search: Search) -> None:
    """Put the bodies of all functions in the place of their calls: the operators in them can be removed then."""
    if search.size.functions:
        search.offer("no functions", inline())


def inline_each_function(search: Search) -> None:
    """Put the body of each function that the symptom does not need in the place of its calls, and remove operators of it."""
    inlined = False
    # one function of the module, which may be drawn several times
    for name in dict.fromkeys(group.name for group in search.graph.groups[1:]):
        inlined |= search.offer(f"no function {name}", inline([name]))
    if inlined:
        remove_operators(search)


def inline(functions: Sequence[str] = ()) -> PassStep:
    """Return the pass that puts bodies of functions in the place of their calls: of these functions, or of all."""
    return PassStep("InlineFunctions", {"functions": list(functions)} if functions else {})


def halve(search: Search) -> None:
    """Keep one of three overlapping halves, again and again: one of them has any quarter of the program."""
    shrunk = True
    while shrunk:
        nodes = operators(search.graph)
        half = (len(nodes) + 1) // 2
        starts = dict.fromkeys((0, len(nodes) - half, (len(nodes) - half) // 2))
        shrunk = len(nodes) > 1 and any(_keep(search, nodes[start : start + half]) for start in starts)


def remove_operators(search: Search) -> None:
    """Remove operators until no single one can be removed or replaced.

    Runs of operators go first, each time half as long: ddmin on complements (doi:10.1109/32.988498).
    """
    length = len(operators(search.graph)) // 2
    while length > 1:
        _remove_runs(search, length)
        length //= 2
    replaced = True
    while replaced:
        while _remove_runs(search, 1):
            pass
        replaced = _replace_each(search)


def _remove_runs(search: Search, length: int) -> bool:
    """Try to remove each run of this length, from the last to the first; return whether one was removed."""
    removed, end = False, len(operators(search.graph))
    while end > 0:
        nodes = operators(search.graph)
        start = max(0, end - length)
        left = nodes[:start] + nodes[end:]
        removed |= bool(left) and _keep(search, left)
        # the operators before `start` stay at their places
        end = min(start, len(operators(search.graph)))
    return removed


def _keep(search: Search, nodes: tuple[int, ...]) -> bool:
    total = counted(len(operators(search.graph)), "operator")
    return search.offer(f"keep {len(nodes):,} of {total}", keep(search.graph, nodes))


def keep(graph: Graph, nodes: Iterable[int]) -> PassStep:
    """Return the pass that keeps these operators; the values that they read of others become inputs."""
    kept = sorted(nodes)
    return PassStep("KeepOperators", {"nodes": kept, "ops": [graph.nodes[node].op for node in kept]})


def _replace_each(search: Search) -> bool:
    """Try to read an earlier value in the place of each operator's; return whether one was replaced."""
    replaced, place = False, len(operators(search.graph)) - 1
    while place >= 0:
        graph = search.graph
        node = operators(graph)[place]
        for other in earlier(graph, node):
            old, new = (graph.nodes[each].name or graph.nodes[each].op for each in (node, other))
            if search.offer(f"read {new} in the place of {old}", replace_values(graph, [(node, other)])):
                replaced = True
                break
        place = min(place, len(operators(search.graph))) - 1
    return replaced


def replace_values(graph: Graph, pairs: Sequence[tuple[int, int]]) -> PassStep:
    """Return the pass that reads the second node of each pair in the place of the first."""
    ops = [graph.nodes[node].op for pair in pairs for node in pair]
    return PassStep("ReplaceValues", {"pairs": [list(pair) for pair in pairs], "ops": ops})


def earlier(graph: Graph, node: int) -> Iterator[int]:
    """Yield the values of the same type from which a node is computed: the nearest ones, then the farthest."""
    found, seen, waiting = [], {node}, [node]
    for current in waiting:
        for source in graph.inputs[current]:
            if source in seen:
                continue
            seen.add(source)
            waiting.append(source)
            if graph.nodes[source].type == graph.nodes[node].type and graph.nodes[source].kind != "constant":
                found.append(source)
    yield from dict.fromkeys([*found[-FARTHEST:], *found[:NEAREST]])


def simplify_types(search: Search) -> bool:
    """Change data types to simpler ones, everywhere or of single inputs and constants; return whether some were changed."""
    before = len(search.steps)

    def of_type(dtype: str) -> list[int]:
        return [node.id for node in search.graph.nodes if any(each.dtype == dtype for each in tensors(node.type))]

    for dtype, to in SIMPLER.items():
        if of_type(dtype) and not search.offer(f"{to} in the place of {dtype}", retype(dtype, to)):
            for node in of_type(dtype):
                if search.graph.nodes[node].kind in ("param", "constant"):
                    said = f"{to} in the place of {dtype} of {search.graph.nodes[node].op}"
                    search.offer(said, retype(dtype, to, [node]))
    return len(search.steps) > before


def retype(dtype: str, to: str, nodes: Sequence[int] = ()) -> PassStep:
    """Return the pass that changes a data type: everywhere, or of these inputs and constants."""
    return PassStep("ChangeDtype", {"dtype": dtype, "to": to, **({"nodes": list(nodes)} if nodes else {})})


def simplify_values(search: Search) -> None:
    """Make dimensions small, and constants and parameters plain."""
    _shrink_sizes(search)
    own = [node.id for node in search.graph.nodes if node.kind == "constant" and not is_filled(node)]
    _all_or_each(own, lambda nodes: search.offer(f"{counted(len(nodes), 'constant')} of {FILLED}", fill(nodes, FILLED)))
    params = [name for name, value in search.workload.params.items() if not is_filled_array(value)]
    _all_or_each(params, lambda names: _fill_parameters(search, names))


def fill(nodes: Sequence[int], value: int) -> PassStep:
    """Return the pass that gives each element of these constants one value."""
    return PassStep("FillConstants", {"nodes": list(nodes), "value": value})


def _fill_parameters(search: Search, names: Sequence[str]) -> bool:
    old = search.workload.params
    plain = {name: filled(tuple(old[name].shape), str(old[name].dtype)) for name in names}
    changed = {name: array for name, array in plain.items() if array is not None}
    return search.offer(f"{counted(len(names), 'parameter')} of {FILLED}", None, {**old, **changed})


def _shrink_sizes(search: Search) -> None:
    shapes = (each.shape for node in search.graph.nodes for each in tensors(node.type))
    found = Counter(size for shape in shapes for size in shape if isinstance(size, int) and size > 1)
    for size in sorted(found, key=lambda size: (-found[size], -size)):
        for to in (*(each for each in SMALL if each < size), *([size // 2] if size // 2 > SMALL[-1] else ())):
            if any(search.offer(f"size {to} in the place of {size}", resize(size, to, also)) for also in (True, False)):
                break


def resize(size: int, to: int, attributes: bool) -> PassStep:
    """Return the pass that changes the dimensions of one size, and the attributes that have this number."""
    return PassStep("ResizeDimensions", {"size": size, "to": to, "attributes": attributes})


def shrink_configuration(search: Search) -> None:
    """Leave out passes, options and the opt level until each that is left is needed, then the list of disabled passes."""
    symptom = search.symptom
    good = symptom.reference if isinstance(symptom, (Larger, Slower)) else None
    if good is not None and bool(good.pipeline) != bool(search.config.pipeline):
        good = None
    changes = changes_of(search.workload, search.config, good, search.pipeline)

    def shows(made: Collection[int]) -> bool:
        said = f"{len(made)} of {counted(len(changes.items), 'change')} of the configuration"
        config, pipeline = changes.config(made), search.pipeline
        if changes.slots:
            running = Pipeline(step for step in changes.pipeline(made) if step.enabled)
            # an empty pipeline would mean the compiler's own passes
            if running:
                config = replace(config, pipeline=str(running))
            else:
                config = replace(as_it_stands(search.workload, config), name="")
            pipeline = (pipeline and running) or None
        return search.settle(said, config, pipeline)

    # without a change these compare a build with itself
    needs_one = isinstance(symptom, (Wrong, Larger, Slower))
    if changes.items and (needs_one or not shows(())):
        ddmin(changes.all, shows)
    if search.config.disabled:
        search.settle("no disabled passes", replace(search.config, disabled=()), search.pipeline)
