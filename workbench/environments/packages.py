"""Run an environment's own pip, with failures as one sentence, and write wheels: zip files with a RECORD."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

from workbench.environments import SetupError
from workbench.quoting import shell
from workbench.temporary import new_folder


def checkout() -> Path | None:
    """Return the folder of the source checkout that this file is in, if it is in one."""
    folder = Path(__file__).parents[2]
    return folder if (folder / "hatch_build.py").exists() else None


def run_quietly(command: Sequence[str | Path], failed: str, remedy: str, cwd: Path | None = None) -> None:
    """Run a command, in an empty folder by default. Raises SetupError: it failed; with the last line that it printed, and the remedy."""
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd or new_folder())
    if result.returncode != 0:
        printed = (result.stdout + result.stderr).strip().splitlines() or [f"exit status {result.returncode}"]
        raise SetupError(f"{failed} ({printed[-1].rstrip('.')}): {remedy}.")


def run_pip(python: Path, arguments: list[str], *, purpose: str) -> None:
    """Run `python -m pip` quietly; the error names `purpose` as what failed.

    Raises SetupError: with pip's last error line, and the remedy.
    """
    command = [str(python), "-I", "-m", "pip", *arguments]
    quietly = [*command, "--quiet", "--disable-pip-version-check", "--no-input"]
    # With pip's own five retries for each package, a machine with no network waits minutes for the error below.
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
        todo = f"to see all that pip says, run: {shell(*command)}"
    raise SetupError(f"pip could not {purpose} ({last}): {todo}.")


def pack(tree: Path, wheel: Path) -> None:
    """Zip `tree` into a wheel, with the RECORD that pip requires."""
    record = f"{next(tree.glob('*.dist-info')).name}/RECORD"
    lines = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path in sorted(path for path in tree.rglob("*") if path.is_file()):
            name = path.relative_to(tree).as_posix()
            content = path.read_bytes()
            archive.writestr(name, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(content)}")
        archive.writestr(record, "\n".join([*lines, f"{record},,"]) + "\n")


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal, read in blocks (Python 3.10 has no hashlib.file_digest)."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def pack_installed(name: str, folder: Path) -> Path:
    """Make a wheel from the installed distribution `name`, so that another environment gets the same files."""
    distribution = importlib.metadata.distribution(name)
    tree = folder / "installed"
    made_by_pip = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}
    for file in distribution.files or []:
        # Scripts are outside site-packages (../../bin) and are made again from the entry points.
        if ".." in file.parts or "__pycache__" in file.parts or file.name in made_by_pip:
            continue
        target = tree / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(str(file.locate()), target)
    wheel = folder / f"{name.replace('-', '_')}-{distribution.version}-py3-none-any.whl"
    pack(tree, wheel)
    return wheel
