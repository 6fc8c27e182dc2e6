"""wb.bisect, in both dialects: options, planted passes, fused edges, races; cancelled searches go on; wrong arguments are refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import workbench as wb
from workbench.dialects.registry import dialect as door
from workbench.errors import UnknownName
from workbench.experiments.bisect.search import Culprit
from workbench.experiments.symptoms import Crash, Finding, Hang, Limits

MERGE = "EliminateCommonSubexpr"


@pytest.fixture
def depth(dialect: str) -> str:
    """The option that limits the operators of a kernel."""
    return f"{dialect}.FuseOps.max_depth"


@pytest.fixture
def passes(dialect: str) -> str:
    return f"{MERGE},FoldConstant,{door(dialect).passes.fusing()}"


def test_option_that_makes_more_kernels_is_found(depth: str) -> None:
    # without constants: FoldConstant changes no count
    chain = wb.samples.load("chain")
    config = {"options": {depth: 1}, "disabled": ("FoldConstant",)}
    found = wb.bisect(chain, "kernels", config)
    assert found.passes == (f"{depth}=1",)
    assert found.config == wb.Config(options={depth: 1})
    assert found.good == wb.Config(disabled=("FoldConstant",))
    assert f"kernels, and {wb.count(chain).calls} with opt 3" in found.probes[0].finding.evidence
    assert found.edges == ()


def test_missing_pass_is_found(cast: wb.Workload, passes: str) -> None:
    without = passes.removeprefix(f"{MERGE},")
    found = wb.bisect(cast, "kernels", without, reference=passes)
    assert found.passes == (f"without {MERGE}",)


@pytest.mark.one_dialect
def test_changed_option_of_a_pass_is_found(cast: wb.Workload, passes: str) -> None:
    found = wb.bisect(cast, "kernels", passes.replace("fuse_opt_level=2", "fuse_opt_level=0"), reference=passes)
    assert found.passes == ("FuseOps{fuse_opt_level=0}",)


@pytest.mark.one_dialect
def test_peak_memory_is_a_symptom(dialect: str, depth: str) -> None:
    w = wb.samples.load("chain", rows=64)
    found = wb.bisect(w, "peak_bytes", {"options": {depth: 1}, "disabled": ("FoldConstant",)})
    assert found.passes == (f"{depth}=1",)
    assert f"{wb.count(w, config={depth: 1}).peak_bytes:,} peak_bytes" in found.probes[0].finding.evidence


def test_pass_that_raises_is_found_by_its_own_message(cast: wb.Workload, dialect: str, passes: str) -> None:
    option = next(info.options[0].name for info in wb.passes(dialect) if info.name == "ToMixedPrecision")
    wrong = f"ToMixedPrecision{{{option}='nonsense'}}"
    found = wb.bisect(cast, "crash", f"{MERGE},{wrong},FoldConstant")
    assert found.passes == (wrong,)
    keys = {probe.finding.key for probe in found.probes if probe.shows}
    assert len(keys) == 1
    assert "ToMixedPrecision" in keys.pop()


@pytest.mark.one_dialect
def test_timeout_is_a_hang_and_no_crash(cast: wb.Workload) -> None:
    config = wb.Config()
    short, long = Limits(timeout=0.01), Limits(timeout=300)
    assert Hang().probe(cast, config, short).answer == "yes"
    assert Crash().probe(cast, config, short).answer == "can't tell"
    assert [symptom.probe(cast, config, long).answer for symptom in (Hang(), Crash())] == ["no", "no"]


@pytest.mark.one_dialect
class TestSearch:
    """What a search asks, and how often."""

    def asked(self, cast: wb.Workload, guilty: str, seen: list[wb.Config]) -> Callable[[wb.Workload, wb.Config], bool]:
        def shows(_: wb.Workload, config: wb.Config) -> bool:
            seen.append(config)
            return guilty in str(config.pipeline).replace(f"-{guilty}", "")

        return shows

    def test_a_function_is_a_symptom_and_each_build_is_asked_once(self, cast: wb.Workload, passes: str) -> None:
        seen: list[wb.Config] = []
        found = wb.bisect(cast, self.asked(cast, MERGE, seen), passes)
        assert found.passes == (MERGE,)
        assert len(seen) == len(found.probes) == len({config.same_build() for config in seen})
        assert found.symptom == "shows"

    def test_cancelled_search_goes_on_where_it_ended(self, cast: wb.Workload, passes: str) -> None:
        seen: list[wb.Config] = []
        whole = wb.bisect(cast, self.asked(cast, "FoldConstant", []), passes)
        part = wb.bisect(cast, self.asked(cast, "FoldConstant", seen), passes, cancelled=lambda: len(seen) == 2)
        assert part.status == "cancelled"
        assert len(part.table) == 2
        assert not part.found
        found = wb.bisect(cast, self.asked(cast, "FoldConstant", seen), passes, resume=part)
        assert found.passes == whole.passes == ("FoldConstant",)
        assert len(seen) == len(whole.probes)
        assert [probe.made for probe in found.probes] == [probe.made for probe in whole.probes]

    def test_interrupt_returns_the_probes(self, cast: wb.Workload, passes: str) -> None:
        answers = iter([True, False])

        def shows(_: wb.Workload, __: wb.Config) -> bool:
            for answer in answers:
                return answer
            raise KeyboardInterrupt

        found = wb.bisect(cast, shows, passes)
        assert found.status == "cancelled"
        assert [probe.finding.answer for probe in found.probes] == ["yes", "no"]

    def test_symptom_that_always_shows_accuses_no_pass(self, cast: wb.Workload, passes: str) -> None:
        found = wb.bisect(cast, lambda _, __: True, passes)
        assert found.status == "always"
        assert found.passes == ()
        assert "not caused by a pass that can be switched off" in str(found)

    def test_race_that_cannot_tell_is_repeated_with_a_larger_budget(self, cast: wb.Workload, passes: str) -> None:
        budgets: list[float] = []

        class Undecided:
            name = "undecided"

            def probe(self, workload: wb.Workload, config: wb.Config, limits: Limits) -> Finding:
                assert (workload, config.pipeline != "") == (cast, True)
                budgets.append(limits.budget)
                return Finding("can't tell", "no difference shown", again=True)

        found = wb.bisect(cast, Undecided(), passes, budget=0.5)
        assert budgets == [0.5, 1.0, 2.0, 4.0]
        assert found.status == "not shown"
        assert "no difference shown" in str(found)

    def test_other_search_cannot_be_resumed(self, cast: wb.Workload, passes: str) -> None:
        part = wb.bisect(cast, lambda _, __: False, passes)
        with pytest.raises(wb.WorkbenchError, match="another search"):
            wb.bisect(cast, lambda _, __: False, MERGE, resume=part)

    def test_function_that_returns_nothing_is_refused(self, cast: wb.Workload, passes: str) -> None:
        with pytest.raises(wb.WorkbenchError, match="returns True or False"):
            wb.bisect(cast, lambda _, __: None, passes)  # pyright: ignore[reportArgumentType]


@pytest.mark.one_dialect
def test_unknown_symptom_is_refused(cast: wb.Workload) -> None:
    with pytest.raises(UnknownName, match="slower"):
        wb.bisect(cast, "slow")


@pytest.mark.one_dialect
def test_configuration_is_not_compared_with_itself(cast: wb.Workload) -> None:
    with pytest.raises(wb.WorkbenchError, match="with itself"):
        wb.bisect(cast, "kernels", 3)
    with pytest.raises(wb.WorkbenchError, match="differs in nothing"):
        wb.bisect(cast, "wrong", 3, reference=3)


@pytest.mark.one_dialect
def test_pipeline_and_compiler_are_not_compared(cast: wb.Workload, passes: str) -> None:
    with pytest.raises(wb.WorkbenchError, match="of one kind"):
        wb.bisect(cast, "wrong", passes, reference=2)


def one_kernel(*wanted: str) -> Callable[[wb.Workload, wb.Config], bool]:
    """Whether one kernel of the build computes all these operators."""

    def together(w: wb.Workload, config: wb.Config) -> bool:
        built = wb.kernels(w, config=config)
        ops = [{built.graph.nodes[id].op.rpartition(".")[2] for id in row["nodes"]} for row in built.rows]
        return any(set(wanted) <= each for each in ops)

    return together


def test_fused_edge_is_named(dialect: str) -> None:
    w = wb.samples.load("mlp", layers=2, width=8)
    found = wb.bisect(w, one_kernel("add", "relu"), 3)
    assert found.edges
    ops = {tuple(w.graph.nodes[end].op.rpartition(".")[2] for end in (e.source, e.target)) for e in found.edges}
    # one dialect's program has bias_add, which a pass makes an add
    assert ops in ({("add", "relu")}, {("bias_add", "relu")})
    assert "to" in found.boundary


def slow(w: wb.Workload, depth: str) -> Culprit:
    config = {"options": {depth: 1}, "disabled": ("FoldConstant",)}
    return wb.bisect(w, "slower", config, budget=1.0)


@pytest.fixture
def small_chain(dialect: str) -> wb.Workload:
    return wb.samples.load("chain", length=24, width=256, rows=64)


@pytest.mark.long
@pytest.mark.one_dialect
def test_planted_slow_option_is_found_by_races(
    small_chain: wb.Workload, depth: str, tell: Callable[[object], None]
) -> None:
    found: list[Culprit] = []
    noisy = 0
    while len(found) < 3 and noisy < 5:
        each = slow(small_chain, depth)
        if not each.found and "too noisy" in str(each):
            noisy += 1
        else:
            found.append(each)
    right = sum(each.passes == (f"{depth}=1",) for each in found)
    races = sum(len(each.probes) for each in found)
    tell(f"bisect, slower: the planted option in {right} of {len(found)} searches, {races} races; {noisy} too noisy")
    # each race is right in 95 of 100
    assert right >= 2


@pytest.mark.long
def test_equal_builds_accuse_no_pass(small_chain: wb.Workload, depth: str, tell: Callable[[object], None]) -> None:
    # the default depth
    found = [wb.bisect(small_chain, "slower", {"options": {depth: 256}}, budget=0.5) for _ in range(4)]
    accused = [each for each in found if each.found]
    tell(
        f"bisect, A/A: {len(accused)} of {len(found)} searches accuse, {sum(len(each.probes) for each in found)} races"
    )
    assert accused == []
