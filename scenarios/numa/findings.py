"""What the figures and settings mean: findings from fields. Nothing is said that was not read or measured."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from hostdx.probes import units
from hostdx.probes.cpu_list import format_cpu_list
from hostdx.probes.system.nodes.nodes_per_socket import NodesPerSocket
from hostdx.probes.system.pci import STORAGE, PciDevice
from hostdx.probes.system.pcie_tags import PcieTags
from hostdx.probes.system.processor.clocksource import Clocksource
from hostdx.probes.system.running.cgroup import systemd_unit_of
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract.card import options_of_process
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.numa.settings import FirmwareSettings, Held
from hostdx.scenarios.triage.cpus.quota import SessionQuota, persistent_quota_commands
from hostdx.scenarios.triage.knowledge.bios import VENDORS, BiosReading
from hostdx.scenarios.triage.rules.texts import finding_texts

if TYPE_CHECKING:  # triage says what it reads, and loads nothing that measures
    from hostdx.scenarios.numa.measurement.cpu import AllCoresClock, CpuResult
    from hostdx.scenarios.numa.measurement.figures import RoundsFigure
    from hostdx.scenarios.numa.measurement.surroundings import CpuConditions

SAYS = finding_texts("numa")
STEAL_SPEAKS = 0.03
SHARE_SPEAKS = 0.9  # of a CPU that a worker should have for itself
SHARE_STARVES = 2 / 3  # of it: below that somebody else is the cause, above it a disturbance of the figures
FAIR_ALONE = 0.97
SCALING_SPEAKS = 0.85
FREQUENCY_SPEAKS = 0.9
SLOW_CLOCK_NS = 400.0
POWER_AT_LIMIT = 0.97
QUOTA_SPEAKS = 0.05  # of the time, and of the quota's periods
_HELD_REMEDY: dict[Held, str] = {"boost off": "boost", "performance limit": "performance-limit"}
_SAVING = frozenset({"dell", "hpe", "supermicro", "lenovo"})  # vendors with a `[line.save-…]`
HELD: dict[Held, str] = {
    "powersave": "the governor powersave keeps the lowest clock",
    "userspace": "the governor userspace keeps a clock that a program set",
    "performance limit": "intel_pstate's max_perf_pct is lowered",
    "boost off": "boost is off",
}


def cpu_findings(result: CpuResult, around: CpuConditions) -> Iterator[Finding]:
    """The causes first; that all cores give less than n times one is said with them."""
    yield from _quota_findings(result, around)
    yield from _steal_findings(around)
    yield from _lost_cpu_findings(result, around)
    yield from _low_frequency_findings(result, around)
    yield from _poor_scaling_findings(result, around)


def _quota_findings(result: CpuResult, around: CpuConditions) -> Iterator[Finding]:
    """The CPU quota that the CPUs were measured under: how often it was reached."""
    if around.quota_cores is None:
        return
    quota = _session_quota(result, around)
    speaks = _is_held_back_by_quota(result, around)
    if not quota.is_below_host and not speaks:
        return  # as much as there is
    held, periods = around.quota_periods
    # others took the CPUs, or fewer than the quota were loaded
    if (quota.throttled_share or 0.0) <= QUOTA_SPEAKS:
        quota = msgspec.structs.replace(quota, reached=(0, 0))
    # The kernel adds up what each CPU's run queue was held back: two CPUs wait two seconds in one.
    cpus = max(1, len(result.share))
    meanwhile = SAYS.evidence(
        "quota-reached",
        held=held,
        periods=periods,
        seconds=result.seconds,
        held_back=around.quota_held_s or 0.0,
        cpus=units.count_noun(cpus, "CPU"),
    )
    yield SAYS.finding(
        "cpu-quota",
        severity="warning" if speaks else "notice",
        confidence="measured" if speaks else "rule",
        sentence=quota.quota_sentence,
        cores=f"{around.quota_cores:g}",
        evidence=(meanwhile,) if speaks else (),
        remedy=(quota_remedy(around.quota_folder),),
        answers=speaks,
    )


def _session_quota(result: CpuResult, around: CpuConditions) -> SessionQuota:
    return SessionQuota(
        cores=around.quota_cores or 0.0,
        cpus=around.cpus or len(result.share),
        reached=around.quota_periods,
        loaded=around.quota_loaded,
    )


def _is_held_back_by_quota(result: CpuResult, around: CpuConditions) -> bool:
    if around.quota_cores is None:
        return False
    reached = _session_quota(result, around).throttled_share or 0.0
    return (around.quota_held_s or 0.0) > QUOTA_SPEAKS * result.seconds or reached > QUOTA_SPEAKS


def quota_remedy(folder: str) -> Remedy:
    """`folder`: of the control group that has it; "" where not known."""
    unit = systemd_unit_of(folder)
    return SAYS.remedy(
        "quota",
        unit=(unit,) if unit else (),
        lasting=persistent_quota_commands(folder),
        folder=shlex.quote(folder) if folder else "/sys/fs/cgroup/*",
    )


def _steal_findings(around: CpuConditions) -> Iterator[Finding]:
    if around.steal >= STEAL_SPEAKS:
        yield SAYS.finding("cpu-steal", steal=around.steal)


def _lost_cpu_findings(result: CpuResult, around: CpuConditions) -> Iterator[Finding]:
    """A worker that was alone on its CPU and did not get it: the others on that CPU are counted, the greatest named."""
    if _is_held_back_by_quota(result, around):
        return  # the quota takes CPU time from all workers alike
    lost = {
        n: s
        for n, s in result.share.items()
        if s < SHARE_SPEAKS and around.foreign.get(n, 0.0) > 1 - FAIR_ALONE
    }
    if not lost:
        return
    worst = min(lost.values())
    cpus_text = f"CPU{'' if len(lost) == 1 else 's'} {format_cpu_list(frozenset(lost))}"
    culprit = around.culprit
    all_of_them = f"{max(sum(around.foreign.values()), culprit.rate if culprit else 0.0):.2f}"
    cpus = units.count_noun(around.cpus or len(result.share), "CPU")
    took = SAYS.text("others-took", all=all_of_them, cpus=cpus)
    remedy = SAYS.remedy("find-competitor")
    if culprit is not None:  # who took it comes first: a quiet host to measure on is the second step
        took += SAYS.text("took", who=culprit.label, rate=f"{culprit.rate:.2f}")
        remedy = SAYS.remedy("competitor", label=culprit.label, pid=culprit.pid)
    shown = sorted(lost.items(), key=lambda item: item[1])[:8]
    yield SAYS.finding(
        "cpu-competitor",
        severity="warning" if worst < SHARE_STARVES else "notice",
        took=took,
        seconds=result.seconds,
        where=cpus_text,
        lost=1 - worst,
        evidence=[SAYS.evidence("share", cpu=n, share=s, others=around.foreign[n]) for n, s in shown],
        remedy=(remedy,),
        proof="process" if culprit is not None else "",
        prove_options=options_of_process(culprit.pid, culprit.start_ticks) if culprit is not None else (),
    )


def _low_frequency_findings(result: CpuResult, around: CpuConditions) -> Iterator[Finding]:
    highest, limit, reached = around.highest_khz, around.limited_khz, _reached_khz(result)
    met = () if reached is None else (_all_cores_clock_line(result.clocked),)
    if limit is not None and highest:
        yield frequency_limit_finding(
            limit, highest, SAYS.evidence("limit", limit_khz=limit, highest_khz=highest), *met
        )
    elif reached and highest and reached < FREQUENCY_SPEAKS * highest:
        yield SAYS.finding(
            "cpu-frequency",
            reached=_format_ghz(reached),
            highest=_format_ghz(highest),
            because=_low_frequency_cause(around),
            evidence=met,
            remedy=(SAYS.remedy(_HELD_REMEDY.get(around.held_by, "full-clock")),) if around.held_by else (),
        )
    if around.throttled:
        yield SAYS.finding("cpu-throttled", count=around.throttled)


def frequency_limit_finding(
    limit_khz: int, highest_khz: int, *evidence: Evidence, proof: str = ""
) -> Finding:
    return SAYS.finding(
        "cpu-frequency-limit",
        limit=_format_ghz(limit_khz),
        highest=_format_ghz(highest_khz),
        highest_khz=highest_khz,
        evidence=evidence,
        proof=proof,
    )


def _reached_khz(result: CpuResult) -> int | None:
    return result.clocked.reached_khz if is_present(result.clocked.reached_khz) else None


def _all_cores_clock_line(clock: AllCoresClock) -> Evidence:
    from hostdx.scenarios.numa.measurement.cpu import CYCLES

    sample_kind = "workers" if clock.source == CYCLES else "readings"
    khz = clock.reached_khz if is_present(clock.reached_khz) else 0
    return SAYS.evidence(
        "clock-seen", reached=_format_ghz(khz), samples=clock.samples, what=sample_kind, source=clock.source
    )


def _low_frequency_cause(around: CpuConditions) -> str:
    if around.held_by:
        return f": {HELD[around.held_by]}"
    limit, power = around.power_limit_w, around.power_w
    if limit and power and power >= POWER_AT_LIMIT * limit:
        return f": the package is at its power limit of {limit:.0f} W"
    if around.throttled:
        return ": throttled by heat"
    return ""


def _poor_scaling_findings(result: CpuResult, around: CpuConditions) -> Iterator[Finding]:
    """By the calm rates: what others took away is not the hardware's."""
    rows = [r for r in result.rows if r.of_n is not None and r.of_n.high is not None]
    slow = [r for r in rows if r.of_n is not None and (r.of_n.high or 1.0) < SCALING_SPEAKS]
    if not slow:
        return
    worst = min(slow, key=lambda r: r.of_n.value if r.of_n else 1.0)
    assert worst.of_n is not None
    clock = ""
    if (reached := _reached_khz(result)) and around.highest_khz:
        clock = f": {_format_ghz(reached)} of {_format_ghz(around.highest_khz)}"
    limit = f", package power limit {around.power_limit_w:.0f} W" if around.power_limit_w else ""
    yield SAYS.finding(
        "cpu-scaling",
        worst=worst.of_n.value,
        load=worst.load.title,
        clock=clock,
        limit=limit,
        evidence=[
            SAYS.evidence("scaling", load=r.load.title, interval=_percent_with_interval(r.of_n))
            for r in slow
            if r.of_n
        ],
    )


