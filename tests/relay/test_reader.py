"""Every kind of expression that Relay has, as TVM prints it and as people name things."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import tvm
from breadth import breadth
from tvm import relay
from tvm.relay.prelude import Prelude

import workbench as wb
from workbench.dialects.relay.graph import build_graph
from workbench.dialects.relay.parser import parse
from workbench.dialects.relay.printer import name_hints

X = relay.TensorType((2, 3), "float32")


def var(name="x", type=X):
    return relay.Var(name, type)


def graph_of(*function):
    """The graph of a module, or of a function given by its parameters and its body."""
    source = function[0] if len(function) == 1 else relay.Function(list(function[:-1]), function[-1])
    return wb.load(source).graph


def shape(graph):
    """Each node as `kind op(inputs)`, in order."""
    return [f"{n.kind} {n.op}({' '.join(map(str, i))})" for n, i in zip(graph.nodes, graph.inputs, strict=True)]


def groups(graph):
    return [(group.kind, group.name) for group in graph.groups]


def primitive(function, **attrs):
    return function.with_attr("Primitive", tvm.tir.IntImm("int32", 1))


# -- kinds


def test_an_operator_with_its_attributes_and_pattern():
    x = var()
    graph = graph_of(x, relay.nn.softmax(x, axis=0))
    node = graph.nodes[1]
    assert (node.kind, node.op, node.attrs, node.type) == ("op", "nn.softmax", {"axis": 0}, "Tensor[(2, 3), float32]")
    assert node.pattern == 8 or node.pattern == 4
    assert graph.outputs == (1,)


def test_prelude_constructors_are_not_operators():
    module = relay.transform.InferType()(Prelude(tvm.IRModule()).mod)
    relay.transform.FuseOps(2)(module)
    for graph in (wb.load(module).graph, wb.load(f"It prints:\n{module.astext()}").graph):
        known = {node.op for node in graph.nodes if node.kind == "op"}
        assert [op for op in known if op.startswith("tensor")] == []
        assert len([node for node in graph.nodes if node.op == "tensor_nil_float32"]) > 0
        assert wb.explain_fusion(graph).failure == ""


def test_tuples_and_their_fields():
    x = var()
    pair = relay.Tuple([x, relay.exp(x)])
    graph = graph_of(x, relay.TupleGetItem(pair, 1))
    assert shape(graph) == ["param x()", "op exp(0)", "tuple tuple(0 1)", "get_item .1(2)"]
    assert graph.nodes[2].type == "(Tensor[(2, 3), float32], Tensor[(2, 3), float32])"
    assert graph.nodes[3].type == "Tensor[(2, 3), float32]"


def test_the_empty_tuple_and_the_tuple_of_one():
    assert shape(graph_of(relay.Tuple([]))) == ["tuple tuple()"]
    x = var()
    graph = graph_of(x, relay.Tuple([x]))
    assert graph.nodes[1].type == "(Tensor[(2, 3), float32],)"


def test_a_let_names_the_value_it_binds():
    x, v = var(), var("v")
    graph = graph_of(x, relay.Let(v, relay.exp(x), relay.add(v, v)))
    assert shape(graph) == ["param x()", "op exp(0)", "op add(1 1)"]
    assert graph.nodes[1].name == "v"


def test_an_if_has_a_box_for_each_branch():
    x, c = var(), relay.Var("c", relay.TensorType((), "bool"))
    graph = graph_of(c, x, relay.If(c, relay.exp(x), relay.tanh(x)))
    assert shape(graph) == ["param c()", "param x()", "op exp(1)", "op tanh(1)", "if if(0 2 3)"]
    assert groups(graph) == [("function", "main"), ("branch", "then"), ("branch", "else")]
    assert [graph.nodes[i].group for i in (2, 3, 4)] == [1, 2, 0]


def test_an_if_in_the_else_of_an_if():
    text = """def @main(%c: bool, %x: Tensor[(2), float32]) {
        if (%c) { exp(%x) } else if (%c) { tanh(%x) } else { %x }
    }"""
    graph = graph_text(text)
    assert shape(graph)[-2:] == ["if if(0 1 4)", "if if(0 2 5)"] or shape(graph)[-1].startswith("if if(0 2 ")
    assert [group.kind for group in graph.groups].count("branch") == 4


def graph_text(text):
    from workbench.dialects.relay.graph import build_graph
    from workbench.dialects.relay.operators import registered_pattern as pattern_of
    from workbench.dialects.relay.parser import parse

    return build_graph(parse(text), "text", pattern_of)


def test_what_two_branches_share_is_drawn_once_outside_both():
    x, c = var(), relay.Var("c", relay.TensorType((), "bool"))
    y = relay.exp(x)
    graph = graph_of(c, x, relay.If(c, y, relay.add(y, y)))
    assert [node.op for node in graph.ops] == ["exp", "add"]
    assert graph.nodes[2].group == 0


def test_what_a_branch_shares_with_what_follows_is_drawn_once_outside():
    x, c = var(), relay.Var("c", relay.TensorType((), "bool"))
    y = relay.exp(x)
    graph = graph_of(c, x, relay.add(relay.If(c, relay.tanh(y), x), y))
    assert [(node.op, node.group) for node in graph.ops] == [("exp", 0), ("tanh", 1), ("add", 0)]


def test_references():
    x, r = var(), relay.Var("r")
    written = relay.Let(relay.Var("_"), relay.RefWrite(r, relay.exp(x)), relay.RefRead(r))
    graph = graph_of(x, relay.Let(r, relay.RefCreate(x), written))
    assert shape(graph) == ["param x()", "ref ref(0)", "op exp(0)", "ref ref_write(1 2)", "ref ref_read(1)"]
    assert [graph.nodes[i].type for i in (1, 3, 4)] == ["ref(Tensor[(2, 3), float32])", "()", "Tensor[(2, 3), float32]"]


def test_a_closure_is_a_node_beside_a_box_with_its_body():
    x, p, f = var(), var("p"), relay.Var("f")
    graph = graph_of(x, relay.Let(f, relay.Function([p], relay.add(p, x)), f(x)))
    assert shape(graph) == ["param x()", "param p()", "op add(1 0)", "function fn(2)", "call f(3 0)"]
    assert graph.nodes[2].group == 1
    assert graph.nodes[4].type == "Tensor[(2, 3), float32]"


def test_a_function_called_where_it_stands_is_drawn_in_place():
    x, p = var(), var("p")
    graph = graph_of(x, relay.Call(primitive(relay.Function([p], relay.exp(p))), [x]))
    assert shape(graph) == ["param x()", "op exp(0)"]
    assert [kind for kind, _ in groups(graph)] == ["function", "primitive"]


def test_a_kernel_that_is_called_twice_is_drawn_twice():
    x, p = var(), var("p")
    kernel = primitive(relay.Function([p], relay.exp(p)))
    graph = graph_of(x, kernel(kernel(x)))
    assert shape(graph) == ["param x()", "op exp(0)", "op exp(1)"]
    assert graph.kernel_count == 2


def test_composite_and_external_functions_are_boxes_of_their_kind():
    x, p, q = var(), var("p"), var("q")
    inner = relay.Function([p], relay.exp(p)).with_attr("Composite", "mine.exp")
    outer = relay.Function([q], inner(q)).with_attr({"Compiler": "mine", "Primitive": tvm.tir.IntImm("int32", 1)})
    graph = graph_of(x, outer(x))
    assert [kind for kind, _ in groups(graph)] == ["function", "external", "composite"]
    assert groups(graph)[2][1] == "mine.exp"


def test_global_functions_call_each_other_and_themselves():
    module, g, n, x = tvm.IRModule(), relay.GlobalVar("g"), var("n"), var()
    module[g] = relay.Function([n], relay.If(relay.const(True), n, g(relay.exp(n))), X)
    module["main"] = relay.Function([x], g(x))
    graph = graph_of(module)
    assert [node.op for node in graph.nodes if node.kind == "call"] == ["@g", "@g"]
    assert groups(graph)[:2] == [("function", "main"), ("function", "g")]
    assert len(graph.outputs) == 1


def test_an_offloaded_global_function_is_drawn_where_it_is_called():
    module, g, n, x = tvm.IRModule(), relay.GlobalVar("offloaded"), var("n"), var()
    module[g] = relay.Function([n], relay.exp(n), X).with_attr("Compiler", "mine")
    module["main"] = relay.Function([x], relay.tanh(g(x)))
    graph = graph_of(module)
    assert shape(graph) == ["param x()", "op exp(0)", "op tanh(1)"]
    assert groups(graph) == [("function", "main"), ("external", "offloaded")]


def test_a_match_has_a_box_for_each_clause():
    module, x, h, t = tvm.IRModule(), var(), relay.Var("h"), relay.Var("t")
    Prelude(module)
    _, cons, nil = module.get_type("List")
    clauses = [
        relay.Clause(relay.PatternConstructor(cons, [relay.PatternVar(h), relay.PatternVar(t)]), relay.exp(h)),
        relay.Clause(relay.PatternWildcard(), x),
    ]
    module["main"] = relay.Function([x], relay.Match(cons(x, nil()), clauses))
    graph = graph_of(module)
    main = [node for node in graph.nodes if graph.nodes and 0 in {g.id for g in graph.ancestors(node.group)}]
    assert [node.op for node in main] == ["x", "Nil", "Cons", "h", "t", "exp", "match"]
    first, second = [group.name for group in graph.groups if group.kind == "branch"][:2]
    assert first.startswith("Cons(%h")
    assert second == "_"


def test_the_whole_prelude_reads():
    module = tvm.IRModule()
    Prelude(module)
    module.import_from_std("gradient.rly")
    module["main"] = relay.Function([], relay.const(1.0))
    graph = graph_of(module)
    assert {"foldr", "zip"} <= {group.name for group in graph.groups}


# -- types, spans, constants, metadata


def test_dynamic_dimensions_are_shown_as_tvm_prints_them():
    x = relay.var("x", shape=(relay.Any(), 3))
    graph = graph_of(x, relay.exp(x))
    assert [node.type for node in graph.nodes] == ["Tensor[(?, 3), float32]"] * 2


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8", "int32", "int64", "bool"])
def test_scalars_of_every_type_are_constants_with_their_text(dtype):
    graph = graph_of(relay.const(1, dtype))
    assert graph.nodes[0].kind == "constant"
    assert dtype in graph.nodes[0].type


@pytest.mark.parametrize("value", [0.0, -1.5, 1e-30, 1e30, float("inf"), float("-inf"), float("nan")])
def test_any_float_is_a_constant(value):
    x = var()
    graph = graph_of(x, relay.add(x, relay.const(value)))
    assert [node.kind for node in graph.nodes] == ["param", "constant", "op"]


def test_any_float_is_an_attribute():
    x = var()
    graph = graph_of(x, relay.clip(x, float("-inf"), 1e30))
    assert graph.nodes[1].attrs == {"a_min": float("-inf"), "a_max": 1e30}


def test_spans_are_kept():
    x = var()
    span = relay.Span(relay.SourceName("layer 1/relu"), 3, 3, 7, 7)
    call = relay.Call(tvm.ir.Op.get("nn.relu"), [x], None, [], span)
    assert graph_of(x, call).nodes[1].span == "layer 1/relu:3:7"


def test_constants_with_other_values_have_other_digests():
    def digest(*values):
        x = var()
        return graph_of(x, relay.add(x, relay.const(np.array([values] * 2, "float32")))).nodes[1].attrs["digest"]

    assert digest(1, 2, 3) == digest(1, 2, 3)
    assert digest(1, 2, 3) != digest(1, 2, 4)


def test_constants_keep_their_digests_beside_odd_names():
    x = var("a b")
    assert graph_of(x, relay.add(x, relay.const(np.ones((2, 3), "float32")))).nodes[1].attrs["digest"]


@pytest.mark.parametrize(
    "names", [[], ["x", "", "a b", "é日", "\x01", '"', "\\", "\\n", "\n", "\t", "\\u0041", "x.0", ":", "%y", "x"]]
)
def test_names_of_variables_are_those_that_each_has(names):
    variables = tvm.runtime.convert([var(name) for name in names])
    assert name_hints(variables) == [variable.name_hint for variable in variables]


def test_text_with_a_metadata_section_reads():
    x = var()
    module = wb.load(relay.Function([x], relay.add(x, relay.const(np.ones((2, 3), "float32"))))).module
    assert shape(graph_text(module.astext(show_meta_data=True))) == [
        "param x()",
        "constant meta[relay.Constant][0]()",
        "op add(0 1)",
    ]
    assert wb.load(module.astext(show_meta_data=True)).graph is not None


def test_what_plan_devices_writes_reads():
    x = var()
    host = tvm.target.VirtualDevice(tvm.cpu(0))
    config = tvm.target.make_compilation_config(tvm.transform.PassContext.current(), [tvm.target.Target("llvm")])
    module = wb.load(
        relay.Function([x], relay.annotation.on_device(relay.exp(x), host.device_type and tvm.cpu(0)))
    ).module
    planned = relay.transform.PlanDevices(config)(module)
    assert [node.op for node in wb.load(planned).graph.ops][-1:] in (["exp"], ["on_device"])


# -- names


NAMES = [
    "a b", "tab\there", 'say "hi"', "it's", "two\nlines", "<img src=x onerror=alert(1)>", "</script>",
    "onnx::a/b:0.1", "x:0", "x:", "", "1", "%x", "/* ty=int */", "é漢字", "a,b)", "n" * 10_000,
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name[:20]))
def test_a_parameter_may_have_any_name(name):
    x, y = var(name), var("other")
    graph = graph_of(x, y, relay.subtract(x, y))
    shown = graph.nodes[0].op
    assert shown == name
    assert graph.inputs[2] == (0, 1)


@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name[:20]))
def test_a_let_and_an_inner_parameter_may_have_any_name(name):
    x, v, p, f = var(), var(name), var(name), relay.Var("f")
    inner = relay.Let(f, relay.Function([p], relay.exp(p)), relay.subtract(f(v), v))
    graph = graph_of(x, relay.Let(v, relay.tanh(x), inner))
    assert [node.op for node in graph.ops] == ["tanh", "exp", "subtract"]


def test_x_dot_0_beside_x_is_not_a_field_of_x():
    pair = relay.Var("x", relay.TupleType([X, X]))
    plain = var("x.0")
    graph = graph_of(plain, pair, relay.subtract(plain, relay.TupleGetItem(pair, 0)))
    assert shape(graph) == ["param x.0()", "param x()", "get_item .0(1)", "op subtract(0 2)"]


def test_parameters_of_one_name_stay_two():
    a, b = var(), var()
    graph = graph_of(a, b, relay.subtract(a, b))
    assert graph.inputs[2] == (0, 1)


# -- depth, and what cannot be read


DEEP = """
import tvm
from tvm import relay
import workbench as wb
x = y = relay.var("x", shape=(2,))
for _ in range(20_000):
    y = relay.exp(y)
