"""How far a run is and what it will do next, as its plan and its events tell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import PlannedStep
from hostdx.scenarios.contract.verdict.verdict import estimate_of_ratio, rule_on_effect
from hostdx.scenarios.experiment.looks import plan_analyses

if TYPE_CHECKING:
    from hostdx.app.recordings.session import RunSession

MAX_DONE_SHARE = 0.97  # of a run that has not ended yet
# by which the share to come may grow while the bar stands still; beyond it both contradict
MAX_REST_FACTOR = 2.0
MIN_LEFT_SHARE = 0.1  # of a step that has not ended yet
# of the seconds until the last analysis: what needs more may as well be decided much earlier
LATE_SHARE = 0.8
_OVER = ("done", "skipped", "failed")


def time_left_s(session: RunSession) -> float | None:
    """About so many seconds until the run is over; None where nobody can tell, or it is over.

    A step to come takes what its plan says and what those of its kind (loads, or what prepares them) took so far.
    Loads that share a budget end at any interim analysis from the next one on, and at the latest with the budget. The
    geometric mean of both ends is the estimate whose largest error, as a factor, is the smallest.
    """
    plan = session.plan
    if plan is None or session.ended is not None:
        return None
    progress = session.current_progress
    if progress is not None and progress.seconds_left is None and progress.done and progress.done < 1:
        only = [s for s in plan.steps if s.seconds > 0]
        if len(only) < 2:
            return session.time * (1 - progress.done) / progress.done  # only the share of the whole is known
    planned = [s for s in plan.steps if s.seconds > 0]
    if not planned:
        return progress.seconds_left if progress is not None else None
    loads = {load.id for load in plan.workloads}
    has_loads_to_come = any(load not in session.blocks for load in loads if load != session.workload)
    left, earliest = 0.0, 0.0
    spare = _budget_seconds_left(session, planned, loads)
    may_end_early = spare is not None and has_loads_to_come
    for step in planned:
        now = session.steps.get(step.id)
        if now is not None and now.state in _OVER:
            continue
        is_load = step.id in loads
        expected = step.seconds * _pace_factor(
            session, [s for s in planned if (s.id in loads) == is_load], step
        )
        if now is not None:
            is_told = progress is not None and _is_about_step(
                progress.step, step.id, loads, has_loads_to_come
            )
            told_left = progress.seconds_left if progress is not None and is_told else None
            analyses_s = _seconds_to_next_and_last(session, step.id if is_load else session.workload)
            is_waiting = is_load and step.id != session.workload
            if told_left is None:
                expected = _step_seconds_left(session, step, expected, loads)
            elif analyses_s is not None and told_left > LATE_SHARE * min(spare or math.inf, analyses_s[1]):
                expected = _geometric_estimate(analyses_s[0], told_left)
            else:
                expected = told_left
            if is_waiting and analyses_s is not None:
                expected = min(expected, analyses_s[0])
            may_end_early = may_end_early or is_waiting or (is_load and told_left is None)
        if is_load:
            earliest += expected
        else:
            left += expected
    if spare is None:
        return left + earliest
    return left + (_geometric_estimate(earliest, spare) if may_end_early else min(earliest, spare))


def _budget_seconds_left(session: RunSession, planned: list[PlannedStep], loads: set[str]) -> float | None:
    """Return what is left of the budget that steps of a load each share; None where they share none."""
    shares = [s.seconds for s in planned if s.id in loads]
    if not shares or session.plan is None or "budget" not in session.plan.options:
        return None
    began = [session.began_at[item] for item in loads if item in session.began_at]
    chosen = session.plan.options["budget"]
    budget = chosen if isinstance(chosen, int | float) else sum(shares)
    return max(0.0, budget - (session.time - min(began) if began else 0.0))


def _geometric_estimate(earliest: float, latest: float) -> float:
    return math.sqrt(min(max(earliest, MIN_LEFT_SHARE * latest), latest) * latest)


def _step_seconds_left(session: RunSession, step: PlannedStep, expected: float, load_ids: set[str]) -> float:
    """Return the seconds until the end of a step that tells nothing of it. One that overran its plan by ten seconds is
    expected to take ten more, and one that measures loads in turn as long for each load to come as for each before.
    """
    elapsed = session.time - session.steps[step.id].t
    rest = max(MIN_LEFT_SHARE * expected, abs(expected - elapsed))
    over = len({verdict.workload for verdict in session.verdicts.values()} & load_ids)
    if step.id in load_ids or not over:
        return rest
    return min(rest, elapsed * (len(load_ids) - over) / over)


def _seconds_to_next_and_last(session: RunSession, load: str) -> tuple[float, float] | None:
    """Return the seconds of measuring until the load's next and until its last analysis; None where none is known."""
    estimates = [e for e in session.estimates.values() if e.workload == load]
    # of a decided pair none follows
    newest = max(estimates, key=lambda estimate: estimate.groups, default=None)
    analysis = find_next_analysis(session, newest, margin=0.0) if newest is not None else None
    return None if analysis is None else (analysis.seconds, analysis.last_s)


def _is_about_step(told_step: str, step: str, loads: set[str], has_loads_to_come: bool) -> bool:
    """Return whether progress is told of the step itself, or of the last load within a step that is none."""
    return told_step == step or (told_step in loads and step not in loads and not has_loads_to_come)


def _pace_factor(session: RunSession, similar_steps: list[PlannedStep], step: PlannedStep) -> float:
    """Return how long steps of this kind took against their plans; the own plan weighs as much as one of them."""
    took = due = step.seconds
    for planned_step in similar_steps:
        now = session.steps.get(planned_step.id)
        if now is not None and now.state in _OVER and planned_step.id in session.began_at:
            took, due = took + max(0.0, now.t - session.began_at[planned_step.id]), due + planned_step.seconds
    return took / due


def share_of_time_done(session: RunSession) -> float | None:
    """0..1 of the whole run, by time."""
    left = time_left_s(session)
    if left is None or not math.isfinite(left):
        return None
    total_s = session.time + left
    return min(MAX_DONE_SHARE, session.time / total_s) if total_s > 0 else None


def steady_share_done(session: RunSession) -> float | None:
    """The same for a bar, which goes back only where the estimate changes a lot."""
    now = share_of_time_done(session)
    return None if now is None else smoothed_share(session.share, now)


def smoothed_share(shown: float, now: float) -> float:
    """Return what a bar shows after `shown`: it stands still until the share to come is much more than it shows."""
    return now if 1 - now > MAX_REST_FACTOR * (1 - shown) else max(now, shown)


class NextInterimAnalysis(NamedTuple):
    """The next interim look: after how many groups, in how many seconds, and whether it would decide as it stands.

    last_s: seconds until the last look.
    """

    groups: int
    seconds: float
    decides: bool
    last_s: float


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
    since_last_s = session.time - group_times[-1]
    return NextInterimAnalysis(
        following,
        max(0.0, pace * (following - estimate.groups) - since_last_s),
        rule_on_effect(then).is_decided,
        max(0.0, pace * (estimate.planned_groups - estimate.groups) - since_last_s),
    )
