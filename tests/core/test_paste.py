"""Relay text as people paste it, read with no TVM: what is found, what is repaired, and that each repair is told."""

from __future__ import annotations

import re

import pytest
from pastes import MODULES, paste, seeds

import workbench as wb
from workbench.dialects.relay.parser import parse
from workbench.errors import LoadError, ParseError

CLEAN = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32] /* ty=Tensor[(2, 3), float32] */, %y: Tensor[(3), float32] /* ty=Tensor[(3), float32] */) -> Tensor[(2, 3), float32] {
  %0 = add(%x, %y) /* ty=Tensor[(2, 3), float32] span=from_string:3:3 */;
  %1 = clip(%0, a_min=-1f, a_max=1f) /* ty=Tensor[(2, 3), float32] */;
  %2 = fn (%p: Tensor[(2, 3), float32] /* ty=Tensor[(2, 3), float32] */, Primitive=1, hash="ab-12") -> Tensor[(2, 3), float32] {
    exp(%p) /* ty=Tensor[(2, 3), float32] */
  } /* ty=fn (Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] */;
  %3 = %2(%1) /* ty=Tensor[(2, 3), float32] */;
  multiply(%3, meta[relay.Constant][0] /* ty=Tensor[(3), float32] */) /* ty=Tensor[(2, 3), float32] */
}
"""
RUN = "".join(re.findall(r"  %\d = add.*\n|  %\d = clip.*\n", CLEAN))


def picture(graph):
    """A graph without lines and spans, which repairs may move or lose."""
    nodes = [(n.kind, n.op, n.type, tuple(map(str, n.attrs.items())), n.group, n.pattern) for n in graph.nodes]
    return nodes, graph.inputs, graph.outputs, [(g.kind, g.name) for g in graph.groups]


def one(text, **given):
    (workload,) = wb.load_all(text, **given)
    return workload


def shape(workload):
    graph = workload.graph
    return [f"{n.kind} {n.op}({' '.join(map(str, i))})" for n, i in zip(graph.nodes, graph.inputs, strict=True)]


# -- damage that leaves nothing open: the same picture, and a note that names it

LOSSLESS = {
    "no version": (lambda t: t.split("\n", 1)[1], ""),
    "prose around": (lambda t: f"Hi all,\n\nmy graph (relay, 12\" screen):\n\n{t.split(chr(10), 1)[1]}\nThanks! (see above)", ""),
    "slashes lost": (lambda t: t.replace("/*", "*").replace("*/", "*"), "lost their slashes"),
    "stars lost": (lambda t: re.sub(r"/\* (ty=[^*]*?)( span=\S*)? \*/", r"/ \1 /", t), "lost their stars"),
    "entities": (lambda t: t.replace(">", "&gt;").replace('"', "&quot;"), "HTML entities"),
    "tags": (lambda t: "<pre><code>" + t.replace("\n", "<br/>\n") + "</code></pre>", "HTML tags"),
    "curly quotes": (lambda t: re.sub('"([^"]*)"', "\u201c\\1\u201d", t), "quotes"),
    "typographic dashes": (lambda t: t.replace("-1f", "\u22121f"), "dashes"),
    "typographic arrows": (lambda t: t.replace("->", "\u2192"), "arrows"),
    "broken arrows": (lambda t: t.replace("->", "\u2013>"), "arrows"),
    "hard spaces": (lambda t: t.replace("  ", "\u00a0 "), ""),
    "invisible": (lambda t: t.replace("%", "\u200b%"), "invisible"),
    "Windows": (lambda t: t.replace("\n", "\r\n"), ""),
    "one line": (lambda t: "see " + " ".join(t.split()), "line breaks"),
    "no margins": (lambda t: "see\n" + re.sub(r"(?m)^ +", "", t), "margins"),
    "line by line": (lambda t: re.sub(r"(?<=[(,] )(?=%)", "\n", t), ""),
    "prompts": (lambda t: re.sub("(?m)^(?=.)", ">>> ", t), "prompts"),
    "quoted mail": (lambda t: re.sub("(?m)^(?=.)", "> ", t), "prompts"),
    "line numbers": (lambda t: "\n".join(f"{i:4} {line}" for i, line in enumerate(t.split("\n"))), "numbers before lines"),
    "log": (lambda t: re.sub("(?m)^(?=.)", "[12:01:59] /a/b.cc:31: ", t), "prompts"),
    "colours": (lambda t: t.replace("add", "\x1b[32madd\x1b[0m"), "terminal"),
    "frontend names": (lambda t: t.replace("%y) /*", "%y) /* net/layer 0/add */ /*"), ""),
    "mangled names": (lambda t: t.replace("%y) /*", "%y) * net/layer_0/add * /*"), "names in comments"),
    "Markdown": (lambda t: f"```\n{t}```\n", ""),
    "an id": (lambda t: t.replace("@main", "@main /* id=9876 */"), ""),
    "a bare function": (lambda t: t.split("\n", 1)[1].replace("def @main", "fn "), ""),
}  # fmt: skip


@pytest.mark.parametrize("damage", LOSSLESS)
def test_damage_that_loses_nothing_changes_nothing(damage):
    change, told = LOSSLESS[damage]
    damaged = one(change(CLEAN))
    assert picture(damaged.graph) == picture(one(CLEAN).graph)
    assert told in " ".join(damaged.notes)
    assert one(CLEAN).notes == ["the text names 1 tensor constant without values"], "nothing was repaired"


def test_all_damage_at_once():
    text = CLEAN.split("\n", 1)[1]
    for name in ("slashes lost", "curly quotes", "broken arrows", "one line", "hard spaces"):
        text = LOSSLESS[name][0](text)
    assert picture(one(text).graph) == picture(one(CLEAN).graph)


def test_the_repaired_text_is_shown_and_reads_without_repairs():
    damaged = one(LOSSLESS["one line"][0](LOSSLESS["slashes lost"][0](CLEAN)))
    assert one(damaged.text()).notes == ["the text names 1 tensor constant without values"]
    assert damaged.text().splitlines()[1].startswith("  %0 = add(%x, %y) /* ty=")
    lines = [damaged.text().splitlines()[node.line - 1] for node in damaged.graph.ops]
    assert all(node.op in line for node, line in zip(damaged.graph.ops, lines, strict=True))


def test_attributes_of_other_versions_are_kept_as_they_are_written():
    text = 'def @main(%x {virtual_device=VirtualDevice(device_type=1)}: int8, param_se_scopes=[meta[SEScope][0]], hash="a") { on_device(%x, meta[relay.attrs.OnDeviceAttrs][0]) }'
    graph = one(text).graph
    assert graph.groups[0].attrs == {"param_se_scopes": ["meta[SEScope][0]"], "hash": "a"}
    assert graph.ops[0].attrs == {"attrs": "meta[relay.attrs.OnDeviceAttrs][0]"}
    assert shape(one(text)) == ["param x()", "op on_device(0)"]


def test_the_name_of_a_layer_in_a_comment_is_the_span_of_its_operator():
    ops = wb.load(paste("attention")).graph.ops
    assert [op.span for op in ops if op.op == "subtract"] == ["net/layer_0/attention/self/sub:0:0"]
    assert next(op for op in ops if op.op == "nn.softmax").span == ""


# -- what is missing is assumed, and told


def test_a_run_of_lines_becomes_a_function_of_what_it_lacks():
    workload = one("look:\n" + RUN + "why?")
    assert shape(workload) == ["param x()", "param y()", "op add(0 1)", "op clip(2)"]
    assert workload.graph.outputs == (3,)
    assert workload.notes[:3] == [
        "lines that stood alone became the body of @main",
        "what nothing binds became parameters: %x, %y",
        "no result is given, so the last value is taken as the result: %1",
    ]


def test_a_type_that_a_use_states_is_known_and_any_other_is_not():
    workload = one("%1 = nn.relu(%0) /* ty=Tensor[(2), int8] */;\n%2 = add(%1, %b) /* ty=Tensor[(2), int8] */;")
    assert [node.type for node in workload.graph.nodes[:2]] == ["Tensor[(2), int8]", ""]
    assert "types of parameters follow from where they are used: %0: Tensor[(2), int8]" in workload.notes


def test_a_number_that_nothing_binds_is_a_parameter_also_where_a_field_of_it_is_taken():
    workload = one("%24 = %23.1;\n%25 = exp(%24);")
    assert shape(workload) == ["param 23()", "get_item .1(0)", "op exp(1)"]


def test_all_values_that_nothing_uses_are_the_result_of_a_run():
    workload = one("%1 = exp(%x);\n%2 = tanh(%1);\n%3 = abs(%1);")
    assert shape(workload)[-1] == "tuple tuple(2 3)"
    assert any("every value that nothing uses is taken as the result: (%2, %3)" in note for note in workload.notes)


def test_a_result_behind_the_lines_is_the_result():
    for end in ("add(%0, %1)", "add(%0, %1) /* ty=int8 */\n}", "(%0, %1)\n}\n", "%1\n"):
        workload = one("%0 = exp(%x);\n%1 = tanh(%0);\n" + end + "\nthat is all (thanks)")
        assert not any("no result" in note for note in workload.notes)
    assert shape(workload)[-1] == "op tanh(1)"


def test_prose_after_the_lines_is_no_result():
    for prose in ("add(%5, ...) is slow", "(see above)", "softmax(x) it is", "%1 (see above)"):
        assert any("no result" in note for note in one(f"%0 = exp(%x);\n%1 = tanh(%0);\n{prose}").notes)


def test_free_variables_that_are_declared_have_their_types():
    workload = one("free_var %x: Tensor[(2), int8];\n%0 = exp(%x);\nadd(%0, %x)")
    assert [(n.op, n.type) for n in workload.graph.nodes[:1]] == [("x", "Tensor[(2), int8]")]
    assert shape(workload) == ["param x()", "op exp(0)", "op add(1 0)"]


def test_lets_without_a_body_give_the_last():
    assert shape(one("let %a = exp(%x);\nlet %b = tanh(%a);")) == ["param x()", "op exp(0)", "op tanh(1)"]


def test_lines_go_on_after_something_else_if_they_use_what_is_bound():
    workload = one("%0 = exp(%x);\n...\n%7 = tanh(%0);\n")
    assert shape(workload) == ["param x()", "op exp(0)", "op tanh(1)"]
    assert any("`...` between two lines was left out" in note for note in workload.notes)


def test_a_lost_semicolon_is_put_back():
    workload = one("%0 = exp(%x)\n%1 = tanh(%0)\n")
    assert shape(workload) == ["param x()", "op exp(0)", "op tanh(1)"]


# -- several modules


def test_before_and_after_are_two():
    before, after = wb.load_all(f"before:\n{RUN}\nafter:\n{RUN.replace('clip', 'exp')}")
    assert [node.op for node in before.graph.ops + after.graph.ops] == ["add", "clip", "add", "exp"]
    assert (
        wb.load(f"before:\n{RUN}\nafter:\n{RUN}").notes[-1].startswith("the text holds 2 modules and this is number 1")
    )
    assert str(wb.diff(before.graph, after.graph)).startswith("GraphDiff(")


def test_functions_that_stand_together_or_call_each_other_are_one_module():
    f, main = "def @f(%x: int8) { %x }", "def @main(%x: int8) { @f(%x) }"
    assert len(wb.load_all(f"a\n{f}\n{main}\nb")) == 1
    assert len(wb.load_all(f"{main}\nand this is the helper:\n{f}\n")) == 1
    assert len(wb.load_all(f"{f}\n{main}\n{f}\n{main}")) == 2
    assert len(wb.load_all(f"{f}\nanother thing:\ndef @g(%x: int8) {{ exp(%x) }}")) == 2
    assert len(wb.load_all(f"{CLEAN}{CLEAN}")) == 2


@pytest.mark.parametrize("name", MODULES)
def test_own_pastes_load_with_every_module_in_them(name):
    found = wb.load_all(paste(name), name=name)
    assert len(found) == MODULES[name]
    for workload in found:
        assert workload.graph.ops or len(workload.graph.groups) > 1
        assert workload.notes
        assert one(workload.text()).graph.inputs == workload.graph.inputs, "its text reads by itself"


@pytest.mark.skipif(not seeds(), reason="the folder of posts is not here; tests/pastes holds the same kinds")
def test_every_block_of_the_posts_loads(tell):
    counted = {}
    for path in seeds():
        text = path.read_text(encoding="utf-8")
        found = wb.load_all(text)
        counted[path.name[:3]] = len(found)
        said = " ".join(workload.text() for workload in found)
        for name in set(re.findall(r"%\d+ = ([a-z_.\d]+)\(", text)):
            assert len(re.findall(rf"\b{re.escape(name)}\(", said)) >= len(
                re.findall(rf"%\d+ = {re.escape(name)}\(", text)
            )
    tell(f"modules in the posts: {counted}")
    assert [counted[key] for key in ("000", "001", "002", "003")] == [4, 18, 1, 2]


@pytest.mark.parametrize(
    "prose",
    ["the result has type float32[4]", "of type float32[4] {", "of type foo { or so", "has type Tensor[(4), float32]"],
)
def test_the_word_type_in_prose_is_not_a_definition(prose):
    program = "def @main(%x: Tensor[(2), float32]) { exp(%x) }\n"
    assert len(wb.load_all(f"{prose}\n{program}{prose}\n{program}{prose}\n")) == 2


# -- errors


@pytest.mark.parametrize("before", ["", "It prints:\n"])
def test_lower_case_constructor_is_not_an_operator(before):
    types = "type pair_t {\n  nil,\n  pair(Tensor[(2), float32], pair_t),\n}\ntype other_t[A] {\n  none,\n}\n"
    body = (
        "  let %p: pair_t = pair(%x, nil);\n  match (%p) {\n    pair(%y, nil) => { exp(%y) },\n    _ => { %x },\n  }\n"
    )
    workload = wb.load(f"{before}{types}def @main(%x: Tensor[(2), float32]) {{\n{body}}}\n")
    kinds = {node.op: node.kind for node in workload.graph.nodes}
    assert (kinds["pair"], kinds["nil"], kinds["exp"]) == ("call", "call", "op")
    assert wb.explain_fusion(workload.graph).failure == ""


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("def @main(%x: int8) { exp(%y) }", (1, 27), "%y is not"),
        ("def @main(%x: int8) {\n  exp(%3)\n}", (2, 7), "%3 is not"),
        ("def @main(%x: int8) {\n exp(%x", (2, 8), "expected"),
        ("def @main(%x: int8) { }", (1, 23), "an expression"),
        ("so:\n\n  def @main(%x: int8) {\n  exp(%x }\n", (4, 10), "expected `,`"),
        ("a\u00a0b &gt; c: def @main(%x: int8) &lt; { exp(%x) }", (1, 33), "`{`"),
        ("> %0 = exp(%x);\n> %1 = tanh(%0, axis=);", (2, 22), "the value of an attribute"),
        ("see: %0 = exp(%x); %1 = add(%0, ;", (1, 33), "an expression"),
        ("def @main(%x: int8) { %0 = exp(%x); %0 = tanh(%x); %0 }", (1, 37), "%0 is"),
        ("def @main(%x: int8) { %0 = exp(%x);", (1, 36), "an expression"),
        ("free_var %x: int8;\n", (2, 1), "after variables that are free"),
        ("def @main(%x: int8) {\n  %0 = ref();\n  ref_read(%0)\n}", (2, 13), "as many values in ref(...) as it takes, 1"),
    ],
)  # fmt: skip
def test_an_error_names_the_place_in_the_text_as_it_was_pasted(text, place, words):
    with pytest.raises(ParseError, match=re.escape(words)) as caught:
        wb.load(text)
    assert (caught.value.line, caught.value.column) == place
    assert "found: " in str(caught.value)


def test_there_is_no_module_without_a_tvm_and_that_is_said():
    with pytest.raises(LoadError, match=r"a graph and no module: .* use the Jupyter kernel"):
        _ = one(RUN).module


def test_an_unknown_operator_is_named_with_its_place_and_the_nearest_name():
    notes = wb.load("def @main(%x: Tensor[(2, 3), float32]) {\n  nn.relux(%x)\n}").notes
    assert "line 2, column 3: TVM 0.17 has no operator nn.relux; did you mean nn.relu or nn.prelu?" in notes
    own = wb.load("def @main(%x: Tensor[(2, 3), float32]) { our_company.gemm(%x) }").notes
    assert not any("has no operator" in note for note in own)


def test_a_text_that_was_cut_off_is_said_to_end_there():
    with pytest.raises(ParseError, match=r"found: the end of the text, after %1 = exp\(%0$"):
        wb.load("def @main(%x: int8) {\n  %0 = exp(%x);\n  %1 = exp(%0")


@pytest.mark.parametrize("act", [wb.trace, wb.trace_build, wb.kernels, wb.explore, wb.Workbench])
def test_what_needs_a_module_says_why_there_is_none_and_what_shows_the_graph(act):
    with pytest.raises(LoadError, match=r"a graph and no module: .* GraphView, CompareView and FusionInspector"):
        act(one(RUN), "FuseOps") if act is wb.trace else act(one(RUN))


@pytest.mark.parametrize("text", ["hello\n(world)", "/* only a comment */"])
def test_text_with_nothing_of_relay_in_it_is_refused(text):
    with pytest.raises(LoadError):
        wb.load(text)


@pytest.mark.parametrize(("text", "column", "words"), [("def main() {}", 5, "@main"), ("hello", 1, "def @name")])
def test_the_parser_names_what_it_expects_first(text, column, words):
    with pytest.raises(ParseError, match=words) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (1, column)


@pytest.mark.parametrize("text", ["", " \n\n"])
def test_an_empty_paste_is_said_to_be_empty(text):
    with pytest.raises(LoadError, match="the text is empty"):
        wb.load(text)


def test_colours_of_a_terminal_do_not_hide_that_it_is_relay():
    w = one("\x1b[35mdef\x1b[39m @main(\x1b[34m%x\x1b[39m: Tensor[(1, 10), float32]) {\n nn.relu(%x)\n}")
    assert [node.op for node in w.graph.ops] == ["nn.relu"]


def test_files_of_text_load(tmp_path):
    for suffix in (".txt", ".relay", ".log"):
        path = tmp_path / f"dump{suffix}"
        path.write_text(paste("adds"), encoding="utf-8")
        assert [workload.name for workload in wb.load_all(path)] == ["dump 1", "dump 2"]
        assert wb.load(path).name == "dump 1"


# -- what needs no module works


def test_fusion_branches_and_chains_are_explained_from_text():
    kernels = wb.load_all(paste("casts"))[0].graph
    assert wb.parallel_branches(kernels)[0].kind == "identical"
    before, after = (workload.graph for workload in wb.load_all(paste("adds")))
    assert max(len(group.nodes) for group in wb.explain_fusion(after).groups) == 4
    assert wb.constant_chains(after)
    assert wb.diff(before, after).added


@pytest.mark.parametrize(
    ("literal", "type"),
    [("2f", "float32"), ("1.5", "float32"), ("3", "int32"), ("-1i64", "int64"), ("1f16", "float16"), ("True", "bool")],
)
def test_literal_has_the_type_that_tvm_gives_it(literal: str, type: str) -> None:
    graph = wb.load(f"def @main(%x: Tensor[(2), float32]) {{ add(%x, {literal}) }}").graph
    assert [node.type for node in graph.nodes if node.kind == "constant"] == [type]


@pytest.mark.parametrize("mark", ["#", "//"])
def test_types_in_comments_of_other_languages_are_read(mark: str) -> None:
    kind = "Tensor[(2, 2), float32]"
    (workload,) = wb.load_all(
        f"%0 = nn.conv2d(%x, %w, padding=(1, 1)); {mark} ty={kind}\n%1 = exp(%0); {mark} ty={kind}\n"
    )
    assert [(node.type, node.attrs.get("padding")) for node in workload.graph.ops] == [(kind, [1, 1]), (kind, None)]


def test_lines_that_mail_wrapped_are_joined() -> None:
    text = "X wrote:\n> def @main(%x: Tensor[(1, 4,\n> 8), float32]) {\n>   %0 = exp(%x) /* ty=Tensor[(1, 4,\n> 8), float32] */;\n>   nn.relu(%0)\n> }\n"
    (workload,) = wb.load_all(text)
    assert [node.op for node in workload.graph.ops] == ["exp", "nn.relu"]
    assert workload.graph.ops[0].type == "Tensor[(1, 4, 8), float32]"
