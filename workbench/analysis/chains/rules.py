"""Rules of TVM's SimplifyExpr, FoldConstant and similar passes: the number of operators they leave of a run.

Tried case by case on TVM 0.17 (src/relay/transforms/simplify_expr.cc): a rule applies only where the nodes it removes have no
other user; subtract, divide, relu, clip with clip, and squeeze have no rule.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.graph.model import Node

ADDS, MULTIPLIES, WITHOUT_RULE = ("add", "nn.bias_add"), ("multiply",), ("subtract", "divide")
ARITHMETIC = (*ADDS, *MULTIPLIES, *WITHOUT_RULE)
CASTS = ("cast", "clip")
_LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-(2**15), 2**15 - 1), "uint16": (0, 2**16 - 1)}
_LIMITS |= {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
_FLOATS = {"float16": 65504.0, "float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}
_EXACT = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"bits of an integer that a float of this type holds exactly"
_DTYPE = re.compile(r"(bool|int|uint|bfloat|float)(\d{0,4})")
_ORDER = {"int": 0, "bool": 1, "uint": 1, "float": 2, "bfloat": 3}


@dataclass(frozen=True)
class Step:
    """One operator of a run."""

    op: str
    dtype: str
    "of its result"
    shared: bool = False
    "whether a node other than the next operator uses its value"
    identity: bool = False
    "whether its constant is a scalar that changes nothing, such as + 0"
    low: float = 0.0
    high: float = 0.0
    "the limits of a clip"
    axes: tuple[int, ...] = ()
    "of a transpose"


def left(family: str, source: str, steps: Sequence[Step]) -> int:
    """Return the operators left of a run; `source` is the data type before it."""
    if family in CASTS:
        return casts_left(source, steps)[0] if are_casts(steps) else len(steps)
    counts = {"arithmetic": arithmetic_left, "transpose": transposes_left, "reshape": reshapes_left}
    return counts.get(family, len)(steps)


def are_casts(steps: Sequence[Step | Node]) -> bool:
    """Return whether the rules for casts apply to a run: casts, after at most one clip."""
    return all(step.op == "cast" for step in steps[1:]) and steps[0].op in CASTS


def arithmetic_left(steps: Sequence[Step]) -> int:
    """Return the operators left of arithmetic with constants: one multiply and one add of each stretch.

    >>> arithmetic_left([Step("add", "float32"), Step("multiply", "float32"), Step("add", "float32")])
    2
    """
    left, adds, multiplies = 0, 0, 0
    for step in steps:
        if step.op in WITHOUT_RULE and not step.identity:
            left, adds, multiplies = left + min(adds, 1) + min(multiplies, 1) + 1, 0, 0
            continue
        if not step.identity:
            adds += step.op in ADDS
            multiplies += step.op in MULTIPLIES
        if step.shared:
            left, adds, multiplies = left + min(adds, 1) + min(multiplies, 1), 0, 0
    return left + min(adds, 1) + min(multiplies, 1)


def canonical(run: Sequence[Node]) -> bool:
    """Return whether adds and multiplies (and their inverses) are in the shortest form: at most one of each."""
    adds = sum(node.op in (*ADDS, "subtract") for node in run)
    return adds <= 1 and len(run) - adds <= 1


def casts_left(source: str, steps: Sequence[Step]) -> tuple[int, bool]:
    """Return the operators left of a clip and casts, and whether they compute the same for every value.

    `source`: the type before the run.
    """
    left, safe, stretch, before = 0, True, [], source
    for step in steps:
        stretch.append(step)
        if step.shared or step is steps[-1]:
            count, kept = _stretch_of_casts(before, stretch)
            left, safe, stretch, before = left + count, safe and kept, [], step.dtype
    return left, safe


def _stretch_of_casts(source: str, steps: Sequence[Step]) -> tuple[int, bool]:
    """Return the operators left when SimplifyExpr's rules change nothing more, and whether values are kept."""
    clip = steps[0] if steps[0].op == "clip" else None
    kinds, safe, before = [step.dtype for step in steps if step.op == "cast"], True, None
    while before != (kinds, clip):
        before = (kinds, clip)
        kinds, kept = _shorter(source, kinds)
        safe = safe and kept
        if clip is not None and kinds:
            kinds, kept = _behind_clip(source, clip, kinds)
            safe = safe and kept
        if clip is not None and _covers(clip):
            clip = None
    return len(kinds) + (clip is not None), safe


