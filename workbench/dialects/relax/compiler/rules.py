"""The rules of dlight, watched while they run: which schedules a kernel, and the test at which each of the others gave up.

TVM's own rules run. Nothing here knows what is in them: a place in a rule is the text of its source.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import linecache
import opcode
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import tvm

from workbench.analysis.units import linked
from workbench.dialects.base import Workload, refuse_without_main
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.results import Attempt, FallbackKernel, Fallbacks, KernelSchedule, Place
from workbench.dialects.compiler.tuning import key_of, load_intrinsics, noting, opened
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relax.compiler.kernels import CALLS, FUSED, SCHEDULED, Watch, pipeline, program_of_module
from workbench.dialects.relax.entries import run_alone
from workbench.dialects.relax.graph import build_graph
from workbench.dialects.relax.kinds import blocks_of, prim_funcs, reduces
from workbench.dialects.scheduling import require_database
from workbench.errors import MeasureError, UnknownName
from workbench.graph.model import Graph
from workbench.wording import one_line

# it was tvm.dlight before TVM had s_tir
DLIGHT = "tvm.s_tir.dlight" if find_spec("tvm.s_tir") else "tvm.dlight"
SHOWN = 100
"characters of a value"
_RETURNS = {opcode.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in opcode.opmap}


@tvm.ir.instrument.pass_instrument
class Rules:
    """Watches the rules that a pipeline applies, as an instrument of its PassContext and inside of `watching`.

    `on`: whether to go on after a rule that raised, to know which of the next rules would take the kernel. TVM's own pipeline ends there.
    """

    def __init__(self, on: bool = False) -> None:
        self.on = on
        self.functions: dict[str, Any] = {}
        "kernels, as they were before a rule was applied; the pass changes its module in place"
        self.attempts: dict[str, tuple[Attempt, ...]] = {}
        "name of a kernel -> the rules that were tried, in order"
        self.taken: dict[str, Any] = {}
        "name of a kernel -> its schedule"

    def run_before_pass(self, module: tvm.IRModule, info: Any) -> None:
        if str(info.name) == SCHEDULED:
            self.functions |= prim_funcs(module)

    @contextmanager
    def watching(self) -> Iterator[None]:
        transform: Any = importlib.import_module(f"{DLIGHT}.base.transform")
        own = transform._apply_rules  # noqa: SLF001  the pass keeps neither rules nor traces

        def apply(function: Any, target: Any, rules: Sequence[Any], tunable: bool) -> Any:
            name = next(name for name, each in self.functions.items() if each.same_as(function))
            taken = self.apply(name, function, target, rules, tunable)
            return taken if taken is None or isinstance(taken, list) else [taken]

        transform._apply_rules = apply  # noqa: SLF001
        try:
            yield
        finally:
            transform._apply_rules = own  # noqa: SLF001

    def apply(self, name: str, function: Any, target: Any, rules: Sequence[Any], tunable: bool = False) -> Any:
        """Try rules until one takes the kernel; return its schedule."""
        tried, taken = [], None
        for rule in rules:
            attempt, taken = attempted(rule, function, target, tunable, self.on)
            tried.append(attempt)
            if taken is not None:
                self.taken[name] = taken[0] if isinstance(taken, list) else taken
                break
        self.attempts[name] = (*self.attempts.get(name, ()), *tried)
        return taken


def schedules(
    workload: Workload, target: str, config: Mapping[str, Any], rules: Sequence[Any] = ()
) -> tuple[Graph, tuple[KernelSchedule, ...]]:
    """Return a build's kernels, each with the rules that were tried for its schedule, and their graph.

    `rules`: dlight's names (`Matmul`, `gpu.GEMV`) or rules; the pipeline's own if there are none.
    """
    made = make_target(target)
    watch, functions, watched, looked = run_rules(workload, made, config, rules)
    before = {name: watched.functions.get(name, function) for name, function in functions.items()}
    records = list(opened(config["schedules"]).get_all_tuning_records()) if looked else []
    graph = build_graph(run_alone(watch.first(FUSED, CALLS), workload), workload.name)
    rows = program_of_module(run_alone(watch.first(CALLS), workload), workload.name).rows(None)
    nodes: dict[str, list[tuple[int, ...]]] = {}
    for row, unit in zip(rows, linked(graph, rows), strict=True):
        if row["function"] in functions:
            nodes.setdefault(str(row["function"]), []).append(unit.nodes if unit else ())
    return graph, tuple(
        KernelSchedule(
            name,
            tuple(sorted({node for call in calls for node in call})),
            len(calls),
            reduces(before[name]),
            is_scheduled(before[name]),
            _record(name, looked, records, made),
            watched.attempts.get(name, ()),
        )
        for name, calls in nodes.items()
    )


def run_rules(
    workload: Workload, target: tvm.target.Target, config: Mapping[str, Any], rules: Sequence[Any] = ()
) -> tuple[Watch, dict[str, Any], Rules, dict[str, Any]]:
    """Run TVM's pipeline until the kernels have their schedules.

    Returns its modules, the kernels, the rules that were tried, and the modules that were looked up in a database.
    """
    refuse_without_main(workload, MeasureError)
    given = [rule_of(each, target) if isinstance(each, str) else each for each in rules]
    watch, watched, looked = Watch(stop=CALLS, schedules=not given), Rules(on=True), dict[str, Any]()
    with ExitStack() as around:
        if config.get("schedules"):
            require_database(str(config["schedules"]))
            load_intrinsics()
            around.enter_context(noting(opened(config["schedules"]), looked))
        for each in (target, pass_context(config, [watch, watched]), watched.watching()):
            around.enter_context(each)
        pipeline(target, config)(workload.module)
        functions = prim_funcs(watch.first(CALLS))
        for name, function in functions.items() if given else ():
            if not is_scheduled(function):
                watched.apply(name, function, target, given)
    return watch, functions, watched, looked


def _record(name: str, looked: Mapping[str, Any], records: Sequence[Any], target: tvm.target.Target) -> str:
    """Return what there is to say of a kernel's record, or of that of the most similar kernel; empty without one."""
    if name not in looked:
        return ""
    (own,), ours = prim_funcs(looked[name]).values(), key_of(looked[name])
    for record in records:
        if key_of(record.workload.mod) == ours:
            # TVM looks up the kernel alone
            return "" if _kind(record.target) == _kind(target) else f"tuned for {record.target}"
    near = [function for record in records for function in prim_funcs(record.workload.mod).values()]
    for other in near:
        if _blocks(other) == _blocks(own):
            return f"the closest record is of {_tensors(other)}, and this kernel is of {_tensors(own)}"
    return ""


