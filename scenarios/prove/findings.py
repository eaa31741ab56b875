"""What a proof found of each setting: helps, harms, no material difference, undecided. Pure but for today's values."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from hostdx.probes import units
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.contract.verdict.verdict import margin_edge, missable_share, smallest_effect_of
from hostdx.scenarios.experiment.load_schedule import MeasuredLoad
from hostdx.scenarios.experiment.schedule.guarded import metric_values
from hostdx.scenarios.experiment.wording import effect_words
from hostdx.scenarios.prove.design import ScreenedEffect
from hostdx.scenarios.prove.kinds import ProvableSetting
from hostdx.scenarios.prove.loads import ProofLoad
from hostdx.scenarios.prove.request import ProofVariant
from hostdx.scenarios.prove.results import Outcome, ProvenSetting, ScreeningRecord
from hostdx.scenarios.triage.rules.settings import commands_to_change_settings
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("prove")
LONGER = 4.0  # times the budget: halves the smallest detectable effect


def proof_outcome_of(verdict: ev.RunVerdict) -> Outcome:
    if verdict.is_different:
        return "helps" if verdict.is_faster else "harms"
    return "equal" if verdict.is_equal else "undecided"


def proven_alone(
    load: ProofLoad, variant: ProofVariant, verdict: ev.RunVerdict, *, trusted: bool
) -> ProvenSetting:
    """Return the line of a variant that was compared with today's value. `trusted`: the control did not move."""
    return ProvenSetting(
        load=load.workload.title,
        metric=load.metric,
        setting=variant.setting_names,
        old=", ".join(setting.old for setting in variant.settings),
        new=", ".join(setting.new for setting in variant.settings),
        outcome=proof_outcome_of(verdict) if trusted else "undecided",
        ratio=verdict.ratio,
        ci95=verdict.ci95,
        smallest_effect=verdict.smallest_effect,
        risk="; ".join(dict.fromkeys(setting.risk for setting in variant.settings)),
        persistent="; ".join(setting.persistent for setting in variant.settings if setting.persistent),
    )


def proven_by_screening(
    load: ProofLoad, setting: ProvableSetting, effect: ScreenedEffect, margin: float, *, trusted: bool
) -> ProvenSetting:
    """Return the line of a setting that was not tried alone: equal within the margin, else undecided."""
    low, high = effect.ci95
    is_equal = trusted and 1 / (1 + margin) <= low and high <= 1 + margin
    return ProvenSetting(
        load=load.workload.title,
        metric=load.metric,
        setting=setting.label,
        old=setting.old,
        new=setting.new,
        outcome="equal" if is_equal else "undecided",
        stage="screening",
        ratio=effect.ratio,
        ci95=effect.ci95,
        smallest_effect=smallest_effect_of(effect.ci95),
        risk=setting.risk,
        persistent=setting.persistent,
    )


def setting_finding(
    host: Host,
    line: ProvenSetting,
    settings: Sequence[ProvableSetting],
    verdict: ev.RunVerdict | None,
    budget_s: float,
    doubt: str = "",
) -> Finding:
    """Return the finding of one line of the answer. `doubt`: why its verdict is no outcome."""
    evidence = [
        Evidence(
            SAYS.text(
                "verdict",
                metric=verdict.metric,
                effect=effect_words(verdict),
                groups=units.count_noun(verdict.groups, "group"),
            )
        )
        if verdict is not None
        else SAYS.evidence("screened", interval=line.interval_text)
    ]
    if doubt:
        evidence.append(Evidence(doubt))
    share = missable_share(line)
    missable_text = "" if share is None else f"; {units.missable_difference_text(share)}"
    outcome = "unmeasured" if verdict is not None and not verdict.is_judged else line.outcome
    return SAYS.finding(
        outcome,
        subject=f"{line.setting}, {line.load}",
        evidence=evidence,
        remedy=(_keep_setting_remedy(host, line, settings),) if line.outcome == "helps" else (),
        setting=line.setting,
        new=line.new,
        old=line.old,
        load=line.load,
        effect=line.effect_or_outcome_text,
        seen=missable_text,
        reason=(verdict.reason if verdict is not None else "") or "no reason given",
        longer=f"{budget_s * LONGER:.0f}",
    )


def _keep_setting_remedy(host: Host, line: ProvenSetting, settings: Sequence[ProvableSetting]) -> Remedy:
    wanted: dict[str, str] = {}
    files = [setting for setting in settings if not setting.commands]
    for action in (action for setting in files for action in setting.actions):
        name = action.target
        if name.startswith("/proc/sys/"):
            name = name.removeprefix("/proc/sys/").replace("/", ".")
        wanted[name] = action.new or ""
    lines = commands_to_change_settings(host, wanted, "prove")
    return replace(
        SAYS.remedy("keep", setting=line.setting, new=line.new, risk=line.risk),
        # what keeps it is a command, too: the answer of this run is that it should stay
        commands=(
            *lines.commands,
            *(command for setting in settings for command in setting.commands),
            *(setting.persistent for setting in settings if setting.persistent),
        ),
        verify=lines.verify,
        undo=(*lines.undo, *(command for setting in settings for command in setting.undo)),
    )


def find_doubts(
    measured: MeasuredLoad, load: ProofLoad, margin: float, unsettled: Collection[str]
) -> dict[str, str]:
    """Return why the verdict of a variant is no outcome, by variant.

    An interval is about the usual group. Rare windows that are far slower or faster move the mean alone: so "no
    material difference" needs a mean within the margin, and a difference a mean that is not beyond it on the other
    side. `unsettled`: the variants under which the load changed further after a switch.
    """
    doubts: dict[str, str] = {}
    for verdict in measured.verdicts:
        values = [metric_values(measured.blocks, v, load.metric) for v in (verdict.baseline, verdict.variant)]
        if not verdict.is_decided or not all(values):
            continue
        today, new = (math.fsum(each) / len(each) for each in values)
        effect = load.workload.metrics[0].sign * math.log(new / today) if new > 0 and today > 0 else 0.0
        edge = margin_edge(margin)
        if abs(effect) > edge and not (verdict.is_slower if effect < 0 else verdict.is_faster):
            doubts[verdict.variant] = SAYS.text("mean", effect=units.format_effect(math.exp(effect)))
        elif verdict.variant in unsettled:
            doubts[verdict.variant] = SAYS.text("unsettled")
    return doubts


def control_finding(control: ev.RunVerdict | None) -> Finding | None:
    """Return the finding that today's value differed from itself, or None."""
    if control is None or not control.is_different:
        return None
    return SAYS.finding("control", control=effect_words(control))


def dummy_finding(record: ScreeningRecord) -> Finding | None:
    """Return the finding that settings which do not exist showed an effect, or None."""
    lines = [
        SAYS.evidence("dummy", label=effect.label, interval=units.format_interval(*effect.ci95, effect.ratio))
        for effect in record.effects
        if effect.dummy and effect.is_beyond_chance
    ]
    return SAYS.finding("dummy", evidence=lines) if lines else None


def mixed_finding(lines: Sequence[ProvenSetting]) -> Finding | None:
    """Return the finding that a setting helps under one load and harms under another one; None where it does not."""
    outcomes = {line.outcome for line in lines}
    if not {"helps", "harms"} <= outcomes:
        return None
    effects = "; ".join(
        f"{line.load} {line.effect_or_outcome_text}" for line in lines if line.outcome in ("helps", "harms")
    )
    first = lines[0]
    return SAYS.finding(
        "mixed", subject=first.setting, setting=first.setting, new=first.new, old=first.old, effects=effects
    )
