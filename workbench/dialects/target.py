"""Targets of this TVM, made from the canonical text of one (workbench/targets.py)."""

from __future__ import annotations

import re
from typing import Any

import tvm

from workbench.errors import MeasureError

_ERROR = re.compile(r"^.*?\b(?:[A-Z]\w*Error: )+")


def target_object(text: str, given: str | dict[str, Any], architectures: str) -> tvm.target.Target:
    """Make the target of a text.

    Parameters
    ----------
    given
        The same as this TVM takes it.
    architectures
        Pattern of the CUDA architectures that this TVM reads.

    Raises
    ------
    MeasureError
        TVM has no such kind, tag, option or architecture.
    """
    try:
        made = tvm.target.Target(given)
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise MeasureError(
            f"{text!r} is not a target of this TVM: {_reason(error)}; write one like `llvm -mcpu=core-avx2`"
        ) from None
    architecture = str(made.attrs.get("arch", "")) if made.kind.name == "cuda" else ""
    if architecture and re.fullmatch(architectures, architecture) is None:
        raise MeasureError(
            f"this TVM does not read the CUDA architecture {architecture} of {text!r}; write one like `cuda -arch=sm_90`"
        )
    return made


def _reason(error: Exception) -> str:
    """TVM's last sentence, without its C++ stack and what it was given."""
    lines = [_ERROR.sub("", line.partition(". Target creation")[0]).strip() for line in str(error).splitlines()]
    return next((line for line in reversed(lines) if line), type(error).__name__)
