"""Where every pair of a run stands: by its verdict, before that by what the estimate allows to be said."""

import math
from typing import NamedTuple

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.figures.interval_chart import MARGIN, drawable_interval, is_drawable_value
from hostdx.app.report.wording import (
    is_measured,
    metric_title,
    too_few_groups_text,
    verdict_load_title,
    verdict_role,
    word_without_figures,
    workload_title,
)
from hostdx.app.terminal.glyphs import clean_text
from hostdx.probes import units
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Workload
from hostdx.scenarios.contract.results.document import Bar
from hostdx.scenarios.contract.verdict.verdict import OPEN, Word, ratio_of
from hostdx.scenarios.experiment.statistics.stats import interval_over_groups
from hostdx.scenarios.experiment.wording import effect_size_and_interval_cells, mark_if_control

KNOWN_WITHIN = 2.0  # an interval that goes beyond this factor both ways says nothing yet


class PairStanding(NamedTuple):
    """`name` tells the pair from others of its load, `words` is the effect or why there is none yet, `figures` its
    interval. `bar`: None as long as there are too few groups for an interval that says something."""

    name: str
    words: str
    figures: str
    role: str
    bar: Bar | None = None
    verdict: ev.RunVerdict | None = None


def margin_of(session: RunSession) -> float:
    """The smallest effect that matters in this run, as it was chosen."""
    for options in (
        session.plan.options if session.plan else {},
        session.began.options if session.began else {},
    ):
        value = options.get("margin")
        if isinstance(value, int | float) and 0 < value < 1:
            return float(value)
    return MARGIN


def title_of(session: RunSession, workload: str) -> str:
    return clean_text(workload_title(session, workload))


def list_standings(session: RunSession, workload: str) -> list[PairStanding]:
    """One a pair that was measured so far, in the order in which they came."""
    keys = [k for k in dict.fromkeys((*session.estimates, *session.verdicts)) if k[0] == workload]
    if not keys:
        return _grouped_standings(session, workload)
    about = [e for e in session.estimates.values() if e.workload == workload]
    furthest = max((e.groups for e in about), default=0)
    several, metrics = len({k[2:] for k in keys}) > 1, len({k[1] for k in keys}) > 1
    out = []
    for key in keys:
        verdict, estimate = session.verdicts.get(key), session.estimates.get(key)
        name = clean_text(f"{key[3]} / {key[2]}") if several else ""
        if metrics:
            name = ", ".join(filter(None, (name, clean_text(metric_title(key[1])))))
        if verdict is not None:
            out.append(_judged_standing(session, verdict, name))
        elif estimate is not None:
            out.append(_estimated_standing(session, estimate, name, furthest))
    return out


def _grouped_standings(session: RunSession, workload: str) -> list[PairStanding]:
    """Of a scenario that estimates nothing before its end: each pair's interval over the groups so far."""
    if session.ended is not None or session.scenario_card.role == "battery":
        return []
    ratios: dict[str, list[float]] = {}
    for group in session.groups.get(workload, ()):
        for key, value in group.log_ratios.items():
            if not group.disturbed and math.isfinite(value):
                ratios.setdefault(key, []).append(value)
    estimates = []
    for key, values in ratios.items():
        metric, _, pair = key.partition("|")
        baseline, _, variant = pair.partition("|")
        if (spread := interval_over_groups(values)) is not None:
            ratio, low, high = (ratio_of(end) for end in spread)
            estimates.append(
                ev.RunningEstimate(
                    t=session.time,
                    workload=workload,
                    metric=metric,
                    baseline=baseline,
                    variant=variant,
                    groups=len(values),
                    ratio=ratio,
                    ci95=(low, high),
                )
            )
    several = len({(e.baseline, e.variant) for e in estimates}) > 1
    out = []
    for estimate in estimates:
        name = clean_text(f"{estimate.variant} / {estimate.baseline}") if several else ""
        out.append(_estimated_standing(session, estimate, name, estimate.groups))
    return out


def _judged_standing(session: RunSession, verdict: ev.RunVerdict, name: str) -> PairStanding:
    if not is_measured(verdict):
        return PairStanding(
            name,
            str(word_without_figures(verdict)),
            clean_text(verdict.reason or ""),
            "unknown",
            None,
            verdict,
        )
    if few := too_few_groups_text(session, verdict):
        return PairStanding(name, few, "", "unknown", None, verdict)
    words, figures = effect_size_and_interval_cells(verdict)
    title = clean_text(verdict_load_title(session, verdict) + (f", {name}" if name else ""))
    bar = None
    if is_drawable_value(verdict.ratio):
        bar = Bar(title, verdict.ratio, drawable_interval(verdict.ci95), Word(verdict.verdict), words)
    return PairStanding(name, words, figures, verdict_role(verdict), bar, verdict)


