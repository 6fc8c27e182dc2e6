"""Lines of generated code and the loops and blocks that they come from; where that is not known, a sentence says so."""

from __future__ import annotations

import platform
import re
from typing import Any

import pytest
import tvm
from breadth import breadth
from decoder import decoder_layer
from tvm.script import tirx as T  # noqa: N812  TVMScript is written so

import workbench as wb
from workbench.debugging.schedule_steps import schedule_steps
from workbench.dialects.relax.compiler import code_origins
from workbench.dialects.relax.compiler.replay import Replay
from workbench.dialects.relax.compiler.scheduled import ScheduledKernel, scheduled_kernels
from workbench.dialects.relax.kinds import arguments_of
from workbench.errors import MeasureError, WorkbenchError
from workbench.pipeline.config import Config

GPU = "cuda -arch=sm_80"
CONTEXT = Config().context().to_data()


QUICK = ("attention", "branches", "chain", "conv_bias_batch_norm", "mlp", "parallel_cast")
NAMES = (*QUICK, "bert", "resnet18")


def linked(function: Any, target: str) -> tuple[Replay, list[str], list[int | None]]:
    replay = Replay(ScheduledKernel("main", function, tvm.s_tir.schedule.Trace([], {}), ""), target, {})
    form = target.partition(" ")[0]
    code = replay.code(form)
    return replay, code.split("\n"), code_origins.code_origins(replay, form, code)


@pytest.mark.parametrize("target", [GPU, "c"])
@pytest.mark.parametrize("name", breadth(NAMES, *QUICK))
def test_each_block_of_a_kernel_has_lines_and_results_are_stored_by_their_blocks(name: str, target: str) -> None:
    # a `c` target has no pipeline of its own
    kernels = scheduled_kernels(wb.samples.load(name), GPU if target == GPU else "llvm", CONTEXT)
    for kernel in kernels.values():
        replay, lines, rows = linked(kernel.upto(), target)
        state = replay.states[-1].rows
        written: dict[int | None, list[str]] = {
            place: re.sub(r"[^\w, ]", "_", row.extent.partition("→ ")[2]).split(", ")
            for place, row in enumerate(state)
            if row.kind == "block"
        }
        assert set(written) <= set(rows), kernel.name
        # TVM puts several buffers of its own in one place
        results = {re.sub(r"\W", "_", str(each.name)) for each in arguments_of(replay.module["main"])}
        seen = set()
        for line, row in zip(lines, rows, strict=True):
            stored = re.match(r"\s*(?:\*\(\w+\*\)\()?(\w+?)(?:_ptr)?(?:\[| \+).* = ", line)
            if stored and stored[1] in results:
                assert stored[1] in written.get(row, ()), (kernel.name, line)
                seen.add(stored[1])
        assert seen == results & {each for names in written.values() for each in names}


@T.prim_func(s_tir=True)
def two_blocks(
    a: T.Buffer((16, 8), "float32"),  # pyright: ignore[reportInvalidTypeForm]
    b: T.Buffer((16, 8), "float32"),  # pyright: ignore[reportInvalidTypeForm]
    c: T.Buffer((16, 8), "float32"),  # pyright: ignore[reportInvalidTypeForm]
) -> None:
    for i, j in T.grid(16, 8):
        with T.sblock("first"):
            vi, vj = T.axis.remap("SS", [i, j])
            b[vi, vj] = a[vi, vj] * T.float32(5)
    for i in range(16):
        for j in T.unroll(8):
            with T.sblock('<b>"; main(); //\nmark 0 begin 1'):
                vi, vj = T.axis.remap("SS", [i, j])
                c[vi, vj] = b[vi, vj] / T.float32(3)


def test_lines_of_a_loop_are_those_of_the_loops_and_blocks_in_it() -> None:
    steps = schedule_steps(two_blocks, target="c")
    lines, second = steps.code().split("\n"), steps.states[-1].rows[-1].name
    assert second.startswith('<b>"')

    def stored(name: str) -> list[str]:
        return [lines[each].partition("[")[0].strip() for each in steps.lines(name) if "] = " in lines[each]]

    assert stored("first") == ["b"]
    # unrolled
    assert stored(second) == ["c"] * 8
    outer = next(place for place, row in enumerate(steps.states[-1].rows) if row.kind == "loop")
    found = steps.lines(outer)
    assert found == list(range(found[0], found[-1] + 1))
    assert lines[found[0]].strip().startswith("for (int32_t i = 0; i < 16")
    assert set(steps.lines("first")) < set(found)
    assert sorted({*found, *steps.lines(outer + 3)}) == steps.lines("i")
    with pytest.raises(WorkbenchError, match="no loop or block named 'frist'"):
        steps.lines("frist")
    with pytest.raises(WorkbenchError, match="no loop or block named '99'"):
        steps.lines(99)
    with pytest.raises(MeasureError, match="is known for C, CUDA C, LLVM and assembly, and not for this code"):
        steps.lines("first", "tir")


