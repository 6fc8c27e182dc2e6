"""The PassContext that a compiler runs under, and the capture of its passes, for Relay and Relax alike."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import tvm

from workbench.dialects.scheduling import LOOKS
from workbench.errors import UnknownName, reason_of


def pass_context(config: Mapping[str, Any], instruments: Sequence[Any]) -> tvm.transform.PassContext:
    """Return the PassContext of a Config's data. Raises UnknownName: TVM has no config of that name."""
    known = tvm.transform.PassContext.list_configs()
    # a build looks schedules up if this TVM has a config for it; Relax's does it in a pass
    looks = {key: value for key, value in LOOKS.items() if config.get("schedules") and key in known}
    for key in config["options"]:
        if key not in known:
            raise UnknownName("PassContext config of this TVM", key, known)
    return tvm.transform.PassContext(
        opt_level=config["opt_level"],
        disabled_pass=list(config["disabled"]),
        required_pass=list(config["required"]),
        config={**looks, **config["options"]},
        instruments=list(instruments),
    )


@dataclass
class Event:
    """One run of one pass. Modules are kept by reference: TVM copies a module before it changes one that is held."""

    name: str
    depth: int
    "number of passes that it runs inside of"
    parent: int | None
    "index in the list of the pass that runs it"
    before: Any
    "the module that it received; of the first pass only"
    after: Any = None
    "the module that it returned, if it is kept"
    ended: bool = False
    "whether the pass completed"
    started: float = 0.0
    seconds: float = 0.0


@tvm.ir.instrument.pass_instrument
class Capture:
    """Collects an Event for every pass, in the order in which they start.

    `keeps`: whether to keep the module that a pass of this name returned; the thousands of modules of TIR passes are
    not needed.
    """

    def __init__(self, keeps: Callable[[str], bool] = lambda _name: True) -> None:
        self.keeps = keeps
        self.events: list[Event] = []
        self.open: list[int] = []

    def run_before_pass(self, module: Any, info: Any) -> None:
        """Start an Event; TVM calls it before each pass."""
        parent = self.open[-1] if self.open else None
        self.open.append(len(self.events))
        before = None if self.events[:1] else module
        self.events.append(Event(str(info.name), len(self.open) - 1, parent, before, started=time.perf_counter()))

    def run_after_pass(self, module: Any, _: Any) -> None:
        """End an Event; TVM calls it after each pass that did not raise."""
        event = self.events[self.open.pop()]
        event.ended = True
        if self.keeps(event.name):
            event.after = module
        event.seconds = time.perf_counter() - event.started


LOWERING = ("LowerTE", "FuseTIR", "CallTIRRewrite")
"passes whose input has the kernels of a build, as functions of operators where the first two of them run"


@tvm.ir.instrument.pass_instrument
class UntilLowered:
    """Keeps the modules between the passes of a build, until the compiler lowers its kernels.

    `keeps`: as for Capture.
    """

    def __init__(self, keeps: Callable[[str], bool]) -> None:
        self.keeps = keeps
        self.modules: list[Any] = []
        "in the order in which the passes ended; the first one is the input of the first pass"
        self.ended = False

    def run_before_pass(self, module: Any, info: Any) -> None:
        """Keep the first module, and stop at lowering; TVM calls it before each pass."""
        self.ended |= str(info.name) in LOWERING
        if not self.modules:
            self.modules.append(module)

    def run_after_pass(self, module: Any, info: Any) -> None:
        """Keep the result of a pass; TVM calls it after each pass that did not raise."""
        if not self.ended and self.keeps(str(info.name)) and not module.same_as(self.modules[-1]):
            self.modules.append(module)


_TYPES = {
    "IntImm": "int",
    "bool": "bool",
    "int": "int",
    "FloatImm": "float",
    "float": "float",
    "String": "str",
    "Array": "list",
}
"TVM's name of a type, without the namespace -> Python's; a switch of Relay's TVM is an int"
_SAYS_WHY = re.compile(r"(?i)\bexpect|does not have|has no|unknown|invalid")


@cache
def settings() -> dict[str, str]:
    """Return key -> `bool`, `int`, `float`, `str`, `list` or `dict`, in alphabetical order."""
    known = tvm.transform.PassContext.list_configs()
    types = {name: str(known[name]["type"]).rpartition(".")[2] for name in sorted(map(str, known))}
    # a TVM class such as tir.transform.UnrollLoopConfig is made from a dict
    return {name: _TYPES.get(type, "dict") for name, type in types.items()}


def refusal(name: str, value: Any) -> str:
    """Return the reason why TVM refuses a value for a key; empty if it accepts it."""
    try:
        tvm.transform.PassContext(config={name: value})
    except (RuntimeError, AttributeError, TypeError, ValueError) as error:  # TVMError is a RuntimeError
        lines = [line.strip() for line in str(error).splitlines()]
        return next((line for line in lines if _SAYS_WHY.search(line)), reason_of(error))[:300]
    return ""
