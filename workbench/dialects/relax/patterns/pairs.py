"""Conversion between Relax's DPL patterns and our Patterns."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax
from tvm.relax import dpl

from workbench.analysis.patterns import Pattern, PatternNode
from workbench.analysis.patterns.pattern import Apart, PatternError
from workbench.analysis.patterns.program import tensor_parts
from workbench.analysis.patterns.text import parse
from workbench.dialects.pattern_objects import (
    MAKE,
    READ,
    Make,
    Paired,
    PatternLanguage,
    Read,
    known_operator,
    read_expr,
)
from workbench.dialects.relax import compat
from workbench.dialects.relax.expressions import plain, type_text


def is_chain(pattern: Pattern) -> bool:
    """Return whether it is a chain of `used_by`, which TVM matches in a PatternContext."""
    return pattern.nodes[pattern.root].kind == "used_by"


def lacks_objects(pattern: Pattern) -> bool:
    """Return whether it uses `dominates`, which Relax's language lacks: only our matcher supports it."""
    return any(node.kind == "dominates" for node in pattern.nodes)


def paired(pattern: object) -> Paired:
    """Return a pattern of any form with TVM's objects; raises as `PatternLanguage.pair`."""
    if isinstance(pattern, (dpl.PatternSeq, dpl.PatternContext)):
        raise PatternError(
            f"TVM gives no access to the parts of a {type(pattern).__name__}; give it as text, such as "
            '\'is_op("relax.add")(wildcard(), wildcard()) >> is_op("relax.nn.relu")(wildcard())\''
        )
    if isinstance(pattern, str):
        pattern = parse(pattern)
    if isinstance(pattern, Pattern):
        chains = {node.id for node in pattern.nodes if node.kind == "used_by"}
        if any(node.kind != "used_by" and chains & {*node.children} for node in pattern.nodes):
            raise PatternError(
                "used_by is allowed at the root of a pattern only: in TVM it joins patterns and is not a pattern itself"
            )
        if lacks_objects(pattern):
            return Paired(pattern, (None,) * len(pattern.nodes))
    return LANGUAGE.pair(pattern)


def _call(node: PatternNode, children: list[Any]) -> Any:
    more = bool(node.fields["any"] or node.fields.get("rest"))
    return dpl.pattern.CallPattern(children[0], children[1:], varg_default_wildcard=more, add_constraint=False)


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
        raise PatternError(
            f"{node.fields['type']} is not a tensor type of known shape; ask with has_shape and has_dtype"
        )
    return children[0].has_ty(compat.tensor_type(tuple(shape), dtype))


_MAKE: dict[str, Make] = {
    **MAKE,
    "wildcard": lambda _, __: dpl.wildcard(),
    "constant": lambda _, __: dpl.is_const(),
    "op": lambda n, _: dpl.is_op(known_operator(n)),
    "used_by": lambda _, __: None,
    "expr": lambda n, _: dpl.is_expr(relax.const(n.fields["value"], n.fields["dtype"] or None)),
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
    "and": lambda _, c: c[0] & c[1],
    "not": lambda _, c: ~c[0],
    "type": _typed,
}


def _read_call(p: Any) -> Apart:
    # TVM does not expose the flag for additional arguments, but prints it
    rest, named = str(p).endswith("...)"), list(p.args)
    return [p.op, *named], "call", {"any": rest and not named, **({"rest": True} if rest and named else {})}


def _read_expr(p: Any) -> Apart:
    held: Any = compat.value_of(p.expr) if isinstance(p.expr, compat.Constant) else None
    return read_expr(p.expr, held if isinstance(held, tvm.runtime.Tensor) else None)


_READ: dict[str, Read] = {
    **READ,
    "ExprPattern": _read_expr,
    "VarPattern": lambda p: ([], "var", {"name": str(p.name)}),
    "DataflowVarPattern": lambda p: ([], "dataflow_var", {"name": str(p.name)}),
    # Python cannot read its field; TVM prints it
    "GlobalVarPattern": lambda p: ([], "global", {"name": str(p).partition("(")[2].removesuffix(")")}),
    "ExternFuncPattern": lambda p: ([], "extern", {"name": str(p.global_symbol)}),
    "PrimArrPattern": lambda p: ([], "shape_value", {"shape": [plain(d) for d in p.fields]}),
    "CallPattern": _read_call,
    "TuplePattern": lambda p: (list(p.fields), "tuple", {"any": False}),
    "UnorderedTuplePattern": lambda p: (list(p.fields), "any_order", {}),
    "FunctionPattern": lambda p: ([*p.params, p.body], "function", {"any": False}),
    "OrPattern": lambda p: ([p.left, p.right], "alt", {}),
    "AndPattern": lambda p: ([p.left, p.right], "and", {}),
    "NotPattern": lambda p: ([p.reject], "not", {}),
    "AttrPattern": lambda p: ([p.pattern], "attr", {"attrs": {str(k): plain(p.attrs[k]) for k in p.attrs.keys()}}),  # noqa: SIM118  TVM's, not a dict
    "TypePattern": lambda p: ([p.pattern], "type", {"type": type_text(p.ty)}),
    "ShapePattern": lambda p: ([p.pattern], "shape", {"shape": [plain(d) for d in p.shape]}),
}

LANGUAGE = PatternLanguage(dpl.DFPattern, "Relax's pattern language (tvm.relax.dpl)", _MAKE, _READ)
