"""Relax text as people have it: of another TVM version, in mail, in prose, with parts left out.

`plain_code` finds the program in a text, and `Repair` changes its tree to what the installed TVM prints. Neither accepts
anything: the grammar checks the result.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from workbench.dialects.relax.parser.expressions import Vocabulary
from workbench.dialects.relax.parser.nodes import (
    PYTHON,
    RESERVED,
    SHAPED,
    called,
    dotted,
    is_literal,
    leaves,
    names_in_shapes,
    tree_of,
    type_parameters,
)
from workbench.dialects.relay.paste.characters import BEFORE_LINES, repaired
from workbench.wording import counted

BEGINS = re.compile(
    r"(?<![\w.])(?:@(?:tvm\.script\.|[IRT]\.)(?:ir_module|function|prim_func)\b|class \w{1,200}:|def \w{1,200}\("
    r"|with R\.dataflow\(\)|\w{1,200}(?:: ?R\.[^\n]{0,500}?)? = R\.)"
)
"the first line of a program, or of a part of one"
_GOES_ON = re.compile(r"\s|@|class |def |#|[)\]]|metadata = |\w+ = TypeVar\(|R\.output\(|return\b")
"a line at the left edge that belongs to a program; indented lines do too"
_PROMPT = re.compile(r"(?:>>>|\.\.\.|In \[\d{1,5}\]:|(?:> ?){1,3}|[|$]|\d{1,6} ?[:|]) ?")
PROGRAMS = ("I.ir_module", "R.function", "T.prim_func", "tvm.script.ir_module")
_BLOCKS = ("T.block", "T.sblock")


def plain_code(text: str) -> tuple[str, list[str]]:
    """Return a text whose lines outside the program are empty, so that lines keep their numbers, and notes of the repairs."""
    found = repaired(text)
    lines = found.text.split("\n")
    first = next((at for at, line in enumerate(lines) if BEGINS.match(_without_prompt(line).strip())), None)
    if first is None or len(lines) != len(text.split("\n")):
        return text, []
    notes = list(found.said)
    if _without_prompt(lines[first]) != lines[first]:
        lines = list(map(_without_prompt, lines))
        notes.append(BEFORE_LINES)
    edge = len(lines[first]) - len(lines[first].lstrip())
    inside, left_out = False, 0
    for at, line in enumerate(lines):
        code = line[edge:] if not line[:edge].strip() else ""
        inside = bool(BEGINS.match(code)) or (inside and (not line.strip() or _GOES_ON.match(code) is not None))
        left_out += bool(line.strip()) and not inside
        lines[at] = code if inside else ""
    if left_out:
        notes.append(f"{counted(left_out, 'line')} around the program left out")
    return "\n".join(lines), list(dict.fromkeys(notes))


def _without_prompt(line: str) -> str:
    found = _PROMPT.match(line.lstrip())
    return line.lstrip()[found.end() :] if found else line


def is_program(statement: ast.stmt) -> bool:
    """Return whether a statement is a class or a function with a decorator of TVMScript."""
    if not isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
        return False
    return any(dotted(d.func if isinstance(d, ast.Call) else d) in PROGRAMS for d in statement.decorator_list)


class Repair(ast.NodeTransformer):
    """Changes statements to what the installed TVM prints.

    `valued`: the text has values of its constants, and the installed TVM reads them.
    """

    def __init__(self, words: Vocabulary, valued: bool) -> None:
        self.words, self.valued = words, valued
        self.renamed: dict[str, str] = {}
        "names of another TVM that the text has -> those of this one"
        self.added: dict[str, None] = {}
        "parts that the text lacks"
        self.elided = False
        "it has `...` in place of statements"
        self.partial = False
        "it is a part of a program, so names that nothing binds are expected"
        self.inside = False
        "a function is being visited; those inside may use its names"
        self.unbound: list[str] = []
        "names that nothing binds"
        self.module = ""
        "the module's name"
        self.members: dict[str, ast.FunctionDef] = {}
        "its functions"
        self.constants: dict[str, str] = {}
        "constants without values -> the parameters in their places"

    @property
    def notes(self) -> list[str]:
        """The repairs, a sentence each."""
        notes: list[str] = []
        if self.renamed:
            age = " and ".join(dict.fromkeys(self.words.renamed[old][1] for old in self.renamed))
            notes.append(f"the text is of {age}: {', '.join(f'{a} became {b}' for a, b in self.renamed.items())}")
        if self.added:
            notes.append(f"added, since the text lacks it: {', '.join(self.added)}")
        if self.elided:
            notes.append("`...` in place of statements left out")
        if self.unbound:
            notes.append(f"nothing in the text binds {', '.join(self.unbound)}: parameters of unknown type")
        if self.constants:
            notes.append(
                f"the text has no values that this TVM reads for {counted(len(self.constants), 'constant')}: parameters of unknown "
                "type; script(show_meta=True) prints the values"
            )
        return notes

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return the statements of a text with a program among them, if they hold the parts of one."""
        body = [self.decorated(statement) for statement in body]
        loose = [statement for statement in body if _is_loose(statement)]
        if loose and not any(map(is_program, body)):
            main = tree_of("@R.function\ndef main():\n    pass").body[0]
            assert isinstance(main, ast.FunctionDef)
            for node in ast.walk(main):
                ast.copy_location(node, loose[0])
            main.body = loose
            self.added["a function around the statements"] = None
            self.partial = True
            body = [*(statement for statement in body if statement not in loose), main]
        return [self.visit(statement) if is_program(statement) else statement for statement in body]

    def decorated(self, statement: ast.stmt) -> ast.stmt:
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef)) and not statement.decorator_list:
            inside = statement.body if isinstance(statement, ast.ClassDef) else [statement.args]
            wanted = "I.ir_module" if isinstance(statement, ast.ClassDef) else "R.function"
            if any(
                (called(node) or dotted(node) or "").startswith(("R.", "T."))
                for part in inside
                for node in ast.walk(part)
            ):
                statement.decorator_list = [_written(wanted, statement)]
                self.added[f"@{wanted}"] = None
        return statement

    # --- parts that were left out

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.body = [self.decorated(statement) for statement in node.body]
        self.module = node.name
        self.members = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        decorator = node.decorator_list[0] if node.decorator_list else None
        kind = dotted(decorator.func if isinstance(decorator, ast.Call) else decorator) if decorator else None
        if kind == "T.prim_func":
            self.schedulable(node)
        around, self.inside = self.inside, True
        self.generic_visit(node)
        self.inside = around
        if kind == "R.function" and not around:
            self.whole(node)
        return node

    def schedulable(self, node: ast.FunctionDef) -> None:
        """Mark a PrimFunc with blocks, as TVM does since 0.25, whose buffers of blocks have another name too."""
        if not any(called(inside) in _BLOCKS for inside in ast.walk(node)):
            return
        for inside in ast.walk(node):
            if isinstance(inside, ast.Call) and dotted(inside.func) == "T.alloc_buffer":
                inside.func = _written("T.sblock_alloc_buffer", inside)
        decorator = node.decorator_list[0]
        given = decorator.keywords if isinstance(decorator, ast.Call) else []
        if not any(each.arg == "s_tir" for each in given):
            made = _written("T.prim_func(s_tir=True)", decorator)
            assert isinstance(made, ast.Call)
            made.keywords = [*given, *made.keywords]
            node.decorator_list = [made]
            self.added["s_tir=True"] = None

    def whole(self, node: ast.FunctionDef) -> None:
        """Give a Relax function its missing statements and parameters."""
        node.body = self.without_ellipsis(node.body)
        last = node.body[-1]
        result = _last_name(node.body)
        outputs = [s for s in getattr(last, "body", ()) if isinstance(s, ast.Expr) and called(s.value) == "R.output"]
        if isinstance(last, ast.With) and result and not outputs:
            output = _written("R.output()", last)
            assert isinstance(output, ast.Call)
            output.args.append(_name(result, last))
            last.body.append(ast.copy_location(ast.Expr(output), last))
            self.added["R.output"] = None
        if result and not any(isinstance(inside, ast.Return) for inside in ast.walk(node)):
            node.body.append(ast.copy_location(ast.Return(_name(result, last)), last))
            self.added["return"] = None
        bound = {*_bound(node), *names_in_shapes(node.args), self.module, *self.members, *PYTHON, *RESERVED}
        dimensions = {name.id for shape in _shapes(node) for name in ast.walk(shape) if isinstance(name, ast.Name)}
        used = sorted(_loaded(node), key=lambda name: (name.lineno, name.col_offset))
        allowed = set(self.constants.values())
        missing = dict.fromkeys(
            name.id for name in used if name.id not in bound | dimensions and (self.partial or name.id in allowed)
        )
        types = self.taken_as(node) if missing else {}
        for name in missing:
            type_ = _written(types.get(name, "R.Tensor"), node)
            node.args.args.append(ast.copy_location(ast.arg(name, type_), node))
        self.unbound += [name for name in missing if name not in allowed]

    def taken_as(self, node: ast.FunctionDef) -> dict[str, str]:
        """Return the types of the arguments that have a name, as the called functions of the module take them."""
        found: dict[str, str] = {}
        for call in (inside for inside in ast.walk(node) if isinstance(inside, ast.Call)):
            given, of = call.args, call.func
            if called(call) == "R.call_tir" and len(given) > 1 and isinstance(given[1], ast.Tuple):
                of, given = given[0], given[1].elts
            function = self.members.get(of.attr) if isinstance(of, ast.Attribute) else None
            for argument, parameter in zip(given, function.args.args if function else (), strict=False):
                if isinstance(argument, ast.Name) and parameter.annotation is not None and argument.id not in found:
                    printed = re.sub(r"T\.int(?:64|32)\((\d+)\)", r"\1", ast.unparse(parameter.annotation))
                    found[argument.id] = printed.replace("T.Buffer(", "R.Tensor(")
        return found

    def without_ellipsis(self, body: list[ast.stmt]) -> list[ast.stmt]:
        kept: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, ast.Expr) and is_literal(statement.value, type(...)):
                self.elided = self.partial = True
                continue
            if isinstance(statement, ast.With):
                statement.body = self.without_ellipsis(statement.body)
            kept.append(statement)
        return kept or body

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        text = ast.unparse(node) if not self.valued and isinstance(node.value, ast.Subscript) else ""
        if not text.startswith("metadata["):
            self.generic_visit(node)
            return node
        name = self.constants.setdefault(text, f"constant_{len(self.constants)}")
        return _name(name, node)

    # --- another version

    def of_this_version(self, name: str) -> str:
        new, _ = self.words.renamed.get(name, ("", ""))
        if new:
            self.renamed[name] = new
        return new

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        new = self.of_this_version(dotted(node) or "")
        if new:
            return _written(new, node)
        self.generic_visit(node)
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        self.generic_visit(node)
        if (
            node.arg
            and is_literal(node.value, str)
            and self.of_this_version(f"{node.arg}={ast.literal_eval(node.value)!r}")
        ):
            node.value = _written("None", node.value)
        new = self.of_this_version(f"{node.arg}=")
        node.arg = new.rstrip("=") or node.arg
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        # since 0.26 a number is written as it is
        plain = called(node) == "R.prim_value" and "R.prim_value" not in self.words.calls and len(node.args) == 1
        return node.args[0] if plain else node


