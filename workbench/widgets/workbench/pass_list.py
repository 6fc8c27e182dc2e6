"""What a person can change: each a new Choice, which can be undone. What cannot be is answered in words, in its place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workbench.dialects.base import PassInfo
from workbench.errors import LoadError, UnknownName, WorkbenchError
from workbench.pipeline.apply import BIND
from workbench.pipeline.spec import PassStep, Pipeline
from workbench.widgets import typed
from workbench.widgets.workbench import presets as own_presets
from workbench.widgets.workbench.choice import Choice
from workbench.widgets.workbench.drawing import Drawing
from workbench.widgets.workbench.presets import OwnPreset

OPT_LEVELS = range(5)
PRESET_LEVELS = range(4)


class Choosing(Drawing):
    """The passes of a pipeline, and the PassContext."""

    @property
    def pipeline(self) -> Pipeline:
        """The passes, on and off; assign a Pipeline or its text to change them."""
        return self.choice.pipeline

    @pipeline.setter
    def pipeline(self, value: Pipeline | str) -> None:
        made = value if isinstance(value, Pipeline) else Pipeline.parse(value)
        self._choose(replace(self.choice, mode="pipeline", pipeline=made))

    def toggle(self, name: str, enabled: bool | None = None) -> None:
        """Switch every pass of that name, in the pipeline or in the PassContext, whichever is shown.

        Raises
        ------
        UnknownName
            There is no such pass here.
        """
        if self.choice.mode == "context":
            info = self._toggleable(name)
            self._choose(self.choice.context_toggled(info, not self.choice.runs(info) if enabled is None else enabled))
            return
        places = [place for place, step in enumerate(self.pipeline) if name in (step.name, step.text)]
        if not places:
            raise UnknownName("pass in this pipeline", name, [step.name for step in self.pipeline])
        pipeline = self.pipeline
        for place in places:
            pipeline = pipeline.toggled(place, enabled)
        self._choose(replace(self.choice, pipeline=pipeline))

    # -- presets

    @property
    def presets(self) -> list[str]:
        """Names that `use_preset` takes; your own last."""
        return list(self._starts())

    def use_preset(self, name: str) -> None:
        """Choose what a preset says.

        Raises
        ------
        UnknownName
            There is none of that name.
        """
        starts = self._starts()
        if name not in starts:
            raise UnknownName("preset", name, starts)
        self._choose(starts[name][1])

    def save_preset(self, name: str) -> None:
        """Keep what is chosen under a name, in a file of your configuration folder, for every later Workbench.

        Raises
        ------
        WorkbenchError
            The name is empty or that of a preset which is not yours, a pass is a Python object, or the file cannot be written.
        """
        name = name.strip()
        if name in self._given():
            raise WorkbenchError(f"{name!r} is a preset of the workbench; give yours another name")
        own_presets.save(OwnPreset(name, self.workload.dialect, self.choice))
        self._push(presets=self._preset_states(), refused=None)

    def delete_preset(self, name: str) -> None:
        """Forget a preset of yours.

        Raises
        ------
        UnknownName
            You have none of that name.
        """
        own_presets.delete(name, self.workload.dialect)
        self._push(presets=self._preset_states(), refused=None)

    def _given(self) -> dict[str, tuple[str, Choice]]:
        """Presets of the dialect, and the compiler's own pipeline at each opt level."""
        pipelines = {
            preset.name: (preset.doc, Choice("pipeline", Pipeline.parse(preset.pipeline), preset.opt_level))
            for preset in self._presets
        }
        compilers = {
            f"compiler, opt level {level}": (
                f"the compiler's own pipeline at opt level {level}, nothing disabled",
                Choice("context", self.pipeline, level),
            )
            for level in PRESET_LEVELS
        }
        return {**pipelines, **compilers}

    def _starts(self) -> dict[str, tuple[str, Choice]]:
        own = {preset.name: ("yours", preset.choice) for preset in self._own()}
        return {**self._given(), **{name: start for name, start in own.items() if name not in self._given()}}

    def _own(self) -> list[OwnPreset]:
        try:
            return [preset for preset in own_presets.load() if preset.dialect == self.workload.dialect]
        except LoadError as error:
            self._push(presets_note=str(error))
            return []

    def _preset_states(self) -> list[dict[str, Any]]:
        self._push(presets_note="")
        given = self._given()
        return [{"name": name, "doc": doc, "own": name not in given} for name, (doc, _) in self._starts().items()]

    def _on_preset(self, name: str) -> None:
        self.use_preset(name)

    def _on_save_preset(self, name: str) -> None:
        self._or_refuse("preset", "", lambda: self.save_preset(name))

    def _on_delete_preset(self, name: str) -> None:
        self._or_refuse("preset", "", lambda: self.delete_preset(name))

    # -- the pipeline

    def _on_toggle(self, index: int, enabled: bool) -> None:
        pipeline = self.pipeline.toggled(self._place(index), enabled)
        self._choose(replace(self.choice, pipeline=pipeline))

    def _on_move(self, index: int, to: int) -> None:
        self._choose(replace(self.choice, pipeline=self.pipeline.moved(self._place(index), self._place(to))))

    def _on_duplicate(self, index: int) -> None:
        self._choose(self.choice.inserted(index + 1, self.pipeline[self._place(index)]))

    def _on_remove(self, index: int) -> None:
        self._choose(self.choice.removed(self._place(index)))

    def _on_add(self, name: str, index: int) -> None:
        """A pass of the catalogue, or one with its options; one that lacks an option it needs is added switched off."""
        if not 0 <= index <= len(self.pipeline):
            raise WorkbenchError(f"there is no place {index}; the places are 0 to {len(self.pipeline)}")
        steps = Pipeline.parse(name).steps
        if len(steps) != 1 or steps[0].name not in self._infos:
            raise UnknownName(f"{self.workload.dialect} pass", name, self._infos)
        (step,) = steps
        info = self._infos[step.name]
        if info.reason:
            raise WorkbenchError(f"{info.name} cannot be added by its name: {info.reason}")
        options = dict(step.options) or dict(info.example)
        lacks = [option.name for option in info.options if option.required and option.name not in options]
        if step.name == BIND:
            # without options ours takes the workload's own parameters
            lacks = []
        self._choose(self.choice.inserted(index, PassStep(step.name, options, enabled=not lacks)))
        if lacks:
            words = f"{info.name} needs {lacks[0]}: fill it in, then switch it on"
            self._push(refused={"form": f"pass {index}", "field": lacks[0], "text": words})

    def _on_option(self, index: int, name: str, text: str) -> None:
        self._or_refuse(f"pass {index}", name, lambda: self._set_option(index, name, text))

    def _set_option(self, index: int, name: str, text: str) -> None:
        step = self.pipeline[self._place(index)]
        fields = {option.name: option for option in self._infos[step.name].options} if step.name in self._infos else {}
        if name not in fields:
            raise UnknownName(f"option of {step.name}", name, fields)
        option, options = fields[name], dict(step.options)
        if text.strip():
            options[name] = typed.read(option.type, text)
        else:
            options.pop(name, None)
        lacks = [o.name for o in fields.values() if o.required and o.name not in options]
        if not lacks:
            self._dialect.passes.make(step.name, options)  # it refuses what TVM does not take
        elif step.enabled and step.name != BIND:
            raise WorkbenchError(f"{step.name} needs {lacks[0]}")
        self._choose(self.choice.replaced(index, replace(step, options=options)))

    def _place(self, index: int) -> int:
        if not 0 <= index < len(self.pipeline):
            raise WorkbenchError(f"there is no pass {index}; the passes are 0 to {len(self.pipeline) - 1}")
        return index

    # -- the PassContext

    def _on_mode(self, value: str) -> None:
        if value not in ("pipeline", "context"):
            raise UnknownName("mode", value, ("pipeline", "context"))
        self._choose(replace(self.choice, mode=value))

    def _on_opt_level(self, value: int) -> None:
        if value not in OPT_LEVELS:
            raise WorkbenchError(f"there is no opt level {value}; TVM's run from {OPT_LEVELS[0]} to {OPT_LEVELS[-1]}")
        self._choose(replace(self.choice, opt_level=value))

    def _on_toggle_context(self, name: str, enabled: bool) -> None:
        self._choose(self.choice.context_toggled(self._toggleable(name), enabled))

    def _on_setting(self, name: str, text: str) -> None:
        self._or_refuse("setting", name, lambda: self._set(name, text))

    def _set(self, name: str, text: str) -> None:
        from workbench.dialects.capture import refusal  # it loads TVM, which this module must not

        if name not in self._settings:
            raise UnknownName("PassContext config of this TVM", name, self._settings)
        options = {key: value for key, value in self.choice.options.items() if key != name}
        if text.strip():
            options[name] = typed.read(self._settings[name], text)
            if why := refusal(name, options[name]):
                raise WorkbenchError(f"TVM does not take {text.strip()[:60]}: {why}")
        self._choose(replace(self.choice, options=options))

    def _toggleable(self, name: str) -> PassInfo:
        names = self._dialect.passes.toggles()
        if name not in names:
            raise UnknownName("pass to switch in a PassContext", name, names)
        info = self._infos[name]
        if info.locked:
            raise WorkbenchError(f"{name} cannot be switched off: {info.locked}")
        return info

    # -- history

    def _on_undo(self) -> None:
        if self._history.undo():
            self._changed()

    def _on_redo(self) -> None:
        if self._history.redo():
            self._changed()

    def _or_refuse(self, form: str, field: str, change: Any) -> None:
        """Make a change; what is wrong with it is told beside the field, and nothing else changes."""
        try:
            change()
        except WorkbenchError as error:
            self._push(refused={"form": form, "field": field, "text": str(error)})
