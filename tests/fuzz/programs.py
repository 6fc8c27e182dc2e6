"""Hostile programs that are valid by construction, in every received format, each made from a random.Random alone.

A program is a list of elementwise operators on one tensor, with the constructs of functions, branches and tuples between them. One
or two of its sizes are extreme: how often a value or a body is shared, how deep or wide it is, how long its tokens are, what its
names, spans, attributes, groups and shapes are.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

HOSTILE = [
    "", " ", "%s%s%n", "{0.__class__}", "{{x}}", "$(touch PWNED)", "`touch PWNED`", "a;touch PWNED;b", "-rf",
    "../../etc/passwd", "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", '"><b>', "&lt;", "]]>",
    "=1+1", "@SUM(A1)", "+1", "|x|", "\x1b[2J", "\x1b]0;x\x07", "\0", "\r\n", "\n# x", "\u202e", "\u200b", "\ufeff",
    "\u2028", "é", "\U0001f600", "\U000e0041", "a\\", "'", '"', "\\n", '"""', "*/", "/*", "#[version", "%0", "@main",
    "main", "meta[relay.Constant][0]", "__proto__", "constructor", "a" * 5000, "/a" * 3000, "a." * 3000, "é" * 3000,
    "0" * 3000, "(" * 1000, "-" * 3000, "/".join("ab" for _ in range(100)),
]  # fmt: skip
PLAIN = [
    "x", "data", "if", "let", "fn", "a.b", "a.0", "_", "x" * 5000, "B9", "True", "Tensor", "a/b", "main",
    "relay.Constant",
]  # fmt: skip
IDENTIFIERS = [
    "x", "cls", "R_", "T1", "main", "é", "ﬁ", "x" * 5000, "_", "__class__", "self", "dtype", "Module_", "lv", "gv",
]  # fmt: skip
UNARY, BINARY = ("exp", "tanh", "sqrt", "negative", "sigmoid"), ("add", "multiply", "subtract", "maximum")
SHAPES = [(), (1,), (4,), (2, 3), (0, 3), (1,) * 32, (2**31 - 1,), (2**20, 2**20), (2**40,)]
AXES = (
    "sharing", "bodies", "depth", "width", "tuples", "branches", "tokens", "names", "spans", "attributes", "shapes",
    "calls", "lets",
)  # fmt: skip


@dataclass
class Program:
    """The body of a function: its parameters, and what it does with them; a value is the place where it is made."""

    params: int
    steps: list[tuple[str, Any]] = field(default_factory=list)
    "operator, list of inputs; `tuple`; `item`, (input, index); `if`, (then, else); `call`, (function, inputs); all by places"
    functions: list[Program] = field(default_factory=list)
    kind: str = ""
    "Primitive, Composite or neither"

    def add(self, kind: str, what: Any) -> int:
        self.steps.append((kind, what))
        return self.params + len(self.steps) - 1


def size(random: Random, most: int) -> int:
    """A number from 1 to `most`, as often in each order of magnitude."""
    return max(1, int(most ** random.random()))


def operators(random: Random, program: Program, count: int, last: int) -> int:
    for _ in range(count):
        if random.random() < 0.5:
            last = program.add(random.choice(UNARY), [last])
        else:
            other = random.choice((last, random.randrange(program.params), last))
            last = program.add(random.choice(BINARY), [last, other])
    return last


