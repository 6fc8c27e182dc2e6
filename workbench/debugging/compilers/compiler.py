"""A Compiler: one side of a comparison as the caller describes it, and the titles of two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from workbench.errors import UnknownName, WorkbenchError
from workbench.pipeline.config import Config
from workbench.pipeline.spec import Pipeline
from workbench.target_text import TargetLike, kind_of, target_text
from workbench.wording import counted

NAMES = {"relay": "Relay", "relax": "Relax"}
"dialect -> the compiler's name"
LABEL = 30
"most characters of a configuration's label in a title"


@dataclass(frozen=True)
class Compiler:
    """One side of `wb.compare_compilers`: a compiler, its version, its settings and its target.

    Examples
    --------
    >>> plain, apart = wb.Compiler("relax"), wb.Compiler("relax", config=wb.Config(disabled=("FuseOps",)))
    >>> apart.config.label
    'opt 3 -FuseOps'
    """

    dialect: str
    "`relay` or `relax`"
    python: str | Path | None = None
    "the Python of its environment; by default this environment if it has the dialect, else one that is found"
    config: Config = field(default_factory=Config)
    "the settings of its build; a pipeline runs first, and its result is compiled as it is"
    target: TargetLike | None = field(default=None, hash=False)
    "None for the targets of the call"
    title: str = ""
    "its name in tables and sentences; made from the differences between both sides if empty"

    @property
    def name(self) -> str:
        """The compiler's name."""
        return NAMES[self.dialect]


def checked(given: object) -> tuple[Compiler, Compiler]:
    """Return both compilers with their fields in one form.

    Raises
    ------
    WorkbenchError
        They are not two Compilers, or a field has no such value.
    """
    example = "give compilers=(wb.Compiler('relay'), wb.Compiler('relax'))"
    listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    known = [each for each in listed if isinstance(each, Compiler)]
    for each in listed:
        if each not in known:
            raise WorkbenchError(f"{each!r:.80} is not a Compiler; {example}")
    if len(known) != 2:
        raise WorkbenchError(f"compare_compilers compares two compilers, not {len(known)}; {example}")
    return _checked(known[0]), _checked(known[1])


def _checked(given: Compiler) -> Compiler:
    if given.dialect not in NAMES:
        raise UnknownName("compiler", str(given.dialect), NAMES)
    config = Config.of(given.config)
    if config.schedules:
        # a child process has another working directory
        config = replace(config, schedules=str(Path(config.schedules).expanduser().absolute()))
    target = None if given.target is None else target_text(given.target)
    return replace(given, python=_python(given.python), config=config, target=target)


def _python(given: str | Path | None) -> Path | None:
    if given is None:
        return None
    path = Path(given).expanduser()
    # a link is kept: a virtual environment's Python is one
    return path.absolute() if path.exists() else path


def titles(compilers: Sequence[Compiler], versions: Sequence[str], targets: Sequence[str]) -> list[str]:
    """Return a title for each of two compilers, made from the differences between both; the titles differ.

    Parameters
    ----------
    versions
        Of TVM; empty if unknown.

    Examples
    --------
    >>> both = wb.Compiler("relax"), wb.Compiler("relax", config=wb.Config(opt_level=0))
    >>> titles(both, ["0.25.0", "0.27.0"], ["llvm", "llvm"])
    ['Relax 0.25 opt 3', 'Relax 0.27 opt 0']
    >>> titles((both[0], both[0]), ["0.27.0", "0.27.0"], ["llvm", "cuda"])
    ['Relax llvm', 'Relax cuda']
    """
    names = [each.name for each in compilers]
    labels = [_brief(each.config) for each in compilers]
    kinds = [kind_of(each) for each in targets]
    parts = [
        names,
        _differing(list(map(_short, versions))) if names[0] == names[1] else ["", ""],
        _differing(labels),
        _differing(kinds if kinds[0] != kinds[1] else targets),
    ]
    made = [
        each.title or " ".join(filter(None, said))
        for each, said in zip(compilers, zip(*parts, strict=True), strict=True)
    ]
    return [f"{title} {letter}" for title, letter in zip(made, "AB", strict=True)] if made[0] == made[1] else made


def _differing(values: Sequence[str]) -> Sequence[str]:
    return values if values[0] != values[1] else ["", ""]


def _brief(config: Config) -> str:
    """Return the label of a configuration, or less of it if it is long."""
    label = config.label
    if len(label) <= LABEL:
        return label
    if config.pipeline and not config.name:
        return f"pipeline of {counted(len(Pipeline.parse(config.pipeline)), 'pass')}"
    return f"{label[: LABEL - 3]}..."


def _short(version: str) -> str:
    return ".".join(version.split(".")[:2])
