"""Nodes that EliminateCommonSubexpr merges, near misses, and kernels that are equal after fusion.

The rules are those of src/relay/transforms/eliminate_common_subexpr.cc (TVM 0.17). Two calls are equal when their operator,
attributes and arguments are; arguments are equal when they are one value, constants of rank 0 with one value, or literal
tuples whose fields are. Larger constants are equal only when they are one object, and the order of arguments counts.
For Relax, `Graph.answers` has the pass's result; this module only gives the reasons.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from workbench.analysis.branches.calls import Calls, attribute
from workbench.analysis.outcome import Reason
from workbench.analysis.tensors import tensor
from workbench.graph.identity import frozen, label
from workbench.graph.model import Graph, Group, Node

STATEFUL = ("nn.dropout", "memory.kill", "vm.invoke_tvm_op", "relax.print", "relax.assert_op")
ALLOCATES = ("relax.builtin.", "relax.memory.", "relax.vm.")
VALUES = ("constant", "shape", "global")
"kinds of nodes that Relax's pass compares by value"
COMMUTATIVE = (
    *("add", "multiply", "maximum", "minimum"),
    *("logical_and", "logical_or", "bitwise_and", "bitwise_or", "equal"),
)


def representatives(calls: Calls) -> list[int]:
    """Return, for each node, the first node that EliminateCommonSubexpr takes as equal to it."""
    found: list[int] = []
    if calls.graph.dialect == "relax":
        merged = calls.graph.answers.merged or {}
        for node in calls.graph.nodes:
            earlier = merged.get(node.id, -1)
            found.append(node.id if earlier == -1 else found[earlier])
        return found
    first: dict[Hashable, int] = {}
    for node in calls.graph.nodes:
        key = _key(calls, node, found)
        found.append(node.id if key is None else first.setdefault(key, node.id))
    return found


def _is_stateful(op: str) -> bool:
    return op in STATEFUL or op.startswith(ALLOCATES)


def _key(calls: Calls, node: Node, known: Sequence[int]) -> Hashable | None:
    """Return the key that equal nodes share; None for a node that is never merged."""
    inputs = calls.graph.inputs[node.id]
    if node.kind == "get_item" and len(inputs) == 1:
        return ("get_item", node.op, _same(calls, inputs[0], node.id, known))
    if node.kind != "op" or not inputs or _is_stateful(node.op):
        return None
    return (
        node.op,
        frozen(node.attrs),
        tuple(_argument(calls, source, node.id, known) for source in inputs),
    )


def _argument(calls: Calls, source: int, target: int, known: Sequence[int]) -> Hashable:
    node = calls.graph.nodes[source]
    here = calls.scopes[source] == calls.scopes[target] and not calls.is_let(source)
    if node.kind == "tuple" and here:
        fields = calls.graph.inputs[source]
        return ("tuple", *(_argument(calls, f, source, known) for f in fields))
    return _value(calls.graph, node) or _same(calls, source, target, known)


def _same(calls: Calls, source: int, target: int, known: Sequence[int]) -> Hashable:
    """Return the identity of an argument after earlier merging."""
    key = calls.key(source, target)
    return known[source] if key == source else key


def _value(graph: Graph, node: Node) -> Hashable | None:
    """Return the value by which a constant is compared; None where it is compared as an object."""
    if graph.dialect == "relax" and node.kind in VALUES:
        return node.kind, node.type, node.attrs.get("digest", node.op)
    return scalar(node)


def scalar(node: Node) -> Hashable | None:
    """Return type and value of a constant of rank 0, None for anything else."""
    kind = tensor(node.type) if node.kind == "constant" else None
    if kind is None or kind.shape:
        return None
    return ("scalar", kind.dtype, node.attrs.get("digest", node.op))


def equal_branches(calls: Calls) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield branches whose nodes are merged level by level; each merged node is in exactly one of them."""
    classes: dict[int, list[int]] = {}
    for id, first in enumerate(representatives(calls)):
        if calls.graph.nodes[id].kind in ("op", "call"):
            classes.setdefault(first, []).append(id)
    several = {first: members for first, members in classes.items() if len(members) > 1}
    branches: dict[int, list[list[int]]] = {}
    ending: dict[int, int] = {}
    "the last node of each branch -> the key of its set in `branches`"
    for first, members in several.items():
        before = next((ending[s] for s in calls.graph.inputs[members[0]] if s in ending), None)
        ordered = None if before is None else _going_on(calls, branches[before], members)
        if before is None or ordered is None:
            branches[first] = [[member] for member in members]
        else:
            chains = branches.pop(before)
            for chain in chains:
                del ending[chain[-1]]
            branches[first] = [[*chain, member] for chain, member in zip(chains, ordered, strict=True)]
        ending.update((chain[-1], first) for chain in branches[first])
    for chains in branches.values():
        yield tuple(map(tuple, chains))


