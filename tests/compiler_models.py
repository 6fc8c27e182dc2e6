"""ONNX models of seven families, small and with random weights, written as PyTorch's exporter writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx_models import FLOAT, INT, Onnx, bert

WIDE, HEADS, LENGTH, IMAGE = 64, 4, 16, 64


def _within(m: Onnx, part: str, build: Callable[[], str]) -> str:
    outer, m.scope = m.scope, f"{m.scope}/{part}"
    made = build()
    m.scope = outer
    return made


def _conv(m: Onnx, x: str, shape: tuple[int, int, int], scope: str, **how: int) -> str:
    """Add a convolution of (output, input, kernel) with a bias: the exporter folds the normalisation into it."""
    out, wide, kernel = shape
    stride, groups = how.get("stride", 1), how.get("groups", 1)
    pads, weight = [(kernel - 1) // 2] * 4, (out, wide // groups, kernel, kernel)
    settings = {"kernel_shape": [kernel] * 2, "pads": pads, "strides": [stride] * 2, "group": groups}
    return _within(m, scope, lambda: m.op("Conv", x, m.normal("weight", *weight), m.normal("bias", out), **settings))


def resnet18(wide: int = 16) -> Any:
    """ResNet-18 with its four stages of two blocks."""
    m = Onnx()
    x = m.op("Relu", _conv(m, "image", (wide, 3, 7), "conv1", stride=2))
    x = m.op("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    before = wide
    for stage in range(4):
        for block in range(2):
            m.scope = f"/layer{stage + 1}/layer{stage + 1}.{block}"
            out, stride = wide << stage, 2 if stage and not block else 1
            inner = m.op("Relu", _conv(m, x, (out, before, 3), "conv1", stride=stride))
            inner = _conv(m, inner, (out, out, 3), "conv2")
            short = _conv(m, x, (out, before, 1), "downsample", stride=stride) if before != out else x
            x, before = m.op("Relu", m.op("Add", inner, short)), out
    return m.model({"image": (FLOAT, [1, 3, IMAGE, IMAGE])}, _classified(m, x, before))


def _classified(m: Onnx, x: str, wide: int) -> str:
    m.scope = ""
    flat = m.op("Flatten", m.op("GlobalAveragePool", x), axis=1)
    m.scope = "/fc"
    return m.op("Gemm", flat, m.normal("weight", 10, wide), m.normal("bias", 10), transB=1)


MOBILE = ((1, 8, 1, 1), (6, 16, 2, 2), (6, 16, 3, 2), (6, 32, 4, 2), (6, 48, 3, 1), (6, 80, 3, 2), (6, 160, 1, 1))
"expansion, channels, blocks and stride of MobileNetV2's stages, with half its channels"


def mobilenet() -> Any:
    """MobileNetV2: depthwise convolutions, ReLU6 as Clip."""
    m = Onnx()

    def relu6(x: str) -> str:
        return m.op("Clip", x, m.constant(np.float32(0)), m.constant(np.float32(6)))

    x, before = relu6(_conv(m, "image", (16, 3, 3), "features.0", stride=2)), 16
    number = 0
    for expansion, out, blocks, first in MOBILE:
        for block in range(blocks):
            number += 1
            m.scope = f"/features/features.{number}"
            inner, stride, mid = x, first if block == 0 else 1, before * expansion
            if expansion > 1:
                inner = relu6(_conv(m, inner, (mid, before, 1), "conv.0"))
            inner = relu6(_conv(m, inner, (mid, mid, 3), "conv.1", stride=stride, groups=mid))
            inner = _conv(m, inner, (out, mid, 1), "conv.2")
            x = m.op("Add", x, inner) if stride == 1 and before == out else inner
            before = out
    m.scope = "/features/features.18"
    x = relu6(_conv(m, x, (320, before, 1), "conv"))
    return m.model({"image": (FLOAT, [1, 3, IMAGE, IMAGE])}, _classified(m, x, 320))


def bert2() -> Any:
    """BERT with two layers."""
    return bert(2, LENGTH, WIDE, HEADS)


def _attention(m: Onnx, qkv: tuple[str, str, str], mask: str, wide: int, heads: int) -> str:
    """Add attention of three projections (batch, length, width), and return it in their shape."""
    q, k, v = (
        m.op("Transpose", m.op("Reshape", x, m.constant([0, -1, heads, wide // heads])), perm=[0, 2, 1, 3]) for x in qkv
    )
    return _mixed(m, (q, k, v), mask, wide, heads)


def _mixed(m: Onnx, qkv: tuple[str, str, str], mask: str, wide: int, heads: int) -> str:
    q, k, v = qkv
    scores = m.op("MatMul", q, m.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = m.op("Mul", scores, m.constant(np.float32((wide / heads) ** -0.5)))
    if mask:
        scores = m.op("Add", scores, mask)
    mixed = m.op("Transpose", m.op("MatMul", m.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    return m.op("Reshape", mixed, m.constant([0, -1, wide]))


def _causal(m: Onnx, length: int) -> str:
    return m.constant(np.triu(np.full((1, 1, length, length), -1e4, "float32"), 1))


def gpt2() -> Any:
    """GPT-2 with two layers: one Gemm for queries, keys and values, GELU by Tanh, norms before."""
    m = Onnx()
    m.scope = "/transformer"
    x = m.op("Gather", m.normal("wte", 50, WIDE), "input_ids", axis=0)
    x = m.op("Add", x, m.normal("wpe", 1, LENGTH, WIDE))
    mask = _causal(m, LENGTH)

    def conv1d(x: str, scope: str, wide: int, out: int) -> str:
        def build() -> str:
            flat = m.op("Reshape", x, m.constant([-1, wide]))
            made = m.op("Gemm", flat, m.normal("weight", wide, out), m.normal("bias", out))
            return m.op("Reshape", made, m.constant([1, LENGTH, out]))

        return _within(m, scope, build)

    for layer in range(2):
        m.scope = f"/transformer/h.{layer}/attn"
        joined = conv1d(m.norm(x, WIDE), "c_attn", WIDE, 3 * WIDE)
        q, k, v = _outputs(m, m.op("Split", joined, m.constant([WIDE] * 3), axis=2), 3)
        x = m.op("Add", x, conv1d(_attention(m, (q, k, v), mask, WIDE, HEADS), "c_proj", WIDE, WIDE))
        m.scope = f"/transformer/h.{layer}/mlp"
        inner = conv1d(m.norm(x, WIDE), "c_fc", WIDE, 4 * WIDE)
        cubed = m.op("Mul", m.op("Pow", inner, m.constant(np.float32(3))), m.constant(np.float32(0.044715)))
        tanh = m.op("Tanh", m.op("Mul", m.op("Add", inner, cubed), m.constant(np.float32(0.7978846))))
        inner = m.op(
            "Mul", m.op("Mul", inner, m.constant(np.float32(0.5))), m.op("Add", tanh, m.constant(np.float32(1)))
        )
        x = m.op("Add", x, conv1d(inner, "c_proj", 4 * WIDE, WIDE))
    m.scope = "/transformer/ln_f"
    x = m.norm(x, WIDE)
    m.scope = "/lm_head"
    return m.model({"input_ids": (INT, [1, LENGTH])}, m.op("MatMul", x, m.normal("weight", WIDE, 50)))


def _outputs(m: Onnx, first: str, many: int) -> tuple[str, ...]:
    """Give the last node `many` outputs, and return them."""
    names = (first, *(f"{first}_{place}" for place in range(1, many)))
    m.nodes[-1].output.extend(names[1:])
    return names


def llama() -> Any:
    """A Llama-like decoder: RMS norms, rotary positions, two queries to a key, SiLU gates."""
    m = Onnx()
    m.scope = "/model"
    x = m.op("Gather", m.normal("embed", 50, WIDE), "input_ids", axis=0)
    mask, size = _causal(m, LENGTH), WIDE // HEADS
    angles = np.outer(np.arange(LENGTH), 10000.0 ** (-np.arange(0, size, 2) / size))
    both = np.concatenate([angles, angles], 1)[None, None].astype("float32")
    cos, sin = m.constant(np.cos(both)), m.constant(np.sin(both))

    def norm(x: str) -> str:
        mean = m.op("ReduceMean", m.op("Pow", x, m.constant(np.float32(2))), axes=[-1], keepdims=1)
        root = m.op("Sqrt", m.op("Add", mean, m.constant(np.float32(1e-5))))
        return m.op("Mul", m.normal("weight", WIDE), m.op("Div", x, root))

    def linear(x: str, scope: str, wide: int, out: int) -> str:
        return _within(m, scope, lambda: m.op("MatMul", x, m.normal("weight", wide, out)))

    def heads(x: str, many: int) -> str:
        return m.op("Transpose", m.op("Reshape", x, m.constant([0, -1, many, size])), perm=[0, 2, 1, 3])

    def rotated(x: str) -> str:
        low = m.op("Slice", x, m.constant([0]), m.constant([size // 2]), m.constant([3]))
        high = m.op("Slice", x, m.constant([size // 2]), m.constant([size]), m.constant([3]))
        turned = m.op("Concat", m.op("Neg", high), low, axis=-1)
        return m.op("Add", m.op("Mul", x, cos), m.op("Mul", turned, sin))

    def repeated(x: str) -> str:
        wide = m.op("Expand", m.op("Unsqueeze", x, m.constant([2])), m.constant([1, HEADS // 2, 2, LENGTH, size]))
        return m.op("Reshape", wide, m.constant([1, HEADS, LENGTH, size]))

    for layer in range(2):
        m.scope = f"/model/layers.{layer}/self_attn"
        inner = norm(x)
        q = rotated(heads(linear(inner, "q_proj", WIDE, WIDE), HEADS))
        k, v = (heads(linear(inner, part, WIDE, WIDE // 2), HEADS // 2) for part in ("k_proj", "v_proj"))
        mixed = _mixed(m, (q, repeated(rotated(k)), repeated(v)), mask, WIDE, HEADS)
        x = m.op("Add", x, linear(mixed, "o_proj", WIDE, WIDE))
        m.scope = f"/model/layers.{layer}/mlp"
        inner = norm(x)
        gate = linear(inner, "gate_proj", WIDE, 2 * WIDE)
        gated = m.op("Mul", m.op("Mul", gate, m.op("Sigmoid", gate)), linear(inner, "up_proj", WIDE, 2 * WIDE))
        x = m.op("Add", x, linear(gated, "down_proj", 2 * WIDE, WIDE))
    m.scope = "/lm_head"
    return m.model({"input_ids": (INT, [1, LENGTH])}, m.op("MatMul", norm(x), m.normal("weight", WIDE, 50)))


STEPS = 6


def lstm() -> Any:
    """An LSTM by ONNX's own operator, and a projection of its last state."""
    m = Onnx()
    m.scope = "/lstm"
    weights = m.normal("w", 1, 4 * WIDE, WIDE), m.normal("r", 1, 4 * WIDE, WIDE), m.normal("b", 1, 8 * WIDE)
    every = m.op("LSTM", "x", *weights, hidden_size=WIDE)
    _, last = _outputs(m, every, 2)
    m.scope = "/fc"
    flat = m.op("Reshape", last, m.constant([1, WIDE]))
    out = m.op("Gemm", flat, m.normal("weight", 10, WIDE), m.normal("bias", 10), transB=1)
    return m.model({"x": (FLOAT, [STEPS, 1, WIDE])}, out)


