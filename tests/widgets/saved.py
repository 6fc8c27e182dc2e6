"""Reads a saved page as the page does."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any


def saved_values(path: Path) -> dict[str, Any]:
    """The values of the page's model."""
    found = re.search(r'<script type="application/json" id="traits">(.*?)</script>', path.read_text(encoding="utf-8"))
    assert found
    text = found[1]
    return json.loads(text if text.startswith("{") else gzip.decompress(b64decode(text)))


def saved_answers(path: Path) -> dict[str, Any]:
    """Every answer in the page of a PassStepper, by request."""
    saved = saved_values(path)["saved_trace"]
    chunks = [json.loads(gzip.decompress(b64decode(chunk))) for chunk in saved["chunks"]]
    assert saved["places"] == {key: n for n, chunk in enumerate(chunks) for key in chunk}
    return {key: answer for chunk in chunks for key, answer in chunk.items()}
