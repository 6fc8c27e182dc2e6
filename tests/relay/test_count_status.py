"""The status that `wb.count` gives to programs that relay.build refuses: each case is built too."""

import pytest
import tvm
from tvm import relay

import workbench as wb

X = relay.var("x", shape=(4, 8))
CALLS_F = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] {{ @f(%x) }}
def @f(%y: Tensor[(4, 8), float32]{attributes}) -> Tensor[(4, 8), float32] {{ add(%y, %y) }}
"""
FOREIGN = ', Compiler="{}", Primitive=1, Inline=1, global_symbol="f"'


def annotated():
    inside = relay.nn.relu(relay.op.annotation.compiler_begin(X, "dnnl"))
    return relay.Function([X], relay.op.annotation.compiler_end(inside, "dnnl"))


def quantized():
    return relay.Function([X], relay.qnn.quantize(X, relay.const(0.1), relay.const(0), out_dtype="int8"))


def branches():
    condition = relay.var("condition", shape=(), dtype="bool")
    return relay.Function([X, condition], relay.If(condition, relay.exp(X), relay.abs(X)))


def closure():
    y, f = relay.var("y", shape=(4, 8)), relay.var("f")
    return relay.Function([X], relay.Let(f, relay.Function([y], relay.exp(y)), f(f(X))))


def references():
    return relay.Function([X], relay.RefRead(relay.RefCreate(X)))


def open_input():
    x = relay.var("x", shape=(relay.Any(), 8))
    return relay.Function([x], relay.exp(x))


def open_inside():
    x = relay.var("x", shape=(4, 8), dtype="bool")
    return relay.Function([x], relay.exp(relay.cast(relay.argwhere(x), "float32")))


def tuple_parameter():
    pair = relay.var("pair", relay.TupleType([relay.TensorType((4, 8)), relay.TensorType((4, 8))]))
    return relay.Function([pair], relay.exp(relay.TupleGetItem(pair, 0)))


def packed_layout():
    x, w = relay.var("x", shape=(1, 8, 8, 1, 16)), relay.var("w", shape=(3, 3, 1, 1, 16, 16))
    layouts = {"data_layout": "NHWC16c", "kernel_layout": "HWIO16i16o"}
    return relay.Function([x, w], relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=16, **layouts))


def integer_root():
    x = relay.var("x", shape=(4, 8), dtype="int32")
    return relay.Function([x], relay.atan(x))


def call_with_attributes():
    y = relay.var("y", shape=(4, 8))
    attributes = tvm.ir.make_node("attrs.TestAttrs", name="attributes")
    return relay.Function([X], relay.Call(relay.Function([y], relay.exp(y)), [X], attributes))


@pytest.mark.parametrize(
    ("make", "level", "reason"),
    [
        (tuple_parameter, 3, "pair is not a tensor"),
        (packed_layout, 0, "TVM does not compile nn.conv2d: "),
        (integer_root, 3, "TVM does not compile atan: "),
        (call_with_attributes, 3, ""),
        (annotated, 3, "annotation.compiler_begin has no kernel"),
        (quantized, 0, "qnn.quantize has no kernel at this opt level"),
        (branches, 3, "takes no If"),
        (closure, 3, "takes no Function"),
        (references, 3, "takes no RefRead"),
        (open_input, 3, "open dimension"),
        (open_inside, 3, "open dimension"),
        (lambda: tvm.relay.parse(CALLS_F.format(attributes=FOREIGN.format("nosuch"))), 3, "the compiler nosuch"),
    ],
)
def test_program_that_no_build_takes_fails(make, level, reason):
    loaded = wb.load(make())
    counts = wb.count(loaded, opt_level=level)
    assert counts.status == "failed"
    assert reason in counts.reason
    assert any(counts.reason in note for note in wb.memory(loaded, "llvm", level).notes)
    with pytest.raises(wb.WorkbenchError):
        wb.kernels(loaded, opt_level=level)


def test_function_without_code_fails_when_it_runs():
    loaded = wb.load(tvm.relay.parse(CALLS_F.format(attributes="")))
    assert wb.count(loaded).status == "failed"
    assert wb.measure(loaded, [3], budget=0.01, store=False).status[0] == "failed"


@pytest.mark.parametrize(
    "make", [quantized, lambda: tvm.relay.parse(CALLS_F.format(attributes=FOREIGN.format("ccompiler")))]
)
def test_program_that_a_build_takes_has_no_reason(make):
    loaded = wb.load(make())
    counts = wb.count(loaded)
    assert (counts.status, counts.reason) == ("ok", "")
    assert wb.kernels(loaded).calls == counts.calls


def test_waterfall_gives_the_reason():
    rows = wb.waterfall(wb.load(branches()), "FoldConstant", timed=False)
    assert all(row == "failed" for row in rows.status)
    assert "takes no If" in rows.message.iloc[-1]
