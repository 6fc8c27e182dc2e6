"""Samples small enough to go through the whole opt-3 pipeline in a test."""

from __future__ import annotations

from workbench.dialects.relay.presets import PRESETS

SMALL = {
    "attention": {"seq": 8},
    "bert": {"layers": 1, "hidden": 32, "seq": 8, "heads": 2},
    "branches": {"image": 8},
    "chain": {},
    "conv_bias_batch_norm": {"image": 8, "blocks": 2},
    "mlp": {},
    "parallel_cast": {},
    "resnet18": {"width": 4},
}


def opt_3() -> str:
    """The compiler's own passes at opt level 3."""
    return next(preset.pipeline for preset in PRESETS if preset.name == "opt 3")
