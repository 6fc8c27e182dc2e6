"""The changes of a module that the passes of `edits.py` are made of; each dialect has its own in `passes/editing.py`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from workbench.analysis.legality import Selection
from workbench.analysis.subprograms import Subprogram
from workbench.graph.model import Edge, Graph


class Change:
    """Other types, values and attributes, for `Editable.changed`. This one changes nothing."""

    def tensor(self, shape: Sequence[Any], dtype: str) -> tuple[Sequence[Any], str]:
        """Return the type for an input of this type; a dimension is a number, or an expression of TVM's."""
        return shape, dtype

    def constant(self, shape: Sequence[int], dtype: str, values: Callable[[], np.ndarray]) -> np.ndarray | None:  # noqa: ARG002
        """Return the values for a constant, None to leave it as it is."""
        return None

    def attribute(self, value: Any) -> Any:
        """Return the value for a number or a text among the attributes."""
        return value


class Editable(ABC):
    """A module, and the changes that the passes are made of. Each returns another module, with its types inferred."""

    ir: ClassVar[Any]
    "TVM's module with the classes of the dialect's expressions"
    tuple_type: ClassVar[type]

    module: Any

    @property
    @abstractmethod
    def graph(self) -> Graph:
        """The module's graph, whose node ids the passes take."""

    @abstractmethod
    def cut(self, edges: Sequence[Edge]) -> Any:
        """Keep the ends of each edge in different kernels."""

    @abstractmethod
    def outlined(self, region: Selection, name: str, attribute: str, value: Any) -> Any:
        """Put a region into a function that is called in its place.

        `attribute`, `value`: the function's attribute: `Primitive` (a kernel), `Composite`, or `Compiler` (code of
        another compiler).
        """

    @abstractmethod
    def extracted(self, region: Selection) -> Any:
        """Make a region `main`, and leave the rest out."""

    @abstractmethod
    def kept(self, program: Subprogram) -> Any:
        """Keep the operators of a program in `main`."""

    @abstractmethod
    def replaced(self, pairs: Sequence[Sequence[int]]) -> Any:
        """Read the second node of each pair in the place of the first."""

    @abstractmethod
    def inlined(self, functions: Collection[str]) -> Any:
        """Put the bodies of functions, by default of all, in the place of their calls in `main`."""

    @abstractmethod
    def changed(self, change: Change, nodes: Collection[int] = (), attributes: bool = False) -> Any:
        """Change the inputs and the constants of `main`, by default all, and its attributes."""

    def new_input(self, type: Any, taken: set[str]) -> Any:
        """Return a new input of a type; for a tuple, a tuple of new inputs, because a run takes tensors."""
        if isinstance(type, self.tuple_type):
            return self.ir.Tuple([self.new_input(field, taken) for field in type.fields])  # pyright: ignore[reportAttributeAccessIssue]  a tuple's type
        return self.ir.Var(new_name("v", taken), type)

    def tensors(self, value: Any, type: Any) -> Iterator[Any]:
        """Yield the tensors of a value."""
        if not isinstance(type, self.tuple_type):
            yield value
            return
        for place, field in enumerate(type.fields):  # pyright: ignore[reportAttributeAccessIssue]  a tuple's type
            yield from self.tensors(self.ir.TupleGetItem(value, place), field)


def new_name(prefix: str, taken: set[str]) -> str:
    """Return the prefix with the first number that makes a new name, which is taken then."""
    name = next(name for number in range(len(taken) + 1) if (name := f"{prefix}{number}") not in taken)
    taken.add(name)
    return name
