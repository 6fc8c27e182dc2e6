"""The grammar of the Relax text that TVM prints, as a check of Python's syntax tree.

TVM's parser hands the expressions of a text, and the strings in its shapes, to Python's `eval`. So each kind of node is
accepted here only in the places where TVM prints it, each name only if the vocabulary or the text itself has it, and
everything else is refused. Shape strings are replaced by what was read in them, docstrings are left out: the tree that
is left holds nothing that was not looked at.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

_FUNCTIONS = {"R.function": ("pure", "private", "check_well_formed"),
              "T.prim_func": ("private", "s_tir", "persistent", "check_well_formed")}  # fmt: skip
_MODULE = {"I.ir_module": ("check_well_formed", "s_tir")}
_MODULE_STATEMENTS = frozenset({"I.module_attrs", "I.module_global_infos"})
_SHAPED = {"R.Tensor": ("shape",), "R.Shape": ("values",), "R.DTensor": ("shape",), "T.Buffer": ("shape",)}
"calls whose first argument TVM evaluates where it is a string, with the argument's name"
_LOOPS = frozenset({"T.grid", "T.parallel", "T.serial", "T.thread_binding", "T.unroll", "T.vectorized", "range"})
_SCOPES = frozenset(
    {
        "T.allocate", "T.allocate_const", "T.attr", "T.block", "T.decl_buffer", "T.init", "T.launch_thread", "T.realize",
        "T.sblock",
    }
)  # fmt: skip
_MAPS = frozenset({"T.comm_reducer", "T.index_map"})
_KEYED = {
    "attrs_type_key": re.compile(r"ir\.DictAttrs|relax\.attrs\.\w+"),
    "derive_func": re.compile(r"tvm\.relax\.(struct_info|type)\.infer_\w+"),
}
"arguments that name something TVM looks up and uses while it reads"
_PLAIN = re.compile(r"[\w:,.\[\] -]*")
_BUFFER = frozenset({"access_ptr", "data", "elem_offset", "strides", "vload", "vstore"})
"what may be asked of a value: the fields of a buffer that TVM prints"
_OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor,
)  # fmt: skip
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_PYTHON = frozenset(dir(builtins))
"names that TVM's parser finds in Python where nothing binds them"
_RESERVED = frozenset({"I", "R", "T", "TypeVar", "metadata", "cls"})


@dataclass(frozen=True)
class Vocabulary:
    """The dotted names that a text may use."""

    calls: frozenset[str]
    "what may be called"
    types: frozenset[str]
    "what may also be used as it is, where a type is written"


class Refused(Exception):
    """Something in a tree that TVM does not print."""

    def __init__(self, node: ast.AST, reason: str) -> None:
        super().__init__(reason)
        self.node, self.reason = node, reason


class Grammar:
    """Checks the parts of one text.

    Parameters
    ----------
    program : ast.ClassDef or ast.FunctionDef
        The module or function of the text.
    dimensions : iterable of str
        The symbolic dimensions declared before it.
    """

    def __init__(
        self, words: Vocabulary, program: ast.ClassDef | ast.FunctionDef, dimensions: Iterable[str], metadata: bool
    ) -> None:
        self.words = words
        self.program = program
        self.metadata = metadata
        inside = program.body if isinstance(program, ast.ClassDef) else ()
        self.modules = {program.name, "cls"} if isinstance(program, ast.ClassDef) else set[str]()
        self.members = {statement.name for statement in inside if isinstance(statement, ast.FunctionDef)} | {
            target.id
            for statement in inside
            if isinstance(statement, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Name)
        }
        self.bound = frozenset(dimensions)
        self.callable: frozenset[str] = frozenset()
        self.statements: tuple[type[ast.stmt], ...] = ()

    def check(self) -> None:
        """Look at everything in the program.

        Raises
        ------
        Refused
            Something in it is not what TVM prints.
        """
        if isinstance(self.program, ast.ClassDef):
            self.module(self.program)
        else:
            self.function(self.program)

    # --- definitions ------------------------------------------------------------------------------------------------

    def module(self, node: ast.ClassDef) -> None:
        self.decorated(node, _MODULE)
        for extra in (*node.bases, *node.keywords, *_type_parameters(node)):
            raise Refused(extra, "a class with anything in its brackets")
        node.body = _without_docstrings(node.body)
        for statement in node.body:
            self.member(statement)

    def member(self, node: ast.stmt) -> None:
        if isinstance(node, ast.FunctionDef):
            self.function(node)
        elif isinstance(node, ast.Expr) and _called(node.value) in _MODULE_STATEMENTS:
            self.argument(node.value)
        elif isinstance(node, ast.Assign) and _called(node.value) == "R.ExternFunc":
            for target in node.targets:
                self.new_name(target)
            self.value(node.value)
        elif not isinstance(node, ast.Pass):
            raise Refused(node, f"{_kind(node)} in a module")

    def decorated(self, node: ast.ClassDef | ast.FunctionDef, known: dict[str, tuple[str, ...]]) -> str:
        if node.name in _RESERVED or _is_hidden(node.name) or (node.name in self.modules and node is not self.program):
            raise Refused(node, f"a function named {node.name}")
        if len(node.decorator_list) != 1:
            raise Refused((node.decorator_list or [node])[-1], f"{len(node.decorator_list)} decorators")
        decorator = node.decorator_list[0]
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = _dotted(called)
        if name not in known:
            raise Refused(decorator, f"the decorator {_shown(called)}")
        if isinstance(decorator, ast.Call):
            for extra in decorator.args:
                raise Refused(extra, f"a decorator that is given {_shown(extra)}")
            for each in decorator.keywords:
                if each.arg not in known[name] or not _is_literal(each.value, bool):
                    raise Refused(each, f"a decorator that is given {_shown(each)}")
        return name

    def function(self, node: ast.FunctionDef) -> None:
        kind = self.decorated(node, _FUNCTIONS)
        arguments = self.parameters(node.args)
        declared = {*_type_parameters_names(node), *_names_in_shapes(node.args)}
        with self.scope({*arguments, *declared}, self.callable | {*arguments} - _PYTHON):
            for argument in node.args.args:
                self.annotation(argument.annotation, argument)
            if node.returns is not None:
                self.annotation(node.returns, node)
            node.body = _without_docstrings(node.body)
            before, self.statements = self.statements, _STATEMENTS[kind]
            self.body(node.body)
            self.statements = before

    def parameters(self, node: ast.arguments) -> list[str]:
        beyond = [*node.posonlyargs, *node.kwonlyargs, *node.defaults, *(d for d in node.kw_defaults if d is not None)]
        for extra in (*beyond, *(a for a in (node.vararg, node.kwarg) if a is not None)):
            raise Refused(extra, f"the parameter {_shown(extra)}")
        for argument in node.args:
            if self.reserved(argument.arg):
                raise Refused(argument, f"a parameter named {argument.arg}")
        return [argument.arg for argument in node.args]

    @contextmanager
    def scope(self, names: Iterable[str], called: frozenset[str]) -> Iterator[None]:
        """Have some names more, and only the others in reach of a call, until the end of a `with`."""
        before = self.bound, self.callable
        self.bound, self.callable = self.bound | frozenset(names), called
        yield
        self.bound, self.callable = before

    def bind(self, name: str) -> None:
        self.bound |= {name}
        self.callable |= {name} - _PYTHON

    # --- statements -------------------------------------------------------------------------------------------------

    def body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if not isinstance(statement, self.statements):
                raise Refused(statement, f"{_kind(statement)} here")
            getattr(self, f"statement_{type(statement).__name__.lower()}")(statement)

    def statement_functiondef(self, node: ast.FunctionDef) -> None:
        self.bind(node.name)
        self.function(node)

    def statement_assign(self, node: ast.Assign) -> None:
        if self.is_alias(node):
            return
        if (dimension := declared_dimension(node)) is not None and self.statements is _RELAX_STATEMENTS:
            self.bind(dimension)
            return
        self.value(node.value)
        for target in node.targets:
            self.target(target)

    def is_alias(self, node: ast.Assign) -> bool:
        """Whether this is `cls = Module`, with which a function begins that calls others."""
        return (
            bool(self.modules)
            and [_dotted(target) for target in node.targets] == ["cls"]
            and _dotted(node.value) == self.program.name
        )

    def statement_annassign(self, node: ast.AnnAssign) -> None:
        self.annotation(node.annotation, node)
        if node.value is not None:
            self.value(node.value)
        self.target(node.target)

    def statement_expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Call):
            raise Refused(node, f"{_kind(node.value)} as a statement")
        self.value(node.value)

    def statement_return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.value(node.value)

    def statement_with(self, node: ast.With) -> None:
        scopes = frozenset({"R.dataflow"}) if self.statements is _RELAX_STATEMENTS else _SCOPES
        for item in node.items:
            if _called(item.context_expr) not in scopes:
                raise Refused(item.context_expr, f"with {_shown(item.context_expr)}")
            self.value(item.context_expr)
            if item.optional_vars is not None:
                self.new_name(item.optional_vars)
        self.body(node.body)

    def statement_for(self, node: ast.For) -> None:
        if node.orelse or _called(node.iter) not in _LOOPS:
            raise Refused(node.iter, f"for ... in {_shown(node.iter)}")
        assert isinstance(node.iter, ast.Call)
        self.arguments(node.iter)
        self.new_name(node.target)
        self.body(node.body)

    def statement_while(self, node: ast.While) -> None:
        if node.orelse:
            raise Refused(node, "while ... else")
        self.value(node.test)
        self.body(node.body)

    def statement_if(self, node: ast.If) -> None:
        self.value(node.test)
        self.body(node.body)
        self.body(node.orelse)

    def statement_assert(self, node: ast.Assert) -> None:
        self.value(node.test)
        for message in _leaves(node.msg):
            if not _is_literal(message, str):
                raise Refused(message, f"the message {_shown(message)}")

    def statement_pass(self, node: ast.Pass) -> None:
        pass

    statement_break = statement_continue = statement_pass

    def target(self, node: ast.expr) -> None:
        if isinstance(node, ast.Subscript):
            self.value(node)
        else:
            self.new_name(node)

    def new_name(self, node: ast.expr) -> None:
        if isinstance(node, ast.Tuple):
            for element in node.elts:
                self.new_name(element)
        elif not isinstance(node, ast.Name):
            raise Refused(node, f"a value given to {_shown(node)}")
        elif self.reserved(node.id):
            raise Refused(node, f"a value named {node.id}")
        else:
            self.bind(node.id)

    def reserved(self, name: str) -> bool:
        """Whether a name means something to TVM's parser or to this check, so that a text may not give it a value."""
        return name in _RESERVED or name in self.modules or _is_hidden(name)

    # --- types ------------------------------------------------------------------------------------------------------

    def annotation(self, node: ast.expr | None, owner: ast.AST) -> None:
        if node is None:
            raise Refused(owner, f"no type for {_shown(owner)}")
        if isinstance(node, ast.Call) and (
            (_called(node) or "")[:2] in ("R.", "T.") or _called(node) == "I.StringType"
        ):
            self.value(node)
        elif isinstance(node, ast.Subscript) and _dotted(node.value) == "T.let":
            self.annotation(node.slice, node)
        elif not _is_literal(node, type(None)) and _dotted(node) not in self.words.types:
            raise Refused(node, f"the type {_shown(node)}")

    # --- expressions ------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> None:
        """Check what may be given a name, returned or computed with."""
        check = getattr(self, f"value_{type(node).__name__.lower()}", None)
        if check is None:
            raise Refused(node, _kind(node))
        check(node)

    def value_constant(self, node: ast.Constant) -> None:
        if not _is_literal(node, bool, int, float):
            raise Refused(node, f"{_shown(node)} as a value")

    def value_name(self, node: ast.Name) -> None:
        if node.id not in self.bound:
            raise Refused(node, f"the name {node.id}")

    def value_attribute(self, node: ast.Attribute) -> None:
        of = node.value.id if isinstance(node.value, ast.Name) else None
        if of in self.modules:
            if node.attr not in self.members:
                raise Refused(node, f"a function named {_shown(node)}")
        elif of not in self.bound or node.attr not in _BUFFER:
            raise Refused(node, f"the name {_shown(node)}")

    def value_subscript(self, node: ast.Subscript) -> None:
        if self.is_constant(node):
            return
        if isinstance(node.value, ast.Tuple):
            if not _is_literal(node.slice, int):
                raise Refused(node, f"{_shown(node)}")
        elif not isinstance(node.value, (ast.Name, ast.Attribute, ast.Subscript)):
            raise Refused(node, f"an element of {_shown(node.value)}")
        self.value(node.value)
        self.index(node.slice)

    def is_constant(self, node: ast.Subscript) -> bool:
        """Whether it is an entry of the metadata: `metadata["kind"][0]`."""
        inner = node.value
        return (
            self.metadata
            and isinstance(inner, ast.Subscript)
            and isinstance(inner.value, ast.Name)
            and inner.value.id == "metadata"
            and _is_literal(inner.slice, str)
            and _is_literal(node.slice, int)
        )

    def index(self, node: ast.expr) -> None:
        for each in node.elts if isinstance(node, ast.Tuple) else [node]:
            parts = [each.lower, each.upper, each.step] if isinstance(each, ast.Slice) else [each]
            for part in parts:
                if part is not None:
                    self.value(part)

    def value_tuple(self, node: ast.Tuple) -> None:
        for element in node.elts:
            self.value(element)

    def value_binop(self, node: ast.BinOp) -> None:
        if not isinstance(node.op, _OPERATORS):
            raise Refused(node, f"the operator of {_shown(node)}")
        self.operands(node.left, node.right)
        if _is_number(node.left) and _is_number(node.right):
            raise Refused(node, f"arithmetic on literals, {_shown(node)}")

    def value_unaryop(self, node: ast.UnaryOp) -> None:
        self.operands(node.operand)

    def value_boolop(self, node: ast.BoolOp) -> None:
        self.operands(*node.values)

    def value_compare(self, node: ast.Compare) -> None:
        for operator in node.ops:
            if not isinstance(operator, _COMPARISONS):
                raise Refused(node, f"the comparison {_shown(node)}")
        self.operands(node.left, *node.comparators)

    def operands(self, *nodes: ast.expr) -> None:
        for node in nodes:
            if isinstance(node, ast.Tuple):
                raise Refused(node, f"{_kind(node)} to compute with")
            self.value(node)

    def value_call(self, node: ast.Call) -> None:
        name = _dotted(node.func)
        if name in self.words.calls:
            self.arguments(node)
        elif isinstance(node.func, ast.Attribute) or (
            isinstance(node.func, ast.Name) and node.func.id in self.callable
        ):
            self.value(node.func)
            self.arguments(node)
        else:
            raise Refused(node.func, f"a call of {_shown(node.func)}")

    def arguments(self, node: ast.Call) -> None:
        name = _dotted(node.func) or ""
        first = _SHAPED.get(name, ())
        for number, argument in enumerate(node.args):
            if name in _SHAPED and number == 0:
                node.args[0] = self.shape(argument)
            elif name in _MAPS and number == 0 and isinstance(argument, ast.Lambda):
                self.mapping(argument)
            elif name == "R.Callable" and _is_literal(argument, str):
                # the name of a function that TVM calls
                raise Refused(argument, f"{_shown(argument)} without its name")
            else:
                self.argument(argument)
        for each in node.keywords:
            if each.arg is None:
                raise Refused(each.value, f"**{_shown(each.value)}")
            if each.arg in first:
                each.value = self.shape(each.value)
            elif name in _MAPS and isinstance(each.value, ast.Lambda):
                self.mapping(each.value)
            else:
                self.keyword(each)
        if name in _SHAPED or name == "R.Prim":
            _refuse_code(node)

    def keyword(self, node: ast.keyword) -> None:
        allowed = _KEYED.get(node.arg or "")
        if allowed is None:
            self.argument(node.value)
        elif not (_is_literal(node.value, str) and allowed.fullmatch(ast.literal_eval(node.value))):
            raise Refused(node.value, f"{node.arg}={_shown(node.value)}")

    def argument(self, node: ast.expr) -> None:
        """Check what may be an argument: a value, a type, a string, None, or a list or dictionary of such."""
        if isinstance(node, (ast.List, ast.Tuple)):
            for element in node.elts:
                # a shape with a None in it ends the process
                if _is_literal(element, type(None)):
                    raise Refused(element, "None in a list")
                self.argument(element)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is None or not _is_literal(key, str):
                    raise Refused(key or value, f"the key {_shown(key or value)}")
                self.argument(value)
        elif isinstance(node, ast.Attribute) and node.attr == "ty" and _called(node.value) == "T.handle":
            self.value(node.value)
        elif not _is_literal(node, str, type(None)) and _dotted(node) not in self.words.types:
            self.value(node)

    def mapping(self, node: ast.Lambda) -> None:
        """Check `lambda i, j: (j, i)`, which computes indices."""
        with self.scope(self.parameters(node.args), frozenset()):
            self.value(node.body)

    # --- shapes -----------------------------------------------------------------------------------------------------

    def shape(self, node: ast.expr) -> ast.expr:
        """Return a shape with its strings replaced by what was read in them."""
        if isinstance(node, (ast.List, ast.Tuple)):
            node.elts = [self.dimension(element) for element in node.elts]
        elif _is_literal(node, str):
            return self.dimension(node)
        elif not _is_literal(node, type(None)):
            self.value(node)
        return node

    def dimension(self, node: ast.expr) -> ast.expr:
        if not _is_literal(node, str):
            self.value(node)
            return node
        inside = _parsed_string(node)
        try:
            with self.scope(_free_names(inside), frozenset()):
                self.value(inside)
        except Refused as refused:
            raise Refused(node, f"{refused.reason} in the shape {_shown(node)}") from None
        return ast.copy_location(ast.Constant(ast.unparse(inside)), node)


