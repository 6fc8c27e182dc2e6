"""Every difference between the TVM versions that a dialect handles (apache-tvm 0.26 and 0.27), and nothing else.

Constants moved from `relax.Constant.data` to `ir.GenericConst.value`, `arith` to `sym`, and the check of PrimFuncs with blocks to `s_tir` (0.27).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from workbench.errors import LoadError, WorkbenchError, reason_of

Constant: type = getattr(relax, "Constant", None) or tvm.ir.GenericConst
Variable: type = relax.Var
TupleType: type = relax.TupleType
FuncType: type = relax.FuncType
PrimType: type = tvm.ir.PrimType
DataType: type | tuple[type, ...] = getattr(relax, "DataTypeImm", ())
"a data type as a value; since 0.27 a constant"
_ShapeType: type = relax.ShapeType
_TensorType: type = relax.TensorType
check_kernel: Callable[[Any], object] = getattr(tvm.s_tir.analysis, "verify_well_formed", None) or (
    tvm.tirx.analysis.verify_well_formed
)
"TVM's check of a PrimFunc; since 0.27 that of `tirx` refuses blocks"

KNOWN = ((0, 26), (0, 27))
"The oldest and the newest TVM that the tests run on."


@cache
def warn_of_unknown(version: str = tvm.__version__) -> None:
    """Warn once that this TVM version is untested, and go on."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or not KNOWN[0] <= (int(numbers[1]), int(numbers[2])) <= KNOWN[1]:
        oldest, newest = (".".join(map(str, each)) for each in KNOWN)
        warnings.warn(
            f"TVM {version} is none that the workbench was tried on ({oldest} to {newest}); what it does differently may show "
            "as an error or a wrong picture. pip install tvm-workbench[relax] has the newest that was",
            stacklevel=2,
        )


def tensor_type(shape: tuple[Any, ...], dtype: str) -> Any:
    """Return the type of a tensor."""
    return _TensorType(shape, dtype)


def flaw(module: tvm.IRModule) -> str:
    """Return the reason why TVM's own checks find the module not well-formed; "" if it is: that of Relax, and that of TIR."""
    checks: list[tuple[str, Callable[[Any], object], Any]] = [("", relax.analysis.well_formed, module)]
    # each PrimFunc alone: two may share variables until ConvertSSA
    kernels = [each for each in module.functions_items() if isinstance(each[1], tvm.tirx.PrimFunc)]
    checks += [(f"in the PrimFunc {variable.name_hint}, ", check_kernel, kernel) for variable, kernel in kernels]
    for where, check, thing in checks:
        try:
            # until 0.26 that of Relax returns a bool, and writes the reason to the terminal
            if check(thing) is False:
                return f"{where}{check.__name__} gives no reason"
        except (ValueError, TypeError, RuntimeError) as error:
            # an address says nothing to a user
            return where + re.sub(r"\b(\w+) 0x[0-9a-f]+", r"\1", reason_of(error))
    return ""


def walk(module: tvm.IRModule, visit: Callable[[Any], None] = lambda _expr: None) -> None:
    """Call `visit` with each expression of the Relax functions.

    Raises LoadError: TVM fails on it: an expression has no type.
    """
    for variable, function in module.functions_items():
        if isinstance(function, relax.Function):
            try:
                relax.analysis.post_order_visit(function, visit)
            except RuntimeError as error:
                raise LoadError(
                    f"TVM cannot walk the function {variable.name_hint} ({reason_of(error)}); build it with relax.BlockBuilder, which gives each expression a type"
                ) from None


def identity(expr: Any) -> int:
    """Return a number that two Python objects share if they are one TVM object.

    `hash` does not work: an integer literal hashes to its value.
    """
    return expr.__chandle__()


def type_of(expr: Any) -> Any:
    """Return the type that TVM inferred for an expression, None if there is none yet."""
    found = getattr(expr, "ty", None)
    # a type that is not inferred yet is an instance of the base class
    return None if type(found) is tvm.ir.Type else found


def name_of(variable: Any) -> str:
    """Return the name hint of a variable; printed names may have a number appended."""
    return str(variable.name)


def value_of(constant: Any) -> Any:
    """Return the value of a constant: a runtime tensor, or a plain value such as a data type."""
    return constant.data if hasattr(constant, "data") else constant.value


def replaced(node: Any, changed: Mapping[str, Any]) -> Any:
    """Return a copy of a node with some other fields, for which TVM infers nothing anew."""
    index, getters = _layout(type(node))
    fields = {name: changed[name] if name in changed else get(node) for name, get in getters.items()}
    return _make(index, *(each for pair in fields.items() for each in pair))


