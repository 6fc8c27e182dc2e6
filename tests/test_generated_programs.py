"""Generated programs: they are well formed, and the same for the same seed."""

from __future__ import annotations

import numpy as np

from workbench.dialects.base import frontend_of
from workbench.testing.programs import program


def test_programs_are_well_formed_and_repeat(dialect: str):
    for seed in range(200):
        made, again = program(seed, dialect=dialect), program(seed, dialect=dialect)
        front = frontend_of(made)
        assert made.name == f"generated {seed}"
        assert front.flaw(made.module) == "", seed
        assert front.same(made.module, again.module), seed
        assert made.params.keys() == again.params.keys()
        assert all(np.array_equal(made.params[each].numpy(), again.params[each].numpy()) for each in made.params)
