"""The kernels of a received program run only if the user trusts it.

Every public name, widget and command is tried on a program whose kernels make a folder. One that is in no list here is a failure.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets
import numpy as np
import pytest
import tvm
from page_driver import Page
from tvm import relax

import workbench as wb
from workbench import cli
from workbench.dialects.readers import HERE
from workbench.widgets import messages

# a kernel of constants, which FoldConstant runs, and the same in the path of the input
PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True, private=True)
    def kernel(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        T.evaluate(T.call_extern("int32", "mkdir", "FILE", 511))
        for i in range(T.int64(4)):
            with T.sblock("copy"):
                at = T.axis.spatial(T.int64(4), i)
                y[at] = x[at]

    @R.function
    def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.kernel, (R.const([1.0, 2.0, 3.0, 4.0], "float32"),), out_ty=R.Tensor((4,), "float32"))
            b = R.add(a, x)
            c = R.multiply(b, w)
            d = R.call_tir(cls.kernel, (c,), out_ty=R.Tensor((4,), "float32"))
            e = R.nn.relu(d)
            R.output(e)
        return e
"""
WEIGHT = np.ones(4, "float32")


class Canary:
    """A received program, and the folder that its kernel makes."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "RAN"
        self.text = PROGRAM.replace("FILE", str(self.file))
        self.path = folder / "model.py"
        self.path.write_text(self.text)
        self.workload = wb.load(self.path, {"w": WEIGHT})
        self.ops = [node.id for node in self.workload.graph.ops]
        fused = wb.trace(self.workload, "LegalizeOps,AnnotateTIROpPattern")
        self.legal = self.workload.of(fused.end.module)
        self.saved = fused.save(folder / "t.wbtrace")

    def ran(self) -> bool:
        """Return whether the kernel ran, and forget it."""
        found = self.file.exists()
        if found:
            self.file.rmdir()
        return found


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Canary:
    return Canary(tmp_path_factory.mktemp("canary"))


def build(module: tvm.IRModule) -> tvm.IRModule:
    """Compile and run the kernels, as a pass of the user."""
    tvm.tirx.build(module["kernel"], "llvm")["kernel"](*(tvm.runtime.tensor(WEIGHT) for _ in range(2)))
    return module


def tune(module: tvm.IRModule) -> tvm.IRModule:
    """Search schedules, as TVM's pass does where a target is in scope."""
    with tvm.target.Target("llvm -num-cores 1"), tempfile.TemporaryDirectory() as folder:
        return relax.transform.MetaScheduleTuneIRMod({}, folder, 1)(module)


PASSES = {
    "name": "FoldConstant",
    "object": relax.transform.FoldConstant(),
    "pipeline": relax.get_pipeline("zero"),
    "nested": tvm.transform.Sequential([tvm.transform.Sequential([relax.transform.FoldConstant()])]),
    "tuning": tune,
    "function": build,
}
FOLD = "BindParams,LegalizeOps,FoldConstant,AnnotateTIROpPattern,FuseOps,FuseTIR"
SHORT: dict[str, Any] = {"budget": 0.01}


def compared(canary: Canary) -> Any:
    return wb.compare_compilers(
        canary.workload, compilers=[wb.Compiler("relax"), wb.Compiler("relax", config=wb.Config(opt_level=0))], **SHORT
    )


def ask(canary: Canary) -> object:
    assert canary.workload.graph.ask_after
    return canary.workload.graph.ask_after(FOLD)


