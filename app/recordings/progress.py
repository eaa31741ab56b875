"""How far a run is and what it will do next, as its plan and its events tell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import PlannedStep
from hostdx.scenarios.contract.verdict.verdict import decide, estimate_of_ratio
from hostdx.scenarios.experiment.looks import plan_analyses

if TYPE_CHECKING:
    from hostdx.app.recordings.session import RunSession

MAX_DONE_SHARE = 0.97  # of a run that has not ended yet
MAX_SHARE_FALL = 0.2  # by which a bar stands still; beyond it the time left would contradict it
MIN_LEFT_SHARE = 0.1  # of a step that has not ended yet
_OVER = ("done", "skipped", "failed")


def time_left(session: RunSession) -> float | None:
    """About so many seconds until the run is over; None where nobody can tell, or it is over.

    A step to come takes what its plan says and what those of its kind (loads, or what prepares them) took so far. Of a
    budget that the loads share, one that is decided early leaves its time to the others.
    """
    plan = session.plan
    if plan is None or session.ended is not None:
        return None
    progress = session.told_progress
    if progress is not None and progress.seconds_left is None and progress.done and progress.done < 1:
        only = [s for s in plan.steps if s.seconds > 0]
        if len(only) < 2:
            return session.time * (1 - progress.done) / progress.done  # only the share of the whole is known
    planned = [s for s in plan.steps if s.seconds > 0]
    if not planned:
        return progress.seconds_left if progress is not None else None
    loads = {load.id for load in plan.workloads}
    has_loads_to_come = any(load not in session.blocks for load in loads if load != session.workload)
    left, under_way = 0.0, 0.0
    unknown: list[float] = []
    again = False
    for step in planned:
        now = session.steps.get(step.id)
        if now is not None and now.state in _OVER:
            continue
        load = step.id in loads
        expected = step.seconds * _pace_factor(session, [s for s in planned if (s.id in loads) == load], step)
        told_left = None
        if now is not None:
            again = again or (load and step.id != session.workload)
            told_left = (
                progress.seconds_left
                if progress is not None and _is_about_step(progress.step, step.id, loads, has_loads_to_come)
                else None
            )
            expected = (
                max(MIN_LEFT_SHARE * expected, expected - (session.time - now.t))
                if told_left is None
                else told_left
            )
        if not load:
            left += expected
        elif told_left is None:
            unknown.append(expected)
        else:
            under_way += expected
    if "budget" not in plan.options:
        return left + under_way + sum(unknown)
    began = [session.began_at[item] for item in loads if item in session.began_at]
    chosen = plan.options["budget"]
    budget = chosen if isinstance(chosen, int | float) else sum(s.seconds for s in planned if s.id in loads)
    spare = max(0.0, budget - (session.time - min(began) if began else 0.0))
    if again:  # one has another turn: it takes what the others leave
        return left + spare
    shared = max(0.0, spare - under_way) / max(1, len(unknown))
    return left + min(spare, under_way + sum((item + max(item, shared)) / 2 for item in unknown))


def _is_about_step(told_step: str, step: str, loads: set[str], has_loads_to_come: bool) -> bool:
    """Return whether progress is told of the step itself, or of the last load within a step that is none."""
    return told_step == step or (told_step in loads and step not in loads and not has_loads_to_come)


def _pace_factor(session: RunSession, kind: list[PlannedStep], step: PlannedStep) -> float:
    """Return how long steps of this kind took against their plans; the own plan weighs as much as one of them."""
    took = due = step.seconds
    for planned_step in kind:
        now = session.steps.get(planned_step.id)
        if now is not None and now.state in _OVER and planned_step.id in session.began_at:
            took, due = took + max(0.0, now.t - session.began_at[planned_step.id]), due + planned_step.seconds
    return took / due


def share_of_time_done(session: RunSession) -> float | None:
    """0..1 of the whole run, by time."""
    left = time_left(session)
    if left is None or not math.isfinite(left):
        return None
    total_s = session.time + left
    return min(MAX_DONE_SHARE, session.time / total_s) if total_s > 0 else None


def share_done(session: RunSession) -> float | None:
    """The same for a bar, which goes back only where the estimate changes a lot."""
    now = share_of_time_done(session)
    return None if now is None else now if session.share - now > MAX_SHARE_FALL else max(now, session.share)


class NextInterimAnalysis(NamedTuple):
    """The next interim look: after how many groups, in how many seconds, and whether it would decide as it stands."""

    groups: int
    seconds: float
    decides: bool


def find_next_analysis(
    session: RunSession, estimate: ev.RunningEstimate, margin: float
) -> NextInterimAnalysis | None:
    """None without an interval, or where no look is to come."""
    if estimate.ci95 is None or not estimate.planned_groups:
        return None
    load = session.find_workload(estimate.workload)
    least = load.min_groups if load is not None else 8
    planned = plan_analyses(estimate.planned_groups, least)  # of a former recording
    following = estimate.next_look or next((n for n in planned if n > estimate.groups), 0)
    group_times = [g.t for g in session.groups.get(estimate.workload, ()) if not g.disturbed]
    if not following or len(group_times) < 2:
        return None
    began = session.steps.get(estimate.workload)
    since = began.t if began is not None and began.t < group_times[-1] else group_times[0]
    pace = (group_times[-1] - since) / len(group_times)
    then = estimate_of_ratio(estimate.ratio, estimate.ci95, margin)
    then = then._replace(units=following, least=least, last=following == estimate.planned_groups)
    return NextInterimAnalysis(
        following,
        max(0.0, pace * (following - estimate.groups) - (session.time - group_times[-1])),
        decide(then).is_decided,
    )
