"""What a session or a series of rounds says about a disk and its trimming, and what to do."""

from collections.abc import Sequence
from statistics import median

from hostdx.probes import units
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.trim.trim_timer import TrimTimer
from hostdx.probes.types import is_present
from hostdx.probes.units import count_noun
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy, Severity
from hostdx.scenarios.contract.verdict.verdict import missable_share
from hostdx.scenarios.experiment.before_after import BeforeAfter
from hostdx.scenarios.experiment.treated_trend import TreatedTrend
from hostdx.scenarios.fstrim.ledger import TrimLedgerKeeper
from hostdx.scenarios.fstrim.measurement.phase import MeasuredPhase
from hostdx.scenarios.fstrim.remedies import remedies_to_trim as to_trim
from hostdx.scenarios.fstrim.remedies import unit_drop_in_remedy
from hostdx.scenarios.fstrim.trim_setup import TrimSetup
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("fstrim")

# From here on a week between two trims costs what matters.
MATTERS = 0.05
TREATMENT = "the trim"  # as the verdict on before and after calls it


def trim_remedies(host: Host, layout: TrimSetup, timer: TrimTimer) -> tuple[Remedy, ...]:
    """The way to regular trims from where this host is now."""
    places = layout.chain.mountpoints if layout.chain is not None else (layout.mount_directory,)
    all_remedies = list(to_trim(host, timer, places))
    if layout.file_system_type == "btrfs" and layout.chain is not None and not layout.chain.online:
        unqueued = any("unqueued" in mode for mode in layout.chain.queued.values())
        if not unqueued:
            all_remedies.append(SAYS.remedy("online-btrfs", mountpoint=layout.mount_directory))
    return tuple(all_remedies)


def daily_remedy() -> Remedy:
    return unit_drop_in_remedy(
        "fstrim.timer",
        "zz-hostdx-daily.conf",
        ("[Timer]", "OnCalendar=", "OnCalendar=daily"),
        title=SAYS.text("daily"),
        verify=SAYS.text("restart"),
    )


def effect_finding(
    host: Host,
    layout: TrimSetup,
    timer: TrimTimer,
    change: BeforeAfter,
    control: BeforeAfter,
    doubts: Sequence[str],
    undecided: str = "",
) -> Finding:
    """Return what the trim did to the speed of new files; `undecided`: why it is not known, where it is not."""
    moved = control.is_different
    measured = SAYS.evidence("write-speed", change=change.explain(TREATMENT))
    hidden = change.is_undecided and undecided != ""
    # A wide interval is no evidence to begin with: first why it is wide.
    evidence = [Evidence(undecided, source="new files")] if hidden else [measured]
    if control.ratio is not None:
        control_effect = units.format_effect(control.ratio)
        evidence.append(SAYS.evidence("control", effect=control_effect, verdict=control.verdict))
    evidence += [Evidence(text, source="doubt") for text in doubts]
    evidence += [measured] if hidden and change.ratio is not None else []
    severity: Severity = "notice"
    todo: tuple[Remedy, ...] = (SAYS.remedy("rounds", directory=layout.directory),)
    title, smallest = "", ""
    if change.is_faster:
        title, todo = "better-and-moved" if moved else "better", trim_remedies(host, layout, timer)
        severity = "notice" if moved else "warning"
    elif change.is_equal:
        title, severity, todo = "equal", "ok", ()
    elif change.is_slower:
        title = "worse"
    elif share := missable_share(change):
        smallest = f" ({units.missable_difference_text(share)})"
    fields = {"device": layout.device_names, "effect": units.format_effect(change.ratio or 1.0)}
    return SAYS.finding(
        "effect",
        severity=severity,
        subject=layout.mount_directory,
        title=SAYS.text(title, **fields) if title else "",
        device=layout.device_names,
        smallest=smallest,
        evidence=evidence,
        remedy=todo,
    )


def idling_finding(
    layout: TrimSetup, before: MeasuredPhase, idle: MeasuredPhase, doubts: Sequence[str]
) -> Finding:
    """All that a session without its trim can tell. Not judged: one wait does not say how far the level wanders."""
    comparisons = (
        ("new files", before.values, idle.values),
        ("reads of an untouched file", before.references, idle.references),
    )
    evidence = [
        SAYS.evidence("idled", effect=units.format_effect(median(then) / median(first)), what=quantity)
        for quantity, first, then in comparisons
        if first and then and median(first) > 0 and median(then) > 0
    ]
    return SAYS.finding(
        "untrimmed",
        subject=layout.mount_directory,
        device=layout.device_names,
        no_trim=layout.no_trim,
        to_trim=layout.to_trim,
        directory=layout.directory,
        evidence=(*evidence, *(Evidence(text, source="doubt") for text in doubts)),
    )


def ledger_finding(ledger: TrimLedgerKeeper, layout: TrimSetup) -> Finding:
    """The talk's question: why does `fstrim -v` print what it prints?"""
    source = ledger.knowledge.source if ledger.knowledge else ""
    return SAYS.finding(
        "number",
        subject=layout.mount_directory,
        fstype=layout.file_system_type,
        said=ledger.first_claim or "nothing",
        counted=ledger.first_count or "nothing",
        evidence=(
            *(Evidence(text, source="ledger") for text in ledger.answer_sentences()),
            *((SAYS.evidence("kernel-code", source=source),) if source else ()),
        ),
    )


def degradation_finding(
    host: Host,
    layout: TrimSetup,
    timer: TrimTimer,
    treated: TreatedTrend,
    rounds: int,
    daily_rounds: float | None,
) -> Finding:
    """Return what the series of rounds says. `daily_rounds`: how many rounds a day there were; None: not known."""
    trend = treated.trend
    evidence = [Evidence(trend.explain, source=f"{rounds} rounds")]
    evidence += [Evidence(jump.text, source="trims in between") for jump in treated.jumps]
    if trend.per_gb is not None and trend.per_gb_ci95 is not None:
        low, high = (f"{end * 100:+.3f}" for end in trend.per_gb_ci95)
        change = f"{trend.per_gb * 100:+.3f}"
        evidence.append(SAYS.evidence("a-gigabyte", change=change, low=low, high=high))
    severity: Severity = "notice"
    todo: tuple[Remedy, ...] = ()
    if trend.is_slower:
        title, severity, todo = "gets-worse", "warning", trim_remedies(host, layout, timer)
        weekly = "weekly" in str(timer.schedule) if is_present(timer.schedule) else True
        a_week = abs(trend.slope_per_round or 0.0) * 7 * (daily_rounds or 0.0)
        if weekly and a_week > MATTERS and timer.exists:
            todo = (*todo, daily_remedy())
    elif trend.is_equal:
        title, severity = "no-degradation", "ok"
    else:
        title = "got-better" if trend.is_faster else "undecided"
    fields = {
        "device": layout.device_names,
        "each": abs(trend.slope_per_round or 0),
        "rounds": rounds,
        "counted": count_noun(rounds, "round"),
    }
    gives_back = any(jump.called and jump.gave > 0 for jump in treated.jumps)
    return SAYS.finding(
        "degradation",
        severity=severity,
        subject=layout.mount_directory,
        trend=SAYS.text(title, **fields),
        gives_back="; trimming gives it back" if gives_back else "",
        evidence=evidence,
        remedy=todo,
    )
