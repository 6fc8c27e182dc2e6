"""Texts that try to run something when they are read. A canary shows each call that a text gets through.

`load` here is the registry's: it reads in this process, where the canary watches. The canary is a builtin, a function of TVM's registry and a watch on what starts processes or writes files. Each text that
is accepted is also given to TVM's parser as it comes, with all of Python in reach: the check alone must hold.
"""

from __future__ import annotations

import ast
import builtins
import gc
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import cycle, product

import pytest
import tvm
import tvm_ffi
from breadth import breadth, seeds

import workbench as wb
from workbench.dialects.readers import load
from workbench.dialects.relax.parser import expressions, vocabulary
from workbench.dialects.relax.parser.source import find_program
from workbench.dialects.relax.saved import load_metadata
from workbench.errors import LoadError, ParseError, WorkbenchError

SEEDS = seeds(20_000)
"chosen here, because git is asked for the commit, and the tests watch what is started"
CALLS: list[str] = []
WATCHED = (
    "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.remove", "os.rename", "subprocess.Popen",
    "ctypes.dlopen",
)  # fmt: skip
watching = False


def _canary(*arguments: object, **_: object) -> int:
    CALLS.append(f"called with {len(arguments)} arguments")
    return 4


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if watching and (event in WATCHED or (event == "open" and set(str(arguments[1])) & set("wax+"))):
        CALLS.append(f"{event} {arguments[:1]}")
        raise PermissionError(event)


sys.addaudithook(_watch)
tvm_ffi.register_global_func("workbench.CANARY", _canary, override=True)


@pytest.fixture(scope="module", autouse=True)
def _no_garbage() -> Iterator[None]:
    """Garbage of earlier tests removes its files when it is collected; a text did not call that."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _canary_is_silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    global watching
    monkeypatch.setattr(builtins, "CANARY", _canary, raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a module of ours may be imported here for the first time
    monkeypatch.setattr(expressions, "PYTHON", frozenset(dir(builtins)))
    vocabulary.vocabulary()
    before, watching = _parser_names(), True
    CALLS.clear()
    yield
    watching = False
    assert not CALLS
    assert _parser_names() == before, "a text changed TVM's parser"


def _parser_names() -> dict[str, int]:
    from tvm.script.parser import ir, relax, tirx

    return {f"{space.__name__}.{name}": id(value) for space in (ir, relax, tirx) for name, value in vars(space).items()}


def read(text: str) -> bool:
    """Read a text as a user does, and hand what is accepted to TVM's parser with nothing kept from it."""
    try:
        source = find_program(text, vocabulary.vocabulary())
    except LoadError:
        return False
    constants: dict[str, object] = {"metadata": {}}
    with suppress(WorkbenchError):
        if source.metadata is not None:
            constants["metadata"] = load_metadata(source.metadata)
        load(text)
    # TVM's parser raises many kinds, and only the canary matters
    with suppress(Exception):
        tvm.script.from_source(source.program, extra_vars={**_everything(), **constants})
    return True


@cache
def _everything() -> dict[str, object]:
    from tvm.script.parser.core.entry import _default_globals  # pyright: ignore[reportPrivateUsage]

    return _default_globals()


HEAD = "@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n"
TIR = "@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n    def f(A: T.Buffer((T.int64(4),), 'float32')):\n        T.func_attr({'tir.noalias': True})\n"
MAIN = "    @R.function\n    def main(x: R.Tensor((4,), 'float32')):\n        return x\n"
SEPARATORS = (
    "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r", "\r\n", "\n\x0c", "\\\n", "\0",
    "\ufeff", "\u200b",
)  # fmt: skip

