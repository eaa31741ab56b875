"""The answer of a checkup: what was found to cost something, what was cleared, what stays open, in this order."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from hostdx.probes.units import format_percent, join_names, smallest_effect_text
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import (
    LOUD,
    SEVERITIES,
    Confidence,
    Evidence,
    Finding,
    Remedy,
    Severity,
    SuggestedStep,
)
from hostdx.scenarios.contract.model import OtherRunOutcome, Scenario
from hostdx.scenarios.contract.results.result import Item, State
from hostdx.scenarios.experiment.wording import not_measured_text
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("checkup")
ORDER: tuple[State, ...] = ("cause", "rule", "remark", "cleared", "open", "not measured", "resolution")
WORSE = "compare.worse"  # the id of the finding about a baseline


def item_of_outcome(
    scenario: Scenario, outcome: OtherRunOutcome, triage_findings: Sequence[Finding] = ()
) -> Item:
    """Return what a part's run says about its suspect. `triage_findings`: triage's findings that this run was to
    prove: where it found a cause, they are what to look at first.
    """
    state, words = _state_and_words_of(scenario, outcome)
    proven_findings = [f for f in triage_findings if f.severity in LOUD] if state == "cause" else []
    return Item(
        scenario=scenario.id,
        state=state,
        words=words,
        severity=_severity_of_state(state, outcome),
        seconds=round(outcome.seconds, 1),
        loss=_speed_loss(outcome) if state == "cause" else 0.0,
        recording=outcome.recording,
        following=(*map(_first_remedy_step, proven_findings), *_steps_after(state, outcome.following)),
        about=tuple(f.key for f in proven_findings),
    )


def beside_full_cpus(item: Item) -> Item:
    """Return the item with what a rating is worth that was made beside full CPUs; comparisons hold, both sides were."""
    if item.state not in ("remark", "open"):
        return item
    return msgspec.structs.replace(item, words=item.words + SAYS.text("beside-full"))


def _steps_after(state: State, steps: Sequence[SuggestedStep]) -> tuple[SuggestedStep, ...]:
    """Nothing to do where nothing was found, and no change of the host where no cause was: what is not decided is
    measured.
    """
    if state in ("cleared", "resolution"):
        return ()
    return tuple(step for step in steps if state == "cause" or step.command.startswith("hostdx "))


def _first_remedy_step(finding: Finding) -> SuggestedStep:
    step = finding.remedy[0].as_step if finding.remedy else SuggestedStep("")
    return msgspec.structs.replace(step, title=finding.title)


def item_of_rule_finding(finding: Finding, fate: State = "not measured") -> Item:
    """Return what triage's rule says; `fate` is how the measurement ended that was to prove it."""
    remedy = next(
        (remedy_with_commands for remedy_with_commands in finding.remedy if remedy_with_commands.commands),
        None,
    )
    if remedy is not None:
        step = remedy.as_step
    elif finding.prove:
        command = shlex.join(["hostdx", "run", finding.prove, *finding.prove_options])
        step = SuggestedStep(SAYS.text("alone"), command)
    else:
        step = SuggestedStep(
            next((remedy_with_commands.title for remedy_with_commands in finding.remedy), finding.title)
        )
    harmless = fate in ("cleared", "remark")
    standing = SAYS.text("no-loss" if harmless else "not-decided" if fate == "open" else "not-measured")
    return Item(
        scenario=finding.id.split(".", 1)[0],
        state="open" if harmless else "rule",
        words=SAYS.text("rule", title=finding.title, standing=standing),
        severity=finding.severity,
        following=(step,),
        about=(finding.key,),
    )


def unmeasured_item(scenario: Scenario, reason: str, command: str) -> Item:
    words = not_measured_text(scenario.suspect, reason)
    step = SuggestedStep(SAYS.text("alone"), command)
    return Item(scenario=scenario.id, state="not measured", words=words, following=(step,))


def rank_items(items: Iterable[Item]) -> list[Item]:
    """Return what is critical, then causes, then what rules say and nobody measured; the worst at the top; numbered."""

    def rank_key(item: Item) -> tuple[bool, int, int]:
        worst = SEVERITIES.index(item.severity) if item.severity != "unknown" else len(SEVERITIES)
        urgent = item.severity == "critical" and item.state in ("cause", "rule")
        return not urgent, ORDER.index(item.state), worst

    sorted_items = sorted(items, key=rank_key)
    return [
        msgspec.structs.replace(item, rank=number if item.state != "resolution" else 0)
        for number, item in enumerate(sorted_items, 1)
    ]


