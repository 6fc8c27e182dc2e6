"""What a card says would help is tried with TVM's own FuseOps: with the setting, or with the program changed so."""

from __future__ import annotations

from collections import Counter
from random import Random

import tvm
from breadth import random_seeds
from fusion_programs import Program, marked
from tvm import relay

import workbench as wb

DEPTHS = (2, 3, 4, 6)


def fused(module: tvm.IRModule, opt_level=2, max_depth=256, max_function_args=0) -> wb.Graph:
    target = f"opencl -max_function_args={max_function_args}" if max_function_args else "llvm"
    config = {"relay.FuseOps.max_depth": max_depth}
    with tvm.transform.PassContext(opt_level=3, config=config), tvm.target.Target(target):
        return wb.load(relay.transform.FuseOps(opt_level)(relay.transform.InferType()(module))).graph


def share_a_kernel(graph: wb.Graph, a: str, b: str) -> bool:
    """Whether the calls with these spans are in one kernel."""
    kernels = [{graph.kernel_of(n.id) for n in graph.nodes if n.span == span} for span in (a, b)]
    return bool(kernels[0] & kernels[1])


def spot(call: relay.Call) -> str:
    """What the call's span says."""
    return "" if call.span is None else str(call.span.source_name.name)


class WithCopy(relay.ExprMutator):
    """Gives one consumer of a call a copy of it: the call that its span names, or with "" the tuples, which bear no span."""

    def __init__(self, producer: str, user: str) -> None:
        super().__init__()
        self.producer, self.user = producer, user

    def visit_call(self, call):
        new = super().visit_call(call)
        if not self.user or spot(call) != self.user:
            return new
        args = [self.copied(arg) for arg in new.args]
        return relay.Call(new.op, args, new.attrs, new.type_args, new.span)

    def visit_tuple(self, tup):
        new = super().visit_tuple(tup)
        return new if self.user else relay.Tuple([self.copied(field) for field in new.fields])

    def copied(self, arg):
        """The consumer that the card names gets the copy, with the span; the other uses keep the value, without it."""
        if not isinstance(arg, relay.Call) or spot(arg) != self.producer:
            return arg
        if not hasattr(self, "copy"):
            span = relay.Span(relay.SourceName("copy"), 1, 1, 1, 1)
            self.copy = relay.Call(arg.op, arg.args, arg.attrs, arg.type_args, span)
        return self.copy


class WithCut(relay.ExprMutator):
    """Puts stop_fusion behind one call."""

    def __init__(self, producer: str) -> None:
        super().__init__()
        self.producer = producer

    def visit_call(self, call):
        new = super().visit_call(call)
        return relay.annotation.stop_fusion(new) if spot(call) == self.producer else new


def changed(module: tvm.IRModule, mutator: relay.ExprMutator) -> tvm.IRModule:
    return tvm.IRModule.from_expr(mutator.visit(module["main"]))


def in_tuples(graph: wb.Graph, node: int) -> int:
    return len({user for user, _ in graph.consumers[node] if graph.nodes[user].kind == "tuple"})


def source(graph: wb.Graph, node: int) -> str:
    return graph.nodes[node].span.split(":")[0]


def cards(module: tvm.IRModule, **settings):
    """The report, and the card of each use between two kernels that has a change to offer."""
    graph = wb.load(module).graph
    report = wb.explain_fusion(graph, **settings)
    seen = set()
    for edge in graph.edges:
        pair = (edge.source, edge.target)
        both = all(graph.nodes[n].kind == "op" and graph.nodes[n].span for n in pair)
        inside = any(graph.nodes[n].group != 0 for n in pair)
        if both and not inside and pair not in seen:
            seen.add(pair)
            card = report.why(*pair)
            if card.changes:
                yield graph, card


def holds(module: tvm.IRModule, graph: wb.Graph, card, change, **settings) -> bool:
    """Whether TVM puts both into one kernel after the change."""
    a, b = (graph.nodes[n].span for n in card.nodes)
    if change.kind in ("opt_level", "max_depth", "max_function_args"):
        return share_a_kernel(fused(module, **{**settings, change.kind: change.value}), a, b)
    if change.kind == "cut":
        return share_a_kernel(fused(changed(module, WithCut(source(graph, change.node))), **settings), a, b)
    assert change.kind == "copy"
    made = changed(module, WithCopy(source(graph, change.node), source(graph, change.value)))
    a = "copy:1:1" if card.nodes[0] == change.node else a
    return share_a_kernel(fused(made, **settings), a, b)


@random_seeds(range(12), 400)
def test_every_change_that_cards_offer_works(seeds: range, tell) -> None:
    offered: Counter[str] = Counter()
    wrong = []
    for seed in seeds:
        random = Random(seed)
        module = Program(random, 8).module()
        for settings in ({}, {"max_depth": random.choice(DEPTHS)}, {"max_function_args": 4}, {"opt_level": 0}):
            for graph, card in cards(module, **settings):
                for change in card.changes:
                    if change.kind == "shape":
                        # the program with that shape is another one; tried below
                        continue
                    if change.kind == "copy" and in_tuples(graph, change.node) > 1:
                        # which of the tuples is meant cannot be told to the mutator
                        continue
                    offered[change.kind] += 1
                    if not holds(module, graph, card, change, **settings):
                        wrong.append((seed, settings, card.nodes, change))
    tell(f"changes tried with TVM: {dict(offered)}, {len(wrong)} that did not work")
    assert set(offered) >= {"opt_level", "max_depth", "max_function_args", "copy"}
    assert not wrong, wrong[:5]


def test_with_the_rival_split_out_the_other_complex_operator_fuses():
    x, weight = relay.var("x", shape=(4, 8)), relay.var("w", shape=(8, 8))
    two = [relay.nn.dense(x, weight), relay.nn.dense(relay.exp(x), weight)]
    module = marked(tvm.IRModule.from_expr(relay.Function([x, weight], relay.add(*two))))
    graph = wb.load(module).graph
    report = wb.explain_fusion(graph)
    add = next(node.id for node in graph.ops if node.op == "add")
    apart = [n.id for n in graph.ops if n.op == "nn.dense" and report.group_of(n.id) is not report.group_of(add)]
    assert len(apart) == 1
    card = report.why(apart[0], add)
    cuts = [change for change in card.changes if change.kind == "cut"]
    assert len(cuts) == 1
    assert holds(module, graph, card, cuts[0])


def test_the_least_max_depth_is_the_least():
    for seed in range(15):
        module = Program(Random(seed), 8).module()
        for graph, card in cards(module, max_depth=2):
            for change in card.changes:
                if change.kind == "max_depth":
                    a, b = (graph.nodes[n].span for n in card.nodes)
                    assert not share_a_kernel(fused(module, max_depth=change.value - 1), a, b)


def test_a_result_of_the_full_shape_would_fuse():
    """The claim about shapes: the same two operators, with and without the stretch."""
    x = relay.var("x", shape=(4, 8))

    def kernels(rows):
        small = relay.var("s", shape=(rows, 8))
        weight = relay.var("w", shape=(8, 8))
        w = wb.load(relay.Function([x, small, weight], relay.add(relay.nn.dense(small, weight), x)))
        return w, fused(w.module).kernel_count

    stretched, count = kernels(1)
    assert count == 2
    card = wb.explain_fusion(stretched).why(*[n.id for n in stretched.graph.ops])
    assert [c.kind for c in card.changes] == ["shape"]
    assert kernels(4)[1] == 1
