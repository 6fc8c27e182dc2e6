"""The words of a decision: the nodes on the path with their kinds, the sentence without codes, the test that decided."""

import re
from collections.abc import Callable, Sequence

from workbench.analysis.fusion.forward import OUT_ELEMWISE
from workbench.analysis.fusion.reasons import Decision
from workbench.graph.nodes import PATTERNS
from workbench.widgets.blocks import Block, row, rows, words
from workbench.widgets.fusion.program import Fused

KIND_WORDS = {
    0: "element by element",
    1: "stretches its input",
    2: "moves data",
    3: "reduces",
    4: "complex",
    7: "tuple",
    8: "never fused",
}


def joined(ops: Sequence[str]) -> str:
    """Return the operators of a kernel, the first six of many."""
    return " + ".join([*ops[:6], *([f"{len(ops) - 6} more"] if len(ops) > 6 else [])])


def path(fused: Fused, decision: Decision) -> list[Block]:
    """Return the node, the nodes on its paths, and the one where they meet; the node that stopped the merge has the sign."""
    culprit = decision.data[0] if decision.code == "path_kind" else None
    if decision.code == "dominator_kind":
        culprit = decision.strongest_use[1]
    path = decision.path
    shown = [pair for at, pair in enumerate(path) if at < 5 or at >= len(path) - 3 or pair[0] == culprit]
    lines = []
    for n, kind in shown:
        small = f"{KIND_WORDS.get(kind, '')} · {PATTERNS.get(kind, '')} · node {n}"
        lines.append(row(fused.graph.nodes[n].op, [n], small=small, sign="!" if n == culprit else "", look="removed"))
    made = [rows(lines, "path")]
    return [*made, words(f"and {len(path) - len(shown)} more on the way", "small")] if len(shown) < len(path) else made


_CODES = re.compile(rf" \((?:{'|'.join(PATTERNS.values())})\)")


def plainly(sentence: str) -> str:
    """Return a sentence without TVM's names for kinds, which the path and the test below it have."""
    return _CODES.sub("", sentence)


def tested(decision: Decision) -> str:
    """Return the test that decided, in TVM's terms."""
    where = "before the phases" if decision.phase is None else f"phase {decision.phase}"
    return (
        f"{where} · {decision.code}: {_TESTS[decision.code](decision) if decision.code in _TESTS else decision.reason}"
    )


def _dominator_kind(d: Decision) -> str:
    source, target, kind = d.strongest_use
    wanted = "= ElemWise" if d.own_kind == OUT_ELEMWISE else "≤ Injective or = CommReduce"
    return f"dominator kind must be {wanted}; it is {PATTERNS[kind]}, from node {source} → node {target}"


def _path_kind(d: Decision) -> str:
    node, kind, most = d.data
    return f"every kernel on the way must be ≤ {PATTERNS[most]}; that of node {node} is {PATTERNS[kind]}"


_TESTS: dict[str, Callable[[Decision], str]] = {
    "fused": lambda d: f"joined {d.dominator}",
    "dominator_kind": _dominator_kind,
    "path_kind": _path_kind,
    "level": lambda d: f"fuse_opt_level must be ≥ 1; it is {d.settings.opt_level}",
    "opaque": lambda _: "own kind must not be Opaque",
    "apart": lambda _: "a post-dominator is needed; there is none",
    "held": lambda _: "a node used from outside (extern) has no post-dominator",
    "max_depth": lambda d: f"nodes counted must be ≤ max_depth = {d.settings.max_depth}; they are {d.data}",
    "max_function_args": lambda d: f"parameters must be ≤ {d.data[1]}; they are {d.data[0]}",
    "reduction": lambda _: "own kind must be < CommReduce to start a merge",
    "tuple": lambda _: "the post-dominator's own kind must not be Tuple",
}
