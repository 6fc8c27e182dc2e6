"""Remarks without TVM: their files, what LLVM's viewers read of them, their comparison, and the command for CI."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from graphs import PATTERNS, WIDE, state
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.cli import main
from workbench.debugging.remarks.decisions import has_remark
from workbench.debugging.remarks.remark import KINDS, Remark, Source
from workbench.debugging.remarks.result import Remarks
from workbench.errors import LoadError, WorkbenchError
from workbench.graph.model import Graph, GraphBuilder
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace

HOSTILE = '\x1b]0;t\x07 "...\n--- !Passed\nPass: x" \\ <b>é\u202e\u2028\x85 #{: 🂡 , }'


def chain(*ops: str, name: str = "net", spans: bool = False, layer: str = "") -> Graph:
    build = GraphBuilder(name, "relay")
    node = x = build.node("param", "x", type=WIDE)
    for place, op in enumerate(ops):
        span = f"model.py:{place + 1}:4" if spans else ""
        given = [node, x] if op in ("add", "nn.dense") else [node]
        node = build.node("op", op, given, type=WIDE, pattern=PATTERNS.get(op, 8), span=span, scope=layer)
    build.outputs = [node]
    return build.build()


def step(name: str, before: State, after: State | None = None, status: str = "") -> Step:
    return Step(name, before, after or before, status or ("changed" if after else "same"))


def traced(graph: Graph, name: str = "FuseOps", status: str = "") -> Trace:
    start = state(graph)
    return Trace("t", "relay", (step(name, start, status=status),), start, 3)


def remarks_of(*ops: str, **how: object) -> Remarks:
    return wb.remarks(traced(chain(*ops, **how)))


# -- fusion


def test_each_decision_is_one_remark() -> None:
    graph = chain("exp", "nn.relu", "nn.dense", "add", "nn.softmax", "cumsum", "exp")
    report = wb.explain_fusion(graph)
    wanted = [(d.code, d.node, d.sentence) for d in report.decisions if has_remark(report, d)]
    found = wb.remarks(traced(graph)).find(pass_name="FuseOps")
    assert [(each.name, each.nodes[0], each.message) for each in found] == wanted
    assert {d.node for d in report.decisions} == {each.nodes[0] for each in found}
    left_out = {d.code for d in report.decisions if not has_remark(report, d)}
    assert left_out <= {"phase", "together"}


def test_kind_bytes_and_place_of_a_decision() -> None:
    found = remarks_of("exp", "nn.relu", "nn.softmax", spans=True, layer="encoder/layer_0")
    passed = found.find("passed")
    assert [(each.operators, each.bytes, each.layer) for each in passed] == [
        (("exp", "nn.relu"), 128, "encoder/layer_0")
    ]
    assert [each.source for each in passed] == [Source("model.py", 1, 4)]
    (missed,) = found.find("missed", "FuseOps")
    assert (missed.operators, missed.name, missed.function) == (("nn.relu", "nn.softmax"), "dominator_kind", "main")
    (last,) = [each for each in found.find(pass_name="FuseOps") if each.nodes == (3,)]
    assert (last.kind, last.name) == ("analysis", "held")


def test_a_change_that_would_fuse_is_in_the_remark() -> None:
    graph = chain("exp", "nn.relu")
    (missed,) = wb.remarks(traced(graph, "FuseOps{fuse_opt_level=0}")).find("missed", "FuseOps")
    assert missed.name == "level"
    assert missed.change == "fuse_opt_level were at least 1"
    assert missed.text.endswith("It would if fuse_opt_level were at least 1.")


@pytest.mark.parametrize(("status", "kind", "name"), [("off", "analysis", "off"), ("skipped", "analysis", "skipped")])
def test_a_pass_that_did_not_run_is_a_remark(status: str, kind: str, name: str) -> None:
    found = wb.remarks(traced(chain("exp", "nn.relu"), status=status)).find(pass_name="FuseOps")
    assert [(each.kind, each.name) for each in found] == [(kind, name)]


def test_a_failed_pass_is_a_remark() -> None:
    start = state(chain("exp", "cumsum"))
    failed = replace(step("FuseOps", start), status="error", error="no kind")
    (found,) = wb.remarks(Trace("t", "relay", (failed,), start, 3))
    assert (found.kind, found.name, found.message) == ("missed", "failed", "The pass failed: no kind.")


# -- merges and folds


def twins(op: str = "exp") -> Graph:
    build = GraphBuilder("twins", "relay")
    x = build.node("param", "x", type=WIDE)
    both = [build.node("op", op, [x], type=WIDE, pattern=0) for _ in range(2)]
    build.outputs = [build.node("op", "add", both, type=WIDE, pattern=1)]
    return build.build()


def merged(op: str = "exp") -> Graph:
    build = GraphBuilder("twins", "relay")
    x = build.node("param", "x", type=WIDE)
    one = build.node("op", op, [x], type=WIDE, pattern=0)
    build.outputs = [build.node("op", "add", [one, one], type=WIDE, pattern=1)]
    return build.build()


def test_a_merge_is_passed_only_if_the_graph_shows_it() -> None:
    start, end = state(twins()), state(merged())
    same = "EliminateCommonSubexpr"
    did = wb.remarks(Trace("t", "relay", (step(same, start, end),), start, 3)).find(pass_name=same)
    assert [(each.kind, each.name, each.nodes, each.bytes) for each in did] == [("passed", "identical", (1, 2), 128)]
    left = wb.remarks(Trace("t", "relay", (step(same, start),), start, 3)).find(pass_name=same)
    assert [(each.kind, each.name) for each in left] == [("missed", "left")]
    absent = wb.remarks(Trace("t", "relay", (), start, 3)).find(pass_name=same)
    assert [(each.kind, each.name, each.change) for each in absent] == [("missed", "not-run", f"{same} ran")]


def test_an_operator_that_became_a_constant_is_folded() -> None:
    def weights(*, folded: bool) -> Graph:
        build = GraphBuilder("w", "relay")
        x = build.node("param", "x", type=WIDE)
        weight = build.node("constant", "c", type=WIDE)
        if not folded:
            weight = build.node("op", "nn.relu", [build.node("op", "exp", [weight], type=WIDE)], type=WIDE)
        build.outputs = [build.node("op", "add", [x, weight], type=WIDE, pattern=1)]
        return build.build()

    start, end = state(weights(folded=False)), state(weights(folded=True))
    found = wb.remarks(Trace("t", "relay", (step("FoldConstant", start, end),), start, 3)).find(name="folded")
    assert [(each.kind, each.operators, each.bytes) for each in found] == [("passed", ("exp", "nn.relu"), 128)]


def scaled(*, left: int) -> Graph:
    build = GraphBuilder("scaled", "relay")
    node = build.node("param", "x", type=WIDE)
    for place in range(left):
        number = build.node("constant", str(place + 1), type="float32", attrs={"digest": str(place)})
        node = build.node("op", "add", [node, number], type=WIDE, pattern=1)
    build.outputs = [node]
    return build.build()


def test_a_chain_is_passed_only_if_the_graph_shows_it() -> None:
    start, end = state(scaled(left=2)), state(scaled(left=1))
    steps = step("SimplifyExpr", start, end), step("FoldConstant", end)
    for run, wanted in (
        (steps, ("passed", "shortened")),
        ((step("SimplifyExpr", start), step("FoldConstant", start)), ("missed", "left")),
        ((), ("missed", "not-run")),
    ):
        (found,) = wb.remarks(Trace("t", "relay", run, start, 3)).find(pass_name="SimplifyExpr,FoldConstant")
        assert (found.kind, found.name, found.operators) == (*wanted, ("add", "add"))


def test_near_misses_and_hazards_are_remarks() -> None:
    build = GraphBuilder("near", "relay")
    x = build.node("param", "x", type=WIDE)
    for rows, dtype in ((8, "float32"), (8, "float16")):
        weight = build.node("param", f"w{dtype}", type=f"Tensor[({rows}, 8), {dtype}]")
        attrs = {"out_dtype": "float32"}
        build.outputs.append(build.node("op", "nn.dense", [x, weight], type=WIDE, pattern=4, attrs=attrs))
    graph = build.build()
    groups = wb.parallel_branches(graph)
    assert {group.kind for group in groups} & {"near", "hazard"}
    found = wb.remarks(Trace("t", "relay", (), state(graph), 3))
    for group in groups:
        kind = {"hazard": "analysis"}.get(group.kind, "missed")
        code = (*group.hazards, *group.reasons)[0].code if group.kind in ("near", "hazard") else "not-run"
        assert [each for each in found if (each.kind, each.name) == (kind, code)], group


# -- files


def test_a_trace_is_needed() -> None:
    with pytest.raises(WorkbenchError, match="takes a Workload or a Trace, not str"):
        wb.remarks("model.onnx")  # type: ignore[arg-type]
    with pytest.raises(WorkbenchError, match="leave config out"):
        wb.remarks(traced(chain("exp")), config=3)


TEXT = st.text(max_size=20)
COUNT = st.integers(0, 10**15)
REMARKS = st.builds(
    Remark,
    kind=st.sampled_from(KINDS),
    pass_name=TEXT,
    name=TEXT,
    message=TEXT,
    function=TEXT,
    operators=st.lists(TEXT, max_size=3).map(tuple),
    nodes=st.lists(st.integers(0, 10**6), max_size=3).map(tuple),
    layer=TEXT,
    source=st.none() | st.builds(Source, TEXT, st.integers(1, 10**6), st.integers(0, 10**6)),
    bytes=st.none() | COUNT,
    change=TEXT,
)


@given(found=st.lists(REMARKS, max_size=4).map(tuple), format=st.sampled_from(["yaml", "jsonl"]))
def test_files_give_back_what_was_written(
    found: tuple[Remark, ...], format: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("files") / f"m.opt.{format}"
    assert Remarks.open(Remarks(found).write(path)) == Remarks(found)
    if format == "yaml":
        text = path.read_text(encoding="utf-8")
        first, other = (list(yaml.load_all(text, viewer)) for viewer in VIEWERS)
        assert first == other
        assert [each["Function"] for _, each in first] == [each.function for each in found]


class Viewer(yaml.SafeLoader):
    """Reads what LLVM's opt-viewer reads: documents with one of three tags, each a mapping."""


