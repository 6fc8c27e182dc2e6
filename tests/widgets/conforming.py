"""Compares a value with a type of page_types.py."""

from __future__ import annotations

from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from workbench.widgets.base import page_traits


def misfits_of(view: Any) -> list[str]:
    """Return the places at which the traits of a widget that the page reads are not of their types; {} is a value of any."""
    types = page_traits(type(view))
    return [
        each for name in types if (value := getattr(view, name)) != {} for each in misfits(value, types[name], name)
    ]


def misfits(value: Any, kind: Any, at: str = "") -> list[str]:
    """Return the places at which a value is not of a type."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        each = [misfits(value, one, at) for one in args]
        return [] if any(not found for found in each) else min(each, key=len)
    if origin is Literal:
        return [] if value in args else [f"{at} = {value!r}"]
    if is_typeddict(kind):
        return _misfits_of_dict(value, kind, at)
    if origin is tuple:
        right = isinstance(value, (list, tuple)) and len(value) == len(args)
        parts = [misfits(v, k, f"{at}[{i}]") for i, (v, k) in enumerate(zip(value, args, strict=True))] if right else []
        return [each for part in parts for each in part] if right else [f"{at} = {value!r}"]
    if origin is not None and not isinstance(value, dict if origin is dict else (list, tuple)):
        return [f"{at} = {value!r}"]
    if origin is dict:
        return [each for key, item in value.items() for each in misfits(item, args[1], f"{at}.{key}")]
    if origin is not None:
        return [each for i, item in enumerate(value) for each in misfits(item, args[0], f"{at}[{i}]")]
    wanted = (int, float) if kind is float else kind
    return [] if isinstance(value, wanted) and (kind is bool or not isinstance(value, bool)) else [f"{at} = {value!r}"]


def _misfits_of_dict(value: Any, kind: Any, at: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{at} = {value!r}"]
    hints = get_type_hints(kind)
    odd = [f"{at}.{key} is unknown" for key in value if key not in hints]
    lacks = [f"{at}.{key} is missing" for key in kind.__required_keys__ if key not in value]
    return (
        odd + lacks + [each for key in value if key in hints for each in misfits(value[key], hints[key], f"{at}.{key}")]
    )
