"""One verdict of the fusion algorithm, and its sentence, with TVM's names for kinds in brackets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.analysis.fusion.forward import (
    BROADCAST,
    COMM_REDUCE,
    ELEMWISE,
    HELD,
    INJECTIVE,
    OPAQUE,
    OUT_ELEMWISE,
    TUPLE,
)
from workbench.graph.nodes import Node

if TYPE_CHECKING:
    from workbench.analysis.fusion.algorithm import Partition, Settings


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision whether one node joins its post-dominator, in one phase."""

    phase: int | None
    "0, 1 or 2; None for a node that no phase looks at"
    node: int
    "the producer"
    dominator: int | None
    "its immediate post-dominator, where all paths from its value meet"
    code: str
    "a key of reasons.REASONS"
    data: Any
    "the operands of the test: a size, a node and its kind, (parameters, limit)"
    kinds: tuple[tuple[int, int], ...]
    "(node, pattern kind of its kernel at that time) for each node that the test looked at"
    _run: Partition = field(repr=False, compare=False)
    _nodes: tuple[Node, ...] = field(repr=False, compare=False)

    @property
    def fused(self) -> bool:
        return self.code == "fused"

    @property
    def reason(self) -> str:
        """The short form of the reason."""
        return REASONS[self.code]

    @property
    def sentence(self) -> str:
        """The reason as a sentence, with the names of the nodes."""
        made, data = _SENTENCES[self.code], self.data
        if callable(made):
            return made(self)
        fields: dict[str, Any] = {"data": data, "settings": self.settings, "own": WORDS[self.own_kind]}
        if self.code == "postponed":
            fields["taker"] = self.named(data)
        elif self.code == "tuple_kind":
            fields["kind"] = WORDS[data]
        elif self.code == "held":
            fields["held"] = HELD[data]
        return made.format(node=self.named(self.node), dominator=self.named(self.dominator), **fields)

    @property
    def between(self) -> list[int]:
        """The nodes on the paths from the node to its post-dominator, without either."""
        return [] if self.dominator is None else self._run.between(self.node)

    @property
    def path(self) -> tuple[tuple[int, int], ...]:
        """(node, own pattern kind) for the node, the nodes between, and the post-dominator."""
        end = [] if self.dominator is None else [self.dominator]
        return tuple((n, self._run.forward.kinds[n]) for n in (self.node, *sorted(self.between), *end))

    @property
    def users(self) -> list[tuple[int, int]]:
        """(consumer, pattern kind of the use) pairs of the node."""
        return self._run.forward.users[self.node]

    @property
    def settings(self) -> Settings:
        return self._run.settings

    @property
    def own_kind(self) -> int:
        """The pattern kind of the node's own record: an operator merged with a complex one counts as complex."""
        return self._run.kind[self.node]

    @property
    def strongest_use(self) -> tuple[int, int, int]:
        """The nearest (producer, consumer, kind) with the largest kind on the paths to the post-dominator."""
        users, between = self._run.forward.users, self.between
        uses = [(n, user, kind) for n in (self.node, *between) for user, kind in users[n]]
        return max(uses, key=lambda use: use[2])

    def complex_in_kernel_of(self, node: int) -> int | None:
        """Return the complex operator in the final kernel of the node, if there is one."""
        return self._run.anchors.get(self._run.root(node))

    def named(self, node: int | None) -> str:
        """Return the name of a node as sentences use it."""
        if node is None:
            return "its consumers"
        found = self._nodes[node]
        what = {"get_item": f"field {found.op}", "constant": f"the constant {found.op}"}.get(found.kind, found.op)
        return f"{what} (node {node})"


REASONS = {
    "fused": "joined its post-dominator",
    "postponed": "put off until a consumer's parameters are known",
    "together": "already in one kernel",
    "level": "fusion is switched off",
    "lacking": "the operator registered no pattern: the pass fails",
    "kernel": "in a function that the pass leaves as it is",
    "opaque": "never fused",
    "unannotated": "no kind is known for it yet",
    "held": "its value is used from outside",
    "unused": "nothing uses its value",
    "apart": "its ways never meet again",
    "max_depth": "the kernel would be too large",
    "max_function_args": "the kernel would take too many parameters",
    "tuple": "values that are returned together stay apart",
    "tuple_kind": "only simple operators follow a tuple",
    "reduction": "a reduction starts no merge",
    "phase": "its turn is in another phase",
    "dominator_kind": "its value is used in a way that needs it finished",
    "path_kind": "a kernel on the way is of a kind that cannot be taken in",
    "late_anchor": "the other kernel got a complex operator meanwhile",
}
"Reason code -> its short form."

WORDS = {
    ELEMWISE: "elementwise (ElemWise)",
    BROADCAST: "broadcasting (Broadcast)",
    INJECTIVE: "rearranging (Injective)",
    COMM_REDUCE: "reducing (CommReduce)",
    OUT_ELEMWISE: "complex, such as a convolution or a matrix product (OutEWiseFusable)",
    TUPLE: "a tuple (Tuple)",
    OPAQUE: "opaque (Opaque)",
}


