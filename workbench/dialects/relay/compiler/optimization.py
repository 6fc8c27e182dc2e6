"""relay.optimize on a copy of the module, because it writes the parameters into its argument; and its shorter form for counts.

For counts FoldConstant is replaced (`folding.py`), and AlterOpLayout and InferType do nothing twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import tvm
from tvm import relay
from tvm.relay.backend import te_compiler  # pyright: ignore[reportAttributeAccessIssue]  this is Relay's TVM

from workbench.dialects.base import Workload
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.tuning import scheduled
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relay.compiler.folding import Folder, NotPlain
from workbench.dialects.relay.entries import copy, unshared
from workbench.errors import TVMFailed


def optimize(workload: Workload, target: Any) -> tvm.IRModule:
    """Return the module after the graph-level part of relay.build, in the current PassContext."""
    with devices_in_words():
        module, _ = relay.optimize(unshared(copy(workload.module)), target=target, params=workload.params)
    return module


@contextmanager
def devices_in_words() -> Iterator[None]:
    """Raise a TVMFailed if TVM refuses the devices of a module: its own error ends with types or a list."""
    try:
        yield
    except tvm.TVMError as error:
        if found := _NO_TARGET.search(str(error)):
            device = tvm.runtime.Device.MASK2STR.get(int(found[1]), found[1])
            raise TVMFailed(
                f"the module places values on the device {device}, for which this target has no code; "
                "change its on_device and device_copy, or build for that device"
            ) from error
        if _CONFLICT.search(str(error)):
            raise TVMFailed(
                "TVM cannot place the module on devices: its on_device, device_copy and virtual_device contradict each other or "
                "this target; load the module as it was before PlanDevices, or without them"
            ) from error
        raise


_NO_TARGET = re.compile(r"No target is specified for device type (\d+)")
_CONFLICT = re.compile(
    r"VirtualDevices do not match|ncompatible virtual devices|fixed to VirtualDevice|Mismatched device type"
)


KEPT = 8
"functions known to be typed; passes return to an older one when a rewrite changed nothing"
_folder = Folder()


def quickly_optimized(workload: Workload, target: str, config: Mapping[str, Any]) -> tvm.IRModule:
    """Return the module after the graph-level part of relay.build; large constants have only a valid shape and type."""
    shortcuts = Shortcuts(_folder)
    module = _optimized(workload, target, config, shortcuts)
    return _optimized(workload, target, config, Shortcuts(None)) if shortcuts.unsure else module


def _optimized(workload: Workload, target: str, config: Mapping[str, Any], shortcuts: Any) -> tvm.IRModule:
    with scheduled(config, empty=True), pass_context(config, [shortcuts]), shortcuts.memory:
        return optimize(workload, make_target(target))


@tvm.ir.instrument.pass_instrument
class Shortcuts:
    """Decides for each pass whether it runs.

    Parameters
    ----------
    folder
        The replacement of FoldConstant; None to let TVM fold.
    """

    def __init__(self, folder: Folder | None) -> None:
        self.folder = folder
        self.unsure = False
        "whether TVM's FoldConstant ran over constants that ours left unwritten"
        self.folded = False
        self.typed: dict[Any, None] = {}
        "functions as InferType returned them, the newest last"
        self.memory = Implementations()

    def should_run(self, module: tvm.IRModule, info: Any) -> bool:
        """Return whether to run a pass; TVM calls it before each one."""
        if info.name == "InferType":
            return not all(function in self.typed for function in _functions(module))
        if info.name == "FoldConstant" and self.folder is not None:
            return not self._fold(self.folder, module)
        return info.name != "LabelOps"

    def run_before_pass(self, module: tvm.IRModule, info: Any) -> None:  # noqa: ARG002  TVM's signature
        """Prepare for a pass; TVM calls it before each pass that runs."""
        self.memory.asked = info.name == "AlterOpLayout"

    def run_after_pass(self, module: tvm.IRModule, info: Any) -> None:
        """Record the result of a pass; TVM calls it after each one."""
        self.memory.asked = False
        if info.name == "InferType":
            self.typed = dict.fromkeys([*list(self.typed)[-KEPT:], *_functions(module)])

    def _fold(self, folder: Folder, module: tvm.IRModule) -> bool:
        try:
            folder.fold(module)
        except NotPlain:
            self.unsure = self.folded
            return False
        self.folded = True
        return True


def _functions(module: tvm.IRModule) -> list[Any]:
    return [function for _, function in module.functions.items()]


class Implementations:
    """Have AlterOpLayout call the operator strategy once for calls of the same operator, attributes and types.

    It needs only the resulting layout. Lowering, which needs an answer for its own tensors, is not affected.
    """

    def __init__(self) -> None:
        self.asked = False
        "whether AlterOpLayout is running"
        self._known: dict[tuple[Any, ...], Any] = {}
        self._choose: Any = None

    def __enter__(self) -> None:
        self._choose = te_compiler.select_implementation
        te_compiler.select_implementation = self

    def __exit__(self, *_: object) -> None:
        te_compiler.select_implementation = self._choose

    def __call__(self, op: Any, attrs: Any, inputs: Any, out_type: Any, target: Any, *more: Any, **named: Any) -> Any:
        if not self.asked:
            return self._choose(op, attrs, inputs, out_type, target, *more, **named)
        types = tuple((tuple(map(str, tensor.shape)), tensor.dtype) for tensor in inputs)
        options = (*more, *sorted(named.items()))
        key = (op.name, tvm.ir.save_json(attrs), types, str(out_type), str(target), options)
        if key not in self._known:
            self._known[key] = self._choose(op, attrs, inputs, out_type, target, *more, **named)
        return self._known[key]
