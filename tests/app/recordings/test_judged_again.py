"""Every bundled recording judged anew from its own groups by today's code: the verdicts and words are the same."""

import msgspec
import pytest

from hostdx.app.recordings import store
from hostdx.app.recordings.reader import read_events
from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.values import with_difference_of_values
from hostdx.app.report.headline import find_headline_answer
from hostdx.probes.engine.measured import Measured
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Metric, Plan
from hostdx.scenarios.contract.verdict.verdict import smallest_effect_of
from hostdx.scenarios.experiment.budget import GroupPace
from hostdx.scenarios.experiment.groups import GroupBlocks, with_differences
from hostdx.scenarios.experiment.judge import Judge
from hostdx.scenarios.experiment.reference import judge_beside_reference
from hostdx.scenarios.experiment.schedule.recorded_trains import slices_in_batch
from hostdx.scenarios.experiment.trend import fit_rounds
from hostdx.scenarios.experiment.wording import effect_words, explain_verdict
from tests.every_case import every_case
from tests.fakes import FakeClock

EVENTS = {name: list(read_events(store.resolve_recording(name))) for name in store.list_example_names()}
ALPHA = 0.05
UNKNOWN_GROUPS = 400  # groups planned where no estimate tells how many: the early looks lie the same
# Numbers in a recording have five digits, and a level follows the number of groups that were planned.
ALIKE = {"rel": 2e-3, "abs": 2e-4}


def events_of(name: str, kind: type) -> list:  # type: ignore[type-arg]
    return [event for event in EVENTS[name] if isinstance(event, kind)]


def plan_of(name: str) -> Plan:
    [event] = events_of(name, ev.Planned)
    plan: Plan = event.plan
    return plan


def events_that_count(name: str, verdict: ev.RunVerdict) -> list[ev.RunEvent]:
    """Return the load's events before this verdict, after the last restart: its groups no longer count."""
    before = [
        e
        for e in EVENTS[name][: EVENTS[name].index(verdict)]
        if getattr(e, "workload", "") == verdict.workload
    ]
    restarts = [at for at, e in enumerate(before) if isinstance(e, ev.SliceLengthChosen) and e.begins_anew]
    return before[restarts[-1] :] if restarts else before


def groups_of(name: str, verdict: ev.RunVerdict) -> list[GroupBlocks]:
    """Return the groups that counted for this verdict: those that were not disturbed."""
    groups: dict[int, GroupBlocks] = {}
    before = events_that_count(name, verdict)
    for event in before:
        if isinstance(event, ev.SliceBatch) and event.phase == "steady" and not event.disturbed:
            for group, variant, place in slices_in_batch(event):
                values = {metric: column[place] for metric, column in event.values.items()}
                at = event.places[group - event.group] if event.places else None
                blocks = groups.setdefault(group, GroupBlocks(group, event.variants, at))
                blocks.add(variant, Measured(seconds=event.slice_s, values=values))
        elif isinstance(event, ev.Block) and event.phase == "steady":
            blocks = groups.setdefault(event.group, GroupBlocks(event.group, []))
            blocks.add(event.variant, Measured(seconds=event.seconds, values=event.values))
    counted = {event.index for event in before if isinstance(event, ev.Group) and not event.disturbed}
    return [group for index, group in sorted(groups.items()) if not counted or index in counted]


def metric_of(name: str, verdict: ev.RunVerdict) -> Metric:
    [load] = [w for w in plan_of(name).workloads if w.id == verdict.workload]
    [metric] = [m for m in load.metrics if m.name == verdict.metric]
    return metric


def judged_again(name: str, verdict: ev.RunVerdict) -> ev.RunVerdict:
    [load] = [w for w in plan_of(name).workloads if w.id == verdict.workload]
    metric = metric_of(name, verdict)
    pair = (verdict.baseline, verdict.variant)
    counts = [
        e.planned_groups
        for e in events_that_count(name, verdict)
        if isinstance(e, ev.RunningEstimate)
        and (e.workload, e.metric, e.baseline, e.variant) == (load.id, metric.name, *pair)
    ]
    undecided = verdict.verdict == "inconclusive"
    judge = Judge(
        load, metric, pair, family=round(ALPHA / verdict.alpha), margin=verdict.margin,
        planned_groups=max(counts, default=0) or UNKNOWN_GROUPS, scope=verdict.scope,
        all_pairs=verdict.pairs,
    )  # fmt: skip
    pace = GroupPace(FakeClock(), 1e9, 1.0)
    for group in groups_of(name, verdict):
        judge.add(group, pace)
    cause = (verdict.reason or "").split("; ")[0] if undecided else ""
    rejudged = judge.conclude_verdict(verdict.t, pace, cause)
    return msgspec.structs.replace(rejudged, seconds=verdict.seconds)  # of a clock, which stood still here


JUDGED = [
    (name, verdict)
    for name in EVENTS
    for verdict in events_of(name, ev.RunVerdict)
    if verdict.groups
    and events_of(name, ev.SliceBatch) + events_of(name, ev.Group)
    and name != "demo:box"  # which asked no Judge
]