def _estimated_standing(
    session: RunSession, estimate: ev.RunningEstimate, name: str, most_groups: int
) -> PairStanding:
    """No direction before the interval allows one, and no interval before the first look at it."""
    load = session.find_workload(estimate.workload)
    least = load.min_groups if load is not None else 1
    interval, decided = drawable_interval(estimate.ci95), estimate.groups < most_groups
    if interval is None or not is_drawable_value(estimate.ratio) or (estimate.groups < least and not decided):
        return PairStanding(name, _count_words(session, estimate.workload, estimate.groups, least), "", "dim")
    low, high = interval
    early = low < 1 < high
    if early and decided:  # an open last estimate is older than what decided
        return PairStanding(name, "decided", "", "dim")
    if low < 1 / KNOWN_WITHIN and high > KNOWN_WITHIN:
        return PairStanding(name, "inconclusive so far", "", "dim")
    words, figures = (
        ("inconclusive so far", units.format_interval(low, high))
        if early
        else (
            f"{units.format_effect(estimate.ratio)} so far",
            units.format_interval(low, high, estimate.ratio),
        )
    )
    if decided:
        words = f"{units.format_effect(estimate.ratio)}, decided"
    title = mark_if_control(title_of(session, estimate.workload), control=load is not None and load.control)
    bar = Bar(title + (f", {name}" if name else ""), estimate.ratio, interval, OPEN, words)
    return PairStanding(name, words, figures, "dim" if early else "strong", bar)


def piece_noun(session: RunSession) -> str:
    """Return what the repetitions of a load are called: a set of short benchmarks goes round all its loads."""
    return "round" if session.scenario_card.role == "battery" else "group"


def _count_words(session: RunSession, workload: str, done: int, least: int, *, marked: bool = False) -> str:
    """Return `measuring, 3 of 8 groups` of the load under way, `3 of 8 groups` of one that waits for its next turn, and
    of one that has a `marked` line. More than are needed are only counted.
    """
    is_under_way = session.ended is None and session.workload == workload and not marked
    noun = piece_noun(session)
    counted = f"{done} of {least} {noun}s" if done < least else units.count_noun(done, noun)
    return f"measuring, {counted}" if is_under_way else counted


def planned_words(session: RunSession, load: Workload, *, marked: bool = False) -> str:
    """Of a load without any pair: what it waits for. `marked`: a sign says whether it is under way."""
    step = session.steps.get(load.id)
    if step is not None and step.state in ("skipped", "failed"):
        return step.state
    blocks = session.blocks.get(load.id, ())
    if blocks and all(block.phase in ("warmup", "onset") for block in blocks):
        if not _is_compared(session):
            return "measuring"
        return _count_words(session, load.id, 0, load.min_groups, marked=marked)
    done_groups = sum(not group.disturbed for group in session.groups.get(load.id, ()))
    if not done_groups and len(blocks) > 1 and len({block.variant for block in blocks}) == 1:
        # of one variant alone: it has nothing to be compared with
        return units.count_noun(len(blocks), "window")
    if not _is_compared(session):
        begun = load.id in session.blocks
        return (
            units.count_noun(done_groups, piece_noun(session))
            if done_groups
            else "measuring"
            if begun
            else "waiting"
        )
    if load.id in session.blocks or session.workload == load.id:
        return _count_words(session, load.id, done_groups, load.min_groups, marked=marked)
    return "waiting" if session.ended is None else "not measured"


def _is_compared(session: RunSession) -> bool:
    """Return what a battery measured is compared with another recording: it judges nothing itself."""
    return (
        session.scenario_card.role != "battery" and bool(session.estimates or session.verdicts)
    ) or not session.groups


def workloads_with_pairs(session: RunSession) -> list[tuple[Workload, list[PairStanding]]]:
    """Every load of the plan with its pairs, in the plan's order; those that no plan names at the end."""
    loads_by_name = {load.id: load for load in session.planned_workloads}
    for name in dict.fromkeys((*session.blocks, *(v.workload for v in session.verdicts.values()))):
        loads_by_name.setdefault(name, Workload(id=name, title=name, metrics=()))
    return [(load, list_standings(session, name)) for name, load in loads_by_name.items()]
