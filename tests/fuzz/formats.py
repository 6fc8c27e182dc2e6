"""The formats that are fuzzed: valid seeds made by the project's own samples, a mutation, and the public reader."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import sqlite3
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import programs
from mutations import mutate_bytes, mutate_json, mutate_text
from received_files import executor_graph, tvm_params

import workbench as wb
from workbench.debugging.remarks.remark import Remark, Source
from workbench.debugging.remarks.result import Remarks
from workbench.errors import WorkbenchError
from workbench.graph.layers import layered
from workbench.graph.model import Graph, GraphBuilder
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace

FOLDER = Path(os.environ.get("FUZZ_FOLDER", "."))
SAMPLES: dict[str, dict[str, Any]] = {"chain": {}, "mlp": {}, "conv_bias_batch_norm": {"image": 4, "blocks": 1}}


@dataclass(frozen=True)
class Format:
    """One format of received files."""

    seeds: Callable[[], list[bytes]]
    mutate: Callable[[Random, Sequence[bytes]], bytes]
    read: Callable[[bytes], None]
    "reads an input, and uses what was read; an error that is not a WorkbenchError is a fault"


def text_of(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def written(data: bytes, name: str) -> Path:
    path = FOLDER / name
    path.write_bytes(data)
    return path


# -- without TVM


def graph() -> Graph:
    build = GraphBuilder("g", "relay")
    main = build.group("function", "main", None)
    x = build.node("param", "x", type="Tensor[(1, 4), float32]", group=main, name="x")
    w = build.node("constant", "constant", type="Tensor[(4, 4), float32]", attrs={"digest": "00ff"}, group=main)
    kernel = build.group("primitive", "fused_nn_dense_add", main, {"hash": "1"})
    dense = build.node("op", "nn.dense", (x, w), type="Tensor[(1, 4), float32]", group=kernel, attrs={"units": 4})
    add = build.node("op", "add", (dense, x), group=kernel, pattern=1, line=3, span="a.py:1", scope="layer/0")
    split = build.node("op", "split", (add,), attrs={"axis": -1, "indices_or_sections": [1, 2]}, group=main)
    build.outputs.append(build.node("tuple", "tuple", (split, add), group=main, held="let"))
    return build.build()


def use_graph(read: Graph) -> None:
    from workbench.graph.diff import diff
    from workbench.widgets.payload import encode_graph

    encode_graph(layered(read))
    diff(read, read)
    assert read.kernel_count >= 0
    read.to_graphviz()
    assert Graph.from_json(read.to_json()).to_json() == read.to_json()


def read_graph(data: bytes) -> None:
    use_graph(wb.load(text_of(data)).graph)


def use_program(graph: Graph) -> None:
    """Do what a user does with a graph: look at it, export it, ask for fusion, branches, chains and regions."""
    bare = replace(graph, ask_after=None)  # no build, no pass of TVM
    use_graph(bare)
    wb.GraphView(bare).save(FOLDER / "program.html")
    for ask in (wb.explain_fusion, wb.regions, wb.parallel_branches, wb.constant_chains):
        str(ask(bare))


def read_program(data: bytes) -> None:
    for workload in wb.load_all(text_of(data)):
        use_program(workload.graph)
        repr(workload)


def traces() -> list[bytes]:
    first, second = graph(), GraphBuilder("g", "relay").build()
    states = [State(None, lambda: first, lambda: "def @main() {}"), State(None, lambda: second, lambda: "b")]
    steps = (
        Step("FuseOps{fuse_opt_level=2}", states[0], states[1], "changed", 0.5),
        Step("<mine>", states[1], states[1], "error", 0.1, "it broke", "why", 1),
    )
    build = {**wb.Config(options={"relay.FuseOps.max_depth": 4}).to_data(), "target": "llvm -mcpu=x", "whole": True}
    made = [Trace("t", "relay", steps, states[0], 2), Trace("t", "relax", steps[:1], states[0], 2, build)]
    return [each.save(FOLDER / "seed.wbtrace").read_bytes() for each in made]


def mutate_packed(random: Random, seeds: Sequence[bytes]) -> bytes:
    if random.random() < 0.1:
        return mutate_bytes(random, seeds)
    seed = gzip.decompress(random.choice(seeds))
    return gzip.compress(mutate_json(random, [seed]), compresslevel=1, mtime=0)


def read_trace(data: bytes) -> None:
    opened = Trace.open(written(data, "t.wbtrace"))
    wb.PassStepper(opened).close()
    for part in (lambda: opened.diff, lambda: opened.transitions, opened.code, lambda: opened.lineage(0, 0)):
        with suppress(WorkbenchError):
            part()
    assert repr(opened)


def params() -> list[bytes]:
    arrays = {
        "w": np.arange(6, dtype="float32").reshape(2, 3),
        "b": np.zeros((0, 3), "int64"),
        "s": np.array(1, "uint8"),
    }
    plain, packed = io.BytesIO(), io.BytesIO()
    np.savez(plain, **arrays)  # pyright: ignore[reportArgumentType]
    np.savez_compressed(packed, **arrays)  # pyright: ignore[reportArgumentType]
    return [tvm_params(arrays), plain.getvalue(), packed.getvalue()]


def mutate_params(random: Random, seeds: Sequence[bytes]) -> bytes:
    """A value of the last array, or any bytes; most of the latter are refused."""
    if random.random() < 0.1:
        return random.choice(seeds)[:-1] + random.randbytes(1)
    return mutate_bytes(random, seeds)


def read_params(data: bytes) -> None:
    from workbench.dialects.importers.params import read_params

    for array in read_params(written(data, "p.params")).values():
        assert isinstance(array, np.ndarray)


HEAD = {
    "format": 1,
    "workload": "w",
    "workload_hash": "h",
    "dialect": "relay",
    "tvm": "0.17",
    "machine": "m",
    "cpu": "c",
}


def tune_log() -> bytes:
    from workbench.experiments.tuning.trial import Trial

    config = wb.Config(disabled=("FuseOps",), options={"relay.FuseOps.max_depth": 4})
    values = {"kernels": 3, "median_us": 1.5, "build_seconds": None}
    trials = [
        Trial(0, "llvm", config, {}, values=values, seconds=0.5, checked=True),
        Trial(1, "llvm", wb.Config(opt_level=2), {"a": True}, "illegal", "why", like=0),
    ]
    return b"\n".join(json.dumps(row).encode() for row in (HEAD, *(trial.to_data() for trial in trials))) + b"\n"


def mutate_lines(random: Random, seeds: Sequence[bytes]) -> bytes:
    if random.random() < 0.2:
        return mutate_bytes(random, seeds)
    lines = random.choice(seeds).split(b"\n")[:-1]
    at = random.randrange(len(lines))
    lines[at] = mutate_json(random, [lines[at]])
    return b"\n".join(lines) + b"\n"


def read_log(data: bytes) -> None:
    from workbench.dialects.base import Workload
    from workbench.experiments.tuning import trial_log
    from workbench.experiments.tuning.evaluate import Evaluator

    trial_log.header = lambda workload: HEAD  # what is here depends on TVM and on the machine
    path = written(data, "log.jsonl")
    trials = trial_log.Trials(Evaluator(Workload(None, {}, "w", "relay"), ("time",)), path)
    for trial in trials.all:
        assert trial.key
        trials.keep(trial)


def store() -> bytes:
    from workbench.measurement.store import Store

    path = FOLDER / "seed.sqlite"
    for number in range(3):
        row = {"workload_hash": "a", "machine": "m", "tvm": "t", "number": number, "samples": [1e-6, 2.5e-6]}
        Store(path).append({**row, "status": "ok", "message": "é", "check": None, "kernels": 3, "median_us": 1.5})
    return path.read_bytes()


def mutate_store(random: Random, seeds: Sequence[bytes]) -> bytes:
    """Bytes of the file, the first of which say what it is, or the JSON of a row in it."""
    if random.random() < 0.1:
        place = random.randrange(16)
        return seeds[0][:place] + bytes([seeds[0][place] ^ 255]) + seeds[0][place + 1 :]
    if random.random() < 0.4:
        return mutate_bytes(random, seeds)
    path = written(seeds[0], "mutated.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA journal_mode=DELETE")
        file.execute("PRAGMA synchronous=OFF")
        (data,) = file.execute("SELECT data FROM rows WHERE id = 2").fetchone()
        changed = mutate_json(random, [data.encode()])
        kept: Any = (
            changed if random.random() < 0.2 else text_of(changed).encode(errors="replace").decode(errors="replace")
        )
        file.execute("UPDATE rows SET data = ? WHERE id = 2", (kept,))
    return path.read_bytes()


def read_store(data: bytes) -> None:
    import warnings

    from workbench.measurement import store as files
    from workbench.measurement.store import VARIABLE, Store

    for other in FOLDER.glob("rows.sqlite*"):
        other.unlink()
    files._checked.clear()
    path = written(data, "rows.sqlite")
    os.environ[VARIABLE] = str(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        Store(path).append({"workload_hash": "a", "number": 7})
        frame = wb.history(everywhere=True)
    assert 7 in list(frame["number"])


def framed(value: Any) -> bytes:
    data = json.dumps(value).encode()
    return struct.pack("<i", len(data)) + data


def answers() -> list[bytes]:
    infos = [{"key": "server:board", "addr": ["127.0.0.1", 9091]}, {"key": "server:phone", "addr": ["::1", 9092]}]
    return [framed(each) for each in ([0, {"queue_info": {}, "server_info": infos}], [0, ["h", 1, "b:0"]])]


def mutate_frame(random: Random, seeds: Sequence[bytes]) -> bytes:
    if random.random() < 0.2:
        return mutate_bytes(random, seeds)
    data = mutate_json(random, [random.choice(seeds)[4:]])
    length = random.choice((len(data),) * 8 + (0, -1, 2**31 - 1, len(data) - 1, len(data) + 1))
    return struct.pack("<i", length) + data


class FalseTracker:
    """Gives one answer to whatever it is asked, and hangs up."""

    def __init__(self) -> None:
        self.answer = b""
        self.socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        while True:
            line, _ = self.socket.accept()
            with closing(line):
                try:
                    line.sendall(line.recv(4))
                    line.recv(65536)
                    line.sendall(self.answer)
                    line.shutdown(socket.SHUT_WR)
                except OSError:
                    pass


_tracker: list[FalseTracker] = []


def read_tracker(data: bytes) -> None:
    from workbench.measurement.remote.tracker import Tracker

    if not _tracker:
        _tracker.append(FalseTracker())
    _tracker[0].answer = data
    asked = Tracker("127.0.0.1", _tracker[0].socket.getsockname()[1], "board")
    failed: list[WorkbenchError] = []
    for ask in (asked.servers, lambda: asked.lent(0.05)):
        try:
            assert ask() is not None
        except WorkbenchError as error:
            failed.append(error)
    if len(failed) == 2:
        raise failed[0]


# -- with TVM


def samples() -> list[Any]:
    from workbench.samples import load

    return [load(name, **options) for name, options in SAMPLES.items()]


def texts() -> list[bytes]:
    return [sample.text().encode() for sample in samples()]


def pastes() -> list[bytes]:
    return [path.read_bytes() for path in sorted((Path(__file__).parents[1] / "pastes").glob("*.txt"))]


def read_text(data: bytes) -> None:
    for workload in wb.load_all(text_of(data)):
        assert workload.graph.nodes is not None


def modules() -> list[bytes]:
    import tvm

    return [tvm.ir.save_json(sample.module).encode() for sample in samples()]


def onnx_models() -> list[bytes]:
    from onnx_models import FLOAT, Onnx

    small = Onnx()
    small.scope = "/layer"
    x = small.op("Relu", small.linear("x", "dense", 3, 3))
    x = small.op("Reshape", x, small.constant([1, -1]))
    image = Onnx()
    y = image.op("Conv", "x", image.normal("weight", 2, 1, 3, 3), pads=[1, 1, 1, 1])
    y = image.op("Clip", y, image.constant(np.float32(0)), image.constant(np.float32(1)))
    models = [small.model({"x": (FLOAT, [1, 3])}, x), image.model({"x": (FLOAT, [1, 1, 4, 4])}, y)]
    return [model.SerializeToString() for model in models]


def mutate_onnx(random: Random, seeds: Sequence[bytes]) -> bytes:
    """Bytes of the file, or fields of the messages in it."""
    import onnx

    if random.random() < 0.3:
        return mutate_bytes(random, seeds)
    model = onnx.load_model_from_string(random.choice(seeds))
    for _ in range(random.randint(1, 3)):
        _change_message(random, model)
    return model.SerializeToString()


def _change_message(random: Random, message: Any) -> None:
    while True:
        present = message.ListFields()
        if not present:
            return
        field, value = random.choice(present)
        repeated = hasattr(value, "__len__") and not isinstance(value, (str, bytes))
        is_message = field.message_type is not None
        if is_message and random.random() < 0.85:
            message = random.choice(value) if repeated else value
            continue
        if repeated:
            _change_repeated(random, value, is_message)
        elif is_message or random.random() < 0.15:
            message.ClearField(field.name)
        else:
            _set(random, message, field.name, value)
        return


def _change_repeated(random: Random, values: Any, is_message: bool) -> None:
    at = random.randrange(len(values))
    how = random.randrange(3)
    if how == 0:
        del values[at]
    elif how == 1:
        values.extend([values[at]] * random.choice((1, 1, 30)))
    elif is_message:
        values[at].CopyFrom(random.choice(values))
    else:
        old = values[at]
        values[at] = _other(random, old)


def _set(random: Random, message: Any, name: str, value: Any) -> None:
    try:
        setattr(message, name, _other(random, value))
    except (ValueError, TypeError):
        message.ClearField(name)


def _other(random: Random, value: Any) -> Any:
    if isinstance(value, int):
        return random.choice((value + 1, -value, 0, -1, 7, 2**31 - 1, value * 2 % 2**31))
    if isinstance(value, float):
        return random.choice((0.0, -value, 1e30, float("inf"), float("nan")))
    changed = mutate_text(random, [value.encode() if isinstance(value, str) else b"a b"])
    return changed.decode(errors="replace") if isinstance(value, str) else mutate_bytes(random, [value or b"\0"])


def read_onnx_program(data: bytes) -> None:
    use_program(wb.load(written(data, "m.onnx")).graph)


def read_onnx(data: bytes) -> None:
    assert wb.load(written(data, "m.onnx")).graph.nodes is not None


def remark_files() -> list[bytes]:
    passed = Remark(
        "passed",
        "FuseOps",
        "fused",
        "exp joins add",
        "main",
        ("exp", "add"),
        (1, 2),
        "layer/0",
        Source("a.py", 3, 1),
        64,
    )
    missed = Remark("missed", "FuseOps", "level", "é stays \x1b", operators=("é",), change="opt_level were 1")
    made = Remarks((passed, missed))
    return [made.write(FOLDER / name).read_bytes() for name in ("seed.opt.yaml", "seed.jsonl")]


def mutate_remarks(random: Random, seeds: Sequence[bytes]) -> bytes:
    """Another operator in the remarks, or any text; most of the latter is refused."""
    if random.random() < 0.1:
        return random.choice(seeds).replace(b"exp", random.choice((b"tanh", b"e", b"")))
    return mutate_text(random, seeds)


def read_remarks(data: bytes) -> None:
    found = Remarks.open(written(data, "m.opt.yaml"))
    assert Remarks.open(found.write(FOLDER / "again.jsonl")) == found
    assert not found.lost(found)
    str(found)


FORMATS = {
    "graph JSON": Format(lambda: [graph().to_json().encode()], mutate_json, read_graph),
    "trace": Format(traces, mutate_packed, read_trace),
    "executor JSON": Format(lambda: [json.dumps(executor_graph()).encode()], mutate_json, read_graph),
    "parameters": Format(params, mutate_params, read_params),
    "trial log": Format(lambda: [tune_log()], mutate_lines, read_log),
    "store": Format(lambda: [store()], mutate_store, read_store),
    "remarks": Format(remark_files, mutate_remarks, read_remarks),
    "tracker's answers": Format(answers, mutate_frame, read_tracker),
    "pasted Relay text": Format(pastes, mutate_text, read_text),
    "text": Format(texts, mutate_text, read_text),
    "module JSON": Format(modules, mutate_json, read_text),
    "ONNX": Format(onnx_models, mutate_onnx, read_onnx),
}
"name -> how it is fuzzed; text and module JSON are those of the dialect that is installed"


def hostile(name: str, seeds: Callable[[], list[bytes]], read: Callable[[bytes], None] = read_program) -> Format:
    """A format of programs made anew; the seeds are read first, so that what is read later finds all imported."""
    return Format(seeds, lambda random, _: programs.MAKERS[name](random), read)


FORMATS |= {
    "hostile pasted Relay text": hostile("pasted Relay text", pastes),
    "hostile relay text": hostile("relay text", texts),
    "hostile relax text": hostile("relax text", texts),
    "hostile relay module JSON": hostile("relay module JSON", modules),
    "hostile relax module JSON": hostile("relax module JSON", modules),
    "hostile graph JSON": hostile("graph JSON", FORMATS["graph JSON"].seeds),
    "hostile executor JSON": hostile("executor JSON", FORMATS["executor JSON"].seeds),
    "hostile ONNX": hostile("ONNX", onnx_models, read_onnx_program),
    "hostile trace": Format(traces, lambda random, _: programs.trace(random, FOLDER), read_trace),
}
