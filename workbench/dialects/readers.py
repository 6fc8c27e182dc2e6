"""Readers of programs: `load` tries READERS in order, and the first that accepts a source reads it.

A reader decides by the object or the file, without importing TVM.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.dialects.base import GraphOnly, Shapes, Workload, choose_entry, of_each_entry, only_entry
from workbench.dialects.facets import Converter, Reader, Source
from workbench.dialects.importers.converting import Inputs
from workbench.dialects.importers.files import LONGEST, converted
from workbench.dialects.importers.files import READERS as IMPORTED_READERS
from workbench.dialects.importers.files import SUFFIXES as IMPORTED
from workbench.dialects.registry import WHERE, dialect_here, installed
from workbench.errors import LoadError, ParseError, instead, reason
from workbench.graph.received import contents

Params = Mapping[str, Any] | Iterable[tuple[str, Any]]
"name -> array, or pairs as relax.frontend.nn's export_tvm gives them"
PASTES = (".relay", ".txt", ".log")
"files of text that may hold several modules, and other text"
TEXTS = (*PASTES, ".json", ".py")
"files whose programs take sizes by `shapes=`; the others take `inputs=`"
SUFFIXES = (*TEXTS, *IMPORTED)
_LOGS = (("AutoTVM", '{"input": [', '"config": {'), ("the auto-scheduler (Ansor)", '{"i": [[', '"r": ['))
"searches for schedules, each with the beginning and a part of every line of its log"

_HALF = re.compile("[\ud800-\udfff]")
"surrogates that decoding with errors left in a string; TVM accepts none"


class Here:
    """A Converter that makes TVM's objects in this process."""

    def program(self, text: str, is_json: bool, name: str) -> Workload:
        return dialect_here().frontend.read(text, is_json, name)

    def relay(self, text: str, params: Mapping[str, Any], name: str) -> list[Workload]:
        from workbench.dialects.relay.paste.reading import read_all
        from workbench.dialects.relay.paste.workload import workloads_of

        return workloads_of(read_all(text), params, name)

    def model(self, format: str, source: Any, name: str, inputs: Inputs) -> Workload:
        return converted(format, dialect_here().name, source, name, inputs)


HERE = Here()


def load(
    source: Any,
    params: Params | str | Path | None = None,
    *,
    name: str | None = None,
    inputs: Inputs = None,
    entry: str | None = None,
    shapes: Shapes | None = None,
    converter: Converter = HERE,
) -> Workload:
    """Make a Workload of a program in any form. `wb.load` documents the accepted forms (`pipeline/load.py`).

    `converter`: makes TVM's objects of texts and files. Raises LoadError: the source is none of these, or cannot be
    read; the message describes what to do.
    """
    if isinstance(source, Workload):
        return choose_entry(source, entry, shapes)
    external: Sequence[Any] = ()
    if isinstance(source, tuple) and len(source) == 3 and isinstance(source[2], list):
        *source, external = source
        source = tuple(source)
    if isinstance(source, tuple) and len(source) == 2:
        source, params = source
    if isinstance(params, (str, Path)):
        from workbench.dialects.importers.params import read_params

        params = read_params(Path(params))
    given = None if params is None else by_name(params)
    thing = Source(source, as_path(source), given, name, inputs, converter)
    loaded = next(reader for reader in READERS if reader.accepts(thing)).read(thing)
    if external:
        loaded.notes.append(
            f"{len(external)} external modules of the export are left out: their code cannot be built here"
        )
    if entry is None and not isinstance(loaded, GraphOnly):
        loaded = only_entry(loaded)
    return choose_entry(loaded, entry, shapes)


def by_name(params: Params) -> dict[str, Any]:
    """Return parameters by their names; raises LoadError if they have none."""
    try:
        found = dict(params)
    except (TypeError, ValueError):
        found = {None: params}
    if not all(isinstance(name, str) for name in found):
        raise LoadError("the parameters have no names; give arrays by name, params={'weight': array}")
    return {str(name): value for name, value in found.items()}


class Text:
    """Text that TVM printed or JSON that it wrote, as a string or in a file."""

    def accepts(self, source: Source) -> bool:
        return source.path is not None or isinstance(source.given, str)

    def read(self, source: Source) -> Workload:
        _refuse_inputs(source)
        path = source.path
        text, name = (source.given, "text") if path is None else (file_text(path), path.stem)
        return _read(path, text, source.params, source.name or name, source.converter)[0]


class Module:
    """An object of TVM's: an IRModule or a function."""

    def accepts(self, source: Source) -> bool:  # noqa: ARG002  the last reader; it refuses in its own words
        return True

    def read(self, source: Source) -> Workload:
        _refuse_inputs(source)
        if "tvm" in sys.modules:
            workload = dialect_here().frontend.load(source.given, source.params, source.name or "main")
            if workload is not None:
                return workload
        if type(source.given).__name__ == "Trace":
            raise LoadError(f"a Trace is not a program; {instead(source.given)}")
        raise LoadError(
            f"wb.load takes an IRModule, a Function, (module, params), text, or a path ending in {', '.join(SUFFIXES)}, not {type(source.given).__name__}"
        )


