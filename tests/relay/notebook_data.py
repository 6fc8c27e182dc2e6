"""The Relay half of notebook 40: a small model as text, its trace, its outputs, its counts and times; and the samples' counts.

Run as `.venv-relay/bin/python tests/relay/notebook_data.py`, it writes `notebooks/data/`, so that the notebook needs no second
TVM. A test holds the files to it.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relay

sys.path.insert(0, str(Path(__file__).parents[2]))

import workbench as wb
from workbench.samples._relay import RelayBuilder

DATA = Path(__file__).parents[2] / "notebooks" / "data"
OPT_LEVEL = 2
"TVM's default, in both generations"
SAMPLES: dict[str, dict[str, int]] = {
    "attention": {},
    "bert": {"layers": 2, "hidden": 64, "seq": 32, "heads": 4},
    "branches": {},
    "conv_bias_batch_norm": {},
    "mlp": {},
    "parallel_cast": {},
    "resnet18": {"width": 8},
}
MEASURED = ("config", "kernels", "median_us", "q1_us", "q3_us", "settled", "check", "target")
TRIES, PAUSE = 30, 2.0
"times measured, and seconds between them"
CONDITIONS = ("tvm", "device", "cpu", "threads", "measured_at")


def context(image: int = 28, channels: int = 16, classes: int = 10) -> wb.Workload:
    """A block with global context, as GCNet has it: the mean over the image, through a convolution, is added to each pixel."""
    b = RelayBuilder()
    data = b.input("data", (1, 3, image, image))
    x = _conv(data, b.weight("stem_weight", channels, 3, 3, 3, scale=0.5), 3)
    gamma, beta = b.scale("gamma", channels), b.weight("beta", channels)
    mean, var = b.weight("mean", channels), b.scale("var", channels)
    x = relay.nn.relu(relay.nn.batch_norm(x, gamma, beta, mean, var)[0])
    pixel = relay.mean(x, axis=[2, 3], keepdims=True)
    pixel = _conv(pixel, b.weight("context_weight", channels, channels, 1, 1, scale=0.5), 1)
    x = relay.nn.relu(relay.add(x, pixel))
    x = relay.nn.dense(relay.mean(x, axis=[2, 3]), b.weight("fc_weight", classes, channels, scale=0.5))
    module, params = b.finish(relay.nn.softmax(relay.nn.bias_add(x, b.weight("fc_bias", classes))))
    return wb.load((module, params), name="context")


def _conv(x: relay.Expr, weight: relay.Expr, kernel: int) -> relay.Expr:
    channels, pad = int(weight.type_annotation.shape[0]), kernel // 2
    return relay.nn.conv2d(x, weight, padding=(pad, pad), channels=channels, kernel_size=(kernel, kernel))


def arrays(w: wb.Workload) -> dict[str, np.ndarray]:
    """Its weights by name, an input `data`, and as `out` what Relay computes of them."""
    known = {name: value.numpy() for name, value in w.params.items()}
    known["data"] = np.random.default_rng(40).uniform(-1, 1, (1, 3, 28, 28)).astype("float32")
    with tvm.transform.PassContext(opt_level=OPT_LEVEL):
        run = relay.create_executor("graph", w.module, tvm.cpu(), "llvm").evaluate()
    return {**known, "out": run(**known).numpy()}


def counts() -> dict[str, dict[str, Any]]:
    """Kernels of each sample, and the bytes that kernels read of what kernels wrote."""
    return {name: counted(wb.samples.load(name, **options)) for name, options in SAMPLES.items()}


def counted(w: wb.Workload) -> dict[str, int]:
    made = wb.count(w, opt_level=OPT_LEVEL)
    return {"kernels": made.calls - made.noops, "bytes_between": sum(made.handover_bytes.values())}


def times(w: wb.Workload) -> dict[str, Any]:
    """Measured rows of two opt levels, each the calmest of several: what else runs only ever adds time."""
    taken: dict[str, list[dict[str, Any]]] = {}
    for _ in range(TRIES):
        for row in wb.measure(w, [OPT_LEVEL, 3], budget=1.0, store=False).to_dict("records"):
            taken.setdefault(row["config"], []).append(row)
        time.sleep(PAUSE)
    rows = [min(each, key=lambda row: row["q3_us"]) for each in taken.values()]
    return {
        "tries": TRIES,
        "conditions": {name: rows[0][name] for name in CONDITIONS},
        "rows": [{name: row[name] for name in MEASURED} for row in rows],
    }


def main() -> None:
    DATA.mkdir(exist_ok=True)
    w = context()
    (DATA / "context.relay").write_text(w.text(), encoding="utf-8")
    np.savez_compressed(DATA / "context.npz", **arrays(w))  # pyright: ignore[reportArgumentType]  the names are no option's
    wb.trace_build(w, opt_level=OPT_LEVEL).save(DATA / "context.wbtrace")
    saved = {"opt_level": OPT_LEVEL, "context": counted(w), "samples": counts(), "sizes": SAMPLES, "times": times(w)}
    (DATA / "relay_side.json").write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")
    for path in sorted(DATA.glob("*.*")):
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
