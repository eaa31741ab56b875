"""JSON that keeps any path: names on Linux are bytes, JSON is text.

A string's text form: a backslash is `\\\\`, a byte that is no UTF-8 is `\\xe9` (in Python a lone surrogate, PEP 383).
It has one reading only, so a path comes back from a journal or a recording as the bytes that it was.
"""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from hostdx.probes.reading.patterns import lazy_pattern

_RAW = lazy_pattern(r"[\\\ud800-\udfff]")
_FORM = lazy_pattern(r"\\(\\|x[89a-f][0-9a-f]|ud[89a-f][0-9a-f]{2})")
_BACKSLASHES = (b"\\\\", b"\\u005")  # how JSON spells one


def escape_undecodable(text: str) -> str:
    """The text form: always UTF-8."""
    return _RAW.sub(lambda match: "\\" + _escape_code(match[0]), text)


def unescape_undecodable(text: str) -> str:
    """Return what it stands for. A backslash that begins no escape of ours, as of an earlier version, stays."""
    return _FORM.sub(lambda match: _decode_escape(match[1]), text)


def encode(value: object, order: Literal["deterministic"] | None = None) -> bytes:
    """One document, its strings in the text form. Raises MsgspecError, RecursionError."""
    try:
        data = msgspec.json.encode(value, order=order)
        if b"\\\\" not in data:
            return data
    except UnicodeEncodeError:
        pass
    return msgspec.json.encode(_map_strings(msgspec.to_builtins(value), escape_undecodable), order=order)


class Decoder:
    """Of documents that `encode` wrote: checked against a type. Raises as msgspec's does."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._plain: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind)

    def decode(self, document: bytes) -> Any:
        if not any(spelt in document for spelt in _BACKSLASHES):
            return self._plain.decode(document)
        tree = _map_strings(msgspec.json.decode(document), unescape_undecodable)
        try:
            return msgspec.convert(tree, self._kind, str_keys=True)
        except UnicodeEncodeError:
            raise msgspec.ValidationError("the name of a field or a type is no UTF-8") from None

    def decode_lines(self, data: bytes) -> list[Any]:
        """Decode whole lines; the rest of a cut one is not kept for the next call."""
        if not any(spelt in data for spelt in _BACKSLASHES):
            return self._plain.decode_lines(data)
        return [self.decode(line) for line in data.split(b"\n") if line.strip()]


def _map_strings(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _map_strings(inner, change) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_map_strings(inner, change) for inner in value]
    return value


def _escape_code(character: str) -> str:
    if character == "\\":
        return character
    code = ord(character)
    return f"x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"u{code:04x}"


def _decode_escape(code: str) -> str:
    if code == "\\":
        return code
    return chr(int(code[1:], 16) + (0xDC00 if code[0] == "x" else 0))