class FastViewer(yaml.CSafeLoader):
    """The same with libyaml, which opt-viewer takes where it is installed."""


VIEWERS = Viewer, FastViewer
for kind in KINDS:
    for viewer in VIEWERS:
        viewer.add_constructor(
            f"!{kind.capitalize()}",
            lambda loader, node, kind=kind: (kind, loader.construct_mapping(node, deep=True)),
        )


@pytest.mark.parametrize("viewer", VIEWERS)
def test_llvms_viewer_reads_the_yaml(viewer: type, tmp_path: Path) -> None:
    """It takes Pass, Name, Function, Args, and DebugLoc with a file, a line and a column; an argument is one key and a text."""
    found = remarks_of("exp", HOSTILE, "nn.softmax", spans=True)
    text = found.write(tmp_path / "m.opt.yaml").read_text(encoding="utf-8")
    viewed = list(yaml.load_all(text, viewer))
    assert [kind for kind, _ in viewed] == [each.kind for each in found]
    for (_, fields), remark in zip(viewed, found, strict=True):
        assert list(fields) == ["Pass", "Name", "DebugLoc", "Function", "Args"]
        assert list(fields["DebugLoc"]) == ["File", "Line", "Column"]
        assert type(fields["DebugLoc"]["Line"]) is int
        assert all(len(argument) == 1 for argument in fields["Args"])
        values = [value for argument in fields["Args"] for value in argument.values()]
        assert all(type(value) is str for value in values)
        assert "".join(values).startswith(remark.text)
        # opt-viewer looks for other programs' names under these
        assert not {"Caller", "Callee", "DirectCallee", "DebugLoc"} & {key for a in fields["Args"] for key in a}
        assert [a["Operator"] for a in fields["Args"] if "Operator" in a] == list(remark.operators)