def program(random: Random, axes: tuple[str, ...], most: int) -> Program:
    """Return a program that is extreme in `axes`; `most` bounds the number of its constructs, which one program in eight has."""
    most = random.choice((most, *(7 * [most // 20])))
    made = Program(random.choice((1, 2, 5)))
    last = operators(random, made, random.randint(1, 6), 0)
    if "sharing" in axes:
        for _ in range(size(random, most)):
            last = made.add(random.choice(BINARY), [last, last])
    if "depth" in axes:
        last = operators(random, made, size(random, most), last)
    if "width" in axes:
        fields = [made.add(random.choice(UNARY), [last]) for _ in range(size(random, most))]
        packed = made.add("tuple", fields)
        picked = [made.add("item", (packed, random.randrange(len(fields)))) for _ in range(size(random, 200))]
        for each in picked:
            last = made.add("add", [last, each])
    if "tuples" in axes:
        packed = made.add("tuple", [last, last])
        count = size(random, 12)
        for _ in range(count):
            packed = made.add("tuple", [packed, packed])
        for _ in range(count + 1):
            packed = made.add("item", (packed, random.randrange(2)))
        last = packed
    if "branches" in axes:
        for _ in range(size(random, 60)):
            last = made.add("if", (last, random.choice((last, 0))))
    if "bodies" in axes:
        last = bodies(random, made, last, size(random, 60), 2)
    if "calls" in axes:
        last = bodies(random, made, last, size(random, 6), size(random, 60))
    return made


def bodies(random: Random, made: Program, last: int, count: int, calls: int) -> int:
    """Functions that each call the one before some times, and a call of the last."""
    kind = random.choice(("", "Primitive", "Composite"))
    for at in range(count):
        inner = Program(1, kind=kind)
        end = operators(random, inner, random.randint(1, 3), 0)
        for _ in range(calls if at else 0):
            end = inner.add("call", (len(made.functions) - 1, [end]))
        made.functions.append(inner)
    return made.add("call", (len(made.functions) - 1, [last]))


def operands(kind: str, what: Any) -> list[int]:
    """Return the values that a step takes."""
    return [what[0]] if kind == "item" else what[1] if kind == "call" else [*what]


def drawn_axes(random: Random) -> tuple[str, ...]:
    return tuple(random.sample(AXES, random.choice((1, 1, 2))))


def attributes(random: Random, axes: tuple[str, ...]) -> dict[str, Any]:
    """Attributes as JSON has them."""
    if "attributes" not in axes and random.random() < 0.9:
        return {}
    value = random.choice(
        (0, -1, 2**62, 0.5, True, None, random.choice(HOSTILE), [1] * size(random, 3000), {"a": {"b": [[]]}})
    )
    return {random.choice(("axis", "digest ", "drawn", "hash", "kernel_layout", random.choice(HOSTILE))): value}


def name(random: Random, axes: tuple[str, ...], at: int, names: list[str] = HOSTILE) -> str:
    """A name; hostile ones need not be unique."""
    return random.choice(names) if "names" in axes and random.random() < 0.3 else f"v{at}"


# -- Relay text


def relay(random: Random, *, typed: bool, names: bool = True) -> bytes:
    """Relay text; of tensors that a program may hold where TVM reads it (`typed`), otherwise of any."""
    axes = tuple(axis for axis in drawn_axes(random) if names or axis != "names")
    made = program(random, axes, 800 if typed else 3000)
    shape = random.choice(SHAPES) if "shapes" in axes else (2, 3)
    dims = [*map(str, shape)]
    if "shapes" in axes and random.random() < 0.3:
        dims[:1] = ["?"]
    if not typed and "shapes" in axes and random.random() < 0.2:
        dims[:1] = [random.choice(("-1", "9" * 40, "n"))]
    type = f"Tensor[({', '.join(dims)}{',' if len(dims) == 1 else ''}), {random.choice(('float32', 'float16', 'float64'))}]"
    return Relay(random, axes, type, typed).module(made).encode()


@dataclass
class Relay:
    random: Random
    axes: tuple[str, ...]
    type: str
    typed: bool
    values: int = 0
    "bound so far; Relay's numbers are those of the whole function"

    def module(self, made: Program) -> str:
        head = self.random.choice(("", '#[version = "0.0.5"]\n'))
        if not made.functions:
            return f"{head}{self.function('def @main', made, [])}\n"
        if self.random.random() < 0.5:
            named = [f"@f{at}" for at in range(len(made.functions))]
            texts = [self.function(f"def {named[at]}", each, named) for at, each in enumerate(made.functions)]
            return head + "\n".join([self.function("def @main", made, named), *texts]) + "\n"
        named = [f"%f{at}" for at in range(len(made.functions))]
        texts = [f"let {named[at]} = {self.function('fn', f, named)};" for at, f in enumerate(made.functions)]
        numbered = self.random.random() < 0.5
        if numbered:  # values, and not variables: drawn where they are called
            texts = [text.replace("let %f", "%90000", 1).replace("%f", "%90000") for text in texts]
            named = [each.replace("%f", "%90000") for each in named]
        return head + self.function("def @main", made, named, texts) + "\n"

    def function(self, head: str, made: Program, named: list[str], before: list[str] | None = None) -> str:
        plain = "names" in self.axes and not named
        values = [f"%p{at}_{self.random.choice(PLAIN) if plain else ''}" for at in range(made.params)]
        params = [f"{each}: {self.type}" for each in values]
        attrs = [f"{key}={json.dumps(value)}" for key, value in self.attributes(made).items()]
        result = f" -> {self.type}" if head.startswith("def") else ""
        lines, lets = [], ("lets" in self.axes)
        for kind, what in made.steps:
            self.values += 1
            values.append(f"%v{self.values}" if lets else f"%{self.values}")
            lines.append(
                f"{'let ' if lets else ''}{values[-1]} = {self.value(kind, what, values, named)}{self.note()};"
            )
        body = "\n  ".join([*(before or []), *lines, values[-1]])
        return f"{head}({', '.join([*params, *attrs])}){result} {{\n  {body}\n}}"

    def attributes(self, made: Program) -> dict[str, Any]:
        attrs: dict[str, Any] = {"Primitive": 1} if made.kind == "Primitive" else {}
        if made.kind == "Composite":
            attrs["Composite"] = (
                self.random.choice(("a.b", self.random.choice(HOSTILE))) if "names" in self.axes else "a.b"
            )
        if "attributes" in self.axes:
            attrs["note"] = self.random.choice((1, "x" * size(self.random, 20000), [1] * size(self.random, 3000)))
        return attrs

    def value(self, kind: str, what: Any, values: list[str], named: list[str]) -> str:
        if kind == "tuple":
            return f"({', '.join(values[each] for each in what)}{',' if len(what) == 1 else ''})"
        if kind == "item":
            return f"{values[what[0]]}.{what[1]}"
        if kind == "call":
            return f"{named[what[0]]}({', '.join(values[each] for each in what[1])})"
        if kind == "if":
            then, other = (values[each] for each in what)
            return f"if (True) {{ {then} }} else {{ {other} }}"
        op = kind if self.typed or self.random.random() < 0.99 else self.random.choice(("no.such.op", "a" * 3000))
        long = "tokens" in self.axes and self.random.random() < 0.2
        return f"{op}({', '.join(values[each] for each in what)}{' ' * size(self.random, 3000) if long else ''})"

    def note(self) -> str:
        if "spans" in self.axes and self.random.random() < 0.3:
            place = self.random.choice(("a.py", "/a" * size(self.random, 2000), "x" * size(self.random, 5000), "l.0.q"))
            return f" /* span={place}:0:0 */"
        if "tokens" in self.axes and self.random.random() < 0.2:
            return f" /* {self.random.choice('x *-(') * size(self.random, 3000)} */"
        return f" /* ty={self.type} */" if not self.typed and "shapes" in self.axes else ""


# -- Relax text


def relax(random: Random) -> bytes:
    axes = drawn_axes(random)
    made = program(random, axes, 500)
    dims = (
        random.choice([*map(str, SHAPES), '("n", 3)', '("n", "n + 1")', '("n", "n * 1000000")'])
        if "shapes" in axes
        else "(2, 3)"
    )
    return Relax(random, axes, f'R.Tensor({dims}, "float32")').module(made).encode()


@dataclass
class Relax:
    random: Random
    axes: tuple[str, ...]
    type: str

    def module(self, made: Program) -> str:
        named, shared = [f"f{at}" for at in range(len(made.functions))], self.random.random() < 0.5
        local = [] if shared else [self.function(n, f, named) for n, f in zip(named, made.functions, strict=True)]
        calls = [f"cls.{each}" for each in named] if shared else named
        texts = [self.function(n, f, calls) for n, f in zip(named, made.functions, strict=True)] if shared else []
        texts.append(self.function("main", made, calls, local))
        return "@I.ir_module\nclass Module:\n" + indented("\n".join(texts)) + "\n"

    def function(self, called: str, made: Program, named: list[str], before: list[str] | None = None) -> str:
        params = [
            f"{called}_{'' if 'names' not in self.axes else self.random.choice(IDENTIFIERS)}p{at}"
            for at in range(made.params)
        ]
        values, lines = [*params], [f"R.func_attr({attrs!r})"] if (attrs := self.attributes(made)) else []
        if any(each.startswith("cls") for each in named):
            lines.append("cls = Module")
        lines += before or []
        flow = "lets" in self.axes and not before and all(kind not in ("if", "call") for kind, _ in made.steps)
        body: list[str] = []
        for kind, what in made.steps:
            values.append(f"{called}_v{len(values)}")
            body += self.bound(values[-1], kind, what, values, named)
        if flow:
            body = ["with R.dataflow():", *(f"    {line}" for line in [*body, f"R.output({values[-1]})"])]
        private = "(private=True)" if called != "main" and before is None and "cls" in "".join(named) else ""
        head = f"@R.function{private}\ndef {called}({', '.join(f'{each}: {self.type}' for each in params)}):"
        return f"{head}\n{indented(chr(10).join([*lines, *body, f'return {values[-1]}']))}"

    def attributes(self, made: Program) -> dict[str, Any]:
        attrs: dict[str, Any] = {"Primitive": True} if made.kind == "Primitive" else {}
        if made.kind == "Composite":
            attrs["Composite"] = self.random.choice(HOSTILE) if "names" in self.axes else "a.b"
        if "attributes" in self.axes:
            attrs["note"] = self.random.choice((1, "x" * size(self.random, 20000), self.random.choice(HOSTILE)))
        return attrs

    def bound(self, target: str, kind: str, what: Any, values: list[str], named: list[str]) -> list[str]:
        if kind == "if":
            arms = [f"    {target} = R.exp({values[each]})" for each in what]
            return ["if R.const(True):", arms[0], "else:", arms[1]]
        if kind == "tuple":
            return [f"{target} = ({', '.join(values[each] for each in what)},)"]
        if kind == "item":
            return [f"{target} = {values[what[0]]}[{what[1]}]"]
        if kind == "call":
            return [f"{target} = {named[what[0]]}({', '.join(values[each] for each in what[1])})"]
        long = " " * size(self.random, 3000) if "tokens" in self.axes and self.random.random() < 0.2 else ""
        note = f"  # {'x' * size(self.random, 3000)}" if "spans" in self.axes and self.random.random() < 0.2 else ""
        return [f"{target} = R.{kind}({', '.join(values[each] for each in what)}{long}){note}"]


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


# -- JSON of TVM


def module_json(random: Random, dialect: str) -> bytes:
    """The JSON of a module of a text, with other names in it."""
    import tvm

    if dialect == "relay":
        program = relay(random, typed=True, names=False).decode().removeprefix('#[version = "0.0.5"]\n')
        module = tvm.relay.parse('#[version = "0.0.5"]\n' + program)
    else:
        known = {"I": tvm.script.ir, "R": tvm.script.relax}
        module = tvm.script.from_source(relax(random).decode(), extra_vars=known)
    text = tvm.ir.save_json(module)
    for at in range(random.choice((0, 1, 3))):  # a name that holds a placeholder
        text = text.replace(
            f'"{random.choice(("p", "v", "main_p", "main_v"))}{at}', '"' + json.dumps(random.choice(HOSTILE))[1:-1]
        )
    return text.encode()


# -- graphs


def graph_data(random: Random) -> dict[str, Any]:
    """A saved graph with any nodes and groups."""
    from workbench.graph.nodes import GROUP_KINDS, KINDS

    axes = (*drawn_axes(random), *random.choice(((), ("groups",))))
    made = program(random, axes, 3000)
    groups = [{"id": 0, "kind": "function", "name": name(random, axes, 0), "parent": None}]
    count = size(random, 2000) if "groups" in axes else 3
    chained = random.random() < 0.5
    for at in range(1, count):
        parent = at - 1 if chained else random.choice((0, at - 1, random.randrange(at), None))
        groups.append({"id": at, "kind": random.choice(GROUP_KINDS), "name": name(random, axes, at), "parent": parent})
    kinds = ("param", "constant")
    nodes: list[dict[str, Any]] = [
        {"kind": random.choice(kinds), "op": name(random, axes, at), "group": 0} for at in range(made.params)
    ]
    edges: list[list[int]] = []
    for kind, what in made.steps:
        inputs = operands(kind, what)
        called = {"tuple": "tuple", "item": "get_item", "call": "call", "if": "if"}
        node: dict[str, Any] = {"kind": called.get(kind, "op"), "op": kind if kind in BINARY else f"nn.{kind}"}
        if random.random() < 0.05:
            node["kind"] = random.choice(KINDS)
        node["type"] = graph_type(random, axes)
        node["attrs"] = attributes(random, axes)
        node["group"] = random.choice((None, 0, len(groups) - 1, random.randrange(len(groups))))
        if "names" in axes:
            node |= {"name": random.choice(HOSTILE), "op": random.choice((node["op"], random.choice(HOSTILE)))}
        if "spans" in axes:
            node |= {
                "span": random.choice(("/a" * size(random, 3000) + ":0:0", "l.0.q:0:0", random.choice(HOSTILE))),
                "line": size(random, 10**9),
            }
            node["scope"] = random.choice(("", "a/b", "a/" * size(random, 3000), random.choice(HOSTILE)))
        node["pattern"] = random.choice((None, 0, 1, 2, 4, 8))
        node["source"] = [random.choice(HOSTILE)] if "names" in axes else []
        edges += [[each, len(nodes), index] for index, each in enumerate(inputs)]
        nodes.append(node)
    outputs = random.sample(range(len(nodes)), min(len(nodes), random.choice((1, 1, 5))))
    named = random.choice(HOSTILE) if "names" in axes else "g"
    dialect = random.choice(("relay", "relax"))
    head = {"format": "tvm-workbench graph", "version": 1, "name": named, "dialect": dialect}
    return {**head, "nodes": nodes, "edges": edges, "groups": groups, "outputs": outputs}


def graph_type(random: Random, axes: tuple[str, ...]) -> str:
    if "shapes" not in axes:
        return "Tensor[(2, 3), float32]"
    tensor = f"Tensor[{random.choice(SHAPES)}, float32]"
    odd = (
        "",
        "Tensor[(-1, ?), int4]",
        f"({', '.join([tensor] * size(random, 300))})",
        "(" * size(random, 3000),
        f"Tensor[({'9' * 400}), float32]",
    )
    return random.choice(
        (tensor, *odd, 'R.Tensor(("n", 4), dtype="float32")', "fn (int8) -> int8", random.choice(HOSTILE))
    )


def saved_graph(random: Random) -> bytes:
    return json.dumps(graph_data(random)).encode()


def trace(random: Random, folder: Any) -> bytes:
    from workbench.graph.model import Graph
    from workbench.pipeline.step import State, Step
    from workbench.pipeline.trace import Trace

    def state() -> State:
        graph = Graph.from_data({**graph_data(random), "dialect": "relay"})
        text = random.choice(
            ("", "def @main() {}", "\n" * size(random, 20000), "a " * size(random, 20000), random.choice(HOSTILE))
        )
        return State(None, lambda: graph, lambda: text)

    states = [state() for _ in range(random.choice((2, 2, 3)))]
    steps = []
    for at in range(random.choice((1, 3, size(random, 100)))):
        before, after = random.choice(states), random.choice(states)
        called = random.choice(
            ("FuseOps", "<mine>", f"FuseOps{{fuse_opt_level={size(random, 10**18)}}}", f"<{random.choice(HOSTILE)}>")
        )
        status = random.choice(("changed", "same", "error", "skipped", "off"))
        error = random.choice(HOSTILE) if status == "error" else ""
        steps.append(Step(called, before, after, status, random.random(), error, error, random.choice((0, at % 50))))
    made = Trace(random.choice(HOSTILE), "relay", tuple(steps), states[0], random.randrange(4))
    return made.save(folder / "hostile.wbtrace").read_bytes()


def executor(random: Random) -> bytes:
    axes = drawn_axes(random)
    made = program(random, axes, 2000)
    nodes: list[dict[str, Any]] = [
        {"op": "null", "name": name(random, axes, at), "inputs": []} for at in range(made.params)
    ]
    for kind, what in made.steps:
        inputs = [[each, 0, 0] for each in operands(kind, what)] * (size(random, 50) if "width" in axes else 1)
        called = name(random, axes, len(nodes))
        function = random.choice((f"tvmgen_default_fused_{called}", "__nop", "__copy"))
        attrs = {"num_outputs": "1", "num_inputs": str(len(inputs)), "flatten_data": "0", "func_name": function}
        if "attributes" in axes:
            attrs |= {random.choice(HOSTILE): random.choice(HOSTILE), "hash": "0", "Compiler": "x"}
        nodes.append({"op": "tvm_op", "name": called, "attrs": attrs, "inputs": inputs})
    shape = [*random.choice(SHAPES)] if "shapes" in axes else [2, 3]
    total = len(nodes)
    columns = {
        "dltype": ["list_str", ["float32"] * total],
        "storage_id": ["list_int", [random.randrange(total) if "sharing" in axes else at for at in range(total)]],
        "shape": ["list_shape", [shape] * total],
    }
    heads = [[total - 1, 0, 0]] * (size(random, 300) if "width" in axes else 1)
    data = {"nodes": nodes, "arg_nodes": [*range(made.params)], "heads": heads, "attrs": columns}
    return json.dumps({**data, "node_row_ptr": [*range(total + 1)]}).encode()


def onnx_model(random: Random) -> bytes:
    from onnx import TensorProto, helper

    axes = drawn_axes(random)
    made = program(random, axes, 100)
    names = {"add": "Add", "multiply": "Mul", "subtract": "Sub", "maximum": "Max", "negative": "Neg"}
    scope = random.choice(("", "/layer/0", "/a" * size(random, 500))) if "spans" in axes else ""

    def body(program: Program, inputs: list[str], prefix: str) -> tuple[list[Any], str]:
        values, nodes = [*inputs], []
        for kind, what in program.steps:
            if kind in ("tuple", "if"):
                values.append(values[what[0]])
                continue
            if kind == "item":
                values.append(values[what[0]])
                continue
            values.append(f"{prefix}{len(values)}")
            called, domain = names.get(kind, kind.capitalize()), ""
            arguments = what
            if kind == "call":
                called, arguments, domain = f"F{what[0]}", what[1], "own"
            labelled = f"{scope}/{name(random, axes, len(values))}"
            nodes.append(
                helper.make_node(called, [values[each] for each in arguments], [values[-1]], labelled, domain=domain)
            )
        return nodes, values[-1]

    params = [f"{name(random, axes, at)}_{at}" for at in range(made.params)]
    nodes, last = body(made, params, "t")
    shape: list[Any] = [*random.choice(SHAPES)] if "shapes" in axes else [2, 3]
    if "shapes" in axes and random.random() < 0.3:
        shape = ["n", 3]
    values = [helper.make_tensor_value_info(each, TensorProto.FLOAT, shape) for each in params]
    graph = helper.make_graph(
        nodes, name(random, axes, 0), values, [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)]
    )
    functions = []
    for at, each in enumerate(made.functions):
        inner, end = body(each, ["p"], "i")
        own = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
        functions.append(helper.make_function("own", f"F{at}", ["p"], [end], inner, own))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8).SerializeToString()


MAKERS: dict[str, Callable[[Random], bytes]] = {
    "pasted Relay text": partial(relay, typed=False),
    "relay text": partial(relay, typed=True),
    "relax text": relax,
    "relay module JSON": partial(module_json, dialect="relay"),
    "relax module JSON": partial(module_json, dialect="relax"),
    "graph JSON": saved_graph,
    "executor JSON": executor,
    "ONNX": onnx_model,
}
"name -> the maker of one program"
