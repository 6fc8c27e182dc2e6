"""A scheduled GPU kernel as a function for the CPU.

TVM's own pipeline lowers the kernel until its barriers are placed. Then blocks become loops, and each statement between two barriers becomes
a loop over the threads, so all threads end a phase before the next begins (loop fission at barriers, as in MCUDA, doi:10.1007/978-3-540-89740-8_2).
`accesses.py` tests each access of memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import ir, tirx
from tvm.s_tir.pipeline import default_s_tir_pipeline

from workbench.dialects.relax.compiler.accesses import (
    Accesses,
    Launch,
    NotChecked,
    found_in,
    i64,
    loop,
    reads,
    seq,
)

Visit = Callable[[Any], Any]
LAST = "LowerThreadAllreduce"
"the last pass of TVM's pipeline that is run here"
LEFT_OUT = {"UnrollLoop", "CommonSubexprElim", "VerifyMemory", "VerifyVTCMLimit", "LowerVtcmAlloc", "InferFragment"}
"passes before it that are not"
_FOREIGN = re.compile(
    "address_of|access_ptr|buffer_data|extern|packed|ptx|mma|cuda|matrix_sync|fill_fragment|warp|atomic"
)
"what is in the names of operators without a meaning on the CPU"


@dataclass(frozen=True)
class Emulated:
    """A kernel for the CPU. Its last two parameters are a report (int64[REPORT]) and n: only each n-th block and the last are run."""

    function: Any
    named: tuple[str, ...]
    "the buffers that a report can name, with their scopes"
    tiles: tuple[int, ...]
    "sizes by which the grid divides symbolic sizes"


@tvm.ir.instrument.pass_instrument
class _Until:
    """Lets a pipeline run to LAST."""

    def __init__(self) -> None:
        self.done = False

    def should_run(self, _module: tvm.IRModule, info: Any) -> bool:
        name = str(info.name).rpartition(".")[2]
        runs = not self.done and name not in LEFT_OUT
        self.done |= name == LAST
        return runs


def lower(function: Any, target: Any) -> Any:
    """Lower a kernel by TVM's pipeline for a target, until its barriers are placed. Vectors and unrolled loops stay loops."""
    cpu = target.kind.name == "llvm"
    if not cpu:
        # a reduction over threads is TVM's for a GPU without warps: it goes through shared memory
        target = tvm.target.Target({**target.export(), "thread_warp_size": 1})
    # on a CPU it reuses the memory of a value for one of another type
    config = {"tirx.disable_vectorize": True, "tirx.disable_storage_rewrite": cpu}
    module = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
    with target, tvm.transform.PassContext(opt_level=3, config=config, instruments=[_Until()]):
        module = tirx.transform.BindTarget(tvm.target.Target(target, host="llvm"))(module)
        return default_s_tir_pipeline()[0](module)["main"]


def emulated(function: Any) -> Emulated:
    """Return a lowered function for the CPU. Raises NotChecked: it has a part without a meaning there."""
    return _Emulation().result(function)


def _op(call: Any) -> str:
    return str(getattr(call.op, "name", call.op)).partition(".")[2]


def _has_barrier(stmt: Any) -> bool:
    return any(_op(call) == "tvm_storage_sync" for call in found_in(stmt, ir.Call))


def _extents(stmt: Any) -> list[Any]:
    return [each for each in found_in(stmt, tirx.AttrStmt) if each.attr_key == "thread_extent"]


