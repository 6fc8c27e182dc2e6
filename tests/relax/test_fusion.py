"""The fusion mirror agrees with Relax's own FuseOps, on the samples and on random programs."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
import tvm
from breadth import seeds
from merging_programs import Merging
from small_samples import TWO_LAYERS
from tvm import relax
from tvm.script import ir as script_ir
from tvm.script import relax as script_relax

import workbench as wb
from workbench.dialects.relax import compat

ROWS, COLUMNS = 4, 8
UNARY = (relax.op.exp, relax.op.tanh, relax.op.nn.relu, relax.op.negative)
BINARY = (relax.op.add, relax.op.multiply, relax.op.maximum)
SETTINGS = [{"opt_level": level, "max_depth": depth} for level in (0, 1, 2) for depth in (1, 2, 4, 16, 256)]


class Program:
    """A main function of one or two dataflow blocks; every value has the shape (ROWS, COLUMNS)."""

    def __init__(self, random: Random, size: int) -> None:
        self.random = random
        self.block = relax.BlockBuilder()
        whole = compat.tensor_type((ROWS, COLUMNS), "float32")
        self.row = relax.Var("row", compat.tensor_type((1, COLUMNS), "float32"))
        self.weight = relax.Var("weight", compat.tensor_type((COLUMNS, COLUMNS), "float32"))
        self.pool: list[Any] = [relax.Var(f"x{i}", whole) for i in range(random.randint(1, 2))]
        made = (self.unary, self.binary, self.binary, self.stretched, self.constant, self.arranged, self.joined)
        others = (self.parts, self.reduced, self.complex, self.complex, self.opaque, self.pair, self.alias)
        choices = (*made, *made, *others)
        with self.block.function("main", [*self.pool, self.row, self.weight]):
            for _ in range(random.randint(1, 2)):
                with self.block.dataflow():
                    for _ in range(random.randint(1, size)):
                        self.pool.append(random.choice(choices)())
                    outputs = {id(value): value for value in (self.pool[-1], *self.some(random.randint(0, 2)))}
                    kept = [self.block.emit_output(value) for value in outputs.values()]
                # what is not an output of its block is seen in it only
                self.pool = kept
            self.block.emit_func_output(kept[0] if len(kept) == 1 else relax.Tuple(kept))

    def module(self) -> tvm.IRModule:
        return annotated(self.block.get())

    def some(self, count: int) -> list[Any]:
        return [self.old() for _ in range(count)]

    def old(self) -> Any:
        return self.pool[-1] if self.random.random() < 0.5 else self.random.choice(self.pool)

    def alias(self):
        return self.block.emit(self.old())

    def unary(self):
        return self.block.emit(self.random.choice(UNARY)(self.old()))

    def binary(self):
        return self.block.emit(self.random.choice(BINARY)(self.old(), self.old()))

    def stretched(self):
        return self.block.emit(self.random.choice(BINARY)(self.old(), self.row))

    def constant(self):
        return self.block.emit(relax.op.add(self.old(), relax.const(float(self.random.randint(0, 3)), "float32")))

    def arranged(self):
        return self.block.emit(relax.op.permute_dims(self.block.emit(relax.op.permute_dims(self.old()))))

    def joined(self):
        both = self.block.emit(relax.op.concat([self.old(), self.old()], axis=1))
        return self.block.emit(relax.op.strided_slice(both, [1], [0], [COLUMNS]))

    def parts(self):
        both = self.block.emit(relax.op.split(self.old(), 2, axis=1))
        halves = [self.block.emit(relax.TupleGetItem(both, i)) for i in (0, 1)]
        return self.block.emit(relax.op.concat(halves, axis=1))

    def reduced(self):
        total = self.block.emit(relax.op.sum(self.old(), axis=[1], keepdims=True))
        return self.block.emit(self.random.choice(BINARY)(self.old(), total))

    def complex(self):
        if self.random.random() < 0.3:
            return self.block.emit(relax.op.nn.softmax(self.old()))
        return self.block.emit(relax.op.matmul(self.old(), self.weight))

    def opaque(self):
        return self.block.emit(relax.op.cumsum(self.old(), axis=1))

    def pair(self):
        pair = self.block.emit(relax.Tuple([self.old(), self.old()]))
        return self.block.emit(relax.op.add(*(self.block.emit(relax.TupleGetItem(pair, i)) for i in (0, 1))))


def annotated(module: tvm.IRModule) -> tvm.IRModule:
    """The module as FuseOps gets it in the default pipeline."""
    passes = relax.transform
    before = (
        passes.DecomposeOpsForInference(),
        passes.DeadCodeElimination(),
        passes.LegalizeOps(),
        passes.AnnotateTIROpPattern(),
    )
    return tvm.transform.Sequential(before)(module)


Kernel = tuple[tuple[str, ...], frozenset[str]]


def mirrored(graph: wb.Graph, **settings: int) -> list[Kernel]:
    return [_kernel(graph, group.nodes, group.root) for group in wb.explain_fusion(graph, **settings).kernels]


def real(module: tvm.IRModule, opt_level: int, max_depth: int) -> list[Kernel]:
    with tvm.transform.PassContext(config={"relax.FuseOps.max_depth": max_depth}):
        graph = wb.load(relax.transform.FuseOps(opt_level)(module)).graph
    held: dict[int | None, list[int]] = {}
    for node in filter(graph.is_work, graph.ops):
        held.setdefault(graph.kernel_of(node.id), []).append(node.id)
    alone = [_kernel(graph, [node], node) for node in held.pop(None, [])]
    return alone + [_kernel(graph, nodes, graph.groups[kernel].output) for kernel, nodes in held.items()]


def _kernel(graph: wb.Graph, nodes: Any, root: int | None) -> Kernel:
    """The operators, and the variables of all but the one that ends the kernel: TVM gives that another name."""
    ops = [graph.nodes[n] for n in nodes if graph.nodes[n].kind == "op"]
    return tuple(sorted(node.op for node in ops)), frozenset(node.name for node in ops if node.id != root)


def agree(ours: list[Kernel], theirs: list[Kernel]) -> bool:
    """Equal kernels by operators; and by variables, but that TVM makes equal kernels one, with the first one's variables."""
    same = Counter(ops for ops, _ in ours) == Counter(ops for ops, _ in theirs)
    return same and {names for _, names in theirs} <= {names for _, names in ours}


