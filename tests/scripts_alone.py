"""Running a script in a process without the workbench."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_START = "import runpy, sys; sys.modules['workbench'] = None; runpy.run_path(sys.argv[1])"
"makes `import workbench` fail; TVMScript reads its own file"


def run_alone(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a process that has TVM and no workbench."""
    path = folder / "issue.py"
    path.write_text(script, encoding="utf-8")
    command = [sys.executable, "-c", _START, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
