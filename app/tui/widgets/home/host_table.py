"""Disks, network cards, the firewall and what is mounted, in lines: what a wide screen shows at its right."""

from collections.abc import Sequence

from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import (
    Line,
    cell_width,
    crop_line,
    fit_line,
    flow_parts,
    frame_rows,
    line_with_key_names,
    split_line,
    text_line,
    wrap_text,
)
from hostdx.app.tui.widgets.panel import SessionPanel
from hostdx.probes import units
from hostdx.probes.types import Json


def value_words(value: Json, unit: str = "") -> str:
    """A fact's value as a person reads it; lists are joined, bytes get a prefix."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit in ("bytes", "B") and isinstance(value, int | float):
        odd = value < 10_000 and value % 1024  # an MTU of 1500 is none of 1.46 KiB
        return f"{value} B" if odd else units.format_size(value)
    if unit == "Mbit/s" and isinstance(value, int | float):
        return units.format_bit_rate(value * 1e6)
    if isinstance(value, list):
        return ", ".join(value_words(v) for v in value)
    if isinstance(value, dict):
        return "  ".join(f"{k} {value_words(v)}" for k, v in value.items())
    return clean_text(str(value)) + (f" {unit}" if unit else "")


def fact_words(session: RunSession, subject: str, name: str) -> str:
    """Empty where it was not read."""
    fact = session.facts.get(f"{subject} {name}")
    return "" if fact is None else value_words(fact.value, fact.unit)


def missing_reason(session: RunSession, subject: str, name: str) -> str:
    """Return why a fact could not be read, its beginning: `needs root`. Empty where it was read, or not asked for."""
    label = f"{subject} {name}"
    absent = session.absent.get(label)
    if absent is None or label in session.facts:
        return ""
    return "needs root" if absent.kind == "permission" else clean_text(absent.reason)


_GROUPS = ("disk", "md", "nic", "firewall", "mount", "cgroup")
# In which order a device's facts are told, and what else is one key away
_TOLD = {
    "disk": ("transport", "model", "label", "size", "file_systems", "scheduler", "write_cache", "link", "on"),
    "md": ("level", "state", "missing", "action"),
    "nic": ("speed", "driver"),
    "cgroup": ("cpu", "memory"),
    "mount": ("type", "source"),
}
# A bare `none` says nothing
_NAMED = {"scheduler": "scheduler ", "on": "on ", "missing": "missing ", "source": "on ", "memory": "memory "}
_HEAD = 9  # cells of the group's name
_LIMITS = "limits"  # the name of a control group's


def firewall_words(session: RunSession) -> list[tuple[str, str]]:
    """(sentence, role), as short as they can be understood; what could not be read with its reason."""
    out = []
    manager, rules = fact_words(session, "firewall", "manager"), fact_words(session, "firewall", "rules")
    if manager:
        out.append(("no firewalld, no ufw" if manager == "none" else manager, "text"))
    if rules:
        out.append(("no nftables rules" if rules == "none" else f"rules: {rules}", "text"))
    if old := fact_words(session, "firewall", "iptables_legacy"):
        out.append((f"old iptables: {old}", "text"))
    for protocol in ("IPv6", "IPv4"):
        if check := fact_words(session, "firewall", f"reverse_path_{protocol.lower()}"):
            words = f"{protocol} reverse paths: {check}"
            out.append((f"no check of {protocol} reverse paths" if check == "none" else words, "text"))
    unread = {"manager": "manager", "rules": "rules", "reverse_path_ipv6": "IPv6 reverse paths"}
    reasons: dict[str, list[str]] = {}
    for name, word in unread.items():
        if reason := missing_reason(session, "firewall", name):
            reasons.setdefault(reason, []).append(word)
    out += [(f"? {', '.join(words)}: {reason}", "unknown") for reason, words in reasons.items()]
    return out


def _facts_by_device(session: RunSession, group: str) -> dict[str, list[str]]:
    """A group's devices, each with its facts in the order in which they are told."""
    facts_by_device: dict[str, dict[str, str]] = {}
    for fact in session.facts.values():
        kind, device = fact.subject_kind_and_name
        if kind != group or fact.name not in _TOLD[group] or (fact.value == "none" and group == "cgroup"):
            continue
        sold = fact.name == "size" and isinstance(fact.value, int)
        words = units.format_capacity(float(fact.value)) if sold else value_words(fact.value, fact.unit)  # type: ignore[arg-type]
        facts_by_device.setdefault(device, {})[fact.name] = _NAMED.get(fact.name, "") + words
    last = sorted(facts_by_device, key=lambda device: facts_by_device[device].get("transport") == "loop")
    return {d: [facts_by_device[d][w] for w in _TOLD[group] if facts_by_device[d].get(w)] for d in last}


