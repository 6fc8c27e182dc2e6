"""Graphs of any size: of layers that repeat, like a fused BERT with its weights and a mask, and of parts that all differ."""

from __future__ import annotations

import random

from workbench.graph.model import Graph, GraphBuilder

SEQ, HIDDEN, HEADS = 128, 768, 12


def _type(*shape: int) -> str:
    return f"Tensor[({', '.join(map(str, shape))}), float32]"


ONE, ROW, SQUARE, WIDE = _type(), _type(HIDDEN), _type(HIDDEN, HIDDEN), _type(4 * HIDDEN, HIDDEN)


def transformer(nodes: int, activation: str = "erf") -> Graph:
    """A graph of at least `nodes` nodes, and less than one layer more."""
    net = _Net(activation)
    while len(net.builder.nodes) < nodes:
        net.layer()
    net.builder.outputs = [net.x]
    return net.builder.build()


OPS = ("add", "multiply", "nn.relu", "nn.dense", "nn.conv2d", "exp", "tanh", "sigmoid", "subtract", "divide")


def irregular(nodes: int, activation: str = "erf") -> Graph:
    """A graph of `nodes` nodes in parts of 10 to 60, no two of them alike; the activation is one of 97 operators."""
    draw = random.Random(1)
    builder = GraphBuilder("irregular", "relay")
    builder.node("param", "data", type=_type(1, 64))
    left, part = 0, -1
    for n in range(1, nodes):
        if left == 0:
            part, left = builder.group("scope", f"part_{n}", None), draw.randint(10, 60)
        left -= 1
        op = draw.choice(OPS)
        near = {max(0, n - 1 - int(draw.expovariate(0.25))) for _ in range(draw.choice((1, 1, 1, 2, 2, 3)))}
        far = {draw.randrange(n)} if draw.random() < 0.03 else set()
        type = _type(1, 64 * draw.randint(1, 16))
        builder.node("op", op if n % 97 else activation, sorted(near | far), type=type, group=part)
    builder.outputs = [nodes - 1]
    return builder.build()


class _Net:
    def __init__(self, activation: str) -> None:
        self.activation = activation
        self.builder = GraphBuilder("transformer", "relay")
        self.x = self.builder.node("param", "data", type=_type(SEQ, HIDDEN))
        self.mask = self.builder.node("param", "mask", type=_type(1, 1, SEQ))
        self.layers = 0
        self.scope = 0
        self.constants = 0

    def layer(self) -> None:
        self.scope = self.builder.group("scope", f"layer_{self.layers}", None)
        self.layers += 1
        x = self.x
        query, key, value = (self.heads(x) for _ in range(3))
        scores = self.kernel(["nn.batch_matmul", "multiply", "add"], [query, key], [None, ONE, self.mask], SEQ, SEQ)
        weights = self.kernel(["nn.softmax"], [scores], [None], SEQ, SEQ)
        context = self.kernel(["nn.batch_matmul"], [weights, value], [None], SEQ, HIDDEN // HEADS)
        context = self.kernel(["transpose", "reshape"], [context], [None, None], SEQ, HIDDEN)
        x = self.norm(self.kernel(["nn.dense", "add", "add"], [context], [SQUARE, ROW, x], SEQ, HIDDEN))
        gelu = ["nn.dense", "add", "multiply", self.activation, "add", "multiply"]
        inner = self.kernel(gelu, [x], [WIDE, ROW, ONE, None, ONE, ONE], SEQ, 4 * HIDDEN)
        self.x = self.norm(self.kernel(["nn.dense", "add", "add"], [inner], [WIDE, ROW, x], SEQ, HIDDEN))

    def heads(self, x: int) -> int:
        dense = ["nn.dense", "add", "reshape", "transpose"]
        return self.kernel(dense, [x], [SQUARE, ROW, None, None], SEQ, HIDDEN // HEADS)

    def norm(self, x: int) -> int:
        mean = self.kernel(["mean"], [x], [None], SEQ, 1)
        spread = self.kernel(["subtract", "power", "mean"], [x], [mean, ONE, None], SEQ, 1)
        return self.kernel(
            ["add", "rsqrt", "multiply", "multiply", "add"], [spread], [ONE, None, x, ROW, ROW], SEQ, HIDDEN
        )

    def kernel(self, ops: list[str], inputs: list[int], operands: list[int | str | None], *shape: int) -> int:
        """A fused chain; each operator's further operand is a node, a type (a new constant) or nothing."""
        group = self.builder.group("primitive", "fused_" + "_".join(ops).replace(".", "_"), self.scope)
        for op, operand in zip(ops, operands, strict=True):
            if operand is not None:
                inputs = [*inputs, operand if isinstance(operand, int) else self.constant(operand, group)]
            inputs = [self.builder.node("op", op, inputs, type=_type(*shape), group=group)]
        return inputs[0]

    def constant(self, type: str, group: int) -> int:
        self.constants += 1
        text = f"meta[relay.Constant][{self.constants}]"
        return self.builder.node("constant", text, type=type, attrs={"digest": f"{self.constants:08x}"}, group=group)
