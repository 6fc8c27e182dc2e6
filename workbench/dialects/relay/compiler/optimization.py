"""relay.optimize on a copy of the module, because it writes the parameters into its argument."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tvm
from tvm import relay

from workbench.dialects.base import Workload
from workbench.errors import MeasureError


def copy(module: tvm.IRModule) -> tvm.IRModule:
    """Return a module with the same functions, which can be changed independently."""
    return tvm.IRModule(module.functions, module.type_definitions, module.attrs)


def optimize(workload: Workload, target: Any) -> tvm.IRModule:
    """Return the module after the graph-level part of relay.build, in the current PassContext."""
    with devices_in_words():
        module, _ = relay.optimize(copy(workload.module), target=target, params=workload.params)
    return module


@contextmanager
def devices_in_words() -> Iterator[None]:
    """Raise a MeasureError if TVM refuses the devices of a module: its own error ends with types or a list."""
    try:
        yield
    except tvm.TVMError as error:
        if found := _NO_TARGET.search(str(error)):
            device = tvm.runtime.Device.MASK2STR.get(int(found[1]), found[1])
            raise MeasureError(
                f"the module places values on the device {device}, for which this target has no code; "
                "change its on_device and device_copy, or build for that device"
            ) from error
        if _CONFLICT.search(str(error)):
            raise MeasureError(
                "TVM cannot place the module on devices: its on_device, device_copy and virtual_device contradict each other or "
                "this target; load the module as it was before PlanDevices, or without them"
            ) from error
        raise


_NO_TARGET = re.compile(r"No target is specified for device type (\d+)")
_CONFLICT = re.compile(
    r"VirtualDevices do not match|ncompatible virtual devices|fixed to VirtualDevice|Mismatched device type"
)