WIDE = "".join(chr(ord(letter) + 0xFEE0) for letter in "CANARY")
"full-width letters, which Python reads as the plain ones"
EXPRESSIONS = (
    "CANARY()",
    "__import__('os').system('CANARY')",
    "__import__('pathlib').Path('CANARY').touch()",
    "open('CANARY', 'w')",
    "eval('CANARY()')",
    "exec('CANARY()')",
    "compile('CANARY()', '', 'eval')",
    "getattr(T, 'meta_var')(CANARY())",
    "globals()['CANARY']()",
    "(lambda: CANARY())()",
    "(lambda a=CANARY(): a)",
    "[CANARY() for i in (1,)]",
    "{CANARY() for i in (1,)}",
    "{1: CANARY() for i in (1,)}",
    "(CANARY() for i in (1,))",
    "(z := CANARY())",
    "f'{CANARY()}'",
    "f'{x!r:{CANARY()}}'",
    "(yield CANARY())",
    "(await CANARY())",
    "(CANARY() if True else x)",
    "(True and CANARY())",
    "(x, CANARY())",
    "[x, CANARY()]",
    "{'a': CANARY()}",
    "{**CANARY()}",
    "x[CANARY()]",
    "x[CANARY():]",
    "(x + CANARY())",
    "(-CANARY())",
    "(x < CANARY())",
    "(x is CANARY())",
    "CANARY",
    "CANARY.__class__",
    "CANARY.__call__()",
    WIDE + "()",
    "\uff45val('CANARY()')",
    "().__class__.__base__.__subclasses__()",
    "x.__class__.__init__.__globals__['CANARY']()",
    "R.nn.conv2d.__globals__['__builtins__']['CANARY']()",
    "I.GenericConst.is_.func_globals['CANARY']()",
    "T.meta_var(I.GenericConst.is_.func_globals['CANARY']())",
    "T.meta_var(CANARY())",
    "I.meta_var(CANARY)",
    "T.register_script_namespace('float32', CANARY)",
    "T.call_kernel('CANARY.cu', 1)",
    "T.inline(CANARY)",
    "T.macro(CANARY)",
    "T.meta_class(CANARY)",
    "T.static_assert(CANARY())",
    "R.rewriter(CANARY)",
    "R.emit_te(CANARY, x)",
    "R.macro(CANARY)",
    "R.call_py_func('CANARY', x, out_ty=R.Tensor((4,), 'float32'))",
    "R.vm.vm.tvm.os.system('CANARY')",
    "R.builtin.builtin.tvm.os.system('CANARY')",
    "T.ir.tvm.get_global_func('workbench.CANARY')()",
    "T.tir.op.tvm.get_global_func('workbench.CANARY')()",
    "T._tir.tvm",
    "T.frame.IRBuilderFrame.add_callback(x, CANARY)",
    "I.ir_module.__globals__['CANARY']",
    "tvm.get_global_func('workbench.CANARY')()",
    "tvm.script.from_source('CANARY()')",
    "tvm.script.parser.core.evaluator.eval_expr(CANARY)",
    "tvm.ir.load_json('CANARY')",
    "__current_script_parser__.eval_expr('CANARY()')",
    "__tvm_tmp_value_0('CANARY()')",
    "__builtins__['CANARY']()",
    "metadata['CANARY'][0]()",
    "metadata['CANARY'][0].value('CANARY()')",
    "R.Tensor(('CANARY()', 4), 'float32')",
    "R.Tensor(['CANARY()'], 'float32')",
    "R.Tensor(('CANARY' + '()',), 'float32')",
    "R.Tensor((f'CANARY()',), 'float32')",
    "R.Tensor(('''CANARY()''',), 'float32')",
    "R.Tensor(('\\x43ANARY()',), 'float32')",
    "R.Tensor(('n if CANARY() else n',), 'float32')",
    "R.Tensor(('n + CANARY()',), 'float32')",
    "R.Tensor(('T.min(n, CANARY())',), 'float32')",
    'R.Tensor(("R.Tensor((\'CANARY()\',)).as_ty({})",), "float32")',
    'R.Tensor(("T.Buffer((\'CANARY()\',))",), "float32")',
    "R.Tensor(('[CANARY() for i in (1,)][0]',), 'float32')",
    "R.Tensor(('(lambda: CANARY())()',), 'float32')",
    "R.Tensor(('n.__class__',), 'float32')",
    "R.Tensor(('n(CANARY)',), 'float32')",
    "R.Tensor(('eval(n)',), 'float32')",
    "R.Tensor(('CANARY(n)',), 'float32')",
    f"R.Tensor(('{WIDE}()',), 'float32')",
    "R.Tensor(('n\\u2028CANARY()',), 'float32')",
    "R.Tensor(('n) or CANARY(',), 'float32')",
    "R.Tensor(shape=('CANARY()',), dtype='float32')",
    "R.Tensor(('n',), 'CANARY()')",
    "R.Tensor(('n',), dtype='CANARY()', vdevice='CANARY()')",
    "R.Shape(['CANARY()'])",
    "R.Shape(values=['CANARY()'])",
    "R.Shape('CANARY()')",
    "R.Prim('int64', 'CANARY()')",
    "R.Prim(value='CANARY()')",
    "R.DTensor(('CANARY()',), 'float32')",
    "R.Tuple(CANARY)",
    "R.Tuple([CANARY])",
    "R.Tuple(R.Tensor(('CANARY()',)), R.Any)",
    "R.Callable(CANARY)",
    "R.Callable((R.Tensor(('CANARY()',)),), R.Any)",
    "R.Callable(derive_func='workbench.CANARY')",
    "R.Callable(None, R.Any, True, 'workbench.CANARY')",
    "R.call_packed('workbench.CANARY', x, ty_args=CANARY)",
    "R.call_packed('workbench.CANARY', x, ty_args=(R.Tensor((4,), 'float32'),))",
    "R.call_packed('a', x, attrs_type_key='CANARY', ty_args=(R.Any,))",
    "R.match_cast(x, R.Tensor(('CANARY()',), 'float32'))",
    "R.layout_transform(x, index_map=CANARY)",
    "R.layout_transform(x, index_map=lambda i: CANARY())",
    "R.layout_transform(x, index_map=T.index_map(CANARY))",
    "R.layout_transform(x, index_map=T.index_map(lambda i, a=CANARY(): (i,)))",
    "R.layout_transform(x, index_map=T.index_map(lambda i: (CANARY(i),)))",
    "R.const('CANARY()')",
    "R.const(1).value.numpy().tofile('CANARY')",
    "R.shape([CANARY()])",
    "R.shape(['CANARY()'])",
    "R.str('CANARY()')",
    "R.to_vdevice(x, 'CANARY()')",
    "R.func_attr({'a': CANARY()})",
    "R.ExternFunc('workbench.CANARY')(x)",
    "R.print(x, format=CANARY())",
    "T.Buffer(('CANARY()',), 'float32')",
    "T.Buffer('CANARY()', 'float32')",
    "T.Buffer(shape=('CANARY()',))",
    "T.Buffer[CANARY()]",
    "T.Buffer((4,), 'float32', scope=CANARY())",
    "T.Buffer((4,), CANARY)",
    "T.match_buffer(x, ('CANARY()',))",
    "T.Tuple(CANARY)",
    "T.let[CANARY]",
    "T.handle(CANARY)",
    "T.handle[CANARY()]",
    "T.comm_reducer(CANARY, [T.float32(0)])",
    "T.comm_reducer(lambda a, b: CANARY(), [T.float32(0)])",
    "T.target('CANARY()')",
    "T.target({'kind': 'llvm', 'tag': 'CANARY()'})",
    "T.iter_var('v', T.Range(0, 4), '__init__', 'CANARY()')",
    "T.float32('CANARY()')",
    "T.attr(CANARY(), 'CANARY()', 1)",
    "T.evaluate(T.call_packed('workbench.CANARY', 1))",
    "T.call_extern('int32', 'CANARY')",
    "T.call_intrin('int32', 'CANARY()')",
    "T.call_llvm_intrin('int32', 'CANARY()')",
    "print(CANARY())",
    "range(CANARY())",
    "max(CANARY(), 1)",
    "len(CANARY())",
    "TypeVar('CANARY()')",
    "cls.CANARY()",
    "cls.__class__",
    "Module.CANARY()",
    "Module.main.__globals__",
)
TEXTS = (
    HEAD + "    with R.dataflow() as CANARY:\n        a = CANARY(x)\n        R.output(a)\n    return a\n",
    HEAD + "    CANARY = x\n    a = CANARY(x)\n    return a\n",
    "@R.function(pure=False)\ndef main(x: R.Tensor((4,), 'float32'), f: R.Callable(derive_func='workbench.CANARY')):\n    y = f(x)\n    return y\n",
    "@R.function(pure=False)\ndef main(x: R.Tensor((4,), 'float32'), f: R.Callable(None, None, True, 'workbench.CANARY')):\n    y = f(x)\n    return y\n",
    HEAD.replace("'float32'", "'CANARY'") + "    y = R.match_cast(x, R.Tuple(CANARY))\n    return y\n",
    HEAD + "    \uff59ield = x\n    return x\n",
    HEAD.replace("(4,)", "('\uff4eot - n', '\uff4cambda')") + "    return x\n",
    "@CANARY()\n" + HEAD + "    return x\n",
    HEAD.replace("@R.function", "@R.function(pure=CANARY())") + "    return x\n",
    HEAD.replace("@R.function", "@R.function(CANARY())") + "    return x\n",
    HEAD.replace("@R.function", "@R.function(**CANARY())") + "    return x\n",
    HEAD.replace("@R.function", "@R.function(check_well_formed=CANARY())") + "    return x\n",
    HEAD.replace("@R.function", "@R.function\n@CANARY") + "    return x\n",
    HEAD.replace("@R.function", "@R.function()()") + "    return x\n",
    HEAD.replace("'float32')", "'float32') = CANARY()", 1) + "    return x\n",
    HEAD.replace("x: R.Tensor((4,), 'float32')", "x: 'CANARY()'") + "    return x\n",
    HEAD.replace("x: R.Tensor((4,), 'float32')", "*x: CANARY()") + "    return x\n",
    HEAD.replace("x: R.Tensor((4,), 'float32')", "**x: CANARY()") + "    return x\n",
    HEAD.replace("x: R.Tensor((4,), 'float32')", "x, /, *, y: R.Any = CANARY()") + "    return x\n",
    HEAD.replace("):\n", ") -> CANARY():\n") + "    return x\n",
    HEAD.replace("):\n", ") -> 'CANARY()':\n") + "    return x\n",
    HEAD.replace("def main", "async def main") + "    return x\n",
    HEAD.replace("def main", "def CANARY") + "    return CANARY(x)\n",
    HEAD + "    x: CANARY() = x\n    return x\n",
    HEAD + "    x: 'CANARY()' = x\n    return x\n",
    HEAD + "    x.data = x\n    return x\n",
    HEAD + "    x[0] = CANARY()\n    return x\n",
    HEAD + "    (a := CANARY())\n    return x\n",
    HEAD + "    eval = 'CANARY()'\n    a = R.Tensor((eval,), 'float32')\n    return a\n",
    HEAD + "    a = 'CANARY()'\n    b = R.match_cast(x, R.Tensor((a,), 'float32'))\n    return x\n",
    HEAD + "    a, b = 'CANARY()', x\n    b = R.match_cast(x, R.Tensor((a,), 'float32'))\n    return x\n",
    HEAD + "    a = R.Tensor\n    b = a(('CANARY()',))\n    return x\n",
    HEAD + "    a = CANARY\n    b = a(x)\n    return x\n",
    HEAD + "    import os\n    return x\n",
    HEAD + "    from os import system\n    return x\n",
    HEAD + "    global CANARY\n    return x\n",
    HEAD + "    del x\n    return CANARY()\n",
    HEAD + "    raise CANARY()\n",
    HEAD + "    try:\n        CANARY()\n    finally:\n        pass\n    return x\n",
    HEAD + "    with CANARY():\n        return x\n",
    HEAD + "    for i in CANARY():\n        pass\n    return x\n",
    HEAD + "    while CANARY():\n        pass\n    return x\n",
    HEAD + "    if CANARY():\n        y = x\n    else:\n        y = x\n    return y\n",
    HEAD + "    match CANARY():\n        case _:\n            pass\n    return x\n",
    HEAD + "    assert CANARY(), CANARY()\n    return x\n",
    HEAD + "    x += CANARY()\n    return x\n",
    HEAD + "    class A:\n        CANARY()\n    return x\n",
    HEAD + "    @CANARY\n    @R.function\n    def f(y: R.Any):\n        return y\n    return f(x)\n",
    HEAD + "    def f(y: R.Any):\n        return CANARY()\n    return f(x)\n",
    HEAD + "    T = x\n    return T.meta_var(CANARY())\n",
    "# -*- coding: utf-7 -*-\n" + HEAD + "    return +AEMAQQBOAEEAUgBZ()\n",
    "# -*- coding: rot13 -*-\n" + HEAD + "    return PNANEL()\n",
    "CANARY = TypeVar('CANARY')\n" + HEAD + "    return CANARY(x)\n",
    "n = TypeVar('n', bound=CANARY())\n" + HEAD + "    return n\n",
    "n = TypeVar(CANARY())\n" + HEAD + "    return n\n",
    "@I.ir_module\nclass Module(CANARY()):\n" + MAIN,
    "@I.ir_module\nclass Module(metaclass=CANARY):\n" + MAIN,
    "@I.ir_module\nclass Module(BasePyModule):\n    @I.pyfunc\n    def f(x):\n        CANARY()\n" + MAIN,
    "@I.ir_module\nclass Module(R.Any):\n" + MAIN,
    "@I.ir_module(CANARY())\nclass Module:\n" + MAIN,
    "@I.ir_module\nclass Module:\n    CANARY()\n" + MAIN,
    "@I.ir_module\nclass Module:\n    a = CANARY()\n" + MAIN,
    "@I.ir_module\nclass Module:\n    a: CANARY() = 1\n" + MAIN,
    "@I.ir_module\nclass Module:\n    I.module_attrs({'a': CANARY()})\n" + MAIN,
    "@I.ir_module\nclass Module:\n    I.module_attrs(CANARY())\n" + MAIN,
    "@I.ir_module\nclass Module:\n    I.module_global_infos({'vdevice': [I.vdevice(CANARY())]})\n" + MAIN,
    "@I.ir_module\nclass Module:\n    a = R.ExternFunc(CANARY())\n" + MAIN,
    "@I.ir_module\nclass Module:\n    class A:\n        CANARY()\n" + MAIN,
    "@I.ir_module\nclass Module:\n    for i in CANARY():\n        pass\n" + MAIN,
    "@I.ir_module\nclass I:\n" + MAIN,
    "@I.ir_module\nclass T:\n    a = T.meta_var(CANARY())\n" + MAIN,
    TIR + "        for i in range(CANARY()):\n            T.evaluate(0)\n" + MAIN,
    TIR + "        for i in CANARY(4):\n            T.evaluate(0)\n" + MAIN,
    TIR + "        for A.data in T.grid(4):\n            T.evaluate(0)\n" + MAIN,
    TIR + "        for i in T.grid(4):\n            T.evaluate(0)\n        else:\n            CANARY()\n" + MAIN,
    TIR + "        with T.sblock(CANARY()):\n            T.reads()\n" + MAIN,
    TIR + "        with T.target('CANARY()'):\n            T.evaluate(0)\n" + MAIN,
    TIR + "        assert T.bool(True), CANARY()\n" + MAIN,
    TIR + "        a: T.let[CANARY()] = 1\n" + MAIN,
    TIR + "        a: CANARY = 1\n" + MAIN,
    TIR + "        a = [CANARY]\n        a[0]()\n" + MAIN,
    TIR + "        A.data.CANARY()\n" + MAIN,
    TIR + "        A.vload.__globals__['CANARY']()\n" + MAIN,
    TIR + "        A[CANARY()] = T.float32(0)\n" + MAIN,
    TIR + "        @T.inline\n        def g():\n            CANARY()\n        g()\n" + MAIN,
    TIR + "        @T.macro\n        def g():\n            CANARY()\n        g()\n" + MAIN,
    TIR + "        T.evaluate(1 << 100000000000)\n" + MAIN,
    TIR.replace("T.int64(4),", "'CANARY()',") + "        T.evaluate(0)\n" + MAIN,
    TIR.replace("T.int64(4),", "'n - CANARY(n)',") + "        T.evaluate(0)\n" + MAIN,
    TIR.replace("T.int64(4),", "'n - T.int64(CANARY())',") + "        T.evaluate(0)\n" + MAIN,
    TIR.replace("(T.int64(4),)", "'CANARY()'") + "        T.evaluate(0)\n" + MAIN,
    TIR.replace("T.Buffer((T.int64(4),), 'float32')", "T.Buffer((4,), 'float32') | CANARY()") + "        T.evaluate(0)\n" + MAIN,
    TIR.replace("T.Buffer((T.int64(4),), 'float32')", "T.Optional(CANARY)") + "        T.evaluate(0)\n" + MAIN,
    TIR.replace("s_tir=True", "s_tir=CANARY()") + "        T.evaluate(0)\n" + MAIN,
    TIR.replace("@T.prim_func(s_tir=True)", "@T.jit") + "        CANARY()\n" + MAIN,
    HEAD + "    a = '__import__'\n    return x\n",
    HEAD + "    R = x\n    return x\n",
    HEAD + "    tvm = os = R.nn\n    y = tvm.tvm\n    return x\n",
    HEAD + "    cls = R\n    y = cls.nn\n    return x\n",
    "@I.ir_module\nclass Module:\n" + MAIN.replace("@R.function", "@CANARY()\n    @R.function"),
)  # fmt: skip
HARMLESS = (
    HEAD.replace("(4,)", "('breakpoint', 4)") + "    y = R.match_cast(x, R.Tuple(breakpoint))\n    return y\n",
    HEAD + "    return x # type: CANARY()\n",
    HEAD + "    y = x # type: (lambda: CANARY())()\n    return y\n",
    HEAD + "    '''CANARY()'''\n    return x\n",
    "# vim: set fileencoding=unicode_escape :\n# \\u000aCANARY()\n" + HEAD + "    return x\n",
    "metadata = tvm.ir.load_json(CANARY())\n" + HEAD + "    return metadata['a'][0]\n",
    "metadata = tvm.ir.load_json('{}' + CANARY())\n" + HEAD + "    return metadata['a'][0]\n",
    "metadata = tvm.ir.load_json(f'{CANARY()}')\n" + HEAD + "    return metadata['a'][0]\n",
    "metadata = CANARY\n" + HEAD + "    return metadata['a'][0]\n",
    "metadata = tvm.ir.load_json('{}', CANARY())\n" + HEAD + "    return metadata['a'][0]\n",
    "metadata = [tvm.ir.load_json][CANARY()]('{}')\n" + HEAD + "    return metadata['a'][0]\n",
)  # fmt: skip
"texts that are read: the code in them is a comment, is left out, or is a name of the program"


