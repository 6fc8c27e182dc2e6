"""How the wheel is got and made, and what is said when it can not be."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from workbench.environments import SetupError, repack
from workbench.environments.packages import file_sha256, pack, pack_installed
from workbench.environments.repack import compile_shared, find_compiler

PYTHON = Path(sys.executable)
SOURCE_WHEEL = "bitblas-0.1.0.post1-py3-none-manylinux1_x86_64.whl"
INSIDE = "bitblas/3rdparty/tvm/"


@pytest.fixture
def offline(tmp_path, monkeypatch) -> Path:
    """Return a folder that is all pip can see: it asks no index."""
    folder = tmp_path / "links"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def without_programs(monkeypatch, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("PATH", str(folder))


def test_no_network(offline, tmp_path):
    with pytest.raises(SetupError, match=r"pip could not download bitblas.*check the network"):
        repack.download(PYTHON, tmp_path)


def test_another_file_under_the_same_name_is_refused(offline, tmp_path):
    tree = tmp_path / "tree"
    info = tree / "bitblas-0.1.0.post1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bitblas\nVersion: 0.1.0.post1\n")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-manylinux1_x86_64\n")
    pack(tree, offline / SOURCE_WHEEL)
    with pytest.raises(SetupError, match=r"has the sha256 .* so it was not used"):
        repack.download(PYTHON, tmp_path)


def test_a_failure_leaves_nothing_in_the_cache(offline, tmp_path, monkeypatch):
    monkeypatch.setenv("TVM_WORKBENCH_CACHE", str(tmp_path / "cache"))
    with pytest.raises(SetupError):
        repack.make_wheel(PYTHON, lambda line: None)
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_a_wheel_in_the_cache_is_used_as_it_is(offline, tmp_path, monkeypatch):
    monkeypatch.setenv("TVM_WORKBENCH_CACHE", str(tmp_path))
    wheel = repack.cached_wheel()
    wheel.parent.mkdir(parents=True)
    wheel.write_bytes(b"made before")
    wheel.with_name(f"{wheel.name}.sha256").write_text(file_sha256(wheel))
    assert repack.make_wheel(PYTHON, lambda line: pytest.fail(f"it did something: {line}")) == wheel


@pytest.mark.parametrize("digest", ["0" * 64, "", "\u2028", None])
def test_a_replaced_wheel_is_made_again(digest, offline, tmp_path, monkeypatch):
    monkeypatch.setenv("TVM_WORKBENCH_CACHE", str(tmp_path))
    wheel = repack.cached_wheel()
    wheel.parent.mkdir(parents=True)
    wheel.write_bytes(b"somebody else's")
    if digest is not None:
        wheel.with_name(f"{wheel.name}.sha256").write_text(digest, encoding="utf-8")
    lines: list[str] = []
    with pytest.raises(SetupError, match="could not download"):
        repack.make_wheel(PYTHON, lines.append)
    assert lines[0].endswith("(its sha256 differs): making it again")


def test_a_wheel_is_whole_once_it_is_made_and_until_it_is_changed(tmp_path, monkeypatch):
    monkeypatch.setenv("TVM_WORKBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(repack, "download", lambda python, scratch: scratch)
    monkeypatch.setattr(repack, "extract", lambda source, tree: tree.mkdir())
    monkeypatch.setattr(repack, "patch", lambda package, python, scratch: None)
    wheel = repack.make_wheel(PYTHON, lambda line: None)
    assert repack.is_whole(wheel)
    with wheel.open("r+b") as file:
        file.write(b"\0")
    assert not repack.is_whole(wheel)
    assert repack.is_whole(repack.make_wheel(PYTHON, lambda line: None))


def test_the_cache_follows_the_users_settings(monkeypatch):
    monkeypatch.delenv("TVM_WORKBENCH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert repack.cache_folder() == Path("/somewhere/tvm-workbench")


def test_no_compiler_and_no_network(offline, tmp_path, monkeypatch):
    without_programs(monkeypatch, tmp_path / "bin")
    with pytest.raises(SetupError, match=r"No C compiler .* install gcc"):
        find_compiler(PYTHON, tmp_path)


def test_a_broken_compiler(tmp_path, monkeypatch):
    without_programs(monkeypatch, tmp_path / "bin")
    broken = tmp_path / "bin" / "cc"
    broken.write_text("#!/bin/sh\necho 'cannot execute cc1' >&2; exit 1\n")
    broken.chmod(0o755)
    with pytest.raises(SetupError, match=r"could not compile forwarder.c \(cannot execute cc1\)"):
        compile_shared(find_compiler(PYTHON, tmp_path), repack.CUDA_SOURCES / "forwarder.c", tmp_path / "x.so")


@pytest.mark.long  # downloads 80 MB
@pytest.mark.install
def test_with_no_compiler_zig_comes_from_pypi(tmp_path, monkeypatch):
    without_programs(monkeypatch, tmp_path / "bin")
    compiler = find_compiler(PYTHON, tmp_path)
    assert "zig" in compiler[0]
    for name, options in {
        "forwarder": ["-ldl"],
        "nvrtc_stub": [f"-Wl,--version-script={repack.CUDA_SOURCES / 'nvrtc_stub.map'}"],
    }.items():
        library = tmp_path / f"{name}.so"
        compile_shared(compiler, repack.CUDA_SOURCES / f"{name}.c", library, *options)
        subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(library)!r})"], check=True)


def test_only_tvm_is_taken(tmp_path):
    with zipfile.ZipFile(tmp_path / "large.whl", "w") as archive:
        for name in (
            f"{INSIDE}python/tvm/__init__.py",
            f"{INSIDE}python/tvm/relay/op/op.py",
            f"{INSIDE}build/libtvm.so",
            f"{INSIDE}build/libtvm_runtime.so",
            f"{INSIDE}LICENSE",
            f"{INSIDE}python/setup.py",
            "bitblas/__init__.py",
        ):
            archive.writestr(name, name)
    repack.extract(tmp_path / "large.whl", tmp_path / "tree")
    taken = {
        path.relative_to(tmp_path / "tree").as_posix() for path in (tmp_path / "tree").rglob("*") if path.is_file()
    }
    licence = "tvm_relay-0.17.dev0.dist-info/licenses/LICENSE"
    assert taken == {"tvm/__init__.py", "tvm/relay/op/op.py", "tvm/libtvm.so", licence}


def test_an_installed_package_becomes_a_wheel_again(tmp_path):
    wheel = pack_installed("iniconfig", tmp_path)
    target = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", target, wheel]
    subprocess.run(install, check=True, capture_output=True)
    found = subprocess.run(
        [sys.executable, "-c", "import iniconfig; print(iniconfig.__file__)"],
        env={**os.environ, "PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.startswith(str(target))
