"""Random programs with sibling branches: convolutions, dense layers and batched products, alike and nearly alike."""

from __future__ import annotations

import random

import numpy as np
from tvm import relay


class Program:
    """One random program; equal seeds give equal programs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.shared: dict[tuple, relay.Expr] = {}

    def module(self) -> relay.Function:
        """Branches from one or two inputs, joined or returned."""
        kind = self.random.choice(["conv", "conv", "dense", "dense", "matmul", "plain"])
        start = self.start(kind)
        results = self.branches(kind, start)
        if self.random.random() < 0.3:
            results += self.branches(kind, self.start(kind) if self.random.random() < 0.5 else start)
        body = self.joined(results)
        return relay.Function(relay.analysis.free_vars(body), body)

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def start(self, kind: str) -> relay.Expr:
        shape = {"conv": (1, 4, 6, 6), "dense": (3, 8), "matmul": (2, 3, 8), "plain": (3, 8)}[kind]
        self.count += 1
        x = relay.var(f"x{self.count}", shape=shape)
        return relay.nn.relu(x) if self.maybe(0.3) else x

    def branches(self, kind: str, start: relay.Expr) -> list[relay.Expr]:
        likeness = self.random.random()
        plan = self.plan(kind)
        results = []
        for _ in range(self.random.randint(2, 4)):
            mine = plan if self.maybe(0.5 + likeness / 2) else self.plan(kind)
            results.append(self.branch(kind, start, mine))
        return results

    # -- a branch

    def plan(self, kind: str) -> dict:
        steps = [self.random.choice(STEPS) for _ in range(self.random.choice([0, 1, 2, 2, 3, 4]))]
        return {
            "head": {
                "kernel": self.random.choice([1, 1, 3]),
                "groups": 4 if self.maybe(0.05) else 1,
                "channels": self.random.choice([4, 4, 4, 2, 1]),
                "out": self.random.choice(["", "", "", "float32"]),
                "transpose_b": self.random.random() < 0.9,
                "op": self.random.choice(["add", "multiply", "clip", "cast", "exp"]),
            },
            "steps": [(step, self.random.choice(SHAPES)) for step in steps],
            "other channels": self.maybe(0.3),
        }

    def branch(self, kind: str, start: relay.Expr, plan: dict) -> relay.Expr:
        head = plan["head"]
        channels = self.random.choice([2, 4, 6]) if plan["other channels"] else head["channels"]
        channels = 8 if kind == "plain" else 4 if kind == "conv" and head["groups"] == 4 else channels
        x = getattr(self, kind)(start, head, channels)
        inner = []
        for step, shape in plan["steps"]:
            if self.maybe(0.04):
                inner.append(x)
            x = self.step(kind, x, step, shape, channels)
        if inner:
            x = relay.Tuple([x, *inner])
        return x

    def conv(self, x: relay.Expr, head: dict, channels: int) -> relay.Expr:
        groups, k = head["groups"], head["kernel"]
        weight = self.weight((channels, 4 // groups, k, k))
        return relay.nn.conv2d(
            x,
            weight,
            padding=(k // 2,) * 2,
            groups=groups,
            channels=channels,
            kernel_size=(k, k),
            out_dtype=head["out"],
        )

    def dense(self, x: relay.Expr, head: dict, channels: int) -> relay.Expr:
        return relay.nn.dense(x, self.weight((channels, 8)), out_dtype=head["out"])

    def matmul(self, x: relay.Expr, head: dict, channels: int) -> relay.Expr:
        shape = (2, channels, 8) if head["transpose_b"] else (2, 8, channels)
        return relay.nn.batch_matmul(x, self.weight(shape), out_dtype=head["out"], transpose_b=head["transpose_b"])

    def plain(self, x: relay.Expr, head: dict, channels: int) -> relay.Expr:
        if head["op"] in ("add", "multiply"):
            return getattr(relay, head["op"])(x, self.weight(self.random.choice([(3, 8), (8,), (8,), ()])))
        if head["op"] == "clip":
            return relay.clip(x, 0.0, 6.0)
        return relay.cast(relay.cast(x, "int8"), "float32") if head["op"] == "cast" else relay.exp(x)

    def weight(self, shape: tuple[int, ...]) -> relay.Expr:
        """A parameter or a constant, now and then one that was used before."""
        key = (shape, self.random.randint(0, 5))
        if key in self.shared and self.maybe(0.5):
            return self.shared[key]
        self.count += 1
        if self.maybe(0.5):
            made = relay.var(f"w{self.count}", shape=shape)
        else:
            made = relay.const(np.full(shape, self.random.choice([0.5, 2.0]), "float32"))
        self.shared[key] = made
        return made

    def step(self, kind: str, x: relay.Expr, step: str, shape: str, channels: int) -> relay.Expr:
        if step in UNARY:
            return UNARY[step](x)
        if kind == "conv":
            sides = {"channel": (channels, 1, 1), "long": (1, channels, 1, 1), "scalar": (), "one": (1, 1, 1)}
        else:
            sides = {"channel": (channels,), "long": (3, channels), "scalar": (), "one": (1,)}
        if step == "bias_add":
            return relay.nn.bias_add(x, self.weight((channels,)), axis=1 if kind == "conv" else -1)
        side = self.weight(sides[shape])
        operator = relay.add if step == "add" else relay.multiply
        return operator(side, x) if step == "swapped" else operator(x, side)

    # -- the end

    def joined(self, results: list[relay.Expr]) -> relay.Expr:
        flat = [f for r in results for f in (r.fields if isinstance(r, relay.Tuple) else [r])]
        if self.maybe(0.3):
            flat = [relay.tanh(f) for f in flat]
        if self.maybe(0.2):
            flat = [relay.exp(flat[0]), *flat]
        return relay.Tuple(flat)


UNARY = {
    "relu": relay.nn.relu,
    "clip": lambda x: relay.clip(x, 0.0, 6.0),
    "clip7": lambda x: relay.clip(x, 0.0, 7.0),
    "exp": relay.exp,
    "cast": lambda x: relay.cast(relay.cast(x, "float16"), "float32"),
    "negative": relay.negative,
    "twice": lambda x: relay.add(x, x),
    "softmax": relay.nn.softmax,
}
STEPS = (*UNARY, "add", "add", "add", "multiply", "swapped", "bias_add")
SHAPES = ("channel", "channel", "channel", "long", "scalar", "one")