def test_canary_sees_what_the_parser_of_tvm_runs() -> None:
    tvm.script.from_source(HEAD + "    y = R.shape([CANARY()])\n    return x\n")
    with pytest.raises(tvm.error.DiagnosticError):
        tvm.script.from_source(HEAD + "    y = R.shape([__import__('os').system('CANARY')])\n    return x\n")
    assert len(CALLS) == 2
    CALLS.clear()


@pytest.mark.parametrize("payload", EXPRESSIONS)
def test_expression_does_not_run(payload: str) -> None:
    for place in (
        HEAD + f"    y = {payload}\n    return x\n",
        HEAD + f"    y = R.add(x, {payload})\n    return y\n",
        HEAD + f"    y = R.call_tir(x, (x,), out_ty={payload})\n    return y\n",
        HEAD + f"    {payload}\n    return x\n",
        HEAD + f"    return {payload}\n",
        HEAD.replace("R.Tensor((4,), 'float32')", payload) + "    return x\n",
        HEAD.replace("):\n", f") -> {payload}:\n") + "    return x\n",
        TIR + f"        T.evaluate({payload})\n" + MAIN,
        TIR + f"        a: {payload} = T.float32(0)\n" + MAIN,
        TIR.replace("T.Buffer((T.int64(4),), 'float32')", payload) + "        T.evaluate(0)\n" + MAIN,
    ):
        read(place)


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_refused(text: str) -> None:
    assert not read(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_text_does_not_run(text: str) -> None:
    assert read(text)


COMPUTED_BY_PYTHON = (
    "T.evaluate((1,)[0] << 80000000000)",
    "T.evaluate(1 << (80000000000,)[0])",
    "T.evaluate(-(1,)[0] << 80000000000)",
    "T.evaluate(((0,),)[0] * 30000000000)",
    "T.evaluate(((A, A),)[0][0:1] * 30000000000)",
    "T.evaluate((1 < 2) << 80000000000)",
    "T.evaluate((1 < 2 < A[0]) << 80000000000)",
    "T.evaluate((True and 2) << 80000000000)",
    "T.evaluate((not True) << 80000000000)",
    "T.evaluate(T.axis.remap('SS', [A[0], A[0]]) * 30000000000)",
    "a = (1, 2)\n        T.evaluate(a[0] << 80000000000)",
    "a = ((1, 2), 3)[0]\n        T.evaluate(a * 30000000000)",
    "a, b = ((1, 2), 3)\n        T.evaluate(a * 30000000000)",
    "a: T.int32 = (1, 2)\n        T.evaluate(a[0] << 80000000000)",
    "a = T.axis.remap('SS', [1, 2])\n        T.evaluate(a * 30000000000)",
    "for i in T.grid(4, 4):\n            T.evaluate(i * 30000000000)",
)


@pytest.mark.parametrize("statement", COMPUTED_BY_PYTHON)
def test_python_computes_nothing(statement: str) -> None:
    with pytest.raises(ParseError, match=r"arithmetic on literals|several values"):
        find_program(TIR + f"        {statement}\n" + MAIN, vocabulary.vocabulary())


def test_variables_of_a_kernel_are_declared_on_one_line() -> None:
    text = TIR + "        m, n = T.int32(), T.int64()\n        T.evaluate(m + n)\n" + MAIN
    assert "(T.int32(), T.int64())" in find_program(text, vocabulary.vocabulary()).program


PLACES = (
    "# a{0}CANARY()\n" + HEAD + "    return x\n",
    HEAD + "    # a{0}    CANARY()\n    return x\n",
    HEAD + "    return x # a{0}CANARY()\n",
    HEAD + "    '''a{0}    CANARY()'''\n    return x\n",
    HEAD + "    y = R.str('a{0}    CANARY()')\n    return x\n",
    HEAD + "    R.func_attr({{'a{0}    CANARY()': 1}})\n    return x\n",
    HEAD + "    y ={0}CANARY()\n    return x\n",
    HEAD + "{0}    CANARY()\n    return x\n",
    "@R.function # a{0}CANARY()\n" + HEAD.split("\n", 1)[1] + "    return x\n",
    "metadata = tvm.ir.load_json('{{}}') # a{0}CANARY()\n" + HEAD + "    return x\n",
    "metadata = tvm.ir.load_json('{{}}{0}CANARY()')\n" + HEAD + "    return x\n",
    "n = TypeVar('n') # a{0}CANARY()\n" + HEAD + "    return x\n",
    "'''{0}@I.ir_module{0}class Module:{0}    CANARY(){0}'''\n" + HEAD + "    return x\n",
    HEAD.replace("(4,)", "('n{0}, CANARY()',)") + "    return x\n",
    HEAD.replace("'float32'", "'float32{0}, CANARY()'") + "    return x\n",
    "@I.ir_module\nclass Module:\n    # a{0}    CANARY()\n" + MAIN,
)


SEPARATED = list(product(SEPARATORS, PLACES))
# each separator in one place, and the first one in each place
SOME = {*zip(SEPARATORS, cycle(PLACES)), *product(SEPARATORS[:1], PLACES)}


@pytest.mark.parametrize("separated", breadth(SEPARATED, *SOME))
def test_line_separator_does_not_make_a_line(separated: tuple[str, str]) -> None:
    separator, place = separated
    read(place.format(separator))


@pytest.mark.parametrize("separator", [s for s in SEPARATORS if not set(s) & set("\r\n\0\ufeff\u200b")])
def test_line_and_column_do_not_depend_on_separators(separator: str) -> None:
    with pytest.raises(ParseError, match="the name öl") as caught:
        load(HEAD + f"    # a{separator}b\n    y = R.add(R.str('ä{separator}'), öl)\n    return x\n")
    assert (caught.value.line, caught.value.column) == (4, 28)


@pytest.mark.parametrize("newline", ["\r", "\r\n", "\n"])
def test_lines_may_end_as_on_other_systems(newline: str) -> None:
    assert load((HEAD + "    y = R.add(x, x)\n    return y\n").replace("\n", newline)).graph.ops
    with pytest.raises(ParseError) as caught:
        load((HEAD + "    y = R.add(x, öl)\n    return x\n").replace("\n", newline))
    assert (caught.value.line, caught.value.column) == (3, 18)


def test_byte_order_mark_is_ignored() -> None:
    assert load("\ufeff" + HEAD + "    y = R.add(x, x)\n    return y\n").graph.ops


@pytest.mark.parametrize("character", ["\0", "\ud800"])
def test_character_that_is_none_is_refused_where_it_is(character: str) -> None:
    with pytest.raises(ParseError) as caught:
        load(HEAD + f"    # a{character}\n    return x\n")
    assert (caught.value.line, caught.value.column) == (3, 8)


BUILTINS = pytest.mark.parametrize("name", ["len", "eval", "sum", "input", "range", "print"])


@BUILTINS
def test_dimension_may_be_named_like_a_function_of_python(name: str) -> None:
    tensor = f"R.Tensor(('{name}', 2), dtype='float32')"
    inner = tensor.replace("'", "", 2)
    text = f"@R.function\ndef main(x: {tensor}) -> {tensor}:\n    {name} = T.int64()\n    y: {inner} = R.add(x, x)\n    return y\n"
    tvm.script.from_source(text)
    assert load(text).graph.ops


@pytest.mark.skipif(tvm.__version__ < "0.27", reason="older TVMs look such a name up where it is to be declared")
@BUILTINS
def test_dimension_of_a_buffer_may_be_named_so_too(name: str) -> None:
    buffer = f"T.Buffer(('{name} - T.int64(1)', T.int64(2)), 'float32'), {name}: T.int64"
    text = TIR.replace("T.Buffer((T.int64(4),), 'float32')", buffer) + f"        T.evaluate({name})\n" + MAIN
    tvm.script.from_source(text)
    assert load(text).module.get_global_var("f")


@pytest.mark.parametrize(
    ("kind", "data"),
    [("ffi.Module", "AAAA"), ("ir.EnvFunc", "workbench.CANARY"), ("ffi.Function", "a"), ("ffi.OpaquePyObject", "a")],
)
def test_json_that_holds_code_is_refused(kind: str, data: str) -> None:
    text = f'{{"root_index": 0, "nodes": [{{"type": "{kind}", "data": "{data}"}}], "metadata": {{"tvm_version": "0"}}}}'
    with pytest.raises(LoadError, match="which"):
        load(text)
    with pytest.raises(LoadError, match="which"):
        load(f"metadata = tvm.ir.load_json({text!r})\n" + HEAD + "    y = R.add(x, metadata['a'][0])\n    return y\n")


def test_metadata_holds_no_strings() -> None:
    # a string in a shape is evaluated
    saved = tvm.ir.save_json(tvm.runtime.convert({"a": ["CANARY()"]}))
    with pytest.raises(LoadError, match="only constants"):
        load(
            f"metadata = tvm.ir.load_json({saved!r})\n" + HEAD.replace("(4,)", "(metadata['a'][0],)") + "    return x\n"
        )


# --- mutations ------------------------------------------------------------------------------------------------------


@cache
def _carriers() -> tuple[str, ...]:
    modules = [
        wb.samples.load("mlp"),
        wb.trace(wb.samples.load("mlp"), "LegalizeOps").result,
        wb.samples.load("parallel_cast"),
    ]
    texts = [(m.module if hasattr(m, "module") else m).script(show_meta=True) for m in modules]
    return (
        *texts,
        HEAD + "    y = R.add(x, x)\n    return y\n",
        TIR + "        A[0] = T.float32(1)\n" + MAIN,
        *TEXTS,
        *HARMLESS,
    )


def _with_expression(text: str, dice: random.Random) -> str:
    """Put a payload in the place of some expression."""
    try:
        tree = ast.parse(text)
        payload = ast.parse(dice.choice(EXPRESSIONS).replace("await ", ""), mode="eval").body
    except (SyntaxError, ValueError):
        return text
    fields = [
        (node, field, i)
        for node in ast.walk(tree)
        for field, value in ast.iter_fields(node)
        for i, each in enumerate(value if isinstance(value, list) else [value])
        if isinstance(each, ast.expr)
    ]
    node, field, i = dice.choice(fields)
    if isinstance(getattr(node, field), list):
        getattr(node, field)[i] = payload
    else:
        setattr(node, field, payload)
    try:
        return ast.unparse(tree)
    except (ValueError, RecursionError, AttributeError):
        return text


def _with_string(text: str, dice: random.Random) -> str:
    """Put code into some string."""
    quotes = [i for i, c in enumerate(text) if c in "'\""] or [0]
    at = dice.choice(quotes) + 1
    return (
        text[:at] + dice.choice(("CANARY()", "CANARY() or ", "n + CANARY()", "eval(n)", "\\u2028CANARY()")) + text[at:]
    )


def _with_separator(text: str, dice: random.Random) -> str:
    """Put a separator and a line of code somewhere, most often after a comment sign."""
    at = dice.randrange(len(text) + 1)
    code = dice.choice(SEPARATORS) + dice.choice(("", "    ", "        ")) + dice.choice(EXPRESSIONS)
    return text[:at] + dice.choice((" # ", "", "'")) + code + dice.choice(("", "\n")) + text[at:]


def _with_line(text: str, dice: random.Random) -> str:
    """Put a line of another text between two lines."""
    lines, others = text.split("\n"), dice.choice(TEXTS).split("\n")
    at = dice.randrange(len(lines) + 1)
    return "\n".join([*lines[:at], dice.choice(others), *lines[at:]])


def _with_name(text: str, dice: random.Random) -> str:
    """Give a name of the text, or a part of one, another meaning."""
    old = dice.choice(
        ("x", "main", "Module", "R.add", "T.float32", "R.Tensor", "add", "float32", "cls", "R", "T", "lv")
    )
    return text.replace(
        old,
        dice.choice(("CANARY", "eval", "__import__", "meta_var", "metadata", "T", "x.data", "tvm")),
        dice.randrange(1, 4),
    )


MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    _with_expression, _with_expression, _with_expression, _with_string, _with_separator, _with_line, _with_name,
)  # fmt: skip


def _mutants(count: int, seed: int) -> Iterator[str]:
    dice = random.Random(seed)
    for _ in range(count):
        text = dice.choice(_carriers())
        for _ in range(dice.choice((1, 1, 2, 3))):
            text = dice.choice(MUTATIONS)(text, dice)
        yield text


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_mutations_do_not_run(tell: Callable[[object], None]) -> None:
    accepted = sum(map(read, _mutants(300, seed=1)))
    tell(f"attacks on Relax text: 300 mutations, {accepted} of them accepted, {len(CALLS)} calls got through")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_many_mutations_do_not_run(tell: Callable[[object], None]) -> None:
    size = 4_000
    accepted = sum(read(text) for first in SEEDS[::size] for text in _mutants(size, first))
    tell(f"attacks on Relax text: {len(SEEDS)} mutations, {accepted} of them accepted, {len(CALLS)} calls got through")
