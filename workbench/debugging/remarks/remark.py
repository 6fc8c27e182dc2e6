"""One remark: a decision of a pass, with its place and its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from workbench.graph.received import Damaged

PASSED, MISSED, ANALYSIS = KINDS = ("passed", "missed", "analysis")
"the pass did it; the pass did not do it, at a cost; a fact without a cost"
VERSION = 1
"of both file formats"
Key: TypeAlias = "tuple[str, str, str, tuple[str, ...]]"


@dataclass(frozen=True)
class Source:
    """A place in a source file."""

    file: str
    line: int
    "from 1"
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Remark:
    """A decision of a pass."""

    kind: str
    "one of KINDS"
    pass_name: str
    "the pass, without its options"
    name: str
    "the reason code, which stays the same between versions: `path_kind`, `identical`, ..."
    message: str
    "the decision and its reason in a sentence or two"
    function: str = "main"
    operators: tuple[str, ...] = ()
    "the operators that it is about, producers first, without the numbers that make names unique"
    nodes: tuple[int, ...] = ()
    "their ids in the graph before the pass"
    layer: str = ""
    "the layer of the first one, `encoder/layer_0`; empty if it is in none"
    source: Source | None = None
    "the line of source that the first one comes from, where the module has spans of files"
    bytes: int | None = None
    "bytes that the pass saves, or would save; None where they are not known"
    change: str = ""
    """for a missed one, the condition under which the pass would do it; empty if none is known. For fusions it is searched for the 64
    with the most bytes"""

    @property
    def key(self) -> Key:
        """Return the identity that survives edits elsewhere: it has no node ids and no numbers."""
        return self.pass_name, self.function, self.layer, self.operators

    @property
    def text(self) -> str:
        """Return the message with the change, as one text."""
        return f"{self.message} It would if {self.change}." if self.change else self.message


def check_head(version: int, stated: int, found: int) -> None:
    """Refuse a file of another version, and one that was cut off.

    Raises
    ------
    Damaged
        The version is another one, or the file does not have the stated number of remarks.
    """
    if version != VERSION:
        raise Damaged(f"it is of version {version}, and this tvm-workbench reads version {VERSION}")
    if stated != found:
        raise Damaged(f"it states {stated} remarks and has {found}")
