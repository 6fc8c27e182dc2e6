"""Edits of the pass list and of the PassContext that need the catalog of passes: functions from Choice to Choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.dialects.base import PassInfo, Preset, Workload
from workbench.dialects.facets import Dialect
from workbench.dialects.registry import dialect_of
from workbench.errors import UnknownName, WorkbenchError
from workbench.pipeline.apply import BIND
from workbench.pipeline.spec import PassStep, Pipeline
from workbench.widgets import typed
from workbench.widgets.workbench.choice import Choice


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
        """Return the catalog of the workload's dialect."""
        from workbench.dialects.capture import settings  # it loads TVM, which this module must not

        dialect = dialect_of(workload)
        # TVM 0.17 has the keys of both dialects
        other = "relax." if workload.dialect == "relay" else "relay."
        known = {name: type for name, type in settings().items() if not name.startswith(other)}
        return cls(dialect, {info.name: info for info in dialect.passes.catalog()}, known, dialect.passes.presets())

    def toggleable(self, name: str) -> PassInfo:
        """Return a pass of the compiler's own pipeline that a PassContext can switch.

        Raises
        ------
        WorkbenchError
            There is no such pass, or it cannot be switched off.
        """
        names = self.dialect.passes.toggles()
        if name not in names:
            raise UnknownName("pass to switch in a PassContext", name, names)
        info = self.infos[name]
        if info.locked:
            raise WorkbenchError(f"{name} cannot be switched off: {info.locked}")
        return info


def toggle(catalog: Catalog, choice: Choice, name: str, enabled: bool | None = None) -> Choice:
    """Switch every pass of that name, in the pipeline or in the PassContext, by the choice's mode.

    Raises
    ------
    UnknownName
        The choice has no such pass.
    """
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

    Raises
    ------
    WorkbenchError
        There is no such pass or place, or the pass cannot be made from its name.
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
    """Set an option of the pass at that place from its text; an empty text removes it.

    Raises
    ------
    WorkbenchError
        There is no such pass or option, or TVM does not take the value.
    """
    step = choice.pass_at(index)
    info = catalog.infos.get(step.name)
    fields = {option.name: option for option in info.options} if info else {}
    if info is None or name not in fields:
        raise UnknownName(f"option of {step.name}", name, fields)
    options = {key: value for key, value in step.options.items() if key != name}
    if text.strip():
        options = {**step.options, name: typed.read(fields[name].type, text)}
    lacks = _missing(step.name, info, options)
    if lacks and step.enabled:
        raise WorkbenchError(f"{step.name} needs {lacks}")
    if all(not option.required or option.name in options for option in info.options):
        catalog.dialect.passes.make(step.name, options)  # it refuses values that TVM does not take
    return choice.replaced(index, replace(step, options=options))


def set_setting(catalog: Catalog, choice: Choice, name: str, text: str) -> Choice:
    """Set a key of PassContext's config from its text; an empty text removes it.

    Raises
    ------
    WorkbenchError
        This TVM has no such key, or does not take the value.
    """
    from workbench.dialects.capture import refusal  # it loads TVM, which this module must not

    if name not in catalog.settings:
        raise UnknownName("PassContext config of this TVM", name, catalog.settings)
    options = {key: value for key, value in choice.options.items() if key != name}
    if text.strip():
        options[name] = typed.read(catalog.settings[name], text)
        if why := refusal(name, options[name]):
            raise WorkbenchError(f"TVM does not take {text.strip()[:60]}: {why}")
    return replace(choice, options=options)


def _missing(name: str, info: PassInfo, options: Mapping[str, object]) -> str:
    """Return the first missing required option, or ""; without options BindParams takes the workload's own parameters."""
    missing = (option.name for option in info.options if option.required and option.name not in options)
    return "" if name == BIND else next(missing, "")
