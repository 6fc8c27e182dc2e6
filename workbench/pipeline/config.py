"""A Config: the settings of a build of a workload."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect_of
from workbench.errors import MeasureError, UnknownName, check_level
from workbench.pipeline.spec import Pipeline

AS_IS = ("SimplifyExpr", "SimplifyExprPostAlterOp", "FoldConstant")
"Passes that run even at opt_level 0; without them the compiler takes a pipeline's result as it is."


@dataclass(frozen=True)
class Config:
    """Settings of a build: a PassContext for the compiler's own pipeline, or a pipeline of ours, with no further passes.

    Examples
    --------
    >>> wb.Config(opt_level=3, disabled=("FoldConstant",)).label
    'opt 3 -FoldConstant'
    """

    name: str = ""
    "label in plots and tables; made from the other fields if empty"
    opt_level: int = 3
    disabled: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict, hash=False)
    "PassContext config, `{'relay.FuseOps.max_depth': 4}`"
    pipeline: str = ""
    "text of a Pipeline; its result is compiled without further optimisation"
    schedules: str = ""
    "folder of a database of schedules, see wb.tune_schedules; a kernel without a schedule in it is compiled without one"

    def __post_init__(self) -> None:
        check_level(self.opt_level)

    @property
    def label(self) -> str:
        """A short name with the differences from the compiler's default."""
        if self.name:
            return self.name
        tuned = ["+ tuned schedules"] if self.schedules else []
        if self.pipeline:
            return " ".join([self.pipeline, *tuned])
        parts = [
            f"opt {self.opt_level}",
            *(f"-{name}" for name in self.disabled),
            *(f"+{name}" for name in self.required),
        ]
        return " ".join(parts + [f"{key.rsplit('.', 1)[-1]}={value}" for key, value in self.options.items()] + tuned)

    @property
    def whole(self) -> str:
        """All settings in words, for where the label is short."""
        if self.pipeline:
            return f"{self.pipeline}, opt level {self.opt_level}{', tuned schedules' if self.schedules else ''}"
        return replace(self, name="").label

    def same_build(self) -> Config:
        """Return the configuration without its name, in a normal form: two that make the same build are equal."""
        running = Pipeline(step for step in Pipeline.parse(self.pipeline) if step.enabled) if self.pipeline else ""
        switched = {"disabled": tuple(sorted(self.disabled)), "required": tuple(sorted(self.required))}
        # an empty pipeline would mean the compiler's own, so a pipeline whose passes are all off is kept
        return replace(self, name="", pipeline=str(running) or self.pipeline, **switched)

    def context(self) -> Config:
        """Return the PassContext of this configuration."""
        if not self.pipeline:
            return self
        return replace(self, opt_level=0, disabled=AS_IS, required=(), pipeline="")

    def to_data(self) -> dict[str, object]:
        """Return the fields as plain JSON values."""
        return asdict(self)

    @staticmethod
    def of(given: object) -> Config:
        """Return a Config from any of its forms: an opt level, a pipeline or its text, a dict of fields, a Config.

        Raises
        ------
        MeasureError
            It is none of these.
        """
        if isinstance(given, Config):
            return given
        if isinstance(given, bool) or not isinstance(given, (int, str, Mapping, Pipeline)):
            raise MeasureError(
                f"a {type(given).__name__} is not a configuration; give an opt level, a pipeline, or a dict of Config's fields"
            )
        if isinstance(given, int):
            return Config(opt_level=given)
        if isinstance(given, Mapping):
            return _from_fields(given)
        return Config(pipeline=str(given))


def context_of(
    opt_level: int, disabled: Iterable[str], required: Iterable[str], config: Config | Mapping[str, object] | None
) -> Config:
    """Return the Config of the arguments of `wb.kernels` and `wb.count`, which take a whole Config instead of the options.

    Raises MeasureError: it has a pipeline, which must run first.
    """
    if not isinstance(config, Config):
        given = {"opt_level": opt_level, "disabled": disabled, "required": required, "options": config or {}}
        return Config.of(given)
    if config.pipeline:
        raise MeasureError(
            "this configuration has a pipeline, which changes the workload before anything is counted; "
            "wb.measure(w, [config]) runs it and counts, or give the workload that wb.trace makes of it"
        )
    return config


def _from_fields(fields: Mapping[str, object]) -> Config:
    known = Config.__dataclass_fields__
    unknown = [key for key in fields if key not in known]
    if unknown:
        raise MeasureError(f"a configuration has no field {unknown[0]!r}; it has {', '.join(known)}")
    made = {key: _tuple(value) if key in ("disabled", "required") else value for key, value in fields.items()}
    if isinstance(made.get("pipeline"), Pipeline):
        made["pipeline"] = str(made["pipeline"])
    for key, value in made.items():
        kind, words = _TYPES[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise MeasureError(f"{key} of a configuration is {fields[key]!r}; give {words}")
    return replace(Config(), **made)


_TYPES = {
    "name": (str, "a string"),
    "opt_level": (int, "a whole number"),
    "disabled": (tuple, "names of passes"),
    "required": (tuple, "names of passes"),
    "options": (Mapping, "a dict of PassContext config"),
    "pipeline": (str, "a Pipeline or its text"),
    "schedules": (str, "the folder of a database of schedules"),
}
"the type of each field, and in words"


def _tuple(names: object) -> object:
    """Return names as a tuple; anything else as it is, for the caller to refuse."""
    if isinstance(names, str):
        return (names,)
    listed = tuple(names) if isinstance(names, Iterable) else names
    return listed if isinstance(listed, tuple) and all(isinstance(name, str) for name in listed) else names


# Passes that the compilers run, but without a public constructor of this name.
_INNER = (
    "BackwardFoldScaleAxis",
    "ForwardFoldScaleAxis",
    "SimplifyExprPostAlterOp",
    "FlattenAtrousConv",
    "SplitArgs",
    "LabelOps",
    "EtaExpand",
    "FlattenNestedTuples",
)
KERNEL_PASSES = ("tir.", "tirx.", "s_tir.")
"what the names of passes on PrimFuncs begin with"


def check_config(workload: Workload, config: Config) -> None:
    """Refuse a configuration that would not have the requested effect.

    Raises UnknownName: TVM has no pass of a name, which it would ignore silently. Raises MeasureError: it switches
    off a pass that the compiler needs.
    """
    catalog = {info.name: info for info in dialect_of(workload).passes.catalog()}
    for name in (*config.disabled, *config.required):
        if name not in catalog and name not in _INNER and not name.startswith(KERNEL_PASSES):
            raise UnknownName(f"{workload.dialect.capitalize()} pass", name, [*catalog, *_INNER])
    for name in config.disabled:
        if name in catalog and catalog[name].locked:
            raise MeasureError(f"{name} cannot be switched off: {catalog[name].locked}")


def has_pass(workload: Workload, name: str) -> bool:
    """Return whether this dialect has a pass of that name that can be switched off."""
    try:
        check_config(workload, Config(disabled=(name,)))
    except (UnknownName, MeasureError):
        return False
    return True
