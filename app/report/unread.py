"""What of this host was not looked at, why, and what would show it; apart from what the host does not tell."""

from collections.abc import Collection
from typing import NamedTuple

from hostdx.app.recordings.session import RunSession
from hostdx.probes.types import AbsentKind
from hostdx.probes.units import count_noun
from hostdx.scenarios.contract.results import document as doc

# What an admin can do about it. Not here: what the kernel, a device or the host does not have.
REMEDIES: dict[AbsentKind, str] = {
    "permission": "run hostdx as root",
    "tool": "install it, then look again",
    "timeout": "look again; if it takes as long, something hangs there",
    "container": "run hostdx on the host itself, outside of the container",
    "captured": "capture the host again: this tree does not hold it",
    "invalid": "read it by hand: hostdx does not know this form",
}


class UnreadGroup(NamedTuple):
    """Facts and checks that one thing kept from being read. `remedy` is empty where there is nothing to read."""

    names: tuple[str, ...]
    reason: str
    remedy: str


def group_unread(session: RunSession) -> list[UnreadGroup]:
    """Those with a remedy first."""
    groups: dict[tuple[str, str], list[str]] = {}
    for absent in session.absent.values():
        groups.setdefault((absent.reason, REMEDIES.get(absent.kind, "")), []).append(absent.label)
    for check in session.checks.values():
        if check.reason and check.state in ("unreadable", "spoke"):
            name = f"{check.title} ({check.rule})" if check.title else check.rule
            groups.setdefault((check.reason, REMEDIES.get(check.kind, "")), []).append(name)
    unread = [UnreadGroup(tuple(names), reason, remedy) for (reason, remedy), names in groups.items()]
    return sorted(unread, key=lambda group: not group.remedy)


def count_readable(session: RunSession) -> int:
    """Return how many facts and checks something would show that an admin can do."""
    return sum(len(group.names) for group in group_unread(session) if group.remedy)


def unread_parts(session: RunSession) -> list[doc.Part]:
    rows = [("; ".join(g.names), g.reason, g.remedy) for g in group_unread(session) if g.remedy]
    return [doc.Table(("what", "why", "what would show it"), tuple(rows))] if rows else []


def missing_parts(session: RunSession) -> list[doc.Part]:
    rows = [("; ".join(group.names), group.reason) for group in group_unread(session) if not group.remedy]
    return [doc.Table(("what", "why"), tuple(rows))] if rows else []


def may_ask_programs(session: RunSession) -> bool:
    """Return whether this is a live host whose programs were not asked."""
    began = session.began
    return began is not None and not session.is_captured and not began.options.get("programs")


def programs_answer_text(session: RunSession, findings_before: Collection[str]) -> str:
    """Return how many programs answered and what that added; empty where none was asked. `findings_before`: the keys of
    what was found before they were asked.
    """
    answered = session.facts.get("programs answered")
    if answered is None or not isinstance(answered.value, list):
        return ""
    added = len(session.findings.keys() - set(findings_before))
    new = count_noun(added, "new finding") if added else "nothing new"
    return f"{count_noun(len(answered.value), 'program')} answered: {new}"
