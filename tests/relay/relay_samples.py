"""The opt-3 pipeline, which the small samples go through in a test."""

from __future__ import annotations

from workbench.dialects.relay.passes.catalog import PRESETS


def opt_3() -> str:
    """The compiler's own passes at opt level 3."""
    return next(preset.pipeline for preset in PRESETS if preset.name == "opt 3")
