"""Sizes of the samples that go through a whole pipeline within a test."""

from __future__ import annotations

from typing import Any

SMALL: dict[str, dict[str, Any]] = {
    "attention": {"seq": 8},
    "bert": {"layers": 1, "hidden": 32, "seq": 8, "heads": 2},
    "branches": {"image": 8},
    "chain": {},
    "conv_bias_batch_norm": {"image": 8, "blocks": 2},
    "mlp": {},
    "parallel_cast": {},
    "resnet18": {"width": 4},
}
TWO_LAYERS = {**SMALL, "bert": {**SMALL["bert"], "layers": 2}}
