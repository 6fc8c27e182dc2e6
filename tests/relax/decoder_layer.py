"""A decoder layer as of a Llama, with a sequence of open length."""

from __future__ import annotations

from typing import Any

from tvm.relax.frontend import nn

import workbench as wb

WIDTH, HEADS = 64, 4


class Layer(nn.Module):
    def __init__(self) -> None:
        self.attention_norm, self.feed_norm = (nn.RMSNorm(WIDTH, -1, 1e-5, bias=False) for _ in range(2))
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.up, self.gate = (nn.Linear(WIDTH, 4 * WIDTH, bias=False) for _ in range(2))
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Any) -> Any:
        rows, length, width = x.shape

        def heads(linear: Any, given: Any, axes: list[int]) -> Any:
            split = nn.op.reshape(linear(given), (rows, length, HEADS, width // HEADS))
            return nn.op.permute_dims(split, axes)

        normed = self.attention_norm(x)
        query, value = (heads(each, normed, [0, 2, 1, 3]) for each in (self.query, self.value))
        scores = nn.op.softmax(nn.op.matmul(query, heads(self.key, normed, [0, 2, 3, 1])) * 0.25, -1)
        mixed = nn.op.permute_dims(nn.op.matmul(scores, value), [0, 2, 1, 3])
        x = x + self.out(nn.op.reshape(mixed, (rows, length, width)))
        normed = self.feed_norm(x)
        return x + self.down(nn.op.silu(self.gate(normed)) * self.up(normed))


def decoder_layer(dtype: str = "float32") -> wb.Workload:
    """Return the layer; its entry is `forward`."""
    layer = Layer()
    layer.to(dtype)
    exported = layer.export_tvm({"forward": {"x": nn.spec.Tensor((1, "length", WIDTH), dtype)}})
    return wb.load(exported[0])
