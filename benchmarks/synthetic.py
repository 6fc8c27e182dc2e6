"""Graphs of any size that look like a fused BERT: layers of kernels with their weights, and a mask that all of them read."""

from __future__ import annotations

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