def _kind(target: tvm.target.Target) -> tuple[object, ...]:
    """Return what decides a target's code: MetaSchedule adds a number of cores to it."""
    return target.kind.name, *(str(target.attrs.get(each, "")) for each in ("mcpu", "mtriple", "arch"))


def _blocks(function: Any) -> list[str]:
    """Return the names of a kernel's blocks, which LegalizeOps gives by operator."""
    return sorted(str(block.name_hint) for block in blocks_of(function.body))


def _tensors(function: Any) -> str:
    # a parameter has the type of its buffer since TVM 0.27
    mapped = getattr(function, "buffer_map", {})
    buffers: list[Any] = [mapped[each] if each in mapped else getattr(each, "ty", None) for each in function.params]
    return ", ".join(
        f"{each.dtype}[{', '.join(str(getattr(size, 'value', size)) for size in each.shape)}]"
        for each in buffers
        if hasattr(each, "shape")
    )


def fallbacks(workload: Workload, target: str, config: Mapping[str, Any], log: Sequence[str] = ()) -> Fallbacks:  # noqa: ARG001  Relax has no AutoTVM
    """Return the kernels with a reduction that no pass scheduled, or that dlight's fallback rule did.

    For other kernels TVM has nothing better: the fallback rule is made for them, and a CPU's code generator vectorizes their loops.
    """
    graph, kernels = schedules(workload, target, config)
    found = (
        FallbackKernel("rule" if kernel.rule else "unscheduled", kernel.name, kernel.nodes)
        for kernel in kernels
        if kernel.reduces and not kernel.recorded and kernel.rule in ("", "Fallback")
    )
    return Fallbacks(graph, tuple(found))


def is_scheduled(function: Any) -> bool:
    """Return whether a kernel is marked as scheduled; `tir.is_scheduled` before TVM 0.27."""
    return any(str(key).endswith(".is_scheduled") and bool(value) for key, value in (function.attrs or {}).items())


def rule_of(name: str, target: tvm.target.Target) -> Any:
    """Return the rule of dlight with a name, `GEMV` or `gpu.GEMV`; raises UnknownName."""
    folder, _, rule = name.rpartition(".")
    folder = folder or ("cpu" if target.kind.name in ("llvm", "c") else "gpu")
    base = importlib.import_module(f"{DLIGHT}.base").ScheduleRule
    found = vars(importlib.import_module(f"{DLIGHT}.{folder}")) if folder in ("cpu", "gpu", "adreno") else {}
    known = {each: kind for each, kind in found.items() if isinstance(kind, type) and issubclass(kind, base)}
    if rule not in known:
        raise UnknownName("rule of dlight", name, sorted(known))
    return known[rule]()


