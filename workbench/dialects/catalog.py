"""Passes as values, and the passes of a dialect, found by inspecting the running TVM."""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.errors import PipelineError, UnknownName, reason_of

if TYPE_CHECKING:
    import tvm


@dataclass(frozen=True)
class Option:
    """One option of a pass."""

    name: str
    type: str
    "`int`, `bool`, `str`, ... as far as the signature or the default shows; `any` otherwise"
    default: Any
    required: bool = False


@dataclass(frozen=True)
class PassInfo:
    """A pass that a pipeline can name."""

    name: str
    dialect: str
    doc: str = ""
    options: tuple[Option, ...] = ()
    opt_level: int | None = None
    "TVM runs the pass in a Sequential only when the context's opt_level is at least this; None if that depends on options"
    locked: str = ""
    "why the compiler cannot do without it; empty if it can be switched off"
    ours: bool = False
    "a pass of the workbench rather than of TVM"
    requires: tuple[str, ...] = ()
    "passes that TVM's Sequential runs before it"
    example: Mapping[str, Any] = field(default_factory=dict, hash=False)
    "options to try it with, for a pass that needs options and works on any module"
    reason: str = ""
    "why it can't be tried by name on any module: it needs an object that only Python can give, or it fails in this TVM"

    def line(self) -> dict[str, object]:
        """Return the row of a table."""
        options = ", ".join(option.name for option in self.options)
        return {"pass": self.name, "effect": self.doc, "options": options, "opt level": self.opt_level}


@dataclass(frozen=True)
class Preset:
    """A pipeline worth starting from."""

    name: str
    pipeline: str
    doc: str
    opt_level: int = 3


class Passes(ABC):
    """The passes of a dialect that a pipeline can name, and our knowledge of them. TVM's modules and passes are opaque objects."""

    dialect: ClassVar[str]
    ours: ClassVar[Mapping[str, str]]
    "names of the passes of the workbench"
    locked: ClassVar[Mapping[str, str]]
    "name -> the reason why the compiler cannot do without the pass"
    reasons: ClassVar[Mapping[str, str]]
    "name -> the reason why the pass can't be tried by name on any module"
    examples: ClassVar[Mapping[str, Mapping[str, Any]]]
    "name -> options that work on any module, for a pass that has no defaults"
    cautions: ClassVar[Mapping[str, str]] = {}
    "name -> a sentence after TVM's own description"
    _fusing: ClassVar[str]
    _presets: ClassVar[tuple[Preset, ...]]
    _toggles: ClassVar[tuple[str, ...]]

    @abstractmethod
    def constructors(self) -> Mapping[str, Callable[..., Any]]:
        """Return pass name -> the function or class of TVM's, or ours, that makes the pass."""

    @abstractmethod
    def apply(self, compiled: Any, module: Any, opt_level: int) -> Any:
        """Run one pass as TVM's Sequential does at this opt_level, with types inferred after it."""

    @abstractmethod
    def rewrite(self, callback: Any, module: Any) -> Any:
        """Return the module with the matches of a DFPatternCallback replaced, in every function of the dialect."""

    def diagnosed(self) -> AbstractContextManager[None]:
        """Return a block in which an error of TVM has the text of its diagnostics."""
        return nullcontext()

    @abstractmethod
    def rewriter(self, pattern: Any, callback: Any) -> object:
        """Return what a pipeline runs to replace each match of a pattern by what the callback returns. Raises TypeError: it is none."""

    def extra(self) -> list[PassInfo]:
        """Return the passes that no constructor makes."""
        return []

    @cached_property
    def _constructors(self) -> Mapping[str, Callable[..., Any]]:
        return self.constructors()

    @cached_property
    def _catalog(self) -> tuple[PassInfo, ...]:
        listed = [*self.extra(), *(self._describe(name, make) for name, make in self._constructors.items())]
        return tuple(sorted(listed, key=lambda info: info.name.lower()))

    def fusing(self) -> str:
        """Return the pipeline that makes kernels of any module, for counting them."""
        return self._fusing

    def presets(self) -> tuple[Preset, ...]:
        """Return pipelines to start from, the best first."""
        return self._presets

    def toggles(self) -> tuple[str, ...]:
        """Return the passes of the compiler's own pipeline that a PassContext can switch."""
        return self._toggles

    def catalog(self) -> tuple[PassInfo, ...]:
        """Return every pass that a pipeline can name, in alphabetical order."""
        return self._catalog

    def make(self, name: str, options: Mapping[str, Any]) -> Any:
        """Return the TVM pass of that name with these options."""
        if name not in self._constructors:
            raise UnknownName(f"{self.dialect.capitalize()} pass", name, self._constructors)
        try:
            return self._constructors[name](**options)
        except (TypeError, ValueError, AttributeError, RuntimeError) as error:  # TVMError is a RuntimeError
            known = {parameter.name for parameter in _options(self._constructors[name])}
            takes = f"; it takes {', '.join(sorted(known)) or 'no options'}" if set(options) - known else ""
            raise PipelineError(f"{name} cannot be made with {dict(options)}: {reason_of(error)}{takes}") from None

    def is_pass(self, thing: object) -> bool:
        """Return whether an object is one of TVM's Pass objects."""
        import tvm

        return isinstance(thing, tvm.transform.Pass)

    def opt_level_of(self, compiled: tvm.transform.Pass) -> int:
        """Return the lowest opt_level at which a Sequential runs this pass."""
        return int(compiled.info.opt_level)

    def _describe(self, name: str, constructor: Callable[..., Any]) -> PassInfo:
        options = tuple(map(_option, _options(constructor)))
        doc = (inspect.getdoc(constructor) or "").split("\n\n")[0].replace("\n", " ")
        example = self.examples.get(name, {})
        made = None
        if {option.name for option in options if option.required} <= set(example):
            with warnings.catch_warnings():
                # a pass under its former name warns, and is listed too
                warnings.simplefilter("ignore")
                try:
                    made = constructor(**example)
                except RuntimeError:  # MetaScheduleApplyDatabase needs a current target
                    made = None
        known = self.is_pass(made)
        return PassInfo(
            name,
            self.dialect,
            f"{doc} {self.cautions.get(name, '')}".strip(),
            options,
            self.opt_level_of(made) if known else None,  # pyright: ignore[reportArgumentType]  it is a pass
            self.locked.get(name, ""),
            ours=name in self.ours,
            requires=tuple(map(str, made.info.required)) if known else (),  # pyright: ignore[reportOptionalMemberAccess]
            example=example,
            reason=self.reasons.get(name, ""),
        )


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
