"""JSON as `tvm.ir.save_json` writes it, loaded if it holds data only.

TVM's JSON can also hold compiled code, which loading links into the process, and names of functions that TVM calls later.
"""

from __future__ import annotations

import json
import re
from typing import Any

import tvm

from workbench.errors import LoadError, first_line

_DATA = re.compile(
    r"None|bool|int|float|DataType|Device|ffi\.(SmallStr|SmallBytes|String|Bytes|Shape|Tensor|Array|Map|List|Dict|BigInt)"
    r"|runtime\.(String|NDArray|Tensor|ShapeTuple|BoxBool|BoxInt|BoxFloat|disco\.\w+)"
    r"|(ir|relax|tir|tirx|s_tir|prim|sym|arith|target)\.[\w.]+|node\.\w+|\w+Node"
)
_EXPRESSION: type = getattr(tvm.ir, "Expr", None) or tvm.ir.RelaxExpr
_INFERENCE = re.compile(r"tvm\.relax\.(struct_info|type)\.infer_\w+")


def load_json(text: str) -> Any:
    """Return the object that a JSON text describes.

    Raises
    ------
    LoadError
        The text is not TVM's JSON, or holds something other than data.
    """
    try:
        graph = json.loads(text)
        for node in graph["nodes"]:
            _check(node)
        # not the text itself: TVM's parser may read it differently
        return tvm.ir.load_json(json.dumps(graph))
    except LoadError:
        raise
    except (ValueError, AttributeError, KeyError, TypeError, IndexError, RuntimeError) as error:
        raise LoadError(
            f"this is not a module that tvm.ir.save_json of TVM {tvm.__version__} wrote: {first_line(error)}"
        ) from None


def load_metadata(text: str) -> dict[str, list[Any]]:
    """Return the constants of a script, lists by kind."""
    kinds = load_json(text)
    try:
        constants = {str(kind): list(entries) for kind, entries in kinds.items()}
    except (AttributeError, TypeError):
        raise LoadError("the metadata of this text is not a table of constants; print it again") from None
    for kind, entries in constants.items():
        # TVM's parser evaluates a string in a shape
        if not all(isinstance(entry, (_EXPRESSION, tvm.runtime.Tensor)) for entry in entries):
            raise LoadError(f"the metadata of this text holds {kind}, and only constants are read; print it without")
    return constants


def _check(node: Any) -> None:
    kind = node.get("type", node.get("type_key"))
    if not isinstance(kind, str) or (kind and not _DATA.fullmatch(kind)):
        raise LoadError(f"this file holds a {kind}, which is code and not data; save the module without it")
    if kind == "ir.EnvFunc" and not _INFERENCE.fullmatch(str(node.get("data"))):
        raise LoadError(f"this file names the function {node.get('data')}, which TVM would call; save it without")
