"""The programs whose boundaries are tried for the calibration of wb.boundary_costs: samples of several sizes, MobileNet, an LSTM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import workbench as wb
from workbench.dialects.registry import dialect as dialect_named
from workbench.samples import _builder_of
from workbench.samples.models import Builder, Built, Value


@dataclass(frozen=True)
class Program:
    """A program of the corpus."""

    family: str
    "a trial is predicted from the trials of other families"
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return " ".join([self.family, *(f"{key}={value}" for key, value in self.options.items())])

    def ready(self, dialect: str) -> wb.Workload:
        """Return the program with a kind for each operator, before FuseOps."""
        passes = dialect_named(dialect).passes.fusing().rpartition(",FuseOps")[0]
        trace = wb.trace(self._load(dialect), passes)
        assert trace.failed is None, trace.failed
        return wb.load(trace.result, name=self.name)

    def _load(self, dialect: str) -> wb.Workload:
        if self.family not in OWN:
            return wb.samples.load(self.family, **self.options)
        module, params = OWN[self.family](_builder_of(dialect), **self.options)
        return wb.load((module, params), name=self.name)


def mobilenet(b: Builder, image: int = 64) -> Built:
    """Build MobileNet's pairs of a depthwise and a 1 x 1 convolution, each with batch_norm and relu."""
    x = _norm_relu(b, b.conv2d(b.input("data", (1, 3, image, image)), b.weight("stem", 32, 3, 3, 3), 2, 1), "stem", 32)
    inputs = 32
    for place, (outputs, stride) in enumerate([(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)]):
        x = _norm_relu(b, _depthwise(b, x, f"deep{place}", inputs, stride), f"deep{place}", inputs)
        x = b.conv2d(x, b.weight(f"wide{place}", outputs, inputs, 1, 1))
        x, inputs = _norm_relu(b, x, f"wide{place}", outputs), outputs
    return b.finish(b.softmax(b.dense(b.average_pool(x, inputs), "fc", inputs, 10)))


def lstm(b: Builder, steps: int = 2, rows: int = 8, width: int = 256) -> Built:
    """Build an LSTM, unrolled: four products of the input and of the state a step, and the gates."""
    x = b.input("data", (rows, width))
    h, c = b.input("h", (rows, width)), b.input("c", (rows, width))
    for step in range(steps):
        gates = [
            b.add(b.dense(x, f"x{gate}{step}", width, width), b.dense(h, f"h{gate}{step}", width, width))
            for gate in range(4)
        ]
        keep, take, give = (_unary(b, "sigmoid", gate) for gate in gates[:3])
        c = b.add(b.multiply(keep, c), b.multiply(take, _unary(b, "tanh", gates[3])))
        h = b.multiply(give, _unary(b, "tanh", c))
    return b.finish(h)


def _norm_relu(b: Builder, x: Value, name: str, channels: int) -> Value:
    return b.relu(b.batch_norm(x, f"{name}_norm", channels))


def _depthwise(b: Builder, x: Value, name: str, channels: int, stride: int) -> Value:
    weight = b.weight(name, channels, 1, 3, 3)
    if b.ops.__name__ == "tvm.relay":
        sizes = {"channels": channels, "kernel_size": (3, 3)}
        return b.ops.nn.conv2d(x, weight, (stride, stride), (1, 1), groups=channels, **sizes)
    return b.emit(b.ops.nn.conv2d(x, weight, strides=stride, padding=1, groups=channels))


def _unary(b: Builder, name: str, x: Value) -> Value:
    return b.emit(getattr(b.ops, name)(x))


OWN: dict[str, Callable[..., Built]] = {"mobilenet": mobilenet, "lstm": lstm}
SMALL = (
    Program("mlp", {"width": 32}),
    Program("mlp", {"width": 256}),
    Program("parallel_cast"),
    Program("parallel_cast", {"rows": 64, "width": 256}),
    Program("chain"),
    Program("chain", {"rows": 64, "width": 1024}),
    Program("chain", {"rows": 1024, "width": 4096}),
    Program("branches"),
    Program("branches", {"image": 64}),
    Program("attention"),
    Program("conv_bias_batch_norm"),
    Program("lstm"),
)
LARGE = (
    Program("attention", {"seq": 128}),
    Program("conv_bias_batch_norm", {"image": 128}),
    Program("mlp", {"layers": 1, "width": 1024}),
    Program("lstm", {"rows": 64, "width": 512}),
    Program("bert", {"layers": 2, "hidden": 256, "heads": 4, "seq": 32}),
    Program("bert", {"layers": 2}),
    Program("bert", {"layers": 12}),
    Program("resnet18"),
    Program("resnet18", {"image": 64}),
    Program("mobilenet"),
    Program("mobilenet", {"image": 128}),
)
