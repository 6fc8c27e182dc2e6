"""The pass list of a Workbench: the Choice with its edits by place, edits that need the catalog, and values of form fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from workbench.dialects.base import Workload
from workbench.dialects.catalog import PassInfo, Preset
from workbench.dialects.facets import Dialect
from workbench.dialects.registry import dialect_of
from workbench.errors import UnknownName, WorkbenchError
from workbench.graph.received import Damaged, literal
from workbench.pipeline.config import Config
from workbench.pipeline.spec import BIND, PassStep, Pipeline, short_name

Mode = Literal["pipeline", "context"]
MODES: tuple[Mode, ...] = get_args(Mode)
OPT_LEVELS = range(5)


@dataclass(frozen=True)
class Choice:
    """The user's settings that change the result. Its edits return another choice, and refuse a place outside the pipeline."""

    mode: Mode
    "`pipeline`: our own list of passes; `context`: the compiler's pipeline under a PassContext"
    pipeline: Pipeline
    opt_level: int = 3
    disabled: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    "PassContext config of `context`"

    def config(self, presets: Sequence[Preset]) -> Config:
        """Return the configuration to build; its name has the differences from a preset."""
        if self.mode == "context":
            context = {"disabled": self.disabled, "required": self.required, "options": dict(self.options)}
            return Config(opt_level=self.opt_level, **context)
        running = self.running
        # an empty pipeline would mean the compiler's own, so if nothing runs, a pass that is off is kept in the text
        text = str(running) or str(self.pipeline) or f"-{BIND}"
        return Config(name=short_name(running, self.opt_level, presets), opt_level=self.opt_level, pipeline=text)

    @property
    def running(self) -> Pipeline:
        return Pipeline(step for step in self.pipeline if step.enabled)

    def runs_as(self, other: Choice) -> bool:
        """Return whether both run the same passes with the same settings; settings of the other mode do not count."""
        if (self.mode, self.opt_level) != (other.mode, other.opt_level):
            return False
        if self.mode == "pipeline":
            return self.running == other.running
        switched = (set(self.disabled), set(self.required), self.options)
        return switched == (set(other.disabled), set(other.required), other.options)

    def pass_at(self, index: int) -> PassStep:
        if not 0 <= index < len(self.pipeline):
            raise WorkbenchError(f"there is no pass {index}; the passes are 0 to {len(self.pipeline) - 1}")
        return self.pipeline[index]

    def toggled(self, index: int, enabled: bool) -> Choice:
        self.pass_at(index)
        return replace(self, pipeline=self.pipeline.toggled(index, enabled))

    def moved(self, index: int, to: int) -> Choice:
        self.pass_at(index)
        self.pass_at(to)
        return replace(self, pipeline=self.pipeline.moved(index, to))

    def duplicated(self, index: int) -> Choice:
        return self.inserted(index + 1, self.pass_at(index))

    def inserted(self, index: int, step: PassStep) -> Choice:
        steps = self.pipeline.steps
        return replace(self, mode="pipeline", pipeline=Pipeline([*steps[:index], step, *steps[index:]]))

    def removed(self, index: int) -> Choice:
        self.pass_at(index)
        steps = self.pipeline.steps
        return replace(self, pipeline=Pipeline([*steps[:index], *steps[index + 1 :]]))

    def replaced(self, index: int, step: PassStep) -> Choice:
        steps = self.pipeline.steps
        return replace(self, pipeline=Pipeline([*steps[:index], step, *steps[index + 1 :]]))

    def with_mode(self, mode: str) -> Choice:
        if mode not in MODES:
            raise UnknownName("mode", mode, MODES)
        return replace(self, mode=mode)

    def with_opt_level(self, level: int) -> Choice:
        if level not in OPT_LEVELS:
            raise WorkbenchError(f"there is no opt level {level}; TVM's run from {OPT_LEVELS[0]} to {OPT_LEVELS[-1]}")
        return replace(self, opt_level=level)

    def runs(self, info: PassInfo) -> bool:
        if info.name in self.disabled:
            return False
        return info.name in self.required or self.opt_level >= (info.opt_level or 0)

    def context_toggled(self, info: PassInfo, enabled: bool) -> Choice:
        """Return the choice with one pass of the PassContext switched, by `required_pass` if the opt level leaves it out."""
        disabled = tuple(name for name in self.disabled if name != info.name)
        required = tuple(name for name in self.required if name != info.name)
        bare = replace(self, disabled=disabled, required=required)
        if bare.runs(info) == enabled:
            return bare
        if enabled:
            return replace(bare, required=(*required, info.name))
        return replace(bare, disabled=(*disabled, info.name))


@dataclass(frozen=True)
class Catalog:
    """The passes, presets and PassContext settings of a dialect."""

    dialect: Dialect
    infos: Mapping[str, PassInfo]
    settings: Mapping[str, str]
    "key of PassContext's config -> its type"
    presets: Sequence[Preset]

    @classmethod
    def of(cls, workload: Workload) -> Catalog:
        from workbench.dialects.compiler.capture import settings  # it loads TVM, which this module must not

        dialect = dialect_of(workload)
        # TVM 0.17 has the keys of both dialects
        other = "relax." if workload.dialect == "relay" else "relay."
        known = {name: type for name, type in settings().items() if not name.startswith(other)}
        return cls(dialect, {info.name: info for info in dialect.passes.catalog()}, known, dialect.passes.presets())

    def toggleable(self, name: str) -> PassInfo:
        """Return a pass of the compiler's own pipeline that a PassContext can switch."""
        names = self.dialect.passes.toggles()
        if name not in names:
            raise UnknownName("pass to switch in a PassContext", name, names)
        info = self.infos[name]
        if info.locked:
            raise WorkbenchError(f"{name} cannot be switched off: {info.locked}")
        return info


