"""The phases that make the remaining program simpler: values of parameters, data types, sizes, values of constants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from workbench.analysis.tensors import tensors
from workbench.experiments.reduce.edits import fill, resize, retype
from workbench.experiments.reduce.search import Search
from workbench.experiments.reduce.size import FILLED, SIMPLER, filled, is_filled, is_filled_array
from workbench.wording import counted

T = TypeVar("T")
SMALL = (1, 2, 3, 4)
"sizes that are tried in the place of a larger one, before half of it"


def free_parameters(search: Search) -> None:
    """Make all parameters inputs: a compiler that folds no weights is faster, too."""
    if search.workload.params:
        _free(search, list(search.workload.params))


def free_each_parameter(search: Search) -> None:
    """Make parameters inputs, one by one if the symptom needs some of their values."""
    _all_or_each(list(search.workload.params), lambda names: _free(search, names))


def simplify_values(search: Search) -> None:
    """Make dimensions small, and constants and parameters plain."""
    _shrink_sizes(search)
    _all_or_each(_own_constants(search), lambda nodes: _fill_constants(search, nodes))
    _all_or_each(_own_parameters(search), lambda names: _fill_parameters(search, names))


def simplify_types(search: Search) -> bool:
    """Change data types to simpler ones, everywhere or of single inputs and constants; return whether some were changed."""
    before = len(search.steps)
    for dtype, to in SIMPLER.items():
        if _of_type(search, dtype) and not search.offer(f"{to} in the place of {dtype}", retype(dtype, to)):
            for node in _of_type(search, dtype):
                if search.graph.nodes[node].kind in ("param", "constant"):
                    said = f"{to} in the place of {dtype} of {search.graph.nodes[node].op}"
                    search.offer(said, retype(dtype, to, [node]))
    return len(search.steps) > before


def _of_type(search: Search, dtype: str) -> list[int]:
    nodes = search.graph.nodes
    return [node.id for node in nodes if any(each.dtype == dtype for each in tensors(node.type))]


def _all_or_each(items: Sequence[T], offer: Callable[[Sequence[T]], bool]) -> None:
    """Offer a change of all items at once, and if it is not kept, of each."""
    if items and not offer(items) and len(items) > 1:
        for item in items:
            offer([item])


def _free(search: Search, names: Sequence[str]) -> bool:
    """Make parameters with values inputs without."""
    left = {name: value for name, value in search.workload.params.items() if name not in names}
    return search.offer(f"{counted(len(names), 'parameter')} without values", None, left)


def _shrink_sizes(search: Search) -> None:
    """Try a smaller size in the place of each, the most frequent size first."""
    for size in _sizes(search):
        for to in (*(each for each in SMALL if each < size), *([size // 2] if size // 2 > SMALL[-1] else ())):
            if any(search.offer(f"size {to} in the place of {size}", resize(size, to, also)) for also in (True, False)):
                break


def _sizes(search: Search) -> Iterator[int]:
    found = Counter(
        dimension
        for node in search.graph.nodes
        for each in tensors(node.type)
        for dimension in each.shape
        if isinstance(dimension, int) and dimension > 1
    )
    yield from sorted(found, key=lambda size: (-found[size], -size))


def _own_constants(search: Search) -> list[int]:
    return [node.id for node in search.graph.nodes if node.kind == "constant" and not is_filled(node)]


def _fill_constants(search: Search, nodes: Sequence[int]) -> bool:
    return search.offer(f"{counted(len(nodes), 'constant')} of {FILLED}", fill(nodes, FILLED))


def _own_parameters(search: Search) -> list[str]:
    return [name for name, value in search.workload.params.items() if not is_filled_array(value)]


def _fill_parameters(search: Search, names: Sequence[str]) -> bool:
    old = search.workload.params
    plain = {name: filled(tuple(old[name].shape), str(old[name].dtype)) for name in names}
    changed = {name: array for name, array in plain.items() if array is not None}
    return search.offer(f"{counted(len(names), 'parameter')} of {FILLED}", None, {**old, **changed})
