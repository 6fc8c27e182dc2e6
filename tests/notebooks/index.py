"""The small pictures of notebooks/README.md: what each notebook shows, cut to one size.

python tests/notebooks/index.py              those of the notebooks that are kept without outputs
python tests/notebooks/index.py 00_quickstart  these; store.py makes the others when it runs a notebook
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from running import FOLDER, is_stored, picture_of, run

SIZE = (720, 480)
"pixels: twice what the index shows them at"
SCALE = 0.62
"at most, of a picture that is twice as sharp as the screen"
COLOURS = 64
PICTURES = FOLDER / "pictures"


def small(png: bytes) -> bytes:
    """The whole width of a picture, on white, and of its height the part with most colour: there something changed."""
    whole = Image.open(io.BytesIO(png)).convert("RGB")
    scale = min(SCALE, SIZE[0] / whole.width)
    shown = whole.resize((round(whole.width * scale), round(whole.height * scale)), Image.Resampling.LANCZOS)
    top = _most_colour(shown) if shown.height > SIZE[1] else (shown.height - SIZE[1]) // 2
    page = Image.new("RGB", SIZE, "white")
    page.paste(shown, ((SIZE[0] - shown.width) // 2, -top))
    out = io.BytesIO()
    page.quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def _most_colour(image: Image.Image) -> int:
    """Where a window of the index's height has most of the strong colours; the top where there are none."""
    strong = image.convert("HSV").getchannel("S").point(lambda value: 255 if value > 90 else 0)
    rows = [sum(strong.crop((0, y, strong.width, y + 1)).tobytes()) for y in range(strong.height)]
    places = range(0, image.height - SIZE[1], 8)
    return max(places, key=lambda y: (sum(rows[y : y + SIZE[1]]), -y), default=0)


def keep(name: str, png: bytes) -> None:
    """Write a notebook's small picture."""
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / f"{name}.png").write_bytes(small(png))


def main(names: list[str]) -> None:
    """Run notebooks for their pictures alone."""
    paths = [FOLDER / f"{Path(name).stem}.ipynb" for name in names]
    for path in paths or [path for path in sorted(FOLDER.glob("*.ipynb")) if not is_stored(path)]:
        with tempfile.TemporaryDirectory() as folder:
            keep(path.stem, picture_of(run(path, Path(folder), keep=True)))
        print(f"{path.stem}.png: {(PICTURES / f'{path.stem}.png').stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
