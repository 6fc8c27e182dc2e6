"""A kernel between two steps of its schedule: its loops, blocks and buffers with their bytes, and the facts of its launches."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import tvm
from tvm import s_tir, tirx

from workbench.analysis.occupancy import occupancy
from workbench.analysis.tensors import Tensor
from workbench.dialects.compiler.results import LoopRow, ScheduleState
from workbench.dialects.relax import compat
from workbench.dialects.relax.compiler.decisions import whole
from workbench.dialects.relax.compiler.kernel_inputs import buffers_of
from workbench.dialects.relax.kinds import arguments_of, parts_of, prim_funcs, statements_of

_KINDS = {1: "parallel", 2: "vectorized", 3: "unrolled"}
"tirx.ForKind"
Known = dict[Hashable, tuple[list[Any], object]]
"what blocks touch, which is the same in states that share them"


def state_of(module: Any, known: Known, limits: Mapping[str, Any]) -> ScheduleState:
    """Return the state of a module of one kernel; `limits` are the target's attributes."""
    (function,) = prim_funcs(module).values()
    walk = _Walk(_compact(module), known)
    walk.visit(function.body, 0, ())
    # without the imports that TVM prints as comments
    bare = re.sub(r"^# from tvm\b.*\n+", "", module.script(), flags=re.MULTILINE)
    sizes = [_size(each) for each in buffers_of(function) if each is not None]
    known_sizes = sum(each for each in sizes if each is not None) if None not in sizes else None
    return ScheduleState(bare, tuple(walk.rows), walk.facts(limits), _flops(module), known_sizes)


def loops_of(module: Any) -> Iterator[LoopRow]:
    """Yield the loops, blocks and buffers of each PrimFunc of a module."""
    for name, function in prim_funcs(module).items():
        walk = _Walk(_compact(tvm.IRModule({name: function})), {})
        walk.visit(function.body, 1, ())
        yield LoopRow(0, "block", name, ", ".join(str(each.name) for each in arguments_of(function)))
        # a loop without blocks has no known regions
        yield from (replace(row, bytes=row.bytes or None) for row in walk.rows)


def _flops(module: Any) -> float | None:
    try:
        return float(s_tir.analysis.estimate_tir_flops(module)) or None
    except Exception:  # noqa: BLE001  TVM raises errors of several classes for symbolic sizes
        return None


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
        lowered = tvm.transform.Sequential([getattr(s_tir.transform, each)() for each in passes])(module)
        (function,) = prim_funcs(lowered).values()
        buffers = (each for part in statements_of(function.body) for each in getattr(part, "alloc_buffers", ()))
        found = {str(each.name): _size(each) for each in buffers}
    return found


def _size(buffer: Any) -> int | None:
    known = Tensor(tuple(whole(each) for each in buffer.shape), str(buffer.dtype))
    return known.nbytes if known.known else None


