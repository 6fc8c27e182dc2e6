"""LegalizeOps remembered: three quarters of counting a transformer, and toggling a pass behind it changes nothing of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import tvm

LEGALIZE = "LegalizeOps"
KEPT = 4
"legalized modules remembered; they share their constants with those they were made of"


@dataclass(frozen=True)
class Legalized:
    """What the passes up to LegalizeOps made."""

    source: tvm.IRModule
    "of what; held, so that its identity stands for it"
    settings: str
    "target and context, without what is switched off"
    disabled: frozenset[str]
    passes: frozenset[str]
    "that ran"
    result: tvm.IRModule


_known: list[Legalized] = []


def settings_of(target: str, config: Mapping[str, Any]) -> str:
    """Everything that the passes may depend on, but for which of them are switched off."""
    rest = {name: value for name, value in config.items() if name not in ("name", "disabled")}
    return json.dumps([target, rest], sort_keys=True, default=str)


def known(source: tvm.IRModule, settings: str, disabled: Iterable[str]) -> Legalized | None:
    """What was made of a module before with the same of these passes switched off."""
    off = frozenset(disabled)
    return next(
        (
            each
            for each in _known
            if each.source.same_as(source) and each.settings == settings and not (each.disabled ^ off) & each.passes
        ),
        None,
    )


def remember(made: Legalized) -> None:
    """Keep it, and let the oldest go."""
    _known.insert(0, made)
    del _known[KEPT:]
