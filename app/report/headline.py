"""A run's answer in one sentence, on the screen and in the report: how it went, or the effect that matters most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from hostdx.app.recordings.answers import unlisted_findings
from hostdx.app.recordings.progress import steady_share_done
from hostdx.app.recordings.reader import BrokenRecording, load_recording
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.validity import list_trust_signs
from hostdx.app.report.wording import (
    is_measured,
    log_effect_size,
    metric_title,
    missable_text_of_loads,
    series_sentence,
    variant_title,
    verdict_role,
    verdict_sentence,
    verdict_title,
    workload_title,
)
from hostdx.probes import units
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import LOUD, Finding, Severity
from hostdx.scenarios.experiment.wording import resolution_words

if TYPE_CHECKING:
    from hostdx.app.recordings import store  # not for the first screen

Weight: TypeAlias = Severity | Literal["unknown"]
MAX_READ_BYTES = 8 << 20  # bytes of a recording that is read for its headline
MAX_FILES = 2  # named in a headline
MAX_NAMED_LOADS = 2  # loads named there
DISTRUST = "Do not trust this run"
ONE_FILE_SYSTEM = "The variants lie on one file system, where no difference is expected"
NONE_ON_ONE_FILE_SYSTEM = "No difference is shown, and none is expected on one file system"


class HeadlineAnswer(NamedTuple):
    sentence: str
    weight: Weight
    verdict: ev.RunVerdict | None = None  # that it rests on
    finding: Finding | None = None  # whose title it is


def find_headline_answer(session: RunSession, *, is_running: bool = False) -> HeadlineAnswer:
    """Nothing is claimed that no verdict, trend or finding says; a broken off run is said first. `is_running`: its
    runner is alive, as far as the one who asks knows."""
    ended = session.ended
    result = _answer_with_distrust(session)
    if result is not None and (files := _imported_file_names(session)):
        result = result._replace(sentence=f"{files}: {result.sentence}")
    if ended is None:
        if result is not None and result.finding is not None and result.finding.confidence != "measured":
            # what a rule reads from the host is no answer of a run that has not come to its own
            result = None
        run_state = _running_with_share(session) if is_running else "incomplete (not ended, or killed)"
        if result is None and not is_running:
            return HeadlineAnswer("nothing decided so far: the run has not ended, or was killed", "unknown")
        if result is None:
            return HeadlineAnswer(f"{run_state}: nothing decided so far", "unknown")
        return result._replace(sentence=f"{run_state}; so far: {result.sentence}")
    if ended.status == "done":
        if result is None:
            return HeadlineAnswer("nothing to report", "ok")
        stopped = stop_for_others_guard(session)
        if stopped is not None:
            weight: Weight = "warning" if result.verdict is not None else result.weight
            return result._replace(
                sentence=f"{stopped.guard_sentence}; also found: {result.sentence}", weight=weight
            )
        return result
    loud = any(f.confidence == "measured" and f.severity in LOUD for f in session.findings.values())
    if result is None or not (_has_any_judgement(session) or loud):
        weight = "critical" if ended.status == "failed" else "warning"
        return HeadlineAnswer(f"{ended.status}: {ended.reason or 'no reason given'}", weight)
    early = "failed" if ended.status == "failed" else "stopped early"
    return result._replace(sentence=f"{early}; also found: {result.sentence}")


def stop_for_others_guard(session: RunSession) -> ev.Guard | None:
    """The guard that ended the run, because its load made others' I/O wait."""
    stops = (g for g in session.guards if g.kind == "bystanders" and g.severity == "warning")
    return next(stops, None)


def _running_with_share(session: RunSession) -> str:
    share = steady_share_done(session)
    return "running" if share is None else f"running, {units.format_percent(round(share, 2))}"


def read_recording_answer(listed: store.ListedRecording) -> tuple[HeadlineAnswer | None, RunSession]:
    """Return what a recording of a list found, and all of it; None where it has no answer, cannot be read whole or
    would take too long.
    """
    session = RunSession()
    if listed.state not in ("done", "interrupted", "dead") or listed.bytes > MAX_READ_BYTES:
        return None, session
    try:
        session = load_recording(listed.path)
        answer = find_headline_answer(session)
        if listed.state == "dead" and answer.verdict is None and answer.finding is None:
            return HeadlineAnswer("killed before anything was decided", STATE_WEIGHTS["dead"]), session
        return answer, session
    except (BrokenRecording, OSError):
        return None, session
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        explanation = f"its figures make no sense ({type(error).__name__})"  # the list goes on
        return HeadlineAnswer(explanation, "unknown"), RunSession()


