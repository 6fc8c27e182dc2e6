"""Spaces, the strategies that search them, and what is made of trials; no TVM and nothing timed."""

from __future__ import annotations

import json
import random

import pytest

from workbench.errors import UnknownName, WorkbenchError
from workbench.experiments.tuning.search import Exhaustive, Guided, search
from workbench.experiments.tuning.space import Space
from workbench.experiments.tuning.trial import Trial, dominates, front, objectives_of
from workbench.pipeline.config import Config

SMALL = Space(toggles=("A", "B"), opt_levels=(3, 1), config={"x.depth": (None, 4)})
LARGE = Space(toggles=tuple(f"P{i}" for i in range(10)))


def hill(chosen):
    """A landscape whose best place is far from the default, with a step in the way: P0 alone makes it worse."""
    off = {name for name, on in chosen.items() if not on}
    gain = len(off & {"P1", "P4", "P7"})
    both = 4 if {"P0", "P9"} <= off else -1 if "P0" in off else 0
    return (20.0 - 2 * gain - both + len(off - {"P0", "P1", "P4", "P7", "P9"}),)


def searched(chooser, landscape, most):
    told = {}
    while len(told) < most and (chosen := chooser.ask()) is not None:
        key = json.dumps(chosen, sort_keys=True)
        assert key not in told, "a candidate was given twice"
        told[key] = landscape(chosen)
        chooser.tell(chosen, told[key])
    return told


def test_a_space_is_the_product_of_its_knobs_and_each_choice_a_config_of_its_own():
    configs = [SMALL.config_for(chosen) for chosen in SMALL.assignments()]
    assert len(configs) == SMALL.size == 16
    assert len({json.dumps(config.to_data(), sort_keys=True) for config in configs}) == 16
    assert SMALL.config_for(SMALL.default) == Config()
    assert SMALL.config_for({"A": False, "B": True, "x.depth": 4, "opt_level": 1}) == Config(
        opt_level=1, disabled=("A",), options={"x.depth": 4}
    )


def test_a_pipelines_passes_options_and_edits_are_in_its_text():
    space = Space(
        pipeline="A,B{n=1},FuseOps", toggles=("A",), options={"B.n": (1, 2)}, edits=("CutFusion{edges=[(1,2)]}",)
    )
    text = space.config_for({"A": False, "B.n": 2, "edit": "CutFusion{edges=[(1,2)]}"}).pipeline
    assert text == "-A,B{n=2},CutFusion{edges=[(1, 2)]},FuseOps"
    assert space.config_for(space.default).pipeline == "A,B{n=1},FuseOps"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"toggles": ("A", "A")}, "decides 'A' twice"),
        ({"edits": ("CutFusion",)}, "need a pipeline"),
        ({"pipeline": "A", "toggles": ("B",)}, "has no pass 'B'"),
        ({"pipeline": "A", "options": {"B.n": (1,)}}, "has no pass 'B'"),
        ({"pipeline": "A", "extras": ("A",)}, "extras are of the compiler's own"),
        ({"config": {"x": ()}}, "at least one value"),
    ],
)
def test_a_space_that_makes_no_sense_says_so(fields, said):
    with pytest.raises(WorkbenchError, match=said):
        Space(**fields)


def test_an_exhaustive_search_tries_all_once_and_few_changes_first():
    chooser = Exhaustive(SMALL)
    order = []
    while (chosen := chooser.ask()) is not None:
        order.append(sum(chosen[knob.name] != knob.default for knob in SMALL.knobs))
        chooser.tell(chosen, None)
    assert len(order) == SMALL.size
    assert order == sorted(order)
    assert order[0] == 0


def test_small_spaces_are_tried_as_a_whole_and_large_ones_are_searched():
    assert isinstance(search(SMALL, 1, 0), Exhaustive)
    assert isinstance(search(LARGE, 1, 0), Guided)
    assert isinstance(search(SMALL, 1, 0, "guided"), Guided)
    with pytest.raises(WorkbenchError, match="no search method 'annealing'"):
        search(SMALL, 1, 0, "annealing")


def test_a_guided_search_ends_when_all_was_tried():
    assert len(searched(Guided(SMALL, 1, 0), lambda chosen: (float(chosen["A"]),), 100)) == SMALL.size


@pytest.mark.parametrize("seed", range(3))
def test_a_guided_search_finds_what_no_single_change_leads_to(seed, tell):
    best = min(hill(chosen) for chosen in LARGE.assignments())
    assert best < min(hill({**LARGE.default, name: False}) for name in LARGE.toggles)
    found = list(searched(Guided(LARGE, 1, seed), hill, int(0.3 * LARGE.size)).values())
    assert min(found) == best
    tell(f"guided search, seed {seed}: best of 1024 after {found.index(best) + 1} candidates")


def test_one_seed_gives_one_order_and_what_was_tried_is_not_tried_again():
    first, again, other = (list(searched(Guided(LARGE, 1, seed), hill, 40)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    resumed = Guided(LARGE, 1, 1)
    for key in first:
        resumed.tell(json.loads(key), hill(json.loads(key)))
    assert not set(searched(resumed, hill, 40)) & set(first)


def test_what_may_not_win_and_several_objectives_are_told_too():
    rng = random.Random(0)
    costs = lambda chosen: None if rng.random() < 0.5 else (float(sum(chosen.values())), rng.random())  # noqa: E731
    assert len(searched(Guided(LARGE, 2, 0), costs, 60)) == 60
    assert len(searched(Guided(LARGE, 1, 0), lambda chosen: None, 60)) == 60


def trial(number, status="ok", **values):
    return Trial(number, "llvm", Config(disabled=(f"P{number}",)), {}, status, values=values)


def test_the_front_holds_what_nothing_beats_and_nothing_that_may_not_win():
    trials = [
        trial(0, median_us=5.0, kernels=3),
        trial(1, median_us=4.0, kernels=4),
        trial(2, median_us=5.0, kernels=4),
        trial(3, "wrong", median_us=1.0, kernels=1),
        trial(4, median_us=4.0, kernels=4),
        trial(5, kernels=1),
    ]
    assert [each.number for each in front(trials, ("time", "kernels"))] == [1, 0]
    assert [each.number for each in front(trials, ("time",))] == [1]
    assert [each.number for each in front(trials, ("kernels",))] == [5]
    assert not dominates((1.0, 2.0), (1.0, 2.0))


def test_a_trial_is_itself_again_after_json():
    given = Trial(3, "llvm", Config(opt_level=2, options={"a": 1}), {"a": 1}, "ok", values={"kernels": 2}, like=1)
    assert Trial.from_data(json.loads(json.dumps(given.to_data()))) == given
    assert Trial.from_data(json.loads(json.dumps(given.to_data()))).key == given.key


def test_objectives_have_names():
    assert objectives_of("time") == ("time",)
    assert objectives_of(["bytes", "build"]) == ("bytes", "build")
    with pytest.raises(UnknownName, match="kernels"):
        objectives_of("kernel")
    with pytest.raises(WorkbenchError, match="several different"):
        objectives_of(())
