"""Translation of a Relay graph to a Relax function, operator by operator."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import tvm
from tvm import relax

from workbench.analysis.tensors import tensor
from workbench.dialects.relax import compat
from workbench.dialects.relax.from_relay.operators import TABLE, Call
from workbench.dialects.relax.importers import Origins
from workbench.errors import LoadError, reason_of
from workbench.graph.model import Graph, Node

_KINDS = ("param", "constant", "op", "tuple", "get_item")
_NUMBER = re.compile(r"(-?(?:\d[\d.]*(?:e[+-]?\d+)?|inf|nan))[a-z]?(?:64|32|16|8)?", re.IGNORECASE)


def unsupported(graph: Graph) -> list[str]:
    """Return the parts without a translation, each with its first place; empty if the whole graph has one."""
    found: dict[str, list[int]] = {}
    for node in graph.nodes:
        if node.kind not in _KINDS:
            found.setdefault(f"{node.op} (a {node.kind})", []).append(node.id)
        elif node.kind == "op" and node.op not in TABLE:
            found.setdefault(node.op, []).append(node.id)
    return [
        f"{what} (%{where[0]}{f' and {len(where) - 1} more' if where[1:] else ''})" for what, where in found.items()
    ]


def translate(graph: Graph, arrays: Mapping[str, np.ndarray]) -> tuple[tvm.IRModule, dict[str, np.ndarray], list[str]]:
    """Make a module whose `main` computes the same as a Relay graph; kernels are translated by the operators in them.

    `arrays`: values of parameters by name, and of constants by their name in the text. Returns the module, whose
    variables have the sources of the graph's nodes as names; the arrays of its parameters; the assumptions. Raises
    LoadError: something has no translation; the message lists all of it.
    """
    missing = unsupported(graph)
    if missing:
        raise LoadError(f"no translation to Relax for {len(missing)}: {', '.join(missing)}; cut those parts off first")
    return _Translation(graph, arrays).made()


class _Translation:
    def __init__(self, graph: Graph, arrays: Mapping[str, np.ndarray]) -> None:
        self.graph = graph
        self.arrays = arrays
        self.block = relax.BlockBuilder()
        self.values: dict[int, relax.Expr] = {}
        self.inputs: list[relax.Var] = []
        self.weights: list[relax.Var] = []
        self.params: dict[str, np.ndarray] = {}
        self.notes: list[str] = []
        self.origins = Origins()

    def made(self) -> tuple[tvm.IRModule, dict[str, np.ndarray], list[str]]:
        for node in self.graph.nodes:
            if node.kind in ("param", "constant"):
                self.values[node.id] = self.given(node)
        with self.block.function("main", attrs={"num_input": len(self.inputs)}):
            with self.block.dataflow():
                for node in self.graph.nodes:
                    if node.id not in self.values:
                        self.values[node.id] = self.bound(node)
                        self.trace(node)
                result = self.block.emit_output(self.result())
            self.block.emit_func_output(result, [*self.inputs, *self.weights])
        if any(group.kind in ("primitive", "composite", "external") for group in self.graph.groups):
            self.notes.append("kernels and regions of the Relay graph were taken apart: Relax makes its own")
        return self.origins.named(self.block.get()), self.params, self.notes

    def trace(self, node: Node) -> None:
        """Record that the new bindings compute this node; a field of a tuple is of the node that makes the tuple."""
        made = node
        while made.kind == "get_item" and not made.source:
            made = self.graph.nodes[self.graph.inputs[made.id][0]]
        self.origins.came(self.values[node.id], next(iter(made.source), ""), self.block)

    def result(self) -> relax.Expr:
        outputs = [self.values[id] for id in self.graph.outputs]
        return outputs[0] if len(outputs) == 1 else relax.Tuple(outputs)

    # -- inputs

    def given(self, node: Node) -> relax.Expr:
        name = node.op
        if node.kind == "constant":
            number = literal(node)
            if number is not None:
                return relax.const(number, tensor(node.type).dtype)  # pyright: ignore[reportOptionalMemberAccess]
            if name in self.arrays:
                return relax.const(np.asarray(self.arrays[name]))
            self.notes.append(f"the value of {name} is not known, so it is a parameter, constant_{node.id}")
            name = f"constant_{node.id}"
        return self.variable(node, name)

    def variable(self, node: Node, name: str) -> relax.Var:
        type = tensor(node.type)
        if type is None or not type.known:
            raise LoadError(f"the parameter {name} has type {node.type}; only tensors of known shape can be translated")
        made = relax.Var(name, compat.tensor_type(type.shape, type.dtype))
        has_value = name in self.arrays
        (self.weights if has_value or node.kind == "constant" else self.inputs).append(made)
        if has_value:
            self.params[name] = np.asarray(self.arrays[name])
        return made

    # -- operators

    def bound(self, node: Node) -> relax.Expr:
        sources = self.graph.inputs[node.id]
        values = tuple(self.values[source] for source in sources)
        if node.kind == "tuple":
            return relax.Tuple(list(values))
        if node.kind == "get_item":
            return self.item(node, values[0])
        types = tuple(self.graph.nodes[source].type for source in sources)
        numbers = tuple(literal(self.graph.nodes[source]) for source in sources)
        call = Call(node, values, types, self.block.emit, numbers)
        try:
            made = TABLE[node.op](call)
            return made if isinstance(made, relax.Tuple) else self.block.emit(made)
        except (ValueError, TypeError, AttributeError, RuntimeError) as error:
            raise LoadError(f"{node.op} (%{node.id}) could not be translated: {reason_of(error)}") from None

    def item(self, node: Node, value: relax.Expr) -> relax.Expr:
        place = int(node.op.removeprefix("."))
        if isinstance(value, relax.Tuple):
            return value.fields[place]
        return self.block.emit(relax.TupleGetItem(value, place))


def literal(node: Node) -> float | int | bool | None:
    """Return the number of a scalar constant, None for anything else.

    >>> literal(Node(0, "constant", "0.5f", type="float32")), literal(Node(0, "constant", "-3", type="int32"))
    (0.5, -3)
    """
    if node.kind != "constant" or node.type.startswith(("Tensor", "(")):
        return None
    if node.op in ("True", "False"):
        return node.op == "True"
    found = _NUMBER.fullmatch(node.op)
    if found is None:
        return None
    return float(found[1]) if "float" in node.type else int(float(found[1]))
