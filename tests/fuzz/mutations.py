"""Mutations of valid inputs, each made from a random.Random alone: bytes, tokens of text, and the structure of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

BYTES = [b"", b"\0", b"\xff", b"\x7f", b"\x80", b"\n", b'"', b"\x1b[2J", b"\xff\xff\xff\x7f", b"\xff" * 8, b"\0" * 8]
ODD = [
    "", "\0", "\x1b]0;x\x07", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\u202e", "\ufeff", "é",
    "\U0001f600", "-1", "0", "1e400", "9" * 30, "-9223372036854775809", "0.0", "inf", "nan", "float32", "loat32",
    "%0", "%x", "@main", "(", ")", "[", "]", "{", "}", ",", ";", ":", "=", "->", "/*", "*/", '"', "\\",
    "meta[relay.Constant][0]", "meta[x][9999999999]", "fn", "let", "if", "else", "def", "class", "lambda", "None",
    "True", "Tensor", "R.Tensor", "import", "__import__",
]  # fmt: skip
NUMBERS = [-1, 0, 1, 2, 2**31, 2**32 - 1, -(2**63), 2**63, 2**64, 10**40, 0.5, -0.0, 1e308, 3]
RAW = ["1e400", "-1e400", "NaN", "Infinity", "9" * 6000, '"\\ud800"', '{"a":1,"a":2}', "[" * 2000 + "]" * 2000]
_TOKEN = re.compile(r"\w[\w.]*|\s+|.", re.DOTALL)


def mutate_bytes(random: Random, seeds: Sequence[bytes]) -> bytes:
    """Change, cut, repeat or splice one to four pieces of a seed."""
    data = bytearray(random.choice(seeds))
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(data) + 1)
        to = min(len(data), at + random.choice((1, 1, 2, 4, 16, 200)))
        other = random.choice(seeds)
        cut = random.randrange(len(other) + 1)
        data[at:to] = random.choice(
            (
                bytes(random.randrange(256) for _ in range(to - at)),
                bytes(byte ^ 1 << random.randrange(8) for byte in data[at:to]),
                random.choice(BYTES),
                bytes(data[at:to]) * random.choice((0, 2, 3, 50)),
                other[cut : cut + 50],
            )
        )
    return bytes(data[: random.randrange(len(data) + 1)]) if random.random() < 0.1 else bytes(data)


def mutate_text(random: Random, seeds: Sequence[bytes]) -> bytes:
    """Change, delete, repeat, swap or nest one to four tokens of a seed; sometimes its bytes."""
    if random.random() < 0.1:
        return mutate_bytes(random, seeds)
    tokens = _TOKEN.findall(random.choice(seeds).decode())
    words = [token for token in tokens if not token.isspace()] or ODD
    for _ in range(random.randint(1, 4)):
        at = random.choice([place for place, token in enumerate(tokens) if not token.isspace()] or [0])
        to = min(len(tokens), at + random.choice((1, 1, 1, 2, 5, 40)))
        tokens[at:to] = random.choice(_OF_TOKENS)(random, tokens[at:to], words)
    return "".join(tokens).encode(errors="surrogatepass")


def _nested(random: Random, piece: list[str], _words: list[str]) -> list[str]:
    opening, closing = random.choice(("()", "[]", "{}", ("fn () {", "}"), ("if (%x) {", "} else {%x}"), ("-", "")))
    deep = random.choice((1, 2, 50, 300, 3000))
    return [opening * deep, *piece, closing * random.choice((deep, deep, 0))]


_OF_TOKENS: list[Callable[[Random, list[str], list[str]], list[str]]] = [
    lambda random, piece, words: [],
    lambda random, piece, words: [*piece, *piece],
    lambda random, piece, words: piece * random.choice((3, 100)),
    lambda random, piece, words: piece[::-1],
    lambda random, piece, words: [random.choice(words)],
    lambda random, piece, words: [random.choice(words)],
    lambda random, piece, words: [*piece, random.choice(words)],
    lambda random, piece, words: [random.choice(ODD)],
    lambda random, piece, words: [*piece, random.choice(ODD)],
    lambda random, piece, words: [str(random.choice(NUMBERS))],
    lambda random, piece, words: [random.choice(piece)[: random.randrange(4)]] if piece else [],
    _nested,
]


def mutate_json(random: Random, seeds: Sequence[bytes]) -> bytes:
    """Change one to three values of a seed: a number, a type, a key, a place; sometimes its tokens or bytes."""
    way = random.random()
    if way < 0.15:
        return mutate_bytes(random, seeds) if way < 0.05 else mutate_text(random, seeds)
    if way < 0.5:
        return _renumbered(random, random.choice(seeds))
    data = json.loads(random.choice(seeds))
    raw: list[str] = []
    for _ in range(random.choice((1, 1, 2, 3))):
        data = _changed(random, data, raw)
    text = json.dumps(data)
    for place, piece in enumerate(raw):
        text = text.replace(f'"raw {place}"', piece)
    return text.encode()


def _renumbered(random: Random, seed: bytes) -> bytes:
    """The seed with one of its numbers changed to another that may occur there: a place, mostly, that a value is found by."""
    found = random.choice([*re.finditer(rb"[0-9]+", seed)])
    old = int(found.group()[:18])
    new = random.choice((old + 1, abs(old - 1), random.randrange(200), random.randrange(2 * old % 1000 + 2)))
    return seed[: found.start()] + str(new).encode() + seed[found.end() :]


def _changed(random: Random, data: Any, raw: list[str]) -> Any:
    """The value with a change at a random place in it, found by going down at random."""
    inner = list(data) if isinstance(data, dict) else list(range(len(data))) if isinstance(data, list) else []
    if inner and random.random() < 0.85:
        copy, key = data.copy(), random.choice(inner)
        copy[key] = _changed(random, copy[key], raw)
        return copy
    if inner and random.random() < 0.6:
        return _reshaped(random, data.copy(), inner)
    if type(data) in (int, float) and random.random() < 0.6:
        return random.choice((data + 1, data - 1, -data, data * 2, random.randrange(200), *NUMBERS))
    if isinstance(data, str) and random.random() < 0.6:
        return mutate_text(random, [data.encode(errors="replace") or b" "]).decode(errors="replace")
    if random.random() < 0.1:
        raw.append(random.choice(RAW))
        return f"raw {len(raw) - 1}"
    return random.choice((None, True, False, "", "x" * 5000, [], {}, [[]], {"": {}}, [data] * 50, *NUMBERS, *ODD))


def _reshaped(random: Random, data: Any, inner: list[Any]) -> Any:
    """A list or an object with items taken out, repeated, exchanged or renamed."""
    first, second = random.choice(inner), random.choice(inner)
    how = random.randrange(5)
    if how == 0:
        del data[first]
    elif how == 1:
        data[first], data[second] = data[second], data[first]
    elif how == 2:
        data[first] = data[second]
    elif isinstance(data, list):
        data.insert(random.randrange(len(data) + 1), data[first]) if how == 3 else data.extend(data * 20)
    else:
        data[random.choice((*ODD, str(second) + "x"))] = data.pop(first) if how == 3 else data[first]
    return data