def compare(modules: Any, tell: pytest.CaptureFixture[str]) -> None:
    graphs = comparisons = kernels = 0
    bad = []
    for name, module in modules:
        graphs += 1
        graph = wb.load(module).graph
        for settings in SETTINGS:
            ours, theirs = mirrored(graph, **settings), real(module, **settings)
            comparisons += 1
            kernels += len(theirs)
            if not agree(ours, theirs):
                bad.append((name, settings))
    tell(
        f"fusion mirror (Relax): {graphs} graphs, {comparisons} comparisons, {kernels} groups, {len(bad)} disagreements"
    )
    assert graphs
    assert not bad, bad[:5]


@pytest.mark.parametrize("sizes", [TWO_LAYERS, pytest.param({}, marks=pytest.mark.long)], ids=["small", "full"])
def test_every_sample(sizes, tell):
    samples = {name: wb.samples.load(name, **sizes.get(name, {})) for name in wb.samples.names("relax")}
    compare(((name, annotated(sample.module)) for name, sample in samples.items()), tell)


def test_random_programs(tell):
    compare(((seed, Program(Random(seed), 8).module()) for seed in range(15)), tell)


@pytest.mark.long
def test_many_random_programs(tell):
    compare(((seed, Program(Random(seed), 12).module()) for seed in seeds(400)), tell)


def test_what_merging_leaves_is_an_alias_and_holds_what_it_names():
    casts = wb.samples.load("parallel_cast")
    merged = wb.trace(casts, "EliminateCommonSubexpr,LegalizeOps,AnnotateTIROpPattern").result
    compare([("merged", merged)], lambda _: None)
    report = wb.explain_fusion(wb.load(merged))
    relu = next(node.id for node in report.graph.ops if node.op == "relu")
    assert report.decided(report.graph.inputs[relu][0]).code == "held"
    assert "CanonicalizeBindings" in report.decided(report.graph.inputs[relu][0]).sentence
    tidy = wb.trace(wb.load(merged), "CanonicalizeBindings").end.graph
    assert len(wb.explain_fusion(tidy).kernels) < len(report.kernels)