def _going_on(calls: Calls, chains: list[list[int]], members: list[int]) -> list[int] | None:
    """Return the nodes in the order of the branches that they continue; None if they do not match."""
    if len(chains) != len(members):
        return None
    users = [[m for m in members if chain[-1] in calls.graph.inputs[m]] for chain in chains]
    matched = all(len(found) == 1 for found in users) and len({found[0] for found in users}) == len(members)
    return [found[0] for found in users] if matched else None


def nearly_equal(calls: Calls) -> Iterator[tuple[tuple[int, ...], tuple[Reason, ...]]]:
    """Yield sets of calls of one operator on the same values that are not merged, each with the reasons."""
    known = representatives(calls)
    alike: dict[Hashable, dict[int, None]] = {}
    for node in calls.graph.ops:
        inputs = [s for s in calls.graph.inputs[node.id] if calls.graph.nodes[s].kind not in ("constant", "shape")]
        values = sorted(repr(_argument(calls, s, node.id, known)) for s in inputs)
        if values and not _is_stateful(node.op):
            alike.setdefault((node.op, calls.scopes[node.id], tuple(values)), {})[known[node.id]] = None
    for nodes in alike.values():
        chosen = list(nodes)
        reasons = [_reason(calls, chosen[0], other, known) for other in chosen[1:]]
        kept = [(other, reason) for other, reason in zip(chosen[1:], reasons, strict=True) if reason]
        if kept:
            yield (chosen[0], *(other for other, _ in kept)), tuple(reason for _, reason in kept)


def _reason(calls: Calls, a: int, b: int, known: Sequence[int]) -> Reason | None:
    graph = calls.graph
    first, other = graph.nodes[a], graph.nodes[b]
    ours, theirs = ([_argument(calls, s, n, known) for s in graph.inputs[n]] for n in (a, b))
    different = attribute(first, other)
    if ours == theirs and different:
        shown = " and ".join(str(node.attrs.get(different, "the default")) for node in (first, other))
        said = f"both are {first.op} of the same, and they differ in {different}: {shown}"
        return Reason(f"attr:{different}", said, (a, b))
    if different or len(ours) != len(theirs):
        return None
    if ours == theirs and graph.dialect == "relax":
        return _why_not_merged(calls, a, b)
    if sorted(map(repr, ours)) == sorted(map(repr, theirs)) and first.op.removeprefix("relax.") in COMMUTATIVE:
        said = f"they are {first.op} of the same two values in another order, which TVM does not look at"
        return Reason("commuted", said, (a, b))

    def is_equal(s: Node, t: Node) -> bool:
        return s.kind == "constant" and "digest" in s.attrs and label(s) == label(t)

    pairs = zip(*([graph.nodes[s] for s in graph.inputs[n]] for n in (a, b)), strict=True)
    if all(x == y or is_equal(s, t) for x, y, (s, t) in zip(ours, theirs, pairs, strict=True)):
        said = f"their constants have equal values but are two objects, and TVM compares only constants of rank 0 by value; share one constant between the {first.op}"
        return Reason("const-identity", said, (a, b))
    return None