def _written(text: str, at: ast.AST) -> ast.expr:
    """Return the tree of an expression of ours, at the place of another node."""
    made = tree_of(text, "eval").body
    for node in ast.walk(made):
        ast.copy_location(node, at)
    return made


def _name(name: str, at: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Load()), at)


def _is_loose(statement: ast.stmt) -> bool:
    """Return whether this is a statement of a Relax function, outside of one."""
    if isinstance(statement, ast.With):
        return called(statement.items[0].context_expr) == "R.dataflow"
    value = getattr(statement, "value", None)
    return isinstance(statement, ast.Return) or (isinstance(value, ast.Call) and (called(value) or "").startswith("R."))


def _last_name(body: list[ast.stmt]) -> str:
    """Return the variable that the last binding binds."""
    last = body[-1]
    if isinstance(last, ast.With):
        return _last_name(last.body)
    target = (
        last.targets[0] if isinstance(last, ast.Assign) else last.target if isinstance(last, ast.AnnAssign) else None
    )
    return target.id if isinstance(target, ast.Name) else ""


def _bound(node: ast.FunctionDef) -> Iterator[str]:
    for inside in ast.walk(node):
        if isinstance(inside, ast.arg):
            yield inside.arg
        elif isinstance(inside, ast.Name) and isinstance(inside.ctx, ast.Store):
            yield inside.id
        elif isinstance(inside, ast.FunctionDef):
            yield inside.name
            yield from (getattr(each, "name", "") for each in type_parameters(inside))


def _loaded(node: ast.FunctionDef) -> Iterator[ast.Name]:
    """Yield the names that a function's body uses as values."""
    inside = [each for statement in node.body for each in ast.walk(statement)]
    functions = {id(each.func) for each in inside if isinstance(each, ast.Call)}
    yield from (n for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and id(n) not in functions)


def _shapes(node: ast.FunctionDef) -> Iterator[ast.expr]:
    """Yield the dimensions of the types in a function."""
    for call in (inside for inside in ast.walk(node) if isinstance(inside, ast.Call) and dotted(inside.func) in SHAPED):
        yield from (each for argument in call.args[:1] for each in leaves(argument))
