"""TVM module objects from a parsed text: the inverse of printing, without TVM's parser.

TVM's parser accepts only the output of its own version. Here a variable may have any name, a constant no value, an
attribute no meaning in this version; each assumption becomes a note.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
import tvm
from tvm import relay

from workbench.analysis.tensors import tensor
from workbench.dialects.relay.diagnostics import as_error
from workbench.dialects.relay.parser.ast import Expr, Module, operands_first, post_order
from workbench.dialects.relay.parser.tokens import ANY, ObjectText, Token, TypedFloat, literal, literal_type
from workbench.dialects.relay.paste.free import assumed_types
from workbench.errors import LoadError, reason_of

_UNKNOWN_FIELD = re.compile(
    r"does not have field '(\w+)'|has no field named '?(\w+)|Cannot find (?:field|attribute) '?(\w+)"
)
MOST_BRACKETS = 64
"TVM's parser reads types recursively"
SEED = 0
MOST_SEEDED = 1 << 28
"elements of random constants: a gigabyte of float32"
_ARGUMENTS = {"arange": ("start", "stop", "step")}
"attributes that repeat a call's arguments as objects"


def module_of(parsed: Module, metadata: Mapping[str, Any], params: Mapping[str, Any]) -> tuple[tvm.IRModule, list[str]]:
    """Return the IRModule of a text, not yet typed, and the assumptions made.

    `metadata`: objects by their names in the text, `meta[relay.Constant][0]`. `params`: arrays by parameter, which also
    give the types. Raises LoadError: TVM has no such operator, or something has no type.
    """
    maker = _Maker(parsed, metadata, params)
    module = tvm.IRModule()
    for name in post_order(reversed(parsed.functions), lambda name: _callees(parsed, name)):
        module[maker.globals[name]] = maker.made[parsed.functions[name]]
        if len(parsed.functions) > 1 and not parsed.functions[name].result:
            # TVM infers a call of a global function from the type that the function declares
            module = relay.transform.InferType()(module)
    return module, maker.notes()


class _Maker:
    def __init__(self, parsed: Module, metadata: Mapping[str, Any], params: Mapping[str, Any]) -> None:
        self.metadata = metadata
        self.params = params
        self.globals = {name: relay.GlobalVar(name) for name in parsed.functions}
        self.made: dict[Expr, Any] = {}
        self.seeded: list[str] = []
        self.room = MOST_SEEDED
        self.left_out: dict[str, None] = {}
        self.types = self.parameter_types(parsed)
        for expr in operands_first(parsed.functions.values()):
            self.made[expr] = _MAKERS.get(expr.kind, _Maker.unknown)(self, expr)

    def notes(self) -> list[str]:
        """Return the assumptions made."""
        said = [f"%{variable.text} is taken for a {type}: {why}" for variable, (type, why) in self.assumed.items()]
        if self.seeded:
            said.append(
                f"the text has no values for {', '.join(sorted(set(self.seeded), key=lambda name: (len(name), name)))}; random ones of the stated types were made (seed {SEED})"
            )
        return said + list(self.left_out)

    def parameter_types(self, parsed: Module) -> dict[Expr, str]:
        """Return types that the text does not state: from the given arrays, or assumed."""
        lacking = [p for function in parsed.functions.values() for p in function.params if not p.type]
        given = {p: type_of(self.params[p.text]) for p in lacking if p.text in self.params}
        unknown = [p for p in lacking if p not in given]
        self.assumed = assumed_types(unknown, parsed.functions.values()) if unknown else {}
        return {**given, **{variable: type for variable, (type, _) in self.assumed.items()}}

    def unknown(self, expr: Expr) -> Any:
        raise LoadError(f"line {expr.line}: a {expr.kind} is read only from text as this TVM prints it")

    def make_var(self, expr: Expr) -> relay.Var:
        said = expr.type or self.types.get(expr, "")
        for name in expr.attrs:
            self.leave_out(f"the {name} of %{expr.text} was left out")
        return relay.Var(expr.text, relay_type(said) if said else None)

    def make_constant(self, expr: Expr) -> relay.Constant:
        kept: Any = self.metadata.get(expr.text)
        if isinstance(kept, relay.Constant):
            return relay.Constant(kept.data)
        if expr.text.startswith("meta["):
            return self.seeded_constant(expr)
        stated, text = tensor(expr.type), expr.text
        dtype = stated.dtype if stated else literal_type(text)
        value = text == "True" if text in ("True", "False") else literal(Token("number", text, 0))
        try:
            return relay.const(value, dtype)
        except (OverflowError, ValueError, TypeError, tvm.TVMError):
            raise LoadError(f"line {expr.line}: {text[:40]} is not a number of the type {dtype}") from None

    def seeded_constant(self, expr: Expr) -> relay.Constant:
        stated = tensor(expr.type)
        sizes = [str(size) for size in stated.shape] if stated else []
        if stated is None or not all(size.isdigit() for size in sizes):
            raise LoadError(f"line {expr.line}: {expr.text} has neither a value nor a type, `/* ty=Tensor[...] */`")
        self.seeded.append(expr.text)
        shape = tuple(int(size[:20]) for size in sizes)
        self.room -= prod(shape)
        if self.room < 0:
            raise LoadError(
                f"line {expr.line}: constants without values would have more than {MOST_SEEDED:,} elements here; "
                "give the text with its #[metadata]"
            )
        try:
            return relay.const(
                random_values(int(expr.text[:-1].rpartition("[")[2][:18]), shape, stated.dtype), stated.dtype
            )
        except (TypeError, ValueError, KeyError, tvm.TVMError):
            raise LoadError(
                f"line {expr.line}: there are no random values of the type {stated.dtype} of {expr.text}"
            ) from None

    def make_op(self, expr: Expr) -> tvm.ir.Op:
        try:
            return tvm.ir.Op.get(expr.text)
        except tvm.TVMError:
            raise LoadError(f"line {expr.line}: TVM {tvm.__version__} has no operator {expr.text}") from None

    def make_global(self, expr: Expr) -> relay.GlobalVar:
        if expr.text not in self.globals:
            raise LoadError(f"line {expr.line}: @{expr.text} is called, and the text does not have it")
        return self.globals[expr.text]

    def make_call(self, expr: Expr) -> relay.Call:
        callee, *arguments = (self.made[part] for part in expr.args)
        return relay.Call(callee, arguments, self.attrs(callee, arguments, expr))

    def make_function(self, expr: Expr) -> relay.Function:
        result = relay_type(expr.result) if expr.result else None
        made = relay.Function([self.made[param] for param in expr.params], self.made[expr.args[0]], result)
        attrs = {n: self.value(v) for n, v in expr.attrs.items() if self.has_meaning(n, v, "function")}
        return made.with_attr(attrs) if attrs else made

    def make_ref(self, expr: Expr) -> relay.Expr:
        kinds = {"ref": relay.RefCreate, "ref_read": relay.RefRead, "ref_write": relay.RefWrite}
        return kinds[expr.text](*(self.made[part] for part in expr.args))

    # -- attributes

    def attrs(self, callee: Any, arguments: list[Any], expr: Expr) -> Any:
        """Return the attributes of a call: an object of the metadata, or made from the values in the text."""
        kept = str(expr.attrs.get("attrs", ""))
        if kept.startswith("meta[relay.attrs.") and kept in self.metadata:
            return self.metadata[kept]
        where = callee.name if isinstance(callee, tvm.ir.Op) else "a call of a function"
        given = dict(zip(_ARGUMENTS.get(where, ()), arguments, strict=False))
        if any(str(expr.attrs.get(name)) not in self.metadata for name in given):
            self.leave_out(f"{', '.join(given)} of {where} are not in the text; they are taken from its arguments")
        others = {name: value for name, value in expr.attrs.items() if name not in given}
        said = given | {n: self.value(v) for n, v in others.items() if self.has_meaning(n, v, where)}
        stated = said.pop("attrs_type_key", "")
        said |= said.pop("__dict__", {})
        key = attribute_type(callee) if isinstance(callee, tvm.ir.Op) else str(stated)
        if key:
            return self.make_attrs(key, said, where, expr)
        for name in said:
            self.leave_out(f"{where} has no attribute {name} in TVM {tvm.__version__}; it was left out")
        return None

    def make_attrs(self, key: str, said: dict[str, Any], where: str, expr: Expr) -> Any:
        while True:
            try:
                return tvm.ir.make_node(key, **said)
            except (tvm.TVMError, AttributeError, TypeError, ValueError) as error:
                found = _UNKNOWN_FIELD.search(str(error))
                name = next(filter(None, found.groups()), "") if found else ""
                if name not in said:
                    missing = len(said) < len(expr.attrs)
                    why = "its attributes are not in the text" if missing else reason_of(error)
                    raise LoadError(f"line {expr.line}: {where} cannot be made: {why}") from None
                self.leave_out(f"{where} has no attribute {name} in TVM {tvm.__version__}; it was left out")
                del said[name]

    def value(self, value: Any) -> Any:
        """Return an attribute's value as TVM's parser makes it: some attributes accept objects only."""
        if isinstance(value, list):
            return [self.value(each) for each in value]
        if isinstance(value, ObjectText):
            return tvm.tir.Any() if value == ANY else self.metadata[value]
        if isinstance(value, TypedFloat):
            return tvm.tir.FloatImm(value.dtype, float(value))
        if isinstance(value, bool) or not isinstance(value, int):
            return value
        return tvm.tir.IntImm(getattr(value, "dtype", "int32" if abs(value) < 2**31 else "int64"), int(value))

    def has_meaning(self, name: str, value: Any, where: str) -> bool:
        """Return whether the value of an attribute can be made; add a note if its object is not in the metadata."""
        named = (leaf for leaf in _leaves(value) if isinstance(leaf, ObjectText))
        if all(leaf == ANY or leaf in self.metadata for leaf in named):
            return True
        self.leave_out(f"the value of {name} of {where} is not in the text; it was left out")
        return False

    def leave_out(self, note: str) -> None:
        self.left_out[note] = None


_MAKERS: dict[str, Callable[[_Maker, Expr], Any]] = {
    "var": _Maker.make_var,
    "constant": _Maker.make_constant,
    "op": _Maker.make_op,
    "global": _Maker.make_global,
    "call": _Maker.make_call,
    "tuple": lambda maker, expr: relay.Tuple([maker.made[part] for part in expr.args]),
    "get_item": lambda maker, expr: relay.TupleGetItem(maker.made[expr.args[0]], int(expr.text)),
    "function": _Maker.make_function,
    "let": lambda maker, expr: relay.Let(*(maker.made[part] for part in expr.args)),
    "if": lambda maker, expr: relay.If(*(maker.made[part] for part in expr.args)),
    "ref": _Maker.make_ref,
}
"kind of an expression in the text -> the method that makes TVM's object for it"


def lacks_types(parsed: Module) -> bool:
    """Return whether TVM's parser would make wrong or no attributes of a call, on which TVM may end the process."""
    calls = [expr for expr in operands_first(parsed.functions.values()) if expr.kind == "call"]
    return any(
        (call.args[0].text in UNREGISTERED and "attrs" not in call.attrs) or "__dict__" in call.attrs for call in calls
    )


