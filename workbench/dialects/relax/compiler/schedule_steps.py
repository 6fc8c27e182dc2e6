"""One kernel's schedule, primitive by primitive: TVM replays the trace, and each state is read from TVM's own module.

A trace comes from a rule, from a record of a database, or from the caller. Nothing here knows what a primitive does.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import json
import math
import re
import traceback
import weakref
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import tvm

from workbench.dialects.base import Workload
from workbench.dialects.compiler.built import SOURCES, Edits, Scheduled
from workbench.dialects.compiler.cuda_code import architecture, compiled_where_it_runs, ptx
from workbench.dialects.compiler.inputs import random_values
from workbench.dialects.compiler.results import Decision, LoopRow, ScheduleState, ScheduleStep
from workbench.dialects.compiler.running import evaluated
from workbench.dialects.compiler.tuning import INTRINSICS, library, load_intrinsics, opened, tir
from workbench.dialects.compiler.tvm_target import code_forms, make_target
from workbench.dialects.relax.compiler.rules import Rules, run_rules
from workbench.dialects.relax.kinds import prim_funcs
from workbench.dialects.trust import ask
from workbench.errors import MeasureError, UnknownName, reason_of, sentence

_sym: Any = tvm.sym if hasattr(tvm, "sym") else getattr(tvm, "arith", None)
_KINDS = {1: "parallel", 2: "vectorized", 3: "unrolled"}
"tirx.ForKind"
MOST = 200
"choices of a decision: those nearest to the one it has"
_WIDTH = re.compile(r"T\.u?int(?:32|64)\((-?\d+)\)")
SEED = 7

Known = dict[Hashable, tuple[list[Any], object]]
"what blocks touch, which is the same in states that share them"
Factors = tuple["int | None", ...]


@dataclass
class ScheduledKernel(Scheduled):
    """A kernel before its schedule, and the trace of that."""

    function: Any
    trace: Any
    origin: str
    "where the trace comes from, in words"
    target: str
    failed: tuple[str, str] = ("", "")
    "the text of a step after the trace that failed, and its error"
    module: Any = field(init=False, default=None)
    "after the last step that was replayed"
    replayed: Any = field(init=False, default=None)
    "the trace of that module's schedule"
    error: str = field(init=False, default="")

    def by(self, schedule: Any) -> tuple[Any, tuple[str, str]]:
        """Call a function with a Schedule of the kernel; return its trace, and the line that failed."""
        made, failed = tir.Schedule(tvm.IRModule({"main": self.function})), ("", "")
        try:
            made = schedule(made) or made
        except Exception as error:  # noqa: BLE001  a step that fails is shown
            frames = traceback.extract_tb(error.__traceback__)
            code = getattr(schedule, "__code__", None)
            own = [each for each in frames if code and each.filename == code.co_filename]
            failed = ((own or frames)[-1].line or "", said(error))
        trace = made if isinstance(made, tir.schedule.Trace) else made.trace
        # TVM leaves its own numbers in it
        return json.loads(json.dumps(trace.as_json(), default=lambda each: each.value)), failed

    def given(self, trace: Any, failed: tuple[str, str]) -> ScheduledKernel:
        """Return the kernel with a trace of the caller's."""
        if "Tensorize" in str(trace):
            load_intrinsics()
        schedule = tir.Schedule(tvm.IRModule({"main": self.function}))
        tir.schedule.Trace.apply_json_to_schedule(trace, schedule)
        return ScheduledKernel(self.function, schedule.trace, "a function of yours", self.target, failed)

    def steps(self, edits: Edits) -> tuple[list[ScheduleStep], list[ScheduleState]]:
        """Replay the trace with other decisions; return its steps, and the states that they led to, each once."""
        trace = _edited(self.trace, edits)
        texts = list(trace.as_python())
        schedule = tir.Schedule(tvm.IRModule({"main": self.function}))
        known: Known = {}
        limits = dict(make_target(self.target).attrs)
        states = [_state(schedule.mod, known, limits)]
        places: list[int] = []
        decisions: list[Decision | None] = []
        names: list[dict[str, str]] = []
        printed = _printed(trace, texts)

        def at(instruction: Any, inputs: Any, attributes: Any, decision: Any) -> Any:
            # TVM calls this before each instruction: the module is that after the one before
            if places:
                _note(schedule.mod, states, trace.insts[len(places) - 1], known, limits)
            places.append(len(states) - 1)
            pairs = zip(instruction.inputs, inputs, strict=True)
            names.append({printed[hash(old)]: _node_name(schedule, new) for old, new in pairs if hash(old) in printed})
            decisions.append(_decision(schedule, instruction, inputs, attributes, decision))
            return decision

        self.error = ""
        try:
            trace.apply_to_schedule(schedule, False, at)
            if places:
                _note(schedule.mod, states, trace.insts[-1], known, limits)
        except Exception as error:  # noqa: BLE001  a step that fails is shown
            self.error = said(error)
        self.module, self.replayed = schedule.mod, schedule.trace
        found = []
        for place, text in enumerate(texts):
            ran = place < len(places)
            failed = self.error and place == len(places) - 1
            after = places[place + 1] if place + 1 < len(places) else len(states) - 1
            error = self.error if failed else "" if ran else "not run: a step before it failed"
            pure = bool(trace.insts[place].kind.is_pure)
            decision, known_names = (decisions[place], names[place]) if ran else (None, {})
            found.append(ScheduleStep(text, after, pure, error, decision, known_names))
        if self.failed[0] and not self.error:
            found.append(ScheduleStep(self.failed[0], len(states) - 1, False, self.failed[1]))
        return found, states

    def code(self, form: str) -> str:
        """Return the generated code of the scheduled kernel. Raises MeasureError: it does not compile."""
        if form not in code_forms(self.target):
            raise UnknownName("form of code", form, code_forms(self.target))
        if form == "tir":
            return self.module.script()
        built = self._built(self.module)
        kind, wanted = ("llvm", SOURCES[form]) if form in SOURCES else ("cuda" if form == "ptx" else form, "")
        for part in [built, *built.imports]:
            if part.kind == kind:
                code = str(part.inspect_source(wanted))
                return ptx(code, architecture(self.target)).decode() if form == "ptx" else code
        raise MeasureError(f"a build for {self.target} has no code in the form {form}")

    def python(self) -> str:
        """Return a script that schedules the kernel with TVM alone. Raises MeasureError: TVM does not print it as Python."""
        printed = tvm.IRModule({"main": self.function}).script()
        module = re.sub(r"^# (?=from tvm\b)", "", printed, flags=re.MULTILINE)
        lines = self.replayed.as_python()
        _refuse_other_code(module, lines)
        imported = (
            [f"import {INTRINSICS}  # registers what the schedule names"] if "sch.tensorize(" in str(lines) else []
        )
        head = ["import tvm", *imported, module, "", "", f"sch = {tir.__name__}.Schedule(Module)"]
        return "\n".join([*head, *lines, "scheduled = sch.mod\n"])

    def runs(self, sizes: Mapping[str, int], budget: float) -> list[tuple[list[np.ndarray], list[float]]]:
        """Run the kernel without its schedule and with it on this CPU; return the values of its arguments, and seconds."""
        found, arrays = [], list(_arguments(self.function, sizes))
        for module in (tvm.IRModule({"main": self.function}), self.module):
            built = self._built(module)
            given = [tvm.runtime.tensor(each) if isinstance(each, np.ndarray) else each for each in arrays]
            built["main"](*given)
            values = [np.array(each.numpy()) for each in given if not isinstance(each, int)]
            found.append((values, evaluated(built, "main", given, tvm.cpu(0), budget)))
        return found

    def _built(self, module: Any) -> Any:
        ask()
        made = make_target(self.target)
        try:
            with made, compiled_where_it_runs(self.target):
                return library(_named(module), made)
        except MemoryError:
            raise
        except Exception as error:
            raise MeasureError(f"TVM does not compile it: {said(error)}") from error


