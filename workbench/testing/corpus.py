"""The programs on which a pass is tried: generated ones, the samples, the user's own, and what the default pipeline makes of these."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from inspect import isclass, isfunction
from itertools import chain, count, islice
from types import CodeType

from workbench import samples
from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect as dialect_named
from workbench.errors import WorkbenchError
from workbench.pipeline.load import load
from workbench.pipeline.run import ANY_LEVEL, Runner
from workbench.pipeline.spec import Pipeline
from workbench.testing.attempt import Program
from workbench.testing.programs import Kind

GENERATED, SAMPLES, OWN = "generated", "samples", "own"
SMALL: dict[str, dict[str, int]] = {
    "attention": {"seq": 8},
    "bert": {"layers": 1, "hidden": 32, "seq": 8, "heads": 2},
    "branches": {"image": 8},
    "chain": {},
    "conv_bias_batch_norm": {"image": 8, "blocks": 2},
    "mlp": {},
    "parallel_cast": {},
    "resnet18": {"width": 4},
}
"the samples, at a size that builds in a second or two"


def small_samples(dialect: str | None) -> Iterator[Workload]:
    """Yield the samples of a dialect, small, by default of the one that is installed."""
    return (samples.load(name, dialect=dialect, **options) for name, options in SMALL.items())


def given(on: object, dialect: str) -> tuple[bool, Iterator[Program]]:
    """Return whether programs are generated, and the own programs and samples that `on` names, each with its prefixes.

    Raises WorkbenchError: it names something else.
    """
    asked = list(on) if isinstance(on, (list, tuple)) else [GENERATED, SAMPLES] if on is None else [on]
    if not asked:
        raise WorkbenchError("`on` has no program; leave it out for generated programs and samples")
    words = [each for each in asked if isinstance(each, str) and each in (GENERATED, SAMPLES)]
    own = [load(each) for each in asked if not (isinstance(each, str) and each in words)]
    for each in own:
        if each.dialect != dialect:
            raise WorkbenchError(f"{each.name} is {each.dialect}, and the pass is tried on {dialect}")
    listed = small_samples(dialect) if SAMPLES in words else ()
    starts = chain(
        (Program(each.name, OWN, each) for each in own), (Program(each.name, SAMPLES, each) for each in listed)
    )
    return GENERATED in words, chain.from_iterable(map(prefixes, starts))


def prefixes(start: Program) -> list[Program]:
    """Return a program, and what each pass of the default pipeline makes of it, if that is another one.

    A pass meets these when it stands in that pipeline.
    """
    passes = Pipeline.parse(dialect_named(start.workload.dialect).passes.presets()[0].pipeline)
    runner = Runner(start.workload)
    steps = runner.run(passes, ANY_LEVEL).steps
    found = [Program(start.name, start.origin, start.workload, following=passes[0])]
    for place, step in enumerate(steps[:-1], 1):
        if step.changed:
            name = f"{start.name} after {step.name}"
            made = runner.workload_of(step.state_after)
            found.append(Program(name, start.origin, made, passes[place - 1], passes[place]))
    return found


def named_operators(run: object) -> frozenset[str]:
    """Return the texts that may be names of operators, `relax.add`, in the code of a pass and of what it uses of its module."""
    found: set[str] = set()
    seen: list[object] = [run if isfunction(run) else type(run)]
    for part in seen:
        inside: list[object] = []
        if isfunction(part):
            codes = [part.__code__]
            for code in codes:
                codes += [each for each in code.co_consts if isinstance(each, CodeType)]
            used = [cell.cell_contents for cell in part.__closure__ or ()]
            used += [part.__globals__.get(name) for code in codes for name in code.co_names]
            home = getattr(run, "__module__", "")
            inside = [text for code in codes for text in code.co_consts]
            inside += [each for each in used if getattr(each, "__module__", None) == home]
        elif isclass(part):
            inside = [*vars(part).values()]
        elif isinstance(part, (tuple, frozenset)):
            inside = [*part]
        elif isinstance(part, str) and _NAME.fullmatch(part):
            found.add(part)
        seen += [each for each in inside if not any(each is other for other in seen)]
    return frozenset(found)


_NAME = re.compile(r"[a-z_]+(\.[a-z_0-9]+)*")


def generated(kind: Kind, seed: int) -> Iterator[Program]:
    """Yield generated programs without end; their sizes go from 2 to 12 operators and begin again."""
    for number in count(seed):
        made = kind.numbered(number, 2 + number % 11)
        yield Program(made.name, GENERATED, made)


def mixed(first: Iterable[Program], endless: Iterator[Program]) -> Iterator[Program]:
    """Yield some of the endless programs after each of the others, then the rest of them."""
    for each in first:
        yield from (each, *islice(endless, 8))
    yield from endless
