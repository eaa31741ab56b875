"""Text from the host on its way out: no control character, no hidden direction change, on a terminal or in a file.

Every way out ends in one of these: a screen's cells in `app/glyphs.clean` (which also shows combining marks), lines
of text in `make_printable`, a whole text in `make_lines_printable`, JSON in `make_json_printable`.
"""

import unicodedata

# Cc controls, Cf formats (bidi overrides, zero width), Cs lone surrogates, Zl/Zp line separators
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"})
_FORMULA = tuple("=+-@＝＋－＠")  # a spreadsheet would compute what begins so


def is_unsafe(character: str) -> bool:
    """Return whether a terminal may act on it, or a reader not see it."""
    return unicodedata.category(character) in _UNSAFE


def make_printable(text: str) -> str:
    """The text with every unsafe character written as `\\x1b` or `\\u202e`; what is left is one line."""
    if text.isprintable():
        return text
    return "".join(_python_escape(c) if is_unsafe(c) else c for c in text)


def make_lines_printable(text: str) -> str:
    """The same, line feeds kept."""
    return "\n".join(make_printable(line) for line in text.split("\n"))


def make_cell_printable(text: str) -> str:
    """A cell of CSV: no formula, nor more than a line."""
    shown = make_printable(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown


def make_json_printable(document: bytes) -> bytes:
    """The same document: what is unsafe in its strings is written as `\\u009b`. Line feeds between its tokens stay.

    The encoder escapes what is below U+0020 only (RFC 8259, section 7), and outside of a string JSON is ASCII.
    """
    if document.isascii() and b"\x7f" not in document:
        return document
    text = document.decode()
    bad = {ord(c): _utf16_escape(c) for c in set(text) if c != "\n" and is_unsafe(c)}
    return text.translate(bad).encode() if bad else document


def _utf16_escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[n : n + 2].hex()}" for n in range(0, len(units), 2))


def _python_escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8 (PEP 383)
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
