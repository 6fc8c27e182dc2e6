"""Each kind of Relax expression, read into the graph."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tvm
from small_samples import SMALL
from tvm import relax

import workbench as wb
from workbench.dialects.base import Workload
from workbench.dialects.relax import compat
from workbench.dialects.relax.expressions import type_text
from workbench.graph.model import Graph, Node

EVERYTHING = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def scale(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] * T.float32(2)

    @R.function
    def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return x

    @R.function(private=True)
    def kernel(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"Primitive": True})
        cls = Module
        with R.dataflow():
            s = R.call_tir(cls.scale, (a,), out_ty=R.Tensor((4,), "float32"))
            gv = R.call_tir(cls.scale, (s,), out_ty=R.Tensor((4,), "float32"))
            R.output(gv)
        return gv

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool"), f: R.Callable((R.Tensor,), R.Tensor)):
        n = T.int64()
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.scale, (x,), out_ty=R.Tensor((4,), "float32"))
            b = R.call_dps_packed("my.packed", (a,), out_ty=R.Tensor((4,), "float32"))
            h = cls.helper(b)
            k = cls.kernel(h)
            z = R.reshape(y, R.shape([n * 4]))
            u = (a, k, (h, z))
            w = u[2][1]
            p = R.call_pure_packed("foo.bar", w, ty_args=R.Tensor)
            R.output(a, p)
        m = R.match_cast(p, R.Tensor((n, 4), "float32"))
        if c:
            d = R.add(a, R.const(0.5, "float32"))
            e = R.nn.relu(d)
        else:
            e = R.negative(a)
        _ = R.print(e, format="{}")
        @R.function
        def inner(i: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return R.add(i, e)
        g = inner(a)
        l = f(g)
        q = R.shape([n, 4])
        return (m, l, q)
"""


@pytest.fixture(scope="module")
def graph() -> Graph:
    return wb.load(EVERYTHING, name="everything").graph


def bound(graph: Graph, name: str) -> Node:
    found = [node for node in graph.nodes if node.name == name]
    assert len(found) == 1
    return found[0]


def inputs(graph: Graph, node: Node) -> list[str]:
    return [graph.nodes[source].name or graph.nodes[source].op for source in graph.inputs[node.id]]


def test_a_call_tir_is_its_prim_func(graph: Graph) -> None:
    node = bound(graph, "a")
    assert (node.kind, node.op, node.pattern, node.attrs) == ("op", "scale", 0, {})
    assert inputs(graph, node) == ["x"]
    assert node.type == 'R.Tensor((4,), dtype="float32")'


@pytest.mark.parametrize(
    ("name", "op", "how"), [("b", "my.packed", "relax.call_dps_packed"), ("p", "foo.bar", "relax.call_pure_packed")]
)
def test_a_packed_function_is_an_opaque_kernel(graph: Graph, name: str, op: str, how: str) -> None:
    node = bound(graph, name)
    assert (node.kind, node.op, node.pattern, node.attrs) == ("op", op, 8, {"called_by": how})
    assert len(inputs(graph, node)) == 1


def test_a_function_of_the_module_is_called_and_drawn_beside(graph: Graph) -> None:
    node = bound(graph, "h")
    assert (node.kind, node.op) == ("call", "@helper")
    assert [(group.kind, group.parent) for group in graph.groups if group.name == "helper"] == [("function", None)]


def test_a_kernel_is_drawn_where_it_is_called(graph: Graph) -> None:
    group = next(group for group in graph.groups if group.name == "kernel")
    assert group.kind == "primitive"
    assert graph.groups[group.parent or 0].name == "main"
    first, second = (graph.nodes[id] for id in graph.members[group.id])
    assert inputs(graph, first) == ["h"]
    assert inputs(graph, second) == [first.name]
    assert group.output == second.id
    assert inputs(graph, bound(graph, "u")) == ["a", second.name, "tuple"]


