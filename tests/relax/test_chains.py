"""Chains of constants on Relax: every pass that TVM lists is run on every kind, and what none shortens is told as such."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tvm
from breadth import random_seeds
from tvm import relax

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph

op = relax.op
TUNING = ("MetaSchedule", "RunCodegen", "Gradient")
"passes that measure, compile, or compute something else"
LOWERING = ("LegalizeOps", "FuseOps", "FuseTIR")


def k(*shape, value=2.0, dtype="float32"):
    return relax.const(np.full(shape, value, dtype))


def load(shape, *steps, dtype="float32", used=()):
    """A program of operators in a row; the places in `used` have a tanh beside the next one."""
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType(shape, dtype))
    with builder.function("main", [x]):
        with builder.dataflow():
            value, beside = x, []
            for place, step in enumerate(steps):
                value = builder.emit(step(value))
                beside += [builder.emit(op.tanh(value))] if place in used else []
            result = builder.emit_output(relax.Tuple([value, *beside]) if beside else value)
        builder.emit_func_output(result)
    return wb.load(builder.get())


def layout(*order):
    names = "abcdef"[: len(order)]
    # TVM reads the map off the names of a function's arguments
    text = f"lambda {', '.join(names)}: ({', '.join(names[place] for place in order)})"
    return lambda x: op.layout_transform(x, eval(text))


def reshape(*shape):
    return lambda x: op.reshape(x, shape)


IMAGE, TABLE = (1, 4, 6, 6), (4, 8)
CASES = {
    "multiply twice": (TABLE, [lambda x: op.multiply(x, k()), lambda x: op.multiply(x, k(value=3.0))]),
    "add twice": (TABLE, [lambda x: op.add(x, k(8)), lambda x: op.add(x, k(8, value=3.0))]),
    "divide twice": (TABLE, [lambda x: op.divide(x, k()), lambda x: op.divide(x, k())]),
    "multiply, add": (TABLE, [lambda x: op.multiply(x, k()), lambda x: op.add(x, k())]),
    "cast there and back": (TABLE, [lambda x: op.astype(x, "float64"), lambda x: op.astype(x, "float32")]),
    "transpose twice": (TABLE, [op.permute_dims, op.permute_dims]),
    "relu twice": (TABLE, [op.nn.relu, op.nn.relu]),
    "clip twice": (TABLE, [lambda x: op.clip(x, 0, 6), lambda x: op.clip(x, 1, 5)]),
    "expand, squeeze": (TABLE, [lambda x: op.expand_dims(x, 0), lambda x: op.squeeze(x, 0)]),
    "pad, convolution": (
        IMAGE,
        [lambda x: op.nn.pad(x, (0, 0, 0, 0, 1, 1, 1, 1)), lambda x: op.nn.conv2d(x, k(4, 4, 3, 3))],
    ),
    "convolution, factor": (IMAGE, [lambda x: op.nn.conv2d(x, k(4, 4, 3, 3)), lambda x: op.multiply(x, k(4, 1, 1))]),
    "product, factor": (TABLE, [lambda x: op.matmul(x, k(8, 8)), lambda x: op.multiply(x, k())]),
    "reshape twice": (TABLE, [reshape(32), reshape(2, 16)]),
    "reshape back": (TABLE, [reshape(32), reshape(4, 8)]),
    "reshape to the same": (TABLE, [reshape(4, 8)]),
    "layout back": (IMAGE, [layout(0, 2, 3, 1), layout(0, 3, 1, 2)]),
}
FOLDS = {
    "reshape twice": ("RemoveRedundantReshape", 1),
    "reshape back": ("RemoveRedundantReshape", 0),
    "reshape to the same": ("RemoveRedundantReshape", 0),
    "layout back": ("OptimizeLayoutTransform", 0),
}


def passes():
    """Every pass of this TVM that runs without options and neither measures nor lowers."""
    for described in wb.passes("relax"):
        make = getattr(relax.transform, described.name, None)
        if make is None or described.name.startswith(TUNING) or described.name in LOWERING:
            continue
        try:
            yield described.name, make()
        except TypeError:
            # it needs something to be told first: a target, parameters, patterns
            continue


def shortens(made, module):
    """How many operators a pass leaves; as many as before where it does not run on this program."""
    try:
        with tvm.target.Target("llvm"), tvm.transform.PassContext(opt_level=4):
            return len(wb.load(made(module)).graph.ops)
    except Exception:  # noqa: BLE001  passes for later stages refuse a program of this one, each in its own way
        return len(wb.load(module).graph.ops)


@pytest.mark.filterwarnings("ignore")
def test_every_pass_on_every_kind_of_chain(tell):
    every = list(passes())
    for name, (shape, steps) in CASES.items():
        w = load(shape, *steps)
        (chain,) = wb.constant_chains(w.graph)
        before = len(w.graph.ops)
        found = {each: left for each, made in every if (left := shortens(made, w.module)) < before}
        assert found == dict([FOLDS[name]] if name in FOLDS else []), name
        assert (chain.passes, chain.left) == FOLDS.get(name, ("", len(steps))), name
        codes = [reason.code for reason in chain.reasons]
        assert codes == ([] if name in FOLDS else ["canonical"] if name == "multiply, add" else ["no-pass"]), name
    tell(f"Relax chains: {len(every)} passes on {len(CASES)} kinds of chain; {len(FOLDS)} are shortened, as predicted")


def test_unsafe_layout_fold_gives_other_values():
    steps = layout(0, 2, 3, 1), layout(0, 2, 3, 1)
    w = load((1, 4, 4, 4), *steps)
    (chain,) = wb.constant_chains(w.graph)
    assert (chain.left, chain.safe, [r.code for r in chain.reasons]) == (0, False, ["unsafe-layout-fold"])
    assert not wb.compare_outputs(w, wb.load(wb.trace(w, chain.passes).result))


def test_a_layout_that_is_undone_gives_the_same_values():
    w = load(*[(1, 4, 4, 4)], layout(0, 2, 3, 1), layout(0, 3, 1, 2))
    (chain,) = wb.constant_chains(w.graph)
    assert chain.safe
    assert wb.compare_outputs(w, wb.load(wb.trace(w, chain.passes).result))


def test_a_saved_graph_has_its_chains_and_no_outcome():
    shape, steps = CASES["reshape back"]
    (chain,) = wb.constant_chains(Graph.from_json(load(shape, *steps).graph.to_json()))
    assert (len(chain.nodes), chain.folds, [r.code for r in chain.reasons]) == (2, False, ["not-tried"])
    assert "needs TVM" in chain.reasons[0].sentence


def random_run(seed):
    draw = random.Random(seed)
    if draw.random() < 0.5:
        steps = [draw.choice([reshape(4, 4, 4), reshape(64), reshape(8, 8)]) for _ in range(draw.randint(2, 6))]
        if draw.random() < 0.3:
            steps.insert(draw.randrange(len(steps)), lambda x: op.expand_dims(x, 0))
        shape = draw.choice([(64,), (8, 8)])
    else:
        orders = [(0, 2, 3, 1), (0, 3, 1, 2), (0, 1, 3, 2)]
        steps = [layout(*draw.choice(orders)) for _ in range(draw.randint(2, 6))]
        shape = draw.choice([(1, 4, 4, 4), (1, 2, 3, 4)])
    return load(shape, *steps, used=[place for place in range(len(steps) - 1) if draw.random() < 0.15])


def links(graph):
    """How many operators that chains are made of; what stands beside them becomes one where its arguments do."""
    return sum(node.op != "relax.tanh" for node in graph.ops)


@random_seeds(range(12), 400)
def test_random_chains_fold_as_predicted(seeds, tell):
    chains = folded = 0
    for seed in seeds:
        w = random_run(seed)
        graph = w.graph
        found = wb.constant_chains(graph)
        text = next((chain.passes for chain in found if chain.passes), "RemoveRedundantReshape")
        real = wb.load(wb.trace(w, text).result).graph
        predicted = sum(len(chain.nodes) - chain.left for chain in found)
        assert links(graph) - links(real) == predicted, (seed, [str(chain) for chain in found])
        chains, folded = chains + len(found), folded + predicted
    tell(f"Relax chains: {len(seeds)} programs, {chains} chains, {folded} operators gone as predicted, 0 disagreements")
    assert folded > len(seeds) / 2


def test_the_samples_chains_are_told_with_a_reason():
    chains = wb.constant_chains(wb.samples.load("bert", dialect="relax", layers=1, hidden=32, seq=8, heads=2).graph)
    assert chains
    assert all(chain.reasons for chain in chains if not chain.folds)
    assert "relax.add -> relax.multiply" in "\n".join(map(str, chains))


def test_a_graph_of_no_dialect_is_refused():
    with pytest.raises(WorkbenchError, match="passes of Relay and Relax"):
        wb.constant_chains(Graph())
