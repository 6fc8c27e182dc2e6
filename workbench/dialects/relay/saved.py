"""JSON as `tvm.ir.save_json` of a TVM with Relay writes it, accepted if it holds data only.

TVM's JSON can also name functions that type inference calls, and hold compiled modules.
"""

from __future__ import annotations

import json
import re
from typing import Any

from workbench.errors import LoadError

_DATA = re.compile(
    r"Array|Map|DictAttrs|IRModule|Source(Map|Name)?|(Sequential)?Span|Global(Type)?Var|Type(Var|Data|Call)|Constructor"
    r"|(Func|Tuple|Incomplete|Prim|Pointer)Type|Op|(Int|Float)Imm|Range|VirtualDevice|Target|TargetKind"
    r"|runtime\.(String|ShapeTuple|Box(Bool|Int|Float))|relay\.attrs\.(?!DebugAttrs)\w+|(relay|tir)\.\w+"
)
_METADATA = re.compile(r"#\[\s*metadata\s*\]")


def checked(text: str) -> str:
    """Return the JSON at the start of a text, written again from the checked values.

    Raises
    ------
    LoadError
        It is not TVM's JSON, or holds something other than data.
    """
    try:
        # TVM does not escape control characters in names
        graph, _ = json.JSONDecoder(strict=False).raw_decode(text.lstrip())
        for node in graph["nodes"]:
            _check(node)
        # not the text itself: TVM's reader may read it differently. It does not support \uXXXX
        return json.dumps(graph, ensure_ascii=False)
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        raise LoadError("this is not JSON that tvm.ir.save_json wrote; save the whole module with it") from None


def with_checked_metadata(text: str) -> str:
    """Return a Relay text whose `#[metadata]`, which TVM's parser reads as JSON, was checked."""
    mark = _METADATA.search(text)
    return text if mark is None else f"{text[: mark.start()]}#[metadata]\n{checked(text[mark.end() :])}"


def _check(node: Any) -> None:
    kind = node["type_key"]
    if kind and not _DATA.fullmatch(kind):
        raise LoadError(f"this JSON holds a {kind[:80]}, which is code and not data; save the module without it")