def timer_findings(
    clock: Clocksource | Absent,
    clock_cost_ns: RoundsFigure | None,
    system_call_ns: RoundsFigure | None = None,
    proof: str = "",
) -> Iterator[Finding]:
    """Slow where the source is, or where reading the time costs as much as a system call: then it is one."""
    slow_source = is_present(clock) and clock.is_slow
    call = system_call_ns.value if system_call_ns is not None else 0.0
    least = max(SLOW_CLOCK_NS, 0.8 * call)
    slow_call = clock_cost_ns is not None and clock_cost_ns.low is not None and clock_cost_ns.low > least
    if not is_present(clock) or not (slow_source or slow_call or clock.is_xen_with_counter):
        return
    cost = f": reading the time costs {clock_cost_ns.value:.0f} ns" if clock_cost_ns is not None else ""
    yield SAYS.finding(
        "clocksource",
        severity="warning" if slow_source else "notice",
        confidence="measured" if slow_call else "rule" if slow_source else "hint",
        clock=clock.current,
        cost=cost,
        available=", ".join(clock.available) or "unknown",
        proof=proof,
        evidence=(
            *((SAYS.evidence("clock-asked", clock=clock.asked),) if clock.asked == clock.current else ()),
            *((SAYS.evidence("clock-xen"),) if clock.current == "xen" else ()),
        ),
        remedy=(_clocksource_remedy(clock),) if clock.current != "tsc" else (),
    )