def _why_not_merged(calls: Calls, a: int, b: int) -> Reason:
    """Return why Relax's pass does not merge two calls of one operator on the same values."""
    graph = calls.graph
    first, other = graph.nodes[a], graph.nodes[b]
    tuples = [[graph.nodes[s].name for s in graph.inputs[n] if graph.nodes[s].kind == "tuple"] for n in (a, b)]
    if graph.answers.merged is None:
        code, why = "not-tried", "it was not tried whether TVM merges them: TVM has no answer for this graph"
    elif first.type != other.type:
        code, why = "type", f"their types differ: {first.type} and {other.type}"
    elif not calls.sees(a, b):
        code, why = "scope", "one is in an arm of an `if` or in a local function, where TVM does not see the other"
    elif _cast(graph, a) != _cast(graph, b):
        code, why = "match-cast", "one is inside a match_cast, which TVM compares as a whole"
    elif any(bool(x) != bool(y) for x, y in zip(*tuples, strict=True)):
        code, why = "tuple-bound", "one takes a variable that is bound to a tuple, the other the tuple itself"
    elif first.block != other.block and first.held != "block":
        code, why = (
            "dataflow-block",
            f"{first.name} is a variable of a dataflow block, and TVM forgets it at the block's end",
        )
    else:
        code, why = "variables", "their arguments are different variables for TVM, although they have one value"
    return Reason(code, f"both are {first.op} of the same, and {why}", (a, b))


def _cast(graph: Graph, node: int) -> str:
    """Return the type of the match_cast whose binding computes the node; empty where none does."""
    users = (graph.nodes[user] for user, _ in graph.consumers[node])
    return next((u.type for u in users if u.kind == "match" and u.name == graph.nodes[node].name), "")


def equal_kernels(graph: Graph) -> list[tuple[int, ...]]:
    """Return sets of fused kernels (groups of the graph) that compute the same from the same arguments."""
    outputs = {group.output: group for group in graph.groups if _is_kernel(graph, group)}
    held: dict[int | None, list[int]] = {}
    for node in graph.nodes:
        held.setdefault(graph.kernel_of(node.id), []).append(node.id)
    numbers: dict[Hashable, int] = {}
    of_node: dict[int, Hashable] = {}
    same: dict[Hashable, list[int]] = {}
    for node in graph.nodes:
        group = outputs.get(node.id)
        if group is not None:
            key = ("kernel", *_structure(graph, [id for id in held[group.id] if id <= node.id], of_node))
            # an arm of an `if` may not run
            if not any(around.kind == "branch" for around in graph.ancestors(group.id)):
                same.setdefault(key, []).append(group.id)
        elif node.kind in ("tuple", "get_item"):
            key = (node.kind, node.op, *(of_node[s] for s in graph.inputs[node.id]))
        else:
            key = label(node) if node.kind == "constant" else ("node", node.id)
        of_node[node.id] = numbers.setdefault(key, len(numbers))
    return [tuple(groups) for groups in same.values() if len(groups) > 1]


def _is_kernel(graph: Graph, group: Group) -> bool:
    outermost = group.output is not None and graph.kernel_of(group.output) == group.id
    inner = any(around.kind in ("primitive", "external") for around in graph.ancestors(group.parent))
    return outermost and group.kind == "primitive" and "Composite" not in group.attrs and not inner


def _structure(graph: Graph, nodes: Sequence[int], of_node: dict[int, Hashable]) -> tuple[Hashable, ...]:
    """Return the computation of a kernel, node by node, and its arguments."""
    inside: dict[int, int] = {}
    arguments: dict[int, int] = {}
    rows: list[Hashable] = []
    for id in nodes:
        node = graph.nodes[id]
        sources = [
            ("inner", inside[s]) if s in inside else ("argument", arguments.setdefault(s, len(arguments)))
            for s in graph.inputs[id]
        ]
        rows.append((label(node), tuple(sources), id if node.op in STATEFUL else None))
        inside[id] = len(inside)
    return (*rows, *(of_node[s] for s in arguments))
