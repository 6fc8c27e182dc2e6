"""Random Relax programs that repeat themselves across dataflow blocks, arms of `if`, functions, tuples and aliases."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import tvm
from tvm.script import ir, relax, tirx

T = 'R.Tensor((2, 3), dtype="float32")'
OTHER = 'R.Tensor((3, 2), dtype="float32")'
HEAD = f"""
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def kernel(a: T.Buffer((2, 3), "float32"), b: T.Buffer((2, 3), "float32")):
        for i, j in T.grid(2, 3):
            b[i, j] = a[i, j]

    @R.function(private=True)
    def fused(p: {T}) -> {T}:
        R.func_attr({{"Primitive": 1}})
        with R.dataflow():
            f0 = R.exp(p)
            f1 = R.exp(p)
            f2 = R.add(f0, f1)
            R.output(f2)
        return f2

    @R.function(private=True)
    def helper(p: {T}) -> {T}:
        h0 = R.exp(p)
        h1 = R.exp(p)
        h2 = R.add(h0, h1)
        return h2

    @R.function(private=True, pure=False)
    def loud(p: {T}) -> {T}:
        _ = R.print(p, format="{{}}")
        return p

    @R.function(pure=False)
    def main(x: {T}, y: {T}, c: R.Tensor((), dtype="bool")) -> {T}:
        cls = Module
"""


@dataclass
class Seen:
    """The names that a place of the program sees."""

    values: list[str] = field(default_factory=lambda: ["x", "y"])
    wide: list[str] = field(default_factory=list)
    "tensors of another shape"
    pairs: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    loud: list[str] = field(default_factory=list)

    def inner(self) -> Seen:
        return Seen(*(list(getattr(self, name)) for name in ("values", "wide", "pairs", "functions", "loud")))


class Merging:
    """One program, decided by its seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.lines: list[str] = []

    def module(self) -> tvm.IRModule:
        seen = Seen()
        self.body(seen, 2, 0)
        self.put(2, f"return {self.value(seen)}")
        text = HEAD + "\n".join(self.lines) + "\n"
        return tvm.script.from_source(text, extra_vars={"I": ir, "R": relax, "T": tirx})

    def put(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def value(self, seen: Seen) -> str:
        return self.random.choice(seen.values[-2:] + seen.values[:3])

    def body(self, seen: Seen, indent: int, depth: int) -> None:
        for _ in range(self.random.randint(1, 3 if depth else 6)):
            form = self.random.choice(("dataflow", "dataflow", "plain", "plain", "if", "closure", "effect"))
            if form == "dataflow":
                self.dataflow(seen, indent, closures=depth < 2)
            elif form == "if" and depth < 2:
                self.branches(seen, indent, depth)
            elif form == "closure" and depth < 2:
                self.closure(seen, indent, primitive=True)
            elif form == "effect":
                self.effect(seen, indent)
            else:
                self.binding(seen, indent)

    def dataflow(self, seen: Seen, indent: int, *, closures: bool) -> None:
        inside, outputs = seen.inner(), []
        self.put(indent, "with R.dataflow():")
        for _ in range(self.random.randint(1, 6)):
            self.binding(inside, indent + 1)
        if closures and self.random.random() < 0.2:
            self.closure(inside, indent + 1)
            for _ in range(self.random.randint(0, 4)):
                self.binding(inside, indent + 1)
        for field_name in ("values", "wide", "pairs"):
            known = getattr(seen, field_name)
            new = [name for name in getattr(inside, field_name) if name not in known]
            left = [name for name in new if self.random.random() < 0.4]
            known += left
            outputs += left
        if not outputs:
            name = self.name()
            self.put(indent + 1, f"{name} = R.exp({self.value(inside)})")
            seen.values.append(name)
            outputs = [name]
        self.put(indent + 1, f"R.output({', '.join(outputs)})")

    def binding(self, seen: Seen, indent: int) -> None:
        name, a, b = self.name(), self.value(seen), self.value(seen)
        pair = self.random.choice([f"({a}, {b})", *seen.pairs[-2:]])
        wide = self.random.choice(seen.wide[-2:]) if seen.wide else None
        forms = {
            f"R.exp({a})": seen.values,
            f"R.negative({a})": seen.values,
            f"R.add({a}, {b})": seen.values,
            f"R.add({a}, R.const(1, 'float32'))": seen.values,
            a: seen.values,
            f"({a}, {b})": seen.pairs,
            f"R.concat({pair}, axis=0)": seen.wide,
            f"R.match_cast({a}, {T})": seen.values,
            f"R.match_cast(R.exp({a}), {T})": seen.values,
            f"R.call_dps_packed('packed', ({a},), {T})": seen.values,
            f"R.call_dps_packed('packed', ({a},), {OTHER})": seen.wide,
            f"R.call_tir(cls.kernel, ({a},), {T})": seen.values,
            f"cls.fused({a})": seen.values,
            f"cls.helper({a})": seen.values,
            f"R.zeros(R.shape([2, 3]), dtype='float32')": seen.values,  # noqa: F541
        }
        if wide is not None:
            forms[f"R.sum({wide})"] = seen.wide
        if seen.pairs:
            forms[f"{seen.pairs[-1]}[0]"] = seen.values
        if seen.functions:
            forms |= {f"{function}({a})": seen.values for function in seen.functions[-2:]}
        text = self.random.choice(list(forms))
        forms[text].append(name)
        self.put(indent, f"{name} = {text}")

    def effect(self, seen: Seen, indent: int) -> None:
        a = self.value(seen)
        form = self.random.choice(("print", "call", "packed"))
        if form == "print":
            self.put(indent, f'_{self.name()} = R.print({a}, format="{{}}")')
            return
        name = self.name()
        call = f"cls.loud({a})" if form == "call" else f"R.call_packed('f', {a}, ty_args={T})"
        self.put(indent, f"{name} = {call}")
        seen.values.append(name)

    def branches(self, seen: Seen, indent: int, depth: int) -> None:
        result = self.name()
        for head in ("if c:", "else:"):
            inside = seen.inner()
            self.put(indent, head)
            self.body(inside, indent + 1, depth + 1)
            self.put(indent + 1, f"{result} = R.exp({self.value(inside)})")
        seen.values.append(result)

    def closure(self, seen: Seen, indent: int, *, primitive: bool = False) -> None:
        name = self.name()
        alike = self.random.random() < 0.5
        inside = Seen([f"p{name}"] if alike else [*seen.values, f"p{name}"])
        self.put(indent, "@R.function")
        self.put(indent, f"def {name}(p{name}: {T}) -> {T}:")
        if primitive and self.random.random() < 0.3:
            self.put(indent + 1, 'R.func_attr({"Primitive": 1})')
        for _ in range(1 if alike else 3):
            self.dataflow(inside, indent + 1, closures=False)
        own = [value for value in inside.values if value not in seen.values]
        self.put(indent + 1, f"return {self.random.choice(own)}")
        seen.functions.append(name)
