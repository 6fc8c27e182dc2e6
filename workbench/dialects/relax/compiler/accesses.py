"""The memory of a GPU kernel on the CPU, with a test of each access.

Shared memory is a buffer of the block, and registers have a place for each thread. An access is tested against the size of its buffer. One of
a buffer that the kernel writes leaves its thread and phase there, so that an access of another thread in the same phase is seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import tvm_ffi
from tvm import ir, tirx
from tvm.sym import Analyzer

from workbench.errors import MeasureError

FINDINGS = (
    "reads what another thread writes in the same phase",
    "writes what another thread writes in the same phase, with another value",
    "writes what another thread reads in the same phase",
    "reads or writes what another block writes",
    "reads outside of the buffer",
    "writes outside of the buffer",
)
RACES = 4
"the first of these are races"
REPORT = 8
"integers of a report: finding, place in `Accesses.named`, element, size of the buffer, block, thread, the other thread"


class NotChecked(MeasureError):
    """A kernel that has no meaning on the CPU here; the text is the reason."""


@dataclass
class Memory:
    """A buffer of the kernel as it is on the CPU."""

    buffer: Any
    size: Any
    scope: str
    private: bool = False
    "it has a place for each thread"
    shadow: tuple[Any, ...] = ()
    "who wrote and who read each element last; empty if nothing has to be known of it"


@dataclass
class Launch:
    """The threads of one kernel."""

    blocks: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    threads: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    "tag -> the loop variable and the extent"

    @property
    def count(self) -> int:
        return math.prod(int(extent) for _, extent in self.threads.values())

    def thread(self) -> Any:
        """The number of a thread in its block."""
        return _place(self.threads)

    def block(self) -> Any:
        return _place(self.blocks)


def _place(axes: dict[str, tuple[Any, Any]]) -> Any:
    place: Any = i64(0)
    for variable, extent in axes.values():
        place = place * i64(extent) + i64(variable)
    return place


def i64(value: Any) -> Any:
    """Return a number or an expression in 64 bits."""
    value = int(value) if isinstance(value, tirx.IntImm) else value
    return tirx.const(value, "int64") if isinstance(value, int) else tirx.Cast("int64", value)


def seq(parts: Sequence[Any]) -> Any:
    """Return statements as one."""
    if len(parts) == 1:
        return parts[0]
    return tirx.SeqStmt(list(parts)) if parts else tirx.Evaluate(tirx.const(0, "int32"))


def loop(variable: Any, extent: Any, body: Any, start: Any = 0) -> Any:
    """Return a serial loop."""
    start = tirx.const(start, variable.ty.dtype) if isinstance(start, int) else start
    return tirx.For(variable, start, tirx.Cast(variable.ty.dtype, extent), tirx.ForKind.SERIAL, body)


def found_in(root: Any, kind: Any) -> list[Any]:
    """Return the nodes of a kind."""
    found: list[Any] = []
    tvm_ffi.structural_walk(root, [(kind, found.append)])
    return found


def reads(value: Any) -> bool:
    """Return whether an expression reads memory."""
    return bool(found_in(value, ir.TensorLoad))


def poison(dtype: str) -> Any:
    """A value that a buffer has before it is written: NaN, or an integer that few kernels give."""
    if "float" in dtype:
        return tirx.const(float("nan"), dtype)
    return tirx.const(1 if dtype == "bool" else 0x5A, dtype)


class Accesses:
    """The buffers of a kernel, and the statements that test its accesses."""

    def __init__(self) -> None:
        self.memory: dict[Any, Memory] = {}
        self.taken: list[Any] = []
        "allocations"
        self.named: list[str] = []
        "the buffers that a report can name, with their scopes"
        self.report = tirx.decl_buffer((REPORT,), "int64", name="report")
        # the stamp of the phase, that of the block's first phase, and that of the launch's first phase
        self.stamps = tirx.decl_buffer((3,), "int64", name="stamps")
        self.launch = Launch()
        self.local: list[Memory] = []
        "buffers of the present launch"
        self.written: set[Any] = set()
        self.analyzer = Analyzer()

    def size(self, shape: Iterable[Any]) -> Any:
        return self.analyzer.simplify(math.prod((i64(each) for each in shape), start=i64(1)))

    def bound(self, variable: Any, start: Any, extent: Any) -> None:
        self.analyzer.bind(variable, ir.Range.from_min_extent(start, tirx.Cast(variable.ty.dtype, extent)))

    def enter(self, stmt: Any, launch: Launch) -> None:
        """Begin with a kernel."""
        self.launch, self.local = launch, []
        for variable, extent in (*launch.threads.values(), *launch.blocks.values()):
            self.bound(variable, tirx.const(0, variable.ty.dtype), extent)
        self.written = {each.buffer for each in found_in(stmt, tirx.BufferStore)}

    def given(self, parameter: Any) -> None:
        """Note a parameter of the function."""
        self.memory[parameter] = Memory(parameter, self.size(parameter.ty.shape), "global")

    def allocate(self, buffer: Any, scope: str) -> Memory:
        if buffer not in self.memory:
            size = self.size(buffer.ty.shape)
            private = scope not in ("global", "shared")
            whole = self.analyzer.simplify(size * self.launch.count) if private else size
            made = tirx.decl_buffer((whole,), buffer.dtype, name=buffer.name)
            found = self.memory[buffer] = Memory(made, size, scope, private)
            self.taken.append(made)
            self.local += [found] if scope != "global" else []
        return self.memory[buffer]

    def register(self, dtype: Any, name: str) -> Any:
        """Return a new element of each thread: its buffer and its place."""
        return self.allocate(tirx.decl_buffer((1,), dtype, name=name), "local").buffer, [self.launch.thread()]

    # -- phases

    def stamp(self, which: int = 0) -> Any:
        return tirx.BufferLoad(self.stamps, [i64(which)])

    def step(self) -> Any:
        """The next phase."""
        return tirx.BufferStore(self.stamps, self.stamp() + (self.launch.count + 1), [i64(0)])

    def noted(self, which: int) -> Any:
        """Keep the stamp of this phase."""
        return tirx.BufferStore(self.stamps, self.stamp(), [i64(which)])

    def start(self) -> list[Any]:
        """The statements at the start of the function, after all others are made."""
        shadows = {each: None for memory in self.memory.values() for each in memory.shadow}
        stamps = [tirx.BufferStore(self.stamps, i64(1 << 20), [i64(place)]) for place in range(3)]
        kept = map(tirx.AllocBuffer, (self.stamps, *self.taken))
        return [*kept, *stamps, *(self.filled(each, i64(0)) for each in shadows)]

    def poisoned(self) -> Any:
        """Fill the buffers of a block, which begin with no known value."""
        return seq([self.filled(each.buffer, poison(str(each.buffer.dtype))) for each in self.local])

    def filled(self, buffer: Any, value: Any) -> Any:
        place = tirx.Var("place", "int64")
        return loop(place, buffer.ty.shape[0], tirx.BufferStore(buffer, value, [place]))

    # -- accesses. `resolve` writes an expression for the CPU and returns it with its tests

    def load(self, source: Any, indices: Sequence[Any], guards: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Return a read with indices for the CPU, and its tests, which hold under some conditions."""
        memory, index, inside = self._place(source, indices)
        read = tirx.BufferLoad(memory.buffer, [self._at(memory, index)])
        made = []
        if not memory.private and (memory.scope != "global" or self._is_written(memory)):
            made = self._read(memory, index)
        if inside is not None:
            made = [self._if_inside(inside, made, 5, index, memory)]
            read = tirx.if_then_else(inside, read, tirx.const(0, read.ty.dtype))
        for test in reversed(guards):
            made = [tirx.IfThenElse(test, seq(made), None)] if made else []
        return read, made

    def store(self, stmt: Any, resolve: Callable[[Any], tuple[Any, list[Any]]]) -> Any:
        """Return a store with its tests."""
        (value, *indices), tests = zip(*map(resolve, (stmt.value, *stmt.indices)), strict=True)
        checks = [each for part in tests for each in part]
        memory, index, inside = self._place(stmt.buffer, indices)
        kept = [tirx.BufferStore(memory.buffer, value, [self._at(memory, index)])]
        if not memory.private:
            kept = [*self._write(memory, index, value), *kept]
        if inside is not None:
            kept = [self._if_inside(inside, kept, 6, index, memory)]
        return seq([*checks, *kept])

    def _if_inside(self, inside: Any, parts: Sequence[Any], code: int, index: Any, memory: Memory) -> Any:
        return tirx.IfThenElse(inside, seq(parts), self._finding(code, index, memory))

    def _place(self, source: Any, indices: Sequence[Any]) -> tuple[Memory, Any, Any]:
        """The memory of an access, the number of its element, and the test that it is inside; None if it is known to be."""
        memory = self.memory.get(source)
        if memory is None:
            raise NotChecked(f"the memory of {source.name} is not known")
        if len(indices) > 1:
            raise NotChecked(f"{source.name} has more than one dimension")
        index = i64(indices[0]) if indices else i64(0)
        test = tirx.And(tirx.GE(index, i64(0)), tirx.LT(index, memory.size))
        return memory, index, None if not reads(index) and self.analyzer.can_prove(test) else test

    def _at(self, memory: Memory, index: Any) -> Any:
        return self.launch.thread() * memory.size + index if memory.private else index

    def _shadows(self, memory: Memory, index: Any) -> tuple[Any, Any]:
        """Who wrote and who read an element last."""
        if not memory.shadow:
            names = (f"{memory.buffer.name}_{each}" for each in ("writer", "reader"))
            memory.shadow = tuple(tirx.decl_buffer((memory.size,), "int64", name=name) for name in names)
            self.taken += memory.shadow
        writer, reader = (tirx.BufferLoad(each, [index]) for each in memory.shadow)
        return writer, reader

    def _write(self, memory: Memory, index: Any, value: Any) -> list[Any]:
        """Test a write against the accesses before it, and note it. One of the same value is none."""
        writer, reader = self._shadows(memory, index)
        told = self._conflicts([(2, writer), (3, reader)], memory, index)
        noted = tirx.BufferStore(memory.shadow[0], self._own(), [index])
        return [tirx.IfThenElse(_differ(tirx.BufferLoad(memory.buffer, [index]), value), seq([*told, noted]), None)]

    def _read(self, memory: Memory, index: Any) -> list[Any]:
        """Test a read against the writes before it, and note it."""
        writer, reader = self._shadows(memory, index)
        # several readers are as one with the number after that of the last thread
        noted = tirx.Select(self._foreign(reader), self.stamp() + self.launch.count, self._own())
        told = self._conflicts([(1, writer)], memory, index)
        return [*told, tirx.BufferStore(memory.shadow[1], noted, [index])]

    def _conflicts(self, others: Sequence[tuple[int, Any]], memory: Memory, index: Any) -> list[Any]:
        tests = [(self._foreign(by), code, by) for code, by in others]
        if memory.scope == "global":
            tests += [(tirx.And(tirx.GE(by, self.stamp(2)), tirx.LT(by, self.stamp(1))), 4, by) for _, by in others]
        return [
            tirx.IfThenElse(test, self._finding(code, index, memory, by - self.stamp()), None)
            for test, code, by in tests
        ]

    def _own(self) -> Any:
        return self.stamp() + self.launch.thread()

    def _foreign(self, by: Any) -> Any:
        return tirx.And(tirx.GE(by, self.stamp()), tirx.NE(by, self._own()))

    def _finding(self, code: int, index: Any, memory: Memory, other: Any = -1) -> Any:
        name = f"{memory.scope} {memory.buffer.name}"
        self.named += [name] if name not in self.named else []
        said = [code, self.named.index(name), index, memory.size, self.launch.block(), self.launch.thread(), other]
        stores = [tirx.BufferStore(self.report, i64(each), [i64(place)]) for place, each in enumerate(said)]
        return tirx.IfThenElse(tirx.EQ(tirx.BufferLoad(self.report, [i64(0)]), i64(0)), seq(stores), None)

    def _is_written(self, memory: Memory) -> bool:
        return any(self.memory.get(each) is memory for each in self.written)


def _differ(old: Any, new: Any) -> Any:
    same = tirx.EQ(old, new)
    if "float" in str(old.ty.dtype):
        # TVM's NE is false for a NaN; here a NaN is not another value than a NaN
        odd = [tirx.Not(tirx.EQ(each, each)) for each in (old, new)]
        same = tirx.Or(same, tirx.And(*odd))
    return tirx.Not(same)
