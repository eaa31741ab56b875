"""Whether a run can be trusted: its control, what disturbed it, whether the load reached the disk, drift, resolution.

Each sign is made from fields; what a run has no means to tell is not said.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import Literal, NamedTuple, TypeAlias

from app.recording.session import Session
from app.report import wording
from app.report.verdict_table import counts
from probes import units
from scenarios import events as ev
from scenarios.experiment.drift import Drift, drifts
from scenarios.experiment.wording import drift_text

_LARGEST = 1e100  # what a recording gives beyond it was not measured, and overflows a sum

State: TypeAlias = Literal["ok", "notice", "unknown", "critical"]
MARKS: dict[State, str] = {"ok": "✓", "notice": "▲", "unknown": "?", "critical": "!"}
REACHED = 0.95  # of a load's bytes must show in the disks' own counters
MANY = 0.5  # of all groups disturbed: a run on a host that is not quiet


class Sign(NamedTuple):
    state: State
    text: str


def trust(session: Session) -> list[Sign]:
    """Empty where nothing was measured."""
    told = [v for v in session.verdicts.values() if wording.measured(v)]
    if not told:
        return []
    signs = [*_controls(session), *_disturbed(session), *_reached(session), *_drift(session, told)]
    return [*signs, *_resolution(told)]


def _controls(session: Session) -> list[Sign]:
    out = []
    told = session.verdicts.values()
    several = len({v.workload for v in told}) > 1
    for v in (v for v in told if v.control):
        load = wording.workload_title(session, v.workload)
        shared = any(o.workload == v.workload and not o.control for o in told)
        name = load if not shared else f"{v.variant}, {load}" if several else v.variant
        if v.verdict == "no material difference":
            out.append(Sign("ok", f"control equal ({name})"))
        elif v.verdict in ("slower", "faster"):
            out.append(
                Sign(
                    "critical", f"the control differs ({name}: {units.effect(v.ratio)}): do not use this run"
                )
            )
        elif wording.measured(v):
            out.append(Sign("unknown", f"control {v.verdict} ({name})"))
        else:
            out.append(Sign("unknown", f"control not measured ({name})"))
    return out


def _disturbed(session: Session) -> list[Sign]:
    total = sum(map(len, session.groups.values()))
    if not total:
        return []
    count = session.disturbed_groups
    again = ", measured again" if count else ""
    state: State = "ok" if not count else "critical" if count > MANY * total else "notice"
    return [Sign(state, f"{count} of {total} groups disturbed{again}")]


def _reached(session: Session) -> list[Sign]:
    short = []
    known = False
    for workload, blocks in session.blocks.items():
        counted = [b for b in blocks if counts(b) and b.device_bytes is not None and b.bytes > 0]
        asked = sum(b.bytes for b in counted)
        if not asked:
            continue
        known = True
        share = sum(b.device_bytes or 0 for b in counted) / asked
        if share < REACHED:
            short.append(f"{wording.workload_title(session, workload)} {units.percent(share)}")
    if short:
        return [Sign("notice", f"only a part of the bytes reached the disk: {', '.join(short)}")]
    return [Sign("ok", "the loads reached the disk")] if known else []


def _drift(session: Session, told: list[ev.Verdict]) -> list[Sign]:
    """As the verdict has it; of a recording whose verdict has none, as its groups show it."""
    out = []
    for v in told:
        courses = [Drift(side, first, last) for side, (first, last) in v.drift.items()]
        if courses := courses or drifts(*_by_group(session, v), (v.baseline, v.variant)):
            title = wording.workload_title(session, v.workload)
            out.append(Sign("notice", f"{title}: {drift_text(courses, v.metric)}"))
    return out or [Sign("ok", "no side drifted")]


def _by_group(session: Session, verdict: ev.Verdict) -> tuple[list[float], list[float]]:
    """Each group's mean of the baseline and of the variant; groups without one of them are left out."""
    groups: dict[int, dict[str, list[float]]] = {}
    for b in session.blocks.get(verdict.workload, ()):
        value = b.values.get(verdict.metric, math.nan)
        if counts(b) and abs(value) < _LARGEST:
            groups.setdefault(b.group, {}).setdefault(b.variant, []).append(value)
    both = [g for g in groups.values() if verdict.baseline in g and verdict.variant in g]
    left, right = ([fmean(g[side]) for g in both] for side in (verdict.baseline, verdict.variant))
    return left, right


def _resolution(told: list[ev.Verdict]) -> list[Sign]:
    seen = [v.smallest_effect for v in told if not v.control and v.smallest_effect and wording.small(v)]
    if not seen:
        return []
    least, most = (units.smallest_effect(value) for value in (min(seen), max(seen)))
    return [Sign("ok", f"smallest detectable effect: {least if least == most else f'{least} to {most}'}")]
