"""Targets for the TVM that has Relax, which takes dictionaries."""

from __future__ import annotations

import tvm

from workbench.dialects.relax.code import target_argument
from workbench.dialects.target import target_object

ARCHITECTURES = r"sm_\d{2,3}[a-z]?"


def make_target(text: str) -> tvm.target.Target:
    """Make the target of a text.

    Raises
    ------
    MeasureError
        TVM has no such kind, tag, option or architecture.
    """
    return target_object(text, target_argument, ARCHITECTURES)
