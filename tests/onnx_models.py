"""ONNX models written out node by node, named as torch.onnx.export names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

FLOAT, INT = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
OPSET = 17


class Onnx:
    """Collects nodes and weights; `scope` is where in the model the next nodes are."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.scope = ""

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        made = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [made], f"{self.scope}/{kind}", **attributes))
        return made

    def constant(self, value: Any) -> str:
        return self.weight("constant", np.asarray(value))

    def weight(self, name: str, values: np.ndarray) -> str:
        named = f"{self.scope.strip('/').replace('/', '.')}.{name}_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values, named))
        return named

    def normal(self, name: str, *shape: int) -> str:
        return self.weight(name, self.random.normal(0, 0.2, shape).astype("float32"))

    def linear(self, x: str, scope: str, wide: int, out: int) -> str:
        outer, self.scope = self.scope, f"{self.scope}/{scope}"
        made = self.op("Add", self.normal("bias", out), self.op("MatMul", x, self.normal("weight", wide, out)))
        self.scope = outer
        return made

    def norm(self, x: str, wide: int) -> str:
        ones = self.weight("norm", np.ones(wide, "float32"))
        return self.op("LayerNormalization", x, ones, self.normal("norm", wide), axis=-1)

    def model(self, inputs: dict[str, tuple[int, list[Any]]], *outputs: str) -> Any:
        values = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
        results = [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "model", values, results, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def bert(layers: int = 12, length: Any = 8, wide: int = 16, heads: int = 2) -> Any:
    """BERT's encoder as its exporters write it: attention with a mask, GELU from Erf, norms after the sums."""
    m = Onnx()
    m.scope = "/bert/embeddings"
    x = m.op("Gather", m.normal("words", 30, wide), "input_ids", axis=0)
    x = m.norm(x, wide)
    m.scope = "/bert"
    mask = m.op("Cast", m.op("Unsqueeze", "attention_mask", m.constant([1, 2])), to=FLOAT)
    mask = m.op("Mul", m.op("Sub", m.constant(np.float32(1)), mask), m.constant(np.float32(-100)))
    for layer in range(layers):
        m.scope = f"/bert/encoder/layer.{layer}/attention/self"
        q, k, v = (_heads(m, m.linear(x, part, wide, wide), wide, heads) for part in ("query", "key", "value"))
        scores = m.op("MatMul", q, m.op("Transpose", k, perm=[0, 1, 3, 2]))
        scores = m.op("Add", m.op("Div", scores, m.constant(np.float32((wide / heads) ** 0.5))), mask)
        mixed = m.op("Transpose", m.op("MatMul", m.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        mixed = m.op("Reshape", mixed, m.constant([0, 0, wide]))
        m.scope = f"/bert/encoder/layer.{layer}/attention/output"
        x = m.norm(m.op("Add", m.linear(mixed, "dense", wide, wide), x), wide)
        m.scope = f"/bert/encoder/layer.{layer}/intermediate"
        inner = m.linear(x, "dense", wide, 2 * wide)
        erf = m.op("Erf", m.op("Div", inner, m.constant(np.float32(2**0.5))))
        inner = m.op(
            "Mul", m.op("Mul", inner, m.op("Add", erf, m.constant(np.float32(1)))), m.constant(np.float32(0.5))
        )
        m.scope = f"/bert/encoder/layer.{layer}/output"
        x = m.norm(m.op("Add", m.linear(inner, "dense", 2 * wide, wide), x), wide)
    m.scope = "/bert/pooler"
    first = m.op("Gather", x, m.constant(0), axis=1)
    pooled = m.op("Tanh", m.linear(first, "dense", wide, wide))
    return m.model({"input_ids": (INT, [1, length]), "attention_mask": (INT, [1, length])}, pooled)


def _heads(m: Onnx, x: str, wide: int, heads: int) -> str:
    return m.op("Transpose", m.op("Reshape", x, m.constant([0, -1, heads, wide // heads])), perm=[0, 2, 1, 3])


def convolutions(op: str = "Relu") -> Any:
    """A convolution with what follows it, resized: its settings are inputs."""
    m = Onnx()
    m.scope = "/stem"
    x = m.op("Conv", "image", m.normal("weight", 4, 3, 3, 3), m.normal("bias", 4), pads=[1, 1, 1, 1])
    x = m.op(op, x)
    m.scope = "/head"
    x = m.op("Clip", x, m.constant(np.float32(0)), m.constant(np.float32(1.5)))
    x = m.op(
        "Resize",
        x,
        "",
        m.constant(np.float32([1, 1, 2, 2])),
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    )
    return m.model({"image": (FLOAT, [1, 3, 6, 6])}, x)


def blocks(count: int = 2) -> Any:
    """A CNN in layers `stem`, `b0`, `b1` and so on, and `head`: convolutions with norms, which FoldScaleAxis folds."""
    m = Onnx()

    def conv(x: str, scope: str, wide: int, out: int) -> str:
        m.scope = scope
        return m.op("Conv", x, m.normal("w", out, wide, 3, 3), m.normal("b", out), kernel_shape=[3, 3], pads=[1] * 4)

    def norm(x: str, scope: str, wide: int) -> str:
        m.scope = scope
        variance = m.weight("variance", m.random.uniform(0.5, 1.5, wide).astype("float32"))
        return m.op("BatchNormalization", x, *(m.normal(part, wide) for part in ("gamma", "beta", "mean")), variance)

    def relu(x: str, scope: str) -> str:
        m.scope = scope
        return m.op("Relu", x)

    x = relu(norm(conv("x", "/stem/conv", 3, 4), "/stem/norm", 4), "/stem/relu")
    for block in (f"/b{place}" for place in range(count)):
        y = relu(norm(conv(x, f"{block}/conv1", 4, 4), f"{block}/norm1", 4), f"{block}/relu1")
        y = norm(conv(y, f"{block}/conv2", 4, 4), f"{block}/norm2", 4)
        m.scope = f"{block}/add"
        x = relu(m.op("Add", x, y), f"{block}/relu2")
    heads = [relu(conv(x, f"/head/conv{i}", 4, 2), f"/head/relu{i}") for i in range(3)]
    m.scope = "/head/pool"
    return m.model({"x": (FLOAT, [1, 3, 8, 8])}, m.op("GlobalAveragePool", m.op("Concat", *heads, axis=1)))


def attention() -> Any:
    """An attention block: a transposed key, and products whose operators Relax renames at every lowering."""
    m = Onnx()
    m.scope = "/attention"
    q, k, v = (_heads(m, m.linear("x", part, 8, 8), 8, 2) for part in ("query", "key", "value"))
    scores = m.op("Softmax", m.op("MatMul", q, m.op("Transpose", k, perm=[0, 1, 3, 2])), axis=-1)
    mixed = m.op("Transpose", m.op("MatMul", scores, v), perm=[0, 2, 1, 3])
    mixed = m.op("Reshape", mixed, m.constant([0, 0, 8]))
    return m.model({"x": (FLOAT, [1, 4, 8])}, m.op("Add", m.linear(mixed, "out", 8, 8), "x"))


def dense(batch: Any = 2) -> Any:
    """Two dense layers."""
    m = Onnx()
    m.scope = "/first"
    x = m.op("Relu", m.op("Gemm", "x", m.normal("weight", 4, 3)))
    return m.model({"x": (FLOAT, [batch, 4])}, m.op("Gemm", x, m.normal("weight", 3, 2)))


def chain(nodes: int, named: bool = True) -> Any:
    """Relus one after another; ten to a layer where they are named."""
    m = Onnx()
    x = "x"
    for number in range(nodes):
        m.scope = f"/layer.{number // 10}"
        x = m.op("Relu", x)
        m.nodes[-1].name = f"{m.nodes[-1].name}_{number}" if named else ""
    return m.model({"x": (FLOAT, [1, 8])}, x)


def tree(leaves: int) -> Any:
    """Relus of one input, added up two by two."""
    m = Onnx()
    level = [m.op("Relu", "x") for _ in range(leaves)]
    while len(level) > 1:
        level = [m.op("Add", a, b) for a, b in zip(level[::2], level[1::2], strict=True)]
    return m.model({"x": (FLOAT, [1, 8])}, level[0])


def pooled(op: str = "ReduceMean") -> Any:
    """A reduction over two axes that are an input, as they are since opset 18 (13 for ReduceSum)."""
    m = Onnx()
    x = m.op("Relu", "image")
    made = m.model({"image": (FLOAT, [1, 3, 4, 5])}, m.op(op, x, m.constant([2, 3]), keepdims=0))
    made.opset_import[0].version = 18
    return made


def padded(batch: Any = 2) -> Any:
    """A Pad with computed paddings, as PyTorch exports `pad`."""
    m = Onnx()
    zeros = m.op("ConstantOfShape", m.constant([4]), value=numpy_helper.from_array(np.zeros(1, "int64")))
    pairs = m.op("Reshape", m.op("Concat", m.constant([1, 2, 0, 0]), zeros, axis=0), m.constant([-1, 2]))
    back = m.op("Slice", pairs, *(m.constant([bound]) for bound in (-1, -(2**63) + 1, 0, -1)))
    paddings = m.op("Cast", m.op("Reshape", m.op("Transpose", back, perm=[1, 0]), m.constant([-1])), to=INT)
    return m.model({"x": (FLOAT, [batch, 3, 4, 4])}, m.op("Relu", m.op("Pad", "x", paddings, mode="constant")))


def reshaped(batch: Any = 2) -> Any:
    """A Reshape to a shape that is computed of its input's."""
    m = Onnx()
    shape = m.op("Shape", "x")
    first = m.op("Unsqueeze", m.op("Gather", shape, m.constant(0), axis=0), m.constant([0]))
    middle = m.op("Mul", *(m.op("Gather", shape, m.constant([axis]), axis=0) for axis in (1, 2)))
    wanted = m.op("Concat", first, middle, m.constant([-1]), axis=0)
    return m.model({"x": (FLOAT, [batch, 3, 4, 4])}, m.op("Relu", m.op("Reshape", "x", wanted)))


def halved(batch: Any = 2) -> Any:
    """Slices to half of an axis, as PyTorch's older exporter writes `chunk`."""
    m = Onnx()
    half = m.op(
        "Div", m.op("Add", m.op("Gather", m.op("Shape", "x"), m.constant([1])), m.constant([1])), m.constant([2])
    )
    first = m.op("Slice", "x", m.constant([0]), half, m.constant([1]))
    second = m.op("Slice", "x", half, m.constant([3]), m.constant([1]))
    return m.model({"x": (FLOAT, [batch, 3, 4, 4])}, m.op("Concat", second, first, axis=1))


def counted(batch: Any = 2) -> Any:
    """A slice that has as many elements as the input."""
    m = Onnx()
    size = m.op("Unsqueeze", m.op("Size", "x"), m.constant([0]))
    part = m.op("Slice", m.op("Reshape", m.op("Concat", "x", "x", axis=0), m.constant([-1])), m.constant([0]), size)
    return m.model({"x": (FLOAT, [batch, 3, 4, 4])}, m.op("Relu", part))


def upsampled(batch: Any = 2) -> Any:
    """A Resize whose sizes are the input's times a weight, as PyTorch exports `interpolate`."""
    m = Onnx()
    shape = m.op("Shape", "x")
    sizes = m.op("Cast", m.op("Slice", shape, m.constant([2]), m.constant([4])), to=FLOAT)
    sizes = m.op("Cast", m.op("Floor", m.op("Mul", sizes, m.constant(np.array([2, 2], "float32")))), to=INT)
    sizes = m.op("Concat", m.op("Slice", shape, m.constant([0]), m.constant([2])), sizes, axis=0)
    return m.model({"x": (FLOAT, [batch, 3, 4, 4])}, m.op("Relu", m.op("Resize", "x", "", "", sizes, mode="nearest")))


def reference(model: Any, limits: Mapping[str, int], seed: int = 0) -> list[np.ndarray]:
    """Return the outputs of ONNX's own evaluator for the inputs that the workbench makes; `limits` are the workload's."""
    from onnx.reference import ReferenceEvaluator

    from workbench.dialects.compiler.inputs import random_values

    weights = {tensor.name for tensor in model.graph.initializer}
    fed = {}
    for value in model.graph.input:
        if value.name not in weights:
            kind = value.type.tensor_type
            shape = [d.dim_value for d in kind.shape.dim]
            dtype = str(helper.tensor_dtype_to_np_dtype(kind.elem_type))
            fed[value.name] = random_values(value.name, shape, dtype, seed, limits.get(value.name))
    return ReferenceEvaluator(model).run(None, fed)
