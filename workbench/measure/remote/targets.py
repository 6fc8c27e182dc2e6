"""Targets of devices that are not this machine's."""

from __future__ import annotations

from workbench.errors import MeasureError
from workbench.targets import target_fields, with_option


def target_there(target: str) -> str:
    """A target that gets nothing from this machine's CPU or GPU: plain `llvm` is any CPU.

    Raises
    ------
    MeasureError
        It is plain `cuda`, which says nothing of the device's architecture.
    """
    fields = target_fields(target)
    if fields["kind"] == "llvm" and not {"mcpu", "mtriple"} & set(fields):
        return with_option(target, "mcpu", "generic")
    if fields["kind"] == "cuda" and "arch" not in fields:
        raise MeasureError(
            "write the architecture of the device's GPU: cuda -arch=sm_..; this machine's own says nothing of it"
        )
    return target