class _Emulation:
    def __init__(self) -> None:
        self.accesses = Accesses()
        self.values: dict[Any, Any] = {}
        "variables that are written out where they are used"
        self.given: list[Any] = []
        "declarations of views of parameters"
        self.every = tirx.Var("every", "int32")
        self.launch = Launch()
        self.tiles: set[int] = set()

    def result(self, function: Any) -> Emulated:
        for parameter in function.params:
            if tirx.buffer.is_buffer_var(parameter):
                self.accesses.given(parameter)
        self.bound_to_threads = bool(_extents(function.body))
        body = self.host(function.body)
        parameters = [*function.params, self.accesses.report, self.every]
        made = tirx.PrimFunc(parameters, seq([*self.given, *self.accesses.start(), body]))
        made = made.with_attr("global_symbol", "main").with_attr("tirx.noalias", True)
        module = tirx.transform.ConvertSSA()(tvm.IRModule({"main": made}))
        return Emulated(module["main"], tuple(self.accesses.named), tuple(sorted(self.tiles)))

    # -- around the kernels

    def host(self, stmt: Any) -> Any:
        if isinstance(stmt, tirx.SeqStmt):
            return seq([self.host(each) for each in stmt.seq])
        if isinstance(stmt, tirx.AllocBuffer):
            scope = str(stmt.buffer.ty.storage_scope)
            if self.bound_to_threads and scope not in ("global", ""):
                raise NotChecked(f"{stmt.buffer.name}, in {scope} memory, is allocated outside of its kernels")
            self.accesses.allocate(stmt.buffer, "global")
            return seq([])
        if isinstance(stmt, tirx.DeclBuffer):
            return self.declare(stmt)
        if isinstance(stmt, tirx.Bind):
            self.values[stmt.var] = self.plain(stmt.value)
            return seq([])
        if not _extents(stmt) or (isinstance(stmt, tirx.AttrStmt) and stmt.attr_key == "thread_extent"):
            return self.launched(stmt)
        return self.around(stmt, self.host, self.plain, "it has a {} around its kernels")

    def around(self, stmt: Any, inner: Visit, value: Visit, refusal: str) -> Any:
        """A loop, branch or attribute with kernels or barriers in it. `inner` and `value`: what its statements and expressions become."""
        if isinstance(stmt, tirx.AttrStmt):
            return inner(stmt.body)
        if isinstance(stmt, tirx.For):
            start, extent = value(stmt.min), value(stmt.extent)
            self.accesses.bound(stmt.loop_var, start, extent)
            return loop(stmt.loop_var, extent, inner(stmt.body), start)
        if isinstance(stmt, tirx.IfThenElse):
            other = stmt.else_case and inner(stmt.else_case)
            return tirx.IfThenElse(value(stmt.condition), inner(stmt.then_case), other)
        raise NotChecked(refusal.format(type(stmt).__name__))

    def plain(self, value: Any) -> Any:
        """An expression that reads no memory."""
        found, checks = self.expression(value)
        if checks:
            raise NotChecked(f"`{value}` around its kernels reads memory")
        return found

    def declare(self, stmt: Any) -> Any:
        data = stmt.data
        source = data.args[0] if isinstance(data, ir.Call) and _op(data) == "buffer_data" else None
        memory = self.accesses.memory.get(source) if source is not None else None
        same = memory is not None and str(memory.buffer.dtype) == str(stmt.buffer.dtype)
        if memory is not None and memory.private and not same:
            # registers that another value is kept in afterwards
            self.accesses.allocate(stmt.buffer, memory.scope)
            return seq([])
        if memory is None or not same:
            raise NotChecked(f"{stmt.buffer.name} is a view of memory of another type")
        if memory.scope == "global" and len(memory.buffer.ty.shape) != 1:
            # the flat form of a parameter
            self.given.append(stmt)
            memory.buffer = stmt.buffer
        self.accesses.memory[stmt.buffer] = memory
        return seq([])

    # -- a kernel

    def launched(self, stmt: Any) -> Any:
        launch = self.launch = Launch()
        for each in _extents(stmt):
            self.axis(each)
        for _, extent in launch.threads.values():
            if not isinstance(extent, tirx.IntImm):
                raise NotChecked("the number of its threads is not a constant")
        # as a GPU numbers them
        launch.threads = dict(sorted(launch.threads.items(), reverse=True))
        self.accesses.enter(stmt, launch)
        body = self.split(stmt)
        step = self.accesses.step()
        whole = seq([step, self.accesses.noted(1), self.accesses.poisoned(), body])
        if launch.blocks:
            total: Any = self.accesses.size(extent for _, extent in launch.blocks.values())
            each = tirx.floormod(launch.block(), tirx.max(i64(self.every), i64(1)))
            chosen = tirx.Or(tirx.EQ(each, i64(0)), tirx.EQ(launch.block(), total - 1))
            whole = tirx.IfThenElse(chosen, whole, None)
        for variable, extent in reversed(launch.blocks.values()):
            whole = loop(variable, extent, whole)
        self.accesses.launch = Launch()
        return seq([self.accesses.step(), self.accesses.noted(2), whole])

    def axis(self, stmt: Any) -> None:
        tag, variable = str(stmt.node.thread_tag), stmt.node.var
        if not tag.startswith(("threadIdx.", "blockIdx.")):
            raise NotChecked(f"it is bound to {tag or 'a virtual thread'}")
        known = self.launch.blocks if tag.startswith("blockIdx.") else self.launch.threads
        extent = self.plain(stmt.value)
        if tag not in known:
            known[tag] = (variable, extent)
            if known is self.launch.blocks:
                divisors = [each.b for each in found_in(extent, tirx.FloorDiv)]
                self.tiles |= {int(each) for each in divisors if isinstance(each, tirx.IntImm)}
        own, size = known[tag]
        if not self.accesses.analyzer.can_prove_equal(size, tirx.Cast(size.ty.dtype, extent)):
            raise NotChecked(f"{tag} has two extents, {size} and {extent}")
        if not variable.same_as(own):
            self.values[variable] = own if own.ty.dtype == variable.ty.dtype else tirx.Cast(variable.ty.dtype, own)

    def over(self, parts: Sequence[Any]) -> list[Any]:
        """Run statements for each thread, one thread after the other."""
        if not parts:
            return []
        whole = seq(parts)
        for variable, extent in reversed(self.launch.threads.values()):
            whole = loop(variable, extent, whole)
        return [whole]

    def split(self, stmt: Any) -> Any:
        """A statement for all threads; those between barriers are run for each thread before the next is begun."""
        if not _has_barrier(stmt):
            return seq(self.over([self.serial(stmt)]))
        if isinstance(stmt, tirx.SeqStmt):
            done: list[Any] = []
            run: list[Any] = []
            for each in stmt.seq:
                if _has_barrier(each):
                    done += [*self.over(run), self.split(each)]
                    run = []
                else:
                    run.append(self.serial(each))
            return seq([*done, *self.over(run)])
        if isinstance(stmt, tirx.Evaluate):
            return self.accesses.step()
        return self.around(stmt, self.split, self.uniform, "it has a barrier in a {}")

    def uniform(self, value: Any) -> Any:
        found, checks = self.expression(value)
        threads = [variable for variable, _ in self.launch.threads.values()]
        if checks or any(each.same_as(one) for each in found_in(found, ir.Var) for one in threads):
            raise NotChecked(f"a barrier is in divergent code, under `{value}`")
        return found

    # -- one thread

    def serial(self, stmt: Any) -> Any:
        """A statement without a barrier, as one thread runs it."""
        if isinstance(stmt, tirx.SeqStmt):
            return seq([self.serial(each) for each in stmt.seq])
        if isinstance(stmt, tirx.AttrStmt):
            if "async" in stmt.attr_key:
                raise NotChecked("it copies asynchronously")
            return self.serial(stmt.body)
        if isinstance(stmt, tirx.AllocBuffer):
            scope = str(stmt.buffer.ty.storage_scope)
            self.accesses.allocate(stmt.buffer, "shared" if scope.startswith("shared") else scope or "local")
            return seq([])
        if isinstance(stmt, tirx.DeclBuffer):
            return self.declare(stmt)
        if isinstance(stmt, tirx.Bind):
            value, checks = self.expression(stmt.value)
            if not checks and not reads(value):
                self.values[stmt.var] = value
                return seq([])
            kept = self.accesses.register(value.ty.dtype, stmt.var.name)
            self.values[stmt.var] = tirx.BufferLoad(*kept)
            return seq([*checks, tirx.BufferStore(kept[0], value, kept[1])])
        if isinstance(stmt, tirx.For):
            (start, first), (extent, second) = self.expression(stmt.min), self.expression(stmt.extent)
            if not reads(start) and not reads(extent):
                self.accesses.bound(stmt.loop_var, start, extent)
            return seq([*first, *second, loop(stmt.loop_var, extent, self.serial(stmt.body), start)])
        if isinstance(stmt, tirx.IfThenElse):
            condition, checks = self.expression(stmt.condition)
            inner = self.under(condition, lambda: self.serial(stmt.then_case))
            other = stmt.else_case and self.serial(stmt.else_case)
            return seq([*checks, tirx.IfThenElse(condition, inner, other)])
        if isinstance(stmt, tirx.While):
            condition, _ = self.expression(stmt.condition)
            return tirx.While(condition, self.serial(stmt.body))
        if isinstance(stmt, tirx.BufferStore):
            return self.accesses.store(stmt, self.expression)
        if isinstance(stmt, tirx.Evaluate):
            value, checks = self.expression(stmt.value)
            return seq([*checks, tirx.Evaluate(value)])
        if isinstance(stmt, (tirx.Break, tirx.Continue)):
            return stmt
        if isinstance(stmt, tirx.AssertStmt):
            return seq([])
        raise NotChecked(f"it has a {type(stmt).__name__}")

    def under(self, condition: Any, work: Any) -> Any:
        """Call a function of no parameters with a condition known to hold."""
        if reads(condition):
            return work()
        with self.accesses.analyzer.constraint_scope(condition):
            return work()

    def expression(self, value: Any) -> tuple[Any, list[Any]]:
        """An expression that reads nothing outside of a buffer, and the tests of its reads, to be run before it."""
        checks: list[Any] = []
        guards: list[Any] = []

        def variable(var: Any, _mutator: Any) -> Any:
            return self.values.get(var, var)

        def let(each: Any, mutator: Any) -> Any:
            self.values[each.var] = mutator.mutate(each.value)
            return mutator.mutate(each.body)

        def under(test: Any, part: Any, mutator: Any) -> Any:
            guards.append(test)
            try:
                return self.under(test, lambda: mutator.mutate(part))
            finally:
                guards.pop()

        def call(each: Any, mutator: Any) -> Any:
            name = _op(each)
            if name == "if_then_else":
                test = mutator.mutate(each.args[0])
                sides = (test, each.args[1]), (tirx.Not(test), each.args[2])
                return tirx.if_then_else(test, *(under(holds, part, mutator) for holds, part in sides))
            if _FOREIGN.search(name):
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
            read, made = self.accesses.load(each.source, [mutator.mutate(one) for one in each.indices], guards)
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
