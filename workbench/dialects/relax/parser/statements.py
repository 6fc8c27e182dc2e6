"""The grammar of the Relax text that TVM prints, as a check of Python's syntax tree.

TVM's parser hands the expressions of a text, and the strings in its shapes, to Python's `eval`. So each kind of node is
accepted here only in the places where TVM prints it, each name only if the vocabulary or the text itself has it, and
everything else is refused. Shape strings are replaced by their parsed expressions, docstrings are left out: every node
of the resulting tree was checked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from workbench.dialects.relax.parser.expressions import Values, Vocabulary
from workbench.dialects.relax.parser.nodes import (
    PYTHON,
    RESERVED,
    Refused,
    called,
    declared_dimension,
    dotted,
    first_line,
    is_hidden,
    is_literal,
    kind,
    leaves,
    names_in_shapes,
    type_parameter_names,
    type_parameters,
    without_docstrings,
)

_FUNCTIONS = {"R.function": ("pure", "private", "check_well_formed"),
              "T.prim_func": ("private", "s_tir", "persistent", "check_well_formed")}  # fmt: skip
_MODULE = {"I.ir_module": ("check_well_formed", "s_tir")}
_MODULE_STATEMENTS = frozenset({"I.module_attrs", "I.module_global_infos"})
_LOOPS = frozenset({"T.grid", "T.parallel", "T.serial", "T.thread_binding", "T.unroll", "T.vectorized", "range"})
_SCOPES = frozenset(
    {
        "T.allocate", "T.allocate_const", "T.attr", "T.block", "T.decl_buffer", "T.init", "T.launch_thread", "T.realize",
        "T.sblock",
    }
)  # fmt: skip
_RELAX_STATEMENTS: tuple[type[ast.stmt], ...] = (
    ast.AnnAssign, ast.Assign, ast.Expr, ast.FunctionDef, ast.If, ast.Pass, ast.Return, ast.With,
)  # fmt: skip
_TIR_STATEMENTS: tuple[type[ast.stmt], ...] = (
    ast.AnnAssign, ast.Assert, ast.Assign, ast.Break, ast.Continue, ast.Expr, ast.For, ast.If, ast.Pass, ast.Return,
    ast.While, ast.With,
)  # fmt: skip
_STATEMENTS = {"R.function": _RELAX_STATEMENTS, "T.prim_func": _TIR_STATEMENTS}


def _declares_each(target: ast.expr, value: ast.expr) -> bool:
    """Return whether this is `m, n = T.int32(), T.int64()`: a name for each new variable."""
    return (
        isinstance(target, ast.Tuple)
        and isinstance(value, ast.Tuple)
        and len(target.elts) == len(value.elts)
        and all(isinstance(name, ast.Name) for name in target.elts)
        and all(isinstance(new, ast.Call) and not (new.args or new.keywords) for new in value.elts)
    )


class Grammar(Values):
    """Checks the module or function of a text; `dimensions` are the symbolic ones declared before it."""

    def __init__(
        self, words: Vocabulary, program: ast.ClassDef | ast.FunctionDef, dimensions: Iterable[str], metadata: bool
    ) -> None:
        inside = program.body if isinstance(program, ast.ClassDef) else ()
        functions = {statement.name for statement in inside if isinstance(statement, ast.FunctionDef)}
        targets = [each for statement in inside if isinstance(statement, ast.Assign) for each in statement.targets]
        modules = {program.name, "cls"} if isinstance(program, ast.ClassDef) else set[str]()
        members = functions | {each.id for each in targets if isinstance(each, ast.Name)}
        super().__init__(words, frozenset(modules), frozenset(members), metadata)
        self.program = program
        self.bound = frozenset(dimensions)
        self.statements: tuple[type[ast.stmt], ...] = ()

    def check(self) -> None:
        """Check everything in the program. Raises Refused: something in it is never printed by TVM."""
        if isinstance(self.program, ast.ClassDef):
            self.module(self.program)
        else:
            self.function(self.program)

    # --- definitions ------------------------------------------------------------------------------------------------

    def module(self, node: ast.ClassDef) -> None:
        self.decorated(node, _MODULE)
        for extra in (*node.bases, *node.keywords, *type_parameters(node)):
            raise Refused(extra, "a class with anything in its brackets")
        node.body = without_docstrings(node.body)
        for statement in node.body:
            self.member(statement)

    def member(self, node: ast.stmt) -> None:
        if isinstance(node, ast.FunctionDef):
            self.function(node)
        elif isinstance(node, ast.Expr) and called(node.value) in _MODULE_STATEMENTS:
            self.argument(node.value)
        elif isinstance(node, ast.Assign) and called(node.value) == "R.ExternFunc":
            for target in node.targets:
                self.new_name(target)
            self.value(node.value)
        elif not isinstance(node, ast.Pass):
            raise Refused(node, f"{kind(node)} in a module")

    def decorated(self, node: ast.ClassDef | ast.FunctionDef, known: dict[str, tuple[str, ...]]) -> str:
        if node.name in RESERVED or is_hidden(node.name) or (node.name in self.modules and node is not self.program):
            raise Refused(node, f"a function named {node.name}")
        if len(node.decorator_list) != 1:
            raise Refused((node.decorator_list or [node])[-1], f"{len(node.decorator_list)} decorators")
        decorator = node.decorator_list[0]
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = dotted(function)
        if name not in known:
            raise Refused(decorator, f"the decorator {first_line(function)}")
        if isinstance(decorator, ast.Call):
            for extra in decorator.args:
                raise Refused(extra, f"a decorator that is given {first_line(extra)}")
            for each in decorator.keywords:
                if each.arg not in known[name] or not is_literal(each.value, bool):
                    raise Refused(each, f"a decorator that is given {first_line(each)}")
        return name

    def function(self, node: ast.FunctionDef) -> None:
        dialect = self.decorated(node, _FUNCTIONS)
        arguments = self.parameters(node.args)
        declared = {*type_parameter_names(node), *names_in_shapes(node.args)}
        with self.scope({*arguments, *declared}, self.callable | {*arguments} - PYTHON):
            for argument in node.args.args:
                self.annotation(argument.annotation, argument)
            if node.returns is not None:
                self.annotation(node.returns, node)
            node.body = without_docstrings(node.body)
            before, self.statements = self.statements, _STATEMENTS[dialect]
            self.body(node.body)
            self.statements = before

    # --- statements -------------------------------------------------------------------------------------------------

    def body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if not isinstance(statement, self.statements):
                raise Refused(statement, f"{kind(statement)} here")
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.bind(node.name)
        self.function(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if self.is_alias(node):
            return
        if (dimension := declared_dimension(node)) is not None and self.statements is _RELAX_STATEMENTS:
            self.bind(dimension)
            return
        self.value(node.value)
        for target in node.targets:
            self.one_value(target, node.value)
            self.target(target)

    def one_value(self, target: ast.expr, value: ast.expr) -> None:
        """Refuse a name for several values in a kernel: TVM's parser would bind it to a Python list or tuple."""
        if self.statements is _RELAX_STATEMENTS or _declares_each(target, value):
            return
        inner = value
        while isinstance(inner, ast.Subscript):
            inner = inner.value
        several = called(inner) in ("T.axis.remap", "T.grid") and isinstance(target, ast.Name)
        if isinstance(inner, ast.Tuple) or several:
            raise Refused(value, f"several values, {first_line(value)}, for {first_line(target)}")

    def is_alias(self, node: ast.Assign) -> bool:
        """Return whether this is `cls = Module`, the first statement of a function that calls others."""
        return (
            bool(self.modules)
            and [dotted(target) for target in node.targets] == ["cls"]
            and dotted(node.value) == self.program.name
        )

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.annotation(node.annotation, node)
        if node.value is not None:
            self.value(node.value)
            self.one_value(node.target, node.value)
        self.target(node.target)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Call):
            raise Refused(node, f"{kind(node.value)} as a statement")
        self.value(node.value)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.value(node.value)

    def visit_With(self, node: ast.With) -> None:
        scopes = frozenset({"R.dataflow"}) if self.statements is _RELAX_STATEMENTS else _SCOPES
        for item in node.items:
            if called(item.context_expr) not in scopes:
                raise Refused(item.context_expr, f"with {first_line(item.context_expr)}")
            self.value(item.context_expr)
            if item.optional_vars is not None:
                self.new_name(item.optional_vars)
        self.body(node.body)

    def visit_For(self, node: ast.For) -> None:
        if node.orelse or called(node.iter) not in _LOOPS:
            raise Refused(node.iter, f"for ... in {first_line(node.iter)}")
        assert isinstance(node.iter, ast.Call)
        self.arguments(node.iter)
        if len(node.iter.args) > 1:
            self.one_value(node.target, node.iter)
        self.new_name(node.target)
        self.body(node.body)

    def visit_While(self, node: ast.While) -> None:
        if node.orelse:
            raise Refused(node, "while ... else")
        self.value(node.test)
        self.body(node.body)

    def visit_If(self, node: ast.If) -> None:
        self.value(node.test)
        self.body(node.body)
        self.body(node.orelse)

    def visit_Assert(self, node: ast.Assert) -> None:
        self.value(node.test)
        for message in leaves(node.msg):
            if not is_literal(message, str):
                raise Refused(message, f"the message {first_line(message)}")

    def visit_Pass(self, node: ast.stmt) -> None:
        pass

    visit_Break = visit_Continue = visit_Pass

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
            raise Refused(node, f"a value given to {first_line(node)}")
        elif self.reserved(node.id):
            raise Refused(node, f"a value named {node.id}")
        else:
            self.bind(node.id)
