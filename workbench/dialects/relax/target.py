"""Targets as people write them (`llvm -mcpu=skylake-avx512`) for a TVM that takes dictionaries."""

from __future__ import annotations

from typing import Any

import tvm

from workbench.errors import MeasureError


def make_target(text: str) -> tvm.target.Target:
    """The target that a text means: a kind with `-name=value` options, or a tag such as `nvidia/nvidia-h100`.

    Raises
    ------
    MeasureError
        TVM has no such kind, tag or option.
    """
    kind, *options = text.split()
    fields: dict[str, Any] = {"kind": kind}
    for option in options:
        name, equals, value = option.lstrip("-").partition("=")
        fields[name] = _value(name, value) if equals else True
    try:
        return tvm.target.Target(fields if options else kind)
    except (ValueError, TypeError, RuntimeError) as error:
        reason = (
            str(error).strip().splitlines()[-1].split(". Target creation")[0]
            if str(error).strip()
            else type(error).__name__
        )
        raise MeasureError(
            f"{text!r} is no target of this TVM: {reason}; write one like `llvm -mcpu=core-avx2`"
        ) from None


def _value(name: str, text: str) -> Any:
    if name in ("keys", "mattr", "libs"):
        return text.split(",")
    return int(text) if text.isdigit() else text