# by the state of a recording that says no more of itself: its sign, and how grave it is
STATE_WEIGHTS: dict[str, Weight] = {
    "failed": "critical", "interrupted": "warning", "dead": "warning", "unreadable": "unknown", "skipped": "unknown",
}  # fmt: skip
STATE_WORDS = {"interrupted": "stopped", "dead": "killed"}  # the others are their own word


def recording_state_answer(listed: store.ListedRecording) -> HeadlineAnswer:
    """Return how a recording without an answer of its own ended: `failed: the runner was killed`."""
    state = STATE_WORDS.get(listed.state, listed.state)
    sentence = f"{state}: {listed.reason}" if listed.reason else f"{state}: {listed.scenario or 'no answer'}"
    return HeadlineAnswer(sentence, STATE_WEIGHTS.get(listed.state, "unknown"))


def _imported_file_names(session: RunSession) -> str:
    """`healthy.tsv, anomalous.tsv`: what tells one import of a tool's results from the next; empty for a run."""
    names = [name for result in session.results.values() for name in result.source_names]
    return units.join_names(names, MAX_FILES)


def list_remarks(session: RunSession) -> list[Finding]:
    """Return what was found besides the answer and speaks against the host, worst first: the one list that is
    counted too.
    """
    answer_finding = find_headline_answer(session).finding
    return [
        f for f in unlisted_findings(session) if f.severity != "ok" and not f.answers and f != answer_finding
    ]


def evidence_texts_of_single_variant(session: RunSession) -> list[str]:
    """Return what the answer stands on, where one side alone was measured and no table of verdicts holds it."""
    answer_finding = find_headline_answer(session).finding
    if answer_finding is None or not answer_finding.answers or len(session.planned_variants) != 1:
        return []
    return [each.text for each in answer_finding.evidence]


def _has_any_judgement(session: RunSession) -> bool:
    """Return whether anything was; what could not be measured is no verdict that was reached."""
    return (
        any(not v.has_no_groups for v in session.verdicts.values())
        or bool(session.series)
        or any(f.answers for f in session.findings.values())
    )


def _answer_with_distrust(session: RunSession) -> HeadlineAnswer | None:
    """Return what was found out; first of all that it does not hold, where a sign of the trust line is red. Nothing is
    good where a row of its table is red.
    """
    result = _clearest_answer(session)
    if result is not None and result.weight == "ok":
        roles = {verdict_role(v) for v in session.verdicts.values() if not v.control and is_measured(v)}
        worst = next((role for role in LOUD if role in roles), None)
        # the scenario's own answer knows why a red row is no alarm: not red then, nor green
        if worst is not None:
            result = result._replace(weight=worst if result.finding is None else "notice")
    moved = [v for v in session.verdicts.values() if v.control and v.is_different]
    if result is None:
        return None
    if not moved:
        red = next((sign for sign in list_trust_signs(session) if sign.state == "critical"), None)
        if red is None:
            return result
        return result._replace(sentence=f"{DISTRUST}: {red.text}. {result.sentence}", weight="warning")
    words = f"{DISTRUST}: {_moved_control_text(session, max(moved, key=log_effect_size))}. {result.sentence}"
    return result._replace(sentence=words, weight="warning")


def _moved_control_text(session: RunSession, control: ev.RunVerdict) -> str:
    """Return which control it was, by its load and its sides, and by how much it differs."""
    load = workload_title(session, control.workload)
    variant, baseline = (variant_title(session, name) for name in (control.variant, control.baseline))
    size = units.format_effect(control.ratio) if control.ratio else control.verdict
    of_others = any(v.workload == control.workload and not v.control for v in session.verdicts.values())
    place = (
        f"in load {load}, the control {variant}" if of_others else f"in the control load {load}, {variant}"
    )
    return f"{place} is {size} than {baseline}; the two must not differ"


