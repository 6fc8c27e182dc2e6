"""Calls of every operator in TVM's registry, with each attribute of its attribute type at its default and changed."""

from __future__ import annotations

import faulthandler
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import tvm
from tvm import relay

from workbench.dialects.relay.objects import attribute_type

_REQUIRED = re.compile(r"Cannot find required field '(\w+)'")
VALUES: tuple[Any, ...] = (
    2,
    -1,
    1 << 40,
    0.75,
    1e-7,
    True,
    False,
    "int8",
    'a "quoted" word',
    "",
    None,
    [2, 3],
    [-1],
    [],
    [[1, 2], [3, 4]],
    [0.5, 2.0],
    tvm.tir.IntImm("int64", 2),
    [tvm.tir.IntImm("int64", 2), 3],
    [tvm.tir.FloatImm("float64", 0.25)],
    [tvm.tir.Any(), 2],
    "a\nb\u00e9 (1)",
    ["a", "b"],
    tvm.target.VirtualDevice(tvm.cpu(0)),
)
"values that are tried for each attribute; TVM keeps those that fit the attribute's type"


@dataclass(frozen=True)
class Case:
    """A call of an operator."""

    op: str
    attribute: str
    "the attribute that differs from its default; empty for the defaults"
    attrs: Any

    def module(self) -> tvm.IRModule:
        """Return a module that makes the call; its types need not fit."""
        x = relay.var("x", shape=(2, 3))
        op = tvm.ir.Op.get(self.op)
        arguments = [relay.GlobalVar("main"), relay.Tuple([x])] if op.name == "call_lowered" else [x] * op.num_inputs
        return tvm.IRModule({"main": relay.Function([x], relay.Call(op, arguments, self.attrs))})


def operators() -> list[str]:
    """Return the names of Relay's operators."""
    names = sorted(str(name) for name in tvm.ir.Op.list_op_names())
    return [name for name in names if not name.startswith(("tir.", "relax."))]


def cases(op: str) -> Iterator[Case]:
    """Make the calls of one operator."""
    key = attribute_type(tvm.ir.Op.get(op))
    defaults = _defaults(key) if key else None
    yield Case(op, "", tvm.ir.make_node(key, **defaults) if defaults is not None else None)
    for name, value in _fitting(key) if defaults is not None else ():
        made = tvm.ir.make_node(key, **{**defaults, name: value})
        if _is_printed_whole(made, name):
            yield Case(op, name, made)


def _is_printed_whole(attrs: Any, name: str) -> bool:
    """Return whether six digits, which TVM's printer writes of a double, are all of it."""
    try:
        value = getattr(attrs, name)
    except tvm.TVMError:  # a number beyond 63 bits
        return True
    return not isinstance(value, float) or float(f"{value:g}") == value


@cache
def _defaults(key: str) -> dict[str, Any] | None:
    """Return values for the attributes that have no default; None where the type holds other things than values."""
    given: dict[str, Any] = {}
    while True:
        try:
            tvm.ir.make_node(key, **given)
        except AttributeError as error:
            found = _REQUIRED.search(str(error))
            name = found.group(1) if found else ""
            fitting = (value for value in VALUES if _passes(key, {**given, name: value}, name))
            if not name or (value := next(fitting, _NOTHING)) is _NOTHING:
                return None
            given[name] = value
        else:
            return given


_NOTHING = object()


def _passes(key: str, given: dict[str, Any], name: str) -> bool:
    """Return whether TVM accepts the value of one attribute; it may refuse others."""
    try:
        tvm.ir.make_node(key, **given)
    except (AttributeError, TypeError, ValueError, tvm.TVMError) as error:
        found = _REQUIRED.search(str(error))
        return found is not None and found.group(1) != name
    return True


def fields(key: str) -> list[str]:
    """Return the names of a type's attributes."""
    info = tvm.get_global_func("ir.AttrsListFieldInfo")
    return [str(field.name) for field in info(tvm.ir.make_node(key, **(_defaults(key) or {})))]


@cache
def _fitting(key: str) -> list[tuple[str, Any]]:
    """Return pairs of an attribute and a value that its type takes; TVM ends the process over some values."""
    defaults = _defaults(key) or {}
    tried = [(name, value) for name in fields(key) for value in VALUES]
    taken = answers(lambda place: str(_passes(key, {**defaults, tried[place][0]: tried[place][1]}, "")), len(tried))
    return [pair for pair, answer in zip(tried, taken, strict=True) if answer == "True"]


def answers(work: Callable[[int], str], count: int) -> list[str]:
    """Return what `work` gives for each number below `count`, in forks; "ended" where the process ends."""
    known: list[str] = []
    while len(known) < count:
        receiver, sender = os.pipe()
        child = os.fork()
        if child == 0:
            faulthandler.disable()
            # an error of `work` ends the fork too, and is an answer: else the loop would not end
            status = 1
            try:
                with os.fdopen(sender, "w") as file:
                    for place in range(len(known), count):
                        print(work(place).replace("\n", " "), file=file, flush=True)
                status = 0
            finally:
                os._exit(status)
        os.close(sender)
        with os.fdopen(receiver) as file:
            known += file.read().splitlines()
        if os.waitpid(child, 0)[1] != 0:
            known.append("ended")
    return known
