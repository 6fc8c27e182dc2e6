"""One kernel's schedule, primitive by primitive: TVM replays the trace, and each state is read from TVM's own module.

Nothing here knows what a primitive does.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tvm

from workbench.dialects.compiler.built import SOURCES
from workbench.dialects.compiler.cuda_code import architecture, compiled_where_it_runs, ptx
from workbench.dialects.compiler.results import ScheduleStep
from workbench.dialects.compiler.running import evaluated
from workbench.dialects.compiler.tuning import INTRINSICS, library
from workbench.dialects.compiler.tvm_target import code_forms, make_target
from workbench.dialects.relax.compiler.decisions import Edits, decision_of, edited, whole
from workbench.dialects.relax.compiler.kernel_inputs import arguments, buffers_of, concrete, symbols
from workbench.dialects.relax.compiler.loops import Known, state_of
from workbench.dialects.relax.compiler.scheduled import ScheduledKernel, new_schedule, said
from workbench.dialects.relax.kinds import prim_funcs
from workbench.dialects.trust import ask
from workbench.errors import MeasureError, UnknownName

SEED = 7
SIZE = 33
"of a symbolic dimension without a size"
LARGEST_INDEX = 5


class Replay:
    """A kernel's schedule as TVM replayed it, with other decisions where they were changed."""

    def __init__(self, kernel: ScheduledKernel, target: str, edits: Edits) -> None:
        self.kernel, self.target = kernel, target
        self.error = ""
        trace = edited(kernel.trace, edits)
        texts = list(trace.as_python())
        schedule = new_schedule(kernel.before)
        known: Known = {}
        limits = dict(make_target(target).attrs)
        self.states = [state_of(schedule.mod, known, limits)]
        "each once"
        self.steps: list[ScheduleStep] = []
        printed, pure = _printed(trace, texts), [bool(each.kind.is_pure) for each in trace.insts]

        def note() -> None:
            """Read the state after the last step."""
            if self.steps and not self.steps[-1].pure:
                state = state_of(schedule.mod, known, limits)
                self.states += [state] if state.script != self.states[-1].script else []
                self.steps[-1] = replace(self.steps[-1], state=len(self.states) - 1)

        def at(instruction: Any, inputs: Any, attributes: Any, decision: Any) -> Any:
            # TVM calls this before each instruction: the module is that after the one before
            note()
            pairs = zip(instruction.inputs, inputs, strict=True)
            names = {printed[hash(old)]: _node_name(schedule, new) for old, new in pairs if hash(old) in printed}
            decided, place = decision_of(schedule, instruction, inputs, attributes, decision), len(self.steps)
            self.steps.append(ScheduleStep(texts[place], len(self.states) - 1, pure[place], "", decided, names))
            return decision

        try:
            trace.apply_to_schedule(schedule, False, at)
            note()
        except Exception as error:  # noqa: BLE001  a step that fails is shown
            self.error = said(error)
            self.steps[-1:] = [replace(each, error=self.error) for each in self.steps[-1:]]
        self.module, self.trace = schedule.mod, schedule.trace
        last, ran = len(self.states) - 1, len(self.steps)
        rest = zip(texts[ran:], pure[ran:], strict=True)
        self.steps += [ScheduleStep(text, last, each, "not run: a step before it failed") for text, each in rest]
        if kernel.failed[0] and not self.error:
            self.steps.append(ScheduleStep(kernel.failed[0], last, False, kernel.failed[1]))

    def code(self, form: str, module: Any = None) -> str:
        """Return the generated code of the scheduled kernel, or of a module instead. Raises MeasureError: it does not compile."""
        if form not in code_forms(self.target):
            raise UnknownName("form of code", form, code_forms(self.target))
        if form == "tir":
            return self.module.script()
        built = self._built(module or self.module)
        kind, wanted = ("llvm", SOURCES[form]) if form in SOURCES else ("cuda" if form == "ptx" else form, "")
        for part in [built, *built.imports]:
            if part.kind == kind:
                code = str(part.inspect_source(wanted))
                return ptx(code, architecture(self.target)).decode() if form == "ptx" else code
        raise MeasureError(f"a build for {self.target} has no code in the form {form}")

    def python(self) -> str:
        """Return a script that schedules the kernel with TVM alone. Raises MeasureError: TVM does not print it as Python."""
        printed = tvm.IRModule({"main": self.kernel.before}).script()
        module = re.sub(r"^# (?=from tvm\b)", "", printed, flags=re.MULTILINE)
        lines = self.trace.as_python()
        refuse_other_code(module, lines)
        imported = (
            [f"import {INTRINSICS}  # registers what the schedule names"] if "sch.tensorize(" in str(lines) else []
        )
        head = ["import tvm", *imported, module, "", "", "sch = tvm.s_tir.Schedule(Module)"]
        return "\n".join([*head, *lines, "scheduled = sch.mod\n"])

    def runs(self, sizes: Mapping[str, int], budget: float) -> list[tuple[list[np.ndarray], list[float]]]:
        """Run the kernel without its schedule and with it on this CPU, with random inputs.

        `sizes`: of symbolic dimensions. Returns for both the values of the arguments, and seconds of a run, measured in about `budget`
        seconds. Raises MeasureError: one of the two does not compile.
        """
        function = self.kernel.before
        known = [str(each.name) for each in symbols(function)]
        for name in sizes:
            if name not in known:
                raise UnknownName("symbolic dimension", name, known)

        def size(variable: Any) -> int:
            return sizes.get(str(variable.name), SIZE)

        extents = [
            concrete(each, size) for buffer in buffers_of(function)[:-1] if buffer is not None for each in buffer.shape
        ]
        arrays = arguments(function, size, SEED, min([LARGEST_INDEX, *extents]))
        found = []
        for module in (tvm.IRModule({"main": function}), self.module):
            built = self._built(module)
            given = [tvm.runtime.tensor(each) if isinstance(each, np.ndarray) else each for each in arrays]
            built["main"](*given)
            values = [np.array(each.numpy()) for each in given if not isinstance(each, int)]
            found.append((values, evaluated(built, "main", given, tvm.cpu(0), budget)))
        return found

    def _built(self, module: Any) -> Any:
        ask()
        made = make_target(self.target)
        (function,) = prim_funcs(module).values()
        try:
            with made, compiled_where_it_runs(self.target):
                return library(tvm.IRModule({"main": function.with_attr("global_symbol", "main")}), made)
        except MemoryError:
            raise
        except Exception as error:
            raise MeasureError(f"TVM does not compile it: {said(error)}") from error