_KernelsByRequest = dict[tuple[str, str, str], dict[str, ScheduledKernel]]
_kernels: weakref.WeakKeyDictionary[Workload, _KernelsByRequest] = weakref.WeakKeyDictionary()


def scheduled_kernels(
    workload: Workload, target: str, config: Mapping[str, Any], rules: Sequence[Any] = ()
) -> Mapping[str, ScheduledKernel]:
    """Return the kernels of a build with the schedules that TVM's pipeline gives them, or the given rules; kept by workload.

    A workload whose module has kernels alone has these; only rules that are given schedule them.
    """
    key = (target, repr(sorted(config.items())), repr(rules))
    known = _kernels.setdefault(workload, {})
    if key not in known:
        known[key] = _made(workload, target, config, rules)
    return known[key]


def _made(
    workload: Workload, target: str, config: Mapping[str, Any], rules: Sequence[Any]
) -> dict[str, ScheduledKernel]:
    made = make_target(target)
    functions = prim_funcs(workload.module)
    if len(functions) == len(workload.module.functions):
        watched, looked = Rules(on=True), dict[str, Any]()
        for name, function in functions.items() if rules else ():
            with made:
                watched.apply(name, function, made, rules)
    else:
        functions, watched, looked = run_rules(workload, made, config, rules)[1:]
    found = {}
    for name, function in functions.items():
        before = watched.functions.get(name, function)
        taken = watched.taken.get(name)
        rule = next((each.rule for each in watched.attempts.get(name, ()) if each.outcome == "took"), "")
        raised = next((each.rule for each in watched.attempts.get(name, ()) if each.outcome == "raised"), "")
        ends = f", if {raised} did not raise before it and end the build" if raised else ""
        record = None
        if name in looked:
            record = opened(config["schedules"]).query_tuning_record(looked[name], made, name)
        if record is not None:
            (before,) = prim_funcs(looked[name]).values()
            found[name] = ScheduledKernel(before, record.trace, "a record of MetaSchedule", target)
        elif taken is not None:
            found[name] = ScheduledKernel(before, taken.trace, f"the rule {rule}{ends}", target)
        else:
            found[name] = ScheduledKernel(before, tir.schedule.Trace([], {}), "no schedule", target)
    return found


