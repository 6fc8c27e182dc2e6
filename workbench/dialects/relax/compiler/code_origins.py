"""The loops and blocks that the lines of a kernel's generated code come from.

The kernel is built again with marks around its loops and blocks. Lines are known only if the code without the marks is the same text.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tvm
import tvm_ffi
from tvm import ir, s_tir, tirx

from workbench.dialects.compiler.built import SOURCES
from workbench.dialects.compiler.results import LoopRow
from workbench.dialects.relax.compiler.decisions import whole
from workbench.dialects.relax.compiler.replay import Replay
from workbench.dialects.relax.kinds import prim_funcs
from workbench.errors import MeasureError


def code_origins(replay: Replay, form: str, code: str) -> list[int | None]:
    """Return the row of the last state that each line of the generated code comes from: the innermost loop or block.

    Raises MeasureError: that is not known.
    """
    if not hasattr(s_tir, "SBlock"):
        raise MeasureError("which block a line comes from is known with TVM 0.27 or newer")
    if form in (*SOURCES, "ptx", "tir"):
        raise MeasureError("which block a line comes from is known for C and CUDA C, and not for this code")
    # a pass that looks for the parts of a kernel by their form may not find a loop, or a block with annotations, in a mark
    found = _origins(replay, form, code, True) or _origins(replay, form, code, False)
    if found is None:
        raise MeasureError("which block a line comes from is not known: with marks around blocks TVM makes other code")
    return found


def _origins(replay: Replay, form: str, code: str, complete: bool) -> list[int | None] | None:
    """Return the rows of lines; None if marks change the code. `complete`: with marks around loops, and blocks with annotations."""
    token = f"mark {secrets.token_hex(16)}"
    try:
        with _marks_as_lines(token):
            made = replay.code(form, _marked(replay.module, replay.states[-1].rows, token, complete))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  TVM raises errors of several classes where it does not take marks
        return None
    lines, rows, within = list[str](), list[int | None](), list[int]()
    for line in made.split("\n"):
        mark = re.fullmatch(rf'\s*"{token} (begin|end) (\d+)";', line)
        if mark and mark[1] == "begin":
            within.append(int(mark[2]))
        elif mark and within[-1:] == [int(mark[2])]:
            within.pop()
        else:
            lines.append(line)
            rows.append(within[-1] if within else None)
    return rows if "\n".join(lines) == code and not within and set(rows) - {None} else None


_MARK = "workbench_row"
"an attribute of statements, which TVM's passes keep"


def _marked(module: Any, rows: Sequence[LoopRow], token: str, complete: bool) -> Any:
    """Return a module of one kernel with an attribute around loops and blocks: their place in the rows of the kernel's state."""
    (name,), (function,) = prim_funcs(module), prim_funcs(module).values()
    wanted = [(place, row.kind, row.name) for place, row in enumerate(rows) if row.kind != "buffer"]
    seen: list[tuple[str, str]] = []
    loops: dict[int, int] = {}

    def entered(kind: str, name: object) -> int:
        seen.append((kind, str(name)))
        return wanted[len(seen) - 1][0]

    def loop(each: Any, mutator: Any) -> Any:
        loops[hash(each.loop_var)] = entered("loop", each.loop_var.name)
        return mutator.default_mutate(each)

    def named(each: Any, mutator: Any) -> Any:
        if each.name_hint == "root" and each.same_as(function.body.block):
            return mutator.default_mutate(each)
        name, parts = f"{token} {entered('block', each.name_hint)}", (each.iter_vars, each.reads, each.writes)
        kept = each.init, each.alloc_buffers, each.match_buffers, each.annotations
        return s_tir.SBlock(*parts, name, mutator.mutate(each.body), *kept)

    def marked(each: Any, mutator: Any) -> Any:
        loop, made = isinstance(each, tirx.For), mutator.default_mutate(each)
        found = None if loop else re.match(rf"{token} (\d+)", each.block.name_hint)
        place = loops.get(hash(each.loop_var)) if loop else found and int(found[1])
        taken = complete or not (loop or each.block.annotations)
        return made if place is None or not taken else tirx.AttrStmt(0, _MARK, place, made)

    def mutated(module: Any, entries: Sequence[tuple[Any, Any]]) -> Any:
        (function,) = prim_funcs(module).values()
        return tvm.IRModule({name: function.with_body(tvm_ffi.structural_mutate(function.body, entries))})

    made = mutated(module, [(tirx.For, loop), (s_tir.SBlock, named)])
    if seen != [each[1:] for each in wanted] or len(loops) != sum(kind == "loop" for kind, _ in seen):
        raise MeasureError("the loops and blocks are not those of the state")
    # it makes several blocks of a reduction over threads, whose names begin with that of the block, and drops what is around it
    made = s_tir.transform.LowerCrossThreadReduction()(s_tir.transform.CanonicalizeLoop()(made))
    return mutated(made, [((tirx.For, s_tir.SBlockRealize), marked)])


@contextmanager
def _marks_as_lines(token: str) -> Iterator[None]:
    """Make statements of the marks while the block runs, before TVM's first pass that stops at an attribute."""
    own = tirx.transform.CommonSubexprElim

    def marked(each: Any, mutator: Any) -> Any:
        if each.attr_key != _MARK:
            return mutator.default_mutate(each)
        begin, end = (tirx.Evaluate(ir.StringImm(f"{token} {word} {whole(each.value)}")) for word in ("begin", "end"))
        return tirx.SeqStmt([begin, mutator.mutate(each.body), end])

    @tirx.transform.prim_func_pass(opt_level=0)
    def lines(function: Any, _module: Any, _context: Any) -> Any:
        return function.with_body(tvm_ffi.structural_mutate(function.body, [(tirx.AttrStmt, marked)]))

    tirx.transform.CommonSubexprElim = lambda: tvm.transform.Sequential([lines, own()])
    try:
        yield
    finally:
        tirx.transform.CommonSubexprElim = own
