from dataclasses import replace
from pathlib import Path

import pytest

from workbench.environments import SetupError, doctor
from workbench.environments.relay import Machine, check_disk, check_machine

DEBIAN = Machine("Linux", "x86_64", ("glibc", "2.36"), (3, 11))


@pytest.mark.parametrize("python", [(3, 10), (3, 11), (3, 12), (3, 13)])
def test_supported(python):
    check_machine(replace(DEBIAN, python=python))


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (replace(DEBIAN, system="Darwin", architecture="arm64", libc=("", "")), "this is Darwin arm64"),
        (replace(DEBIAN, system="Windows", architecture="AMD64", libc=("", "")), "this is Windows AMD64"),
        (replace(DEBIAN, architecture="aarch64"), "this is Linux aarch64"),
        (replace(DEBIAN, libc=("glibc", "2.31")), "this machine has glibc 2.31"),
        (replace(DEBIAN, libc=("", "")), "this machine has another C library"),
        (replace(DEBIAN, python=(3, 14)), "this is 3.14"),
        (replace(DEBIAN, python=(3, 9)), "this is 3.9"),
    ],
)
def test_unsupported_says_what_to_do_instead(machine, said):
    with pytest.raises(SetupError, match=said) as caught:
        check_machine(machine)
    assert "use Relax in the main environment" in str(caught.value)


def test_this_machine_is_read():
    here = Machine.here()
    assert here.system
    assert here.python >= (3, 10)


def test_disk_is_asked_where_the_folder_will_be(tmp_path):
    check_disk(tmp_path / "not" / "yet", 1)
    with pytest.raises(SetupError, match=r"has \d+ MB free and 1000000000000 MB are needed"):
        check_disk(tmp_path / "not" / "yet", 10**18)


def test_a_python_in_a_folder_of_another_name_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in (".venv", ".venv-relay", "download"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pyvenv.cfg").touch()
    monkeypatch.setattr("sys.prefix", str(tmp_path / ".venv"))
    monkeypatch.setattr("sys.executable", str(tmp_path / ".venv" / "bin" / "python"))
    monkeypatch.setattr(doctor, "environments", lambda kernels: {})
    assert list(doctor._pythons()) == [tmp_path / ".venv-relay" / "bin" / "python"]
