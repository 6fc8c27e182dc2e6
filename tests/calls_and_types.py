"""Programs in the text of each dialect: of several data types, with functions that call each other, and one that calls itself."""

from __future__ import annotations

RELAY_TYPES = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 8), float64], %y: Tensor[(4, 8), float16]) -> Tensor[(4, 8), float32] {
  %0 = add(%x, %x);
  %1 = cast(%0, dtype="float32");
  %2 = cast(%y, dtype="float32");
  %3 = nn.relu(%2);
  %4 = multiply(%1, %3);
  nn.softmax(%4)
}
"""
RELAX_TYPES = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), "float64"), y: R.Tensor((4, 8), "float16")) -> R.Tensor((4, 8), "float32"):
        a = R.add(x, x)
        b = R.astype(a, dtype="float32")
        c = R.astype(y, dtype="float32")
        d = R.nn.relu(c)
        e = R.multiply(b, d)
        f = R.nn.softmax(e, axis=-1)
        return f
"""
RELAY_CALLS = """#[version = "0.0.5"]
def @g(%b: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] { tanh(%b) }
def @f(%a: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] { %0 = exp(%a); %1 = @g(%0); nn.relu(%1) }
def @main(%x: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] { %2 = @f(%x); %3 = @f(%2); nn.softmax(%3) }
"""
RELAX_CALLS = """
@I.ir_module
class Module:
    @R.function(private=True)
    def g(b: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
        c = R.tanh(b)
        return c
    @R.function(private=True)
    def f(a: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
        cls = Module
        b = R.exp(a)
        c = cls.g(b)
        d = R.nn.relu(c)
        return d
    @R.function
    def main(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
        cls = Module
        a = cls.f(x)
        b = cls.f(a)
        c = R.nn.softmax(b, axis=-1)
        return c
"""


RELAY_RECURSIVE = """#[version = "0.0.5"]
def @f(%a: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] { %0 = @f(%a); exp(%0) }
def @main(%x: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] { @f(%x) }
"""
RELAX_RECURSIVE = """
@I.ir_module
class Module:
    @R.function(private=True)
    def f(a: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
        cls = Module
        b = cls.f(a)
        c = R.exp(b)
        return c
    @R.function
    def main(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
        cls = Module
        a = cls.f(x)
        return a
"""
TYPES = {"relay": RELAY_TYPES, "relax": RELAX_TYPES}
CALLS = {"relay": RELAY_CALLS, "relax": RELAX_CALLS}
RECURSIVE = {"relay": RELAY_RECURSIVE, "relax": RELAX_RECURSIVE}