def toggle(catalog: Catalog, choice: Choice, name: str, enabled: bool | None = None) -> Choice:
    """Switch every pass of that name, in the pipeline or in the PassContext, by the choice's mode."""
    if choice.mode == "context":
        info = catalog.toggleable(name)
        return choice.context_toggled(info, not choice.runs(info) if enabled is None else enabled)
    pipeline = choice.pipeline
    places = [place for place, step in enumerate(pipeline) if name in (step.name, step.text)]
    if not places:
        raise UnknownName("pass in this pipeline", name, [step.name for step in pipeline])
    for place in places:
        pipeline = pipeline.toggled(place, enabled)
    return replace(choice, pipeline=pipeline)


def add(catalog: Catalog, choice: Choice, name: str, index: int) -> tuple[Choice, str]:
    """Add a pass of the catalog, with or without options; a pass that lacks a required option is switched off.

    Returns
    -------
    tuple
        The choice, and the name of the option that the pass lacks, "" for none.
    """
    if not 0 <= index <= len(choice.pipeline):
        raise WorkbenchError(f"there is no place {index}; the places are 0 to {len(choice.pipeline)}")
    steps = Pipeline.parse(name).steps
    if len(steps) != 1 or steps[0].name not in catalog.infos:
        raise UnknownName(f"{catalog.dialect.name} pass", name, catalog.infos)
    (step,) = steps
    info = catalog.infos[step.name]
    if info.reason:
        raise WorkbenchError(f"{info.name} cannot be added by its name: {info.reason}")
    options = dict(step.options) or dict(info.example)
    lacks = _missing(step.name, info, options)
    return choice.inserted(index, PassStep(step.name, options, enabled=not lacks)), lacks


def set_option(catalog: Catalog, choice: Choice, index: int, name: str, text: str) -> Choice:
    """Set an option of the pass at that place from its text; an empty text removes it."""
    step = choice.pass_at(index)
    info = catalog.infos.get(step.name)
    fields = {option.name: option for option in info.options} if info else {}
    if info is None or name not in fields:
        raise UnknownName(f"option of {step.name}", name, fields)
    options = {key: value for key, value in step.options.items() if key != name}
    if text.strip():
        options = {**step.options, name: read_value(fields[name].type, text)}
    lacks = _missing(step.name, info, options)
    if lacks and step.enabled:
        raise WorkbenchError(f"{step.name} needs {lacks}")
    if all(not option.required or option.name in options for option in info.options):
        catalog.dialect.passes.make(step.name, options)  # it refuses values that TVM does not take
    return choice.replaced(index, replace(step, options=options))


def set_setting(catalog: Catalog, choice: Choice, name: str, text: str) -> Choice:
    """Set a key of PassContext's config from its text; an empty text removes it."""
    from workbench.dialects.compiler.capture import refusal  # it loads TVM, which this module must not

    if name not in catalog.settings:
        raise UnknownName("PassContext config of this TVM", name, catalog.settings)
    options = {key: value for key, value in choice.options.items() if key != name}
    if text.strip():
        options[name] = read_value(catalog.settings[name], text)
        if why := refusal(name, options[name]):
            raise WorkbenchError(f"TVM does not take {text.strip()[:60]}: {why}")
    return replace(choice, options=options)


def _missing(name: str, info: PassInfo, options: Mapping[str, object]) -> str:
    """Return the first missing required option, or ""; without options BindParams takes the workload's own parameters."""
    missing = (option.name for option in info.options if option.required and option.name not in options)
    return "" if name == BIND else next(missing, "")


_KINDS: dict[str, tuple[type, str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (bool, "True or False"),
    "list": (list, "a list"),
    "dict": (dict, "a dict"),
}
"the type of a field's value, and its words"
_BOOLS = {"true": True, "1": True, "false": False, "0": False}


def field_kind(type: str) -> str:
    """Return the kind of form field for a type: `bool`, `int`, `float`, `str`, or `any` for a Python literal."""
    alone = type.removesuffix(" | None")
    return alone if alone in (*_KINDS, "str") else "any"


def read_value(type: str, text: str) -> object:
    """Return the value of a text in a field of that type."""
    wanted = field_kind(type)
    text = text.strip()
    if wanted == "str":
        return text
    if wanted == "bool" and text.lower() in _BOOLS:
        return _BOOLS[text.lower()]
    python, words = _KINDS.get(wanted, (object, f"a Python literal ({type})"))
    try:
        value = literal(text)
    except Damaged:
        raise WorkbenchError(f"{text[:60] or 'an empty text'} is not {words}") from None
    # True is an int for isinstance
    if wanted in ("int", "float") and isinstance(value, bool):
        raise WorkbenchError(f"{text} is not {words}")
    if wanted == "float" and isinstance(value, int):
        return float(value)
    if not isinstance(value, python):
        raise WorkbenchError(f"{text[:60]} is not {words}")
    return value


def value_text(type: str, value: object) -> str:
    """Return a value as text that `read_value` takes."""
    return str(value) if field_kind(type) == "str" or isinstance(value, bool) else repr(value)
