"""A file of AutoTVM's records, which may come from anybody: each line is bounded JSON, and a pickled record is not opened."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from workbench.errors import LoadError, reason
from workbench.graph.received import Damaged, contents, fields, parse
from workbench.wording import counted

LARGEST = 64 << 20
"bytes of a log"
_RECORD = {"input": list, "config": dict, "result": list}
_CONFIG = {"index": int, "entity": list}
_INPUT, _RESULT = (str, str, list, dict), (list, int, float, float)


@dataclass(frozen=True)
class Log:
    """The records of a log, and the lines that are not records."""

    lines: tuple[int, ...]
    "of each record, 1-based"
    texts: tuple[str, ...]
    "of each record, JSON"
    bad: tuple[tuple[int, str], ...]
    "line and reason"


def read_log(path: Path) -> Log:
    """Return the records of a log.

    Raises
    ------
    LoadError
        The file cannot be read, is too large, or has no record.
    """
    try:
        data = contents(path, LARGEST)
    except (OSError, ValueError) as error:
        raise LoadError(
            f"the log {path.name!r} cannot be read ({reason(error)}); give a file of AutoTVM's records of one model"
        ) from error
    good: list[tuple[int, str]] = []
    bad: list[tuple[int, str]] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip() or line.startswith(b"#"):
            continue
        try:
            good.append((number, _record(line)))
        except Damaged as error:
            bad.append((number, str(error)))
    if not good:
        why = f"; line {bad[0][0]}: {bad[0][1]}" if bad else ""
        raise LoadError(
            f"the log {path.name!r} has no record of AutoTVM{why}; give the file that a tuner's log_to_file wrote"
        )
    return Log(tuple(number for number, _ in good), tuple(text for _, text in good), tuple(bad))


def _record(line: bytes) -> str:
    """Return a record as JSON; raise Damaged if it is not one."""
    if b"\t" in line:
        raise Damaged("it may be a pickled record, which is not opened")
    found = parse(line)
    if isinstance(found, dict) and {"i", "r"} <= found.keys():
        raise Damaged("it is a record of AutoScheduler, which is not read")
    if isinstance(found, dict) and "v" in found:
        raise Damaged("it is of a version that TVM does not read anymore")
    kept = fields(found, _RECORD)
    fields(kept["config"], _CONFIG)
    for name, wanted in (("input", _INPUT), ("result", _RESULT)):
        if len(kept[name]) != len(wanted):
            raise Damaged(f"{name!r} has {counted(len(kept[name]), 'value')}, not {len(wanted)}")
        fields(dict(enumerate(kept[name])), dict(enumerate(wanted)))
    costs = kept["result"][0]
    fields(dict(enumerate(costs)), dict.fromkeys(range(max(1, len(costs))), float))
    for entity in kept["config"]["entity"]:
        if not isinstance(entity, list) or len(entity) != _ENTITY:
            raise Damaged("a knob of its configuration is not a list of three values")
    kept["config"].setdefault("code_hash", None)
    return json.dumps(kept)


_ENTITY = 3
"name, kind and value of a knob"
