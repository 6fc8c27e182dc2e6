"""Passes with their options, found by inspecting the running TVM, for Relay and Relax alike."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import tvm

from workbench.dialects.base import Option, PassInfo
from workbench.errors import PipelineError, UnknownName


@dataclass(frozen=True)
class Catalog:
    """The passes of a dialect, and our knowledge of them."""

    dialect: str
    constructors: Mapping[str, Callable[..., Any]]
    "pass name -> the function or class that makes the pass"
    ours: Collection[str]
    "names of the passes of the workbench"
    message: Callable[[BaseException], str]
    "returns the sentence of an error of TVM's"
    locked: Mapping[str, str]
    "name -> the reason why the compiler cannot do without the pass"
    reasons: Mapping[str, str]
    "name -> the reason why the pass can't be tried by name on any module"
    examples: Mapping[str, Mapping[str, Any]]
    "name -> options that work on any module, for a pass that has no defaults"
    cautions: Mapping[str, str] = field(default_factory=dict)
    "name -> a sentence after TVM's own description"

    def infos(self) -> list[PassInfo]:
        """Return a description of each pass."""
        return [self._describe(name, constructor) for name, constructor in self.constructors.items()]

    def make(self, name: str, options: Mapping[str, Any]) -> tvm.transform.Pass:
        """Return the pass of a name with these options."""
        if name not in self.constructors:
            raise UnknownName(f"{self.dialect.capitalize()} pass", name, self.constructors)
        try:
            return self.constructors[name](**options)
        except (TypeError, ValueError, AttributeError, RuntimeError) as error:  # TVMError is a RuntimeError
            known = {parameter.name for parameter in _options(self.constructors[name])}
            takes = f"; it takes {', '.join(sorted(known)) or 'no options'}" if set(options) - known else ""
            raise PipelineError(f"{name} cannot be made with {dict(options)}: {self.message(error)}{takes}") from None

    def _describe(self, name: str, constructor: Callable[..., Any]) -> PassInfo:
        options = tuple(map(_option, _options(constructor)))
        doc = (inspect.getdoc(constructor) or "").split("\n\n")[0].replace("\n", " ")
        example = self.examples.get(name, {})
        level, requires = _level(constructor, options, example)
        return PassInfo(
            name,
            self.dialect,
            f"{doc} {self.cautions.get(name, '')}".strip(),
            options,
            level,
            self.locked.get(name, ""),
            ours=name in self.ours,
            requires=requires,
            example=example,
            reason=self.reasons.get(name, ""),
        )


def _level(
    constructor: Callable[..., Any], options: tuple[Option, ...], example: Mapping[str, Any]
) -> tuple[int | None, tuple[str, ...]]:
    """Return the opt_level from which a Sequential runs the pass, and the passes that it runs before it."""
    if not {option.name for option in options if option.required} <= set(example):
        return None, ()
    try:
        with warnings.catch_warnings():
            # a pass under its former name warns, and is listed too
            warnings.simplefilter("ignore")
            made = constructor(**example)
    except RuntimeError:
        # MetaScheduleApplyDatabase needs a current target
        return None, ()
    if not is_pass(made):
        return None, ()
    return int(made.info.opt_level), tuple(map(str, made.info.required))


def _options(constructor: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the named parameters of a constructor."""
    parameters = inspect.signature(constructor).parameters.values()
    return [each for each in parameters if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]


def _option(parameter: inspect.Parameter) -> Option:
    required = parameter.default is parameter.empty
    default = None if required else parameter.default
    annotation = parameter.annotation
    if annotation is not parameter.empty:
        type = annotation.__name__ if inspect.isclass(annotation) else str(annotation)
    else:
        type = "any" if default is None else default.__class__.__name__
    return Option(parameter.name, type, default, required)


def opt_level_of(compiled: tvm.transform.Pass) -> int:
    """Return the lowest opt_level at which a Sequential runs the pass."""
    return int(compiled.info.opt_level)


def is_pass(thing: object) -> bool:
    """Return whether an object is one of TVM's Pass objects."""
    return isinstance(thing, tvm.transform.Pass)