def test_symbolic_shapes_are_shown(graph: Graph) -> None:
    node = bound(graph, "z")
    assert node.type == 'R.Tensor((n * 4,), dtype="float32")'
    shape = graph.nodes[graph.inputs[node.id][1]]
    assert (shape.kind, shape.op, shape.type) == ("shape", "R.shape([n * 4])", "R.Shape([n * 4])")
    assert bound(graph, "q").op == "R.shape([n, 4])"


def test_tuples_and_their_fields_are_nodes(graph: Graph) -> None:
    assert bound(graph, "u").kind == "tuple"
    assert bound(graph, "u").type.startswith('R.Tuple(R.Tensor((4,), dtype="float32"), ')
    assert (bound(graph, "w").kind, bound(graph, "w").op) == ("get_item", ".1")


def test_a_match_cast_is_a_node(graph: Graph) -> None:
    node = bound(graph, "m")
    assert (node.kind, node.type, inputs(graph, node)) == ("match", 'R.Tensor((n, 4), dtype="float32")', ["p"])


def test_an_if_has_two_branches(graph: Graph) -> None:
    node = bound(graph, "e")
    assert node.kind == "if"
    condition, then, other = (graph.nodes[source] for source in graph.inputs[node.id])
    assert (condition.op, then.op, other.op) == ("c", "relax.nn.relu", "relax.negative")
    assert [graph.groups[n.group or 0].name for n in (then, other)] == ["then", "else"]
    assert all(graph.groups[n.group or 0].kind == "branch" for n in (then, other))


def test_a_local_function_is_a_value_with_a_box(graph: Graph) -> None:
    node = bound(graph, "inner")
    assert node.kind == "function"
    assert node.type.startswith("R.Callable(")
    assert inputs(graph, bound(graph, "g")) == ["inner", "a"]
    assert inputs(graph, bound(graph, "l")) == ["f", "g"]
    body = graph.nodes[graph.inputs[node.id][0]]
    assert graph.groups[body.group or 0].name == "inner"
    assert "e" in inputs(graph, body), "it may use what is bound around it"


def test_literals_are_constants(graph: Graph) -> None:
    constants = {node.op: node for node in graph.nodes if node.kind == "constant"}
    assert constants.keys() == {"0.5", '"{}"'}
    assert constants["0.5"].type == 'R.Tensor((), dtype="float32")'
    assert constants["0.5"].attrs == {}


def test_the_outputs_are_what_main_returns(graph: Graph) -> None:
    (output,) = graph.outputs
    assert inputs(graph, graph.nodes[output]) == ["m", "l", "q"]
    assert graph.groups[0].name == "main"
    assert graph.groups[0].output == output


def one_op(build: object) -> Node:
    x = relax.Var("x", compat.tensor_type((1, 8, 16, 16), "float32"))
    block = relax.BlockBuilder()
    with block.function("main", [x]):
        block.emit_func_output(block.emit(build(x)))  # type: ignore[operator]
    return wb.load(block.get()).graph.ops[0]


def test_attributes_are_those_that_differ_from_the_defaults() -> None:
    weight = relax.const(np.ones((8, 8, 3, 3), "float32"))
    plain = one_op(lambda x: relax.op.nn.conv2d(x, weight))
    assert plain.op == "relax.nn.conv2d"
    assert plain.attrs == {"out_layout": "NCHW"}, "a default of None is filled in by TVM, and then it can not be told"
    asked = one_op(lambda x: relax.op.nn.conv2d(x, weight, strides=(2, 1), padding=1, groups=1))
    assert asked.attrs == {"strides": [2, 1], "padding": [1, 1, 1, 1], "out_layout": "NCHW"}
    one = relax.const(np.ones(8, "float32"))
    assert one_op(lambda x: relax.op.nn.batch_norm(x, one, one, one, one, axis=1, training=False)).attrs == {
        "axis": 1,
        "training": False,
    }
    assert one_op(lambda x: relax.op.sum(x, axis=[1])).attrs == {"axis": [1]}
    assert one_op(lambda x: relax.op.astype(x, "float16")).attrs == {"dtype": "float16"}


