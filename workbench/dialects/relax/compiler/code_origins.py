"""The loops and blocks that the lines of a kernel's generated code come from.

The kernel is built again with marks around its loops and blocks: a statement before and after them in C, the places of a source
in the debug information of LLVM. Lines are known only if the code without the marks is the same text.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import tvm
import tvm_ffi
from tvm import ir, s_tir, tirx

from workbench.dialects.compiler.results import LoopRow
from workbench.dialects.relax import compat
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
    if form in ("ptx", "tir"):
        raise MeasureError(
            "which block a line comes from is known for C, CUDA C, LLVM and assembly, and not for this code"
        )
    # a pass that looks for the parts of a kernel by their form may not find a loop, or a block with annotations, in a mark
    found = None
    for complete in (True, False):
        found = _origins(replay, form, code, complete) or found
        if found and set(found) != {None}:
            return found
    because = "with marks around blocks TVM makes other code"
    if found:
        because = "the code has no places of a source, as assembly of a parallel loop"
    raise MeasureError(f"which block a line comes from is not known: {because}")


def _origins(replay: Replay, form: str, code: str, complete: bool) -> list[int | None] | None:
    """Return the rows of lines; None if marks change the code. `complete`: with marks around loops, and blocks with annotations."""
    token = f"mark {secrets.token_hex(16)}"
    column = FAR + secrets.randbelow(5000)
    mark, read = {
        "llvm": (_as_place(column), partial(_llvm, column)),
        "asm": (_as_place(column), partial(_assembly, column)),
    }.get(form, (_as_lines(token), partial(_c, token)))
    try:
        with _marks_as(mark):
            made = replay.code(form, _marked(replay.module, replay.states[-1].rows, token, complete))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  TVM raises errors of several classes where it does not take marks
        return None
    plain, marked = list(read(code.split("\n"))), [line for line in read(made.split("\n")) if line[0] is not None]
    if token in code or [text for text, _ in plain if text is not None] != [text for text, _ in marked]:
        return None
    rows = iter([row for _, row in marked])
    found = [None if text is None else next(rows) for text, _ in plain]
    known = {row for row in found if row is not None}
    return found if known <= {*range(len(replay.states[-1].rows))} else None


Lines = Iterator[tuple[str | None, int | None]]
"the text of each line that is not of a mark, as it is in any build, and its row"


def _c(token: str, lines: Sequence[str]) -> Lines:
    within = list[int]()
    for line in lines:
        mark = re.fullmatch(rf'\s*"{token} (begin|end) (\d+)";', line)
        if mark and mark[1] == "begin":
            within.append(int(mark[2]))
        elif mark and within[-1:] == [int(mark[2])]:
            within.pop()
        yield None if mark else line, within[-1] if within else None
    if within:
        yield "a loop or block without an end", None


def _llvm(column: int, lines: Sequence[str]) -> Lines:
    place = re.compile(rf"!(\d+) = !DILocation\(line: (\d+), column: {column},")
    rows = {found[1]: int(found[2]) - 1 for found in map(place.match, lines) if found}
    for line in lines:
        # the numbers of metadata are others in each build
        text = None if line.startswith("!") else re.sub(r"!\d+", "!", line)
        used = re.findall(r"(?:!dbg|^ +#dbg_.*,) !(\d+)", line)
        yield text, rows.get(used[-1]) if used else None


def _assembly(column: int, lines: Sequence[str]) -> Lines:
    row, ended = None, False
    for line in lines:
        place = re.match(r"\s*\.loc\s+\d+ (\d+) (\d+)", line)
        if place:
            # line 0 is of no place, or of several
            row = int(place[1]) - 1 if int(place[1]) and int(place[2]) == column else None
        row = None if ".cfi_endproc" in line else row
        ended = ended or re.match(r"\s*\.section\s+\.debug", line) is not None
        yield None if place or ended or re.fullmatch(r"\.Ltmp\d+:", line) else line, row


FAR = 60_000
"columns that no source has"
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
        name = f"{token} {entered('block', each.name_hint)}"
        return compat.replaced(each, {"name_hint": name, "body": mutator.mutate(each.body)})

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


Mark = Callable[[int, Any], Any]
"makes the statement of a row from the statement in its mark"


def _as_lines(token: str) -> Mark:
    def made(row: int, body: Any) -> Any:
        begin, end = (tirx.Evaluate(ir.StringImm(f"{token} {word} {row}")) for word in ("begin", "end"))
        return tirx.SeqStmt([begin, body, end])

    return made


def _as_place(column: int) -> Mark:
    """Return what gives each statement in a mark a place in a source, which TVM writes for LLVM: the row's line, and the column."""
    kinds = tirx.For, tirx.IfThenElse, tirx.BufferStore, tirx.Bind, tirx.Evaluate
    nowhere, nothing = ir.Span(ir.SourceName("rows"), 1, 1, 1, 1), tirx.const(0.0, "float32")

    def made(row: int, body: Any) -> Any:
        span = ir.Span(ir.SourceName("rows"), row + 1, row + 1, column, column)

        def placed(each: Any, mutator: Any) -> Any:
            if each.span is not None and each.span.column == column:
                return each
            return compat.replaced(mutator.default_mutate(each), {"span": span})

        # TVM gives the code after a statement its place, as the step of the loop around it
        inner = tvm_ffi.structural_mutate(body, [(kinds, placed)])
        return tirx.SeqStmt([inner, tirx.Evaluate(nothing, span=nowhere)])

    return made


@contextmanager
def _marks_as(mark: Mark) -> Iterator[None]:
    """Make statements of the marks while the block runs, before TVM's first pass that stops at an attribute."""
    own = tirx.transform.CommonSubexprElim

    def marked(each: Any, mutator: Any) -> Any:
        made = mutator.default_mutate(each)
        return made if made.attr_key != _MARK else mark(whole(made.value), made.body)

    @tirx.transform.prim_func_pass(opt_level=0)
    def lines(function: Any, _module: Any, _context: Any) -> Any:
        return function.with_body(tvm_ffi.structural_mutate(function.body, [(tirx.AttrStmt, marked)]))

    tirx.transform.CommonSubexprElim = lambda: tvm.transform.Sequential([lines, own()])
    try:
        yield
    finally:
        tirx.transform.CommonSubexprElim = own
