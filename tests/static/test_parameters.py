"""A function of ours takes a request object instead of many parameters; public functions have keywords for users."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import workbench

MOST_PARAMETERS = 7
PUBLIC = {
    "ablate", "assert_pass", "bisect", "compare_compilers", "count", "kernel_errors", "kernels", "measure", "memory",
    "check_schedule", "prepared_schedules", "race", "reduce", "report", "schedules", "trace_build", "tune", "try_pass", "tune_schedules", "waterfall",
}  # fmt: skip
"functions of the public interface"


def long_parameter_lists() -> Iterator[tuple[str, str]]:
    package = Path(workbench.__file__).parent
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name in PUBLIC:
                continue
            names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            if len([name for name in names if name not in ("self", "cls")]) > MOST_PARAMETERS:
                yield path.relative_to(package).as_posix(), node.name


def test_functions_take_few_parameters() -> None:
    assert list(long_parameter_lists()) == []
