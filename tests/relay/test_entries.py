import pytest
import tvm
from tvm import relay

import workbench as wb

STEPS = """#[version = "0.0.5"]
def @helper(%a: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] { tanh(%a) }
def @first(%b: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] { %0 = exp(%b); nn.softmax(%0) }
def @nested(%b: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] { @helper(%b) }
def @second(%c: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] { abs(%c) }
"""


def steps():
    return wb.load(tvm.relay.parse(STEPS))


def dense(rows):
    x, weight = relay.var("x", shape=(rows, 8)), relay.var("weight", shape=(4, 8))
    return tvm.IRModule.from_expr(relay.Function([x, weight], relay.nn.relu(relay.nn.dense(x, weight))))


def test_functions_that_others_call_are_not_entries():
    assert steps().entries() == ("first", "nested", "second")


@pytest.mark.parametrize(("entry", "calls"), [("first", 2), ("second", 1)])
def test_chosen_entry_is_counted_and_built(entry, calls):
    assert wb.count(steps(), entry=entry).calls == wb.kernels(steps(), entry=entry).calls == calls
    assert wb.measure(steps(), [3], entry=entry, budget=0.01, store=False).status[0] == "ok"


def test_only_function_needs_no_entry():
    loaded = wb.load("def @second(%c: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] { abs(%c) }")
    assert (loaded.entry, wb.kernels(loaded).calls) == ("second", 1)


def test_module_without_chosen_entry_names_them():
    for run in (wb.count, wb.kernels):
        with pytest.raises(wb.WorkbenchError, match="with entry=: first, nested, second"):
            run(steps())
    with pytest.raises(wb.WorkbenchError, match="known: first, nested, second"):
        wb.count(steps(), entry="helper")


def test_shape_of_an_input_makes_the_module_that_has_it():
    open = wb.load(dense(relay.Any()))
    assert wb.count(open, shapes={"x": (3, 8)}) == wb.count(wb.load(dense(3)))
    assert wb.measure(open, [3], shapes={"x": (3, 8)}, budget=0.01, store=False).status[0] == "ok"


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"n": 3}, "no input that leaves a dimension open named 'n'; known: x"),
        ({"x": 3}, r"x is Tensor\[\(\?, 8\), float32\]; give its whole shape"),
        ({"x": (3, 9)}, "give its whole shape"),
    ],
)
def test_shape_that_does_not_fit_is_refused(shapes, message):
    with pytest.raises(wb.WorkbenchError, match=message):
        wb.count(wb.load(dense(relay.Any())), shapes=shapes)


def test_entry_and_shapes_keep_the_modules_attributes():
    module = tvm.relay.parse(STEPS).with_attr("origin", tvm.runtime.String("paper"))
    assert wb.load(wb.load(module), entry="first").module.attrs["origin"] == "paper"
    open = wb.load(dense(relay.Any()).with_attr("origin", tvm.runtime.String("paper")))
    assert wb.load(open, shapes={"x": (3, 8)}).module.attrs["origin"] == "paper"
