"""Random typed Relay programs for the fusion mirror, and the real FuseOps read back in the mirror's terms.

Each operator call carries a span of its own, which FuseOps keeps: a kernel is the set of its spans, with how many
constants, tuples and fields of tuples stand in it.
"""

from __future__ import annotations

from random import Random

import numpy as np
import tvm
from fusion_answers import kernels_of
from tvm import relay

import workbench as wb

ROWS, COLUMNS = 4, 8
SHAPES = ((1, COLUMNS), (COLUMNS,), (ROWS, 1), ())
UNARY = (relay.exp, relay.tanh, relay.nn.relu, relay.negative)
BINARY = (relay.add, relay.subtract, relay.multiply, relay.maximum)


class Program:
    """A main function; every value has the shape (ROWS, COLUMNS), rows unknown where the program is dynamic."""

    def __init__(self, random: Random, size: int) -> None:
        self.random = random
        self.dynamic = random.random() < 0.2
        self.spans = 0
        self.names = 0
        self.shared: relay.Expr | None = None
        rows = relay.Any() if self.dynamic else ROWS
        self.type = relay.TensorType((rows, COLUMNS), "float32")
        self.pool: list[relay.Expr] = [self.var() for _ in range(random.randint(1, 3))]
        shapes = [shape for shape in SHAPES if not (self.dynamic and ROWS in shape)]
        self.extras = [self.var(relay.TensorType(shape, "float32")) for shape in shapes]
        self.weight = self.var(relay.TensorType((COLUMNS, COLUMNS), "float32"))
        self.condition = self.var(relay.TensorType((), "bool"))
        params = [*self.pool, *self.extras, self.weight, self.condition]
        for _ in range(random.randint(1, size)):
            self.grow(2)
        self.function = relay.Function(params, self.result())

    def module(self) -> tvm.IRModule:
        return relay.transform.InferType()(tvm.IRModule.from_expr(self.function))

    # -- pieces

    def var(self, type: relay.Type | None = None) -> relay.Var:
        self.names += 1
        return relay.Var(f"v{self.names}", type or self.type)

    def marked(self, call: relay.Expr) -> relay.Expr:
        self.spans += 1
        span = relay.Span(relay.SourceName(f"n{self.spans}"), self.spans, 1, 1, 1)
        return relay.Call(call.op, call.args, call.attrs, call.type_args, span)

    def old(self) -> relay.Expr:
        """A value of the pool; the newest as often as all others."""
        return self.pool[-1] if self.random.random() < 0.5 else self.random.choice(self.pool)

    def result(self) -> relay.Expr:
        wanted = self.random.random()
        if wanted < 0.6:
            return self.pool[-1]
        outputs = [self.pool[-1], *(self.old() for _ in range(self.random.randint(1, 2)))]
        return relay.Tuple([relay.Tuple(outputs), self.old()]) if wanted > 0.95 else relay.Tuple(outputs)

    def grow(self, depth: int) -> None:
        """One more value; what holds a let or a closure is used once, as TVM's own passes want it."""
        plain = [self.unary, self.binary, self.binary, self.stretched, self.scalar, self.constant, self.arranged]
        plain += [
            self.concatenated,
            self.parts,
            self.reduced,
            self.complex,
            self.complex,
            self.opaque,
            self.fork,
            self.pair,
        ]
        scoped = [self.branches, self.let, self.closure, self.kernel, self.called_in_place, self.nested_pair]
        choices = plain * 3 + scoped if depth else plain
        self.pool.append(self.random.choice(choices)())

    def inside(self, *bound: relay.Expr, capture: bool = True) -> relay.Expr:
        """A body that may use what is bound, and what is around it."""
        outer, shared = self.pool, self.shared
        self.pool, self.shared = [*(outer if capture else ()), *bound], None
        for _ in range(self.random.randint(1, 3)):
            self.grow(0)
        made, self.pool, self.shared = self.pool[-1], outer, shared
        return made

    # -- operators

    def unary(self):
        return self.marked(self.random.choice(UNARY)(self.old()))

    def binary(self):
        return self.marked(self.random.choice(BINARY)(self.old(), self.old()))

    def stretched(self):
        """An operand that is smaller, or a complex result that is stretched."""
        small = self.random.choice(self.extras)
        if self.random.random() < 0.4:
            small = self.marked(self.random.choice(UNARY)(small))
        pair = [self.old(), small]
        self.random.shuffle(pair)
        return self.marked(self.random.choice(BINARY)(*pair))

    def scalar(self):
        dtype = self.random.choice(["float32", "float32", "float16"])
        number = relay.const(self.random.randint(0, 3), dtype)
        if dtype == "float32" and self.random.random() < 0.3:
            # one object, used in several places
            self.shared = number = self.shared or number
        if dtype == "float16":
            number = self.marked(relay.cast(number, "float32"))
        return self.marked(self.random.choice(BINARY)(self.old(), number))

    def constant(self):
        shape = self.random.choice([(1,), (COLUMNS,), (1, COLUMNS)])
        return self.marked(self.random.choice(BINARY)(self.old(), relay.const(np.ones(shape, "float32"))))

    def arranged(self):
        """Injective operators that keep the shape."""
        kind = self.random.randrange(4)
        if kind == 0:
            return self.marked(relay.transpose(self.marked(relay.transpose(self.old()))))
        if kind == 1:
            return self.marked(relay.reverse(self.old(), axis=1))
        if kind == 2:
            return self.marked(relay.nn.bias_add(self.old(), self.extras[1]))
        if self.dynamic:
            like = self.marked(relay.shape_of(self.old()))
            # the shape is a value: opaque where it is unknown
            shaped = relay.Call(tvm.ir.Op.get("dyn.reshape"), [self.old(), like], _reshape_attrs())
            return self.marked(relay.add(self.marked(shaped), self.extras[1]))
        return self.marked(relay.reshape(self.marked(relay.reshape(self.old(), (-1,))), (ROWS, COLUMNS)))

    def concatenated(self):
        fields = [self.old() for _ in range(self.random.randint(1, 3))]
        joined = self.marked(relay.concatenate(relay.Tuple(fields), axis=1))
        return self.marked(relay.strided_slice(joined, [0], [COLUMNS], axes=[1]))

    def parts(self):
        """An operator with two results; one, or both, are used."""
        both = self.marked(relay.split(self.old(), 2, axis=1).astuple())
        fields = [relay.TupleGetItem(both, 0), relay.TupleGetItem(both, self.random.randint(0, 1))]
        if self.random.random() < 0.5:
            fields[0] = self.marked(relay.exp(fields[0]))
        return self.marked(relay.concatenate(relay.Tuple(fields), axis=1))

    def reduced(self):
        total = self.marked(self.random.choice([relay.sum, relay.max])(self.old(), axis=1, keepdims=True))
        if self.random.random() < 0.4:
            total = self.marked(self.random.choice(UNARY)(total))
        return self.marked(self.random.choice(BINARY)(self.old(), total))

    def complex(self):
        if self.random.random() < 0.3:
            return self.marked(relay.nn.softmax(self.old()))
        return self.marked(relay.nn.dense(self.old(), self.weight))

    def opaque(self):
        return self.marked(relay.cumsum(self.old(), axis=1))

    def fork(self):
        """A diamond."""
        start = self.unary()
        left = self.marked(self.random.choice(UNARY)(start))
        right = start if self.random.random() < 0.5 else self.marked(self.random.choice(UNARY)(start))
        return self.marked(self.random.choice(BINARY)(left, right))

    def pair(self):
        pair = relay.Tuple([self.old(), self.old()])
        return self.marked(relay.add(relay.TupleGetItem(pair, 0), relay.TupleGetItem(pair, self.random.randint(0, 1))))

    def nested_pair(self):
        pair = relay.Tuple([relay.Tuple([self.old(), self.old()]), self.old()])
        return self.marked(relay.add(relay.TupleGetItem(relay.TupleGetItem(pair, 0), 1), relay.TupleGetItem(pair, 1)))

    # -- scopes

    def branches(self):
        return relay.If(self.condition, self.inside(), self.inside())

    def let(self):
        variable = self.var()
        return self.only_here(relay.Let(variable, self.unary(), self.inside(variable)))

    def closure(self):
        param = self.var()
        self.names += 1
        name = relay.Var(f"f{self.names}")
        body = relay.Function([param], self.inside(param))
        return self.only_here(relay.Let(name, body, relay.Call(name, [self.old()])))

    def only_here(self, scope: relay.Expr) -> relay.Expr:
        """What is made of a let, which nothing else may use: an operator on it ends it."""
        return scope if self.random.random() < 0.3 else self.marked(relay.nn.relu(scope))

    def kernel(self):
        """A kernel the user made; it sees nothing but its argument."""
        return relay.Call(self.as_function(capture=False, primitive=True), [self.old()])

    def called_in_place(self):
        """A function called where it is written; one that captures is called once, with a parameter of main.

        With a limit of parameters the Graph cannot tell a value that is captured from the same value passed
        (workbench/analysis/fusion/forward.py), so no program here does both.
        """
        if self.random.random() < 0.5:
            given = [value for value in self.pool if isinstance(value, relay.Var)]
            return relay.Call(self.as_function(capture=True), [self.random.choice(given or self.pool)])
        function = self.as_function(capture=False)
        called = relay.Call(function, [self.old()])
        return relay.Call(function, [called]) if self.random.random() < 0.3 else called

    def as_function(self, *, capture: bool, primitive: bool = False) -> relay.Function:
        param, extras = self.var(), self.extras
        if not capture:
            self.extras = [relay.const(np.ones(extra.type_annotation.concrete_shape, "float32")) for extra in extras]
            weight, self.weight = self.weight, relay.const(np.ones((COLUMNS, COLUMNS), "float32"))
        function = relay.Function([param], self.inside(param, capture=capture))
        if not capture:
            self.extras, self.weight = extras, weight
        return function.with_attr("Primitive", tvm.tir.IntImm("int32", 1)) if primitive else function


