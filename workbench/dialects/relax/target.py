"""Targets as people write them (`llvm -mcpu=skylake-avx512`) for a TVM that takes dictionaries."""

from __future__ import annotations

import tvm

from workbench.dialects.relax.code import target_fields
from workbench.errors import MeasureError


def make_target(text: str) -> tvm.target.Target:
    """The target that a text means: a kind with `-name=value` options, or a tag such as `nvidia/nvidia-h100`.

    Raises
    ------
    MeasureError
        TVM has no such kind, tag or option.
    """
    try:
        return tvm.target.Target(target_fields(text))
    except (ValueError, TypeError, RuntimeError) as error:
        reason = (
            str(error).strip().splitlines()[-1].split(". Target creation")[0]
            if str(error).strip()
            else type(error).__name__
        )
        raise MeasureError(
            f"{text!r} is no target of this TVM: {reason}; write one like `llvm -mcpu=core-avx2`"
        ) from None