def lstm_cells() -> Any:
    """The same LSTM with its cell written out step by step, as a traced LSTMCell is exported."""
    m = Onnx()
    m.scope = "/cell"
    weights = [(m.normal("w", 4 * WIDE, WIDE), m.normal("b", 4 * WIDE)) for _ in range(2)]
    zero = m.constant(np.zeros((1, WIDE), "float32"))
    hidden, cell = zero, zero
    for step in range(STEPS):
        m.scope = f"/cell/step.{step}"
        now = m.op("Gather", "x", m.constant(step), axis=0)
        both = (m.op("Gemm", value, *pair, transB=1) for value, pair in zip((now, hidden), weights, strict=True))
        gates = _outputs(m, m.op("Split", m.op("Add", *both), m.constant([WIDE] * 4), axis=1), 4)
        enter, forget, leave = (m.op("Sigmoid", gates[place]) for place in (0, 1, 3))
        cell = m.op("Add", m.op("Mul", forget, cell), m.op("Mul", enter, m.op("Tanh", gates[2])))
        hidden = m.op("Mul", leave, m.op("Tanh", cell))
    m.scope = "/fc"
    out = m.op("Gemm", hidden, m.normal("weight", 10, WIDE), m.normal("bias", 10), transB=1)
    return m.model({"x": (FLOAT, [STEPS, 1, WIDE])}, out)


