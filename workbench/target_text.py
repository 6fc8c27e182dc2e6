"""Targets in every form that TVM accepts, as one canonical text; nothing here needs TVM.

The canonical text is `kind -name=value ...`, or JSON for options that this form cannot hold: a host, a value with blanks, a
boolean.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from workbench.errors import MeasureError

Fields: TypeAlias = "dict[str, object]"
_LISTS = ("keys", "mattr", "libs")
"options whose value is a list"
_DIGITS = 18
"of a number; TVM's have 64 bits"
_KINDS = {
    "nvidia": "cuda",
    "arm": "llvm",
    "aws/cpu": "llvm",
    "riscv": "llvm",
    "raspberry-pi": "llvm",
    "apple": "metal",
}
"first part of a tag (`nvidia/nvidia-h100`) -> kind of its targets"
_WRITE = "write one like `llvm -mcpu=core-avx2`"


class TargetObject(Protocol):
    """A `tvm.target.Target`."""

    kind: object

    def export(self) -> object: ...


TargetLike: TypeAlias = "str | Mapping[str, object] | TargetObject"


class TargetError(MeasureError):
    """A target that cannot be read."""


def target_text(given: TargetLike) -> str:
    """Return the canonical text of a target.

    Parameters
    ----------
    given
        `llvm -mcpu=x`, a tag, JSON, a dict of the same fields, or a `tvm.target.Target`. Attributes of an object that TVM fills
        in by itself are left out.

    Raises
    ------
    TargetError
        It is not a target in any version of TVM.

    Examples
    --------
    >>> target_text('{"kind": "llvm", "mcpu": "core-avx2"}'), target_text("llvm   -num-cores 4")
    ('llvm -mcpu=core-avx2', 'llvm -num-cores=4')
    >>> target_text({"kind": "cuda", "host": "llvm"})
    '{"kind": "cuda", "host": {"kind": "llvm"}}'
    """
    return _text(_fields_of(given))


def target_texts(given: TargetLike | Iterable[TargetLike]) -> tuple[str, ...]:
    """Return the canonical texts of one target, or of several."""
    if isinstance(given, (str, Mapping)) or hasattr(given, "export"):
        return (target_text(given),)  # pyright: ignore[reportArgumentType]  an object with export is a target
    if not isinstance(given, Iterable):
        raise TargetError(f"targets is {_short(given)}; give a list of targets, such as ['llvm', 'cuda']")
    return tuple(target_text(each) for each in given)  # pyright: ignore[reportArgumentType]  as above


def target_fields(text: str) -> Fields:
    """Return a target's fields by name, `kind` first.

    >>> target_fields("llvm -mcpu=core-avx2 -num-cores=4")
    {'kind': 'llvm', 'mcpu': 'core-avx2', 'num-cores': 4}
    """
    return _fields_of(text)


def kind_of(text: str) -> str:
    """Return the kind of a target; for an unknown tag, the tag.

    >>> kind_of("llvm -mcpu=x"), kind_of('{"kind": "cuda"}'), kind_of("nvidia/nvidia-h100")
    ('llvm', 'cuda', 'cuda')
    """
    kind = str(target_fields(text)["kind"])
    return _KINDS.get(kind.rpartition("/")[0], kind)


def with_option(text: str, name: str, value: str | int) -> str:
    """Return the target with one more option.

    >>> with_option("llvm", "mcpu", "core-avx2")
    'llvm -mcpu=core-avx2'
    """
    return _text({**target_fields(text), name: value})


def with_triple(text: str, triple: str) -> str:
    """Return the target with a triple for its CPU code, if it has none.

    >>> with_triple("llvm -mcpu=x", "x86_64-linux-gnu"), with_triple("cuda", "x86_64-linux-gnu")
    ('llvm -mcpu=x -mtriple=x86_64-linux-gnu', '{"kind": "cuda", "host": {"kind": "llvm", "mtriple": "x86_64-linux-gnu"}}')
    """
    fields = target_fields(text)
    if fields["kind"] == "llvm":
        return _text(_with_triple(fields, triple))
    if fields["kind"] in _WITHOUT_HOST or "/" in str(fields["kind"]):
        return text
    return _text({**fields, "host": _with_triple(_fields_of(fields.get("host", "llvm")), triple)})


def _with_triple(fields: Fields, triple: str) -> Fields:
    return fields if fields["kind"] != "llvm" or "mtriple" in fields else {**fields, "mtriple": triple}


def is_triple_of(triple: str, machine: str, system: str) -> bool:
    """Return whether code for a triple runs on a machine, by the names of Python's `platform`.

    >>> is_triple_of("x86_64-conda-linux-gnu", "x86_64", "Linux"), is_triple_of("aarch64-linux-gnu", "x86_64", "Linux")
    (True, False)
    """
    architecture, _, rest = triple.lower().partition("-")
    names = next((each for each in _MACHINES if machine.lower() in each), (machine.lower(),))
    return architecture in names and any(name in rest for name in _SYSTEMS.get(system, (system.lower(),)))


_WITHOUT_HOST = ("c", "hybrid", "stackvm", "composite")
_MACHINES = (("x86_64", "amd64", "x64"), ("aarch64", "arm64"), ("i386", "i486", "i586", "i686"))
"names of one architecture"
_SYSTEMS = {"Darwin": ("darwin", "macos"), "Windows": ("windows", "win32", "mingw")}


def _fields_of(given: object) -> Fields:
    try:
        if isinstance(given, str):
            return _of_text(given)
        if isinstance(given, Mapping):
            return _checked(_plain(given))
        if hasattr(given, "export") and hasattr(given, "kind"):
            return _of_object(given)
    except RecursionError:
        raise TargetError(f"the target is nested too deep; {_WRITE}") from None
    raise TargetError(f"the target is {_short(given)}; {_WRITE}, or give its JSON, a dict, or a tvm.target.Target")


def _of_text(text: str) -> Fields:
    if any(not c.isprintable() and not c.isspace() for c in text) or not text.strip():
        raise TargetError(f"the target {_short(text)} is empty or has control characters; {_WRITE}")
    if text.lstrip().startswith("{"):
        try:
            return _checked(_plain(json.loads(text)))
        except ValueError as error:
            raise TargetError(f"the target {_short(text)} is not JSON ({error}); {_WRITE}") from None
    try:
        kind, *words = shlex.split(text)
    except ValueError as error:
        raise TargetError(f"the target {_short(text)} cannot be split into options ({error}); {_WRITE}") from None
    return {"kind": kind, **_options(words)}


def _options(words: Sequence[str]) -> Fields:
    """Parse `-name=value`, `-name value`, or `-name` for true."""
    fields: Fields = {}
    words = list(reversed(words))
    while words:
        word = words.pop()
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not name:
            raise TargetError(f"{_short(word)} is not an option of a target; options begin with -: {_WRITE}")
        if not equals and words and not words[-1].startswith("-"):
            equals, value = "=", words.pop()
        fields[name] = _value(name, value) if equals else True
    return fields


def _value(name: str, text: str) -> object:
    if name in _LISTS:
        return text.split(",")
    return int(text) if len(text) <= _DIGITS and text.isascii() and text.isdigit() else text


def _of_object(target: Any) -> Fields:
    """Return the attributes of an object that differ from the defaults of its kind."""
    fields, make = _checked(_plain(target.export())), type(target)
    usual = _checked(_plain(make({"kind": fields["kind"]}).export()))
    return _checked({"kind": fields["kind"], **{name: v for name, v in fields.items() if usual.get(name) != v}})


def _checked(fields: object) -> Fields:
    """Return the fields with `kind` first and the host as fields too; a tag alone is the kind."""
    if not isinstance(fields, dict):
        raise TargetError(f"the target is {_short(fields)}; {_WRITE}")
    rest = {name: value for name, value in fields.items() if name not in ("kind", "tag")}
    kind = fields.get("kind") or fields.get("tag")
    if not isinstance(kind, str) or kind.split() != [kind] or not all(isinstance(name, str) for name in rest):
        raise TargetError(f"the kind of a target must be a word, not {_short(kind)}; {_WRITE}")
    if "host" in rest:
        rest["host"] = _fields_of(rest["host"])
    return {"kind": kind, **rest}


def _plain(value: Any) -> object:
    """Convert a value to JSON's types: TVM's own maps, arrays, strings and numbers become Python's."""
    if isinstance(value, int) and abs(value) >= 10**_DIGITS:
        raise TargetError(f"a target cannot hold a number of more than {_DIGITS} digits; {_WRITE}")
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "items"):
        return {str(name): _plain(each) for name, each in value.items()}
    if hasattr(value, "export"):
        return _of_object(value)
    if hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, (bytes, bytearray)):
        return [_plain(each) for each in value]
    number = getattr(value, "value", None)
    if isinstance(number, int):
        return number
    raise TargetError(f"a target cannot hold {_short(value)}; {_WRITE}")


def _text(fields: Fields) -> str:
    words = [str(fields["kind"]), *(_word(name, value) for name, value in fields.items() if name != "kind")]
    text = " ".join(words)
    try:
        same = repr(_of_text(text)) == repr(fields)  # 1 is not True
    except TargetError:
        same = False
    try:
        return text if same else json.dumps(fields, allow_nan=False)
    except ValueError:
        raise TargetError(f"a target holds a number that is not finite; {_WRITE}") from None


def _word(name: str, value: object) -> str:
    return f"-{name}={','.join(map(str, value)) if isinstance(value, list) else value}"


def _short(value: object) -> str:
    text = repr(value) if isinstance(value, (str, int, float, bool, type(None))) else type(value).__name__
    return text if len(text) <= 80 else f"{text[:77]}..."


def target_argument(text: str) -> str | dict[str, object]:
    """Return the target in the form of Relax's TVM: a dictionary; a kind or a tag alone as it is.

    >>> target_argument("llvm -mcpu=core-avx2 -num-cores=4"), target_argument("llvm")
    ({'kind': 'llvm', 'mcpu': 'core-avx2', 'num-cores': 4}, 'llvm')
    """
    fields = target_fields(text)
    return fields if len(fields) > 1 else str(fields["kind"])
