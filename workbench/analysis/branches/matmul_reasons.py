"""Reasons and hazards of CombineParallelMatmul (src/relax/transform/combine_parallel_matmul.cc, TVM 0.27)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.analysis.branches.calls import Calls
from workbench.analysis.branches.rules import type_of
from workbench.analysis.branches.siblings import Reason
from workbench.analysis.tensors import Tensor

if TYPE_CHECKING:
    from workbench.analysis.branches.matmul import JoinedProducts

MATMUL, ADD = "relax.matmul", "relax.add"
ACTIVATIONS = ("relax.nn.relu", "relax.nn.gelu", "relax.nn.gelu_tanh", "relax.nn.silu")


def bias_reason(calls: Calls, products: Sequence[int], adds: Sequence[int], biases: Sequence[int]) -> Reason | None:
    """Return why the pass does not find these sums; None where it may."""
    graph = calls.graph
    if any(graph.nodes[s].kind == "constant" for s in biases):
        said = "what is added is a constant, and the pass looks for a variable; run it before BindParams"
        return Reason("bias-constant", said, tuple(biases))
    if any(graph.inputs[user][0] not in products for user in adds):
        said = "a product is the second argument of its add, and the pass looks for it as the first"
        return Reason("commuted", said, tuple(adds))
    if len(set(biases)) < len(adds):
        said = "the branches add the same value, and the pass merges only branches that add different variables"
        return Reason("bias-shared", said, tuple(biases))
    return None


def stop_reason(calls: Calls, ends: Sequence[int], following: tuple[int, ...]) -> Reason:
    """Return why an operator that follows all branches is not combined."""
    graph = calls.graph
    op = graph.nodes[following[0]].op
    if op not in (ADD, *ACTIVATIONS):
        taken = f"one {ADD} and one of {', '.join(ACTIVATIONS)}"
        return Reason("level-op", f"{op} follows in all branches, and the pass takes {taken} along", following)
    if op in ACTIVATIONS:
        return Reason("level-op", f"{op} follows, and other products of the value have no {op} there", following)
    others = [next((s for s in graph.inputs[user] if s != end), end) for end, user in zip(ends, following, strict=True)]
    why = bias_reason(calls, ends, following, others)
    return why or Reason("level-op", "not all products of the value have a bias of one rank after them", following)


def factor_reasons(calls: Calls, products: Sequence[int]) -> list[Reason]:
    """Return the reasons, found in their second factors, why products of one value are not combined."""
    graph = calls.graph
    left = graph.inputs[products[0]][0]
    right = [graph.inputs[product][1] for product in products]
    found = []
    constants = tuple(s for s in right if graph.nodes[s].kind == "constant")
    if constants:
        said = "a second factor is a constant, and the pass looks for variables; run it before BindParams"
        found.append(Reason("weight-constant", said, constants))
    shared = tuple(s for s in dict.fromkeys(right) if right.count(s) > 1 and s not in constants)
    if shared:
        said = "the products share their second factor too, and the pass merges only products of different variables; run EliminateCommonSubexpr first"
        found.append(Reason("weight-shared", said, shared))
    if left in right or set(right) & set(products):
        said = "a second factor is the shared value itself or another of the products"
        found.append(Reason("weight-is-left", said, tuple(s for s in right if s == left or s in products)))
    if len({calls.stretches[product] for product in products}) > 1:
        found.append(Reason("other-block", "the products are in different stretches of bindings", tuple(products)))
    return found or join_reasons(calls, products)


def join_reasons(calls: Calls, products: Sequence[int]) -> list[Reason]:
    """Return why the pass does not join more of the products that it matched."""
    right = tuple(calls.graph.inputs[product][1] for product in products)
    kinds = [type_of(calls, node) for node in right]
    if any("?" in kind.shape for kind in kinds):
        return [Reason("shape-unknown", "the shape of a second factor is not known", right)]
    ranks = sorted({len(kind.shape) for kind in kinds})
    if len(ranks) > 1:
        said = f"the second factors have ranks {' and '.join(map(str, ranks))}, and only factors of one rank are joined"
        return [Reason("weight-rank", said, right)]
    if len({kind.shape[:-2] for kind in kinds}) > 1:
        shown = " and ".join(map(str, kinds))
        return [Reason("batch-shape", f"the second factors are {shown}, and their batch dimensions differ", right)]
    dynamic = [node for node, kind in zip(right, kinds, strict=True) if not isinstance((*kind.shape, 0)[-2:][0], int)]
    if len(dynamic) > 1:
        said = "more than one result has a width that is not a number, and only the first of them is combined, as the last part"
        return [Reason("dynamic-width", said, tuple(dynamic[1:]))]
    return []


def hazards(calls: Calls, each: JoinedProducts) -> list[Reason]:
    """Return the hazards of combining these branches; the pass checks none of them."""
    heads = each.heads
    right = [type_of(calls, node) for node in each.right]
    found = []
    if len(type_of(calls, each.left).shape) == 1:
        said = "the shared factor is a vector, and the pass splits along an axis that the product lacks: it raises"
        found.append(Reason("left-vector", said, heads))
    if len({kind.dtype for kind in right}) > 1:
        found.append(Reason("weight-dtype", "the second factors are of different types, and concat raises", heads))
    products = [type_of(calls, head) for head in heads]
    if len({kind.dtype for kind in products}) > 1:
        said = "the products give different types, and TVM gives all the type of the first"
        found.append(Reason("out-dtype", said, heads))
    if each.bias:
        found += _bias_hazards([type_of(calls, node) for node in each.bias], products, tuple(each.bias))
    return found


def _bias_hazards(biases: Sequence[Tensor], products: Sequence[Tensor], nodes: tuple[int, ...]) -> list[Reason]:
    first = biases[0]
    if not first.shape:
        return [Reason("bias-scalar", "what is added is of rank 0, and concat raises", nodes)]
    if any((len(b.shape), b.shape[:-1], b.dtype) != (len(first.shape), first.shape[:-1], first.dtype) for b in biases):
        said = f"what is added, {first} and others, cannot be joined along the last axis: the pass raises"
        return [Reason("bias-shapes", said, nodes)]
    if any(len(b.shape) > len(p.shape) for b, p in zip(biases, products, strict=False)):
        said = (
            "what is added has more dimensions than the product, and the pass splits along another axis than the last"
        )
        return [Reason("bias-rank", said, nodes)]
    if any(b.shape[-1] != p.shape[-1] for b, p in zip(biases, products, strict=False)):
        said = "what is added has no entry for each column; joined, it is added to other columns, or the pass raises"
        return [Reason("bias-width", said, nodes)]
    return []