class _Walk:
    """Reads the loops, blocks and buffers of a kernel."""

    def __init__(self, compact: Mapping[str, int | None], known: Known) -> None:
        self.rows: list[LoopRow] = []
        self._compact, self._known = compact, known
        self.threads: list[dict[str, set[Any]]] = []
        "for each launch, the extents of its threads and blocks"
        self._touched: dict[int, dict[int, int | None]] = {}
        "place of a loop's row -> buffer -> bytes"

    def visit(self, statement: Any, depth: int, loops: tuple[tuple[Any, int], ...]) -> None:
        kind = type(statement).__name__
        if kind == "For":
            self._loop(statement, depth, loops)
        elif kind.endswith("BlockRealize"):
            self._block(statement, depth, loops)
        else:
            for part in parts_of(statement):
                self.visit(part, depth, loops)

    def _loop(self, loop: Any, depth: int, loops: tuple[tuple[Any, int], ...]) -> None:
        tag = str(loop.thread_binding.thread_tag) if loop.thread_binding is not None else ""
        extent = whole(loop.extent)
        notes = [f"{key.removeprefix('pragma_')}={whole(value)}" for key, value in dict(loop.annotations).items()]
        bound = tag or _KINDS.get(int(loop.kind), "")
        if tag:
            if not any(self.rows[place].bound.startswith(("block", "thread")) for _, place in loops):
                self.threads.append({})
            self.threads[-1].setdefault(tag, set()).add(extent)
        place = len(self.rows)
        how = " ".join([bound, *notes]).strip()
        self.rows.append(LoopRow(depth, "loop", str(loop.loop_var.name), str(extent), how))
        self.visit(loop.body, depth + 1, (*loops, (loop, place)))
        touched = self._touched.pop(place, {})
        counts = [each for each in touched.values() if each is not None]
        if len(counts) == len(touched):
            self.rows[place] = replace(self.rows[place], bytes=sum(counts))

    def _block(self, realize: Any, depth: int, loops: tuple[tuple[Any, int], ...]) -> None:
        block = realize.block
        root = str(block.name_hint) == "root" and not loops
        if not root:
            reads, writes = (", ".join(_names(side)) for side in (block.reads, block.writes))
            self.rows.append(LoopRow(depth, "block", str(block.name_hint), f"{reads} → {writes}".strip()))
            self._touch(realize, loops)
        for buffer in block.alloc_buffers:
            count, scope = self._compact.get(str(buffer.name), _size(buffer)), str(buffer.scope()) or "global"
            words = f"{buffer.dtype}[{', '.join(str(whole(each)) for each in buffer.shape)}]"
            self.rows.append(LoopRow(depth + (not root), "buffer", str(buffer.name), words, scope, count))
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
            found = [[size for tag, size in each.items() if tag.startswith(prefix)] for each in self.threads]
            return [math.prod(max(n if isinstance(n, int) else 0 for n in size) for size in each) for each in found]

        scopes = Counter[str]()
        for row in self.rows:
            if row.kind == "buffer":
                scopes[row.bound] += row.bytes or 0
        found = {}
        if self.threads:
            found["threads a block"] = allowed(launches("threadIdx"), "max_num_threads")
            found["blocks"] = allowed(launches("blockIdx"), "")
        for tag, size in {tag: size for each in self.threads for tag, size in each.items() if len(size) > 1}.items():
            found[f"extents of {tag}"] = (
                f"{', '.join(sorted(map(str, size)))} (TVM takes one for all, without an error)"
            )
        shared = sum(count for scope, count in scopes.items() if scope.startswith("shared"))
        for threads in launches("threadIdx")[:1] if len(self.threads) == 1 else ():
            held = occupancy(str(limits.get("arch", "")), threads, shared)
            if held is not None:
                found["occupancy"] = held
        for scope, count in scopes.items():
            if count and scope != "global":
                of, limit = ("thread", "") if scope == "local" else ("block", "max_shared_memory_per_block")
                found[f"{scope} bytes a {of}"] = allowed([count], limit)
        vectors = {row.extent for row in self.rows if row.kind == "loop" and row.bound.startswith("vectorized")}
        if vectors:
            found["vector width"] = ", ".join(sorted(vectors))
        return found


def _touched(realize: Any, loops: Sequence[Any]) -> Iterator[list[tuple[int, int | None]]]:
    """Yield for each loop around a block the bytes of each buffer that the block touches in one run of the loop."""
    block, true = realize.block, tirx.const(True, "bool")
    analyzer = compat.arithmetic().Analyzer()
    for depth in range(len(loops)):
        inner = {loop.loop_var: tvm.ir.Range.from_min_extent(loop.min, loop.extent) for loop in loops[depth:]}

        def sizes(region: Any, domain: Any) -> list[tuple[Any, Any]]:
            sets = compat.arithmetic().estimate_region_upper_bound(region, domain, true, analyzer)
            return [(each.min_value, analyzer.simplify(each.max_value - each.min_value + 1)) for each in sets]

        values = [tvm.ir.Range.from_min_extent(value, value - value + 1) for value in realize.iter_values]
        pairs = zip(block.iter_vars, sizes(values, inner), strict=True)
        domain = {variable.var: tvm.ir.Range.from_min_extent(*size) for variable, size in pairs}
        found = []
        for region in [*block.reads, *block.writes]:
            buffer = compat.buffer_of(region)
            count: int | None = Tensor((), str(buffer.dtype)).nbytes
            for (_, extent), most in zip(sizes(region.region, domain), buffer.shape, strict=True):
                # at most the whole buffer: the last tile may reach over its end
                parts = [each for each in (whole(extent), whole(most)) if isinstance(each, int)]
                count = count * min(parts) if parts and count is not None else None
            found.append((hash(buffer), count))
        yield found


def _names(regions: Iterable[Any]) -> Iterable[str]:
    """Return the names of the buffers of regions, each once."""
    return dict.fromkeys(str(compat.buffer_of(each).name) for each in regions)
