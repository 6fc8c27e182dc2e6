"""Jobs of `wb.check_schedule`: run scheduled GPU kernels on the CPU, and compare them with the kernels without a schedule."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import tvm
from tvm import tirx
from tvm.tirx.compilation_pipeline import finalize_device_passes, finalize_host_passes

from workbench.dialects.compiler.results import ScheduleCheck
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relax.compiler.accesses import FINDINGS, RACES, REPORT, NotChecked
from workbench.dialects.relax.compiler.emulated import Emulated, emulated, lower
from workbench.dialects.relax.compiler.kernel_inputs import arguments, concrete, symbols
from workbench.dialects.relax.compiler.scheduled import DESCRIBED, ScheduledKernel
from workbench.dialects.relax.kinds import parts_of, written_by
from workbench.dialects.trust import allowed, ask
from workbench.errors import MeasureError
from workbench.jobs.build import resolved_target
from workbench.pipeline.outputs import TOLERANCE, difference
from workbench.wording import one_line
from workbench.worker.child import Progress

LARGEST = 4e9
"iterations of a kernel's loops, beyond which it is not run"
SECONDS = 4.0
"of one run of a kernel, beyond which only a part of its blocks is run"
SLOWER = 4
"a kernel with its checks against the kernel without a schedule, in time; a guess before the first run"
TILE = 32
"the tile of a kernel whose grid names none"
SERIAL = (*DESCRIBED, "Bind", "SetScope")
"primitives without which a schedule is one for a single thread"
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 30.0, -30.0)
_PACKED = "workbench_packed"
"TVM's build takes a pipeline by its name alone"
FILL = 0xFF
"bytes of an output before a run: NaN, or an integer that says little"


def check_schedule(*, kernel: Mapping[str, Any], target: str, seed: int, progress: Progress) -> dict[str, object]:  # noqa: ARG001  the notebook reports it
    """Check a kernel with its schedule (`ScheduledKernel.to_data`). The notebook has asked whether it may run."""
    target = resolved_target(target)
    with allowed(trusted=True):
        return {"target": target, "check": asdict(checked(ScheduledKernel.of_data(kernel), make_target(target), seed))}


def checked(kernel: ScheduledKernel, target: Any, seed: int = 0) -> ScheduleCheck:
    """Check one kernel; if something is found, find the first step of its schedule after which it is."""
    if not kernel.steps and kernel.after is None:
        return ScheduleCheck(kernel.name, "not checked", "it has no schedule, or one that it came with")
    try:
        reference = _Reference(kernel, seed)
        found = reference.against(kernel.upto(without=DESCRIBED), target)
    except NotChecked as error:
        return ScheduleCheck(kernel.name, "not checked", str(error))
    except MeasureError:
        raise
    except Exception as error:  # noqa: BLE001  TVM cannot lower, build or call it
        said = f"TVM cannot lower or run it on the CPU: {error}"
        return ScheduleCheck(kernel.name, "not checked", one_line(said, 200))
    place = None if found.verdict == "equal" or not kernel.steps else _first(kernel, reference, target)
    return replace(found, step=place, primitive=kernel.step(place - 1) if place else "")


def _first(kernel: ScheduledKernel, reference: _Reference, target: Any) -> int | None:
    """The smallest number of steps after which a kernel is not equal, by bisection; None if that is none of its steps.

    First as a schedule for a single thread: each step of a right one keeps the values. With threads that holds of the whole alone.
    """

    def equal(count: int, without: Sequence[str]) -> bool | None:
        try:
            return reference.against(kernel.upto(count, without), target, short=True).verdict == "equal"
        except Exception:  # noqa: BLE001  half a schedule need not be one that TVM can lower
            return None

    low, high = 0, len(kernel.steps)
    without = next((each for each in (SERIAL, DESCRIBED) if equal(high, each) is False), None)
    if without is None:
        return None
    if equal(low, without) is False:
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        order = (*range(middle, high), *range(middle - 1, low, -1))
        tried = next(((place, known) for place in order if (known := equal(place, without)) is not None), None)
        if tried is None:
            break
        low, high = (tried[0], high) if tried[1] else (low, tried[0])
    return high


class _Reference:
    """A kernel without a schedule, its inputs and its values."""

    def __init__(self, kernel: ScheduledKernel, seed: int) -> None:
        self.name, self.function, self.seed = kernel.name, kernel.before, seed
        self.symbols = symbols(self.function)
        self.made = emulated(lower(self.function, tvm.target.Target("llvm")))
        self.library = _build(self.made)
        self.known: dict[tuple[int, int], tuple[list[Any], list[Any], float]] = {}

    def against(self, after: Any, target: Any, short: bool = False) -> ScheduleCheck:
        """Compare with a scheduled function. `short`: with the first sizes at which something may be found."""
        made = emulated(lower(after, target))
        library = _build(made)
        names, tile = [str(each.name) for each in self.symbols], max(made.tiles, default=TILE)
        sizes = sorted({1, 7, tile, tile + 1}) if names else [0]
        told = f"{', '.join(names)} = {', '.join(map(str, sizes))}" if names else ""
        found = ScheduleCheck(self.name, "equal", sizes=told)
        for size, kind in itertools.product(sizes, range(2)):
            values, wanted, seconds = self.values(size, kind)
            every = max(1, math.ceil(seconds * SLOWER / (SECONDS / (4 if short else 1))))
            report, got = _run(library, values, every)
            found = replace(found, runs=found.runs + 1, share=min(found.share, 1 / every))
            at = f" with {' = '.join(names)} = {size}" if names else ""
            if report[0]:
                verdict = "race" if report[0] <= RACES else "outside"
                return replace(found, verdict=verdict, because=_told(made, report) + at)
            because = self.compared(wanted, got, every > 1)
            if because:
                return replace(found, verdict="different", because=because + at)
        return found

    def compared(self, wanted: Sequence[Any], got: Sequence[Any], part: bool) -> str:
        """The first element that differs, of the first buffer; empty if none does."""
        buffers = [each for each in self.function.params if tirx.buffer.is_buffer_var(each)]
        for parameter, right, ours in zip(buffers, wanted, got, strict=True):
            if part:
                unwritten = (ours.view("uint8").reshape(*ours.shape, -1) == FILL).all(-1)
                ours = np.where(unwritten, right, ours)
            if not difference([right], [ours]).same:
                return _element(parameter.name, right, ours)
        return ""

    def values(self, size: int, kind: int) -> tuple[list[Any], list[Any], float]:
        """Inputs, values of all buffers after a run, and the seconds of it."""
        if (size, kind) not in self.known:
            steps = self.steps(size)
            if steps > LARGEST:
                raise NotChecked(f"too large: its loops have {steps:.3g} iterations")
            for below in (5, 3, 2, 1):
                values = self.inputs(size, kind, below)
                start = time.perf_counter()
                report, got = _run(self.library, values, 1)
                seconds = time.perf_counter() - start
                if not report[0]:
                    break
            else:
                raise NotChecked(f"without a schedule, {_told(self.made, report)} with the inputs tried")
            self.known[size, kind] = values, got, seconds
        return self.known[size, kind]

    def inputs(self, size: int, kind: int, below: int) -> list[Any]:
        """Random values, or special ones among random ones; integers of 32 and 64 bits are small, for they may be indices."""
        found = arguments(self.function, lambda _: size, self.seed + kind, below)
        draw, outputs = np.random.default_rng(self.seed), written_by(self.function)
        for place, (parameter, values) in enumerate(zip(self.function.params, found, strict=True)):
            if isinstance(values, int):
                continue
            if kind and values.size and values.dtype.kind in "iu" and values.dtype.itemsize >= 4:
                # an index that is not 0
                values.flat[0] = below - 1
            if kind and "float" in str(values.dtype):
                special = draw.choice(SPECIAL, values.shape).astype(values.dtype)
                values = np.where(draw.random(values.shape) < 0.3, special, values)
            if parameter in outputs:
                filled = np.full(values.nbytes, FILL, "uint8").view(values.dtype).reshape(values.shape)
                values = np.ones_like(values) if values.dtype == bool else filled
            found[place] = np.ascontiguousarray(values)
        return found

    def steps(self, size: int) -> float:
        """Iterations of the innermost loops of the kernel without a schedule."""

        def value(variable: Any) -> int:
            return size if any(variable.same_as(each) for each in self.symbols) else 1

        def walk(stmt: Any) -> float:
            inner = sum(map(walk, parts_of(stmt))) or 1.0
            if not isinstance(stmt, tirx.For):
                return inner
            with suppress(MeasureError):
                return concrete(stmt.extent, value) * inner
            return inner

        return walk(self.function.body)


def _build(made: Emulated) -> Any:
    ask()
    return tvm.tirx.build(tvm.IRModule({"main": made.function}), target="llvm", pipeline=_PACKED)["main"]


def _packed() -> tuple[Any, Any, Any]:
    """The rest of TVM's pipeline for a function that is lowered: no pass may change the kernel once more."""
    passes = tirx.transform
    steps = [
        passes.BF16ComputeLegalize(),
        passes.FP8ComputeLegalize(),
        passes.AnnotateEntryFunc(),
        passes.SplitHostDevice(),
        passes.MakePackedAPI(),
        passes.FP8StorageLegalize(),
        passes.BF16StorageLegalize(),
    ]
    return tvm.transform.Sequential(steps), finalize_host_passes, finalize_device_passes


