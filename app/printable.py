"""Text from the host on its way to a terminal: one line, no control characters, no hidden direction changes."""

from __future__ import annotations

import unicodedata

# Cc controls, Cf formats (bidi overrides, zero width), Cs lone surrogates, Zl/Zp line separators
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"})


def printable(text: str) -> str:
    """The text with every unsafe character written as `\\x1b` or `\\u202e`; what is left is one line."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(c) if unicodedata.category(c) in _UNSAFE else c for c in text)


def printable_lines(text: str) -> str:
    """The same, line feeds kept."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _shown(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
