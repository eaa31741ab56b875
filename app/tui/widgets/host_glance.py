"""The host at a glance, from the facts as they arrive: two lines on a small screen, a table on a wide one."""

from __future__ import annotations

from collections.abc import Callable

from app.session import Session
from app.tui.glyphs import clean
from app.tui.lines import BLANK, Line, cells, crop, split, text
from app.tui.widgets.panel import Panel
from probes.types import Json

# What leads, in this order; everything else follows by its first word, as the facts came.
_LINE1 = ("os", "kernel", "virtualisation")
_LINE2 = ("cpu.model", "cpu.sockets", "cpu.cores", "cpu.threads", "numa.nodes", "memory.total")
_COUNTED = {"cpu.sockets": "socket", "cpu.cores": "core", "cpu.threads": "thread", "numa.nodes": "node"}


def value_words(value: Json, unit: str = "") -> str:
    """A fact's value as a person reads it; lists are joined, bytes get a prefix."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit in ("bytes", "B") and isinstance(value, int | float):
        return size_words(float(value))
    if isinstance(value, list):
        return ", ".join(value_words(v) for v in value)
    if isinstance(value, dict):
        return "  ".join(f"{k} {value_words(v)}" for k, v in value.items())
    return clean(str(value)) + (f" {unit}" if unit else "")


def size_words(size: float) -> str:
    for prefix in ("", "Ki", "Mi", "Gi", "Ti", "Pi"):
        if abs(size) < 1024 or prefix == "Pi":
            return (
                f"{size:.0f} B"
                if not prefix
                else f"{size:.3g} {prefix}B"
                if size < 1000
                else f"{size:.0f} {prefix}B"
            )
        size /= 1024
    return ""


def _short(session: Session, name: str) -> str:
    fact = session.facts.get(name)
    if fact is None:
        return ""
    if name in _COUNTED:
        word = _COUNTED[name]
        return f"{value_words(fact.value)} {word}{'' if fact.value == 1 else 's'}"
    return value_words(fact.value, fact.unit)


def headline(session: Session, width: int) -> list[Line]:
    """Two lines: which host this is, and what it is made of."""
    host = clean(session.began.host) if session.began else "reading this host"
    first = [s for s in (_short(session, n) for n in _LINE1) if s]
    second = [s for s in (_short(session, n) for n in _LINE2) if s]
    top: Line = [("hostdx  ", "title"), (host, "strong"), ("  ", "text")]
    return [crop([*top, ("  ".join(first), "text")], width), crop(text(" · ".join(second), "dim"), width)]


def table(session: Session, width: int, height: int) -> list[Line]:
    """The facts beyond the headline, grouped by their first word; what could not be read comes last, with its reason."""
    rows: list[Line] = []
    named = set(_LINE1) | set(_LINE2)
    last = ""
    for name, fact in session.facts.items():
        if name in named:
            continue
        group, _, rest = name.partition(".")
        words = value_words(fact.value, fact.unit)
        head = clean(group) if group != last else ""
        body: Line = [(f"{clean(rest)}  " if rest else "", "strong"), (words, "text")]
        rows.append(crop([(f"{head[:11]:<12}", "dim"), *body], width))
        last = group
    for absent in session.absent.values():
        rows.append(
            crop(
                [("? unknown   ", "unknown"), (f"{clean(absent.name)}: {clean(absent.reason)}", "dim")], width
            )
        )
    if len(rows) > height:
        rows = [*rows[: max(0, height - 1)], text(f"{len(rows) - height + 1} more facts: f", "dim")]
    return rows


class Headline(Panel):
    DEFAULT_CSS = "Headline { height: 2; }"

    def __init__(self, session: Callable[[], Session]) -> None:
        super().__init__(id="headline")
        self._session = session

    def draw(self, width: int, height: int) -> list[Line]:
        return headline(self._session(), width)


class HostTable(Panel):
    """Only on wide screens; everything in it is one key away on the others (`f`)."""

    DEFAULT_CSS = "HostTable { height: 1fr; }"

    def __init__(self, session: Callable[[], Session]) -> None:
        super().__init__(id="host")
        self._session = session

    def draw(self, width: int, height: int) -> list[Line]:
        session = self._session()
        rows = table(session, width, height - 1)
        absent = len(session.absent)
        note = text(f"? {absent} could not be read", "dim") if absent and cells(text("")) == 0 else BLANK
        return [split(text("HOST", "title"), note, width), *rows]