def _shorter(source: str, kinds: list[str]) -> tuple[list[str], bool]:
    """Return consecutive casts without those to the current type, and with pairs joined from the last cast on."""
    kinds = [kind for kind, earlier in zip(kinds, [source, *kinds], strict=False) if kind != earlier]
    safe, place = True, len(kinds) - 1
    while place > 0:
        start = kinds[place - 2] if place > 1 else source
        if widens(start, kinds[place - 1]):
            safe = safe and keeps(start, kinds[place - 1])
            kinds[place - 1 : place + 1] = [] if kinds[place] == start else [kinds[place]]
        place -= 2
    return kinds, safe


def _behind_clip(source: str, clip: Step, kinds: list[str]) -> tuple[list[str], bool]:
    """Return the casts after a clip: casts to types that hold its range are dropped, the last type stays."""
    kept = [kind for kind in kinds if not _holds(kind, clip.low, clip.high)]
    end = kept[-1] if kept else clip.dtype
    left = kept if end == kinds[-1] else [*kept, kinds[-1]]
    if len(left) == len(kinds):
        return kinds, True
    gone = [kind for kind in kinds if _holds(kind, clip.low, clip.high)]
    if source in _EXACT:
        # a cast from float to integer rounds, unless the next cast to an integer does the same
        return left, not any(kind in _LIMITS for kind in gone) or bool(left and left[0] in _LIMITS)
    largest = max(abs(clip.low), abs(clip.high))
    return left, all(kind not in _EXACT or largest <= 2 ** _EXACT[kind] for kind in gone)


def _covers(clip: Step) -> bool:
    """Return whether the range of a clip covers every value of its type."""
    if clip.dtype not in _LIMITS:
        return False
    low, high = _LIMITS[clip.dtype]
    return clip.low <= low and high <= clip.high


def _holds(dtype: str, low: float, high: float) -> bool:
    if dtype in _LIMITS:
        return _LIMITS[dtype][0] <= low and high <= _LIMITS[dtype][1]
    return dtype in _FLOATS and -_FLOATS[dtype] <= low and high <= _FLOATS[dtype]


def widens(a: str, b: str) -> bool:
    """Return whether SimplifyExpr treats a cast from `a` to `b` as lossless."""
    first, other = _DTYPE.fullmatch(a), _DTYPE.fullmatch(b)
    if first is None or other is None:
        return False
    bits = [int(found.group(2) or 1) for found in (first, other)]
    if bits[0] > bits[1]:
        return False
    kinds = [found.group(1) for found in (first, other)]
    ranks = [_ORDER[kind] for kind in kinds]
    return ranks[0] == ranks[1] or ("bfloat" not in kinds and ranks[0] < ranks[1])


def keeps(a: str, b: str) -> bool:
    """Return whether `b` holds every value of `a`."""
    if a == b:
        return True
    if a in _LIMITS and b in _LIMITS:
        return _LIMITS[b][0] <= _LIMITS[a][0] and _LIMITS[a][1] <= _LIMITS[b][1]
    if a in _LIMITS and b in _EXACT:
        return max(abs(_LIMITS[a][0]), _LIMITS[a][1]) <= 2 ** _EXACT[b]
    if a in _EXACT and b in _EXACT:
        return (_EXACT[a] <= _EXACT[b] and a != "bfloat16") or (a == "bfloat16" and b in ("float32", "float64"))
    return a == "bool"


def transposes_left(steps: Sequence[Step]) -> int:
    """Return the transposes left of a run: at most one of each stretch, none where they cancel."""
    left, axes = 0, None
    if len({len(step.axes) for step in steps}) > 1:
        return len(steps)
    for step in steps:
        axes = step.axes if axes is None else tuple(axes[place] for place in step.axes)
        if step.shared or step is steps[-1]:
            left += axes != tuple(range(len(axes)))
            axes = None
    return left


def reshapes_left(steps: Sequence[Step]) -> int:
    """Return the reshapes left of a run: one of each stretch, also where they restore the first shape."""
    return 1 + sum(step.shared for step in steps[:-1]) if all(step.op == "reshape" for step in steps) else len(steps)