@every_case(("name", "verdict"), JUDGED)
def test_the_groups_give_the_same_verdict(name: str, verdict: ev.RunVerdict) -> None:
    rejudged = judged_again(name, verdict)
    if verdict.ci95 is not None:  # older recordings have half the interval's width on the scale of ratios
        verdict = msgspec.structs.replace(verdict, smallest_effect=smallest_effect_of(verdict.ci95))
    assert (rejudged.verdict, rejudged.groups) == (verdict.verdict, verdict.groups)
    assert (rejudged.control, rejudged.batch) == (verdict.control, verdict.batch)
    if verdict.ratio is None:  # too few groups for an estimate
        assert rejudged.ratio is rejudged.ci95 is verdict.ci95 is None
        assert explain_verdict(rejudged) == explain_verdict(verdict)
        return
    assert rejudged.ratio == pytest.approx(verdict.ratio, **ALIKE)
    if verdict.explain:  # by older code: words made where it was judged, and not how many groups were planned
        assert rejudged.ci95 == pytest.approx(verdict.ci95, rel=2e-2)
        return
    assert rejudged.ci95 == pytest.approx(verdict.ci95, **ALIKE)
    assert rejudged.smallest_effect == pytest.approx(verdict.smallest_effect, **ALIKE)
    # alike figures may lie on both sides of a rounding: the words are compared with the recorded ones
    figures = ("ratio", "ci95", "smallest_effect", "seconds_to_decide")
    values = {name: getattr(verdict, name) for name in figures}
    replaced = msgspec.structs.replace(rejudged, **values)
    assert effect_words(replaced) == effect_words(verdict)
    assert rejudged.slower_in == verdict.slower_in and explain_verdict(replaced) == explain_verdict(verdict)


@every_case("name", sorted({name for name, _ in JUDGED}))
def test_a_run_and_its_replay_give_the_same_differences(name: str) -> None:
    session = RunSession()
    for event in EVENTS[name]:
        session.apply(event)
    for load in plan_of(name).workloads:
        of_load = [v for v in session.verdicts.values() if v.workload == load.id]
        recorded = next((v for v in events_of(name, ev.RunVerdict) if v.workload == load.id), None)
        groups = groups_of(name, recorded) if recorded is not None else []
        for verdict in with_differences(groups, load, of_load):
            paired = with_difference_of_values(session, verdict)
            assert (verdict.delta or 0.0) == pytest.approx(paired.delta or 0.0, rel=1e-6)
            assert (verdict.delta_ci95 or ()) == pytest.approx(paired.delta_ci95 or (), rel=1e-6)


@every_case("name", sorted({name for name, _ in JUDGED}))
def test_the_headline_is_what_todays_code_says_of_it(name: str) -> None:
    first, second = RunSession(), RunSession()
    for event in EVENTS[name]:
        first.apply(event)
        if isinstance(event, ev.RunVerdict) and (name, event) in JUDGED:
            seconds = event.seconds_to_decide
            event = msgspec.structs.replace(judged_again(name, event), seconds_to_decide=seconds)
        second.apply(event)
    assert find_headline_answer(second).sentence == find_headline_answer(first).sentence


@pytest.mark.parametrize("name", [name for name in EVENTS if events_of(name, ev.SeriesVerdict)])
def test_the_rounds_give_the_same_trend(name: str) -> None:
    for verdict in events_of(name, ev.SeriesVerdict):
        [load] = [w for w in plan_of(name).workloads if w.id == verdict.workload]
        lead = load.metrics[0]
        values = [e.values[lead.name] for e in events_of(name, ev.Block) if e.workload == load.id]
        rounds = fit_rounds(values, [1.0] * len(values), None, lead.better)
        assert (rounds.verdict, rounds.rounds) == (verdict.verdict, verdict.rounds)
        assert rounds.slope_per_round == pytest.approx(verdict.slope_per_round, **ALIKE)
        assert rounds.ci95 == pytest.approx(verdict.ci95, **ALIKE)


def test_the_phases_around_a_trim_give_the_same_change() -> None:
    name = "demo:fstrim"
    load, control = plan_of(name).workloads
    phases: dict[str, dict[str, list[float]]] = {}
    for block in events_of(name, ev.Block):
        if block.phase in ("before", "idle", "after") and not block.disturbed:
            lead = (load if block.workload == load.id else control).metrics[0].name
            phases.setdefault(block.workload, {}).setdefault(block.phase, []).append(block.values[lead])
    values, references = ([phases[w.id][p] for p in ("before", "idle", "after")] for w in (load, control))
    [verdict] = [v for v in events_of(name, ev.RunVerdict) if v.workload == load.id]
    judgement = judge_beside_reference(tuple(values), tuple(references), verdict.margin)  # type: ignore[arg-type]
    assert judgement.verdict == verdict.verdict
    assert judgement.ratio == pytest.approx(verdict.ratio, **ALIKE)
