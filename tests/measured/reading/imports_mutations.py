"""Bytes turned into almost the same bytes: what a damaged disk, an editor or a hostile hand makes of a result."""

import random
import re

_PIECES = (
    b"-1", b"nan", b"-nan", b"1e999", b"9" * 40, b"null", b"[]", b"{}", b'""', b'"x"', b"0", b"true", b"\n\n",
    b"\x1b[2J", b"\x00", b"\xff\xfe", b"\xe2\x80\xae", b"[" * 200, b'{"a":' * 200,
)  # fmt: skip
_NUMBERS = (b"0", b"-1", b"1e308", b"9" * 25, b"0.0000001", b"", b"null", b"NaN")


def mutate(data: bytes, draw: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 5, 20))):
        if not out:
            break
        start = draw.randrange(len(out))
        stop = min(len(out), start + draw.randrange(1, 60))
        match draw.randrange(7):
            case 0:
                out[start] = draw.randrange(256)
            case 1:
                del out[start:stop]
            case 2:
                out[start:start] = out[start:stop] * draw.choice((1, 2, 50))
            case 3:
                del out[start:]
            case 4:
                out[start:stop] = draw.choice(_PIECES)
            case 5:
                _replace_number(out, start, draw)
            case _:
                other = draw.randrange(len(out))
                out[start:stop], out[other : other + 5] = out[other : other + 5], out[start:stop]
    return bytes(out)


def _replace_number(out: bytearray, start: int, draw: random.Random) -> None:
    spans = [m.span() for m in re.finditer(rb"\d+", bytes(out[start : start + 400]))]
    if spans:
        first, last = draw.choice(spans)
        out[start + first : start + last] = draw.choice(_NUMBERS)
