"""A text is read, never run: what could run something is refused before TVM's parser sees it."""

from __future__ import annotations

import ast
import gc
from pathlib import Path

import pytest
import tvm
from breadth import breadth

import workbench as wb
from workbench.dialects.base import Workload
from workbench.dialects.relax.parser.nodes import tree_of
from workbench.errors import LoadError, ParseError

SMALL = {"attention": {"seq": 8, "heads": 2, "head": 4}, "bert": {"layers": 1, "hidden": 16, "seq": 8, "heads": 2}}
HEAD = "@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n"
RUN = "__import__('pathlib').Path({path!r}).touch()"
ATTACKS = {
    "a call": HEAD + "    y = R.shape([{run}])\n    return x\n",
    "a shape's string": '@R.function\ndef main(x: R.Tensor(("{run}", 4), "float32")):\n    return x\n',
    "a shape's string, put together": '@R.function\ndef main(x: R.Tensor(("__import__" + "(1)", 4), "float32")):\n    return x\n',
    "a formatted string": '@R.function\ndef main(x: R.Tensor((f"{{1}}", 4), "float32")):\n    return x\n',
    "a string kept in a name": HEAD + "    a = '__import__'\n    return x\n",
    "a string annotation": '@R.function\ndef main(x: "{run}"):\n    return x\n',
    "a default": "@R.function\ndef main(x: R.Tensor((4,), 'float32') = {run}):\n    return x\n",
    "a decorator": "@{run}\n" + HEAD + "    return x\n",
    "a decorator inside": "@I.ir_module\nclass Module:\n    @{run}\n    @R.function\n    def main(x: R.Tensor((4,), 'float32')):\n        return x\n",
    "a function of Python": "@I.ir_module\nclass Module:\n    @I.pyfunc\n    def f(x):\n        {run}\n    @R.function\n    def main(x: R.Tensor((4,), 'float32')):\n        return x\n",
    "a statement of the class": "@I.ir_module\nclass Module:\n    y = {run}\n    @R.function\n    def main(x: R.Tensor((4,), 'float32')):\n        return x\n",
    "an import": HEAD + "    import os\n    return x\n",
    "a module that TVM imports": HEAD + "    y = R.vm.vm.tvm.os.getcwd()\n    return x\n",
    "a module of the builder": HEAD + "    y = T.ir.tvm.os.getcwd()\n    return x\n",
    "a namespace passed on": HEAD + "    tvm = os = R.nn\n    y = tvm.tvm\n    return x\n",
    "a namespace under another name": HEAD + "    cls = R\n    y = cls.nn\n    return x\n",
    "a private attribute": HEAD + "    y = R.nn.conv2d.__globals__\n    return x\n",
    "a file written by a value": HEAD + "    y = R.const(1).value.numpy().tofile('x')\n    return x\n",
    "a lambda called": HEAD + "    y = (lambda a: a)(x)\n    return x\n",
    "a comprehension": HEAD + "    y = R.shape([i for i in range(3)])\n    return x\n",
    "a walrus": HEAD + "    y = R.shape([(z := 3)])\n    return x\n",
    "a compiler started": "@T.prim_func(s_tir=True)\ndef main(A: T.Buffer((4,), 'float32')):\n    T.call_kernel('x.cu', 1)\n",
    "a name that TVMScript needs": HEAD + "    R = x\n    return x\n",
    "a builtin": HEAD + "    y = R.shape([eval('3')])\n    return x\n",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_text_that_would_run_something_is_refused(attack: str, tmp_path: Path) -> None:
    path = tmp_path / "touched"
    text = ATTACKS[attack].format(run=RUN.format(path=str(path)))
    with pytest.raises(LoadError) as caught:
        wb.load(text)
    assert not path.exists()
    # which modules there are to reach differs between TVMs
    if "line" in str(caught.value) and "has no attribute" not in str(caught.value):
        assert isinstance(caught.value, ParseError), "the refusal is ours, from before the parser"


def test_the_parser_itself_does_run_text(tmp_path: Path) -> None:
    """Why all this: if TVM's parser ever stops doing it, the check can go."""
    path = tmp_path / "touched"
    text = HEAD + f"    y = R.shape([{RUN.format(path=str(path))} or 4])\n    return x\n"
    tvm.script.from_source(text)
    assert path.exists()


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


def test_two_programs_are_one_too_many() -> None:
    with pytest.raises(LoadError, match=r"2 programs \(main, main\)"):
        wb.load(2 * (HEAD + "    return x\n"))


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


def test_text_without_its_constants_says_how_to_keep_them() -> None:
    workload = wb.samples.load("parallel_cast")
    with pytest.raises(LoadError, match=r"script\(show_meta=True\)"):
        wb.load(workload.text())


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
    with pytest.raises(LoadError, match=r"unexpected keyword argument '(ty|sinfo)_args'"):
        wb.load(module.script(show_meta=True))
