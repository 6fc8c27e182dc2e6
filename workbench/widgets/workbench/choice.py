"""The choice of passes in a Workbench: a value, its edits by place, and the history with undo and redo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from workbench.dialects.base import PassInfo, Preset
from workbench.errors import UnknownName, WorkbenchError
from workbench.pipeline.apply import BIND
from workbench.pipeline.config import Config
from workbench.pipeline.spec import PassStep, Pipeline

MODES = ("pipeline", "context")
OPT_LEVELS = range(5)


@dataclass(frozen=True)
class Choice:
    """The user's settings that change the result."""

    mode: str
    "`pipeline`: our own list of passes; `context`: the compiler's pipeline under a PassContext"
    pipeline: Pipeline
    opt_level: int = 3
    disabled: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    "PassContext config of `context`"

    def config(self, presets: Sequence[Preset]) -> Config:
        """Return the configuration to build; its name has the differences from its preset."""
        if self.mode == "context":
            context = {"disabled": self.disabled, "required": self.required, "options": dict(self.options)}
            return Config(opt_level=self.opt_level, **context)
        running = Pipeline(step for step in self.pipeline if step.enabled)
        # an empty pipeline would mean the compiler's own, so if nothing runs, a pass that is off is kept in the text
        text = str(running) or str(self.pipeline) or f"-{BIND}"
        return Config(name=self._name(presets), opt_level=self.opt_level, pipeline=text)

    def _name(self, presets: Sequence[Preset]) -> str:
        off = " ".join(f"-{step.text}" for step in self.pipeline if not step.enabled)
        passes = [step.text for step in self.pipeline]
        for preset in presets:
            if preset.opt_level == self.opt_level and [step.text for step in Pipeline.parse(preset.pipeline)] == passes:
                return f"{preset.name} passes {off}".strip()
        return str(Pipeline(step for step in self.pipeline if step.enabled)) or "no passes"

    def pass_at(self, index: int) -> PassStep:
        """Return the pass at that place of the pipeline.

        Raises
        ------
        WorkbenchError
            There is no such place.
        """
        if not 0 <= index < len(self.pipeline):
            raise WorkbenchError(f"there is no pass {index}; the passes are 0 to {len(self.pipeline) - 1}")
        return self.pipeline[index]

    def toggled(self, index: int, enabled: bool) -> Choice:
        """Return the choice with the pass at that place switched on or off."""
        self.pass_at(index)
        return replace(self, pipeline=self.pipeline.toggled(index, enabled))

    def moved(self, index: int, to: int) -> Choice:
        """Return the choice with the pass at one place moved to another."""
        self.pass_at(index)
        self.pass_at(to)
        return replace(self, pipeline=self.pipeline.moved(index, to))

    def duplicated(self, index: int) -> Choice:
        """Return the choice with the pass at that place twice."""
        return self.inserted(index + 1, self.pass_at(index))

    def inserted(self, index: int, step: PassStep) -> Choice:
        """Return the choice with one more pass, at that place."""
        steps = self.pipeline.steps
        return replace(self, mode="pipeline", pipeline=Pipeline([*steps[:index], step, *steps[index:]]))

    def removed(self, index: int) -> Choice:
        """Return the choice without the pass at that place."""
        self.pass_at(index)
        steps = self.pipeline.steps
        return replace(self, pipeline=Pipeline([*steps[:index], *steps[index + 1 :]]))

    def replaced(self, index: int, step: PassStep) -> Choice:
        """Return the choice with another pass, or the same with other options, at that place."""
        steps = self.pipeline.steps
        return replace(self, pipeline=Pipeline([*steps[:index], step, *steps[index + 1 :]]))

    def with_mode(self, mode: str) -> Choice:
        """Return the choice in the mode of the pipeline, or of the PassContext."""
        if mode not in MODES:
            raise UnknownName("mode", mode, MODES)
        return replace(self, mode=mode)

    def with_opt_level(self, level: int) -> Choice:
        """Return the choice at another opt level."""
        if level not in OPT_LEVELS:
            raise WorkbenchError(f"there is no opt level {level}; TVM's run from {OPT_LEVELS[0]} to {OPT_LEVELS[-1]}")
        return replace(self, opt_level=level)

    def runs(self, info: PassInfo) -> bool:
        """Return whether the PassContext lets this pass run."""
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


Chosen = TypeVar("Chosen")


class History(Generic[Chosen]):
    """The history of choices, with undo and redo."""

    def __init__(self, first: Chosen) -> None:
        self._choices = [first]
        self._place = 0

    @property
    def current(self) -> Chosen:
        return self._choices[self._place]

    def choose(self, choice: Chosen) -> bool:
        """Make a new choice and forget undone ones; return whether it differs from the current one."""
        if choice == self.current:
            return False
        self._choices[self._place + 1 :] = [choice]
        self._place += 1
        return True

    def undo(self) -> bool:
        """Go back one choice; return whether there was one."""
        moved = self._place > 0
        self._place -= moved
        return moved

    def redo(self) -> bool:
        """Go forward one choice; return whether there was one."""
        moved = self._place + 1 < len(self._choices)
        self._place += moved
        return moved
