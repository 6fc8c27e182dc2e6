"""The types of messages and traits: the same in Python, in TypeScript, and in the widgets' traits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import workbench as wb

ROOT = Path(__file__).parents[2]
WIDGETS = (
    "GraphView", "CompareView", "CompilerView", "PassStepper", "FusionInspector", "PatternInspector", "MemoryView",
    "Predict", "TunePanel", "Workbench",
)  # fmt: skip


def test_the_generated_typescript_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "js/write_messages.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_at_most_one_class_of_ours_is_above_a_widget() -> None:
    """A widget reads as one class: its base, and the objects that it holds."""
    ours = {name: [each for each in getattr(wb, name).__mro__[1:] if _is_ours(each)] for name in WIDGETS}
    assert [name for name, above in ours.items() if len(above) != 1] == []


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("workbench.")
