"""A decoder layer as Llama's, with a symbolic sequence."""

from __future__ import annotations

import tvm
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op

import workbench as wb


class _Layer(nn.Module):
    def __init__(self, hidden: int, heads: int, inner: int) -> None:
        self.hidden, self.heads = hidden, heads
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
        self.gate_up, self.down = nn.Linear(hidden, 2 * inner, bias=False), nn.Linear(inner, hidden, bias=False)
        self.first, self.second = (nn.RMSNorm(hidden, -1, 1e-5, bias=False) for _ in range(2))

    def forward(self, x: nn.Tensor, mask: nn.Tensor) -> nn.Tensor:
        batch, length, _ = x.shape
        size = self.hidden // self.heads
        parts = op.split(self.qkv(self.first(x)), 3, axis=-1)
        q, k, v = (op.permute_dims(op.reshape(each, (batch, length, self.heads, size)), (0, 2, 1, 3)) for each in parts)
        scores = op.softmax(op.matmul(q, op.permute_dims(k, (0, 1, 3, 2))) * size**-0.5 + mask, axis=-1)
        x = x + self.out(op.reshape(op.permute_dims(op.matmul(scores, v), (0, 2, 1, 3)), (batch, length, self.hidden)))
        gate, up = op.split(self.gate_up(self.second(x)), 2, axis=-1)
        return x + self.down(op.silu(gate) * up)


def decoder_layer(
    length: int | str = "n", dtype: str = "float32", hidden: int = 64, heads: int = 4, inner: int = 176
) -> wb.Workload:
    layer = _Layer(hidden, heads, inner)
    layer.to(dtype)
    inputs = {"x": nn.spec.Tensor([1, length, hidden], dtype), "mask": nn.spec.Tensor([1, 1, length, length], dtype)}
    module, _ = layer.export_tvm(spec={"forward": inputs})
    main = module["forward"].with_attr("global_symbol", "main")
    rest = {name.name_hint: each for name, each in module.functions_items() if name.name_hint != "forward"}
    return wb.load(tvm.IRModule({**rest, "main": main}))
