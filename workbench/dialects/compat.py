"""Every difference between the TVM versions that a dialect meets (apache-tvm 0.25, 0.26, 0.27), and nothing else.

What changed: types moved from `struct_info` to `ty` (0.26), variables from `name_hint` to `name` (0.26), constants from
`relax.Constant.data` to `ir.GenericConst.value` (0.27), `TensorStructInfo` became `TensorType` (0.26).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from workbench.errors import WorkbenchError

_OLD_TYPES = hasattr(relax, "TensorStructInfo")
_TYPE = "struct_info_" if _OLD_TYPES else "ty"
_NAME = "name_hint" if _OLD_TYPES else "name"

Constant: type = getattr(relax, "Constant", None) or tvm.ir.GenericConst
Variable: type = relax.Var
TupleType: type = relax.TupleStructInfo if _OLD_TYPES else relax.TupleType
FuncType: type = relax.FuncStructInfo if _OLD_TYPES else relax.FuncType
PrimType: type = relax.PrimStructInfo if _OLD_TYPES else tvm.ir.PrimType
DataType: type | tuple[type, ...] = getattr(relax, "DataTypeImm", ())
"a data type as a value; since 0.27 a constant"
_ShapeType: type = relax.ShapeStructInfo if _OLD_TYPES else relax.ShapeType
_TensorType: type = relax.TensorStructInfo if _OLD_TYPES else relax.TensorType


KNOWN = ((0, 25), (0, 27))
"The oldest and the newest TVM that the tests run on."


@cache
def warn_of_unknown(version: str = tvm.__version__) -> None:
    """Say, once, that this TVM is none that was tried; and go on."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or not KNOWN[0] <= (int(numbers[1]), int(numbers[2])) <= KNOWN[1]:
        oldest, newest = (".".join(map(str, each)) for each in KNOWN)
        warnings.warn(
            f"TVM {version} is none that the workbench was tried on ({oldest} to {newest}); what it does differently may show "
            "as an error or a wrong picture. pip install tvm-workbench[relax] has the newest that was",
            stacklevel=2,
        )


def number(value: float) -> Any:
    """A number as an operand; until 0.25 it is an expression of Relax."""
    return relax.PrimValue(value) if hasattr(relax, "PrimValue") else value


def tensor_type(shape: tuple[Any, ...], dtype: str) -> Any:
    """The type of a tensor."""
    return _TensorType(shape, dtype)


def identity(expr: Any) -> int:
    """A number that two Python objects share when they stand for one TVM object.

    `hash` will not do: an integer literal hashes to its value.
    """
    return expr.__chandle__()


def type_of(expr: Any) -> Any:
    """The type that TVM inferred for an expression, None where there is none yet."""
    found = getattr(expr, _TYPE, None)
    # since 0.26 a type that is not there yet is an instance of the base class
    return None if type(found) is tvm.ir.Type else found


def name_of(variable: Any) -> str:
    """The name that a variable asks for; printed names may carry a number more."""
    return str(getattr(variable, _NAME))


def value_of(constant: Any) -> Any:
    """What a constant holds: a runtime tensor, or a plain value such as a data type."""
    return constant.data if hasattr(constant, "data") else constant.value


def replaced(node: Any, changed: Mapping[str, Any]) -> Any:
    """A copy of a node with some other fields, where TVM infers nothing anew."""
    index, getters = _layout(type(node))
    fields = {name: changed[name] if name in changed else get(node) for name, get in getters.items()}
    return _make(index, *(each for pair in fields.items() for each in pair))


@cache
def _layout(kind: type) -> tuple[int, dict[str, Callable[[Any], Any]]]:
    """The number of a class of TVM's, and what reads each of its fields."""
    infos = [
        each.__dict__["__tvm_ffi_type_info__"] for each in kind.__mro__ if "__tvm_ffi_type_info__" in each.__dict__
    ]
    return infos[0].type_index, {field.name: field.getter for info in infos for field in info.fields or ()}


_make = tvm_ffi.get_global_func("ffi.MakeObjectFromPackedArgs")


def with_value(constant: Any, value: Any) -> Any:
    """A constant of the same type that holds something else, which need not fit the type."""
    return replaced(constant, {"data" if hasattr(constant, "data") else "value": value})


def plain_value(expr: Any) -> Any:
    """What stands inside a literal that is no tensor (an IntImm, a StringImm, a data type), the literal itself otherwise."""
    value = expr
    # until 0.26 a PrimValue holds an IntImm
    while hasattr(value, "value"):
        value = value.value
    if isinstance(value, str):
        # data types are strings of a kind of their own, and the empty one stands for none
        return str(value) or (value if type(value) is str else None)
    return value


def structural_equal(first: Any, second: Any) -> bool:
    """Whether two modules are equal up to the names of what they bind."""
    return bool(tvm_ffi.structural_equal(first, second, map_free_vars=True))


def structural_hash(module: Any) -> int:
    """The same for modules that are equal up to the names of what they bind."""
    return int(tvm_ffi.structural_hash(module, map_free_vars=True))


def dtype_of(type: Any) -> str:
    """The data type of a tensor's or a scalar's type."""
    return str(type.dtype)


def fixed_shape(type: Any) -> list[int] | None:
    """The dimensions of a tensor type whose shape is known, None for any other type."""
    if not isinstance(type, _TensorType) or type.shape is None or not hasattr(type.shape, "values"):
        return None
    values = list(type.shape.values)
    return [int(v) for v in values] if all(isinstance(v, (int, tvm.tirx.IntImm)) for v in values) else None


def symbols_of(type: Any) -> list[str]:
    """The names of the symbolic dimensions in a type."""
    find = getattr(relax.analysis, "tir_vars_in_type", None) or relax.analysis.tir_vars_in_struct_info
    return [name_of(variable) if hasattr(variable, _NAME) else str(variable.name) for variable in find(type)]


def shape_of(type: Any) -> list[int] | None:
    """The numbers of the type of a shape, None where one is open and for any other type."""
    values = getattr(type, "values", None) if isinstance(type, _ShapeType) else None
    return (
        None if values is None or not all(isinstance(v, tvm.tirx.IntImm) for v in values) else [int(v) for v in values]
    )


def is_load(node: Any) -> bool:
    """Whether a node of a PrimFunc reads a buffer."""
    return type(node).__name__ in ("BufferLoad", "TensorLoad")


def buffer_of(access: Any) -> Any:
    """The buffer that a load, a store or a region of a block is of; since 0.27 a variable."""
    found = getattr(access, "source", None)
    return access.buffer if found is None else found


def buffer_shape(buffer: Any) -> list[Any]:
    """The dimensions of a buffer."""
    return list(buffer.shape if hasattr(buffer, "shape") else buffer.ty.shape)


def save_json(module: tvm.IRModule) -> str:
    """The module as JSON that `tvm.ir.load_json` reads.

    Raises
    ------
    WorkbenchError
        The apache-tvm-ffi installed ends the process when it is asked for it.
    """
    if tvm_ffi.__version__.startswith("0.1.15"):
        raise WorkbenchError(
            f"apache-tvm-ffi {tvm_ffi.__version__} ends the process when it saves a module; pip install apache-tvm-ffi==0.1.14.post1"
        )
    return tvm.ir.save_json(module)
