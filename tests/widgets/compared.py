"""A comparison of two compilers, from sides that no compiler made."""

from __future__ import annotations

from workbench.debugging.compilers.result import CompilerPair, Difference
from workbench.debugging.compilers.side import Compiler, CompilerSide
from workbench.graph.model import Graph, GraphBuilder
from workbench.measurement.kernels import Kernels
from workbench.pipeline.config import Config

TYPE = "Tensor[(2, 3), float32]"


def program(*kernels: tuple[str, str], dialect: str = "relay") -> Graph:
    """A chain of kernels of one operator, each with the node of the model that it computes."""
    builder = GraphBuilder("model", dialect)
    at = builder.node("param", "x", type=TYPE)
    for op, source in kernels:
        at = builder.node("op", op, [at], type=TYPE, source=(source,) if source else ())
    builder.outputs = [at]
    return builder.build()


def side(graph: Graph, times: list[float]) -> CompilerSide:
    calls = tuple({"index": place, "nodes": [place + 1]} for place in range(len(graph.nodes) - 1))
    kernels = Kernels(calls, "llvm", Config(), 0.0, answer={"graph": graph.to_data()})
    return CompilerSide(
        Compiler(graph.dialect), "llvm", kernels=kernels, optimized=graph, kernel_us=dict(enumerate(times))
    )


def pair(times: bool = True) -> CompilerPair:
    """Two kernels on the left, of which the first one is two on the right."""
    left = program(("exp", "layer.0.norm.Exp"), ("relu", "layer.0.Relu"))
    right = program(
        ("mean", "layer.0.norm.Exp"), ("exp", "layer.0.norm.Exp"), ("relu", "layer.0.Relu"), dialect="relax"
    )
    split = Difference(
        ("layer.0.norm.Exp",), "split", ("tvmgen_default_exp",), ("mean", "exp"), 48, 96,
        3.0 if times else None, 5.0 if times else None, "Relax: exp (node 2) is <opaque>.", ((0,), (0, 1)),
    )  # fmt: skip
    same = Difference(("layer.0.Relu",), "one to one", ("relu",), ("relu",), 48, 48, 1.0, 1.0, "", ((1,), (2,)))
    return CompilerPair(
        side(left, [3.0, 1.0] if times else []), side(right, [1.0, 4.0, 1.0] if times else []), rows=(split, same),
        unraced="budget=0",
    )  # fmt: skip
