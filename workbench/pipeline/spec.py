"""A Pipeline: an ordered list of passes, each with options and a switch, and its text form.

    SimplifyInference,-FoldScaleAxis,FuseOps{fuse_opt_level=2}

Passes are separated by commas, options are Python literals in braces, and a leading minus switches a pass off.
`Pipeline.parse(str(p)) == p` for every pipeline of named passes; a Python callable or a TVM Pass object has a text form
too, `<name>`, but only its notebook can make it again.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any, TypeGuard

from workbench.dialects.catalog import Preset
from workbench.errors import LoadError, PipelineError
from workbench.graph.received import check_numbers
from workbench.terminal import visible

_NAME = re.compile(r"\s*(?:(-)\s*)?([A-Za-z_][\w.]*|<[^<>]*>)\s*")
_COMMA = re.compile(r"\s*(?:,|\Z)")
_END = re.compile(r"\s*\Z")


BIND = "BindParams"
"without options, the only pass that takes something outside the module: the workload's parameters"


@dataclass(frozen=True)
class PassStep:
    """One place in a pipeline."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    enabled: bool = True
    run: object = None
    "the Pass object or callable itself, if the user gave one"

    @property
    def text(self) -> str:
        """Return `Name{option=value}`, without the switch."""
        options = ",".join(f"{key}={value!r}" for key, value in self.options.items())
        return f"{self.name}{{{options}}}" if options else self.name

    def __str__(self) -> str:
        return visible(self.text if self.enabled else f"-{self.text}")


class Pipeline:
    """An ordered, immutable list of passes.

    Parameters
    ----------
    steps
        Names (with options in braces or not), TVM Pass objects, DFPatternCallbacks, Python callables
        `IRModule -> IRModule`, or PassSteps.

    Examples
    --------
    >>> p = Pipeline(["SimplifyInference", "FuseOps{fuse_opt_level=2}"])
    >>> str(p.toggled(0))
    '-SimplifyInference,FuseOps{fuse_opt_level=2}'
    """

    def __init__(self, steps: Iterable[object] = ()) -> None:
        if not isinstance(steps, Iterable):
            raise PipelineError(f"a pipeline is a text or a list of passes, not {type(steps).__name__}")
        self.steps: tuple[PassStep, ...] = tuple(made for step in steps for made in _steps_of(step))

    @classmethod
    def parse(cls, text: str) -> Pipeline:
        """Read the text form.

        Raises
        ------
        PipelineError
            The message has the expected syntax and the position.
        """
        return cls(_parse(text))

    def __str__(self) -> str:
        return visible(",".join(str(step) for step in self.steps))

    def __repr__(self) -> str:
        return f"Pipeline({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pipeline) and self.steps == other.steps

    def __hash__(self) -> int:
        return hash(str(self))

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[PassStep]:
        return iter(self.steps)

    def __getitem__(self, index: int) -> PassStep:
        return self.steps[index]

    def toggled(self, index: int, enabled: bool | None = None) -> Pipeline:
        """Return the pipeline with one pass switched."""
        index = range(len(self.steps))[index]
        step = self.steps[index]
        new = replace(step, enabled=not step.enabled if enabled is None else enabled)
        return Pipeline([*self.steps[:index], new, *self.steps[index + 1 :]])

    def moved(self, index: int, to: int) -> Pipeline:
        """Return the pipeline with one pass moved to place `to`."""
        index, to = (range(len(self.steps))[place] for place in (index, to))
        rest = [*self.steps[:index], *self.steps[index + 1 :]]
        return Pipeline([*rest[:to], self.steps[index], *rest[to:]])


def _steps_of(thing: object) -> list[PassStep]:
    if isinstance(thing, PassStep):
        return [thing]
    if isinstance(thing, str):
        return _parse(thing)
    info = getattr(thing, "info", None)
    if info is not None and hasattr(info, "name"):
        return [PassStep(_bracketed(info.name), run=thing)]
    if is_rewriter(thing):
        return [PassStep(_bracketed(type(thing).__name__), run=thing)]
    if is_pattern(thing):
        raise PipelineError("a pattern is not a pass; give a rewrite of it, with a callback")
    if callable(thing):
        _check_takes_a_module(thing)
        return [PassStep(_bracketed(getattr(thing, "__name__", type(thing).__name__)), run=thing)]
    raise PipelineError(
        f"an object of type {type(thing).__name__} is not a pass; give a name, a TVM Pass, a DFPatternCallback, or a function from IRModule to IRModule"
    )


def _check_takes_a_module(function: Callable[..., object]) -> None:
    """Raises PipelineError: it is a class or a maker of passes that was not called, or it takes more than a module."""
    name = getattr(function, "__name__", type(function).__name__)
    if inspect.isclass(function):
        raise PipelineError(f"{name} is a class; give an object of it, {name}()")
    try:
        inspect.signature(function).bind(None)
    except TypeError as error:
        raise PipelineError(f"{name} is not a pass, which takes a module: {error}; if it makes one, call it") from None
    except ValueError:  # a builtin has no signature
        return


