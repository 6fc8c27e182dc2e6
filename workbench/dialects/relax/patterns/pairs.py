"""Conversion between Relax's DPL patterns and our Patterns."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax
from tvm.relax import dpl

from workbench.analysis.patterns import Pattern, PatternBuilder, PatternNode
from workbench.analysis.patterns.pattern import Apart, PatternError
from workbench.analysis.patterns.program import tensor_parts
from workbench.analysis.patterns.read import parse
from workbench.dialects.relax import compat
from workbench.dialects.relax.attributes import plain
from workbench.dialects.relax.expressions import type_text
from workbench.errors import UnknownName, last_line


@dataclass(frozen=True)
class Paired:
    """A Pattern with TVM's own object for each sub-pattern."""

    pattern: Pattern
    objects: tuple[Any, ...]
    "in the order of pattern.nodes; None for `used_by` and `dominates`, which are not patterns of TVM's"

    @property
    def root(self) -> Any:
        return self.objects[self.pattern.root]

    @property
    def chained(self) -> bool:
        """Return whether it is a chain of `used_by`, which TVM matches in a PatternContext."""
        return self.pattern.nodes[self.pattern.root].kind == "used_by"

    @property
    def ours(self) -> bool:
        """Return whether it uses `dominates`, which Relax's language lacks: only our matcher supports it."""
        return any(node.kind == "dominates" for node in self.pattern.nodes)


def paired(pattern: Any) -> Paired:
    """Return a pattern of any form, paired: one of tvm.relax.dpl, its text, or a Pattern.

    Raises
    ------
    PatternError
        It is none of these, or TVM rejects it, or its TVM object does not expose its conditions.
    UnknownName
        It names an operator that TVM does not have.
    """
    if isinstance(pattern, dpl.DFPattern):
        return _read(pattern)
    if isinstance(pattern, (dpl.PatternSeq, dpl.PatternContext)):
        raise PatternError(
            f"TVM does not tell what a {type(pattern).__name__} holds; give it as text, such as "
            '\'is_op("relax.add")(wildcard(), wildcard()) >> is_op("relax.nn.relu")(wildcard())\''
        )
    if isinstance(pattern, str):
        pattern = parse(pattern)
    if isinstance(pattern, Pattern):
        return Paired(pattern, tuple(_made(pattern)))
    raise PatternError(f"a {type(pattern).__name__} is no pattern; give a DFPattern of tvm.relax.dpl, or its text")


# -- from ours to TVM's


def _made(pattern: Pattern) -> list[Any]:
    ours = any(node.kind == "dominates" for node in pattern.nodes)
    made: list[Any] = []
    for node in pattern.nodes:
        children = [made[child] for child in node.children]
        if ours or node.kind == "used_by":
            made.append(None)
            continue
        if any(child is None for child in children):
            raise PatternError(
                "used_by stands at the root of a pattern only: in TVM it joins patterns, and is none itself"
            )
        if node.kind not in _MAKERS:
            raise PatternError(f"Relax's pattern language has no `{node.kind}`")
        try:
            made.append(_MAKERS[node.kind](node, children))
        except (RuntimeError, TypeError, ValueError, AttributeError) as error:
            raise PatternError(f"TVM rejects `{node.label}`: {last_line(error)}") from None
    return made


def _operator(node: PatternNode, _: list[Any]) -> Any:
    name = node.fields["name"]
    known = [str(each) for each in tvm.ir.Op.list_op_names()]
    if name not in known:
        raise UnknownName("operator", name, known)
    return dpl.is_op(name)


def _call(node: PatternNode, children: list[Any]) -> Any:
    more = bool(node.fields["any"] or node.fields.get("rest"))
    return dpl.pattern.CallPattern(children[0], children[1:], varg_default_wildcard=more, add_constraint=False)


def _constant(node: PatternNode, _: list[Any]) -> Any:
    return dpl.is_expr(relax.const(node.fields["value"], node.fields["dtype"] or None))


def _tuple(node: PatternNode, children: list[Any]) -> Any:
    if node.fields["any"]:
        raise PatternError("Relax's is_tuple needs its fields; is_tuple(None) is Relay's")
    return dpl.is_tuple(children)


def _function(node: PatternNode, children: list[Any]) -> Any:
    if node.fields["any"]:
        raise PatternError("Relax's FunctionPattern needs its parameters; None is Relay's")
    return dpl.pattern.FunctionPattern(children[:-1], children[-1])


def _typed(node: PatternNode, children: list[Any]) -> Any:
    shape, dtype = tensor_parts(node.fields["type"])
    if dtype is None or not all(isinstance(each, int) for each in shape):
        raise PatternError(f"{node.fields['type']} is no tensor type of known shape; ask with has_shape and has_dtype")
    wanted = compat.tensor_type(tuple(shape), dtype)
    return children[0].has_ty(wanted) if hasattr(children[0], "has_ty") else children[0].has_struct_info(wanted)