tirx.register_tir_pipeline(_PACKED, _packed)


def _run(function: Any, values: Sequence[Any], every: int) -> tuple[Any, list[Any]]:
    """Return the report of a run, and its buffers after it."""
    given = [tvm.runtime.tensor(each) if isinstance(each, np.ndarray) else each for each in values]
    report = tvm.runtime.tensor(np.zeros(REPORT, "int64"))
    function(*given, report, every)
    return report.numpy(), [each.numpy() for each in given if not isinstance(each, int)]


def _told(made: Emulated, report: Any) -> str:
    code, place, element, size, block, thread, other = (int(each) for each in report[:7])
    where = f"thread {thread} of block {block} {FINDINGS[code - 1]}: element {element} of {made.named[place]}"
    if code > RACES:
        return f"{where}, which has {size}"
    # a thread of another block has no number here
    return where if code == RACES or other < 0 else f"{where} (thread {other})"


def _element(name: str, right: Any, ours: Any) -> str:
    wide, wrong = right.astype("float64"), ours.astype("float64")
    with np.errstate(invalid="ignore"):
        gap = np.abs(wide - wrong)
        scale = np.max(np.abs(wide[np.isfinite(wide)]), initial=0.0) or 1.0
        far = ~(
            (wide == wrong) | (np.isnan(wide) & np.isnan(wrong)) | (gap <= TOLERANCE.get(str(right.dtype), 0.0) * scale)
        )
    place = np.unravel_index(int(np.argmax(far)), far.shape)
    at = ", ".join(str(int(each)) for each in place)
    return f"{name}[{at}] is {ours[place]}, and {right[place]} without a schedule; {int(far.sum())} of {far.size} elements differ"