def is_pattern(thing: object) -> bool:
    """Return whether it is a DFPattern of TVM, by its attributes."""
    return hasattr(thing, "has_dtype") and hasattr(thing, "has_attr")


def is_rewriter(thing: object) -> bool:
    """Return whether it is a DFPatternCallback, by its attributes: a pattern, and a callback for matches."""
    return not callable(thing) and hasattr(thing, "pattern") and callable(getattr(thing, "callback", None))


def _bracketed(name: str) -> str:
    """Return `<name>`, with one pair of brackets, also for a `<lambda>`."""
    return f"<{re.sub('[<>]', '', str(name))}>"


def _parse(text: str) -> list[PassStep]:
    steps: list[PassStep] = []
    place = 0
    while not _END.match(text, place):
        found = _NAME.match(text, place)
        if found is None:
            raise PipelineError(f"expected a pass name at character {place + 1}, found {text[place : place + 20]!r}")
        place = found.end()
        options: dict[str, object] = {}
        if place < len(text) and text[place] == "{":
            end = _closing(text, place)
            options = _options(text[place + 1 : end], found.group(2))
            place = end + 1
        steps.append(PassStep(found.group(2), options, enabled=not found.group(1)))
        comma = _COMMA.match(text, place)
        if comma is None:
            rest = text[place : place + 100].lstrip()
            raise PipelineError(f"expected a comma after {found.group(2)[:80]}, found {rest[:20]!r}")
        place = comma.end()
    return steps


def _closing(text: str, start: int) -> int:
    """Return the place of the brace that closes the one at `start`; braces inside strings do not count."""
    depth, quote, place = 0, "", start
    while place < len(text):
        char = text[place]
        if quote:
            place += char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        else:
            depth += (char == "{") - (char == "}")
            if depth == 0:
                return place
        place += 1
    raise PipelineError(f"the brace at character {start + 1} is not closed")


def _options(text: str, name: str) -> dict[str, object]:
    """Parse `a=1,b=[2]` as the keyword arguments of a call whose values are literals."""
    keywords: list[ast.keyword] = []
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        keywords = call.keywords if isinstance(call, ast.Call) and not call.args else []
        check_numbers(call)
        options = {keyword.arg: ast.literal_eval(keyword.value) for keyword in keywords if keyword.arg is not None}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        options = {}
    # a positional argument or a `**` would be dropped silently
    if text.strip() and (not options or len(options) != len(keywords)):
        raise PipelineError(
            f"the options of {name[:80]} are {text[:120]!r}; write them as name=value, values as Python literals"
        )
    return options


USUAL_LEVEL = 3
"the opt level that a name does not mention"


def short_name(pipeline: Pipeline, opt_level: int, presets: Sequence[Preset]) -> str:
    """Return the preset with the passes that are missing or added, or all passes where that is shorter.

    Two pipelines with different passes or opt levels have different names: a pass that occurs more than once, or is added before
    the end, has its place, from 1.
    """
    passes = [step.text for step in pipeline if step.enabled]
    if not passes:
        return "no passes"
    named = [_difference(preset, passes, opt_level) for preset in presets]
    exact = next((name for name, edits in named if not edits), None)
    whole = ",".join(passes) + ("" if opt_level == USUAL_LEVEL else f" at opt level {opt_level}")
    return exact or min([whole, *(name for name, _ in named)], key=len)


def _difference(preset: Preset, passes: Sequence[str], opt_level: int) -> tuple[str, int]:
    """Return the name by that preset, and the number of differences."""
    base = [step.text for step in Pipeline.parse(preset.pipeline) if step.enabled]
    edits = [*_edits(base, passes)]
    level = [] if preset.opt_level == opt_level else [f"at opt level {opt_level}"]
    return " ".join([f"{preset.name} passes", *edits, *level]), len(edits) + len(level)


def _edits(base: Sequence[str], passes: Sequence[str]) -> Iterator[str]:
    for kind, first, last, start, end in SequenceMatcher(None, base, passes, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        for place in range(first, last):
            yield f"-{base[place]}" + (f" at {place + 1}" if base.count(base[place]) > 1 else "")
        for place in range(start, end):
            yield f"+{passes[place]}" + (f" at {place + 1}" if first < len(base) else "")


SAMPLE = "sample:"


def is_sample(source: object) -> TypeGuard[str]:
    """Return whether this is the text of a sample."""
    return isinstance(source, str) and source.startswith(SAMPLE)


def parse_sample(text: str) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the options of a sample. Raises LoadError: the text is not one name with options.

    >>> parse_sample("sample:bert{layers=2}")
    ('bert', {'layers': 2})
    """
    steps = list(Pipeline.parse(text.removeprefix(SAMPLE)))
    if len(steps) != 1:
        raise LoadError("name one sample, `sample:bert` or `sample:bert{layers=2}`")
    return steps[0].name, steps[0].options


def sample_text(name: str, options: Mapping[str, Any]) -> str:
    """Return the text of a sample, which `parse_sample` reads."""
    return f"{SAMPLE}{PassStep(name, options).text}"
