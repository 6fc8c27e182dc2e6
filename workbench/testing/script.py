"""Python that shows a failure of a pass with TVM alone."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import replace

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect_of
from workbench.errors import WorkbenchError
from workbench.experiments.reduce.run import comparison, context_text, pass_list, standalone
from workbench.pipeline.config import AS_IS, Config
from workbench.pipeline.run import ANY_LEVEL
from workbench.quoting import comment
from workbench.testing.attempt import AGAIN, FLAW, INPUT, NEIGHBOUR, OUTPUTS, TYPES, Run, Subject


def script(subject: Subject, law: str, said: str, workload: Workload, run: Run | None) -> str:
    """Return the script; empty if the program is too deep for TVM's parser."""
    seed, sizes = (0, {}) if run is None else run
    workload = replace(workload, shapes={**workload.shapes, **sizes})
    lines = "\n".join([*_pass(subject, workload), "", *_shown(law, workload)])
    try:
        return standalone(workload, f"{subject.name}: {law}: {said}", "", lines, "llvm", seed)
    except (WorkbenchError, ValueError, TypeError):
        return ""


def _pass(subject: Subject, workload: Workload) -> Iterator[str]:
    """Yield the lines that make `changed` of `mod`: the source of a function, or the constructors of named passes."""
    words = dialect_of(workload).code(False)
    if all(step.run is None for step in subject.steps):
        yield from pass_list(list(subject.steps), ANY_LEVEL, words)
        yield "again = tvm.transform.Sequential(passes)(changed)"
        return
    for step in subject.steps:
        source = _source(step.run)
        yield source or f"# put your pass here, as a function or a Pass object: {comment(step.name)}"
    names = [getattr(step.run, "__name__", step.name.strip("<>")) for step in subject.steps]
    for given, result in (("mod", "changed"), ("changed", "again")):
        call = given
        for name in names:
            call = f"{name}({call})"
        yield f"{result} = {call}"


def _source(run: object) -> str:
    """Return the source of a function, without its decorators and what it uses; empty if Python does not have it."""
    try:
        text = textwrap.dedent(inspect.getsource(run)) if inspect.isfunction(run) else ""
        (found,) = ast.parse(text).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return ""
    return "\n".join(text.splitlines()[found.lineno - 1 :]) if isinstance(found, ast.FunctionDef) else ""


def _shown(law: str, workload: Workload) -> Iterator[str]:
    """Yield the lines that show the broken law."""
    if law == OUTPUTS:
        how = context_text(Config(opt_level=0, disabled=AS_IS))
        yield f"expected, found = outputs(mod, {how}), outputs(changed, {how})"
        yield from comparison(workload)
        return
    yield {
        INPUT: "print(mod)  # not the program above any more",
        FLAW: dialect_of(workload).code(False).script.check,
        TYPES: "print(changed)  # its types of inputs and outputs are others than those of mod",
        NEIGHBOUR: "print(changed)  # a neighbouring pass of the pipeline goes wrong on it",
        AGAIN: "tvm.ir.assert_structural_equal(changed, again)",
    }.get(law, "print(changed)")