def _apart(d: Decision) -> str:
    return (
        f"{d.named(d.node)} ends its kernel: {_list(d, sorted({user for user, _ in d.users}))} use its value, and no one "
        "node has all their results (it has no post-dominator); a kernel returns one value, so this one has to be finished."
    )


def _dominator_kind(d: Decision) -> str:
    source, target, kind = d.strongest_use
    if d.own_kind == OUT_ELEMWISE and kind == BROADCAST:
        return (
            f"{d.named(d.node)} does not join {d.named(d.dominator)}: {d.named(target)} stretches {d.named(source)} to another "
            f"shape (the use is {WORDS[BROADCAST]}), and a complex operator's result may only be used element by element."
        )
    if d.own_kind == OUT_ELEMWISE:
        return (
            f"{d.named(d.node)} does not join {d.named(d.dominator)}: {_met(d, target)} is {WORDS[kind]}, "
            "and after a complex operator a kernel takes in only what works element by element."
        )
    return (
        f"{d.named(d.node)} does not join {d.named(d.dominator)}: {_met(d, target)} is {WORDS[kind]}, and needs "
        f"{d.named(source)} finished before it starts."
    )


def _path_kind(d: Decision) -> str:
    culprit, kind, most = d.data
    where = "there" if culprit == d.dominator else f"on the path is {d.named(culprit)}; there"
    holds = d.complex_in_kernel_of(culprit)
    what = f"{d.named(holds)} is in the kernel" if holds not in (None, culprit) else f"the kernel is {WORDS[kind]}"
    return (
        f"{d.named(d.node)} does not join {d.named(d.dominator)}: {where} {what}, and {_start(d)} takes in "
        f"only kernels that are at most {WORDS[most]}."
    )


def _fused(d: Decision) -> str:
    way = f", by way of {_list(d, d.between)}" if d.between else ""
    late = ", once the parameters were counted" if d.data == "postponed" else ""
    return (
        f"{d.named(d.node)} joins {d.named(d.dominator)}{late}: all that uses its value leads there{way}, "
        f"and every kernel on the way is of a kind that can be taken in (phase {d.phase})."
    )


def _met(d: Decision, node: int) -> str:
    return "that" if node == d.dominator else f"{d.named(node)} on the way"


def _start(d: Decision) -> str:
    return {OUT_ELEMWISE: "a complex operator", INJECTIVE: "a rearranging operator"}.get(
        d.own_kind, "a simple operator"
    )


def _list(d: Decision, nodes: list[int]) -> str:
    named = [d.named(node) for node in nodes[:3]]
    more = [f"{len(nodes) - 3} more"] if len(nodes) > 3 else []
    words = named + more
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


_SENTENCES: dict[str, str | Callable[[Decision], str]] = {
    "fused": _fused,
    "postponed": "{node} could join {dominator}, but how many parameters {taker} will take is not known yet: it is decided again there.",
    "together": "{node} and {dominator} are in one kernel already.",
    "level": "{node} stays alone: at opt_level 0 FuseOps merges nothing.",
    "lacking": (
        "{node} registered no pattern kind, and FuseOps fails on such an operator; run the pass that "
        "rewrites it first (SimplifyInference, or qnn.Legalize for quantised operators)."
    ),
    "kernel": "{node} is in a kernel already, or in a function for another compiler, and FuseOps leaves those as they are.",
    "opaque": f"{{node}} stays alone: it is {WORDS[OPAQUE]}, and nothing is ever merged with such an operator.",
    "unannotated": "{node} stays alone: no kind is known for it; AnnotateTIROpPattern, after LegalizeOps, finds it.",
    "held": "{node} ends its kernel: its value {held}, so it has to be there as a whole.",
    "unused": "{node} stays alone: nothing uses its value.",
    "apart": _apart,
    "max_depth": (
        "{node} does not join {dominator}: the kernel would count {data} nodes, more than "
        "max_depth ({settings.max_depth}); nodes that are in it already and lie on the way count twice."
    ),
    "max_function_args": (
        "{node} does not join {dominator}: the kernel would take {data[0]} parameters, and "
        "max_function_args ({settings.max_function_args}) leaves {data[1]} when its results are counted."
    ),
    "tuple": (
        "{node} does not join {dominator}: that only collects values into a tuple, and FuseOps "
        "merges into a tuple only after an operator such as concatenate took the tuple in."
    ),
    "tuple_kind": (
        f"{{node}} does not follow {{dominator}} into its kernel: it is {{kind}}, and only what is at most {WORDS[INJECTIVE]} does."
    ),
    "reduction": (
        f"{{node}} ends its kernel: it is {WORDS[COMM_REDUCE]}. What feeds a reduction joins it, "
        "and a reduction never joins what follows, here {dominator}."
    ),
    "phase": "{node} is {own}: whether it joins {dominator} is decided in phase {data}.",
    "dominator_kind": _dominator_kind,
    "path_kind": _path_kind,
    "late_anchor": "{node} does not join {dominator} any more: that kernel has a complex operator by now.",
}
"Reason code -> its sentence, or the function that makes it."
