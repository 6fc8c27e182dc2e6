"""If and match: constructs with several blocks."""

from __future__ import annotations

import re
from collections.abc import Callable

from workbench.dialects.relay.ast import Expr, Pattern
from workbench.dialects.relay.text.expressions import Expressions
from workbench.dialects.relay.text.tokens import END
from workbench.dialects.relay.text.variables import Frame, Scope


class Branches(Expressions):
    """Reads constructs whose parts are blocks; each part is a frame on the stack."""

    def open_if(self, frame: Frame, stack: list[Frame], done: Callable[[Expr], None], line: int) -> None:
        self.expect("(")
        condition = self.operand(frame.scope, line)
        self.expect(")")
        self.expect("{")

        def then_done(then: Expr) -> None:
            self.expect("}")
            self.expect("else")

            def else_done(other: Expr) -> None:
                self.expect("}")
                type, span = self.annotation()
                done(Expr("if", args=(condition, then, other), type=type or then.type, span=span, line=line))

            if self.token.text == "if":
                # `else if`: the arm is the nested if itself, without braces
                self.at += 1
                self.open_if(
                    frame,
                    stack,
                    lambda nested: self.finished.append(
                        (done, Expr("if", args=(condition, then, nested), type=then.type, line=line))
                    ),
                    line,
                )
                return
            self.expect("{")
            stack.append(Frame(else_done, Scope()))

        stack.append(Frame(then_done, Scope()))

    def open_match(self, frame: Frame, stack: list[Frame], done: Callable[[Expr], None], line: int) -> None:
        self.accept("?")
        self.expect("(")
        data = self.operand(frame.scope, line)
        self.expect(")")
        self.expect("{")
        patterns: list[Pattern] = []
        bodies: list[Expr] = []

        def clause() -> None:
            if self.accept("}"):
                type, span = self.annotation()
                result = Expr("match", args=(data, *bodies), patterns=tuple(patterns), span=span, line=line)
                result.type = type or (bodies[0].type if bodies else "")
                done(result)
                return
            scope = Scope()
            patterns.append(self.pattern(scope))
            self.expect("{")
            stack.append(Frame(clause_done, scope))

        def clause_done(body: Expr) -> None:
            bodies.append(body)
            self.expect("}")
            self.accept(",")
            clause()

        clause()

    def pattern(self, scope: Scope) -> Pattern:
        start, depth = self.token.offset, 0
        variables: list[Expr] = []
        while not (depth == 0 and self.token.text == "=>"):
            if self.token.kind == END:
                raise self.fail("`=>` after the pattern")
            if self.token.kind == "local":
                variables.append(self.variable(scope))
                continue
            depth += {"(": 1, ")": -1}.get(self.token.text, 0)
            self.at += 1
        text = re.sub(r"\s*/\*.*?\*/", "", self.text[start : self.token.offset], flags=re.DOTALL).strip()
        self.at += 1
        return Pattern(text, tuple(variables))