def swin(window: int = 4, side: int = 16) -> Any:
    """Two Swin blocks on patches of an image; the second one shifts its windows, by Slice and Concat."""
    m = Onnx()
    m.scope = "/patch_embed"
    patches = IMAGE // side
    x = m.op(
        "Conv", "image", m.normal("weight", WIDE, 3, patches, patches), m.normal("bias", WIDE), strides=[patches] * 2
    )
    x = m.norm(m.op("Transpose", m.op("Reshape", x, m.constant([0, WIDE, -1])), perm=[0, 2, 1]), WIDE)
    many, area = side // window, window * window

    def rolled(x: str, by: int) -> str:
        for axis in (1, 2):
            first = m.op("Slice", x, m.constant([by]), m.constant([side]), m.constant([axis]))
            rest = m.op("Slice", x, m.constant([0]), m.constant([by]), m.constant([axis]))
            x = m.op("Concat", first, rest, axis=axis)
        return x

    for block in range(2):
        m.scope = f"/layers.0/blocks.{block}/attn"
        inner = m.op("Reshape", m.norm(x, WIDE), m.constant([1, side, side, WIDE]))
        if block:
            inner = rolled(inner, window // 2)
        inner = m.op("Reshape", inner, m.constant([1, many, window, many, window, WIDE]))
        inner = m.op("Reshape", m.op("Transpose", inner, perm=[0, 1, 3, 2, 4, 5]), m.constant([-1, area, WIDE]))
        joined = m.op("Reshape", m.linear(inner, "qkv", WIDE, 3 * WIDE), m.constant([0, area, 3, HEADS, WIDE // HEADS]))
        joined = m.op("Transpose", joined, perm=[2, 0, 3, 1, 4])
        q, k, v = (m.op("Gather", joined, m.constant(place), axis=0) for place in range(3))
        mixed = _mixed(m, (q, k, v), m.normal("position", 1, HEADS, area, area), WIDE, HEADS)
        mixed = m.op("Reshape", m.linear(mixed, "proj", WIDE, WIDE), m.constant([1, many, many, window, window, WIDE]))
        mixed = m.op("Reshape", m.op("Transpose", mixed, perm=[0, 1, 3, 2, 4, 5]), m.constant([1, side, side, WIDE]))
        if block:
            mixed = rolled(mixed, side - window // 2)
        x = m.op("Add", x, m.op("Reshape", mixed, m.constant([1, -1, WIDE])))
        m.scope = f"/layers.0/blocks.{block}/mlp"
        inner = m.linear(m.norm(x, WIDE), "fc1", WIDE, 4 * WIDE)
        erf = m.op("Add", m.op("Erf", m.op("Div", inner, m.constant(np.float32(2**0.5)))), m.constant(np.float32(1)))
        inner = m.op("Mul", m.op("Mul", inner, erf), m.constant(np.float32(0.5)))
        x = m.op("Add", x, m.linear(inner, "fc2", 4 * WIDE, WIDE))
    m.scope = "/head"
    pooled = m.op("ReduceMean", m.norm(x, WIDE), axes=[1], keepdims=0)
    out = m.op("Gemm", pooled, m.normal("weight", 10, WIDE), m.normal("bias", 10), transB=1)
    return m.model({"image": (FLOAT, [1, 3, IMAGE, IMAGE])}, out)


MODELS: dict[str, Callable[[], Any]] = {
    "ResNet-18": resnet18,
    "MobileNetV2": mobilenet,
    "BERT": bert2,
    "GPT-2": gpt2,
    "Llama": llama,
    "LSTM": lstm,
    "LSTM, unrolled": lstm_cells,
    "Swin": swin,
}
