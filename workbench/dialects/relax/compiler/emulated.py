"""A scheduled GPU kernel as a function for the CPU, with a check of each access to memory.

TVM's own passes lower the kernel until the barriers are placed. Then blocks become loops, and each statement between two barriers becomes
a loop over the threads, so all threads end a phase before the next begins (loop fission at barriers, as in MCUDA, doi:10.1007/978-3-540-89740-8_2).
Shared memory is a buffer of the block, and registers have a place for each thread. Each access is tested against the size of its buffer, and
each access of a buffer that the kernel writes leaves its thread and phase there, so that an access of another thread in the same phase is seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import tvm
import tvm_ffi
from tvm import ir, s_tir, tirx
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
REPORT = 8
"integers of a report: finding, access, element, size of the buffer, block, thread, the other thread"
_FIXED = {"tvm_storage_sync", "tvm_thread_allreduce"}
_POINTERS = {"address_of", "tvm_access_ptr", "buffer_data", "call_extern", "call_pure_extern"}
_EXTERNAL = {"call_packed", "tvm_call_packed", "call_cpacked", "tvm_call_cpacked"}
_FOREIGN = ("ptx", "mma", "cuda", "matrix_sync", "fill_fragment", "warp", "atomic")


class NotChecked(MeasureError):
    """A kernel that has no meaning on the CPU here; the text is the reason."""


@dataclass(frozen=True)
class Access:
    """A place in a kernel that reads or writes a buffer."""

    buffer: str
    scope: str
    writes: bool


@dataclass(frozen=True)
class Emulated:
    """A kernel for the CPU. Its last two parameters are a report (int64[REPORT]) and n: only each n-th block and the last are run."""

    function: Any
    accesses: tuple[Access, ...]
    tiles: tuple[int, ...]
    "sizes by which the grid divides symbolic sizes"


def lower(function: Any, target: Any) -> Any:
    """Lower a kernel by TVM's passes for a target until its barriers are placed. Vectors and unrolled loops stay loops."""
    module = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
    passes = s_tir.transform
    steps = [
        tirx.transform.BindTarget(tvm.target.Target(target, host="llvm")),
        passes.CanonicalizeLoop(),
        passes.LowerCrossThreadReduction(),
        passes.LowerInitBlock(),
        passes.PlanAndUpdateBufferAllocationLocation(),
        passes.ConvertBlocksToOpaque(),
        passes.LiftThreadBinding(),
        passes.ManifestSharedMemoryLocalStage(),
        passes.CompactBufferAllocation(),
        passes.LowerAutoCopy(),
        passes.UnifyThreadBinding(),
        passes.LowerMatchBuffer(),
        passes.StmtSimplify(),
        passes.InjectPermutedLayout(),
        passes.AnnotateIrregularLoop(),
        passes.InjectSoftwarePipeline(),
        passes.TransformMmaBufferLayout(),
        passes.LowerOpaqueBlock(),
        tirx.transform.FlattenBuffer(),
        tirx.transform.BF16ComputeLegalize(),
        tirx.transform.NarrowDataType(32),
        passes.LoopPartition(),
        tirx.transform.VectorizeLoop(False),
        passes.InjectVirtualThread(),
        passes.InjectDoubleBuffer(),
        # on a CPU it reuses the memory of a value for one of another type
        *([] if target.kind.name == "llvm" else [tirx.transform.StorageRewrite()]),
        passes.HoistIfThenElse(),
        passes.RenormalizeSplitPattern(),
        tirx.transform.StmtSimplify(),
        tirx.transform.RemoveNoOp(),
        passes.RewriteUnsafeSelect(),
        tirx.transform.FP8ComputeLegalize(),
        passes.ThreadSync("shared"),
        passes.ThreadSync("shared.dyn"),
        passes.ThreadSync("warp"),
    ]
    with target:
        return tvm.transform.Sequential(steps)(module)["main"]


def emulated(function: Any, name: str) -> Emulated:
    """Return a lowered function for the CPU. Raises NotChecked: it has a part without a meaning there."""
    return _Emulation().result(function, name)


