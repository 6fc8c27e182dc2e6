"""Run an environment's own pip, and turn its failures into one sentence."""

from __future__ import annotations

import os
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
    command = [str(python), "-m", "pip", *arguments]
    quietly = [*command, "--quiet", "--disable-pip-version-check", "--no-input"]
    # With pip's own five retries for each package, a machine with no network waits minutes for the sentence below.
    environment = {"PIP_RETRIES": "1", **os.environ}
    result = subprocess.run(quietly, capture_output=True, text=True, env=environment, check=False)
    if result.returncode == 0:
        return
    if "No space left on device" in result.stderr:
        raise SetupError(f"pip could not {purpose} because the disk is full: free some space, then run this again.")
    errors = [line for line in result.stderr.splitlines() if line.lower().startswith("error:")]
    last = errors[-1][len("error:") :].strip().rstrip(".") if errors else f"exit status {result.returncode}"
    if "No matching distribution" in result.stderr:
        todo = "check the network and pip's index settings, then run this again; it goes on where it stopped"
    else:
        todo = f"to see all that pip says, run: {shlex.join(command)}"
    raise SetupError(f"pip could not {purpose} ({last}): {todo}.")
