"""Pictures of the widgets of a notebook: Chromium opens the page that each one saved."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

from browser.lab import running_browser
from keeping import PAGES, outputs_with_pages
from PIL import Image
from playwright.sync_api import Browser

WIDTH = 1000
"of the window, in CSS pixels; views in a row share it"
MARGIN = 100
"around the graph's own height: the page's edge, the bar of tools"
SHARPNESS = 1.5
COLOURS = 96
SETTLED = 800
"milliseconds until a page has come to rest"


def draw(notebook: Any, folder: Path) -> None:
    """Put the picture of each view into its output."""
    with running_browser() as browser:
        for output in outputs_with_pages(notebook):
            pages = output.metadata.pop(PAGES)
            width = WIDTH // len(pages)
            image = _in_a_row([_picture(browser, folder / name, width, height + MARGIN) for name, height in pages])
            output.data["image/png"] = base64.b64encode(_png(image)).decode()
            # without a height the page that shows it keeps the proportions
            output.metadata["image/png"] = {"width": round(image.width / SHARPNESS)}


def _picture(browser: Browser, path: Path, width: int, height: int) -> Image.Image:
    page = browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=SHARPNESS)
    page.goto(path.as_uri())
    page.wait_for_selector(".wb[data-scenes], .wb-schedule-loops")
    page.wait_for_timeout(SETTLED)
    shot = page.locator(".wb").first.screenshot()
    page.close()
    return Image.open(io.BytesIO(shot)).convert("RGB")


def _in_a_row(images: list[Image.Image]) -> Image.Image:
    row = Image.new("RGB", (sum(each.width for each in images), max(each.height for each in images)), "white")
    left = 0
    for each in images:
        row.paste(each, (left, 0))
        left += each.width
    return row


def _png(image: Image.Image) -> bytes:
    """Return a PNG with a palette, a fourth of the size: it holds boxes and letters."""
    out = io.BytesIO()
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()