def test_before_AnnotateTIROpPattern_nothing_has_a_kind():  # noqa: N802  the pass is called so
    module = relax.transform.LegalizeOps()(wb.samples.load("mlp").module)
    report = wb.explain_fusion(wb.load(module))
    assert all(len(group.ops) == 1 for group in report.kernels)
    assert {report.decided(node.id).code for node in report.graph.ops} == {"unannotated"}
    assert "AnnotateTIROpPattern" in report.decided(report.kernels[0].root).sentence


@relax.expr_functor.mutator
class Gradients(relax.PyExprMutator):
    """Writes `call_tir_with_grad` in the place of the calls of one PrimFunc."""

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        if call.op.name != "relax.call_tir" or call.args[0].name_hint != "relu":
            return call
        return relax.op.call_tir_with_grad(call.args[0], call.args[1], call.ty_args[0], te_grad_name="gradient")


@pytest.mark.parametrize("settings", SETTINGS[-3:])
def test_call_tir_with_grad_is_opaque(settings: dict[str, int]) -> None:
    module = annotated(wb.samples.load("chain", length=6).module)
    rewriter = Gradients(module)
    module.update_func(module.get_global_var("main"), rewriter.visit_expr(module["main"]))
    graph = wb.load(module).graph
    assert any(node.attrs.get("called_by") == "relax.call_tir_with_grad" for node in graph.nodes)
    assert agree(mirrored(graph, **settings), real(module, **settings))


def outcome(module: tvm.IRModule, settings: dict[str, int]) -> list[Kernel] | None:
    """Return the real pass's kernels, None where it raises."""
    try:
        return real(module, **settings)
    except tvm.error.InternalError:
        return None


def nested(seeds: range, tell: Any) -> None:
    fails = 0
    for seed in seeds:
        passes = relax.transform
        before = [passes.DecomposeOpsForInference(), passes.LegalizeOps(), passes.AnnotateTIROpPattern()]
        if seed % 3:
            before.insert(0, passes.DeadCodeElimination())
        module = tvm.transform.Sequential(before)(Merging(seed).module())
        graph, settings = wb.load(module).graph, SETTINGS[seed % len(SETTINGS)]
        theirs, report = outcome(module, settings), wb.explain_fusion(graph, **settings)
        assert bool(report.failure) == (theirs is None), seed
        fails += theirs is None
        assert theirs is None or agree(mirrored(graph, **settings), theirs), seed
    tell(f"fusion mirror (Relax): {len(seeds)} programs with `if` and local functions, 0 disagreements, {fails} raise")
    assert fails


def test_arms_and_local_functions(tell):
    nested(range(4), tell)


@pytest.mark.long
def test_arms_and_local_functions_of_many_programs(tell):
    nested(seeds(50), tell)


def test_shared_variable_makes_the_pass_raise():
    module = annotated(wb.samples.load("chain", length=3).module)
    module["other"] = module["main"].with_attr("global_symbol", "other")
    assert outcome(module, {"opt_level": 2, "max_depth": 256}) is None
    failure = wb.explain_fusion(wb.load(module)).failure
    assert "share the variable" in failure
    assert "@main and @other" in failure or "@other and @main" in failure


@pytest.mark.parametrize(("apart", "fails"), [("R.cumsum(b, axis=1)", True), ("R.exp(b)", False)])
def test_local_function_in_a_dataflow_block(apart: str, fails: bool) -> None:
    text = f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(a)
            @R.function
            def f(p: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
                with R.dataflow():
                    q = R.exp(p)
                    R.output(q)
                return q
            c = {apart}
            d = R.negative(c)
            e = R.negative(d)
            g = f(e)
            R.output(g)
        return g
"""
    module = annotated(tvm.script.from_source(text, extra_vars={"I": script_ir, "R": script_relax}))
    report = wb.explain_fusion(wb.load(module))
    assert ("local function f" in report.failure) == fails
    assert (outcome(module, {"opt_level": 2, "max_depth": 256}) is None) == fails


def test_direct_call_of_a_kernel_is_opaque():
    lowered = relax.transform.CallTIRRewrite()(annotated(wb.samples.load("chain", length=3).module))
    graph = wb.load(lowered).graph
    called = [node for node in graph.ops if not node.op.startswith("relax.")]
    assert called
    assert {wb.explain_fusion(graph).decided(node.id).code for node in called} == {"opaque"}
    assert agree(mirrored(graph), real(lowered, 2, 256))
