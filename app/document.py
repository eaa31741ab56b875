"""A report before it is markdown or HTML: sections of paragraphs, lists, tables and code. All text is plain text."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Mono(msgspec.Struct, frozen=True):
    """A path, a command, a value as the host spells it."""

    text: str


class Strong(msgspec.Struct, frozen=True):
    text: str


Words: TypeAlias = tuple[str | Mono | Strong, ...]


class Paragraph(msgspec.Struct, frozen=True):
    words: Words


class Bullets(msgspec.Struct, frozen=True):
    items: tuple[Words, ...]


class Table(msgspec.Struct, frozen=True):
    """`right`: columns of numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str | Mono, ...], ...]
    right: frozenset[int] = frozenset()


class Code(msgspec.Struct, frozen=True):
    """Lines to be copied, or a drawing. `language` is `sh` for commands."""

    lines: tuple[str, ...]
    language: str = ""


class Heading(msgspec.Struct, frozen=True):
    """Inside a section."""

    text: str


Part: TypeAlias = Paragraph | Bullets | Table | Code | Heading


class Section(msgspec.Struct, frozen=True):
    title: str
    parts: tuple[Part, ...]


class Document(msgspec.Struct, frozen=True):
    title: str
    lead: Words  # the answer, first of all
    sections: tuple[Section, ...]


def say(*words: str | Mono | Strong) -> Paragraph:
    return Paragraph(words)