def with_constant(value: np.ndarray) -> Graph:
    x = relax.Var("x", compat.tensor_type(value.shape, str(value.dtype)))
    block = relax.BlockBuilder()
    with block.function("main", [x]):
        constant = relax.const(value)
        block.emit_func_output(block.emit(relax.op.multiply(block.emit(relax.op.add(x, constant)), constant)))
    return wb.load(block.get()).graph


def test_a_constant_is_one_node_that_knows_its_values() -> None:
    (constant,) = (node for node in with_constant(np.ones((2, 3), "float32")).nodes if node.kind == "constant")
    assert (constant.op, constant.type) == ("constant", 'R.Tensor((2, 3), dtype="float32")')
    assert len(constant.attrs["digest"]) == 8
    assert with_constant(np.ones((2, 3), "float32")).nodes[1] == constant
    assert with_constant(np.zeros((2, 3), "float32")).nodes[1] != constant


def test_an_offloaded_region_is_a_box_with_its_composites_inside() -> None:
    from tvm.relax.dpl import is_op, wildcard

    workload = wb.samples.load("mlp", layers=2)
    pattern = is_op("relax.nn.relu")(is_op("relax.add")(wildcard(), wildcard()))
    fuse = relax.transform.FuseOpsByPattern([("mine.add_relu", pattern)])
    graph = wb.trace(workload, [fuse, relax.transform.MergeCompositeFunctions()]).end.graph
    external = [group for group in graph.groups if group.kind == "external"]
    composite = [group for group in graph.groups if group.kind == "composite"]
    assert [group.attrs["Codegen"] for group in external] == ["mine", "mine"]
    assert [group.name for group in composite] == ["mine.add_relu", "mine.add_relu"]
    assert [group.parent for group in composite] == [group.id for group in external]
    assert not any(node.kind in ("call", "function") for node in graph.nodes)
    assert wb.diff(workload.graph, graph).empty, "only the grouping changed"


def test_what_call_tir_becomes_is_a_kernel_still() -> None:
    pipeline = "LegalizeOps,AnnotateTIROpPattern,FuseOps{fuse_opt_level=2},FuseTIR,ToNonDataflow,RemovePurityChecking,CallTIRRewrite"
    trace = wb.trace(wb.samples.load("mlp"), pipeline)
    assert trace.failed is None
    lowered = [node.op for node in trace.end.graph.ops if not node.op.startswith("relax.")]
    assert lowered == [node.op for node in trace.steps[3].after.ops]


def test_a_kernel_that_calls_itself_is_drawn_once() -> None:
    source = re.sub(r"gv = R\.call_tir\(.*\)", "gv = cls.kernel(s)", EVERYTHING)
    graph = wb.load(source).graph
    assert [node.op for node in graph.nodes if node.op == "@kernel"] == ["@kernel"]


@pytest.mark.parametrize(("value", "drawn"), [(1, "primitive"), (0, "function"), (True, "primitive")])
def test_an_attribute_may_be_an_expression_of_tvm(value: int, drawn: str) -> None:
    module = wb.load(EVERYTHING).module
    kernel = module["kernel"].with_attr("Primitive", tvm.tirx.IntImm("int64" if value is not True else "bool", value))
    module.update_func(module.get_global_var("kernel"), kernel)
    assert [group.kind for group in wb.load(module).graph.groups if group.name == "kernel"] == [drawn]


def test_a_module_that_is_not_in_normal_form_is_read_too() -> None:
    x = relax.Var("x", compat.tensor_type((4,), "float32"))
    nested = relax.op.add(relax.op.nn.relu(relax.TupleGetItem(relax.Tuple([x, x]), 0)), x)
    module = tvm.IRModule({"main": relax.Function([x], relax.SeqExpr([], nested), compat.tensor_type((4,), "float32"))})
    graph = wb.load(module).graph
    assert [node.op for node in graph.nodes] == ["x", "tuple", ".0", "relax.nn.relu", "relax.add"]


