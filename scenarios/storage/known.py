"""What triage's rules say of storage, and of the directories and devices that are measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from probes.host import Host
from scenarios.events import Found
from scenarios.finding import SEVERITIES, Finding
from scenarios.storage.targets import Target, holding
from scenarios.triage import all_rules, apply_rule

STORAGE = frozenset({"storage"})
SETTINGS = frozenset({"storage", "iosched", "fstrim"})  # what is set of a disk, or on the way to it
_STATES = frozenset(
    {"iosched.tasks-in-d", "iosched.hung-tasks", "iosched.null-pointer", "iosched.hung-silent"}
)


def findings_of_storage(host: Host, subjects: Iterable[str] = STORAGE) -> list[Finding]:
    """The findings of the rules on these subjects, the worst first."""
    wanted = frozenset(subjects)
    events = (
        event
        for rule in all_rules()
        if rule.subject in wanted and rule.id not in _STATES
        for event in apply_rule(rule, host, lambda: 0.0)
    )
    found = [event.finding for event in events if isinstance(event, Found)]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def known_of(host: Host, targets: Sequence[Target]) -> list[Finding]:
    """What the rules say of these directories, their file systems and the devices below them."""
    names = set(_names(targets))
    mounted = {holding(host, one.directory) for one in targets}

    def concerned(subject: str) -> bool:
        return subject in names or (subject.startswith("/") and holding(host, subject) in mounted)

    return [
        finding
        for finding in findings_of_storage(host, SETTINGS)
        if any(concerned(subject) for subject in (finding.subject, *finding.subjects) if subject)
    ]


def _names(targets: Sequence[Target]) -> Iterator[str]:
    for one in targets:
        yield from (one.directory, one.place.mount.mountpoint, *one.place.layers, *one.place.leaves)
