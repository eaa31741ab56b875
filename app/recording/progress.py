"""How far a run is and what it will do next, as its plan and its events tell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from scenarios import events as ev
from scenarios.experiment.looks import plan_analyses
from scenarios.plan import PlannedStep
from scenarios.verdict.verdict import decide, estimate_of_ratio

if TYPE_CHECKING:
    from app.recording.session import Session

MOST_DONE = 0.97  # of a run that has not ended yet
LEAST_LEFT = 0.1  # of a step that has not ended yet
_OVER = ("done", "skipped", "failed")


def time_left(session: Session) -> float | None:
    """About so many seconds until the run is over; None where nobody can tell, or it is over.

    A step to come takes what its plan says and what those of its kind (loads, or what prepares them) took so far. Of a
    budget that the loads share, one that is decided early leaves its time to the others.
    """
    plan = session.plan
    if plan is None or session.ended is not None:
        return None
    told = session.told
    if told is not None and told.seconds_left is None and told.done and told.done < 1:
        only = [s for s in plan.steps if s.seconds > 0]
        if len(only) < 2:
            return session.time * (1 - told.done) / told.done  # only the share of the whole is known
    planned = [s for s in plan.steps if s.seconds > 0]
    if not planned:
        return told.seconds_left if told is not None else None
    loads = {load.id for load in plan.workloads}
    left, under_way = 0.0, 0.0
    unknown: list[float] = []
    again = False
    for step in planned:
        now = session.steps.get(step.id)
        if now is not None and now.state in _OVER:
            continue
        load = step.id in loads
        expected = step.seconds * _pace(session, [s for s in planned if (s.id in loads) == load], step)
        known = None
        if now is not None:
            again = again or (load and step.id != session.workload)
            known = told.seconds_left if told is not None and _about(told.step, step.id, loads) else None
            expected = (
                max(LEAST_LEFT * expected, expected - (session.time - now.t)) if known is None else known
            )
        if not load:
            left += expected
        elif known is None:
            unknown.append(expected)
        else:
            under_way += expected
    if "budget" not in plan.options:
        return left + under_way + sum(unknown)
    began = [session.began_at[one] for one in loads if one in session.began_at]
    chosen = plan.options["budget"]
    budget = chosen if isinstance(chosen, int | float) else sum(s.seconds for s in planned if s.id in loads)
    spare = max(0.0, budget - (session.time - min(began) if began else 0.0))
    if again:  # one has another turn: it takes what the others leave
        return left + spare
    shared = max(0.0, spare - under_way) / max(1, len(unknown))
    return left + min(spare, under_way + sum((one + max(one, shared)) / 2 for one in unknown))


def _about(told: str, step: str, loads: set[str]) -> bool:
    """Progress is told of the step itself, or of a load within a step that is none."""
    return told == step or (told in loads and step not in loads)


def _pace(session: Session, kind: list[PlannedStep], step: PlannedStep) -> float:
    """How long steps of this kind took against their plans; the own plan weighs as much as one of them."""
    took = due = step.seconds
    for one in kind:
        now = session.steps.get(one.id)
        if now is not None and now.state in _OVER and one.id in session.began_at:
            took, due = took + max(0.0, now.t - session.began_at[one.id]), due + one.seconds
    return took / due


def share_now(session: Session) -> float | None:
    """0..1 of the whole run, by time."""
    left = time_left(session)
    if left is None or not math.isfinite(left):
        return None
    whole = session.time + left
    return min(MOST_DONE, session.time / whole) if whole > 0 else None


def share_done(session: Session) -> float | None:
    """The same for a bar, which never goes back: the largest that was told so far."""
    now = share_now(session)
    return None if now is None else max(now, session.share)


class NextLook(NamedTuple):
    """The next interim look: after how many groups, in how many seconds, and whether it would decide as it stands."""

    groups: int
    seconds: float
    decides: bool


def next_look(session: Session, estimate: ev.RunningEstimate, margin: float) -> NextLook | None:
    """None without an interval, or where no look is to come."""
    if estimate.ci95 is None or not estimate.planned_groups:
        return None
    load = session.load(estimate.workload)
    least = load.min_groups if load is not None else 8
    planned = plan_analyses(estimate.planned_groups, least)  # of a former recording
    following = estimate.next_look or next((n for n in planned if n > estimate.groups), 0)
    taken = [g.t for g in session.groups.get(estimate.workload, ()) if not g.disturbed]
    if not following or len(taken) < 2:
        return None
    began = session.steps.get(estimate.workload)
    since = began.t if began is not None and began.t < taken[-1] else taken[0]
    pace = (taken[-1] - since) / len(taken)
    then = estimate_of_ratio(estimate.ratio, estimate.ci95, margin)
    then = then._replace(units=following, least=least, last=following == estimate.planned_groups)
    return NextLook(
        following,
        max(0.0, pace * (following - estimate.groups) - (session.time - taken[-1])),
        decide(then).is_decided,
    )
