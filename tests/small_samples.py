"""Sizes of the samples that go through a whole pipeline within a test."""

from __future__ import annotations

from workbench.testing.corpus import SMALL

TWO_LAYERS = {**SMALL, "bert": {**SMALL["bert"], "layers": 2}}
