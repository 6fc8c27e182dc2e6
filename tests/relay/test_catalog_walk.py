"""Every pass that Relay offers: it changes a module where it applies as it should, or it says why it can't be shown to."""

from __future__ import annotations

import contextlib
import inspect
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
import tvm
from catalog_workloads import CASES, UNCHANGED, Case
from tvm import relay

import workbench as wb
from workbench.dialects.catalog import PassInfo
from workbench.pipeline.spec import PassStep

INFOS = {info.name: info for info in wb.passes("relay")}
TVMS = {name: info for name, info in INFOS.items() if not info.ours or name == "BindParams"}


@pytest.fixture(autouse=True, scope="module")
def compiler() -> Iterator[None]:
    """A code generator called `mine` takes exp and tanh, so that regions for it can be made."""
    for op in ("exp", "tanh"):
        tvm.ir.register_op_attr(op, "target.mine", lambda _expression: True)
    yield
    for op in ("exp", "tanh"):
        tvm.ir.Op.get(op).reset_attr("target.mine")


def step_of(name: str, case: Case) -> wb.Trace:
    built = case.build()
    if not isinstance(built, tvm.IRModule):
        built = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(built), built))
    params = {"bound": tvm.nd.empty((4, 8))} if name == "BindParams" else {}
    w = wb.load((built, params))
    with tvm.target.Target(case.target) if case.target else contextlib.nullcontext():
        step = PassStep(name, case.options or INFOS[name].example)
        return wb.trace(w, [*case.before, step], opt_level=4)


def test_every_pass_is_accounted_for_once() -> None:
    accounted = [*CASES, *UNCHANGED, *(name for name, info in TVMS.items() if info.reason)]
    assert sorted(accounted) == sorted(TVMS)


def test_every_public_pass_of_this_tvm_is_in_the_catalogue() -> None:
    for prefix, module in (("", relay.transform), ("qnn.", relay.qnn.transform)):
        for name, thing in inspect.getmembers(module, inspect.isfunction):
            if name[0].isupper():
                assert prefix + name in INFOS, thing


@pytest.mark.parametrize("name", CASES)
def test_a_pass_changes_what_it_should(name: str) -> None:
    case = CASES[name]
    trace = step_of(name, case)
    assert trace.failed is None, trace.failed
    last = trace.steps[-1]
    assert last.changed
    for words, side, other in (
        (case.gains, last.text_after, last.text_before),
        (case.loses, last.text_before, last.text_after),
    ):
        assert words in side, side
        assert not words or words not in other, other


@pytest.mark.parametrize("name", UNCHANGED)
def test_a_pass_whose_work_is_not_structure_runs_and_changes_nothing(name: str) -> None:
    (step,) = step_of(name, Case(lambda: relay.exp(relay.var("x", shape=(2, 2))))).steps
    assert step.status == "same"


@pytest.mark.parametrize("info", [info for info in INFOS.values() if info.reason], ids=lambda info: info.name)
def test_a_reason_is_a_sentence(info: PassInfo) -> None:
    assert len(info.reason.split()) > 5
    assert not info.reason.endswith(".")


def test_what_is_said_to_raise_raises() -> None:
    x = relay.var("x", shape=(2, 2))
    w = wb.load(relay.Function([x], relay.divide(x, relay.const(2.0))))
    assert wb.trace(w, "DivToMul").failed is not None
    assert "raises" in INFOS["DivToMul"].reason


@pytest.mark.long
@pytest.mark.parametrize(
    ("marks", "ended"),
    [("mark = cpu(total); first = second = mark", True), ("first, second = cpu(total), cpu(total)", False)],
)
def test_what_is_said_to_end_the_process_ends_it(marks: str, ended: bool) -> None:
    program = f"""
import tvm
from tvm import relay

def cpu(value):
    return relay.annotation.on_device(value, tvm.cpu(0))

total = relay.exp(relay.var("x", shape=(4,)))
{marks}
gpu = relay.annotation.on_device(relay.sqrt(first), tvm.cuda(0))
result = cpu(relay.subtract(gpu, relay.log(second)))
module = relay.transform.InferType()(tvm.IRModule.from_expr(result))
targets = [tvm.target.Target("llvm"), tvm.target.Target("cuda -arch=sm_80")]
relay.transform.PlanDevices(tvm.target.make_compilation_config(tvm.transform.PassContext(), targets))(module)
"""
    code = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode
    assert (code == -signal.SIGSEGV) == ended
    assert ended or code == 0
    assert "end the process" in INFOS["PlanDevices"].reason
