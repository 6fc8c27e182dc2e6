"""A Relay module as text that can be parsed again, with the data that text lacks: odd names and values of constants."""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import tvm
from tvm import relay

from workbench.dialects import arrays
from workbench.dialects.relay.parser.ast import Expr, Module, operands_first

_PLAIN_NAME = re.compile(r"[\w./:\-]*[\w./\-]")
_VISITED = 10_000
"expressions that TVM's recursive visitor is given; on a chain of 60,000 it ends the process"
_LIKE_A_FIELD = re.compile(r"(.+)\.[0-9]+")


@dataclass
class Printed:
    """Text of a module."""

    text: str
    names: dict[str, str] = field(default_factory=dict)
    "name in the text -> the real name, if the real one would not parse"
    parameters: dict[str, list[str]] = field(default_factory=dict)
    "function -> the real names of its parameters"


def print_module(module: tvm.IRModule) -> Printed:
    """Return the module as TVM prints it, without metadata.

    Parameters whose names hold white space, quotes or brackets are printed under another name: TVM does not escape
    names, and such text is ambiguous.
    """
    names: dict[str, str] = {}
    parameters: dict[str, list[str]] = {}
    functions = {}
    for global_var, function in module.functions.items():
        if isinstance(function, relay.Function):
            variables = relay.analysis.all_vars(function)
            hints = name_hints(variables)
            taken = set(hints)
            odd = [variables[place] for place, hint in enumerate(hints) if _is_odd(hint, taken)]
            functions[global_var] = with_plain_names(function, odd, names)
            # a function's own parameters come first
            parameters[global_var.name_hint] = hints[: len(function.params)]
    if names or len(functions) != len(module.functions):
        module = relay.transform.InferType()(tvm.IRModule(functions, module.type_definitions))
    return Printed(module.astext(show_meta_data=False), names, parameters)


def name_hints(variables: Any) -> list[str]:
    """Return the names of an array of variables. Each takes four calls into TVM, and TVM's JSON of all of them one."""
    saved = json.loads(tvm.ir.save_json(variables))
    nodes = saved["nodes"]

    def field(place: int, name: str) -> int:
        return int(nodes[place]["attrs"][name])

    texts = (nodes[field(field(place, "vid"), "name_hint")] for place in nodes[saved["root"]].get("data", ()))
    # TVM writes a name that is empty, or has other characters than the printable ones of ASCII, in another form
    return [text.get("repr_str") or variables[place].name_hint for place, text in enumerate(texts)]


def with_plain_names(function: relay.Function, odd: list[relay.Var], names: dict[str, str]) -> relay.Function:
    """Return the function with other names for the odd variables; adds new name -> real name to `names`."""
    if not odd:
        return function
    plain = {v: relay.Var(f"odd_name_{len(names) + i}", v.type_annotation or v.checked_type) for i, v in enumerate(odd)}
    names.update((new.name_hint, old.name_hint) for old, new in plain.items())
    if set(odd) <= set(function.params):
        body = relay.bind(function.body, plain)
        params = [plain.get(p, p) for p in function.params]
        return relay.Function(params, body, function.ret_type, function.type_params, function.attrs)
    return _Renamer(plain).visit(function)


def _is_odd(name: str, taken: set[str]) -> bool:
    """Return whether the name would not parse: white space and the like, or `x.0` where `x` could be a tuple."""
    field = _LIKE_A_FIELD.fullmatch(name)
    return not _PLAIN_NAME.fullmatch(name) or (field is not None and field.group(1) in taken)


class _Renamer(relay.ExprMutator):
    """Replaces the variables that an inner function or a let binds, which relay.bind cannot."""

    def __init__(self, plain: dict[relay.Var, relay.Var]) -> None:
        super().__init__()
        self.plain = plain

    def visit_var(self, var: relay.Var) -> relay.Var:
        return self.plain.get(var, var)


def parameter_names(printed: Printed, parsed: Module) -> dict[str, str]:
    """Return name in the text -> the real name, of parameters that TVM renames to be unique across functions."""
    return {
        said.text: meant
        for name, function in parsed.functions.items()
        for said, meant in zip(function.params, printed.parameters[name], strict=True)
        if said.text != meant
    }


unwritten: set[int] = set()
"addresses of the tensors that have a shape and no values (compiler/folding.py)"


def address(tensor: tvm.nd.NDArray) -> int:
    """Return the place of a tensor's values in memory."""
    return tensor.handle.contents.data


