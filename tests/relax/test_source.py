"""Relax text as people have it: what is read of it, what is repaired, and what is refused (see test_source_attacks.py)."""

from __future__ import annotations

import ast
import gc
import re
import textwrap
from pathlib import Path

import pytest
from breadth import breadth

import workbench as wb
from workbench.dialects.base import Workload
from workbench.dialects.relax.parser.nodes import tree_of
from workbench.errors import LoadError, ParseError

SMALL = {"attention": {"seq": 8, "heads": 2, "head": 4}, "bert": {"layers": 1, "hidden": 16, "seq": 8, "heads": 2}}
HEAD = "@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n"


def test_a_text_that_would_end_the_process_is_refused() -> None:
    # ShapeExpr of a None is a segmentation fault in TVM 0.27
    with pytest.raises(ParseError):
        wb.load(HEAD + "    y = R.shape([None])\n    return x\n")


class ParsesWhenCollected:
    """Garbage that parses something as it is collected, as the printing of a traceback does."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        self.parse(30)

    def parse(self, depth: int) -> None:
        if depth:
            self.parse(depth - 1)
        else:
            ast.parse("x")


def test_garbage_that_is_collected_does_not_disturb_the_reading() -> None:
    text = HEAD + "".join(f"    x{i} = R.add(x, R.const({i}, 'float32'))\n" for i in range(60)) + "    return x\n"
    before = gc.get_threshold()
    gc.set_threshold(20)
    try:
        for _ in range(3):
            ParsesWhenCollected()
            assert tree_of(text).body
    finally:
        gc.set_threshold(*before)


def test_python_around_the_program_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    touched = tmp_path / "touched"
    path.write_text(
        '"""A model."""\nimport os\nfrom tvm.script import ir as I, relax as R\n'
        f"open({str(touched)!r}, 'w').close()\n"
        "def helper():\n    return 3\n\n"
        "@I.ir_module\nclass Mine:\n    @R.function\n    def main(x: R.Tensor((4,), 'float32')):\n        return R.nn.relu(x)\n"
        "\nif __name__ == '__main__':\n    print(Mine)\n"
    )
    workload = wb.load(path)
    assert workload.name == "model"
    assert [node.op for node in workload.graph.ops] == ["relax.nn.relu"]
    assert not touched.exists()
    assert len(workload.notes) == 1
    assert "4 statements around the program" in workload.notes[0]


def test_a_function_alone_is_a_program() -> None:
    assert [node.op for node in wb.load(HEAD + "    return R.nn.relu(x)\n").graph.ops] == ["relax.nn.relu"]


def test_two_programs_are_two_workloads() -> None:
    text = f"before:\n{HEAD}    return R.exp(x)\n\nafter:\n{HEAD}    return R.nn.relu(x)\n"
    before, after = wb.load_all(text)
    assert [[node.op for node in each.graph.ops] for each in (before, after)] == [["relax.exp"], ["relax.nn.relu"]]
    assert "the text holds 2 modules and this is number 1" in wb.load(text).notes[-1]


def test_the_place_is_named() -> None:
    with pytest.raises(ParseError) as caught:
        wb.load(HEAD + "    y = R.add(x, ö__(x))\n    return x\n")
    assert (caught.value.line, caught.value.column) == (3, 18)
    with pytest.raises(LoadError, match=r"line 3, column 9: .*R.nosuch"):
        wb.load(HEAD + "    y = R.nosuch(x)\n    return x\n")
    with pytest.raises(LoadError, match=r"line 3, column 9: .*R.nn.relux \(did you mean R.nn.relu"):
        wb.load(HEAD + "    y = R.nn.relux(x)\n    return x\n")


def test_lines_of_errors_of_tvm_are_those_of_the_text() -> None:
    with pytest.raises(LoadError, match=r"TVM cannot read this Relax text: line 8: "):
        wb.load("# a\n\n" + HEAD + "    # b\n    y = (x,\n         x)\n    z = R.add(x)\n    return x\n")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("    _ = R.print(x, format='{}')\n    return x\n", "not well-formed: .*contains an impure call: R.print"),
        (
            "    y = R.add(x, R.const([1.0, 2.0], 'float32'))\n    return y\n",
            "line 3: In relax.add, .*not broadcastable",
        ),
    ],
)
def test_reason_of_tvm_is_kept(body: str, reason: str) -> None:
    with pytest.raises(LoadError, match=f"TVM cannot read this Relax text: .*{reason}"):
        wb.load(HEAD + body)


TENSOR = 'R.Tensor((2, 4), dtype="float32")'
BODY = f"    lv: {TENSOR} = R.add(x, x)\n    lv1: {TENSOR} = R.nn.relu(lv)\n"
WHOLE = f"@R.function\ndef main(x: {TENSOR}) -> {TENSOR}:\n{BODY}    return lv1\n"
IN_MODULE = "class Module:\n" + textwrap.indent(WHOLE, "    ")


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (WHOLE.removeprefix("@R.function\n"), "lacks it: @R.function"),
        (IN_MODULE, "lacks it: @I.ir_module"),
        ("@tvm.script.ir_module\n" + IN_MODULE, "TVM 0.12 or older: tvm.script.ir_module became I.ir_module"),
        (WHOLE.removesuffix("    return lv1\n"), "lacks it: return"),
        (BODY, "a function around the statements, return"),
        (textwrap.dedent(BODY), "nothing in the text binds x"),
        (f"with R.dataflow():\n{BODY}", "R.output, return"),
        (
            f"{WHOLE[: WHOLE.index('    lv1')]}    ...\n{WHOLE[WHOLE.index('    lv1') :]}",
            "`...` in place of statements",
        ),
        (f"{WHOLE}    lv2 = R.add(lv1,", "the last statement is cut off"),
        (f"Hi,\n\n{WHOLE}\nWhy (is it) two kernels? Thanks!\n", "2 lines around the program left out"),
        (f"Hi,\n\n```python\n{WHOLE}```\nThanks!\n", "4 lines around the program left out"),
        ("X wrote:\n" + textwrap.indent(f"Hi,\n{WHOLE}", "> "), "quotation marks"),
        (textwrap.indent(WHOLE, "    ") + "\nThanks!", "1 line around the program"),
        ("\n".join(f"{n:3d} | {line}" for n, line in enumerate(WHOLE.splitlines(), 1)), "numbers before lines"),
        (WHOLE.replace(" ", "\u00a0").replace('"', "\u201c"), "typographic quotes"),
        (WHOLE.replace('"', "&quot;").replace(">", "&gt;"), "HTML entities"),
        (f"\x1b[34m{WHOLE}\x1b[0m", "terminal colours"),
    ],
)
def test_text_as_people_have_it(text: str, note: str) -> None:
    workload = wb.load(text)
    assert [node.op for node in workload.graph.ops] == ["relax.add", "relax.nn.relu"]
    assert note in "; ".join(workload.notes)


def of_tvm_0_24(text: str) -> str:
    for new, old in (("T.sblock_alloc_buffer", "T.alloc_buffer"), ("T.sblock", "T.block"), ("R.Any", "R.Object")):
        text = text.replace(new, old)
    text = re.sub(r",? ?s_tir=True", "", text).replace("out_dtype=None", 'out_dtype="void"')
    return text.replace("out_ty=", "out_sinfo=").replace("ty_args=", "sinfo_args=")


@pytest.mark.parametrize("name", ["mlp", "parallel_cast"])
def test_text_of_an_older_tvm_is_the_same_program(name: str) -> None:
    given = wb.trace(wb.samples.load(name), STAGES[-1]).result
    printed = given.script(show_meta=True)
    read = wb.load(of_tvm_0_24(printed))
    assert wb.load(printed).graph.to_json() == read.graph.to_json()
    assert "the text is of TVM 0.24 or older" in "; ".join(read.notes)


def test_constants_without_values_are_parameters() -> None:
    whole = wb.samples.load("parallel_cast")
    for stage in ("", STAGES[-1]):
        text = wb.trace(whole, stage).result.script() if stage else whole.text()
        read = wb.load(text)
        assert "the text has no values that this TVM reads for 2 constants" in "; ".join(read.notes)
        assert sum(node.op.startswith("constant_") for node in read.graph.nodes if node.kind == "param") == 2


def test_inner_functions_keep_the_names_of_the_outer() -> None:
    inner = "    @R.function\n    def inner(y: R.Tensor((4,), 'float32')) -> R.Tensor((4,), 'float32'):\n        return R.add(x, y)\n"
    assert wb.load(HEAD + inner + "    return inner(x)\n").notes == []


STAGES = (
    "LegalizeOps",
    "LegalizeOps,AnnotateTIROpPattern,FuseOps{fuse_opt_level=2}",
    "LegalizeOps,AnnotateTIROpPattern,FuseOps{fuse_opt_level=2},FuseTIR",
)
NAMES = ("attention", "bert", "branches", "conv_bias_batch_norm", "mlp", "parallel_cast")


@pytest.mark.parametrize("pipeline", STAGES)
@pytest.mark.parametrize("name", breadth(NAMES, "mlp", "parallel_cast"))
def test_what_tvm_prints_reads_back(name: str, pipeline: str) -> None:
    from workbench.dialects.relax import DIALECT

    module = wb.trace(wb.samples.load(name, **SMALL.get(name, {})), pipeline).result
    read: Workload = wb.load(module.script(show_meta=True))
    assert DIALECT.frontend.same(read.module, module)


def test_what_tvm_prints_and_can_not_read_is_refused_by_tvm_not_by_us() -> None:
    pipeline = "LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite"
    module = wb.trace(wb.samples.load("mlp"), pipeline).result
    with pytest.raises(LoadError, match=r"unexpected keyword argument 'ty_args'"):
        wb.load(module.script(show_meta=True))