def _reshape_attrs() -> tvm.ir.Attrs:
    return relay.reshape(relay.var("x", shape=(1,)), relay.var("s", shape=(1,), dtype="int64")).attrs


class Marker(relay.ExprMutator):
    """Gives each call a span of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def visit_call(self, call):
        new = super().visit_call(call)
        self.count += 1
        span = relay.Span(relay.SourceName(f"n{self.count}"), self.count, 1, 1, 1)
        return relay.Call(new.op, new.args, new.attrs, new.type_args, span)


def marked(module: tvm.IRModule) -> tvm.IRModule:
    """The module's main function, its calls told apart by their spans."""
    return relay.transform.InferType()(tvm.IRModule.from_expr(Marker().visit(module["main"])))


# -- what TVM makes of it


def real(module: tvm.IRModule, opt_level=2, max_depth=256, target="") -> tuple[set, str]:
    """What TVM makes of it; the error's text where it fails."""
    config = {"relay.FuseOps.max_depth": max_depth}
    with tvm.transform.PassContext(opt_level=3, config=config), tvm.target.Target(target or "llvm"):
        try:
            fused = relay.transform.FuseOps(opt_level)(module)
        except tvm.TVMError as error:
            return set(), str(error)
    graph = wb.load(fused).graph
    held: dict[int, list[int]] = {}
    for node in graph.nodes:
        kernel = graph.kernel_of(node.id)
        if kernel is not None:
            held.setdefault(kernel, []).append(node.id)
    return kernels_of(graph, held.values()), ""