graph = wb.load(relay.Function([x], y)).graph
assert len(graph.ops) == 20_000
text = "def @main(%x: Tensor[(2), float32]) { " + "exp(" * 20_000 + "%x" + ")" * 20_000 + " }"
for deep in (text, "(" * 50_000, *FORMS):
    try:
        wb.load(deep)
    except wb.WorkbenchError as error:
        print(type(error).__name__)
"""


@pytest.mark.parametrize(
    "forms", breadth([(), ("fn (%x: int8) { ", "if (True) { ", "let %x = ")], ()), ids=["calls", "blocks"]
)
def test_depth_does_not_end_the_process(forms):
    program = DEEP.replace("*FORMS", "".join(f"{form!r} * 20_000, " for form in forms))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["TooDeep", *["ParseError"] * (1 + len(forms))]


DEEP_SCALARS = """
import tvm
from tvm import relay
from workbench.dialects.registry import dialect

value, two = relay.var("x", shape=(2,)), relay.const(2.0)
for _ in range(60_000):
    value = relay.add(value, two)
graph = dialect("relay").frontend.graph(tvm.IRModule.from_expr(value), "chain")
print(len(graph.nodes))
"""


@pytest.mark.long
def test_deep_chain_that_shares_a_scalar_does_not_end_the_process():
    done = subprocess.run(
        [sys.executable, "-c", DEEP_SCALARS], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "60002"), done.stderr[-2000:]


def test_20000_lets_read():
    lets = "".join(f"let %v{i + 1} = exp(%v{i});\n" for i in range(20_000))
    graph = graph_text(f"def @main(%v0: Tensor[(2), float32]) {{ {lets} %v20000 }}")
    assert len(graph.ops) == 20_000


def test_a_target_is_told_without_its_address_in_memory() -> None:
    text = (
        "def @main(%x {virtual_device=VirtualDevice(device_type=1, target=Target(id=55bb, kind='llvm'))}: int8) { %x }"
    )
    param = build_graph(parse(text), "t", lambda _op: None).nodes[0]
    assert param.attrs["virtual_device"] == "VirtualDevice(device_type=1, target=Target(kind='llvm'))"


def test_functions_of_flexible_shape_dispatch_are_read() -> None:
    x = relay.var("x", shape=(1, 8))
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))))
    module = relay.transform.FlexibleShapeDispatch(buckets=[1, 2])(module)
    for given in (module, module.astext()):
        graph = wb.load(given).graph
        assert [node.op for node in graph.nodes if node.kind == "call" and "Any" in node.op] == ["@main_T.Any()"]
        assert sum(node.op == "nn.relu" for node in graph.ops) == 3