CALLS: dict[str, Callable[[Canary], object]] = {
    "ablate": lambda c: wb.ablate(c.workload, pipeline=FOLD, passes=["FoldConstant"], **SHORT),
    "assert_fused": lambda c: wb.assert_fused(c.workload, ["relax.add"]),
    "assert_kernels": lambda c: wb.assert_kernels(c.workload, at_most=9),
    "bisect": lambda c: wb.bisect(c.workload, "wrong", reference=0, **SHORT),
    "boundary_costs": lambda c: wb.boundary_costs(c.workload, cuts=True),
    "compare_compilers": compared,
    "compare_outputs": lambda c: wb.compare_outputs(c.workload, c.workload),
    "constant_chains": lambda c: repr(wb.constant_chains(c.workload)),
    "count": lambda c: wb.count(c.workload),
    "cut": lambda c: wb.count(wb.cut(c.legal, (c.ops[1], c.ops[2]))),
    "diff": lambda c: repr(wb.diff(c.workload, wb.trace(c.workload, FOLD).end.graph)),
    "explain_fusion": lambda c: repr(wb.explain_fusion(c.workload)),
    "explain_kind": lambda c: [wb.explain_kind(c.legal, node) for node in c.ops],
    "explore": lambda c: wb.explore(c.workload, ["FoldConstant", "RunCodegen"], after="LegalizeOps").run(),
    "force": lambda c: wb.count(wb.force(c.legal, c.ops[1:3])),
    "history": lambda c: wb.history(c.workload),
    "kernel_errors": lambda c: wb.kernel_errors(c.workload),
    "kernels": lambda c: wb.kernels(c.workload),
    "lint": lambda c: wb.lint(c.workload),
    "load": lambda c: wb.load(c.text).graph.answers,
    "load_all": lambda c: wb.load_all(c.path),
    "match": lambda c: wb.match(c.workload, "is_op('relax.add')(wildcard(), wildcard())"),
    "measure": lambda c: wb.measure(c.workload, [0, 3, FOLD], **SHORT),
    "memory": lambda c: wb.memory(c.workload, config=FOLD),
    "outline": lambda c: wb.count(wb.outline(c.workload, c.ops[1:3], "part")),
    "overlay_of": lambda c: wb.overlay_of(wb.memory(c.workload)),
    "parallel_branches": lambda c: repr(wb.parallel_branches(c.workload)),
    "pattern_for": lambda c: wb.pattern_for(c.workload, c.ops[1:3]),
    "prepared_schedules": lambda c: wb.prepared_schedules(c.workload, trials=1, folder=c.path.parent / "db").run(),
    "try_pass": lambda c: wb.try_pass("FoldConstant", c.workload, budget=5),
    "where": lambda c: wb.where("is_op('relax.add')(wildcard(), wildcard())", c.workload),
    "race": lambda c: wb.race(c.workload, 0, 3, **SHORT),
    "reduce": lambda c: wb.reduce(c.workload, "crash"),
    "regions": lambda c: wb.regions(c.workload),
    "remarks": lambda c: wb.remarks(c.workload, config=FOLD),
    "report": lambda c: wb.report(c.workload, [0], path=c.path.with_suffix(".html"), **SHORT),
    "trace": lambda c: [wb.trace(c.workload, [each]) for each in PASSES.values()],
    "trace_build": lambda c: wb.trace_build(c.workload, whole=False).steps[-1].after,
    "check_schedule": lambda c: wb.check_schedule(c.workload, "cuda -arch=sm_80"),
    "schedules": lambda c: (wb.schedules(c.workload, "llvm", ["GEMV"]), wb.schedules(c.workload, "cuda -arch=sm_80")),
    "tune": lambda c: wb.tune(c.workload, wb.Space(toggles=("FoldConstant",)), trials=2, log=False),
    "tune_schedules": lambda c: wb.tune_schedules(c.workload, trials=1, folder=c.path.parent / "db"),
    "waterfall": lambda c: wb.waterfall(c.workload, FOLD, **SHORT),
    # methods of results that work on the program again
    "Graph": ask,
    "Trace": lambda c: (trace := wb.trace(c.workload, FOLD), trace.check(), trace.code(), trace.end.graph.products),
    "Workload": lambda c: (c.workload.text(), c.workload.entries(), c.workload.limits),
}
WIDGETS: dict[str, Callable[[Canary], ipywidgets.Widget]] = {
    "CompareView": lambda c: wb.CompareView(c.workload, c.workload),
    "FusionInspector": lambda c: wb.FusionInspector(c.workload),
    "GraphView": lambda c: wb.GraphView(c.workload),
    "MemoryView": lambda c: wb.MemoryView(wb.memory(c.workload)),
    "PassStepper": lambda c: wb.PassStepper(wb.trace(c.workload, FOLD)),
    "PatternInspector": lambda c: wb.PatternInspector(c.workload),
    "ScheduleStepper": lambda c: wb.ScheduleStepper(c.workload, target="llvm"),
    "TunePanel": lambda c: wb.TunePanel(c.workload, log=False),
    "Workbench": lambda c: wb.Workbench(c.workload, **SHORT),
}
HARMLESS = {
    **dict.fromkeys(("bandwidth", "ceilings"), "measure the machine"),
    **dict.fromkeys(("Compiler", "Config", "Pipeline", "Space", "Tracker", "WorkbenchError"), "values"),
    **dict.fromkeys(("joined", "plots"), "take rows of measurements"),
    **dict.fromkeys(("passes", "samples"), "take no program"),
    "CompilerView": "takes a comparison, which compare_compilers makes",
    "Predict": "calls a function of the user",
    "testing": "tries passes as try_pass does",
    "to_relax": "takes Relay",
}
COMMANDS = {
    "export": [["export", "{model}", "{model}.svg"], ["export", "{trace}", "{model}.again.py"]],
    "kernels": [["kernels", "{model}"]],
    "measure": [["measure", "{model}", "-c", "0", "-c", FOLD, "--budget", "0.01"]],
    "migrate": [["migrate", "{model}", "-o", "{model}.html", "--relay", sys.executable, "--budget", "0.01"]],
    "remarks": [["remarks", "{model}"], ["remarks", "{trace}"]],
    "schedules": [["schedules", "{model}", "--check"]],
    "show": [["show", "{model}", "-o", "{model}.html"], ["show", "{trace}", "-o", "{model}.html"]],
    "trace": [["trace", "{model}", "-p", FOLD, "--check"], ["trace", "{model}", "--build", "llvm"]],
    "doctor": [],
    "install-relay": [],
    "wheelhouse": [],
}
FIELDS: dict[str, object] = {"name": "FoldConstant", "value": "context", "key": "opt_level", "text": "", "index": 0}
"fields of messages that should name something"