def _clearest_answer(session: RunSession) -> HeadlineAnswer | None:
    """The clearest verdict, else the trend, else the worst finding; None where there is nothing."""
    verdicts = [v for v in session.verdicts.values() if not v.control]
    changed = [v for v in verdicts if v.is_different]
    answering = next((f for f in session.findings.values() if f.answers), None)
    if answering is not None:  # the scenario's own answer: a verdict alone would blame what is not there
        decided = answering.confidence == "measured"
        if answering.severity == "ok" and verdicts and all(v.is_undecided for v in verdicts):
            decided = False  # no green where nothing was decided
        sentence = f"{_identifying_fact_prefix(session)}{answering.title}"
        return HeadlineAnswer(
            sentence, answering.severity if decided else "unknown", _first_pair_verdict(session), answering
        )
    if changed:
        asked = _first_pair_verdict(session)
        if asked is None:
            asked, sentence = _clearest_verdict_and_sentence(session, changed)
        else:
            sentence = verdict_sentence(session, asked)
        if asked.one_file_system:
            return HeadlineAnswer(f"{ONE_FILE_SYSTEM}; measured: {sentence}", "warning", asked)
        return HeadlineAnswer(sentence, "critical" if asked.is_slower else "ok", asked)
    trends = [s for s in session.series if s.is_different]
    if trends:
        falls = trends[0].is_slower
        return HeadlineAnswer(series_sentence(session, trends[0]), "critical" if falls else "ok")
    if verdicts and all(v.is_equal for v in verdicts):
        return HeadlineAnswer("no material difference in anything that was measured", "ok")
    loud = [f for f in session.worst_first if f.severity != "ok" and (f.confidence != "rule" or not verdicts)]
    loud.sort(key=lambda f: f.confidence == "rule")  # a run's answer is what it measured
    if loud and not (loud[0].severity == "notice" and _decide_more_than_remark(session, verdicts, loud[0])):
        return HeadlineAnswer(loud[0].title, loud[0].severity, finding=loud[0])
    if verdicts:
        answer = _equal_and_open_answer(session, verdicts)
        if all(v.one_file_system for v in verdicts):
            return answer._replace(sentence=f"{NONE_ON_ONE_FILE_SYSTEM}; measured: {answer.sentence}")
        return answer
    if session.findings:
        return HeadlineAnswer(session.worst_first[0].title, "ok", finding=session.worst_first[0])
    return None


def _decide_more_than_remark(session: RunSession, verdicts: list[ev.RunVerdict], remark: Finding) -> bool:
    """Return whether these verdicts answer more than a remark: it hides nothing that was decided, and one on a single
    side does not say which of them is better."""
    on_one_side = remark.subject in {variant.label for variant in session.planned_variants}
    return any(v.is_equal or (on_one_side and is_measured(v)) for v in verdicts)


def _identifying_fact_prefix(session: RunSession) -> str:
    """`kernel 6.12.94: ` before a battery's answer: what tells one such recording from the next."""
    fact = session.facts.get(session.scenario_card.known_by)
    return f"{fact.subject} {fact.value}: " if fact is not None else ""


def _equal_and_open_answer(session: RunSession, verdicts: list[ev.RunVerdict]) -> HeadlineAnswer:
    """Return what was decided, then what was not."""
    equal = [v for v in verdicts if v.is_equal]
    rest = [v for v in verdicts if not v.is_equal]
    open_ones = [v for v in rest if v.is_undecided and is_measured(v)]
    if not equal and len(open_ones) < 2:
        first = (open_ones or rest)[0]
        parts = (verdict_sentence(session, first), resolution_words(first))
        return HeadlineAnswer("; ".join(filter(None, parts)), "unknown", first)
    missable_text = missable_text_of_loads(session, open_ones)
    could = f" ({missable_text})" if missable_text else ""
    missed = [v for v in rest if v not in open_ones]
    texts = [
        f"{_common_pair_prefix(session, verdicts)}no material difference for {_titles_or_count(session, equal)}"
        if equal
        else "",
        f"inconclusive for {_titles_or_count(session, open_ones)}{could}" if open_ones else "",
        f"not measured: {_titles_or_count(session, missed)}" if missed else "",
    ]
    return HeadlineAnswer("; ".join(filter(None, texts)), "unknown")


