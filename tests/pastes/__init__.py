"""Pastes of the kinds that people post: IR with prose, code and damage around it."""

from pathlib import Path

HERE = Path(__file__).parent
SEEDS = HERE.parents[2] / "shared" / "seeds"
"""Posts that people really wrote, where that folder exists."""

MODULES = {"casts": 3, "transforms": 7, "attention": 1, "adds": 2}
"""Paste -> how many modules are in it."""


def paste(name: str) -> str:
    return (HERE / f"{name}.txt").read_text(encoding="utf-8")


def seeds() -> list[Path]:
    return sorted(SEEDS.glob("*.txt"))
