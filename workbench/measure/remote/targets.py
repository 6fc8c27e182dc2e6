"""Targets of devices that are not this machine's."""

from __future__ import annotations

from workbench.errors import MeasureError
from workbench.measure.rows import device_of


def target_there(target: str) -> str:
    """A target that gets nothing from this machine's CPU or GPU: plain `llvm` is any CPU.

    Raises
    ------
    MeasureError
        It is plain `cuda`, which says nothing of the device's architecture.
    """
    if target.split()[:1] == ["llvm"] and "-mcpu" not in target and "-mtriple" not in target:
        return f"{target} -mcpu=generic"
    if device_of(target) == "cuda" and "-arch" not in target:
        raise MeasureError(
            "write the architecture of the device's GPU: cuda -arch=sm_..; this machine's own says nothing of it"
        )
    return target