def _group_lines(session: RunSession, group: str, width: int, *, brief: bool = False) -> list[Line]:
    """The lines of one group, its name before the first; `brief`: one a device, as much as there is room for."""
    rows: list[Line] = []
    if group == "firewall":
        for words, role in firewall_words(session):
            rows += [[("", "text"), *row] for row in wrap_text(words, width - _HEAD, role, hang=2)]
    else:
        devices = _facts_by_device(session, group)
        names = min(max(14, width // 4), max((len(clean_text(d or _LIMITS)) for d in devices), default=0))
        for device, facts in devices.items():
            start = fit_line(text_line(device or _LIMITS, "strong"), names)
            room = width - names - 2 - _HEAD
            folded = flow_parts([(fact, "text") for fact in facts], room, "  ")
            for row in [_facts_that_fit(facts, room)] if brief else folded:
                rows.append([*start, ("  ", "text"), *row])
                start = [(" " * names, "text")]
    return [[(f"{group if not n else '':<{_HEAD}}", "dim"), *row] for n, row in enumerate(rows)]


def _facts_that_fit(facts: Sequence[str], room: int) -> Line:
    """Return the facts that are whole in one line, without those that are too long; a first one is cut."""
    shown = list(facts[:1])
    for fact in facts[1:]:
        if cell_width(text_line("  ".join((*shown, fact)))) <= room:
            shown.append(fact)
    return crop_line(text_line("  ".join(shown)), room)


def _share_height(groups: list[list[Line]], height: int) -> list[Line]:
    """All of the small groups, and of the large ones as much as there is room for: no group pushes another out."""
    room, shares = height, {}
    for left, (number, rows) in zip(
        range(len(groups), 0, -1), sorted(enumerate(groups), key=lambda g: len(g[1])), strict=True
    ):
        shares[number] = min(len(rows), room // left)
        room -= shares[number]
    out: list[Line] = []
    for number, rows in enumerate(groups):
        share = shares[number]
        cut = 1 < share < len(rows)
        out += rows[: share - 1] if cut else rows[:share]
        if cut:
            out.append(text_line(" " * _HEAD + f"… {len(rows) - share + 1} lines more: f", "dim"))
    return out


def draw_table(session: RunSession, width: int, height: int) -> list[Line]:
    """Everything else is on the screen of all facts."""
    full_groups = [_group_lines(session, group, width) for group in _GROUPS]
    fits = sum(map(len, full_groups)) <= height
    return _share_height(
        full_groups if fits else [_group_lines(session, group, width, brief=True) for group in _GROUPS],
        height,
    )


class HostTable(SessionPanel):
    """Only on wide screens; everything in it is one key away on the others (`f`)."""

    DEFAULT_CSS = "HostTable { height: 1fr; }"
    ID = "host"

    def draw(self, width: int, height: int) -> list[Line]:
        session = self._session()
        note = line_with_key_names("[f] all facts", "dim")
        if self.has_borders:
            return frame_rows("HOST", draw_table(session, width - 4, height - 2), width, height, note=note)
        return [split_line(text_line("HOST", "title"), note, width), *draw_table(session, width, height - 1)]