def _leaves(value: Any) -> Iterable[Any]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        else:
            yield one


def _callees(parsed: Module, name: str) -> list[str]:
    inside = operands_first([parsed.functions[name]])
    return [expr.text for expr in inside if expr.kind == "global" and expr.text in parsed.functions]


def relay_type(text: str) -> Any:
    """Return TVM's type for its text."""
    simple = tensor(text)
    if simple is not None and all(dim == "?" or (dim.isdecimal() and len(dim) < 19) for dim in map(str, simple.shape)):
        dims = [relay.Any() if dim == "?" else int(dim) for dim in simple.shape]
        try:
            return relay.TensorType(dims, simple.dtype)
        except (tvm.TVMError, ValueError, OverflowError):
            raise LoadError(f"{text[:80]} is not a type that TVM reads") from None
    depths = accumulate((char in "([{") - (char in ")]}") for char in text)
    if sum(text.count(mark) for mark in "([{") > MOST_BRACKETS * 16 or max(depths, default=0) > MOST_BRACKETS:
        raise LoadError(f"a type is nested too deeply: {text[:60]}...")
    try:
        with as_error(LoadError):
            function = tvm.relay.parse(f'#[version = "0.0.5"]\ndef @main(%x: {text}) {{ %x }}')["main"]
    except (tvm.TVMError, LoadError):
        raise LoadError(f"{text[:80]} is not a type that TVM reads") from None
    return function.params[0].type_annotation