_RELAX_STATEMENTS: tuple[type[ast.stmt], ...] = (
    ast.AnnAssign, ast.Assign, ast.Expr, ast.FunctionDef, ast.If, ast.Pass, ast.Return, ast.With,
)  # fmt: skip
_TIR_STATEMENTS: tuple[type[ast.stmt], ...] = (
    ast.AnnAssign, ast.Assert, ast.Assign, ast.Break, ast.Continue, ast.Expr, ast.For, ast.If, ast.Pass, ast.Return,
    ast.While, ast.With,
)  # fmt: skip
_STATEMENTS = {"R.function": _RELAX_STATEMENTS, "T.prim_func": _TIR_STATEMENTS}


def declared_dimension(statement: ast.stmt) -> str | None:
    """Return the name in `n = TypeVar("n")`, which declares a symbolic dimension; None for any other statement."""
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.Call(func=ast.Name(id="TypeVar"), args=[ast.Constant(value=str(name))], keywords=[]),
        ) if target == name and target not in _RESERVED and not _is_hidden(target):
            return target
    return None


def _is_hidden(name: str) -> bool:
    """Whether a name may mean something to TVM's parser, which prints `__1`, or is a keyword in letters of another kind."""
    return keyword.iskeyword(name) or (name.startswith("__") and not name[2:].isdecimal())


