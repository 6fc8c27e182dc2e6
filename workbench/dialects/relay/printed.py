"""A live Relay module as text that reads back, with what the text cannot say: odd names and the values of constants."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field

import numpy as np
import tvm
from tvm import relay

SAFE_DEPTH = 5000
"TVM's recursive visitors take about 1 kB of stack a level; the usual 8 MB stack ends near 8,000 levels."

_PLAIN_NAME = re.compile(r"[\w./:\-]*[\w./\-]")
_META = re.compile(r"meta\[relay\.Constant\]\[(\d+)\]")


@dataclass
class Printed:
    """Text of a module."""

    text: str
    names: dict[str, str] = field(default_factory=dict)
    "name in the text -> the real name, where the real one would not read back"


def print_module(module: tvm.IRModule) -> Printed:
    """The module as TVM prints it, without metadata.

    Parameters whose names hold white space, quotes or brackets are printed under another name: TVM prints names as they
    are, and such text is ambiguous.
    """
    names: dict[str, str] = {}
    functions = {}
    for global_var, function in module.functions.items():
        if isinstance(function, relay.Function):
            functions[global_var] = _with_plain_names(function, names)
    if names or len(functions) != len(module.functions):
        module = relay.transform.InferType()(tvm.IRModule(functions, module.type_definitions))
    return Printed(module.astext(show_meta_data=False), names)


def _with_plain_names(function: relay.Function, names: dict[str, str]) -> relay.Function:
    odd = [p for p in function.params if not _PLAIN_NAME.fullmatch(p.name_hint)]
    if not odd:
        return function
    plain = {p: relay.Var(f"odd_name_{len(names) + i}", p.type_annotation or p.checked_type) for i, p in enumerate(odd)}
    names.update((new.name_hint, old.name_hint) for old, new in plain.items())
    params = [plain.get(p, p) for p in function.params]
    return relay.Function(
        params, relay.bind(function.body, plain), function.ret_type, function.type_params, function.attrs
    )


def constant_digests(module: tvm.IRModule, text: str, depth: int) -> dict[str, str]:
    """A checksum of each tensor constant that the text names, keyed by that name.

    TVM numbers constants in the order in which it prints them, which is post-DFS order; scalars are printed in place and
    have no number. Where the two counts disagree nothing is returned rather than a wrong pairing.
    """
    numbers = {int(found) for found in _META.findall(text)}
    if not numbers or depth > SAFE_DEPTH:
        return {}
    constants: list[relay.Constant] = []

    def keep(expr: relay.Expr) -> None:
        if isinstance(expr, relay.Constant) and _has_number(expr):
            constants.append(expr)

    for name in re.findall(r"^def @([\w.$\-]+)", text, re.MULTILINE):
        relay.analysis.post_order_visit(module[name], keep)
    unique = list(dict.fromkeys(constants))
    if len(unique) != len(numbers):
        return {}
    return {f"meta[relay.Constant][{i}]": checksum(constant.data) for i, constant in enumerate(unique)}


_IN_PLACE = ("int16", "int32", "int64", "float16", "float32", "float64", "bool")


def _has_number(constant: relay.Constant) -> bool:
    return len(constant.data.shape) > 0 or constant.data.dtype not in _IN_PLACE


def checksum(array: tvm.nd.NDArray) -> str:
    """CRC-32 of an array's bytes, as hexadecimal text."""
    try:
        values = np.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError):
        values = array.numpy()
    return f"{zlib.crc32(np.ascontiguousarray(values).data):08x}"
