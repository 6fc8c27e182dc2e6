"""Chains of operators with constants in a Relay graph, and the number of operators that TVM's rules leave of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from workbench.analysis.chains import rules
from workbench.analysis.chains.rules import CASTS, Step
from workbench.analysis.outcome import FAILED, LEFT, MERGED, Outcome, Reason, failed, remains
from workbench.analysis.tensors import tensor
from workbench.graph.model import Graph, Node
from workbench.graph.nodes import reached
from workbench.terminal import visible

RESHAPES = ("reshape", "squeeze", "expand_dims", "nn.batch_flatten")
BOUNDS = ("nn.relu", "clip")


@dataclass(frozen=True)
class ConstantChain:
    """Consecutive operators, each with a constant or with attributes only."""

    nodes: tuple[int, ...]
    "the operators, in order"
    start: int
    "the node whose value the first of them takes"
    constants: tuple[int | None, ...]
    "the constant or weight of each operator; None for one that has attributes only"
    shapes: tuple[str, ...]
    "the types of these constants; empty where there is none"
    left: int
    "operators left after `passes` by the rules; as many as before if nothing folds them"
    passes: str
    "the passes that fold them, in the order that works, as a Pipeline's text; empty if there are none"
    reasons: tuple[Reason, ...] = ()
    "why not more is folded, or nothing, or not safely"
    tried: str = field(default="", compare=False)
    "the passes whose outcome TVM gives: `passes`, or those that fold other chains of this kind; empty if there are none"
    graph: Graph = field(default_factory=Graph, repr=False, compare=False)

    @cached_property
    def outcome(self) -> Outcome:
        """The result of the passes on the graph's module, computed on first use: TVM runs them in a child process."""
        if not self.tried:
            return Outcome(LEFT, "")
        found = failed(self.graph, self.tried)
        if found is not None:
            return replace(found, contradicts=self.folds and found.status == FAILED)
        left, status = remains(self.graph, self.tried).left_of(self.nodes), LEFT
        if left < len(self.nodes):
            status = MERGED
        if left == self.left:
            return Outcome(status, "folded as stated" if self.folds else "not folded")
        return Outcome(
            status, f"{len(self.nodes)} -> {left} by TVM, although the rules say {self.left}", contradicts=True
        )

    @property
    def folds(self) -> bool:
        """Return whether the passes leave fewer operators by the rules."""
        return self.left < len(self.nodes)

    @property
    def safe(self) -> bool:
        """Return whether the passes keep the values, except for float rounding."""
        return not any(reason.code.startswith("unsafe-") for reason in self.reasons)

    def __str__(self) -> str:
        ops = " -> ".join(self.graph.nodes[node].op for node in self.nodes)
        how = f"by {self.passes}" if self.passes else "by nothing"
        results = self.results  # before the headline, which then knows the outcome
        said = [f"{ops}: {self.headline} {how}", *(f"{reason.code}: {reason.sentence}" for reason in self.reasons)]
        return visible("\n  ".join([*said, *results]))

    def line(self) -> dict[str, object]:
        """Return the row of a table, without asking TVM."""
        why = "; ".join(reason.sentence for reason in self.reasons)
        left = {"operators": len(self.nodes), "left": self.left}
        return {"chain": self.graph.path(self.nodes), "passes": self.passes, "reason": why, **left}

    @property
    def results(self) -> tuple[str, ...]:
        """The outcome as sentences: one, or none where no pass could fold the chain. TVM runs the passes on first use."""
        return tuple(filter(None, [self.outcome.sentence]))

    @property
    def asked(self) -> bool:
        """Return whether the outcome is known without asking TVM now."""
        return "outcome" in vars(self)

    @property
    def contradicted(self) -> bool:
        """Return whether the outcome is known and differs from the rules."""
        return self.asked and self.outcome.contradicts

    @property
    def headline(self) -> str:
        """The number of operators before and after, or the outcome where it is known and differs from the rules."""
        return self.outcome.sentence if self.contradicted else f"{len(self.nodes)} -> {self.left}"


