"""One function's part of a library's generated code, with what only it uses."""

from __future__ import annotations

import re

# How a definition begins and ends, and how a name is written, in each form. TVM of today puts `__tvm_ffi_` before an entry
# point's name and `_compute_` behind the function that does the work; a device kernel has `_kernel` and a number behind.
_BLOCKS = {
    "llvm": re.compile(r"^define [^\n]*?@(?P<name>[\w.]+)\(.*?^}", re.MULTILINE | re.DOTALL),
    "asm": re.compile(r"^(?P<name>[A-Za-z_][\w.]*):.*?^\.Lfunc_end\d+:[^\n]*$", re.MULTILINE | re.DOTALL),
    "c": re.compile(r"^[^\n#/{}]*?\b(?P<name>\w+)\([^;{]*\)\s*\{.*?^}", re.MULTILINE | re.DOTALL),
    "cuda": re.compile(
        r'^extern "C" __global__ [^;{]*?\b(?P<name>(?!__launch_bounds__)\w+)\([^;{]*\)\s*\{.*?^}',
        re.MULTILINE | re.DOTALL,
    ),
    "ptx": re.compile(r"^\.visible \.entry (?P<name>\w+)\(.*?^}", re.MULTILINE | re.DOTALL),
    "tir": re.compile(r"^@T\.prim_func.*?^def (?P<name>\w+)\(.*?(?=\n\S|\Z)", re.MULTILINE | re.DOTALL),
}
_BEHIND = r"(?:_compute_|_kernel(?:_\d+)?)?"
_SYMBOL = re.compile(r"[A-Za-z_][\w.]*")


def function_in(code: str, form: str, name: str) -> str:
    """The definitions that belong to one function, with those only it refers to; all the code where none is found."""
    blocks = {found["name"]: found.group() for found in _BLOCKS[form].finditer(code)}
    own = re.compile(rf"(?:__tvm_ffi_)?{re.escape(name)}{_BEHIND}")
    roots = [each for each in blocks if own.fullmatch(each)]
    kept = dict.fromkeys(roots)
    waiting = list(roots)
    while waiting:
        for symbol in _SYMBOL.findall(blocks[waiting.pop()]):
            # the parts that run on other threads have names of their own
            if symbol in blocks and symbol not in kept and symbol.startswith(("__tvm_parallel_lambda", ".", "__")):
                kept[symbol] = None
                waiting.append(symbol)
    return "\n\n".join(blocks[each] for each in kept) or code