def attempted(rule: Any, function: Any, target: Any, tunable: bool, on: bool = True) -> tuple[Attempt, Any]:
    """Apply one rule; return what came of it, and its schedule or list of schedules, None if it gave none.

    `on`: whether an error of the rule is an outcome, and the places are looked for; a build wants the name alone.
    """
    name = type(rule).__name__
    watch = _Watch((str(Path(sys.modules[DLIGHT].__file__ or "").parent), _file_of(type(rule))))
    try:
        with watch.on() if on else nullcontext():
            taken = rule.apply(function, target, tunable)
    except Exception as error:
        if not on:
            raise
        said = str(error).strip() or "no message"
        return Attempt(name, "raised", watch.raised_at(error), error=f"{type(error).__name__}: {said}"), None
    if taken is None:
        return Attempt(name, "declined", watch.declined_at()), None
    first = taken[0] if isinstance(taken, list) else taken
    return Attempt(name, "took", trace=str(first.trace)), taken


def _file_of(rule: type) -> str:
    return getattr(sys.modules.get(rule.__module__), "__file__", None) or ""


@dataclass
class _Call:
    """A call of a function in a file that is watched."""

    frame: FrameType
    refused: list[tuple[str, tuple[Place, ...]]] = field(default_factory=list)
    "the functions that it called and that returned None or False, with the places that explain it"
    caught: tuple[int, str] = (0, "")
    "the line and the text of the last error that came to it"