def type_of(array: Any) -> str:
    """Return the type of an array as in Relay's text."""
    values = array if hasattr(array, "dtype") and hasattr(array, "shape") else np.asarray(array)
    return f"Tensor[({', '.join(map(str, values.shape))}), {values.dtype}]" if len(values.shape) else str(values.dtype)


def random_values(index: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return random values: positive, so that a variance has a square root; small, so that sums stay finite.

    For large arrays the first million values are drawn and repeated.
    """
    random = np.random.default_rng([SEED, index])
    drawn = min(prod(shape), 1 << 20)
    if dtype.startswith(("int", "uint", "bool")):
        values = random.integers(0, 2 if dtype == "bool" else 5, drawn)
    else:
        values = random.uniform(0.05, 1, drawn)
    return np.resize(values.astype("float32" if dtype == "bfloat16" else dtype), shape)


UNREGISTERED = {
    "annotation.cast_hint": "CastHint",
    "annotation.compiler_begin": "Compiler",
    "annotation.compiler_end": "Compiler",
    "annotation.with_funcid": "WithFuncId",
    "collapse_sum_to": "InitOp",
    "cumprod": "Scanop",
    "cumsum": "Scanop",
    "dft": "DFT",
    "dyn.expand_dims": "DynExpandDims",
    "nn.dilate": "Dilate",
    "scatter_elements": "ScatterElements",
    "scatter_nd": "ScatterND",
    "stft": "Stft",
    "trilu": "Trilu",
    "unique": "Unique",
    "vision.all_class_non_max_suppression": "AllClassNonMaximumSuppression",
    "vision.get_valid_counts": "GetValidCounts",
    "vision.non_max_suppression": "NonMaximumSuppression",
    "vision.proposal": "Proposal",
    "vision.regular_non_max_suppression": "RegularNonMaximumSuppression",
    "vision.roi_align": "ROIAlign",
    "vision.roi_pool": "ROIPool",
}
"operators that TVM registers without a type of attributes, and the name of the type that it uses for them"


def attribute_type(op: tvm.ir.Op) -> str:
    """Return the key of the type of an operator's attributes; "" if it has none."""
    kind = UNREGISTERED.get(op.name, "")
    return str(op.attrs_type_key) or (f"relay.attrs.{kind}Attrs" if kind else "")
