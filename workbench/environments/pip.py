"""Run an environment's own pip, and turn its failures into one sentence."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from workbench.environments import SetupError


def run_pip(python: Path, arguments: list[str], *, purpose: str) -> None:
    """Run `python -m pip` quietly; `purpose` is what the error says could not be done.

    Raises
    ------
    SetupError
        With pip's last error line, and what to do.
    """
    command = [str(python), "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check", "--no-input"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return
    if "No space left on device" in result.stderr:
        raise SetupError(f"pip could not {purpose} because the disk is full: free some space, then run this again.")
    errors = [line for line in result.stderr.splitlines() if line.lower().startswith("error:")]
    last = errors[-1][len("error:") :].strip().rstrip(".") if errors else f"exit status {result.returncode}"
    if "No matching distribution" in last:
        todo = "check the network and pip's index settings, then run this again; it goes on where it stopped"
    else:
        todo = f"to see all that pip says, run: {shlex.join(command[:-3])}"
    raise SetupError(f"pip could not {purpose} ({last}): {todo}.")
