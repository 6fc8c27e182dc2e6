"""Generated programs: typed, of valid shapes, and the same for the same seed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from workbench.analysis.patterns import Pattern
from workbench.analysis.patterns.pattern import PatternError
from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect as dialect_named
from workbench.dialects.registry import dialect_here
from workbench.errors import WorkbenchError
from workbench.pipeline.matching import match, read_pattern

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

TRIES, CHECKED = 12, 100
"how often a program of a pattern is made until it has a match, or none; larger programs are not checked"


@dataclass(frozen=True)
class Kind:
    """A kind of generated programs."""

    dialect: str
    pattern: Pattern | None
    likely: frozenset[str]
    "names of operators: half of the calls are of these"

    @classmethod
    def of(cls, dialect: str | None, pattern: object, likely: Iterable[str] = ()) -> Kind:
        """Return the kind that `program` describes. Raises LoadError: TVM is not installed; PatternError: the pattern is not one."""
        found = dialect_named(dialect) if dialect else dialect_here()
        return cls(found.name, None if pattern is None else read_pattern(pattern), frozenset(likely))

    def program(self, random: Random, operators: int, matches: bool, name: str) -> Workload:
        """Return a program of so many operators, with matches of the pattern or with near misses."""
        from workbench.testing.growth import Growth  # it imports TVM

        made: Workload | None = None
        for _ in range(TRIES):
            growth = Growth(random, self, matches)
            growth.grow(operators)
            if self.pattern is not None and not growth.instances:
                continue
            made = dialect_named(self.dialect).frontend.load(*growth.module(), name)
            assert made is not None, "a growth makes an IRModule"
            made.shapes = growth.sizes
            if self.pattern is None or operators > CHECKED:
                return made
            report = match(made, self.pattern)
            if bool(report) if matches else not report and report.near_misses:
                return made
        if made is None:
            raise PatternError("no operators that are generated give a value that the pattern matches")
        return made

    def numbered(self, seed: int, operators: int) -> Workload:
        """Return the program of a seed; one with the pattern's operators where it has values that none of them gives."""
        try:
            return self.program(Random(seed), operators, seed % 2 == 0, f"generated {seed}")
        except PatternError:
            nodes = () if self.pattern is None else self.pattern.nodes
            named = {str(node.fields["name"]) for node in nodes if node.kind == "op"}
            return Kind(self.dialect, None, self.likely | named).numbered(seed, operators)


def program(
    seed: int, *, dialect: str | None = None, operators: int = 8, pattern: object = None, likely: Collection[str] = ()
) -> Workload:
    """Return a generated program, the same for the same seed in every process.

    Parameters
    ----------
    dialect
        `relax` or `relay`; by default the one that this environment's TVM runs.
    operators
        The number of its operators, about.
    pattern
        A DFPattern, its text or a Pattern. Programs of even seeds have matches of it, those of odd seeds near misses, in which one
        condition does not hold: one for each 16 operators.
    likely
        Names of operators: half of the calls are of these.

    Raises
    ------
    PatternError
        The pattern has a condition that the generator does not make, such as a function or an `if`.

    Examples
    --------
    >>> program(17)
    Workload('generated 17', relax, 0 parameters)
    """
    return Kind.of(dialect, pattern, likely).program(Random(seed), operators, seed % 2 == 0, f"generated {seed}")


def relax_programs(*, operators: int = 8, pattern: object = None, dialect: str = "relax") -> SearchStrategy[Workload]:
    """Return a Hypothesis strategy of Relax programs of up to so many operators; for its parameters see `program`."""
    try:
        from hypothesis import strategies as st
    except ModuleNotFoundError:
        raise WorkbenchError("strategies of programs need Hypothesis; `pip install hypothesis`") from None

    def made(random: Random, count: int) -> Workload:
        return Kind.of(dialect, pattern).program(random, count, random.random() < 0.5, "generated")

    return st.builds(made, st.randoms(use_true_random=False), st.integers(1, operators))


def relay_programs(*, operators: int = 8, pattern: object = None) -> SearchStrategy[Workload]:
    """Return a Hypothesis strategy of Relay programs, as `relax_programs` does."""
    return relax_programs(operators=operators, pattern=pattern, dialect="relay")
