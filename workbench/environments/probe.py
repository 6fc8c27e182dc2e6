"""Run as a file by each environment's own Python: print, as JSON, the facts about its TVM.

It runs in a process of its own because importing a broken TVM can end the process.
"""

import importlib.util
import json
import os
import sys


def look() -> dict:
    """Return the facts about TVM here; every value is text."""
    # Run as a file, this folder is first on the path, and its pip.py would hide the real one.
    sys.path.pop(0)
    found = {"python": sys.version.split()[0], "executable": sys.executable}
    spec = importlib.util.find_spec("tvm")
    if spec is None:
        return found
    os.environ.setdefault("TOPHUB_LOCATION", "NONE")
    try:
        import tvm

        found["tvm"] = tvm.__version__
        # The Relay build carries an early Relax too, which workbench does not use.
        found["dialect"] = next((name for name in ("relay", "relax") if importlib.util.find_spec(f"tvm.{name}")), "")
        found["llvm"] = _llvm(tvm)
        found["cuda"] = _cuda(tvm)
    except BaseException as error:  # noqa: BLE001 - whatever it raises is the finding
        found["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
    return found


def _llvm(tvm) -> str:
    version = tvm.get_global_func("target.llvm_version_major", allow_missing=True)
    return str(version()) if version else ""


def _cuda(tvm) -> str:
    try:
        device = tvm.cuda(0)
        return str(device.device_name) if device.exist else "no device"
    except Exception:  # noqa: BLE001 - a build without CUDA raises what it likes
        return "not in this build"


if __name__ == "__main__":
    print(json.dumps(look()))
