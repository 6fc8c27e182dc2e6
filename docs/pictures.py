"""The README's pictures: `python docs/pictures.py` in the main environment makes them again.

The Relay environment makes the views and saves them as pages; Chromium opens each in light and in dark. pictures.json has the hashes of
the bundle and of this script, and `python docs/pictures.py --check` fails if the pictures are older than either.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser.lab import running_browser  # noqa: E402  tests/ is no package of the project

MADE_FROM = {"bundle": "workbench/widgets/static/workbench.js", "script": "docs/pictures.py"}
HASHES = ROOT / "docs/pictures.json"
WIDTH = 1240
SHARPNESS = 1.5
MOST_BYTES = 200_000

VIEWS = """
import sys
import workbench as wb

folder = sys.argv[1]

def compare(sample, passes, **traits):
    steps = wb.trace(wb.samples.load(sample), passes).steps
    titles = ["before", "after " + " and ".join(step.name for step in steps)]
    return wb.CompareView(steps[0].before, steps[-1].after, titles=titles, **traits)

casts = wb.samples.load("parallel_cast")
bench = wb.Workbench(casts, "EliminateCommonSubexpr,FuseOps", height=640)
bench.wait()
bench.save(folder + "/workbench.html")
branches = wb.samples.load("branches")
rows, raced = wb.measure(branches, [0, 1, 2, 3], budget=2.0), wb.race(branches, 0, 3)
for name, theme in (("light", wb.plots.LIGHT), ("dark", wb.plots.DARK)):
    wb.plots.runtime(rows, theme=theme, races=[raced]).figure.savefig(f"{folder}/times-{name}.png", dpi=150)

compare("parallel_cast", "EliminateCommonSubexpr,FuseOps").save(folder + "/parallel_cast.html")
bert = compare("bert", "SimplifyInference,FuseOps", legend=True)
bert.collapsed = {
    side: [g.id for g in graph.groups if g.kind == "scope" and g.name != "layer_0"]
    for side, graph in zip(("before", "after"), bert.drawn, strict=True)
}
bert.save(folder + "/bert.html")

attention = wb.FusionInspector(wb.samples.load("attention"), height=620)
split = next(n.id for n in attention.fused.graph.nodes if n.op == "split")
below = attention.fused.graph.consumers[split][0][0]
attention.selection = [split, attention.fused.graph.consumers[below][0][0]]
attention.region = split
attention.wait()
attention.save(folder + "/fusion.html")
"""
PLOTS = ("times-light", "times-dark")
HEIGHTS = {"workbench": 860, "parallel_cast": 800, "bert": 760, "fusion": 720}


def main() -> None:
    """Write every picture beside this file, or check that none is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the pictures are older than the widgets")
    if parser.parse_args().check:
        sys.exit(stale())
    make()
    HASHES.write_text(json.dumps(hashes(), indent=2) + "\n", encoding="utf-8")


def hashes() -> dict[str, str]:
    """Return the hash of each file that the pictures are made from."""
    return {name: hashlib.sha256((ROOT / path).read_bytes()).hexdigest() for name, path in MADE_FROM.items()}


def stale() -> str | None:
    """Return the sentence about the files that are newer than the pictures; None if there are none."""
    stored = json.loads(HASHES.read_text(encoding="utf-8")) if HASHES.exists() else {}
    changed = [MADE_FROM[name] for name, value in hashes().items() if stored.get(name) != value]
    if not changed:
        return None
    return f"{', '.join(changed)} changed after the pictures were made; run `python docs/pictures.py`"


def make() -> None:
    """Make the pages and plots in the Relay environment, and the pictures from them."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(ROOT / ".venv-relay/bin/python"), "-c", VIEWS, folder], check=True, cwd=ROOT)
        for name in PLOTS:
            path = ROOT / "docs" / f"{name}.png"
            path.write_bytes((Path(folder) / f"{name}.png").read_bytes())
            small(path)
        with running_browser() as browser:
            for name, height in HEIGHTS.items():
                for scheme in ("light", "dark"):
                    page = browser.new_page(
                        viewport={"width": WIDTH, "height": height}, color_scheme=scheme, device_scale_factor=SHARPNESS
                    )
                    page.goto((Path(folder) / f"{name}.html").as_uri())
                    page.wait_for_selector(".wb[data-scenes]")
                    look(name, page)
                    path = ROOT / "docs" / f"{name}-{scheme}.png"
                    page.screenshot(path=path)
                    small(path)
                    page.close()


def look(name: str, page: Page) -> None:
    """Where each picture is taken from."""
    page.wait_for_timeout(600)
    if name == "bert":
        # to the first layer norm that SimplifyInference takes apart, a little further away
        page.locator("[data-testid='chip-removed']").click()
        page.wait_for_timeout(600)
        canvas = page.locator("canvas.wb-canvas").first
        canvas.hover(position={"x": 160, "y": 180})
        page.mouse.wheel(0, 90)
        page.mouse.down()
        page.mouse.move(240, 260, steps=5)
        page.mouse.up()
        canvas.focus()
        page.keyboard.press("Escape")
    page.mouse.move(0, 0)
    page.wait_for_timeout(600)


def small(path: Path) -> None:
    """Fewer colours. By coverage: the few pixels of an arrow count as much as the background."""
    from PIL import Image

    with Image.open(path) as image:
        image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=4, dither=Image.Dither.NONE).save(
            path, optimize=True
        )
    assert path.stat().st_size < MOST_BYTES, f"{path.name}: {path.stat().st_size:,} bytes"
    print(f"{path.relative_to(ROOT)}  {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
