"""The pages of Netron and Model Explorer: their wheels from PyPI, served on this machine."""

from __future__ import annotations

import gzip
import http.server
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CACHE = Path(__file__).parents[1] / ".cache/peers"
SCRIPTS = (".js", ".css", ".html")


def unpacked(package: str) -> Path:
    """Return the folder with the contents of the newest wheel of a package, without what it depends on."""
    folder = CACHE / package
    if not any(folder.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", folder]
        subprocess.run([*map(str, command), package], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    contents = folder / wheel.stem
    if not contents.exists():
        zipfile.ZipFile(wheel).extractall(contents)
    return contents


@contextmanager
def served(*folders: Path) -> Iterator[tuple[str, dict[str, int]]]:
    """Serve the files of some folders; yield the address, and the scripts, styles and pages asked for: bytes with gzip."""
    sent: dict[str, int] = {}

    class Handler(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            name = path.split("?")[0].lstrip("/")
            file = next((folder / name for folder in folders if (folder / name).is_file()), folders[0] / name)
            if file.suffix in SCRIPTS and file.is_file():
                sent[name] = len(gzip.compress(file.read_bytes(), 9))
            return str(file)

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", sent
    finally:
        server.shutdown()
        server.server_close()
