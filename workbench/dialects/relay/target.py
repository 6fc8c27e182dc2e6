"""Targets for the TVM that has Relay, which reads options and JSON itself."""

from __future__ import annotations

import tvm

from workbench.dialects.target import target_object

ARCHITECTURES = r"sm_\d{2}"
"TOPI does not read a suffix: it takes sm_90 and fails on sm_90a"


def make_target(text: str) -> tvm.target.Target:
    """Make the target of a text.

    Raises
    ------
    MeasureError
        TVM has no such kind, tag, option or architecture.
    """
    return target_object(text, str, ARCHITECTURES)
