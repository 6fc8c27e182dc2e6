"""relay.optimize without the work that no kernel depends on, for interactive counting.

The passes, their order and their decisions stay TVM's own. Skipped are: InferType if nothing has changed since its last
run (it runs before nearly every pass); LabelOps, which hashes every weight; compiling the values that FoldConstant
folds (folding.py); and choosing an implementation again for a call equal to an earlier one.

`benchmarks/counts.py` checks its bar: bert-12 is counted in under 1 s with it, in 18 s without (2 cores, loaded).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm.relay.backend import te_compiler  # pyright: ignore[reportAttributeAccessIssue]  this is Relay's TVM

from workbench.dialects.base import Workload
from workbench.dialects.capture import pass_context
from workbench.dialects.relay.compiler.optimization import optimize
from workbench.dialects.relay.folding import Folder, NotPlain
from workbench.dialects.scheduling import scheduled
from workbench.dialects.tvm_target import make_target

KEPT = 8
"functions known to be typed; passes return to an older one when a rewrite changed nothing"
_folder = Folder()


def quickly_optimized(workload: Workload, target: str, config: Mapping[str, Any]) -> tvm.IRModule:
    """Return the module after the graph-level part of relay.build; large constants have only a valid shape and type."""
    shortcuts = Shortcuts(_folder)
    module = _optimized(workload, target, config, shortcuts)
    return _optimized(workload, target, config, Shortcuts(None)) if shortcuts.unsure else module


def _optimized(workload: Workload, target: str, config: Mapping[str, Any], shortcuts: Any) -> tvm.IRModule:
    with scheduled(config, "relay", empty=True), pass_context(config, [shortcuts]), shortcuts.memory:
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
