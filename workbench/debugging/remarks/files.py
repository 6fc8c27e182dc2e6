"""Files of remarks: the format is chosen by the suffix when writing, and by the first character when reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from workbench.debugging.remarks import json_lines, llvm_yaml
from workbench.debugging.remarks.remark import Remark
from workbench.errors import LoadError, WorkbenchError, reason, writing
from workbench.graph.received import Damaged, contents

FORMATS: dict[str, Callable[[Sequence[Remark]], Iterator[str]]] = {
    "yaml": llvm_yaml.lines,
    "jsonl": json_lines.lines,
}
"format -> the function that returns its lines"
MOST_BYTES = 1 << 26
"size of a file that is read"
_REMEDY = "write one with `tvm-workbench remarks MODEL -o FILE`"


def write(remarks: Sequence[Remark], path: Path, format: str | None = None) -> Path:
    """Write remarks to a file, and return its path.

    Raises
    ------
    WorkbenchError
        The file cannot be written, or there is no such format.
    """
    name = format or ("jsonl" if path.suffix == ".jsonl" else "yaml")
    if name not in FORMATS:
        raise WorkbenchError(f"there is no format {name!r} of remarks; give {' or '.join(FORMATS)}")
    with writing(path):
        path.write_bytes("".join(f"{line}\n" for line in FORMATS[name](remarks)).encode())
    return path


def read(path: Path) -> tuple[Remark, ...]:
    """Return the remarks of a file.

    Raises
    ------
    LoadError
        It cannot be read, or is not in one of the two formats as `write` makes them.
    """
    text = _text(path)
    try:
        return tuple(json_lines.read(text) if text.startswith("{") else llvm_yaml.read(text))
    except Damaged as damage:
        raise LoadError(f"{path} is not a file of remarks: {damage}; {_REMEDY}") from None


def _text(path: Path) -> str:
    try:
        return contents(path, MOST_BYTES).decode()
    except UnicodeDecodeError:
        raise LoadError(f"{path} is not a file of remarks: it is not UTF-8; {_REMEDY}") from None
    except (OSError, ValueError) as error:
        raise LoadError(f"{path} cannot be read: {reason(error)}; {_REMEDY}") from error