OPT_VIEWERS = sorted(Path("/usr/lib").glob("llvm-*/share/opt-viewer/opt-viewer.py"))


@pytest.mark.skipif(not OPT_VIEWERS, reason="needs opt-viewer, which is in Debian's llvm-14-tools")
@pytest.mark.parametrize("viewer", OPT_VIEWERS, ids=lambda path: path.parts[3])
def test_opt_viewer_draws_each_remark(viewer: Path, tmp_path: Path) -> None:
    """It lists a remark once in its index, and draws it under its line of the source."""
    found = remarks_of("exp", HOSTILE, "nn.softmax", "nn.dense", "nn.relu", spans=True, layer="encoder/0")
    written = found.write(tmp_path / "m.opt.yaml")
    (tmp_path / "model.py").write_text("first = 1\n" * 5, encoding="utf-8")
    options = ["--jobs", "1", "--no-progress-indicator", "--source-dir", tmp_path, "--output-dir", tmp_path / "pages"]
    done = subprocess.run([sys.executable, viewer, *options, written], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "pages/index.html").read_text(encoding="utf-8").count("model.py.html#L") == len(found)
    page = (tmp_path / "pages/model.py.html").read_text(encoding="utf-8")
    assert all(remark.message in page for remark in found if "\x1b" not in remark.message)