def said(error: Exception) -> str:
    """Return TVM's error: that of a schedule with its message alone, and not the program that it prints again."""
    text = str(error).strip()
    message = re.search(r"Error message: (.*)", text, re.DOTALL)
    return message[1].strip() if message else reason_of(error) or sentence(error)


def _printed(trace: Any, texts: Sequence[str]) -> dict[int, str]:
    """Return the names that TVM prints for the variables of a trace."""
    found: dict[int, str] = {}
    for instruction, text in zip(trace.insts, texts, strict=True):
        outputs = text.partition(" = ")[0].split(", ") if len(instruction.outputs) else []
        found |= {hash(each): name.strip(" ,") for each, name in zip(instruction.outputs, outputs, strict=True)}
    return found


def _node_name(schedule: Any, variable: Any) -> str:
    """Return the present name of the loop or block of a variable; the number of an expression."""
    node = schedule.get(variable)
    return str(getattr(node, "name_hint", "") or getattr(getattr(node, "loop_var", None), "name", "") or _whole(node))


# -- decisions


def _edited(trace: Any, edits: Edits) -> Any:
    """Return the trace with other decisions, and other factors of splits."""
    instructions, decisions = list(trace.insts), dict(trace.decisions.items())
    for place, value in edits.items():
        if not 0 <= place < len(instructions):
            raise MeasureError(f"there is no step {place}; the steps are 0 to {len(instructions) - 1}")
        old = instructions[place]
        kind = old.kind.name
        if kind == "Split":
            inputs = [old.inputs[0], *value]
            instructions[place] = tir.schedule.Instruction(old.kind, inputs, list(old.attrs), list(old.outputs))
        elif kind == "SampleCategorical":
            known = [_whole(each) for each in old.attrs[0]]
            if value[0] not in known:
                raise MeasureError(f"step {place} chooses among {', '.join(map(str, known))}, not {value[0]}")
            decisions[old] = known.index(value[0])
        elif kind in ("SamplePerfectTile", "SamplePartitionedTile"):
            before = [_whole(each) for each in decisions[old]]
            if len(value) != len(before) or math.prod(_or_one(value)) != math.prod(_or_one(before)):
                raise MeasureError(f"step {place} takes {len(before)} factors of {math.prod(_or_one(before))}")
            if kind == "SamplePerfectTile" and 0 < _whole(old.attrs[1]) < (value[-1] or 1):
                raise MeasureError(f"the last factor of step {place} is at most {_whole(old.attrs[1])}")
            decisions[old] = list(value)
        elif kind == "SampleComputeLocation":
            decisions[old] = value[0]
        else:
            raise MeasureError(f"step {place} decides nothing: {kind}")
    return tir.schedule.Trace(instructions, decisions)