def public_names() -> set[str]:
    tree = ast.parse(Path(inspect.getfile(wb)).with_suffix(".pyi").read_text())
    return {each.asname for node in tree.body if isinstance(node, ast.ImportFrom) for each in node.names if each.asname}


def commands() -> set[str]:
    (action,) = (each for each in cli._parser()._actions if isinstance(each, argparse._SubParsersAction))
    return set(action.choices)


def test_every_name_and_command_is_tried() -> None:
    assert {*CALLS, *WIDGETS, *HARMLESS} == public_names()
    assert COMMANDS.keys() == commands()


@pytest.mark.parametrize("name", CALLS)
def test_functions(name: str, canary: Canary) -> None:
    try:
        CALLS[name](canary)
    except wb.WorkbenchError as error:
        assert "workload.trusted = True" in str(error)  # noqa: PT017  not every call is refused
    assert not canary.ran()


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name: str, canary: Canary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(canary.path.parent)
    for words in COMMANDS[name]:
        cli.main([each.format(model=canary.path, trace=canary.saved) for each in words])
    assert not canary.ran()


@pytest.mark.parametrize("name", WIDGETS)
def test_widgets(name: str, canary: Canary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(canary.path.parent))  # presets are saved there
    page = Page(WIDGETS[name](canary))
    assert page.widget.wait(60) if hasattr(page.widget, "wait") else True
    for tab in page.widget.panels if isinstance(page.widget, wb.Workbench) else ():
        page.open_tab(tab)
    for kind, fields in messages.FIELDS.items():
        if kind not in ("act", "set"):  # buttons() presses those of the widget
            page.send(
                kind,
                **{
                    name: FIELDS.get(name, wanted() if isinstance(wanted, type) else None)
                    for name, wanted in fields.items()
                },
            )
    for what, arg in buttons(page.widget):
        page.click_action(what, arg)
    assert not canary.ran()


def buttons(widget: ipywidgets.Widget) -> set[tuple[str, str]]:
    """Return what each button and line of the widget's tabs sends."""
    found: set[tuple[str, str]] = set()

    def visit(value: object) -> None:
        if isinstance(value, dict):
            if value.get("act"):
                found.add((str(value["act"]), str(value.get("arg", ""))))
            for each in value.values():
                visit(each)
        elif isinstance(value, list):
            for each in value:
                visit(each)

    visit({name: getattr(widget, name) for name in widget.traits(sync=True)})
    return found


def test_canary_fires_with_trust_in_a_shell(canary: Canary) -> None:
    assert cli.main(["kernels", str(canary.path), "--trust"]) == 0
    assert canary.ran()


@pytest.mark.parametrize("what", ["count", "measure", "trace"])
def test_canary_fires_with_trust(what: str, canary: Canary) -> None:
    canary.workload.trusted = True
    try:
        CALLS[what](canary)
    finally:
        canary.workload.trusted = False
    assert canary.ran()


def test_reference_of_a_trusted_program_does_not_run(canary: Canary) -> None:
    own = wb.load(wb.trace(canary.workload, "LegalizeOps").result)
    with pytest.raises(wb.WorkbenchError, match="if you trust its author"):
        wb.kernel_errors(replace(own, params=canary.workload.params), reference=canary.workload)
    assert not canary.ran()


BODY = """
@R.function(pure=False)
def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    y = {}
    return y
"""
TYPE = 'R.Tensor((4,), "float32")'
BRINGS_CODE = {
    "R.nn.relu(x)": False,
    f"R.call_packed('f', x, ty_args=({TYPE},))": True,
    f"R.call_pure_packed('f', x, ty_args=({TYPE},))": True,
    f"R.call_inplace_packed('f', x, inplace_indices=[0], ty_args=({TYPE},))": True,
    f"R.call_dps_packed('f', (x,), out_ty={TYPE})": True,
}


@pytest.mark.parametrize(("call", "brings_code"), BRINGS_CODE.items())
def test_program_that_brings_code_is_not_trusted(call: str, brings_code: bool, tmp_path: Path) -> None:
    text = wb.load(BODY.format(call))
    saved = tmp_path / "saved.json"
    saved.write_text(tvm.ir.save_json(text.module))
    assert (text.trusted, wb.load(saved).trusted) == (not brings_code, not brings_code)
    assert bool(text.notes) == brings_code


@pytest.mark.parametrize("generator", ["canary", "none"])
def test_function_for_a_code_generator_is_not_trusted(generator: str) -> None:
    tvm.register_global_func("relax.ext.canary", lambda *_: [], override=True)
    text = BODY.replace("    y", f'    R.func_attr({{{{"Codegen": "{generator}"}}}})\n    y', 1).format("R.nn.relu(x)")
    assert HERE.program(text, is_json=False, name="m").trusted == (generator == "none")
