"""Run by the Python of an environment that has workbench installed: import it, draw a graph, and run its command.

The program needs nothing but that environment and a file with a model's text: `python installed.py casts.txt`.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path


def main(text: Path) -> None:
    """Raise an error if something does not work."""
    del sys.path[0]  # the folder of this file
    import workbench as wb

    assert Path(wb.__file__).is_relative_to(sysconfig.get_path("purelib")), wb.__file__
    assert Path(wb.__file__).with_name("py.typed").exists()
    missing = [name for name in wb.__all__ if not hasattr(wb, name)]
    assert not missing, missing
    with tempfile.TemporaryDirectory() as folder:
        graph = wb.load(text.read_text(encoding="utf-8")).graph
        wb.GraphView(graph).save(f"{folder}/view.html")
        command = [Path(sysconfig.get_path("scripts"), "tvm-workbench"), "show", text.absolute(), "-o", "shown.html"]
        subprocess.run(command, cwd=folder, check=True)
        for name in ("view.html", "shown.html"):
            page = Path(folder, name).read_text(encoding="utf-8")
            assert "<html" in page, name
            assert "cast" in page, name
    print(f"workbench {wb.__version__} on Python {sys.version.split()[0]}: {len(graph.nodes)} nodes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
