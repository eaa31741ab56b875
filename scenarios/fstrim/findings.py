"""What a session or a series of rounds says about a disk and its trimming, and what to do."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from statistics import median

from probes import units
from probes.host import Host
from probes.system.disk.trim.trim_timer import TrimTimer
from probes.types import present
from probes.units import counted
from scenarios.experiment.before_after import Change
from scenarios.finding import Evidence, Finding, Remedy, Severity
from scenarios.fstrim.course import Course
from scenarios.fstrim.layout import Layout
from scenarios.fstrim.ledger import Ledger
from scenarios.fstrim.measurement.phase import Phase
from scenarios.fstrim.remedies import drop_in
from scenarios.fstrim.remedies import remedies as to_trim

# From here on a week between two trims costs what matters.
MATTERS = 0.05
TREATMENT = "the trim"  # as the verdict on before and after calls it
DAILY = drop_in(
    "fstrim.timer",
    "zz-hostdx-daily.conf",
    ("[Timer]", "OnCalendar=", "OnCalendar=daily"),
    title="Trim once a day: a week is too long for what a round loses here",
    verify=("systemctl restart fstrim.timer && systemctl list-timers fstrim.timer",),
)
ONLINE_BTRFS = Remedy(
    title="btrfs can discard by itself, in the background and rate limited (default since Linux 6.2)",
    commands=("mount -o remount,discard=async MOUNTPOINT",),
    persistent=("/etc/fstab: add discard=async to the options of MOUNTPOINT",),
    verify=("findmnt -no OPTIONS MOUNTPOINT",),
    undo=("mount -o remount,nodiscard MOUNTPOINT",),
)


def remedies(host: Host, layout: Layout, timer: TrimTimer) -> tuple[Remedy, ...]:
    """The way to regular trims from where this host is now."""
    places = layout.chain.mountpoints if layout.chain is not None else (layout.mountpoint,)
    found = list(to_trim(host, timer, places))
    if layout.fstype == "btrfs" and layout.chain is not None and not layout.chain.online:
        unqueued = any("unqueued" in mode for mode in layout.chain.queued.values())
        if not unqueued:
            found.append(_for(ONLINE_BTRFS, layout.mountpoint))
    return tuple(found)


def _for(remedy: Remedy, mountpoint: str) -> Remedy:
    def filled(lines: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(line.replace("MOUNTPOINT", mountpoint) for line in lines)

    return Remedy(
        title=remedy.title,
        commands=filled(remedy.commands),
        persistent=filled(remedy.persistent),
        verify=filled(remedy.verify),
        undo=filled(remedy.undo),
    )


def effect(
    host: Host,
    layout: Layout,
    timer: TrimTimer,
    change: Change,
    control: Change,
    doubts: Sequence[str],
    undecided: str = "",
) -> Finding:
    """What the trim did to the speed of new files; `undecided`: why it is not known, where it is not."""
    moved = control.differs
    measured = Evidence(
        f"write speed, corrected by reads of an untouched file: {change.explain(TREATMENT)}",
        source="new files",
    )
    hidden = change.undecided and undecided != ""
    # A wide interval is no evidence to begin with: first why it is wide.
    evidence = [Evidence(undecided, source="new files")] if hidden else [measured]
    if control.ratio is not None:
        evidence.append(
            Evidence(
                f"reads of an untouched file: {units.effect(control.ratio)} after the trim ({control.verdict})",
                source="negative control",
            )
        )
    evidence += [Evidence(text, source="doubt") for text in doubts]
    evidence += [measured] if hidden and change.ratio is not None else []
    severity: Severity = "notice"
    todo: tuple[Remedy, ...] = ()
    if change.faster:
        severity, todo = "warning", remedies(host, layout, timer)
        title = f"The trim made new files on {layout.device} {units.effect(change.ratio or 1.0)}"
        if moved:
            title += ", but reads of an untouched file changed too: the disk is not the only cause"
            severity = "notice"
    elif change.equal:
        severity = "ok"
        title = f"The trim made no material difference on {layout.device}: its speed does not need one now"
    elif change.slower:
        title = (
            f"After the trim new files on {layout.device} are {units.effect(change.ratio or 1.0)}: thin and virtual "
            "disks give discarded space away and must allocate it again"
        )
    else:
        seen = change.smallest_effect
        shown = f" (smallest detectable effect here: {units.smallest_effect(seen)})" if seen else ""
        title = f"Inconclusive: effect of the trim on {layout.device}{shown}"
    return Finding(
        id="fstrim.effect",
        severity=severity,
        title=title,
        confidence="measured",
        evidence=tuple(evidence),
        remedy=todo,
        references=("fstrim(8)",),
        subject=layout.mountpoint,
    )


def idling(layout: Layout, before: Phase, idle: Phase, doubts: Sequence[str]) -> Finding:
    """All that a session without its trim can tell. Not judged: one wait does not say how far the level wanders."""
    seen = (
        ("new files", before.values, idle.values),
        ("reads of an untouched file", before.references, idle.references),
    )
    evidence = [
        Evidence(f"{units.effect(median(then) / median(first))} after idling than before", source=what)
        for what, first, then in seen
        if first and then and median(first) > 0 and median(then) > 0
    ]
    asked = f"hostdx run fstrim --dir {shlex.quote(layout.directory)}"
    return Finding(
        id="fstrim.untrimmed",
        severity="notice",
        title=f"Nothing was trimmed on {layout.device}, so what a trim gives back is not known",
        confidence="measured",
        evidence=(
            Evidence(layout.no_trim, source=layout.mountpoint),
            *evidence,
            *(Evidence(text, source="doubt") for text in doubts),
        ),
        remedy=(
            Remedy(title=f"To measure it, {layout.to_trim}", commands=(f"sudo {asked} --yes",)),
            Remedy(
                title="Or follow its speed from day to day; this neither trims nor needs root",
                commands=(f"{asked} --round",),
            ),
        ),
        subject=layout.mountpoint,
        answers=True,
    )


def number(ledger: Ledger, layout: Layout) -> Finding:
    """The talk's question: why does `fstrim -v` print what it prints?"""
    source = ledger.knowledge.source if ledger.knowledge else ""
    return Finding(
        id="fstrim.number",
        severity="ok",
        title=f"What the number printed by fstrim -v means on {layout.mountpoint} ({layout.fstype})",
        confidence="measured",
        evidence=(
            *(Evidence(text, source="ledger") for text in ledger.answer()),
            *((Evidence("from the kernel's code, and measured before", source),) if source else ()),
        ),
        references=("fstrim(8)", "Documentation/admin-guide/iostats.rst"),
        subject=layout.mountpoint,
    )


