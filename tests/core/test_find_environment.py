"""The Pythons among which the environment of the other dialect is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.environments import doctor


def test_a_python_in_a_folder_of_another_name_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in (".venv", ".venv-relay", "download"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pyvenv.cfg").touch()
    monkeypatch.setattr("sys.prefix", str(tmp_path / ".venv"))
    monkeypatch.setattr("sys.executable", str(tmp_path / ".venv" / "bin" / "python"))
    monkeypatch.setattr(doctor, "environments", lambda kernels: {})
    assert list(doctor._pythons()) == [tmp_path / ".venv-relay" / "bin" / "python"]
