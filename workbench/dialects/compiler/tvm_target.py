"""Targets of this TVM, made from the canonical text of one (workbench/target_text.py)."""

from __future__ import annotations

import platform
import re
from functools import cache
from importlib.util import find_spec

import tvm

from workbench.errors import MeasureError
from workbench.target_text import is_triple_of, target_argument, target_fields, with_option, with_triple

_OF_RELAX = find_spec("tvm.relay") is None
_argument = target_argument if _OF_RELAX else str
"returns a text as this TVM accepts it: Relay's parses options itself"
_ARCHITECTURES = r"sm_\d{2,3}[a-z]?" if _OF_RELAX else r"sm_\d{2}"
"CUDA architectures that this TVM reads. Relay's TOPI does not read a suffix: it accepts sm_90 and fails on sm_90a"
_FORMS = {"llvm": ("llvm", "asm", "tir"), "c": ("c", "tir"), "cuda": ("cuda", "ptx", "llvm", "asm", "tir")}
"kind of a target -> forms of code"
_ERROR = re.compile(r"^.*?\b(?:[A-Z]\w*Error: )+")


def make_target(text: str) -> tvm.target.Target:
    """Make the target of a text. If TVM's default triple is not for this machine, the target's is.

    Raises MeasureError: TVM has no such kind, tag, option or architecture.
    """
    try:
        missing = missing_triple()
        made = tvm.target.Target(_argument(with_triple(text, missing) if missing else text))
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise MeasureError(
            f"{text!r} is not a target of this TVM: {_reason(error)}; write one like `llvm -mcpu=core-avx2`"
        ) from None
    architecture = str(made.attrs.get("arch", "")) if made.kind.name == "cuda" else ""
    if architecture and re.fullmatch(_ARCHITECTURES, architecture) is None:
        raise MeasureError(
            f"this TVM does not read the CUDA architecture {architecture} of {text!r}; write one like `cuda -arch=sm_90`"
        )
    return made


def tuning_target(text: str, cores: int) -> tvm.target.Target:
    """Return the target to tune for: MetaSchedule needs the number of cores."""
    fields = target_fields(text)
    wanted = fields["kind"] == "llvm" and "num-cores" not in fields
    return make_target(with_option(text, "num-cores", cores) if wanted else text)


def code_forms(target: str) -> tuple[str, ...]:
    """Return the forms of code that a build for a target has, the target's own first."""
    return _FORMS.get(make_target(target).kind.name, ("tir",))


@cache
def missing_triple() -> str:
    """Return the triple of this machine; "" if TVM compiles for it by default."""
    default = str(tvm.target.Target("llvm").attrs.get("mtriple", "")) or _triple("GetDefaultTargetTriple")
    here = (platform.machine(), platform.system())
    if not default or is_triple_of(default, *here):
        return ""
    process = _triple("GetProcessTriple")
    if is_triple_of(process, *here):
        return process
    ends = {"Linux": "unknown-linux-gnu", "Darwin": "apple-darwin", "Windows": "pc-windows-msvc"}
    return f"{here[0]}-{ends[here[1]]}" if here[1] in ends else ""


def _triple(name: str) -> str:
    function = tvm.get_global_func(f"tvm.codegen.llvm.{name}", allow_missing=True)
    return str(function()) if function else ""


def _reason(error: Exception) -> str:
    """Return TVM's last sentence, without its C++ stack and its arguments."""
    lines = [_ERROR.sub("", line.partition(". Target creation")[0]).strip() for line in str(error).splitlines()]
    return next((line for line in reversed(lines) if line), type(error).__name__)