def degradation(
    host: Host, layout: Layout, timer: TrimTimer, found: Course, rounds: int, daily_rounds: float | None
) -> Finding:
    """What the series of rounds says. `daily_rounds`: how many rounds a day there were; None: not known."""
    trend = found.trend
    evidence = [Evidence(trend.explain, source=f"{rounds} rounds")]
    evidence += [Evidence(jump.text, source="trims in between") for jump in found.jumps]
    if trend.per_gb is not None and trend.per_gb_ci95 is not None:
        low, high = trend.per_gb_ci95
        evidence.append(
            Evidence(
                f"{trend.per_gb * 100:+.3f} % a GB written (95 % CI {low * 100:+.3f} to {high * 100:+.3f} %)",
                source="/proc/diskstats",
            )
        )
    severity: Severity = "notice"
    todo: tuple[Remedy, ...] = ()
    if trend.slower:
        severity = "warning"
        each = units.percent(abs(trend.slope_per_round or 0))
        title = f"{layout.device} gets slower from round to round: {each} each"
        todo = remedies(host, layout, timer)
        weekly = "weekly" in str(timer.schedule) if present(timer.schedule) else True
        a_week = abs(trend.slope_per_round or 0.0) * 7 * (daily_rounds or 0.0)
        if weekly and a_week > MATTERS and timer.exists:
            todo = (*todo, DAILY)
    elif trend.equal:
        severity = "ok"
        title = f"No degradation seen on {layout.device} in {rounds} rounds"
    elif trend.faster:
        title = f"{layout.device} got faster from round to round: something else changed"
    else:
        title = f"Inconclusive after {counted(rounds, 'round')}: whether {layout.device} gets slower"
    if any(jump.called and jump.gave > 0 for jump in found.jumps):
        title += "; trimming gives it back"
    return Finding(
        id="fstrim.degradation",
        severity=severity,
        title=title,
        confidence="measured",
        evidence=tuple(evidence),
        remedy=todo,
        subject=layout.mountpoint,
    )