READERS: tuple[Reader, ...] = (*IMPORTED_READERS, Text(), Module())
"in the order in which they are tried; the first that accepts a source reads it"


def _refuse_inputs(source: Source) -> None:
    if source.inputs:
        raise LoadError(
            "inputs are shapes that a model of another framework leaves open; give the sizes of this program with shapes="
        )


def load_all(
    source: Any, params: Mapping[str, Any] | None = None, *, name: str | None = None, converter: Converter = HERE
) -> list[Workload]:
    """Make a Workload of each module that a text holds, in order: `wb.CompareView(*wb.load_all(before_and_after))`.

    Accepts and raises the same as `load`. A module that has no `main` and several functions to run gives one Workload for each of them.
    """
    params = None if params is None else by_name(params)
    path = as_path(source)
    if path is not None and path.suffix in PASTES:
        loaded = _read(path, file_text(path), params, name or path.stem, converter)
    elif path is None and isinstance(source, str) and not source.lstrip().startswith("{"):
        loaded = _read(None, source, params, name or "text", converter)
    else:
        loaded = [load(source, params, name=name, converter=converter)]
    return [each for workload in loaded for each in of_each_entry(workload)]


def _read(
    path: Path | None, text: str, params: Mapping[str, Any] | None, name: str, converter: Converter
) -> list[Workload]:
    """Return a Workload of each module of a text. Relay's text needs no TVM, so any environment reads it."""
    from workbench.dialects.relax.parser.repair import BEGINS
    from workbench.dialects.relax.parser.source import split
    from workbench.dialects.relay.paste.reading import is_relay, is_script
    from workbench.dialects.relay.paste.workload import numbered

    half = _HALF.search(text)
    if half is not None:
        raise ParseError("characters that UTF-8 has, not half of one", text, half.start())
    line = text.lstrip().partition("\n")[0]
    for search, begins, part in _LOGS:
        if line.startswith(begins) and part in line:
            raise LoadError(
                f"this is a log of {search}: schedules that a search found, and no program; load the program that it is for"
            )
    if not text.strip():
        raise LoadError(f"{path.name if path else 'the text'} is empty; give what TVM printed, or a path to it")
    is_json = text.lstrip().startswith("{") if path is None else path.suffix == ".json"
    if not is_json and installed() == "relay" and is_script(text):
        raise LoadError(f"this is TVMScript, so Relax, and TVM here runs relay; use {WHERE['relax']}")
    if not is_json and (is_relay(text) or installed() == "relay"):
        return (converter if installed() == "relay" else HERE).relay(text, params or {}, name)
    here = dialect_here()
    if not is_json and not BEGINS.search(text):
        raise LoadError(
            f"there is no program in {path.name if path else 'this text'}; give Relay text (`def @main(...)`, `%0 = ...`) or TVMScript (a class under @I.ir_module)"
        )
    pieces = [text] if is_json else split(text)
    found: list[Workload] = []
    for number, piece in enumerate(pieces, 1):
        workload = converter.program(piece, is_json, f"{name} {number}" if len(pieces) > 1 else name)
        given = here.frontend.load(workload.module, params, workload.name) if params else None
        if given is not None:
            given.notes, given.trusted = workload.notes, workload.trusted
        found.append(given or workload)
    return numbered(found)


def as_path(source: Any) -> Path | None:
    """Return the path that `source` names; a string that is empty or has a line break or a bracket is text."""
    if isinstance(source, Path):
        if "\0" in str(source):
            raise LoadError(f"a path cannot hold a NUL character: {str(source)!r:.80}")
        return source
    if isinstance(source, str) and source.strip() and len(source) < 4096 and not set(source) & set("\n({\0"):
        return Path(source)
    return None


def file_text(path: Path) -> str:
    """Return the text in a file; raises LoadError if it is not a text of a known kind or cannot be read."""
    if path.suffix == ".wbtrace":
        raise LoadError(
            f"{path.name:.80} is a saved trace, not a program; wb.Trace.open reads it, `tvm-workbench show` draws it"
        )
    if path.suffix not in SUFFIXES:
        kind = "is a folder" if os.path.isdir(path) else "is not a file that can be loaded"  # noqa: PTH112  it takes a name of any length
        raise LoadError(f"{str(path)[-80:]} {kind}; give a file ending in {', '.join(SUFFIXES)}")
    try:
        text = contents(path, LONGEST).decode()
    except UnicodeDecodeError:
        text = "\0"
    except (OSError, ValueError) as error:  # a ValueError: the name holds a NUL
        raise LoadError(f"{path!s:.200} cannot be read: {reason(error)}; check the path") from None
    if "\0" in text:
        raise LoadError(f"{path.name} is not text; give the text or JSON that TVM wrote")
    return text.replace("\r\n", "\n").replace("\r", "\n")
