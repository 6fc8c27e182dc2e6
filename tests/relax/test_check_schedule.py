"""`wb.check_schedule`: TVM's own schedules are equal, each planted fault is found, and the step of a fault is that at which it was planted."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import tvm
import tvm_ffi
from breadth import breadth
from decoder import decoder_layer
from schedule_faults import KINDS, Planted, missing_sync, without_start, wrong_bound, wrong_reuse
from tvm import relax, tirx
from tvm.script import tirx as T  # noqa: N812  TVMScript is written so

import workbench as wb
from workbench.commands import PASS_FAILED
from workbench.debugging.schedule_checks import at
from workbench.dialects.compiler.results import ScheduleCheck
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relax.compiler import emulated
from workbench.dialects.relax.compiler.scheduled import ScheduledKernel, scheduled_kernels
from workbench.dialects.relax.kinds import prim_funcs
from workbench.errors import MeasureError, UnknownName, Untrusted
from workbench.experiments.symptoms import ROLE
from workbench.jobs import schedule_checks
from workbench.jobs.schedule_checks import checked
from workbench.pipeline.config import Config
from workbench.worker.parent import Worker, worker

GPU = "cuda -arch=sm_80"
WRONG = ("different", "race", "outside")


@cache
def kernels(model: str) -> Mapping[str, ScheduledKernel]:
    workload = decoder_layer() if model == "decoder" else wb.samples.load(model)
    return scheduled_kernels(workload, GPU, Config().context().to_data())


# -- TVM's own schedules


SHORT = ("mlp", "conv_bias_batch_norm")


@pytest.mark.parametrize("model", breadth((*SHORT, "attention", "parallel_cast", "chain", "branches"), *SHORT))
def test_schedules_of_the_samples_are_equal(model: str) -> None:
    found = wb.check_schedule(wb.samples.load(model), GPU)
    assert {check.verdict for check in found} == {"equal"}, str(found)
    assert not found.wrong
    assert all(found)


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_schedules_of_a_decoder_with_a_symbolic_sequence_are_equal(dtype: str) -> None:
    found = wb.check_schedule(decoder_layer(dtype=dtype), GPU)
    assert {check.verdict for check in found} == {"equal"}, str(found)
    assert found["matmul"].sizes == "n = 1, 7, 32, 33"
    assert found["matmul"].runs == 8


def test_a_kernel_that_is_sent_has_the_same_schedule() -> None:
    for kernel in kernels("conv_bias_batch_norm").values():
        sent = ScheduledKernel.of_data(kernel.to_data())
        assert tvm_ffi.structural_equal(sent.upto(), kernel.upto())


@pytest.mark.sweep
@pytest.mark.parametrize(("dtype", "out"), [("float16", "float32"), ("float16", "float16"), ("int8", "int32")])
def test_tensor_cores_are_checked_by_tvms_description_of_their_intrinsics(dtype: str, out: str) -> None:
    """TVM's import of the intrinsics alone takes half a minute."""
    kernel = scheduled_kernels(wb.load(product(128, dtype, out)), GPU, Config().context().to_data())["matmul"]
    assert any(step.kind.name == "Tensorize" for step in kernel.steps)
    assert checked(kernel, make_target(GPU)).verdict == "equal"


# -- planted faults

FAULTY = [
    ("mlp", "fused_matmul_add_relu"),
    ("mlp", "transpose"),
    ("conv_bias_batch_norm", "fused_conv2d_add"),
    ("attention", "softmax"),
    ("attention", "matmul"),
    ("decoder", "matmul2"),
    ("decoder", "fused_matmul5_add1"),
    ("decoder", "transpose1"),
]
HARMLESS = {
    # the first sync has nothing before it, and those next to a reduction over threads repeat its own
    ("matmul", "sync 0"),
    ("softmax", "sync 0"),
    ("softmax", "sync 1"),
    # each thread writes the same value
    ("fused_matmul_add_relu", "if 0"),
    ("softmax", "if 1"),
    ("softmax", "if 3"),
    # they are factors of one product
    ("matmul2", "blockIdx.y for n in write 2"),
}


@cache
def reference(model: str, name: str) -> Any:
    return schedule_checks._Reference(kernels(model)[name], 0)