def _common_pair_prefix(session: RunSession, verdicts: list[ev.RunVerdict]) -> str:
    """`bfq against mq-deadline: `, where all of them compare the same two."""
    pairs = {(v.variant, v.baseline) for v in verdicts}
    if len(pairs) > 1:
        return ""
    ((variant, baseline),) = pairs
    return f"{variant_title(session, variant)} against {variant_title(session, baseline)}: "


def _titles_or_count(session: RunSession, verdicts: list[ev.RunVerdict]) -> str:
    """By their titles, or how many of how many where they would fill a line."""
    titles = list(dict.fromkeys(verdict_title(session, v) for v in verdicts))
    if len(titles) <= MAX_NAMED_LOADS:
        return " and ".join(titles)
    return f"{len(verdicts)} of {len([v for v in session.verdicts.values() if not v.control])} comparisons"


def _clearest_verdict_and_sentence(
    session: RunSession, changed: list[ev.RunVerdict]
) -> tuple[ev.RunVerdict, str]:
    """Of one load its verdict; of several how far they reach and what was equal. The clearest loss is what it rests on,
    without one the clearest gain; what the same variant wins elsewhere is not left unsaid."""
    losses = [v for v in changed if v.is_slower]
    worst = max(losses or changed, key=log_effect_size)
    same = [
        v
        for v in changed
        if (v.baseline, v.variant, v.is_slower) == (worst.baseline, worst.variant, worst.is_slower)
    ]
    sentence = verdict_sentence(session, worst) if len(same) < 2 else _extremes_text(session, worst, same)
    gains = [v for v in changed if v.is_faster and v.variant == worst.variant]
    if losses and gains:
        best = max(gains, key=log_effect_size)
        size = units.format_effect(best.ratio) if best.ratio else best.verdict
        sentence += f"; but {size} for {verdict_title(session, best)}"
    return worst, sentence


def _extremes_text(session: RunSession, worst: ev.RunVerdict, same: list[ev.RunVerdict]) -> str:
    """`B (/data) is slower than A (/scratch) in 5 of 6 loads, 2.5 × (synced write) to 75 × (stream read);
    no material difference: create/stat/delete; this holds for this stack`."""
    least = min(same, key=log_effect_size)
    compared = [
        v for v in session.verdicts.values() if (v.baseline, v.variant) == (worst.baseline, worst.variant)
    ]
    compared = [v for v in compared if not v.control]
    left, right = (variant_title(session, name) for name in (worst.variant, worst.baseline))
    one_load = len({v.workload for v in compared}) == 1

    def title(v: ev.RunVerdict) -> str:
        return metric_title(v.metric) if one_load else verdict_title(session, v)

    def size(v: ev.RunVerdict) -> str:
        return f"{units.format_effect(v.ratio or 1.0, ('', '')).strip()} ({title(v)})"

    kinds = "metrics" if one_load else "loads"
    parts = [
        f"{left} is {worst.verdict} than {right} in {len(same)} of {len(compared)} {kinds}, "
        f"{size(least)} to {size(worst)}"
    ]
    equal = [v for v in compared if v.is_equal]
    verdicts_by_word: list[tuple[str, list[ev.RunVerdict]]] = [(equal[0].verdict, equal)] if equal else []
    verdicts_by_word.append(("undecided", [v for v in compared if v.is_undecided]))
    for word, some in verdicts_by_word:
        if some:
            parts.append(f"{word}: {units.join_names([title(v) for v in some], MAX_NAMED_LOADS)}")
    return "; ".join((*parts, *((f"this holds for {worst.scope}",) if worst.scope else ())))


def _first_pair_verdict(session: RunSession) -> ev.RunVerdict | None:
    """Where a workload holds several pairs and controls of its own, its first pair is the question.

    The others, however clear, only stand beside it.
    """
    if session.plan is None:
        return None
    order = {variant.id: place for place, variant in enumerate(session.plan.variants)}
    for workload in session.plan.workloads:
        pairs = [v for v in session.verdicts.values() if v.workload == workload.id and not v.control]
        if workload.controls and any(is_measured(v) for v in pairs):
            first = min(pairs, key=lambda v: order.get(v.variant, len(order)))
            return first if is_measured(first) else None
    return None