def test_hostile_names_stay_inside_their_fields(tmp_path: Path) -> None:
    found = remarks_of("exp", HOSTILE, "nn.relu", layer=f"a/{HOSTILE}")
    assert any(HOSTILE in each.operators for each in found)
    for name in ("m.opt.yaml", "m.jsonl"):
        path = found.write(tmp_path / name)
        assert Remarks.open(path) == found
        assert path.read_text(encoding="utf-8").isprintable() or "\x1b" not in path.read_text(encoding="utf-8")
    assert "\x1b" not in str(found) + found._repr_html_()
    assert "<b>" not in found._repr_html_()


def test_half_of_a_character_is_written_out(tmp_path: Path) -> None:
    found = Remarks((Remark("passed", "P", "n", "half \ud800"),))
    assert Remarks.open(found.write(tmp_path / "m.yaml"))[0].message == "half \\ud800"


def damaged(text: str) -> dict[str, str]:
    lines = text.split("\n")
    return {
        "cut off": "\n".join(lines[:-4]),
        "a remark less": "\n".join([lines[0], *lines[lines.index("...") + 1 :]]),
        "no head": "\n".join(lines[1:]),
        "another version": text.replace("version 1", "version 2"),
        "an anchor": text.replace("Pass: ", "Pass: &a ", 1),
        "a tag": text.replace("--- !", "--- !!python/object:os.", 1),
        "a bare value": text.replace('Pass: "FuseOps"', "Pass: FuseOps", 1),
        "a number that is none": text.replace('Node: "1"', 'Node: "x"', 1),
        "an escape that is none": text.replace('Pass: "FuseOps"', 'Pass: "\\q"', 1),
        "no function": text.replace('Function: "main"\n', "", 1),
        "no name": "\n".join(line for line in lines if not line.startswith("Name: ")),
        "empty": "",
        "json": '{"a": 1}',
        "deep json": "{" + '"a":[' * 10_000,
        "binary": "\0\0",
    }