def _kind(node: ast.AST) -> str:
    return f"Python's {type(node).__name__}"


def _shown(node: ast.AST) -> str:
    try:
        text = node.arg if isinstance(node, ast.arg) else ast.unparse(node)
    except (RecursionError, ValueError):
        text = type(node).__name__
    first = text.split("\n", 1)[0]
    return first if len(first) <= 60 else f"{first[:57]}..."


def _dotted(node: ast.AST) -> str | None:
    """Return `a.b.c` for the tree of such a name, None for any other."""
    steps: list[str] = []
    while isinstance(node, ast.Attribute):
        steps.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(steps)]) if isinstance(node, ast.Name) else None


def _called(node: ast.AST) -> str | None:
    return _dotted(node.func) if isinstance(node, ast.Call) else None


def _is_literal(node: ast.AST | None, *kinds: type) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in kinds


def _is_number(node: ast.expr) -> bool:
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant)


def _leaves(node: ast.expr | None) -> Iterator[ast.expr]:
    if isinstance(node, (ast.Tuple, ast.List)):
        for element in node.elts:
            yield from _leaves(element)
    elif node is not None:
        yield node


def _without_docstrings(body: list[ast.stmt]) -> list[ast.stmt]:
    kept = [s for s in body if not (isinstance(s, ast.Expr) and _is_literal(s.value, str))]
    return kept or [ast.copy_location(ast.Pass(), body[0])]