def _clocksource_remedy(clock: Clocksource) -> Remedy:
    was_requested = clock.asked == clock.current
    better = "tsc" in clock.available
    return SAYS.remedy(
        "clocksource",
        command=SAYS.text("use-clock", clock="tsc") if better else SAYS.text("look-for-tsc"),
        undo=(SAYS.text("use-clock", clock=clock.current),) if better else (),
        asked=(f"clocksource={clock.asked}",) if was_requested else (),
        warning="" if was_requested else SAYS.text("perhaps-unstable"),
    )


def device_findings(
    devices: tuple[PciDevice, ...], tagged: tuple[PcieTags, ...] | Absent
) -> Iterator[Finding]:
    for device in devices:
        link = device.link
        # A card that is idle lowers its link's speed to save power (graphics above all): the width stays.
        if isinstance(link, Absent) or not link.degraded or device.kind in ("GPU", "accelerator"):
            continue
        name = ", ".join(device.names) or device.address
        most, now = link.most_bytes_per_s, link.bytes_per_s
        cost = (
            f", {units.format_rate(now)} instead of {units.format_rate(most)}"
            if is_present(most) and is_present(now)
            else ""
        )
        yield SAYS.finding(
            "pcie-link",
            subject=name,
            kind=device.kind,
            now=link.now,
            most=link.at_most,
            cost=cost,
            device_most=link.device_most,
            port_most=link.port_most,
            source=link.source,
            address=device.address,
        )
    able = [t.address for t in tagged if t.can and not t.on] if is_present(tagged) else []
    device_names = [
        ", ".join(d.names) or d.address
        for d in devices
        if d.address in able and (d.kind in STORAGE or d.kind == "NIC")
    ]
    if device_names:
        yield SAYS.finding("ten-bit-tags", count=len(device_names), names=", ".join(device_names[:8]))