def _decision(schedule: Any, instruction: Any, inputs: Any, attributes: Any, decision: Any) -> Decision | None:
    """Return what an instruction decides, and the other choices that it has."""
    kind = instruction.kind.name
    if kind == "Split":
        factors = [None if each is None else _whole(each) for each in inputs[1:]]
        if all(each is None or isinstance(each, int) for each in factors):
            return _choices(factors, _factors(factors, _whole(schedule.get(inputs[0]).extent)))
    elif kind in ("SamplePerfectTile", "SamplePartitionedTile") and decision is not None:
        factors = [_whole(each) for each in decision]
        innermost = _whole(attributes[1]) if kind == "SamplePerfectTile" else 0
        each = (tile for tile in _tiles(math.prod(factors), len(factors)) if not 0 < innermost < tile[-1])
        return _choices(factors, each)
    elif kind == "SampleCategorical" and decision is not None:
        known = [_whole(each) for each in attributes[0]]
        return _choices([known[_whole(decision)]], [(each,) for each in known])
    elif kind == "SampleComputeLocation" and decision is not None:
        return _choices([_whole(decision)], [(each,) for each in range(-2, max(_whole(decision), 6) + 1)])
    return None


def _choices(now: Sequence[int | None], others: Iterable[Factors]) -> Decision:
    def far(choice: Factors) -> float:
        pairs = zip(choice, now, strict=True)
        return sum(abs(math.log2(abs(a or 1)) - math.log2(abs(b or 1))) for a, b in pairs)

    found = sorted({tuple(now), *others}, key=far)
    return Decision(tuple(now), tuple(sorted(found[:MOST], key=lambda each: [part or 0 for part in each])))


def _factors(now: Sequence[int | None], extent: Any) -> Iterator[Factors]:
    """Yield factors of a split: those that divide the loop; for one that is left open also powers of two, which need a test."""
    free = [place for place, each in enumerate(now) if each is not None]
    if not isinstance(extent, int):
        extent = 1024
    if len(free) == len(now):
        yield from _tiles(extent, len(now))
        return
    for tile in _tiles(extent, len(free) + 1):
        found = list(now)
        for place, factor in zip(free, tile[1:], strict=True):
            found[place] = factor
        yield tuple(found)
    for power in range(extent.bit_length()) if len(free) == 1 else ():
        yield tuple(1 << power if each is not None else None for each in now)