def _type_parameters(node: ast.ClassDef | ast.FunctionDef) -> list[ast.AST]:
    """Return the names in `def main[n](...)`, which Python has since 3.12."""
    return list(getattr(node, "type_params", ()))


def _type_parameters_names(node: ast.FunctionDef) -> list[str]:
    for each in _type_parameters(node):
        if type(each).__name__ != "TypeVar" or getattr(each, "default_value", None) is not None:
            raise Refused(each, f"the type parameter {_shown(each)}")
        bound = getattr(each, "bound", None)
        if bound is not None and _dotted(bound) != "int":
            raise Refused(each, f"the type parameter {_shown(each)}")
    return [getattr(each, "name", "") for each in _type_parameters(node)]


def _names_in_shapes(node: ast.arguments) -> Iterator[str]:
    """Yield the names in the strings of the parameters' shapes: their first use declares them."""
    for call in (inside for inside in ast.walk(node) if isinstance(inside, ast.Call)):
        shaped = _SHAPED.get(_called(call) or "")
        if shaped is None:
            continue
        for shape in (*call.args[:1], *(k.value for k in call.keywords if k.arg in shaped)):
            for string in (each for each in _leaves(shape) if _is_literal(each, str)):
                with suppress(Refused):
                    yield from _free_names(_parsed_string(string))


def _free_names(node: ast.expr) -> set[str]:
    """Return the names in a shape's string, which need no value: the string may declare them."""
    names = {inside.id for inside in ast.walk(node) if isinstance(inside, ast.Name)}
    return {name for name in names if name not in _RESERVED and not _is_hidden(name)}


def _parsed_string(node: ast.expr) -> ast.expr:
    try:
        return ast.parse(str(ast.literal_eval(node)).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Refused(node, f"the shape {_shown(node)}") from None


def _refuse_code(node: ast.Call) -> None:
    """Refuse a string in a type that would do something if TVM evaluated it: older versions evaluate more arguments."""
    shapes = _SHAPED.get(_called(node) or "", ())
    for argument in (*node.args[1:], *(each.value for each in node.keywords if each.arg not in shapes)):
        for inside in ast.walk(argument):
            if (
                isinstance(inside, ast.Constant)
                and isinstance(inside.value, str)
                and not _PLAIN.fullmatch(inside.value)
            ):
                raise Refused(inside, f"the string {_shown(inside)} in a type")
