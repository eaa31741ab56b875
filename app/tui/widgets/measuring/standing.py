"""Where every pair of a run stands: by its verdict, before that by what the estimate allows to be said."""

from typing import NamedTuple

from app.glyphs import clean
from app.recording.session import Session
from app.report.figures.interval_chart import MARGIN, drawable, sound
from app.report.verdict_style import role_of
from app.report.wording import load_title, measured, metric_title, too_few, workload_title
from probes import units
from scenarios import events as ev
from scenarios.experiment.wording import effect_cells, title_of_workload
from scenarios.plan import Workload
from scenarios.results.document import Bar
from scenarios.verdict.verdict import OPEN, Word

KNOWN_WITHIN = 2.0  # an interval that goes beyond this factor both ways says nothing yet


class Standing(NamedTuple):
    """`name` tells the pair from others of its load, `words` is the effect or why there is none yet, `figures` its
    interval. `bar`: None as long as there are too few groups for an interval that says something."""

    name: str
    words: str
    figures: str
    role: str
    bar: Bar | None = None
    verdict: ev.RunVerdict | None = None


def margin_of(session: Session) -> float:
    """The smallest effect that matters in this run, as it was chosen."""
    for options in (
        session.plan.options if session.plan else {},
        session.began.options if session.began else {},
    ):
        value = options.get("margin")
        if isinstance(value, int | float) and 0 < value < 1:
            return float(value)
    return MARGIN


def title_of(session: Session, workload: str) -> str:
    return clean(workload_title(session, workload))


def standings(session: Session, workload: str) -> list[Standing]:
    """One a pair that was measured so far, in the order in which they came."""
    keys = [k for k in dict.fromkeys((*session.estimates, *session.verdicts)) if k[0] == workload]
    about = [e for e in session.estimates.values() if e.workload == workload]
    furthest = max((e.groups for e in about), default=0)
    several, metrics = len({k[2:] for k in keys}) > 1, len({k[1] for k in keys}) > 1
    out = []
    for key in keys:
        verdict, estimate = session.verdicts.get(key), session.estimates.get(key)
        name = clean(f"{key[3]} / {key[2]}") if several else ""
        if metrics:
            name = ", ".join(filter(None, (name, clean(metric_title(key[1])))))
        if verdict is not None:
            out.append(_judged(session, verdict, name))
        elif estimate is not None:
            out.append(_so_far(session, estimate, name, furthest))
    return out


def _judged(session: Session, verdict: ev.RunVerdict, name: str) -> Standing:
    if not measured(verdict):
        return Standing(name, str(verdict.verdict), clean(verdict.reason or ""), "unknown", None, verdict)
    if few := too_few(session, verdict):
        return Standing(name, few, "", "unknown", None, verdict)
    words, figures = effect_cells(verdict)
    title = clean(load_title(session, verdict) + (f", {name}" if name else ""))
    bar = None
    if sound(verdict.ratio):
        bar = Bar(title, verdict.ratio, drawable(verdict.ci95), Word(verdict.verdict), words)
    return Standing(name, words, figures, role_of(verdict), bar, verdict)


def _so_far(session: Session, estimate: ev.RunningEstimate, name: str, furthest: int) -> Standing:
    """No direction before the interval allows one, and no interval before the first look at it."""
    load = session.load(estimate.workload)
    least = load.min_groups if load is not None else 1
    interval, decided = drawable(estimate.ci95), estimate.groups < furthest
    if interval is None or not sound(estimate.ratio) or (estimate.groups < least and not decided):
        return Standing(name, f"{estimate.groups} of {max(least, estimate.groups)} groups", "", "dim")
    low, high = interval
    early = low < 1 < high
    if early and decided:  # an open last estimate is older than what decided
        return Standing(name, "decided", "", "dim")
    if low < 1 / KNOWN_WITHIN and high > KNOWN_WITHIN:
        return Standing(name, "not known yet", "", "dim")
    words, figures = (
        ("too early to say", units.between(low, high))
        if early
        else (f"{units.effect(estimate.ratio)} so far", units.between(low, high, estimate.ratio))
    )
    if decided:
        words = f"{units.effect(estimate.ratio)}, decided"
    title = title_of_workload(title_of(session, estimate.workload), control=load is not None and load.control)
    bar = Bar(title + (f", {name}" if name else ""), estimate.ratio, interval, OPEN, words)
    return Standing(name, words, figures, "dim" if early else "strong", bar)


def planned_words(session: Session, load: Workload) -> str:
    """Of a load without any pair: what it waits for."""
    step = session.steps.get(load.id)
    if step is not None and step.state in ("skipped", "failed"):
        return step.state
    blocks = session.blocks.get(load.id, ())
    if blocks and all(block.phase in ("warmup", "onset") for block in blocks):
        return "warming up"
    taken = sum(not group.disturbed for group in session.groups.get(load.id, ()))
    if not _compared(session):
        begun = load.id in session.blocks
        return units.counted(taken, "group") if taken else "first round" if begun else "to come"
    if not taken and len(blocks) > 1 and len({block.variant for block in blocks}) == 1:
        return units.counted(len(blocks), "block")  # of one side alone: it has nothing to be compared with
    if load.id in session.blocks or session.workload == load.id:
        return f"{taken} of {max(load.min_groups, taken)} groups"
    return "to come" if session.ended is None else "not measured"


def _compared(session: Session) -> bool:
    """What a battery measured is compared with another recording: it judges nothing itself."""
    return (
        session.card.role != "battery" and bool(session.estimates or session.verdicts)
    ) or not session.groups


def pairs_of(session: Session) -> list[tuple[Workload, list[Standing]]]:
    """Every load of the plan with its pairs, in the plan's order; those that no plan names at the end."""
    known = {load.id: load for load in session.workloads}
    for name in dict.fromkeys((*session.blocks, *(v.workload for v in session.verdicts.values()))):
        known.setdefault(name, Workload(id=name, title=name, metrics=()))
    return [(load, standings(session, name)) for name, load in known.items()]
