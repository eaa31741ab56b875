"""How far a run is and what it will do next, as its plan and its events tell: an upper bound, runs stop early."""

from __future__ import annotations

import math
from typing import NamedTuple

from app.recording.session import Session
from scenarios import events as ev
from scenarios.experiment.looks import looks
from scenarios.verdict.rule import decide, of_ratio

_OVER = ("done", "skipped", "failed")


def time_left(session: Session) -> float | None:
    """Seconds at most until the run is over; None where nobody can tell, or it is over."""
    plan = session.plan
    if plan is None or session.ended is not None:
        return None
    told = session.told
    if told is not None and told.seconds_left is None and told.done:
        return session.time * (1 - told.done) / told.done  # only the share of the whole is known
    planned = [s for s in plan.steps if s.seconds > 0]
    if not planned:
        return told.seconds_left if told is not None else None
    left = 0.0
    for step in planned:
        now = session.steps.get(step.id)
        if now is None:
            left += step.seconds
        elif now.state not in _OVER:
            own = max(0.0, step.seconds - (session.time - now.t))
            known = told.seconds_left if told is not None and told.step == step.id else None
            left += own if known is None else max(0.0, known)
    return left


def share_done(session: Session) -> float | None:
    """0..1 of the whole run, by time."""
    left = time_left(session)
    if left is None or not math.isfinite(left):
        return None
    whole = session.time + left
    return min(1.0, session.time / whole) if whole > 0 else None


class NextLook(NamedTuple):
    """The next interim look: after how many groups, in how many seconds, and whether it would decide as it stands."""

    groups: int
    seconds: float
    decides: bool


def next_look(session: Session, estimate: ev.Estimate, margin: float) -> NextLook | None:
    """None without an interval, or where no look is to come."""
    if estimate.ci95 is None or not estimate.planned_groups:
        return None
    load = session.load(estimate.workload)
    least = load.min_groups if load is not None else 8
    planned = looks(estimate.planned_groups, least)  # of a former recording
    following = estimate.next_look or next((n for n in planned if n > estimate.groups), 0)
    taken = [g.t for g in session.groups.get(estimate.workload, ()) if not g.disturbed]
    if not following or len(taken) < 2:
        return None
    began = session.steps.get(estimate.workload)
    since = began.t if began is not None and began.t < taken[-1] else taken[0]
    pace = (taken[-1] - since) / len(taken)
    then = of_ratio(estimate.ratio, estimate.ci95, margin)
    then = then._replace(units=following, least=least, last=following == estimate.planned_groups)
    return NextLook(
        following,
        max(0.0, pace * (following - estimate.groups) - (session.time - taken[-1])),
        decide(then).decided,
    )
