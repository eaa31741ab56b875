"""Many of one kind are one finding: 119 disks on `none` are one line with a count."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from scenarios.finding import Evidence, Finding

MOST_SHOWN = 8


def folded(findings: Iterable[Finding]) -> list[Finding]:
    """Findings that say the same (`alike`) of several subjects become one, in the place of the first."""
    groups: dict[tuple[str, str, str, str], list[Finding]] = {}
    for one in findings:
        own = "" if one.subject else f"{len(groups)}"  # a finding without a subject stands for itself
        groups.setdefault((one.id, one.severity, one.alike, own), []).append(one)
    return [group[0] if len(group) == 1 else _one_of(group) for group in groups.values()]


def _one_of(group: list[Finding]) -> Finding:
    first, subjects = group[0], tuple(one.subject for one in group)
    if len(set(subjects)) < 2:
        return first
    named = ", ".join(subjects[1:4]) + (", ..." if len(subjects) > 4 else "")
    evidence = [*first.evidence, *(one.evidence[0] for one in group[1:MOST_SHOWN] if one.evidence)]
    if len(group) > MOST_SHOWN:
        rest = ", ".join(subjects[MOST_SHOWN:])
        evidence.append(Evidence(f"and {len(group) - MOST_SHOWN} more: {rest}"[:2000]))
    return msgspec.structs.replace(
        first,
        title=f"{first.title}; the same for {len(group) - 1} more: {named}",
        subject="",
        subjects=subjects,
        evidence=tuple(evidence),
    )
