"""One call of a Relay operator, as input of a translation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import relax

from workbench.analysis.tensors import Tensor, tensor
from workbench.errors import LoadError
from workbench.graph.model import Node


@dataclass(frozen=True)
class Call:
    """A node, and the Relax values of its inputs."""

    node: Node
    inputs: tuple[relax.Expr, ...]
    types: tuple[str, ...]
    "the inputs' types, as Relay prints them"
    emit: Callable[[relax.Expr], relax.Var]
    "binds a value"
    numbers: tuple[Any, ...]
    "for each input the value of a scalar constant, None for any other"

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute; Relay's text leaves out those with their default."""
        return self.node.attrs.get(name, default)

    def type(self, place: int = 0) -> Tensor:
        """Return the type of an input that is a tensor of known shape.

        Raises
        ------
        LoadError
            It is not one.
        """
        return _tensor_of_known_shape(self.types[place], self.node)

    def shape(self, place: int = 0) -> tuple[int, ...]:
        """Return the dimensions of such an input."""
        return _numbers(self.type(place))

    @property
    def result(self) -> Tensor:
        """Return the type of the result, a tensor of known shape; raises LoadError if it is not one."""
        return _tensor_of_known_shape(self.node.type, self.node)

    @property
    def result_shape(self) -> tuple[int, ...]:
        """Return the dimensions of the result."""
        return _numbers(self.result)

    def axes(self, rank: int, name: str = "axis") -> list[int]:
        """Return the axes of a reduction: all if none is named, the others if `exclude` is set."""
        said = self.attr(name)
        listed = range(rank) if said is None else [said] if isinstance(said, int) else said
        chosen = {axis % rank for axis in listed}
        return sorted(set(range(rank)) - chosen if self.attr("exclude", False) and said is not None else chosen)

    def permuted(self, value: relax.Expr, order: Sequence[int]) -> relax.Var:
        """Return a value with its axes in another order."""
        return self.emit(relax.op.permute_dims(value, list(order)))


def _numbers(type: Tensor) -> tuple[int, ...]:
    return tuple(int(dimension) for dimension in type.shape)


def _tensor_of_known_shape(type: str, node: Node) -> Tensor:
    found = tensor(type)
    if found is None or not found.known:
        raise LoadError(
            f"{node.op} (%{node.id}) has type {type or 'unknown'}; only tensors of known shape can be translated"
        )
    return found
