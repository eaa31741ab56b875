"""The answer once more for a reader who knows no statistics: one sentence, from the same fields as the headline."""

from collections.abc import Sequence

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.headline import find_headline_answer
from hostdx.app.report.next_steps import next_steps_for
from hostdx.app.report.numbers import SAYS
from hostdx.app.report.validity import list_trust_signs
from hostdx.app.report.wording import is_measured, variant_label, workload_title
from hostdx.probes.units import MINUTE_S, format_duration
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import LOUD

COSTS = frozenset({"B"})  # units of what is used up: more or less of it, not slower or faster
ROLES_WITHOUT = frozenset({"import", "resolution", "whole"})  # what they answer is plain, or a list


def plain_answer(session: RunSession) -> str:
    """Return `In plain words: ...`; empty where nothing was judged, or where the headline is as plain."""
    role = session.scenario_card.role
    if session.ended is None or role in ROLES_WITHOUT:
        return ""
    if session.ended.status != "done":
        return SAYS.text("plain-broken-off") if session.verdicts else ""
    if any(sign.state == "critical" for sign in list_trust_signs(session)):
        return SAYS.text("plain-untrusted")
    if role == "battery":
        return SAYS.text("plain-battery")
    answer = find_headline_answer(session)
    judged = [v for v in session.verdicts.values() if not v.control and is_measured(v)]
    if answer.verdict is not None and answer.verdict.is_different:
        return _difference_text(session, answer.verdict, judged)
    if judged and all(v.is_equal for v in judged):
        return SAYS.text("plain-equal")
    if answer.weight in LOUD:
        return SAYS.text("plain-mendable" if next_steps_for(session) else "plain-open")
    undecided = [v for v in judged if v.is_undecided]
    if answer.weight == "unknown" or (undecided and undecided == judged):
        return SAYS.text("plain-equal-partly" if any(v.is_equal for v in judged) else "plain-undecided")
    if any(v.is_different for v in judged):
        return SAYS.text("plain-some")
    return SAYS.text("plain-partly" if undecided else "plain-nothing-proved")


def _difference_text(session: RunSession, answer: ev.RunVerdict, judged: Sequence[ev.RunVerdict]) -> str:
    """Return how long a minute's work of the baseline takes with the variant; of several loads the least and most."""
    if not answer.ratio or session.metric_of(answer).unit in COSTS:
        return ""
    pair = answer.baseline, answer.variant
    first_of_load = {v.workload: v for v in reversed(judged) if (v.baseline, v.variant) == pair}
    first_of_load[answer.workload] = answer
    ratios = [
        v.ratio
        for v in first_of_load.values()
        if v.ratio and v.is_different and v.is_slower == answer.is_slower
    ]
    sides = {
        "baseline": variant_label(session, answer.baseline),
        "variant": variant_label(session, answer.variant),
    }
    least, most = (format_duration(MINUTE_S / ratio) for ratio in (max(ratios), min(ratios)))
    if least == most:
        return SAYS.text("plain-different", load=workload_title(session, answer.workload), time=most, **sides)
    return SAYS.text("plain-differing", least=least, most=most, loads=len(ratios), **sides)