def _i64(value: Any) -> Any:
    return tirx.const(value, "int64") if isinstance(value, int) else tirx.Cast("int64", value)


def _seq(parts: Sequence[Any]) -> Any:
    return (
        parts[0] if len(parts) == 1 else tirx.SeqStmt(list(parts)) if parts else tirx.Evaluate(tirx.const(0, "int32"))
    )


def _loop(variable: Any, extent: Any, body: Any) -> Any:
    zero = tirx.const(0, variable.ty.dtype)
    return tirx.For(variable, zero, tirx.Cast(variable.ty.dtype, extent), tirx.ForKind.SERIAL, body)


def _each(variable: str, extent: Any, body: Any) -> Any:
    """A loop of 64 bits; `body` is a function of its variable."""
    place = tirx.Var(variable, "int64")
    return _loop(place, extent, body(place))


def _calls(root: Any) -> list[Any]:
    found: list[Any] = []
    tvm_ffi.structural_walk(root, [(ir.Call, found.append)])
    return found


def _op(call: Any) -> str:
    return str(getattr(call.op, "name", call.op)).partition(".")[2]


def _phases(stmt: Any) -> bool:
    """Return whether a statement has a barrier in it."""
    return any(_op(call) in _FIXED for call in _calls(stmt))


def _extents(stmt: Any) -> list[Any]:
    found: list[Any] = []
    tvm_ffi.structural_walk(stmt, [(tirx.AttrStmt, lambda each: found.append(each))])
    return [each for each in found if each.attr_key == "thread_extent"]


def _poison(dtype: str) -> Any:
    """A value that a buffer has before it is written: NaN, or an integer that few kernels give."""
    if "float" in dtype:
        return tirx.const(float("nan"), dtype)
    return tirx.const(1 if dtype == "bool" else 0x5A, dtype)


@dataclass
class _Memory:
    """A buffer of the kernel as it is on the CPU."""

    buffer: Any
    size: Any
    scope: str
    private: bool = False
    "it has a place for each thread"
    shadow: tuple[Any, Any] | None = None
    "who wrote and who read each element last; None if nothing has to be known of it"


@dataclass
class _Launch:
    """The threads of one kernel."""

    blocks: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    threads: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    "tag -> the loop variable and the extent"

    @property
    def count(self) -> int:
        total = 1
        for _, extent in self.threads.values():
            total *= int(extent)
        return total

    def thread(self, fixed: dict[str, Any] | None = None) -> Any:
        """The number of a thread in its block."""
        place: Any = _i64(0)
        for tag, (variable, extent) in self.threads.items():
            place = place * int(extent) + _i64((fixed or {}).get(tag, variable))
        return place

    def block(self) -> Any:
        place: Any = _i64(0)
        for variable, extent in self.blocks.values():
            place = place * _i64(extent) + _i64(variable)
        return place