def constant_digests(module: tvm.IRModule, parsed: Module) -> dict[str, str]:
    """Return a checksum of each tensor constant that has values and that the text names, keyed by that name."""
    values = constant_values(module, parsed)
    return {name: checksum(value) for name, value in values.items() if address(value) not in unwritten}


def constant_values(module: tvm.IRModule, parsed: Module) -> dict[str, tvm.nd.NDArray]:
    """Return the value of each tensor constant that the text names, keyed by that name.

    TVM numbers constants in the order in which its printer visits them, which no visitor of TVM's follows; so the
    module and its text are walked together, without recursion. Scalars are printed in place and have no number.
    """
    pairs = together(module, parsed)
    return {said.text: meant.data for said, meant in pairs if said.kind == "constant" and said.text.startswith("meta[")}


def together(module: tvm.IRModule, parsed: Module) -> Iterator[tuple[Expr, Any]]:
    """Yield each expression of a module's text with that of the module, without recursion."""
    seen: set[Expr] = set()
    stack = [(function, module[name]) for name, function in parsed.functions.items()]
    while stack:
        said, meant = stack.pop()
        if said in seen:
            continue
        seen.add(said)
        yield said, meant
        if said.kind not in ("var", "op", "global", "constructor", "constant"):
            stack.extend(zip(said.args, parts(meant), strict=True))


def parts(expr: relay.Expr) -> list[relay.Expr]:
    """Return the parts of an expression, in the order of ast.Expr.args."""
    if isinstance(expr, relay.Call):
        # references are operators in TVM and a separate kind in the text
        return expr.args[:] if getattr(expr.op, "name", "") in _REFS else [expr.op, *expr.args[:]]
    if isinstance(expr, relay.Tuple):
        return expr.fields[:]
    if isinstance(expr, relay.Match):
        return [expr.data, *(clause.rhs for clause in expr.clauses)]
    return [getattr(expr, name) for name in _FIELDS[type(expr)]]


_REFS = ("ref", "ref_read", "ref_write")
_FIELDS = {
    relay.Function: ("body",),
    relay.TupleGetItem: ("tuple_value",),
    relay.Let: ("var", "value", "body"),
    relay.If: ("cond", "true_branch", "false_branch"),
    relay.RefCreate: ("value",),
    relay.RefRead: ("ref",),
    relay.RefWrite: ("ref", "value"),
}


def checksum(array: tvm.nd.NDArray) -> str:
    """Return CRC-32 of an array's bytes, as hexadecimal text."""
    return f"{zlib.crc32(arrays.bytes_of(array).data):08x}"


def share_scalars(module: tvm.IRModule, parsed: Module) -> None:
    """Make uses of one scalar object references to one Expr, like uses of any other value."""
    expressions = operands_first(parsed.functions.values())
    constants = [expr for expr in expressions if expr.kind == "constant"]
    printed = Counter((expr.text, expr.type) for expr in constants if _is_scalar(expr))
    uses = sum(not expr.type.startswith("Tensor[") for expr in constants)
    if max(printed.values(), default=1) > 1 and (len(expressions) > _VISITED or _scalars(module, parsed) < uses):
        _merge(module, parsed)


def _is_scalar(expr: Expr) -> bool:
    return expr.kind == "constant" and not expr.text.startswith("meta[")


def _scalars(module: tvm.IRModule, parsed: Module) -> int:
    """Return the number of scalar objects; TVM's visitor takes a fifth of the time of walking with the text."""
    found: set[int] = set()

    def note(expr: relay.Expr) -> None:
        if isinstance(expr, relay.Constant) and not expr.data.shape:
            found.add(expr.handle.value)

    for name in parsed.functions:
        relay.analysis.post_order_visit(module[name], note)
    return len(found)


def _merge(module: tvm.IRModule, parsed: Module) -> None:
    first: dict[int, Expr] = {}
    seen: set[Expr] = set()
    waiting = [(function, module[name]) for name, function in parsed.functions.items()]
    while waiting:
        said, meant = waiting.pop()
        if said in seen or said.kind in ("var", "op", "global", "constructor", "constant"):
            continue
        seen.add(said)
        pairs = list(zip(said.args, parts(meant), strict=True))
        said.args = tuple(first.setdefault(m.handle.value, s) if _is_scalar(s) else s for s, m in pairs)
        waiting += pairs