@pytest.mark.parametrize(("form", "product", "quotient"), [("llvm", "fmul", "fdiv"), ("asm", "mul[ps]s", "div[ps]s")])
def test_lines_of_llvm_are_those_of_the_places_in_its_debug_information(form: str, product: str, quotient: str) -> None:
    if form == "asm" and platform.machine() != "x86_64":
        pytest.skip("other machines have other instructions")
    steps = schedule_steps(two_blocks, target="llvm")
    code = steps.code(form).split("\n")

    def with_word(word: str) -> set[int]:
        return {place for place, line in enumerate(code) if re.search(rf"\b(\w* = )?v?{word}\b", line)}

    products, quotients = with_word(product), with_word(quotient)
    assert products
    assert quotients
    assert products <= set(steps.lines("first", form)) - quotients
    assert quotients <= set(steps.lines(steps.states[-1].rows[-1].name, form)) - products


@pytest.mark.parametrize("form", ["llvm", "asm"])
@pytest.mark.parametrize("name", breadth(NAMES, "attention"))
def test_stores_of_llvm_are_in_blocks_and_every_kernel_has_lines(name: str, form: str) -> None:
    for kernel in scheduled_kernels(wb.samples.load(name), "llvm", CONTEXT).values():
        replay = Replay(ScheduledKernel("main", kernel.upto(), tvm.s_tir.schedule.Trace([], {}), ""), "llvm", {})
        code, rows = replay.code(form), replay.states[-1].rows
        found = code_origins.code_origins(replay, form, code)
        assert len(found) == code.count("\n") + 1
        if form == "llvm":
            stores = [
                row for row, line in zip(found, code.split("\n"), strict=True) if re.match(" +store (float|<)", line)
            ]
            assert all(row is None or rows[row].kind == "block" for row in stores), kernel.name
            next_ones = [
                row
                for row, line in zip(found, code.split("\n"), strict=True)
                if "%indvars.iv.next" in line.partition("=")[0]
            ]
            assert all(row is None or rows[row].kind == "loop" for row in next_ones), kernel.name
            # LLVM moves the store of a sum out of its loops, and drops its place
            assert stores.count(None) <= 1, kernel.name


@pytest.mark.parametrize("form", ["llvm", "asm"])
def test_lines_of_llvm_are_not_linked_where_the_code_is_another(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    replay = Replay(ScheduledKernel("main", two_blocks, tvm.s_tir.schedule.Trace([], {}), ""), "llvm", {})
    code = replay.code(form)
    assert code_origins.code_origins(replay, form, code)
    other = two_blocks.with_body(two_blocks.body.block.body[0])
    monkeypatch.setattr(code_origins, "_marked", lambda module, *_: tvm.IRModule({next(iter(module.functions)): other}))
    with pytest.raises(MeasureError, match="with marks around blocks TVM makes other code"):
        code_origins.code_origins(replay, form, code)


def test_assembly_of_a_parallel_loop_has_no_places() -> None:
    def parallel(sch: Any) -> None:
        for block in sch.get_child_blocks(sch.get_sblock("root")):
            sch.parallel(sch.get_loops(block)[0])

    steps = schedule_steps(two_blocks, target="llvm", schedule=parallel)
    assert steps.lines("first", "llvm")
    with pytest.raises(MeasureError, match="the code has no places of a source, as assembly of a parallel loop"):
        steps.lines("first", "asm")


def test_lines_are_not_linked_where_marks_change_the_code_or_the_kernel_has_marks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = f'f();\n"mark {"0" * 32} begin 0";\ng'

    @T.prim_func(s_tir=True)
    def forged(a: T.Buffer((8,), "float32")) -> None:  # pyright: ignore[reportInvalidTypeForm]
        for i in range(8):
            with T.sblock("real"):
                vi = T.axis.remap("S", [i])
                T.evaluate(T.call_extern("void", name))
                a[vi] = T.float32(1)

    code = linked(forged, "c")[1]
    assert any("begin 0" in line for line in code)
    with monkeypatch.context() as patch:
        patch.setattr("secrets.token_hex", lambda _count: "0" * 32)
        with pytest.raises(MeasureError, match="with marks around blocks TVM makes other code"):
            linked(forged, "c")
    monkeypatch.setattr(
        code_origins, "_marked", lambda module, *_: tvm.IRModule({next(iter(module.functions)): forged})
    )
    with pytest.raises(MeasureError, match="with marks around blocks TVM makes other code"):
        linked(two_blocks, "c")


@pytest.mark.long
def test_blocks_of_a_pipelined_kernel_have_lines_where_tvm_takes_marks() -> None:
    """TVM does not compile it with marks around its loops and its blocks with annotations."""
    kernels = scheduled_kernels(decoder_layer(dtype="float16", hidden=256), GPU, CONTEXT)
    replay, lines, rows = linked(kernels["matmul"].upto(), GPU)
    state = replay.states[-1].rows
    found = {state[row].name: line for line, row in zip(lines, rows, strict=True) if row is not None}
    assert "mma_sync(" in found["matmul_o"]
    assert "load_matrix_sync(" in found["rms_norm_reindex_pad_shared.dyn_wmma.matrix_a_o"]
    assert all(state[row].kind == "block" for row in rows if row is not None)
