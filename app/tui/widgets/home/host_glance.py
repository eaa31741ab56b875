"""The host at a glance in two lines, three where there is no room for the table: name, system, what it is made of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hostdx.app.recordings.answers import unlisted_findings
from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.glyphs import SIGNS, clean_text
from hostdx.app.terminal.lines import Line, cell_width, crop_line, shorten_middle, text_line, tinted_line
from hostdx.app.tui.widgets.home.host_table import fact_words, missing_reason, value_words
from hostdx.app.tui.widgets.panel import SessionPanel
from hostdx.scenarios.contract.finding import LOUD

if TYPE_CHECKING:
    from hostdx.app.undo.change_report import UndoneChange

_NOISE = re.compile(r"\((?:R|TM|C)\)|\bCPU\b|\bProcessor\b|\d+-Core\b|@.*$")
TITLE = "hostdx  "
MIN_FINDING_CELLS = 30  # for a finding beside what the host is made of
_NOT_DISKS = ("loop", "zram", "ram")


def _count_of_fact(session: RunSession, subject: str, name: str, word: str) -> str:
    fact = session.facts.get(f"{subject} {name}")
    return "" if fact is None else f"{value_words(fact.value)} {word}{'' if fact.value == 1 else 's'}"


def host_lines(session: RunSession, width: int, left: Sequence[UndoneChange] = ()) -> list[Line]:
    """Two lines: which host this is; what it is made of and its worst finding. What says least gives way first.

    `left`: what a killed run has left changed; it is worse than any finding.
    """
    parts = text_line(_first_that_fits(_hardware_wordings(session), " · ", width), "dim")
    room = width - cell_width(parts) - 3
    finding_line = _worst_finding_line(session, room, left) if room >= MIN_FINDING_CELLS else []
    return [
        _host_name_line(session, width),
        [*parts, ("   ", "text"), *finding_line] if finding_line else parts,
    ]


def _worst_finding_line(session: RunSession, width: int, left: Sequence[UndoneChange]) -> Line:
    """Return sign and title of what speaks against the host most; empty while the host is read."""
    worst = next((f for f in unlisted_findings(session) if f.severity != "ok"), None)
    if left:
        from hostdx.app.undo.change_report import leftover_finding  # seldom needed

        worst = leftover_finding(left)
    if worst is None:
        return [("✓ no rule found anything", "ok")] if session.ended is not None else []
    role = worst.severity if worst.severity in LOUD else "text"
    return crop_line([(f"{SIGNS[worst.severity]} ", worst.severity), (clean_text(worst.title), role)], width)


def _host_name_line(session: RunSession, width: int) -> Line:
    host = clean_text(session.began.host) if session.began else "reading this host"
    kinds = [fact_words(session, "virtualisation", n) for n in ("hypervisor", "container")]
    kind = ", ".join(k for k in kinds if k not in ("", "none"))
    if not kind and "virtualisation hypervisor" in session.facts:
        kind = "bare metal"
    system, kernel = fact_words(session, "os", "name"), fact_words(session, "kernel", "release")
    short = system.partition(" (")[0]
    forms = [(host, system), (host, short), (host.partition(".")[0], short), (host.partition(".")[0], "")]
    rest = ["   ".join(w for w in (system, kernel, kind) if w) for _, system in forms]
    room = width - len(TITLE)
    best = next(
        (
            n
            for n, (name, _) in enumerate(forms)
            if cell_width(text_line(name)) + cell_width(text_line(rest[n])) + 3 <= room
        ),
        -1,
    )
    return crop_line([(TITLE, "title"), (forms[best][0], "strong"), (f"   {rest[best]}", "text")], width)


def _hardware_wordings(session: RunSession) -> list[list[str]]:
    """CPU, cores, threads, nodes, memory: in full, then without what can be worked out from the rest."""
    model = " ".join(_NOISE.sub(" ", fact_words(session, "cpu", "model")).split())
    sockets = session.facts.get("cpu sockets")
    many = f"{value_words(sockets.value)} × " if model and sockets is not None and sockets.value != 1 else ""
    cores, threads = (
        _count_of_fact(session, "cpu", "cores", "core"),
        _count_of_fact(session, "cpu", "threads", "thread"),
    )
    if fact_words(session, "cpu", "cores") == fact_words(session, "cpu", "threads"):
        threads = ""
    rest = [_count_of_fact(session, "numa", "nodes", "node"), fact_words(session, "memory", "total")]
    plain = model.removeprefix("Intel ").removeprefix("AMD ")
    return [[many + model, cores, threads, *rest], [many + model, cores, *rest], [many + plain, cores, *rest]]


def _first_that_fits(forms: list[list[str]], gap: str, width: int) -> str:
    """The first form that fits; the last one is cut."""
    lines = [gap.join(part for part in form if part) for form in forms]
    best = next((line for line in lines if cell_width(text_line(line)) <= width), lines[-1])
    return "".join(part for part, _ in crop_line(text_line(best), width))


def host_parts_line(session: RunSession, width: int) -> Line:
    """One line: disks with transport and file system, network cards, the firewall. Many of a kind are counted."""
    disks, cards, wall = (
        _disks_and_file_systems(session),
        _cards_and_speeds(session),
        shorten_middle(_describe_firewall(session), max(24, width // 3)),
    )
    room = width - (cell_width(text_line(wall)) + 3 if wall else 0)
    counted = [_count_kinds([kind for _, kind in disks], "disk")] if disks else []
    disk_words = [f"{name} {kind}".strip() for name, kind in disks]
    few = [_count_kinds([kind for _, kind in cards], "network card")] if cards else []
    plugged = [f"{name} {kind}".strip() for name, kind in cards]
    best = _first_that_fits([[*disk_words, *plugged], [*counted, *plugged], [*counted, *few]], " · ", room)
    return text_line(" · ".join(part for part in (best, wall) if part), "dim")


def _count_kinds(kinds: list[str], word: str) -> str:
    """`24 × sata xfs, 2 × nvme ext4`; one alone is not counted."""
    sums = Counter(kind or word for kind in kinds)
    return ", ".join(f"{n} × {kind}" if n > 1 else kind for kind, n in sums.items())


def _disks_and_file_systems(session: RunSession) -> list[tuple[str, str]]:
    disks = []
    for fact in session.facts.values():
        kind, disk = fact.subject_kind_and_name
        if kind == "disk" and fact.name == "transport":
            transport = value_words(fact.value)
            if transport in _NOT_DISKS or fact_words(session, fact.subject, "kind") not in ("", "disk"):
                continue
            types = fact_words(session, fact.subject, "file_systems")
            disks.append((clean_text(disk), f"{transport} {types}".strip()))
    return disks


def _cards_and_speeds(session: RunSession) -> list[tuple[str, str]]:
    """With the speed, else the driver."""
    cards = {
        f.subject: f.subject_kind_and_name[1]
        for f in session.facts.values()
        if f.subject_kind_and_name[0] == "nic"
    }
    return [
        (clean_text(name), fact_words(session, subject, "speed") or fact_words(session, subject, "driver"))
        for subject, name in cards.items()
    ]


def _describe_firewall(session: RunSession) -> str:
    """A word or two; the table and `f` have the rest."""
    service, running, count, checked = (
        fact.value if (fact := session.facts.get(f"firewall {name}")) is not None else None
        for name in ("service", "service_running", "rule_count", "reverse_path_rules")
    )
    unread = missing_reason(session, "firewall", "rules")
    if service is None and count is None and not unread:
        return ""
    if service not in (None, "none"):
        words = clean_text(str(service)) + (", not running" if running is False else "")
    elif count:
        words = f"nftables {value_words(count)} rule{'' if count == 1 else 's'}"
    elif fact_words(session, "firewall", "iptables_legacy"):
        words = "iptables"
    else:
        words = "no firewall" if count == 0 else f"firewall ? {unread}"
    return words + (", rpfilter" if checked else "")


class Headline(SessionPanel):
    """`HomeScreen` gives it the third line where the table is not shown."""

    DEFAULT_CSS = "Headline { height: 3; }"
    ID = "headline"

    def draw(self, width: int, height: int) -> list[Line]:
        session = self._session()
        first, *rest = host_lines(session, width - 2, self.shell.left)
        rest += [host_parts_line(session, width - 2)] if height > 2 else []
        return [
            tinted_line([(" ", "text"), *first], width, "bar"),
            *([(" ", "text"), *line] for line in rest),
        ]