def _printed(trace: Any, texts: Sequence[str]) -> dict[int, str]:
    """Return the names that TVM prints for the variables of a trace."""
    found: dict[int, str] = {}
    for instruction, text in zip(trace.insts, texts, strict=True):
        outputs = text.partition(" = ")[0].split(", ") if len(instruction.outputs) else []
        found |= {hash(each): name.strip(" ,") for each, name in zip(instruction.outputs, outputs, strict=True)}
    return found


def _node_name(schedule: Any, variable: Any) -> str:
    """Return the present name of the loop or block of a variable; the number of an expression."""
    try:
        node = schedule.get(variable)
    except TypeError:
        # sample_compute_location may choose a place that is not a loop
        return "no loop"
    return str(getattr(node, "name_hint", "") or getattr(getattr(node, "loop_var", None), "name", "") or whole(node))


_PLAIN = {"range", "len", "int", "float", "min", "max"}


def refuse_other_code(module: str, lines: Iterable[str]) -> None:
    """Refuse Python with more than TVMScript and primitives in it: TVM does not quote all names that it prints."""
    try:
        trees = [ast.parse(module), *(ast.parse(line) for line in lines)]
    except SyntaxError as error:
        raise MeasureError(f"TVM prints this schedule as Python that cannot be read: {error.msg}") from None
    for tree in trees[1:]:
        call = getattr(tree.body[0], "value", None) if len(tree.body) == 1 else None
        named = isinstance(call, ast.Call) and ast.unparse(call.func).startswith("sch.")
        if not named or not isinstance(tree.body[0], (ast.Expr, ast.Assign)):
            raise MeasureError("TVM prints a step of this schedule as more than one call")
    for node in (each for tree in trees for each in ast.walk(tree)):
        name = getattr(node, "id", "") or getattr(node, "attr", "")
        called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if called in set(dir(builtins)) - _PLAIN or name.startswith("__"):
            name = called or name
            raise MeasureError(f"the printed schedule names {name}, which no schedule needs")
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("tvm."):
            raise MeasureError(f"the printed schedule imports {node.module}")