def _tiles(extent: int, count: int) -> Iterator[tuple[int, ...]]:
    """Yield the lists of factors of a number."""
    if count == 1:
        yield (extent,)
        return
    for factor in (
        range(1, extent + 1) if extent < 4096 else itertools.accumulate(range(13), lambda a, _: 2 * a, initial=1)
    ):
        if extent % factor == 0:
            for rest in _tiles(extent // factor, count - 1):
                yield (*rest, factor)


def _or_one(factors: Iterable[int | None]) -> list[int]:
    return [each or 1 for each in factors]


def _whole(value: Any) -> Any:
    """Return a number of TVM's as an int; anything else as its text."""
    if isinstance(value, int):
        return value
    number = getattr(value, "value", None)
    return int(number) if isinstance(number, int) else _WIDTH.sub(r"\1", str(value))


# -- states


def _note(module: Any, states: list[ScheduleState], instruction: Any, known: Known, limits: Mapping[str, Any]) -> None:
    """Add the state after an instruction, if it is another one."""
    if not instruction.kind.is_pure:
        state = _state(module, known, limits)
        if state.script != states[-1].script:
            states.append(state)


def _state(module: Any, known: Known, limits: Mapping[str, Any]) -> ScheduleState:
    (function,) = prim_funcs(module).values()
    walk = _Walk(_compact(module), known)
    walk.visit(function.body, 0, ())
    # without the imports that TVM prints as comments
    bare = re.sub(r"^# from tvm\b.*\n+", "", module.script(), flags=re.MULTILINE)
    return ScheduleState(bare, tuple(walk.rows), walk.facts(limits))


def _compact(module: Any) -> dict[str, int | None]:
    """Return the bytes of the buffers of a kernel as TVM allocates them: the part that is in use at a time."""
    passes = [
        "LowerInitBlock",
        "PlanAndUpdateBufferAllocationLocation",
        "ConvertBlocksToOpaque",
        "CompactBufferAllocation",
    ]
    found: dict[str, int | None] = {}
    with suppress(Exception):  # a kernel between two steps may be one that TVM does not lower
        lowered = tvm.transform.Sequential([getattr(tir.transform, each)() for each in passes])(module)
        (function,) = prim_funcs(lowered).values()
        stack = [function.body]
        while stack:
            current = stack.pop()
            for buffer in getattr(current, "alloc_buffers", ()):
                found[str(buffer.name)] = _size(buffer)
            parts = [getattr(current, name, None) for name in ("block", "body", "then_case", "else_case")]
            stack += [each for each in [*parts, *(getattr(current, "seq", None) or ())] if each is not None]
    return found


def _size(buffer: Any) -> int | None:
    shape = [_whole(each) for each in buffer.shape]
    return math.prod(shape) * _bytes(buffer.dtype) if all(isinstance(each, int) for each in shape) else None


class _Walk:
    """Reads the loops, blocks and buffers of a kernel."""

    def __init__(self, compact: Mapping[str, int | None], known: Known) -> None:
        self.rows: list[LoopRow] = []
        self._compact, self._known = compact, known
        self.threads: list[dict[str, int]] = []
        "for each launch, the extents of its threads and blocks"
        self.scopes: dict[str, int] = {}
        self.vectors: set[str] = set()
        self._touched: dict[int, dict[int, int | None]] = {}
        "place of a loop's row -> buffer -> bytes"

    def visit(self, statement: Any, depth: int, loops: tuple[tuple[Any, int], ...]) -> None:
        kind = type(statement).__name__
        if kind == "For":
            self._loop(statement, depth, loops)
        elif kind.endswith("BlockRealize"):
            self._block(statement, depth, loops)
        else:
            for name in ("seq", "body", "then_case", "else_case"):
                part = getattr(statement, name, None)
                for each in part if name == "seq" and part is not None else [part] if part is not None else []:
                    self.visit(each, depth, loops)

    def _loop(self, loop: Any, depth: int, loops: tuple[tuple[Any, int], ...]) -> None:
        tag = str(loop.thread_binding.thread_tag) if loop.thread_binding is not None else ""
        extent = _whole(loop.extent)
        notes = [f"{key.removeprefix('pragma_')}={_whole(value)}" for key, value in dict(loop.annotations).items()]
        bound = tag or _KINDS.get(int(loop.kind), "")
        if tag:
            if not any(self.rows[place].bound.startswith(("block", "thread")) for _, place in loops):
                self.threads.append({})
            launch = self.threads[-1]
            launch[tag] = max(launch.get(tag, 0), extent if isinstance(extent, int) else 0)
        if bound == "vectorized":
            self.vectors.add(str(extent))
        place = len(self.rows)
        self.rows.append(
            LoopRow(depth, "loop", str(loop.loop_var.name), str(extent), " ".join([bound, *notes]).strip())
        )
        self.visit(loop.body, depth + 1, (*loops, (loop, place)))
        touched = self._touched.pop(place, {})
        counts = [each for each in touched.values() if each is not None]
        if len(counts) == len(touched):
            self.rows[place] = replace(self.rows[place], bytes=sum(counts))

    def _block(self, realize: Any, depth: int, loops: tuple[tuple[Any, int], ...]) -> None:
        block = realize.block
        root = str(block.name_hint) == "root" and not loops
        if not root:
            reads, writes = (
                ", ".join(dict.fromkeys(_name(each) for each in side)) for side in (block.reads, block.writes)
            )
            self.rows.append(
                LoopRow(depth, "block", str(block.name_hint), f"{reads} → {writes}" if reads else f"→ {writes}")
            )
            self._touch(realize, loops)
        for buffer in block.alloc_buffers:
            count, scope = self._compact.get(str(buffer.name), _size(buffer)), str(buffer.scope()) or "global"
            words = f"{buffer.dtype}[{', '.join(str(_whole(each)) for each in buffer.shape)}]"
            self.rows.append(LoopRow(depth + (not root), "buffer", str(buffer.name), words, scope, count))
            self.scopes[scope] = self.scopes.get(scope, 0) + (count or 0)
        self.visit(block.body, depth + (not root), loops)

    def _touch(self, realize: Any, loops: tuple[tuple[Any, int], ...]) -> None:
        """Note the bytes that a block reads and writes in one run of each loop around it."""
        key = (hash(realize), *((hash(loop.loop_var), str(loop.extent)) for loop, _ in loops))
        if key not in self._known:
            # the nodes stay alive with their places in memory
            self._known[key] = list(_touched(realize, [loop for loop, _ in loops])), (realize, loops)
        for (_, place), parts in zip(loops, self._known[key][0], strict=True):
            touched = self._touched.setdefault(place, {})
            for buffer, count in parts:
                known = touched.get(buffer, 0)
                touched[buffer] = None if count is None or known is None else max(known, count)

    def facts(self, limits: Mapping[str, Any]) -> dict[str, str]:
        """Return the facts of a state by name; `limits` are the target's attributes."""

        def allowed(numbers: Iterable[int], limit: str) -> str:
            found, most = list(dict.fromkeys(numbers)), limits.get(limit)
            said = "; ".join(f"{each:,}" if each else "symbolic" for each in found)
            return f"{said} (the target allows {int(most):,})" if most and max(found, default=0) > int(most) else said

        def launches(prefix: str) -> list[int]:
            return [math.prod(size for tag, size in each.items() if tag.startswith(prefix)) for each in self.threads]

        found = {}
        if self.threads:
            found["threads a block"] = allowed(launches("threadIdx"), "max_num_threads")
            found["blocks"] = allowed(launches("blockIdx"), "")
        for scope, count in self.scopes.items():
            if count and scope != "global":
                of, limit = ("thread", "") if scope == "local" else ("block", "max_shared_memory_per_block")
                found[f"{scope} bytes a {of}"] = allowed([count], limit)
        if self.vectors:
            found["vector width"] = ", ".join(sorted(self.vectors))
        return found


def _touched(realize: Any, loops: Sequence[Any]) -> Iterator[list[tuple[int, int | None]]]:
    """Yield for each loop around a block the bytes of each buffer that the block touches in one run of the loop."""
    block, true = realize.block, tvm.tirx.const(True, "bool") if hasattr(tvm, "tirx") else tvm.tir.const(True, "bool")
    analyzer = _sym.Analyzer()
    for depth in range(len(loops)):
        inner = {loop.loop_var: tvm.ir.Range.from_min_extent(loop.min, loop.extent) for loop in loops[depth:]}

        def sizes(region: Any, domain: Any) -> list[tuple[Any, Any]]:
            sets = _sym.estimate_region_upper_bound(region, domain, true, analyzer)
            return [(each.min_value, analyzer.simplify(each.max_value - each.min_value + 1)) for each in sets]

        values = [tvm.ir.Range.from_min_extent(value, value - value + 1) for value in realize.iter_values]
        pairs = zip(block.iter_vars, sizes(values, inner), strict=True)
        domain = {variable.var: tvm.ir.Range.from_min_extent(*size) for variable, size in pairs}
        found = []
        for region in [*block.reads, *block.writes]:
            buffer = _buffer(region)
            count: int | None = _bytes(buffer.dtype)
            for (_, extent), whole in zip(sizes(region.region, domain), buffer.shape, strict=True):
                # at most the whole buffer: the last tile may reach over its end
                parts = [each for each in (_whole(extent), _whole(whole)) if isinstance(each, int)]
                count = count * min(parts) if parts and count is not None else None
            found.append((hash(buffer), count))
        yield found


def _buffer(region: Any) -> Any:
    """Return the buffer of a region; the attribute has another name since TVM 0.27."""
    return region.buffer if hasattr(region, "buffer") else region.source


def _name(region: Any) -> str:
    return str(_buffer(region).name)


def _bytes(dtype: Any) -> int:
    bits = re.search(r"\d+", str(dtype))
    return max(1, int(bits[0]) // 8) if bits else 1


# -- runs and Python


def _named(module: Any) -> Any:
    """Return the module with its function as `main` of a library."""
    (function,) = prim_funcs(module).values()
    return tvm.IRModule({"main": function.with_attr("global_symbol", "main")})


def _arguments(function: Any, sizes: Mapping[str, int]) -> Iterator[Any]:
    """Yield the arguments of a kernel: arrays of random values, and numbers; what may be an index is within its table."""
    mapped = getattr(function, "buffer_map", {})
    known: dict[str, int] = {}
    buffers = [mapped[each] if each in mapped else getattr(each, "ty", None) for each in function.params]
    buffers = [each if hasattr(each, "shape") else None for each in buffers]

    def size(value: Any) -> int:
        number = _whole(value)
        if isinstance(number, int):
            return number
        if not hasattr(value, "name"):
            raise MeasureError(f"the size {number} of a tensor is not a number, so the kernel cannot be run")
        return known.setdefault(str(value.name), sizes.get(str(value.name), 33))

    shapes = [None if each is None else [size(extent) for extent in each.shape] for each in buffers]
    for place, (buffer, shape) in enumerate(zip(buffers, shapes, strict=True)):
        if buffer is None or shape is None:
            yield known.setdefault(str(function.params[place].name), 33)
            continue
        others = [extent for at, each in enumerate(shapes[:-1]) if at != place and each for extent in each]
        below = min([5, *others]) if str(buffer.dtype) in ("int32", "int64") else None
        yield random_values(f"argument {place}", shape, str(buffer.dtype), SEED, below)


_PLAIN = {"range", "len", "int", "float", "min", "max"}


def _refuse_other_code(module: str, lines: Iterable[str]) -> None:
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
