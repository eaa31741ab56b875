"""The host at a glance, from the facts as they arrive: two lines on a small screen, a table on a wide one."""

from __future__ import annotations

import re
from collections.abc import Callable

from app.plot import si
from app.session import Session
from app.tui.glyphs import clean
from app.tui.lines import BLANK, Line, crop, pad, split, text, wrapped
from app.tui.widgets.panel import Panel
from probes.types import Json

_NOISE = re.compile(r"\((?:R|TM|C)\)|\bCPU\b|\bProcessor\b|\d+-Core\b|@.*$")
_GROUPS = ("disk", "md", "mount", "nic", "cgroup")
# In which order a device's facts are told, and what else is one key away
_TOLD = {
    "disk": ("transport", "model", "label", "size", "scheduler", "write_cache", "link", "on"),
    "md": ("level", "state", "missing", "action"),
    "nic": ("driver", "speed"),
    "cgroup": (),
    "mount": (),
}


def value_words(value: Json, unit: str = "") -> str:
    """A fact's value as a person reads it; lists are joined, bytes get a prefix."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit in ("bytes", "B") and isinstance(value, int | float):
        return size_words(float(value))
    if unit == "Mbit/s" and isinstance(value, int | float) and value >= 1000:
        return f"{value / 1000:g} Gbit/s"
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


def _words(session: Session, name: str) -> str:
    fact = session.facts.get(name)
    return "" if fact is None else value_words(fact.value, fact.unit)


def _count(session: Session, name: str, one: str) -> str:
    fact = session.facts.get(name)
    return "" if fact is None else f"{value_words(fact.value)} {one}{'' if fact.value == 1 else 's'}"


def headline(session: Session, width: int) -> list[Line]:
    """Two lines: which host this is, and what it is made of."""
    host = clean(session.began.host) if session.began else "reading this host"
    kind = [
        w
        for w in (_words(session, f"virtualisation.{n}") for n in ("hypervisor", "container"))
        if w not in ("", "none")
    ]
    known = "virtualisation.hypervisor" in session.facts
    system = _words(session, "os.name")
    if width < 100:
        system = system.partition(" (")[0]
    first = [system, _words(session, "kernel.release"), ", ".join(kind) or ("bare metal" if known else "")]
    model = " ".join(_NOISE.sub(" ", _words(session, "cpu.model")).split())
    sockets = session.facts.get("cpu.sockets")
    if model and sockets is not None and sockets.value != 1:
        model = f"{value_words(sockets.value)} × {model}"
    cores, threads = _count(session, "cpu.cores", "core"), _count(session, "cpu.threads", "thread")
    same = "cpu.cores" in session.facts and _words(session, "cpu.cores") == _words(session, "cpu.threads")
    nodes = _count(session, "numa.nodes", "node")
    second = [model, cores, "" if same else threads, nodes, _words(session, "memory.total")]
    top: Line = [("hostdx  ", "title"), (host, "strong"), ("   " + "   ".join(w for w in first if w), "text")]
    return [crop(top, width), crop(text(" · ".join(w for w in second if w), "dim"), width)]


def _devices(session: Session, group: str) -> dict[str, list[str]]:
    """A group's devices, each with its facts in the order in which they are told."""
    found: dict[str, dict[str, str]] = {}
    for name, fact in session.facts.items():
        head, _, rest = name.partition(".")
        if head != group or not rest:
            continue
        told = _TOLD[group]
        device, _, what = rest.rpartition(".") if told else (rest, "", "")
        decimal = what == "size" and isinstance(fact.value, int)  # disks are sold in powers of ten
        words = f"{si(float(fact.value))}B" if decimal else value_words(fact.value, fact.unit)  # type: ignore[arg-type]
        found.setdefault(device or rest, {})[what] = words.partition(" (")[0] if group == "mount" else words
    order = dict.fromkeys(found, _TOLD[group] or ("",))
    return {d: [facts[w] for w in order[d] if facts.get(w)] for d, facts in found.items()}


def table(session: Session, width: int, height: int) -> list[Line]:
    """Disks, mounts and network cards, one a line; everything else is on the screen of all facts."""
    found = {group: _devices(session, group) for group in _GROUPS}
    names = min(14, max((len(clean(d)) for devices in found.values() for d in devices), default=8))
    rows: list[Line] = []
    for group, devices in found.items():
        for n, (device, words) in enumerate(devices.items()):
            if group == "cgroup" and (device not in ("cpu", "memory") or words == ["none"]):
                continue  # limits only
            head: Line = [
                (f"{group if not n else '':<7}", "dim"),
                *pad(text(clean(device), "strong"), names),
                ("  ", "text"),
            ]
            for row in wrapped("  ".join(words), width - names - 9):
                rows.append([*head, *row])
                head = [(" " * (names + 9), "text")]
    if len(rows) > height:
        rows = [*rows[: max(0, height - 1)], text(f"and {len(rows) - height + 1} more: f", "dim")]
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
        note = text(f"? {absent} could not be read: f", "unknown") if absent else BLANK
        return [split(text("HOST", "title"), note, width), *rows]
