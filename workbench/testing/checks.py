"""Checks for the tests of a pass: `assert_pass`, whose message holds the smallest program that was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.testing.attempt import AGAIN, FLAW, OUTPUTS, TYPES
from workbench.testing.plugin import TRIED
from workbench.testing.trial import try_pass

if TYPE_CHECKING:
    from workbench.testing.result import Tried


def assert_pass(
    p: object,
    programs: object = None,
    *,
    equal: bool = True,
    well_formed: bool = True,
    types: bool = True,
    idempotent: bool = True,
    fires: bool = True,
    budget: float = 30.0,
    pattern: object = None,
    seed: int = 0,
) -> Tried:
    """Try a pass as `wb.try_pass` does; fail with the smallest program that was found if it breaks a law.

    Parameters
    ----------
    p, programs, budget, pattern, seed
        As `wb.try_pass` takes them; `programs` is its `on`.
    equal, well_formed, types, idempotent
        Whether this law counts. The others always do.
    fires
        Whether to fail if the pass changed no program: then nothing is known about it.

    Raises
    ------
    AssertionError
        A law is broken, or the pass fired nowhere.

    Examples
    --------
    >>> from workbench.testing import assert_pass
    >>> found = assert_pass("FoldConstant", ["samples"], fires=False, budget=10)
    """
    found = try_pass(p, programs, budget=budget, pattern=pattern, seed=seed)
    TRIED.append(found)
    counts = {OUTPUTS: equal, FLAW: well_formed, TYPES: types, AGAIN: idempotent}
    failures = [each for each in found.failures if counts.get(each.law, True)]
    if failures:
        first = failures[0]
        lines = [found.summary, *(f"- {each}" for each in failures), ""]
        lines += [f"The smallest program for `{first.law}`:", first.text] if first.text else []
        raise AssertionError("\n".join([*lines, *(["It shows with TVM alone:", first.script] if first.script else [])]))
    if fires and not found.fired:
        raise AssertionError(found.summary)
    return found
