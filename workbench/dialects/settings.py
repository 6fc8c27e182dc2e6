"""The keys of PassContext's config: which the running TVM knows, of which type, and what it says to a value."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import tvm

from workbench.errors import last_line

_TYPES = {"IntImm": "int", "bool": "bool", "int": "int", "FloatImm": "float", "float": "float", "String": "str"}
"what TVM calls a type, without the namespace, and what Python does; a switch of Relay's TVM is an int"
_SAYS_WHY = re.compile(r"(?i)\bexpect|does not have|has no|unknown|invalid")


@cache
def settings() -> dict[str, str]:
    """Key -> `bool`, `int`, `float`, `str`, `list` or `dict`, in alphabetical order."""
    known = tvm.transform.PassContext.list_configs()
    return {name: _in_python(str(known[name]["type"])) for name in sorted(map(str, known))}


def refusal(name: str, value: Any) -> str:
    """Why TVM does not take that value for that key; empty where it does."""
    try:
        tvm.transform.PassContext(config={name: value})
    except (RuntimeError, AttributeError, TypeError, ValueError) as error:  # TVMError is a RuntimeError
        lines = [line.strip() for line in str(error).splitlines()]
        return next((line for line in lines if _SAYS_WHY.search(line)), last_line(error))[:300]
    return ""


def _in_python(name: str) -> str:
    last = name.rsplit(".", 1)[-1]
    # a class of TVM's own, such as tir.transform.UnrollLoopConfig, is made of a dict
    return "list" if last == "Array" else _TYPES.get(last, "dict")