def data_types(attrs: Any) -> Iterator[tuple[str, str]]:
    """Yield the name of each attribute that is a data type, and the data type."""
    for name, get in _layout(type(attrs))[1].items():
        value = get(attrs)
        if isinstance(value, tvm.DataType):
            yield name, str(value)


@cache
def _layout(kind: type) -> tuple[int, dict[str, Callable[[Any], Any]]]:
    """Return the number of a TVM class, and a reader for each of its fields."""
    infos = [
        each.__dict__["__tvm_ffi_type_info__"] for each in kind.__mro__ if "__tvm_ffi_type_info__" in each.__dict__
    ]
    return infos[0].type_index, {field.name: field.getter for info in infos for field in info.fields or ()}


_make = tvm_ffi.get_global_func("ffi.MakeObjectFromPackedArgs")


def with_value(constant: Any, value: Any) -> Any:
    """Return a constant of the same type with another value, which need not fit the type."""
    return replaced(constant, {"data" if hasattr(constant, "data") else "value": value})


def plain_value(expr: Any) -> Any:
    """Return the plain value of a literal (an IntImm, a StringImm, a data type); a tensor literal is returned as it is."""
    value = expr
    # until 0.26 a PrimValue holds an IntImm
    while hasattr(value, "value"):
        value = value.value
    if isinstance(value, str):
        # data types are strings of their own class, and the empty one means none
        return str(value) or (value if type(value) is str else None)
    return value


def structural_equal(first: Any, second: Any) -> bool:
    """Return whether two modules are equal up to the names of their bindings."""
    return bool(tvm_ffi.structural_equal(first, second, map_free_vars=True))


def structural_hash(module: Any) -> int:
    """Return a hash that is the same for modules that are equal up to the names of their bindings."""
    return int(tvm_ffi.structural_hash(module, map_free_vars=True))


def dtype_of(type: Any) -> str:
    """Return the data type of a tensor's or a scalar's type."""
    return str(type.dtype)


def fixed_shape(type: Any) -> list[int] | None:
    """Return the dimensions of a tensor type whose shape is known, None for any other type."""
    values = dimensions_of(type)
    if values is None or not all(is_number(each) for each in values):
        return None
    return [int(each) for each in values]


def is_number(expr: Any) -> bool:
    """Return whether an expression is an integer literal."""
    return isinstance(expr, (int, tvm.tirx.IntImm))


def arithmetic() -> Any:
    """Return TVM's module for symbolic arithmetic, `sym` since 0.27."""
    name = "tvm.sym" if find_spec("tvm.sym") else "tvm.arith"
    return import_module(name)


def dimensions_of(type: Any) -> list[Any] | None:
    """Return the dimensions of a tensor type, as numbers or expressions; None if unknown, and for any other type."""
    values = getattr(type.shape, "values", None) if isinstance(type, _TensorType) else None
    return None if values is None else list(values)


def variables_of(type: Any) -> list[Any]:
    """Return the symbolic dimensions in a type."""
    return list(relax.analysis.tir_vars_in_type(type))


def symbols_of(type: Any) -> list[str]:
    """Return the names of the symbolic dimensions in a type."""
    return [name_of(variable) for variable in variables_of(type)]


def shape_of(type: Any) -> list[int] | None:
    """Return the numbers of a shape's type; None if one is open, and for any other type."""
    values = getattr(type, "values", None) if isinstance(type, _ShapeType) else None
    return (
        None if values is None or not all(isinstance(v, tvm.tirx.IntImm) for v in values) else [int(v) for v in values]
    )


def is_load(node: Any) -> bool:
    """Return whether a node of a PrimFunc reads a buffer."""
    return type(node).__name__ in ("BufferLoad", "TensorLoad")


def buffer_of(access: Any) -> Any:
    """Return the buffer of a load, a store or a block's region; since 0.27 a variable."""
    found = getattr(access, "source", None)
    return access.buffer if found is None else found


def buffer_shape(buffer: Any) -> list[Any]:
    """Return the dimensions of a buffer."""
    return list(buffer.shape if hasattr(buffer, "shape") else buffer.ty.shape)


def save_json(module: tvm.IRModule) -> str:
    """Return the module as JSON that `tvm.ir.load_json` reads.

    Raises WorkbenchError: the installed apache-tvm-ffi would end the process.
    """
    if tvm_ffi.__version__.startswith("0.1.15"):
        raise WorkbenchError(
            f"apache-tvm-ffi {tvm_ffi.__version__} ends the process when it saves a module; pip install apache-tvm-ffi==0.1.14.post1"
        )
    return tvm.ir.save_json(module)