class _Watch:
    """Sees the functions of some files return. `files`: what the names of their files begin with."""

    def __init__(self, files: tuple[str, ...]) -> None:
        self.files = tuple(filter(None, files))
        self.open = [_Call(sys._getframe())]  # noqa: SLF001

    @contextmanager
    def on(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(before)

    def declined_at(self) -> tuple[Place, ...]:
        """The test that the rule ended at, and those of the helpers that it asked."""
        refused = self.open[0].refused
        return refused[-1][1] if refused else ()

    def raised_at(self, error: BaseException) -> tuple[Place, ...]:
        """The innermost line of the rule that an error came through."""
        at, found = error.__traceback__, ()
        while at is not None:
            code = at.tb_frame.f_code
            if code.co_filename.startswith(self.files):
                text = linecache.getline(code.co_filename, at.tb_lineno).strip()
                tests = [each.test for each in _path(_function(code), at.tb_lineno) if isinstance(each, ast.Assert)]
                values = {name: value for test in tests for name, value in _values(test, at.tb_frame).items()}
                found = (Place(_name(code), code.co_filename, at.tb_lineno, text, values),)
            at = at.tb_next
        return found

    def _called(self, frame: FrameType, event: str, _argument: Any) -> Callable[..., Any] | None:
        if event != "call" or not frame.f_code.co_filename.startswith(self.files):
            return None
        frame.f_trace_lines = False
        self.open.append(_Call(frame))
        return self._returned

    def _returned(self, frame: FrameType, event: str, value: Any) -> Callable[..., Any]:
        if self.open[-1].frame is not frame:
            return self._returned
        if event == "exception":
            kind, said, _ = value
            self.open[-1].caught = frame.f_lineno, f"{kind.__name__}: {said}" if str(said) else kind.__name__
        elif event == "return":
            call, caller = self.open.pop(), self.open[-1]
            # an error that passes through a frame ends it as well
            returned = frame.f_code.co_code[frame.f_lasti] in _RETURNS
            if frame.f_code.co_name.startswith("<"):
                caller.refused += call.refused
            elif returned and (value is None or value is False):
                caller.refused.append((frame.f_code.co_name, _explained(call)))
        return self._returned


def _explained(call: _Call) -> tuple[Place, ...]:
    """The test at which a function returned, then that of the helper whose result the test read."""
    frame, code, line = call.frame, call.frame.f_code, call.frame.f_lineno
    path = _path(_function(code), line)
    if isinstance(path[-2:][0] if path else None, ast.ExceptHandler):
        # the statement that failed says why
        line, said = call.caught
        at = _path(_function(code), line)[-1:]
        tests = [(each.test, False) for each in at if isinstance(each, ast.Assert)]
        text = f"{linecache.getline(code.co_filename, line).strip()} ({one_line(said, SHOWN)})"
    else:
        tests = _tests(path)
        parts = [f"not ({ast.unparse(each)})" if otherwise else ast.unparse(each) for each, otherwise in tests]
        text = " and ".join(parts) or linecache.getline(code.co_filename, line).strip()
    values = {name: value for each, _ in tests for name, value in _values(each, frame).items()}
    asked = {name for each, _ in tests for name in _asked(_function(code), each, line)}
    helper = next((places for name, places in reversed(call.refused) if name in asked), ())
    return (Place(_name(code), code.co_filename, frame.f_lineno, text, values), *helper)


def _name(code: CodeType) -> str:
    return getattr(code, "co_qualname", code.co_name)


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse("".join(linecache.getlines(file)))


@cache
def _function(code: CodeType) -> ast.AST:
    """The definition of a function; an empty module if its source cannot be read."""
    try:
        for node in ast.walk(_tree(code.co_filename)):
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                if first == code.co_firstlineno:
                    return node
    except (OSError, SyntaxError):
        pass
    return ast.Module([], [])


def _path(function: ast.AST, line: int) -> list[ast.stmt | ast.ExceptHandler]:
    """The statements and handlers of errors around a line, from the outermost to the innermost."""
    found: list[ast.stmt | ast.ExceptHandler] = []
    inside = function
    while True:
        for each in ast.iter_child_nodes(inside):
            if isinstance(each, (ast.stmt, ast.ExceptHandler)) and each.lineno <= line <= (each.end_lineno or line):
                found.append(each)
                inside = each
                break
        else:
            return found


def _tests(path: Sequence[ast.AST]) -> list[tuple[ast.expr, bool]]:
    """The tests that lead to a return statement, and whether each is false there; or the expression that it returns."""
    if not path or not isinstance(path[-1], ast.Return):
        return []
    value = path[-1].value
    if not (value is None or isinstance(value, ast.Constant)):
        return [(value, False)]
    found: list[tuple[ast.expr, bool]] = []
    for outer, inner in zip(path[-2::-1], path[:0:-1], strict=False):
        if not isinstance(outer, ast.If):
            break
        otherwise = inner in outer.orelse
        found.insert(0, (outer.test, otherwise))
        # a test that is true is a reason; that it is reached by an else needs the tests before it
        if not otherwise:
            break
    return found


def _asked(function: ast.AST, test: ast.expr, line: int) -> set[str]:
    """The names of the functions that a test calls, or that gave the values which it reads."""
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    asked = _calls(test)
    given: dict[str, set[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, (ast.Assign, ast.NamedExpr)) and node.lineno < line:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in (each for one in targets for each in ast.walk(one) if isinstance(each, ast.Name)):
                if target.id in names:
                    given[target.id] = _calls(node.value)
    return asked.union(*given.values())


def _calls(expression: ast.expr) -> set[str]:
    called = [node.func for node in ast.walk(expression) if isinstance(node, ast.Call)]
    return {
        each.id if isinstance(each, ast.Name) else each.attr
        for each in called
        if isinstance(each, (ast.Name, ast.Attribute))
    }


def _values(test: ast.expr, frame: FrameType) -> Mapping[str, str]:
    """The values of what a test reads: names, attributes, elements and lengths. Nothing else is evaluated."""
    found: dict[str, str] = {}

    def visit(node: ast.AST) -> None:
        function = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if _is_read(node) or (function == "len" and isinstance(node, ast.Call) and all(map(_is_read, node.args))):
            with suppress(Exception):  # a value that cannot be read is left out
                compiled = compile(ast.Expression(node), "<test>", "eval")  # type: ignore[arg-type]
                value = eval(compiled, frame.f_globals, frame.f_locals)
                root = next(each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id != "len")
                of = {**vars(builtins), **frame.f_globals, **frame.f_locals}[root]
                if root != "self" and not isinstance(of, _SAY_NOTHING):
                    found[ast.unparse(node)] = one_line(_text(value), SHOWN)
        elif not isinstance(node, ast.Call) or function in dir(builtins):
            # what a helper is given says little; its own test is shown
            for child in ast.iter_child_nodes(node):
                visit(child)
        elif isinstance(node.func, ast.Attribute):
            visit(node.func.value)

    visit(test)
    return found


_SAY_NOTHING = (
    type,
    ModuleType,
    BuiltinFunctionType,
    FunctionType,
    tvm.s_tir.Schedule if find_spec("tvm.s_tir") else tvm.tir.Schedule,
)


def _text(value: object) -> str:
    """A value as text; a set in an order that is the same in every process."""
    return f"{{{', '.join(sorted(map(str, value)))}}}" if isinstance(value, (set, frozenset)) else str(value)


def _is_read(node: ast.AST) -> bool:
    """Return whether an expression only reads a name, an attribute or an element."""
    if isinstance(node, ast.Subscript):
        return _is_read(node.value) and isinstance(node.slice, (ast.Constant, ast.Name, ast.UnaryOp))
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_read(node.value))