def firmware_findings(firmware: FirmwareSettings) -> Iterator[Finding]:
    costly = [r for r in firmware.readings if r.judgement == "costs I/O"]
    unknown = [r for r in firmware.readings if r.judgement == "unknown"]
    vendor = firmware.vendor
    if costly:
        source = firmware.attributes.source if is_present(firmware.attributes) else "the running system"
        remedy = SAYS.remedy(
            "bios",
            changes="; ".join(f"{r.title} ({r.where})" for r in costly),
            saved=(SAYS.text(f"save-{vendor}"),) if vendor in _SAVING else (),
        )
        yield SAYS.finding(
            "bios",
            settings=f"{len(costly)} BIOS setting{'s cost' if len(costly) > 1 else ' costs'}",
            names=", ".join(r.name or r.title for r in costly),
            evidence=[
                Evidence(_format_setting(r), source if r.name else "the running system") for r in costly
            ],
            remedy=(remedy,),
        )
    if unknown:
        yield SAYS.finding(
            "bios-unknown",
            settings=units.count_noun(len(unknown), "BIOS setting"),
            evidence=[SAYS.evidence("bios-unknown", title=r.title, where=r.where) for r in unknown],
            remedy=(
                SAYS.remedy("ask-firmware", whose=f" of {VENDORS[vendor]}" if vendor in VENDORS else ""),
            ),
        )


def _format_setting(reading: BiosReading) -> str:
    later = f"; {reading.pending} after the next start" if reading.pending else ""
    name = f"{reading.name} is " if reading.name else ""
    return f"{reading.title}: {name}{reading.value}{later}"


def topology_findings(
    doubt: str, nodes: NodesPerSocket | Absent, lost: tuple[int, int] | None = None
) -> Iterator[Finding]:
    """`lost`: domains with CPUs and memory that the firmware describes, and nodes that the kernel made of them."""
    if doubt:
        yield SAYS.finding("table", doubt=doubt)
    if is_present(nodes) and nodes.by_kernel:
        yield SAYS.finding("off", words=nodes.setting_text, by_kernel=nodes.by_kernel)
    elif lost is not None:
        yield SAYS.finding("srat-unused", described=lost[0], used=lost[1])


def _format_ghz(khz: int) -> str:
    return units.format_frequency(khz * 1000.0)


def _percent_with_interval(figure: RoundsFigure) -> str:
    if figure.low is None or figure.high is None:
        return units.format_percent(figure.value)
    return (
        f"{units.format_percent(figure.value)} (95 % CI {units.format_percent(figure.low)} to "
        f"{units.format_percent(figure.high)})"
    )