@pytest.mark.parametrize("how", damaged("x\n...\n"))
def test_a_damaged_file_is_refused_in_a_sentence(how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = remarks_of("exp", "nn.relu").write(tmp_path / "main.opt.yaml")
    text = good.read_text(encoding="utf-8")
    bad = tmp_path / "bad.yaml"
    bad.write_text(damaged(text)[how], encoding="utf-8")
    assert bad.read_text(encoding="utf-8") != text
    with pytest.raises(LoadError, match="is not a file of remarks: "):
        Remarks.open(bad)
    for pair in ([good, bad], [bad, good]):
        assert main(["remarks", "--diff", *map(str, pair)]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == 1


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="cannot be read"):
        Remarks.open(tmp_path / "none.yaml")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(LoadError, match="not UTF-8"):
        Remarks.open(tmp_path / "b.yaml")


def test_no_such_format(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="no format 'xml'"):
        Remarks().write(tmp_path / "m", "xml")
    with pytest.raises(WorkbenchError, match="cannot be written"):
        Remarks().write(tmp_path / "none" / "m.yaml")


# -- comparison


def test_nothing_is_lost_by_an_edit_elsewhere() -> None:
    main_branch = remarks_of("nn.dense", "add", "nn.relu", layer="block")
    branch = remarks_of("nn.softmax", "exp", "nn.dense", "add", "nn.relu", layer="block")
    assert main_branch.find("passed")
    assert not branch.lost(main_branch)


def test_a_layer_of_another_name_loses_nothing() -> None:
    assert not remarks_of("exp", "nn.relu", layer="b/c").lost(remarks_of("exp", "nn.relu", layer="a/c"))


def test_of_several_equal_fusions_the_missing_one_is_lost() -> None:
    both = Remarks((made("a", 10), made("b", 20), made("b", 30)))
    assert [(each.layer, each.bytes) for each in Remarks((made("b", 20), made("a", 10))).lost(both)] == [("b", 30)]
    assert [(each.layer, each.bytes) for each in Remarks((made("b", 20),)).lost(both)] == [("b", 30), ("a", 10)]


def made(layer: str, size: int | None, kind: str = "passed") -> Remark:
    return Remark(kind, "FuseOps", "fused", "m", "main", ("exp", "relu"), (1, 2), layer, None, size)


def test_a_switched_off_pass_loses_its_fusions_in_one_direction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = chain("nn.dense", "add", "nn.relu", "nn.softmax", "exp")
    with_fusion, without = wb.remarks(traced(graph)), wb.remarks(traced(graph, "FuseOps{fuse_opt_level=0}"))
    assert len(without.lost(with_fusion)) == len(with_fusion.find("passed")) == 3
    assert not with_fusion.lost(without)
    first, other = (
        str(each.write(tmp_path / name)) for each, name in ((with_fusion, "main.opt.yaml"), (without, "b.jsonl"))
    )
    assert main(["remarks", "--diff", first, other]) == 3
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "3 fusions lost since main:"
    assert said[1].startswith("  128 bytes: ")
    assert [word for line in said[1:] for word in line.split() if word == "level:"] == ["level:"] * 3
    assert len({line.partition("now level")[2] for line in said[1:]}) == 3, "each has the reason of its own node"
    assert main(["remarks", "--diff", other, first]) == 0
    assert capsys.readouterr().out == "no fusion, merge or fold lost since b\n"


def test_lost_remarks_are_in_the_order_of_bytes() -> None:
    since = Remarks((made("a", 1), made("b", None), made("c", 3), made("d", 0), made("e", 9, "missed")))
    assert [each.layer for each in Remarks().lost(since)] == ["c", "a", "d", "b"]


# -- the sequence


def test_table_text_and_slices() -> None:
    found = remarks_of("exp", "nn.relu", "nn.softmax")
    table = found.table
    assert list(table.columns)[:4] == ["kind", "pass", "name", "message"]
    assert len(table) == len(found)
    assert table["bytes"].dtype == "Int64"
    assert isinstance(found[:1], Remarks)
    assert str(found).startswith(f"{len(found)} remarks: ")
    assert Remarks().table.empty
    assert str(Remarks()) == "0 remarks: 0 passed, 0 missed, 0 analysis"


def test_a_saved_trace_has_remarks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = traced(chain("exp", "nn.relu", "nn.softmax")).save(tmp_path / "t.wbtrace")
    assert main(["remarks", str(path)]) == 0
    assert "1 passed" in capsys.readouterr().out
    assert main(["remarks", str(path), "-o", str(tmp_path / "m.opt"), "--format", "jsonl"]) == 0
    assert Remarks.open(tmp_path / "m.opt").find("passed")


@pytest.mark.parametrize("arguments", [["remarks"], ["remarks", "--diff", "a"], ["remarks", "m", "--diff", "a", "b"]])
def test_bad_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