def answer_finding(items: Sequence[Item]) -> Finding:
    """The whole answer as one finding: the headline, the ranked list, and what to do next."""
    causes = [item for item in items if item.state in ("cause", "rule")]
    remarks = [item for item in items if item.state == "remark"]
    cleared = [item for item in items if item.state == "cleared"]
    severity: Severity = "ok"
    if causes:
        words = causes[0].words
        severity = causes[0].severity if causes[0].severity != "unknown" else "warning"
        if len(causes) > 1:
            words = SAYS.text("several", first=words, count=len(causes) - 1)
    elif remarks:
        words, severity = remarks[0].words, "notice"
    elif cleared:
        missing = [item.scenario for item in items if item.state == "not measured"]
        severity = "notice" if missing else "ok"
        words = SAYS.text(
            "partly" if missing else "none",
            cleared="; ".join(item.words for item in cleared),
            missing=join_names(missing, len(missing)),
        )
    else:
        words, severity = SAYS.text("open"), "notice"
    remedies = tuple(
        Remedy(title=step.title, commands=step.all_commands)
        for item in items
        for step in item.following[:1]
        if item.state != "cleared"
    )
    confidence: Confidence = "measured" if causes or remarks or cleared else "hint"
    return SAYS.finding(
        "answer",
        severity=severity,
        confidence="rule" if causes and causes[0].state == "rule" else confidence,
        words=words,
        evidence=[Evidence(text=item.ranked_line, source=item.recording) for item in items],
        remedy=remedies,
    )


def _state_and_words_of(scenario: Scenario, outcome: OtherRunOutcome) -> tuple[State, str]:
    def state_text(line: str, answer: str = outcome.answer) -> str:
        return SAYS.text(line, suspect=scenario.suspect, answer=answer)

    judged = [v for v in outcome.verdicts if not v.control and v.is_judged]
    if not judged and not outcome.findings:
        return "not measured", not_measured_text(scenario.suspect, _why_not_measured(outcome))
    if scenario.card.role == "resolution":
        return "resolution", outcome.answer
    if any(v.control and v.is_different for v in outcome.verdicts):
        return "open", state_text("named")
    if lost := _worse_than_baseline(outcome):
        return "cause", state_text("named", lost.title)
    weight = outcome.weight
    if weight in LOUD:
        return "cause" if has_measured_loss(outcome) else "open", state_text("named")
    if any(f.answers and f.severity == "ok" for f in outcome.findings):
        return "cleared", state_text("cleared")  # as the scenario itself says, whatever it compared
    if any(v.is_different for v in judged):
        return "remark", state_text("named")
    if judged and all(v.is_equal for v in judged):
        return "cleared", state_text("equal", _largest_difference_text(judged))
    is_open = any(v.is_undecided for v in judged)
    if weight == "notice":
        return ("open" if is_open else "remark"), state_text("named")
    if weight == "unknown" or is_open:
        return "open", state_text("undecided-part")
    return "cleared", state_text("cleared")


def say_budget_ended(outcome: OtherRunOutcome) -> OtherRunOutcome:
    """Return the outcome of a part that the checkup stopped: what was judged until then stands, else there is none."""
    words = SAYS.text("budget-ended", seconds=outcome.seconds)
    if has_measured_loss(outcome):
        return msgspec.structs.replace(outcome, reason=words)
    return msgspec.structs.replace(outcome, reason=words, answer=words, weight="unknown", findings=())


def has_measured_loss(outcome: OtherRunOutcome) -> bool:
    """Return whether a comparison was judged, or something loud was measured and not only read."""
    judged = any(not v.control and v.is_judged for v in outcome.verdicts)
    return judged or any(f.confidence != "rule" and f.severity in LOUD for f in outcome.findings)


def _why_not_measured(outcome: OtherRunOutcome) -> str:
    """The loads' own reason where none was measured: the run's says first that nothing was."""
    own = [v.reason for v in outcome.verdicts if v.reason]
    if outcome.status == "skipped" and own and all(v.has_no_groups for v in outcome.verdicts):
        return own[0]
    return outcome.reason or outcome.answer


def _largest_difference_text(verdicts: Sequence[ev.RunVerdict]) -> str:
    """The largest difference that the intervals leave possible."""
    shares = [max(abs(1 - low), abs(1 - high)) for v in verdicts if v.ci95 for low, high in (v.ci95,)]
    most = max(shares, default=max(v.margin for v in verdicts))
    return format_percent(most) if most < 1 else smallest_effect_text(most)


def _speed_loss(outcome: OtherRunOutcome) -> float:
    """Of the speed, as the nearer end of the clearest interval has it."""
    ends = (v.ci95[1] for v in outcome.verdicts if v.is_judged and v.is_slower and not v.control and v.ci95)
    return round(max(0.0, 1 - min(ends, default=1.0)), 3)


def _worse_than_baseline(outcome: OtherRunOutcome) -> Finding | None:
    """Return what got worse since this host's baseline."""
    return next((f for f in outcome.findings if f.id == WORSE and f.severity == "warning"), None)


def _outcome_severity(outcome: OtherRunOutcome) -> Severity | Literal["unknown"]:
    if _worse_than_baseline(outcome) and outcome.weight != "critical":
        return "warning"
    return next((s for s in SEVERITIES if s == outcome.weight), "unknown")


def _severity_of_state(state: State, outcome: OtherRunOutcome) -> Severity | Literal["unknown"]:
    """How well the host can be measured is known, whatever it is."""
    severity = _outcome_severity(outcome)
    if state == "resolution" and severity == "unknown":
        return "notice"
    if state in ("cause", "remark", "resolution"):
        return severity
    return "ok" if state == "cleared" else "unknown"