class _Emulation:
    def __init__(self) -> None:
        self.memory: dict[Any, _Memory] = {}
        self.values: dict[Any, Any] = {}
        "variables that are written out where they are used"
        self.given: list[Any] = []
        "declarations of views of parameters"
        self.taken: list[Any] = []
        "allocations"
        self.accesses: list[Access] = []
        self.report = tirx.decl_buffer((REPORT,), "int64", name="report")
        self.every = tirx.Var("every", "int32")
        # the stamp of the phase, that of the block's first phase, and that of the launch's first phase
        self.stamps = tirx.decl_buffer((3,), "int64", name="stamps")
        self.launch = _Launch()
        self.local: list[_Memory] = []
        self.written: set[Any] = set()
        self.reducer: Any = None
        self.tiles: set[int] = set()
        self.analyzer = Analyzer()

    def result(self, function: Any, name: str) -> Emulated:
        for parameter in function.params:
            if tirx.buffer.is_buffer_var(parameter):
                self.memory[parameter] = _Memory(parameter, self.size(parameter.ty.shape), "global")
        self.bound_to_threads = bool(_extents(function.body))
        body = self.host(function.body)
        start = [tirx.BufferStore(self.stamps, _i64(1 << 20), [_i64(place)]) for place in range(3)]
        shadows = [
            each for memory in {id(one): one for one in self.memory.values()}.values() for each in memory.shadow or ()
        ]
        start += [self.filled(each, _i64(0)) for each in shadows]
        whole = _seq([*self.given, tirx.AllocBuffer(self.stamps), *map(tirx.AllocBuffer, self.taken), *start, body])
        made = tirx.PrimFunc([*function.params, self.report, self.every], whole)
        made = made.with_attr("global_symbol", name).with_attr("tirx.noalias", True)
        module = tirx.transform.ConvertSSA()(tvm.IRModule({name: made}))
        return Emulated(module[name], tuple(self.accesses), tuple(sorted(self.tiles)))

    def size(self, shape: Iterable[Any]) -> Any:
        total: Any = _i64(1)
        for each in shape:
            total = total * _i64(each)
        return self.analyzer.simplify(total)

    # what is around the kernels

    def host(self, stmt: Any) -> Any:
        if not _extents(stmt) and not isinstance(stmt, (tirx.SeqStmt, tirx.AllocBuffer, tirx.DeclBuffer, tirx.Bind)):
            return self.launched(stmt)
        if isinstance(stmt, tirx.SeqStmt):
            return _seq([self.host(each) for each in stmt.seq])
        if isinstance(stmt, tirx.AttrStmt):
            return self.launched(stmt) if stmt.attr_key == "thread_extent" else self.host(stmt.body)
        if isinstance(stmt, tirx.AllocBuffer):
            scope = str(stmt.buffer.ty.storage_scope)
            if self.bound_to_threads and scope not in ("global", ""):
                raise NotChecked(f"{stmt.buffer.name}, in {scope} memory, is allocated outside of its kernels")
            self.allocate(stmt.buffer, "global")
            return _seq([])
        if isinstance(stmt, tirx.DeclBuffer):
            return self.declare(stmt)
        if isinstance(stmt, tirx.Bind):
            self.values[stmt.var] = self.plain(stmt.value)
            return _seq([])
        if isinstance(stmt, tirx.For):
            return _loop(stmt.loop_var, self.plain(stmt.extent), self.host(stmt.body))
        if isinstance(stmt, tirx.IfThenElse):
            other = None if stmt.else_case is None else self.host(stmt.else_case)
            return tirx.IfThenElse(self.plain(stmt.condition), self.host(stmt.then_case), other)
        raise NotChecked(f"it has a {type(stmt).__name__} around its kernels")

    def plain(self, value: Any) -> Any:
        """An expression that reads no memory."""
        found, checks = self.expression(value)
        if checks:
            raise NotChecked(f"`{value}` around its kernels reads memory")
        return found

    def allocate(self, buffer: Any, scope: str) -> _Memory:
        if buffer in self.memory:
            return self.memory[buffer]
        size = self.size(buffer.ty.shape)
        private = scope not in ("global", "shared")
        whole = self.analyzer.simplify(size * self.launch.count) if private else size
        made = tirx.decl_buffer((whole,), buffer.dtype, name=buffer.name)
        found = _Memory(made, size, scope, private)
        self.memory[buffer] = found
        self.taken.append(made)
        if scope != "global":
            self.local.append(found)
        return found

    def declare(self, stmt: Any) -> Any:
        data = stmt.data
        source = data.args[0] if isinstance(data, ir.Call) and _op(data) == "buffer_data" else None
        memory = self.memory.get(source) if source is not None else None
        if memory is not None and memory.private and str(memory.buffer.dtype) != str(stmt.buffer.dtype):
            # registers that another value is kept in afterwards
            self.allocate(stmt.buffer, memory.scope)
            return _seq([])
        if memory is None or str(memory.buffer.dtype) != str(stmt.buffer.dtype):
            raise NotChecked(f"{stmt.buffer.name} is a view of memory of another type")
        if memory.scope == "global" and len(memory.buffer.ty.shape) != 1:
            # the flat form of a parameter
            self.given.append(stmt)
            memory.buffer = stmt.buffer
        self.memory[stmt.buffer] = memory
        return _seq([])

    # a kernel

    def launched(self, stmt: Any) -> Any:
        self.launch, self.local = _Launch(), []
        for each in _extents(stmt):
            self.axis(each)
        for _, extent in self.launch.threads.values():
            if not isinstance(extent, tirx.IntImm):
                raise NotChecked("the number of its threads is not a constant")
        order = [each for each in ("threadIdx.z", "threadIdx.y", "threadIdx.x") if each in self.launch.threads]
        self.launch.threads = {tag: self.launch.threads[tag] for tag in order}
        for variable, extent in (*self.launch.threads.values(), *self.launch.blocks.values()):
            self.bound(variable, extent)
        self.written = set()
        tvm_ffi.structural_walk(stmt, [(tirx.BufferStore, lambda each: self.written.add(each.buffer))])
        body = self.split(stmt)
        next_phase = self.step()
        first = _seq([self.filled(each.buffer, _poison(str(each.buffer.dtype))) for each in self.local])
        enter = [next_phase, tirx.BufferStore(self.stamps, self.stamp(), [_i64(1)])]
        whole = _seq([*enter, first, body])
        if self.launch.blocks:
            total: Any = self.size(extent for _, extent in self.launch.blocks.values())
            block = self.launch.block()
            chosen = tirx.Or(
                tirx.EQ(tirx.floormod(block, tirx.max(_i64(self.every), _i64(1))), _i64(0)),
                tirx.EQ(block, total - 1),
            )
            whole = tirx.IfThenElse(chosen, whole, None)
        for variable, extent in reversed(self.launch.blocks.values()):
            whole = _loop(variable, extent, whole)
        self.launch = _Launch()
        return _seq([self.step(), tirx.BufferStore(self.stamps, self.stamp(), [_i64(2)]), whole])

    def axis(self, stmt: Any) -> None:
        tag, variable = str(stmt.node.thread_tag), stmt.node.var
        if not tag.startswith(("threadIdx.", "blockIdx.")):
            raise NotChecked(f"it is bound to {tag or 'a virtual thread'}")
        known = self.launch.blocks if tag.startswith("blockIdx.") else self.launch.threads
        extent = self.plain(stmt.value)
        if tag not in known:
            known[tag] = (variable, extent)
            for call in [extent] if known is self.launch.blocks else []:
                tvm_ffi.structural_walk(call, [(tirx.FloorDiv, self.tile)])
        own, size = known[tag]
        if not self.analyzer.can_prove_equal(size, tirx.Cast(size.ty.dtype, extent)):
            raise NotChecked(f"{tag} has two extents, {size} and {extent}")
        if not variable.same_as(own):
            self.values[variable] = own if own.ty.dtype == variable.ty.dtype else tirx.Cast(variable.ty.dtype, own)

    def tile(self, division: Any) -> None:
        if isinstance(division.b, tirx.IntImm):
            self.tiles.add(int(division.b))

    def bound(self, variable: Any, extent: Any) -> None:
        zero = tirx.const(0, variable.ty.dtype)
        self.analyzer.bind(variable, ir.Range.from_min_extent(zero, tirx.Cast(variable.ty.dtype, extent)))

    def filled(self, buffer: Any, value: Any) -> Any:
        return _each("place", buffer.ty.shape[0], lambda place: tirx.BufferStore(buffer, value, [place]))

    def stamp(self, which: int = 0) -> Any:
        return tirx.BufferLoad(self.stamps, [_i64(which)])

    def step(self) -> Any:
        """The next phase."""
        return tirx.BufferStore(self.stamps, self.stamp() + (self.launch.count + 1), [_i64(0)])

    def over(self, parts: Sequence[Any]) -> list[Any]:
        """Run statements for each thread, one thread after the other."""
        if not parts:
            return []
        whole = _seq(parts)
        for variable, extent in reversed(self.launch.threads.values()):
            whole = _loop(variable, extent, whole)
        return [whole]

    def split(self, stmt: Any) -> Any:
        """A statement for all threads; those between barriers are run for each thread before the next is begun."""
        if isinstance(stmt, tirx.SeqStmt):
            done: list[Any] = []
            run: list[Any] = []
            for each in stmt.seq:
                if _phases(each):
                    done += [*self.over(run), self.split(each)]
                    run = []
                else:
                    run.append(self.serial(each))
            return _seq([*done, *self.over(run)])
        if not _phases(stmt):
            return _seq(self.over([self.serial(stmt)]))
        if isinstance(stmt, tirx.AttrStmt):
            if isinstance(stmt.node, tirx.CommReducer):
                self.reducer = stmt.node
            return self.split(stmt.body)
        if isinstance(stmt, tirx.For):
            start, extent = self.uniform(stmt.min), self.uniform(stmt.extent)
            self.analyzer.bind(stmt.loop_var, ir.Range.from_min_extent(start, extent))
            return tirx.For(stmt.loop_var, start, extent, tirx.ForKind.SERIAL, self.split(stmt.body))
        if isinstance(stmt, tirx.IfThenElse):
            condition = self.uniform(stmt.condition)
            other = None if stmt.else_case is None else self.split(stmt.else_case)
            return tirx.IfThenElse(condition, self.split(stmt.then_case), other)
        if isinstance(stmt, tirx.Evaluate) and _op(stmt.value) == "tvm_storage_sync":
            return self.step()
        if isinstance(stmt, tirx.Evaluate) and _op(stmt.value) == "tvm_thread_allreduce":
            return self.reduced(stmt.value)
        raise NotChecked(f"it has a barrier in a {type(stmt).__name__}")

    def uniform(self, value: Any) -> Any:
        found, checks = self.expression(value)
        used: list[Any] = []
        tvm_ffi.structural_walk(found, [(ir.Var, used.append)])
        threads = [variable for variable, _ in self.launch.threads.values()]
        if checks or any(each.same_as(one) for each in used for one in threads):
            raise NotChecked(f"a barrier is in divergent code, under `{value}`")
        return found

    def reduced(self, call: Any) -> Any:
        """A reduction over threads: their values are combined in the order of the threads, and each gets the result."""
        count = int(call.args[0])
        given, condition = call.args[1 : 1 + count], call.args[1 + count]
        results = call.args[2 + count : 2 + 2 * count]
        axes = [
            tag
            for tag, (own, _) in self.launch.threads.items()
            for each in call.args[2 + 2 * count :]
            if self.is_axis(each, own)
        ]
        if self.reducer is None:
            raise NotChecked("a reduction over threads has no combiner")
        stores, values, sums, nexts = [], [], [], []
        for place, value in enumerate(given):
            made = [
                self.allocate(tirx.decl_buffer((1,), value.ty.dtype, name=f"{name}{place}"), "local")
                for name in ("value", "sum", "next")
            ]
            for kept, each in zip((values, sums, nexts), made, strict=True):
                kept.append(each.buffer)
        guard, checks = self.expression(condition)
        stores += checks
        mine = self.launch.thread()
        for place, value in enumerate(given):
            read, checks = self.expression(value, guard)
            chosen = tirx.if_then_else(guard, read, self.reducer.identity_element[place])
            stores += [*checks, tirx.BufferStore(values[place], chosen, [mine])]
        fixed = {tag: tirx.Var(f"other_{tag[-1]}", "int64") for tag in axes}
        other, leader = self.launch.thread(fixed), self.launch.thread({tag: _i64(0) for tag in axes})
        known: dict[Any, Any] = {}
        for place in range(count):
            known[self.reducer.lhs[place]] = tirx.BufferLoad(sums[place], [leader])
            known[self.reducer.rhs[place]] = tirx.BufferLoad(values[place], [other])
        combined = [
            tvm_ffi.structural_map(each, (ir.Var, lambda var: known.get(var, var))) for each in self.reducer.result
        ]
        combine = [tirx.BufferStore(nexts[place], each, [leader]) for place, each in enumerate(combined)]
        combine += [
            tirx.BufferStore(sums[place], tirx.BufferLoad(nexts[place], [leader]), [leader]) for place in range(count)
        ]
        start = [
            tirx.BufferStore(sums[place], self.reducer.identity_element[place], [leader]) for place in range(count)
        ]
        inner = _seq(combine)
        for tag in reversed(axes):
            inner = _loop(fixed[tag], self.launch.threads[tag][1], inner)
        whole = _seq([*start, inner])
        for tag, (variable, extent) in reversed(self.launch.threads.items()):
            whole = whole if tag in axes else _loop(variable, extent, whole)
        back = [
            part
            for place, each in enumerate(results)
            for part in self.put(each.source, tirx.BufferLoad(sums[place], [leader]), each.indices)
        ]
        return _seq([*self.over(stores), self.step(), whole, *self.over(back), self.step()])

    def is_axis(self, given: Any, own: Any) -> bool:
        value = self.values.get(given, given) if isinstance(given, ir.Var) else given
        value = value.value if isinstance(value, tirx.Cast) else value
        return isinstance(value, ir.Var) and value.same_as(own)

    # one thread

    def serial(self, stmt: Any) -> Any:
        """A statement without a barrier, as one thread runs it."""
        if isinstance(stmt, tirx.SeqStmt):
            return _seq([self.serial(each) for each in stmt.seq])
        if isinstance(stmt, tirx.AttrStmt):
            if "async" in stmt.attr_key:
                raise NotChecked("it copies asynchronously")
            return self.serial(stmt.body)
        if isinstance(stmt, tirx.AllocBuffer):
            scope = str(stmt.buffer.ty.storage_scope)
            self.allocate(stmt.buffer, "shared" if scope.startswith("shared") else scope or "local")
            return _seq([])
        if isinstance(stmt, tirx.DeclBuffer):
            return self.declare(stmt)
        if isinstance(stmt, tirx.Bind):
            value, checks = self.expression(stmt.value)
            if not checks and not self.reads(value):
                self.values[stmt.var] = value
                return _seq([])
            kept = self.allocate(tirx.decl_buffer((1,), value.ty.dtype, name=stmt.var.name), "local").buffer
            self.values[stmt.var] = tirx.BufferLoad(kept, [self.launch.thread()])
            return _seq([*checks, tirx.BufferStore(kept, value, [self.launch.thread()])])
        if isinstance(stmt, tirx.For):
            (start, first), (extent, second) = self.expression(stmt.min), self.expression(stmt.extent)
            if not self.reads(start) and not self.reads(extent):
                self.analyzer.bind(stmt.loop_var, ir.Range.from_min_extent(start, extent))
            return _seq(
                [*first, *second, tirx.For(stmt.loop_var, start, extent, tirx.ForKind.SERIAL, self.serial(stmt.body))]
            )
        if isinstance(stmt, tirx.IfThenElse):
            condition, checks = self.expression(stmt.condition)
            if self.reads(condition):
                inner, other = self.serial(stmt.then_case), stmt.else_case and self.serial(stmt.else_case)
            else:
                with self.analyzer.constraint_scope(condition):
                    inner = self.serial(stmt.then_case)
                other = stmt.else_case and self.serial(stmt.else_case)
            return _seq([*checks, tirx.IfThenElse(condition, inner, other)])
        if isinstance(stmt, tirx.While):
            condition, _ = self.expression(stmt.condition)
            return tirx.While(condition, self.serial(stmt.body))
        if isinstance(stmt, tirx.BufferStore):
            return _seq(self.store(stmt.buffer, stmt.value, stmt.indices))
        if isinstance(stmt, tirx.Evaluate):
            value, checks = self.expression(stmt.value)
            return _seq([*checks, tirx.Evaluate(value)])
        if isinstance(stmt, (tirx.Break, tirx.Continue)):
            return stmt
        if isinstance(stmt, tirx.AssertStmt):
            return _seq([])
        raise NotChecked(f"it has a {type(stmt).__name__}")

    def reads(self, value: Any) -> bool:
        found: list[Any] = []
        tvm_ffi.structural_walk(value, [(ir.TensorLoad, found.append)])
        return bool(found)

    def place(self, source: Any, indices: Sequence[Any]) -> tuple[_Memory, Any, Any]:
        """The memory of an access, the number of its element, and the test that it is inside; None if it is known to be."""
        memory = self.memory.get(source)
        if memory is None:
            raise NotChecked(f"the memory of {source.name} is not known")
        if len(indices) > 1:
            raise NotChecked(f"{source.name} has more than one dimension")
        index = _i64(indices[0]) if indices else _i64(0)
        test = tirx.And(tirx.GE(index, _i64(0)), tirx.LT(index, memory.size))
        return memory, index, None if not self.reads(index) and self.analyzer.can_prove(test) else test

    def at(self, memory: _Memory, index: Any) -> Any:
        return self.launch.thread() * memory.size + index if memory.private else index

    def store(self, source: Any, value: Any, indices: Sequence[Any]) -> list[Any]:
        value, checks = self.expression(value)
        return [*checks, *self.put(source, value, indices)]

    def put(self, source: Any, value: Any, indices: Sequence[Any]) -> list[Any]:
        """Store a value that is already for the CPU."""
        checks: list[Any] = []
        made = []
        for each in indices:
            index, more = self.expression(each)
            made.append(index)
            checks += more
        memory, index, inside = self.place(source, made)
        kept = [tirx.BufferStore(memory.buffer, value, [self.at(memory, index)])]
        if not memory.private:
            old = tirx.BufferLoad(memory.buffer, [index])
            site = self.access(memory, True)
            kept = [*self.written_by(memory, index, self.differ(old, value), site), *kept]
        if inside is None:
            return [*checks, *kept]
        outside = self.finding(6, self.access(memory, True), index, memory, _i64(-1))
        return [*checks, tirx.IfThenElse(inside, _seq(kept), outside)]

    def differ(self, old: Any, new: Any) -> Any:
        same = tirx.EQ(old, new)
        if "float" in str(old.ty.dtype):
            # TVM's NE is false for a NaN; here a NaN is not another value than a NaN
            odd = [tirx.Not(tirx.EQ(each, each)) for each in (old, new)]
            same = tirx.Or(same, tirx.And(*odd))
        return tirx.Not(same)

    def access(self, memory: _Memory, writes: bool) -> int:
        self.accesses.append(Access(memory.buffer.name, memory.scope, writes))
        return len(self.accesses) - 1

    def tracked(self, memory: _Memory) -> tuple[Any, Any]:
        if memory.shadow is None:
            made = [
                tirx.decl_buffer((memory.size,), "int64", name=f"{memory.buffer.name}_{each}")
                for each in ("writer", "reader")
            ]
            self.taken += made
            memory.shadow = made[0], made[1]
        return memory.shadow

    def written_by(self, memory: _Memory, index: Any, differs: Any, site: int) -> list[Any]:
        """Test a write against the accesses before it, and note it."""
        writer, reader = (tirx.BufferLoad(each, [index]) for each in self.tracked(memory))
        own = self.stamp() + self.launch.thread()
        tests = [(self.foreign(writer, own), 2, writer), (self.foreign(reader, own), 3, reader)]
        if memory.scope == "global":
            tests += [(self.other_block(each), 4, each) for each in (writer, reader)]
        told = [
            tirx.IfThenElse(test, self.finding(code, site, index, memory, by - self.stamp()), None)
            for test, code, by in tests
        ]
        return [tirx.IfThenElse(differs, _seq([*told, tirx.BufferStore(self.tracked(memory)[0], own, [index])]), None)]

    def read_by(self, memory: _Memory, index: Any, site: int) -> list[Any]:
        """Test a read against the writes before it, and note it."""
        writer, reader = (tirx.BufferLoad(each, [index]) for each in self.tracked(memory))
        own = self.stamp() + self.launch.thread()
        tests = [(self.foreign(writer, own), 1, writer)]
        if memory.scope == "global":
            tests.append((self.other_block(writer), 4, writer))
        told = [
            tirx.IfThenElse(test, self.finding(code, site, index, memory, by - self.stamp()), None)
            for test, code, by in tests
        ]
        # several readers are as one with the number after that of the last thread
        noted = tirx.Select(self.foreign(reader, own), self.stamp() + self.launch.count, own)
        return [*told, tirx.BufferStore(self.tracked(memory)[1], noted, [index])]

    def foreign(self, by: Any, own: Any) -> Any:
        return tirx.And(tirx.GE(by, self.stamp()), tirx.NE(by, own))

    def other_block(self, by: Any) -> Any:
        return tirx.And(tirx.GE(by, self.stamp(2)), tirx.LT(by, self.stamp(1)))

    def finding(self, code: int, site: int, index: Any, memory: _Memory, other: Any) -> Any:
        said = [_i64(code), _i64(site), index, memory.size, self.launch.block(), self.launch.thread(), other]
        stores = [tirx.BufferStore(self.report, each, [_i64(place)]) for place, each in enumerate(said)]
        return tirx.IfThenElse(tirx.EQ(tirx.BufferLoad(self.report, [_i64(0)]), _i64(0)), _seq(stores), None)

    def expression(self, value: Any, guard: Any = None) -> tuple[Any, list[Any]]:
        """An expression that reads nothing outside of a buffer, and the tests of its reads, to be run before it."""
        checks: list[Any] = []
        guards = [] if guard is None else [guard]

        def variable(var: Any, _mutator: Any) -> Any:
            return self.values.get(var, var)

        def let(each: Any, mutator: Any) -> Any:
            self.values[each.var] = mutator.mutate(each.value)
            return mutator.mutate(each.body)

        def under(test: Any, part: Any, mutator: Any) -> Any:
            guards.append(test)
            try:
                if self.reads(test):
                    return mutator.mutate(part)
                with self.analyzer.constraint_scope(test):
                    return mutator.mutate(part)
            finally:
                guards.pop()

        def call(each: Any, mutator: Any) -> Any:
            name = _op(each)
            if name == "if_then_else":
                test = mutator.mutate(each.args[0])
                return tirx.if_then_else(
                    test, under(test, each.args[1], mutator), under(tirx.Not(test), each.args[2], mutator)
                )
            if name in _POINTERS or name in _EXTERNAL or any(word in name for word in _FOREIGN):
                raise NotChecked(f"it calls {name}, which has no meaning on the CPU")
            return mutator.default_mutate(each)

        def both(each: Any, mutator: Any) -> Any:
            left = mutator.mutate(each.a)
            test = left if isinstance(each, tirx.And) else tirx.Not(left)
            return type(each)(left, under(test, each.b, mutator))

        def divided(each: Any, mutator: Any) -> Any:
            left, right = mutator.mutate(each.a), mutator.mutate(each.b)
            if not isinstance(right, tirx.IntImm) and "int" in str(right.ty.dtype):
                # it would end the process here; a GPU goes on
                right = tirx.Select(tirx.EQ(right, tirx.const(0, right.ty.dtype)), tirx.const(1, right.ty.dtype), right)
            return type(each)(left, right)

        def load(each: Any, mutator: Any) -> Any:
            memory, index, inside = self.place(each.source, [mutator.mutate(one) for one in each.indices])
            read = tirx.BufferLoad(memory.buffer, [self.at(memory, index)])
            made = []
            if not memory.private and (memory.scope != "global" or self.is_written(memory)):
                made = self.read_by(memory, index, self.access(memory, False))
            if inside is not None:
                outside = self.finding(5, self.access(memory, False), index, memory, _i64(-1))
                made = [tirx.IfThenElse(inside, _seq(made), outside)]
                read = tirx.if_then_else(inside, read, tirx.const(0, read.ty.dtype))
            for test in reversed(guards):
                made = [tirx.IfThenElse(test, _seq(made), None)] if made else []
            checks.extend(made)
            return read

        entries = [
            (tirx.Let, let),
            (ir.TensorLoad, load),
            (ir.Call, call),
            ((tirx.And, tirx.Or), both),
            ((tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod), divided),
            (ir.Var, variable),
        ]
        try:
            return tvm_ffi.structural_mutate(value, entries), checks
        except RuntimeError as error:
            # an error of a callback comes back as TVM's own
            raise NotChecked(str(error).strip().splitlines()[-1]) from None

    def is_written(self, memory: _Memory) -> bool:
        return any(self.memory.get(each) is memory for each in self.written)