class RelayChains:
    """The chains of a Relay graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.literal = {node.id for node in graph.nodes if node.kind == "constant"}
        self.weights = {node.id for node in graph.nodes if node.kind == "param" and self._is_weight(node.id)}
        self.constant = graph.constants(self.weights)

    def _is_weight(self, node: int) -> bool:
        """Return whether a parameter is never the data: never the first argument, and in arithmetic smaller than the result."""
        users = self.graph.consumers[node]
        return bool(users) and all(self._is_beside(node, user, index) for user, index in users)

    def _is_beside(self, node: int, user: int, index: int) -> bool:
        found = self.graph.nodes[user]
        broadcast = found.op not in rules.ARITHMETIC or found.type != self.graph.nodes[node].type
        first = self.graph.inputs[user][0]
        return index > 0 and found.kind == "op" and broadcast and first not in self.literal

    # -- runs

    def runs(self) -> Iterator[list[Node]]:
        """Yield the longest runs of operators that rules could apply to; a value with several users does not end a run."""
        before: dict[int, int] = {}
        for node in self.graph.ops:
            source = self.data(node)
            if source is None or self.family(node) == "":
                continue
            earlier = self.graph.nodes[source]
            if self.data(earlier) is not None and _linked(self.family(earlier), self.family(node)):
                before[node.id] = source
        followed: dict[int, list[int]] = {}
        for node, source in before.items():
            followed.setdefault(source, []).append(node)
        for node in self.graph.ops:
            if node.id not in before and self.data(node) is not None and self.family(node):
                run = [node]
                while followed.get(run[-1].id):
                    # where several operators follow, the first continues the run, and the others begin runs
                    first, *others = followed[run[-1].id]
                    for other in others:
                        yield [run[-1], *self._along(other, followed)]
                    run.append(self.graph.nodes[first])
                yield run

    def _along(self, start: int, followed: Mapping[int, list[int]]) -> list[Node]:
        run = [self.graph.nodes[start]]
        while followed.get(run[-1].id):
            run.append(self.graph.nodes[followed[run[-1].id][0]])
        return run

    def family(self, node: Node) -> str:
        """Return the kind of rule that could apply to an operator."""
        if node.kind != "op" or node.id in self.constant:
            return ""
        if node.op in rules.ARITHMETIC:
            return "arithmetic"
        return {"layout_transform": "layout", "transpose": "transpose", "fixed_point_multiply": "scale"}.get(
            node.op, "reshape" if node.op in RESHAPES else node.op if node.op in (*CASTS, *BOUNDS) else ""
        )

    def data(self, node: Node) -> int | None:
        """Return the only argument that is not constant; None if there are several or none."""
        values = [s for s in self.graph.inputs[node.id] if s not in self.constant]
        return values[0] if node.kind == "op" and len(values) == 1 else None

    # -- chains

    def chain(self, run: list[Node]) -> ConstantChain | None:
        """Return the chain of a run, with the number of operators left; None where there is nothing to fold or explain."""
        steps, family = [self.step(node, run) for node in run], self.family(run[-1])
        kind = tensor(self.graph.nodes[self.data(run[0]) or 0].type)
        source = "" if kind is None else kind.dtype
        left, ids = rules.left(family, source, steps), tuple(node.id for node in run)
        reasons: list[Reason] = []
        if rules.left(family, source, [replace(step, shared=False) for step in steps]) < left:
            said = "{} is used elsewhere too, so it is not folded with what follows"
            shared = (node for node, step in zip(run[:-1], steps, strict=False) if step.shared)
            reasons += [Reason("interior-has-other-user", said.format(node.op), (node.id,)) for node in shared]
        if family in CASTS and left < len(run) and not rules.casts_left(source, steps)[1]:
            said = "SimplifyExpr drops a cast here that changes values (a sign, a rounding, or large numbers), and its result differs"
            reasons.append(Reason("unsafe-cast-fold", said, ids))
        passes = self._passes(run, family)
        if left < len(run):
            return self._chain_of(run, left, passes, reasons, passes)
        # one clip and one cast cannot be folded further
        if len(run) == 1 or [node.op for node in run] == ["clip", "cast"]:
            return None
        return self._chain_of(run, left, "", reasons or [self._unfolded(run, family)], passes)

    def step(self, node: Node, run: list[Node]) -> Step:
        """Return an operator as the rules see it."""
        kind = tensor(node.type)
        after = run[run.index(node) + 1].id if node is not run[-1] else None
        users = self.graph.consumers[node.id]
        shared = after is not None and (len(users) != 1 or node.id in self.graph.outputs)
        rank = 0 if kind is None else len(kind.shape)
        return Step(
            node.op,
            "" if kind is None else kind.dtype,
            shared,
            self._is_identity(node),
            _number(node.attrs.get("a_min")),
            _number(node.attrs.get("a_max")),
            _permutation(node.attrs.get("axes"), rank),
        )

    def _is_identity(self, node: Node) -> bool:
        """Return whether the node is x + 0, 0 + x, x - 0, x * 1 or x / 1 with a scalar of rank 0."""
        place, constant = self._constant(node)
        if constant is None or constant not in self.literal:
            return False
        found = self.graph.nodes[constant]
        kind = tensor(found.type)
        if kind is None or kind.shape or found.op.startswith("meta["):
            return False
        number = {"add": 0.0, "subtract": 0.0, "multiply": 1.0, "divide": 1.0}.get(node.op)
        return number is not None and _number(found.op) == number and (place == 1 or node.op in ("add", "multiply"))

    def _constant(self, node: Node) -> tuple[int, int | None]:
        """Return the argument position of an operator's constant, and its node."""
        for place, source in enumerate(self.graph.inputs[node.id]):
            if source in self.constant:
                return place, source
        return 0, None

    def _passes(self, run: Sequence[Node], family: str) -> str:
        """Return the passes that fold the run, in the order that works."""
        constants = [c for node in run if (c := self._constant(node)[1]) is not None]
        bind = "BindParams," if any(self._needs_binding(c) for c in constants) else ""
        if family != "arithmetic":
            return "SimplifyExpr"
        if any(node.op == "nn.bias_add" for node in run):
            # bias_add has no rule; after it becomes an add, its constant is an expand_dims until that is folded
            return f"{bind}CanonicalizeOps,FoldConstant,SimplifyExpr,FoldConstant"
        first = "" if all(c in self.literal | self.weights for c in constants) else "FoldConstant,"
        return f"{bind}{first}SimplifyExpr,FoldConstant"

    def _needs_binding(self, constant: int) -> bool:
        return not self.weights.isdisjoint(reached([constant], self.graph.inputs.__getitem__))

    def _unfolded(self, run: Sequence[Node], family: str) -> Reason:
        """Return why a run is not folded."""
        names = " and ".join(dict.fromkeys(node.op for node in run))
        code, said = "no-rule", f"TVM has no rule that makes one of {names} in a row"
        if family == "arithmetic" and any(node.op in rules.WITHOUT_RULE for node in run):
            said = f"SimplifyExpr has no rule for {names} with constants; write x - c as x + (-c), and x / c as x * (1 / c)"
        elif family == "arithmetic":
            code, said = "canonical", "one multiply and then one add is the form that TVM brings such chains to"
        elif family in CASTS and rules.are_casts(run):
            said = "the first cast may lose something, so SimplifyExpr keeps both"
        return Reason(code, said, tuple(node.id for node in run))

    def _chain_of(
        self, run: Sequence[Node], left: int, passes: str, reasons: Sequence[Reason], tried: str = ""
    ) -> ConstantChain:
        constants = tuple(self._constant(node)[1] for node in run)
        shapes = tuple("" if c is None else self.graph.nodes[c].type for c in constants)
        start = self.data(run[0])
        assert start is not None, "an operator of a run has one value that is not constant"
        return ConstantChain(
            tuple(node.id for node in run),
            start,
            constants,
            shapes,
            left,
            passes,
            tuple(reasons),
            passes or tried,
            self.graph,
        )

    # -- chains that end in another operator

    def padded(self, node: Node) -> ConstantChain | None:
        """Return the chain of a zero pad before a convolution, which the convolution's own padding replaces."""
        if node.op != "nn.conv2d" or node.attrs.get("data_layout", "NCHW") != "NCHW":
            return None
        run, current = [node], self.graph.inputs[node.id][0]
        while self._pads(self.graph.nodes[current]):
            run.insert(0, self.graph.nodes[current])
            current = self.graph.inputs[current][0]
        return self._chain_of(run, 1, "FoldExplicitPadding", ()) if len(run) > 1 else None

    def _pads(self, node: Node) -> bool:
        """Return whether the node pads height and width with zeros and has one user."""
        if node.op != "nn.pad" or len(self.graph.inputs[node.id]) != 2 or len(self.graph.consumers[node.id]) != 1:
            return False
        value = self.graph.nodes[self.graph.inputs[node.id][1]]
        width = node.attrs.get("pad_width")
        inner = isinstance(width, (list, tuple)) and len(width) == 4 and all(list(w) == [0, 0] for w in width[:2])
        return (
            inner
            and value.kind == "constant"
            and _number(value.op) == 0.0
            and node.attrs.get("pad_mode", "constant") == "constant"
        )

    def scaled(self, node: Node) -> ConstantChain | None:
        """Return the chain of a multiply by a constant right after a convolution or dense, which the weights absorb."""
        _, constant = self._constant(node)
        source = self.data(node)
        if node.op != "multiply" or constant is None or source is None:
            return None
        earlier = self.graph.nodes[source]
        weight = self.graph.inputs[source][1] if earlier.op in ("nn.conv2d", "nn.dense") else None
        if weight is None or weight not in self.constant or not self._per_channel(node, earlier, constant):
            return None
        run = [earlier, node]
        bind = "BindParams," if self._needs_binding(weight) or self._needs_binding(constant) else ""
        passes = f"{bind}FoldScaleAxis,FoldConstant"
        if len(self.graph.consumers[source]) != 1 or source in self.graph.outputs:
            said = f"{earlier.op} is used elsewhere too, so its weights cannot take the factor"
            return self._chain_of(run, 2, "", [Reason("interior-has-other-user", said, (source,))], passes)
        kinds = {tensor(self.graph.nodes[n].type).dtype for n in (weight, constant) if tensor(self.graph.nodes[n].type)}  # type: ignore[union-attr]
        if len(kinds) > 1:
            said = f"weights and factor are of different types ({', '.join(sorted(kinds))}), and FoldScaleAxis raises"
            return self._chain_of(run, 2, "", [Reason("scale-type-crash", said, (source, node.id))], passes)
        return self._chain_of(run, 1, passes, ())

    def _per_channel(self, node: Node, earlier: Node, constant: int) -> bool:
        kind, whole = tensor(self.graph.nodes[constant].type), tensor(earlier.type)
        if kind is None or whole is None or node.type != earlier.type:
            return False
        if not kind.shape:
            return True
        if earlier.op == "nn.dense":
            return kind.shape == whole.shape[-1:]
        plain = earlier.attrs.get("data_layout", "NCHW") == "NCHW" and not earlier.attrs.get("out_layout")
        channels = whole.shape[1] if len(whole.shape) == 4 else None
        return plain and kind.shape in ((channels, 1, 1), (1, channels, 1, 1))


def _linked(first: str, second: str) -> bool:
    """Return whether a rule could apply to consecutive operators of these families."""
    if first == second:
        return bool(first)
    return (first in CASTS and second == "cast") or (first in BOUNDS and second in BOUNDS)


def _permutation(axes: object, rank: int) -> tuple[int, ...]:
    """Return the axes of a transpose, counted from the front; in reverse order where none are given."""
    given = [axis % rank for axis in axes if isinstance(axis, int)] if isinstance(axes, (list, tuple)) and rank else []
    return tuple(given) if sorted(given) == list(range(rank)) else tuple(reversed(range(rank)))


def _number(value: object) -> float:
    """Return a number as attributes and scalar constants are printed: 6, -128f, 0.5f64, True."""
    text = str(value).removesuffix("f64").removesuffix("f16").removesuffix("f").removesuffix("i64")
    try:
        return float({"True": 1, "False": 0}.get(text, text))
    except ValueError:
        return float("nan")