_MAKERS: dict[str, Callable[[PatternNode, list[Any]], Any]] = {
    "wildcard": lambda _, __: dpl.wildcard(),
    "constant": lambda _, __: dpl.is_const(),
    "op": _operator,
    "expr": _constant,
    "var": lambda n, _: dpl.is_var(n.fields.get("name", "")),
    "dataflow_var": lambda n, _: dpl.is_dfv(n.fields["name"]),
    "global": lambda n, _: dpl.is_gv(n.fields["name"]),
    "extern": lambda n, _: dpl.pattern.ExternFuncPattern(n.fields["name"]),
    "shape_value": lambda n, _: dpl.is_shape(list(n.fields["shape"])),
    "call": _call,
    "tuple": _tuple,
    "any_order": lambda _, c: dpl.is_tuple(c, unordered=True),
    "get_item": lambda n, c: dpl.is_tuple_get_item(c[0], n.fields["index"]),
    "function": _function,
    "alt": lambda _, c: c[0] | c[1],
    "and": lambda _, c: c[0] & c[1],
    "not": lambda _, c: ~c[0],
    "attr": lambda n, c: c[0].has_attr(dict(n.fields["attrs"])),
    "type": _typed,
    "shape": lambda n, c: c[0].has_shape(list(n.fields["shape"])),
    "dtype": lambda n, c: c[0].has_dtype(n.fields["dtype"]),
}


# -- from TVM's to ours


def _read(root: Any) -> Paired:
    return Paired(*PatternBuilder.read(root, _taken_apart))


def _taken_apart(pattern: Any) -> Apart:
    name = type(pattern).__name__
    if name not in _READERS:
        raise PatternError(f"{name} is a kind of pattern that the workbench does not know yet")
    return _READERS[name](pattern)


def _read_call(p: Any) -> Apart:
    # TVM does not expose the flag for additional arguments, but prints it
    rest, named = str(p).endswith("...)"), list(p.args)
    return [p.op, *named], "call", {"any": rest and not named, **({"rest": True} if rest and named else {})}


def _read_expr(p: Any) -> Apart:
    if isinstance(p.expr, tvm.ir.Op):
        return [], "op", {"name": p.expr.name}
    held: Any = compat.value_of(p.expr) if isinstance(p.expr, compat.Constant) else None
    if isinstance(held, tvm.runtime.Tensor) and len(held.shape) == 0:
        value, dtype = held.numpy().item(), str(held.dtype)
        return [], "expr", {"text": f"const({value!r}, {dtype!r})", "value": value, "dtype": dtype}
    words = " ".join(str(p.expr).split())
    return [], "expr", {"text": words if len(words) < 60 else words[:57] + "..."}


def _printed(p: Any) -> str:
    """Return the text in the parentheses of a pattern whose field Python cannot read."""
    found = re.fullmatch(r"\w+\((.*)\)", str(p))
    return found[1] if found else ""


def _name(p: Any) -> str:
    """Return the name in a pattern, which is `name` in versions of TVM where that of a variable is `name_hint`."""
    return str(p.name if hasattr(p, "name") else p.name_hint)


_READERS: dict[str, Callable[[Any], Apart]] = {
    "WildcardPattern": lambda _: ([], "wildcard", {}),
    "ConstantPattern": lambda _: ([], "constant", {}),
    "ExprPattern": _read_expr,
    "VarPattern": lambda p: ([], "var", {"name": _name(p)}),
    "DataflowVarPattern": lambda p: ([], "dataflow_var", {"name": _name(p)}),
    "GlobalVarPattern": lambda p: ([], "global", {"name": _printed(p)}),
    "ExternFuncPattern": lambda p: ([], "extern", {"name": str(p.global_symbol)}),
    "PrimArrPattern": lambda p: ([], "shape_value", {"shape": [plain(d) for d in p.fields]}),
    "CallPattern": _read_call,
    "TuplePattern": lambda p: (list(p.fields), "tuple", {"any": False}),
    "UnorderedTuplePattern": lambda p: (list(p.fields), "any_order", {}),
    "FunctionPattern": lambda p: ([*p.params, p.body], "function", {"any": False}),
    "TupleGetItemPattern": lambda p: ([p.tuple], "get_item", {"index": int(p.index)}),
    "OrPattern": lambda p: ([p.left, p.right], "alt", {}),
    "AndPattern": lambda p: ([p.left, p.right], "and", {}),
    "NotPattern": lambda p: ([p.reject], "not", {}),
    "AttrPattern": lambda p: ([p.pattern], "attr", {"attrs": {str(k): plain(p.attrs[k]) for k in p.attrs.keys()}}),  # noqa: SIM118  TVM's, not a dict
    "TypePattern": lambda p: ([p.pattern], "type", {"type": type_text(p.ty)}),
    "StructInfoPattern": lambda p: ([p.pattern], "type", {"type": type_text(p.struct_info)}),
    "ShapePattern": lambda p: ([p.pattern], "shape", {"shape": [plain(d) for d in p.shape]}),
    "DataTypePattern": lambda p: ([p.pattern], "dtype", {"dtype": str(p.dtype)}),
}
