"""`t.code()`: Python that repeats a trace with TVM, alone unless the trace has passes of ours."""

from __future__ import annotations

import builtins
import inspect
import keyword
import re
import textwrap
from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from workbench.dialects.registry import known_dialect
from workbench.errors import WorkbenchError
from workbench.pipeline.spec import BIND, PassStep, Pipeline
from workbench.pipeline.step import Step, Steps
from workbench.quoting import comment
from workbench.wording import counted

if TYPE_CHECKING:
    from workbench.dialects.facets import CodeText

LEFT_OUT = ("off", "error", "skipped")
"statuses of the steps that the code leaves out"
_PASS = re.compile(r"(?:(?:qnn|tirx|s_tir)\.)?[A-Z]\w*", re.ASCII)
"names from a file are restricted, because they could reach any function through TVM's modules"
_OURS = ("tvm", "relay", "relax", "run", "each", "mod", "params", "passes", "transformed", "bind_params")


def code(trace: Steps) -> str:
    """Return the text of a Python module; see `Trace.code`."""
    words = known_dialect(trace.dialect).code(False)
    return build_text(trace, words) if trace.build else _pipeline(trace, words)


def build_text(trace: Steps, words: CodeText) -> str:
    """Return the code of a build, in the syntax of its dialect."""
    return _joined(
        f'"""{_subject(trace)} as TVM builds it.\n\nIts passes run inside of the compiler, which takes no list of them: to '
        'see them one by one, give the\nPassContext an instrument."""',
        words.imports,
        *compiler_code(trace.build, words),
    )


def compiler_code(made: Mapping[str, Any], words: CodeText) -> tuple[str, str, str]:
    """Return code of the target, of the PassContext of the build, and of the build."""
    context = (
        f"    return tvm.transform.PassContext(\n        opt_level={made['opt_level']},\n"
        f"        disabled_pass={list(made['disabled'])!r},\n        required_pass={list(made['required'])!r},\n"
        f"        config={dict(made['options'])!r},\n    )"
    )
    tuned = f"\nSCHEDULES = {made['schedules']!r}" if made.get("schedules") else ""
    return (
        f"TARGET = {words.target(made['target'])}{tuned}",
        f'def context():\n    """What the build runs under."""\n{context}',
        words.build,
    )


def _pipeline(trace: Steps, words: CodeText) -> str:
    sources: dict[str, str] = {}
    given: dict[str, None] = {}
    lines = [_line(step, words, sources, given) for step in trace.steps]
    binds = any(step.name == BIND and step.run is None for step in trace.steps)
    arguments = ", ".join(["mod", "params" if binds else "params=None", *(["*", *given] if given else [])])
    are = "is a pass" if len(given) == 1 else "are passes"
    needs = f"; {', '.join(given)} {are} of a notebook, and must be given" if given else ""
    transformed = "\n".join(
        [
            f"def transformed({arguments}):",
            f'    """The module after the passes{needs}."""',
            "    passes = [",
            *(f"        {line}" for line in lines),
            "    ]",
            f"    mod = {words.typed}",
            f"    with tvm.transform.PassContext(opt_level={trace.opt_level}):",
            "        for each in passes:",
            "            mod = run(mod, each)",
            "    return mod",
        ]
    )
    return _joined(
        f'"""{_subject(trace)} after {counted(len(trace.steps), "pass")} at opt_level {trace.opt_level}."""',
        _imports(trace, words, bool(sources)),
        *sources.values(),
        words.run,
        *([words.bind] if binds else []),
        transformed,
    )


def _imports(trace: Steps, words: CodeText, functions: bool) -> str:
    named = [step for step in trace.steps if step.status not in LEFT_OUT and not step.name.startswith("<")]
    ours = sorted({_pass_of(step).name for step in named}.intersection(words.ours))
    text = words.imports
    if ours:
        text += f"\n\n# of tvm-workbench: TVM has no such passes\nfrom {words.passes} import {', '.join(ours)}"
    # a function's annotations may have names that only its notebook imported
    return f"from __future__ import annotations\n\n{text}" if functions else text


def _joined(head: str, imports: str, *parts: str) -> str:
    return f"{head}\n\n{imports}\n\n" + "".join(f"\n{part}\n\n" for part in parts).rstrip("\n") + "\n"


def _line(step: Step, words: CodeText, sources: dict[str, str], given: dict[str, None]) -> str:
    call = _call(step, words, sources, given)
    if step.status in LEFT_OUT:
        why = {"off": "switched off", "skipped": step.detail, "error": f"failed: {step.error}"}[step.status]
        # the code must not look up a notebook's pass that isn't run
        return f"# {comment(call)},  # {comment(why)}"
    return f"{call},"


def _call(step: Step, words: CodeText, sources: dict[str, str], given: dict[str, None]) -> str:
    if step.name.startswith("<"):
        name = _identifier(step.name.strip("<>"))
        if step.status in LEFT_OUT:
            return name
        source = _source(step.run) if name == getattr(step.run, "__name__", "") else None
        if source is not None and sources.setdefault(name, source) == source:
            return name
        while name in sources or name in given:
            name = f"{name}_{len(given)}"
        given[name] = None
        return name
    made = _pass_of(step)
    if made.name == BIND and not made.options:
        return "bind_params(params)"
    if not _PASS.fullmatch(made.name):
        raise WorkbenchError(f"the step {made.name[:80]!r} has not the name of a pass, so there is no code for it")
    options = ", ".join(f"{key}={value!r}" for key, value in made.options.items())
    return f"{made.name if made.name in words.ours else words.constructor(made.name)}({options})"


def _pass_of(step: Step) -> PassStep:
    """Return the pass of a step, from its name; a name may come from a file."""
    made = Pipeline.parse(step.name)
    if len(made) != 1:
        raise WorkbenchError(f"the step {step.name[:80]!r} is not one pass, so there is no code for it")
    return made[0]


def _identifier(name: str) -> str:
    """Return the name as a Python identifier that is unique in the text."""
    name = re.sub(r"\W", "_", name) or "mine"
    taken = keyword.iskeyword(name) or name in _OURS or not name.isidentifier()
    return f"{name}_" if taken and not name[0].isdigit() else f"_{name}" if taken else name


def _source(run: object) -> str | None:
    """Return the source of a plain function that uses only TVM and Python; None for anything else."""
    if (
        not isinstance(run, FunctionType)
        or run.__closure__
        or run.__name__ == "<lambda>"
        or hasattr(run, "__wrapped__")
    ):
        return None
    known = {"tvm", "relay", "relax", *dir(builtins)}
    if any(name in run.__globals__ and name not in known for name in _names(run.__code__)):
        return None
    try:
        source = textwrap.dedent(inspect.getsource(run)).strip()
    except (OSError, TypeError):
        return None
    return source if source.startswith(f"def {run.__name__}(") else None


def _names(compiled: CodeType) -> set[str]:
    inner = (constant for constant in compiled.co_consts if isinstance(constant, CodeType))
    return {*compiled.co_names, *(name for part in inner for name in _names(part))}


def _subject(trace: Steps) -> str:
    """Return the name of the program, with the function that was chosen as `main`, if any."""
    entry = "" if trace.workload is None else trace.workload.entry
    chosen = "" if entry in ("", "main") else f" (the module with its function {entry} as main)"
    return comment(trace.name + chosen)