@dataclass(frozen=True)
class Faulty:
    """A kernel whose lowered form has a fault."""

    model: str
    name: str
    fault: str
    kernel: ScheduledKernel
    lowered: Any


def faults(model: str, name: str, kind: Callable[[Any], Planted]) -> list[Faulty]:
    kernel, reduced = kernels(model)[name], tvm.s_tir.transform.LowerThreadAllreduce()
    with pytest.MonkeyPatch.context() as patched:
        # TVM's own code of a reduction over threads has no faults
        patched.setattr(emulated, "LEFT_OUT", {*emulated.LEFT_OUT, emulated.LAST})
        lowered = emulated.lower(kernel.upto(), make_target(GPU))
    return [
        Faulty(model, name, fault, kernel, reduced(tvm.IRModule({"main": made}))["main"])
        for fault, made in kind(lowered)
    ]


def verdict_on(faulty: Faulty, monkeypatch: pytest.MonkeyPatch) -> str:
    known = reference(faulty.model, faulty.name)
    monkeypatch.setattr(schedule_checks, "lower", lambda _function, _target: faulty.lowered)
    found = known.against(faulty.kernel.upto(), make_target(GPU))
    monkeypatch.undo()
    return found.verdict


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("at", breadth(FAULTY, FAULTY[0]), ids=" of ".join)
def test_planted_faults_are_found(
    at: tuple[str, str], kind: Callable[[Any], Planted], monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = faults(*at, kind)
    if not planted:
        pytest.skip("the kernel has no place for this fault")
    found = {(each.name, each.fault): verdict_on(each, monkeypatch) for each in planted}
    missed = {each for each, verdict in found.items() if verdict not in WRONG}
    assert missed <= HARMLESS, missed - HARMLESS
    for each in planted:
        verdict, after = found[each.name, each.fault], 1 + zlib.crc32(each.fault.encode()) % len(each.kernel.steps)
        if verdict in WRONG:
            assert step_of(each, after, verdict, monkeypatch) == after


def step_of(faulty: Faulty, after: int, verdict: str, monkeypatch: pytest.MonkeyPatch) -> int | None:
    """Return the step that is found if the kernel has the verdict after a number of steps, and is equal before."""

    class Planted(ScheduledKernel):
        def upto(self, count: int | None = None, without: Sequence[str] = ()) -> Any:
            return count

    def against(_self: Any, count: int, _target: Any, short: bool = False) -> Any:
        assert short
        return ScheduleCheck("", verdict if count >= after else "equal")

    known = reference(faulty.model, faulty.name)
    monkeypatch.setattr(schedule_checks._Reference, "against", against)
    kernel = Planted(faulty.name, None, faulty.kernel.trace, "")
    found = schedule_checks._first(kernel, known, make_target(GPU))
    monkeypatch.undo()
    return found


@pytest.mark.long
def test_at_least_sixty_faults_are_planted() -> None:
    planted = [each for model, name in FAULTY for kind in KINDS for each in faults(model, name, kind)]
    assert len([each for each in planted if (each.name, each.fault) not in HARMLESS]) >= 60


@pytest.mark.parametrize(
    ("kind", "verdicts"),
    [
        (missing_sync, {"race"}),
        (without_start, {"different"}),
        pytest.param(wrong_reuse, {"race", "different"}, marks=pytest.mark.long),
        pytest.param(wrong_bound, {"different"}, marks=pytest.mark.long),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_the_kind_of_a_fault_is_named(
    kind: Callable[[Any], Planted], verdicts: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = [each for each in faults("decoder", "matmul2", kind) if (each.name, each.fault) not in HARMLESS]
    assert planted
    assert {verdict_on(each, monkeypatch) for each in planted} <= verdicts


# -- the step


def product(n: int, dtype: str = "float32", out: str = "float32") -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorType((n, n), dtype)) for name in "xy")
    with builder.function("main", [x, y]):
        with builder.dataflow():
            z = builder.emit_output(builder.emit(relax.op.matmul(x, y, out_dtype=out)))
        builder.emit_func_output(z)
    return builder.get()


def matmul(n: int = 20) -> Any:
    return prim_funcs(relax.transform.LegalizeOps()(product(n)))["matmul"]


def tiled(
    schedule: Any,
    fault: Callable[[Any, Any], None] | None = None,
    lanes: int = 8,
    **split: Any,
) -> None:
    """Tile a matmul; `fault` is called with the block that copies an operand to shared memory."""
    block = schedule.get_sblock("matmul")
    i, j, k = schedule.get_loops(block)
    first, inner = schedule.split(i, [None, 8])
    second, last = schedule.split(j, [None, 8], **split)
    schedule.reorder(first, second, inner, last, k)
    schedule.bind(first, "blockIdx.y")
    schedule.bind(second, "blockIdx.x")
    schedule.bind(inner, "threadIdx.y")
    schedule.bind(last, "threadIdx.x")
    outer, _ = schedule.split(k, [None, 4])
    for operand in (0, 1):
        copy = schedule.cache_read(block, operand, "shared")
        schedule.compute_at(copy, outer)
        rest = schedule.fuse(*schedule.get_loops(copy)[-2:])
        _, ty, tx = schedule.split(rest, [None, 8, lanes])
        schedule.bind(ty, "threadIdx.y")
        schedule.bind(tx, "threadIdx.x")
        if fault and operand == 0:
            fault(schedule, copy)


def test_a_schedule_of_ones_own_is_checked() -> None:
    for returned in (lambda _: None, lambda sch: sch, lambda sch: sch.mod):
        (check,) = wb.check_schedule(matmul(), GPU, schedule=lambda sch, of=returned: (tiled(sch), of(sch))[1])
        assert check.verdict == "equal", check


FAULTY_STEPS: dict[str, tuple[Callable[[Any], None], str]] = {
    "wrong scope": (lambda each: tiled(each, lambda sch, copy: sch.set_scope(copy, 0, "local")), "set_scope"),
    "dropped predicate": (lambda each: tiled(each, disable_predication=True), "disable_predication=True"),
    "wrong type": (lambda each: tiled(each, lambda sch, copy: sch.unsafe_set_dtype(copy, 0, "float16")), "float16"),
    "two extents": (lambda each: tiled(each, lanes=4), "threadIdx.x"),
}


@pytest.mark.parametrize("name", FAULTY_STEPS)
def test_the_step_of_a_faulty_schedule_is_named(name: str) -> None:
    schedule, text = FAULTY_STEPS[name]
    (check,) = wb.check_schedule(matmul(), GPU, schedule=schedule)
    assert check.verdict in WRONG, check
    assert text in check.primitive, check


def test_a_function_after_a_schedule_has_no_step() -> None:
    (check,) = wb.check_schedule(matmul(), GPU, schedule=matmul(20))
    assert (check.verdict, check.step, at(check)) == ("equal", None, "")
    (check,) = wb.check_schedule(matmul(), GPU, schedule=matmul(40))
    assert check.because.startswith("TVM cannot lower or run it on the CPU: ")


@pytest.mark.parametrize("share", [0.4, *(pytest.param(share, marks=pytest.mark.long) for share in (0.0, 0.9))])
def test_the_step_is_that_at_which_a_fault_was_planted(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernels("mlp")["fused_matmul_add_relu"]
    planted = 1 + int(share * len(kernel.steps))

    class Planted(ScheduledKernel):
        def upto(self, count: int | None = None, without: Sequence[str] = ()) -> Any:
            return super().upto(count, without).with_attr("planted", int(count is None or count >= planted))

    lower = schedule_checks.lower

    def faulty(function: Any, target: Any) -> Any:
        lowered = lower(function, target)
        wrong = "planted" not in (function.attrs or {}) or int(function.attrs["planted"])
        return next(made for _, made in wrong_bound(lowered)) if wrong and target.kind.name == "cuda" else lowered

    monkeypatch.setattr(schedule_checks, "lower", faulty)
    check = checked(Planted(kernel.name, kernel.before, kernel.trace, kernel.origin), make_target(GPU))
    assert check.verdict == "different"
    assert check.step == planted


# -- errors of TVM that the check finds: docs/explanation/hazards.md


@T.prim_func(s_tir=True)
def add_take(
    x: T.Buffer((T.int64(4), T.int64(4)), "float16"),  # pyright: ignore[reportInvalidTypeForm]
    ids: T.Buffer((T.int64(1),), "int32"),  # pyright: ignore[reportInvalidTypeForm]
    out: T.Buffer((T.int64(1), T.int64(4)), "float16"),  # pyright: ignore[reportInvalidTypeForm]
) -> None:
    added = T.sblock_alloc_buffer((T.int64(4), T.int64(4)), "float16")
    for i, j in T.grid(T.int64(4), T.int64(4)):
        with T.sblock("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            added[vi, vj] = x[vi, vj] + T.float16(1)
    for i, j in T.grid(T.int64(1), T.int64(4)):
        with T.sblock("take"):
            vi, vj = T.axis.remap("SS", [i, j])
            out[vi, vj] = added[ids[vi], vj]


@T.prim_func(s_tir=True)
def add_take_of_tvm_26(
    x: T.Buffer((T.int64(4), T.int64(4)), "float16"),  # pyright: ignore[reportInvalidTypeForm]
    ids: T.Buffer((T.int64(1),), "int32"),  # pyright: ignore[reportInvalidTypeForm]
    out: T.Buffer((T.int64(1), T.int64(4)), "float16"),  # pyright: ignore[reportInvalidTypeForm]
) -> None:
    for block in T.thread_binding(T.int64(1), thread="blockIdx.x"):
        for thread in T.thread_binding(T.int64(1024), thread="threadIdx.x"):
            with T.sblock("add"):
                v0 = T.axis.spatial(T.int64(4), (block * T.int64(1024) + thread) // T.int64(4))
                v1 = T.axis.spatial(T.int64(4), (block * T.int64(1024) + thread) % T.int64(4))
                T.where(block * T.int64(1024) + thread < T.int64(16))
                out[T.int64(0), v1] = x[v0, v1] + T.float16(1.0)


@T.prim_func(s_tir=True)
def first_row(
    x: T.Buffer((T.int64(4), T.int64(4)), "float16"),  # pyright: ignore[reportInvalidTypeForm]
    ids: T.Buffer((T.int64(1),), "int32"),  # pyright: ignore[reportInvalidTypeForm]
    out: T.Buffer((T.int64(1), T.int64(4)), "float16"),  # pyright: ignore[reportInvalidTypeForm]
) -> None:
    for thread in T.thread_binding(T.int64(4), thread="threadIdx.x"):
        with T.sblock("add"):
            v1 = T.axis.spatial(T.int64(4), thread)
            out[T.int64(0), v1] = x[T.int64(0), v1] + T.float16(1.0)


@pytest.mark.parametrize(("after", "verdict"), [(add_take_of_tvm_26, "race"), (first_row, "different")])
def test_an_index_that_a_schedule_drops_is_found(after: Any, verdict: str) -> None:
    """apache/tvm#20421: the default schedule of TVM 0.26 writes each row to the one row of the output."""
    (check,) = wb.check_schedule(add_take, GPU, schedule=after)
    assert check.verdict == verdict, check


def test_tvms_own_schedule_of_that_kernel_is_equal() -> None:
    from workbench.dialects.relax.compiler.rules import rule_of

    with make_target(GPU) as target:
        schedule = rule_of("Fallback", target).apply(add_take, target, False)
    (check,) = wb.check_schedule(add_take, GPU, schedule=schedule)
    assert check.verdict == "equal", check


# -- what cannot be checked


def test_a_check_that_ends_its_process_does_not_end_the_others(child: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    class Crashes:
        def run(self, job: str, program: Any, request: Mapping[str, Any], **limits: Any) -> Any:
            if job == "check_schedule" and request["kernel"]["name"] == "fused_matmul_add_relu":
                return child.run("jobs_that_fail:crash", wb.samples.load("mlp"), {}, **limits)
            return worker(ROLE).run(job, program, request, **limits)

    monkeypatch.setattr("workbench.debugging.schedule_checks.worker", lambda _role: Crashes())
    found = wb.check_schedule(wb.samples.load("mlp"), GPU)
    assert [check.verdict for check in found] == ["not checked", "equal"]
    assert found[0].because.startswith("TVM ended the check: ended with SIGSEGV"), found[0]


def test_registers_of_two_kernels_are_not_checked() -> None:
    def two_kernels(schedule: Any) -> None:
        block = schedule.get_sblock("matmul")
        copy = schedule.cache_read(block, 0, "local")
        for each in (copy, block):
            schedule.bind(schedule.get_loops(each)[0], "threadIdx.x")

    (check,) = wb.check_schedule(matmul(), GPU, schedule=two_kernels)
    assert (check.verdict, "outside of its kernels" in check.because) == ("not checked", True), check


def test_a_barrier_in_divergent_code_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernels("attention")["matmul"]
    lowered = schedule_checks.lower(kernel.upto(), make_target(GPU))
    axes: list[Any] = []
    tvm_ffi.structural_walk(lowered.body, [(tirx.AttrStmt, axes.append)])
    thread = next(
        each.node.var for each in axes if each.attr_key == "thread_extent" and "thread" in str(each.node.thread_tag)
    )

    def sync(each: Any, mutator: Any) -> Any:
        found = mutator.default_mutate(each)
        is_sync = str(getattr(getattr(each.value, "op", None), "name", "")).endswith("tvm_storage_sync")
        return tirx.IfThenElse(thread < 3, found, None) if is_sync else found

    lower = schedule_checks.lower
    made = lowered.with_body(tvm_ffi.structural_mutate(lowered.body, (tirx.Evaluate, sync)))
    monkeypatch.setattr(
        schedule_checks,
        "lower",
        lambda function, target: made if target.kind.name == "cuda" else lower(function, target),
    )
    check = checked(kernel, make_target(GPU))
    assert check.verdict == "not checked"
    assert "a barrier is in divergent code" in check.because


def test_a_kernel_that_is_too_large_is_not_checked() -> None:
    (check,) = wb.check_schedule(matmul(4096), GPU, schedule=tiled)
    assert check.verdict == "not checked"
    assert check.because.startswith("too large")


def test_only_a_part_of_the_blocks_of_a_large_kernel_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_checks, "SECONDS", 1e-9)
    check = checked(kernels("conv_bias_batch_norm")["fused_conv2d_add"], make_target(GPU))
    assert check.verdict == "equal"
    assert check.share < 1


def test_an_untrusted_program_is_refused() -> None:
    w = wb.samples.load("mlp")
    w.trusted = False
    with pytest.raises(Untrusted):
        wb.check_schedule(w, GPU)
    with pytest.raises(Untrusted):
        wb.check_schedule(w, GPU, schedule=tiled)


def test_a_schedule_that_is_not_one_is_refused() -> None:
    with pytest.raises(MeasureError, match="schedule is a function of a TVM Schedule, or a Schedule, not 'Matmul'"):
        wb.check_schedule(matmul(), GPU, schedule="Matmul")
    with pytest.raises(MeasureError, match=r"the schedule failed at `<lambda>\(sch\)`"):
        wb.check_schedule(matmul(), GPU, schedule=lambda: None)


def test_a_kernel_may_be_named_without_a_list() -> None:
    (check,) = wb.check_schedule(wb.samples.load("mlp"), GPU, "transpose", "Fallback")
    assert (check.kernel, check.verdict) == ("transpose", "equal")


def test_an_unknown_kernel_is_named() -> None:
    with pytest.raises((UnknownName, MeasureError), match="no_such"):
        wb.check_schedule(wb.samples.load("mlp"), GPU, ["no_such"])


def test_rules_of_ones_own_are_checked() -> None:
    from workbench.dialects.relax.compiler.rules import rule_of

    found = wb.check_schedule(wb.samples.load("mlp"), GPU, rules=[rule_of("Fallback", make_target(GPU))])
    assert {check.verdict for check in found} == {"equal"}


def test_the_command_ends_with_status_3_if_a_schedule_is_wrong(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from workbench.cli import main
    from workbench.debugging.schedule_checks import ScheduleChecks

    asked = ["schedules", "sample:mlp", "--target", GPU, "--check"]
    assert main(asked) == 0
    assert "2 equal" in capsys.readouterr().out
    wrong = ScheduleChecks({"k": ScheduleCheck("k", "race", "two <b>threads</b>")}, GPU)
    monkeypatch.setattr("workbench.debugging.schedule_checks.check_schedule", lambda *_, **__: wrong)
    assert main(asked) == PASS_FAILED
    assert "<b>" not in wrong._repr_html_()
    assert list(wrong.table["verdict"]) == ["race"]
