"""The names that TVM's printer writes into Relax text, and the meaning of each for TVM's parser.

The operators come from TVM's registry, everything else is listed here. Each name is looked up once, in TVM's own
modules; a text is only ever compared with the resulting table. A name belongs here if calling it only builds a node: it
reads no file, starts no process, evaluates no text and registers nothing.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any, TypeVar

import tvm

from workbench.dialects.relax.parser.expressions import Vocabulary

_IR = "Range StringType dummy_global_info ir_module module_attrs module_global_infos vdevice"
_RELAX_TYPES = "Any Callable DTensor Object Prim Shape Tensor Tuple"
_RELAX = """
    ExternFunc call_packed const dataflow device device_mesh dist.call_tir dist.const dtype func_attr function match_cast
    output prim_value shape str to_vdevice tuple
"""
_TIR_TYPES = "handle let void"
_TIR = """
    Add And Assert BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Broadcast Buffer Cast Div EQ FloorDiv FloorMod GE GT LE LShift
    LT Let Max Min Mod Mul NE Not Or RShift Ramp Range Select Shuffle Sub Tuple
    abs alloc_buffer alloc_local alloc_shared allocate allocate_const attr axis.opaque axis.reduce axis.remap axis.scan
    axis.spatial bind bitwise_and bitwise_not bitwise_or bitwise_xor block block_alloc_buffer block_attr boolean
    buffer_store ceildiv comm_reducer decl_buffer env_thread evaluate fabs floordiv floormod func_attr func_ret grid
    if_then_else index_map infinity init isfinite isinf isnan iter_var launch_thread match_buffer max max_value min
    min_value parallel prim_func reads realize reinterpret sblock sblock_alloc_buffer sblock_attr serial shift_left
    shift_right target thread_binding truncdiv truncmod unroll vectorized where writes
"""
_RENAMED = (
    ("tvm.script.ir_module", "I.ir_module", "0.12"),
    ("T.block", "T.sblock", "0.24"),
    ("T.block_attr", "T.sblock_attr", "0.24"),
    ("R.Object", "R.Any", "0.25"),
    ("out_sinfo=", "out_ty=", "0.25"),
    ("sinfo_args=", "ty_args=", "0.25"),
    ("out_dtype='void'", "out_dtype=None", "0.25"),
)
"a name or an argument, what it is since, and the last TVM that had it"
_SCALAR = re.compile(r"(bool|(u?int|float|bfloat)\d+(_e\d\w*|x\d+)?(x\d+)?)")
_RUN_PYTHON = frozenset({"R.call_py_func"})
"operators of the registry that call a Python function when they run"


@cache
def vocabulary() -> Vocabulary:
    """Return the names that a text may use with the installed TVM."""
    known = _meanings()
    renamed = {old: (new, f"TVM {last} or older") for old, new, last in _RENAMED if old not in known}
    return Vocabulary(frozenset(known), frozenset(name for name in _types() if name in known), renamed)


def environment() -> dict[str, Any]:
    """Return everything that TVM's parser may look up: the table, and nothing of Python.

    TVM's parser looks for unbound names among Python's builtins, so each builtin is bound here to None.
    """
    nothing: dict[str, Any] = dict.fromkeys(dir(builtins))
    spaces = {space: _namespace(space) for space in "IRT"}
    return {**nothing, **spaces, "TypeVar": TypeVar, "__builtins__": {}}


def _namespace(path: str) -> SimpleNamespace:
    inside = SimpleNamespace()
    for name, meaning in _meanings().items():
        if name.startswith(f"{path}."):
            first, *rest = name[len(path) + 1 :].split(".")
            setattr(inside, first, _namespace(f"{path}.{first}") if rest else meaning)
    return inside


@cache
def _meanings() -> dict[str, Any]:
    from tvm.script.parser import ir, relax, tirx

    spaces = {"I": ir, "R": relax, "T": tirx}
    listed = (f"{space}.{name}" for space, names in (("I", _IR), ("R", _RELAX), ("T", _TIR)) for name in names.split())
    looked_up = {name: _look_up(spaces, name) for name in {*listed, *_operators(), *_types()} - _RUN_PYTHON}
    return {name: meaning for name, meaning in looked_up.items() if callable(meaning) or name == "T.let"}


def _look_up(spaces: dict[str, Any], name: str) -> Any:
    space, *steps = name.split(".")
    meaning = spaces[space]
    for step in steps:
        meaning = getattr(meaning, step, None)
    return None if isinstance(meaning, ModuleType) else meaning


def _types() -> Iterator[str]:
    from tvm.script.parser import tirx

    yield from (f"R.{name}" for name in _RELAX_TYPES.split())
    yield from (f"T.{name}" for name in _TIR_TYPES.split())
    yield from (f"T.{name}" for name in dir(tirx) if _SCALAR.fullmatch(name))


def _operators() -> Iterator[str]:
    for operator in map(str, tvm.ir.Op.list_op_names()):
        if operator.startswith("relax."):
            yield f"R.{operator.removeprefix('relax.')}"
        elif (printed := tvm.ir.Op.get(operator).get_attr("TScriptPrinterName")) is not None and "." not in printed:
            yield f"T.{printed}"