def test_a_deep_expression_does_not_end_the_walk() -> None:
    x = relax.Var("x", compat.tensor_type((4,), "float32"))
    value = x
    for _ in range(3000):
        value = relax.op.nn.relu(value)
    module = tvm.IRModule({"main": relax.Function([x], relax.SeqExpr([], value), compat.tensor_type((4,), "float32"))})
    from workbench.dialects.relax.graph import build_graph

    assert len(build_graph(module, "deep").ops) == 3000


def test_a_primitive_value_is_a_constant() -> None:
    source = """
@R.function
def main(x: R.Tensor((4,), "float32")):
    storage = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
    tensor = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"))
    return tensor
"""
    workload: Workload = wb.load(source)
    constants = [node.op for node in workload.graph.nodes if node.kind == "constant"]
    assert constants[:3] == ["0", '"global"', "float32"]


OTHER_CALLS = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def grow(a: T.handle, b: T.handle):
        T.func_attr({"op_pattern": 0})
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.sblock("b"):
                v = T.axis.spatial(n, i)
                B[v] = A[v] * T.float32(2)

    @R.function(pure=False)
    def main(pair: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32")), x: R.Tensor(("n",), "float32")):
        n = T.int64()
        cls = Module
        with R.dataflow():
            first = pair[0]
            grown = R.call_tir(cls.grow, (first,), out_ty=R.Tensor((n,), "float32"))
            into = R.call_tir_inplace(cls.grow, (grown, x), inplace_indices=[1], out_ty=R.Tensor((n,), "float32"))
            R.output(into)
        same = into
        return (same, pair)
"""


def test_calls_in_place_fields_of_a_tuple_parameter_and_other_names() -> None:
    graph = wb.load(OTHER_CALLS).graph
    assert inputs(graph, bound(graph, "first")) == ["pair"]
    grown, into = bound(graph, "grown"), bound(graph, "into")
    assert (grown.op, grown.pattern, grown.type) == ("grow", 0, 'R.Tensor((n,), dtype="float32")')
    assert into.attrs == {"called_by": "relax.call_tir_inplace", "inplace_indices": [1]}
    assert inputs(graph, into) == ["grown", "x"]
    (output,) = graph.outputs
    assert inputs(graph, graph.nodes[output]) == ["into", "pair"], "another name for a value is no node"


def kinds_of_values(data: Any) -> set[type]:
    """The Python types of the leaves of lists and dicts."""
    if isinstance(data, dict):
        return {str} | {kind for pair in data.items() for value in pair for kind in kinds_of_values(value)}
    if isinstance(data, (list, tuple)):
        return {kind for value in data for kind in kinds_of_values(value)}
    return {type(data)}


@pytest.mark.parametrize("passes", ["", "LegalizeOps,AnnotateTIROpPattern,FuseOps{fuse_opt_level=2}"])
@pytest.mark.parametrize("name", ["bert", "conv_bias_batch_norm"])
def test_no_object_of_tvm_is_in_a_graph_or_a_text(name: str, passes: str) -> None:
    state = wb.trace(wb.samples.load(name, **SMALL[name]), passes).end
    assert kinds_of_values(state.graph.to_data()) <= {str, int, float, bool, type(None)}
    assert type(state.text) is str


def test_what_a_graph_of_every_kind_of_expression_holds_is_plain_too() -> None:
    assert kinds_of_values(wb.load(EVERYTHING).graph.to_data()) <= {str, int, float, bool, type(None)}


def test_text_of_a_type_is_that_of_no_other_type() -> None:
    n, m, other_n = (tvm.tirx.Var(name, "int64") for name in "nmn")
    shapes = [[n, 4], [m, 4], [other_n, 4], [n, n], [n, other_n], [n * 2, 4], [4, 4], [4, 4], [4]]
    types = [relax.TensorType(shape, dtype) for shape in shapes for dtype in ("float32", "int8")]
    types += [relax.ShapeType(shape) for shape in shapes] + [
        relax.TensorType(dtype="int8", ndim=2),
        relax.ShapeType(ndim=2),
    ]
    assert [type_text(type) for type in types] == [str(str(type)) for type in types]
