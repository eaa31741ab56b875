"""What the figures and settings mean: findings from fields. Nothing is said that was not read or measured."""

from __future__ import annotations

from collections.abc import Iterator

from probes import units
from probes.system.nodes.nodes_per_socket import NodesPerSocket
from probes.system.pci import STORAGE, PciDevice
from probes.system.pcie_tags import Tags
from probes.system.processor.clocksource import Clocksource
from probes.system.processor.cpulist import as_list
from probes.types import Absent, present
from scenarios.finding import Evidence, Finding
from scenarios.knowledge.bios import BiosReading
from scenarios.numa import remedies
from scenarios.numa.measurement.cpu import CYCLES, Clocked, CpuResult
from scenarios.numa.measurement.figures import Figure
from scenarios.numa.measurement.surroundings import Surroundings
from scenarios.numa.quota import held_back, quota_finding
from scenarios.numa.settings import Firmware, Held

STEAL_SPEAKS = 0.03
SHARE_SPEAKS = 0.9  # of a CPU that a worker should have for itself
SHARE_STARVES = 2 / 3  # of it: below that somebody else is the cause, above it a disturbance of the figures
FAIR_ALONE = 0.97
SCALING_SPEAKS = 0.85
FREQUENCY_SPEAKS = 0.9
SLOW_CLOCK_NS = 400.0
POWER_AT_LIMIT = 0.97
HELD: dict[Held, str] = {
    "powersave": "the governor powersave keeps the lowest clock",
    "userspace": "the governor userspace keeps a clock that a program set",
    "performance limit": "intel_pstate's max_perf_pct is lowered",
    "boost off": "boost is off",
}


def cpu_findings(result: CpuResult, around: Surroundings) -> Iterator[Finding]:
    """The causes first; that all cores give less than n times one is said with them."""
    yield from quota_finding(result, around)
    yield from _steal(around)
    yield from _competitor(result, around)
    yield from _frequency(result, around)
    yield from _scaling(result, around)


def _steal(around: Surroundings) -> Iterator[Finding]:
    if around.steal >= STEAL_SPEAKS:
        yield Finding(
            id="numa.cpu-steal",
            severity="warning",
            confidence="measured",
            title=f"the hypervisor gave {units.percent(around.steal)} of this machine's CPU time to others",
            evidence=(
                Evidence(f"steal {units.percent(around.steal)} while all CPUs were loaded", "/proc/stat"),
            ),
            remedy=remedies.steal(),
        )


def _competitor(result: CpuResult, around: Surroundings) -> Iterator[Finding]:
    """A worker that was alone on its CPU and did not get it: the others on that CPU are counted, the greatest named."""
    if held_back(result, around):
        return  # the quota takes CPU time from all workers alike
    lost = {
        n: s
        for n, s in result.share.items()
        if s < SHARE_SPEAKS and around.foreign.get(n, 0.0) > 1 - FAIR_ALONE
    }
    if not lost:
        return
    worst = min(lost.values())
    where = f"CPU{'' if len(lost) == 1 else 's'} {as_list(frozenset(lost))}"
    who = around.culprit
    took = (
        f"{who.label} took {who.rate:.2f} of {units.counted(around.cpus or len(result.share), 'CPU')}"
        if who is not None
        else "other processes took CPU time"
    )
    yield Finding(
        id="numa.cpu-competitor",
        severity="warning" if worst < SHARE_STARVES else "notice",
        confidence="measured",
        title=f"{took} during the {units.duration(result.seconds)} of this measurement: the figures of {where} are "
        f"too low, by up to {units.percent(1 - worst)}",
        evidence=tuple(
            Evidence(
                f"CPU {n}: our worker had it for {units.percent(s)} of the time, others used "
                f"{units.percent(around.foreign[n])}",
                "/proc/stat",
            )
            for n, s in sorted(lost.items(), key=lambda item: item[1])[:8]
        ),
        remedy=remedies.competitor(around.culprit),
        prove="cpuwatch" if who is not None else "",
        prove_options=("--pid", str(who.pid)) if who is not None else (),
    )


def _frequency(result: CpuResult, around: Surroundings) -> Iterator[Finding]:
    highest, limit, reached = around.highest_khz, around.limited_khz, _reached_khz(result)
    met = () if reached is None else (Evidence(_seen(result.clocked), result.clocked.source),)
    if limit is not None and highest:
        yield Finding(
            id="numa.cpu-frequency-limit",
            severity="warning",
            title=f"the CPU clock is limited to {_ghz(limit)} of {_ghz(highest)}",
            evidence=(
                Evidence(f"the limit {limit} kHz, the highest {highest} kHz", "cpufreq/policy*"),
                *met,
            ),
            remedy=remedies.frequency_limit(highest),
        )
    elif reached and highest and reached < FREQUENCY_SPEAKS * highest:
        yield Finding(
            id="numa.cpu-frequency",
            severity="notice",
            confidence="measured",
            title=f"all cores together run at {_ghz(reached)} of {_ghz(highest)}{_because(around)}",
            evidence=met,
            remedy=remedies.held_clock(around.held_by) if around.held_by else (),
        )
    if around.throttled:
        yield Finding(
            id="numa.cpu-throttled",
            severity="warning",
            confidence="measured",
            title=f"the CPUs were throttled by heat {around.throttled} times during the measurement",
            evidence=(Evidence(f"{around.throttled} events", "thermal_throttle/*_throttle_count"),),
            remedy=remedies.heat(),
        )


def _reached_khz(result: CpuResult) -> int | None:
    return result.clocked.reached_khz if present(result.clocked.reached_khz) else None


def _seen(clocked: Clocked) -> str:
    what = "workers" if clocked.source == CYCLES else "readings"
    khz = clocked.reached_khz if present(clocked.reached_khz) else 0
    return f"{_ghz(khz)} under load, {clocked.samples} {what}"


def _because(around: Surroundings) -> str:
    if around.held_by:
        return f": {HELD[around.held_by]}"
    limit, power = around.power_limit_w, around.power_w
    if limit and power and power >= POWER_AT_LIMIT * limit:
        return f": the package is at its power limit of {limit:.0f} W"
    if around.throttled:
        return ": throttled by heat"
    return ""


def _scaling(result: CpuResult, around: Surroundings) -> Iterator[Finding]:
    """By the calm rates: what others took away is not the hardware's."""
    rows = [r for r in result.rows if r.of_n is not None and r.of_n.high is not None]
    slow = [r for r in rows if r.of_n is not None and (r.of_n.high or 1.0) < SCALING_SPEAKS]
    if not slow:
        return
    worst = min(slow, key=lambda r: r.of_n.value if r.of_n else 1.0)
    assert worst.of_n is not None
    clock = ""
    if (reached := _reached_khz(result)) and around.highest_khz:
        clock = f": {_ghz(reached)} of {_ghz(around.highest_khz)}"
    limit = f", package power limit {around.power_limit_w:.0f} W" if around.power_limit_w else ""
    yield Finding(
        id="numa.cpu-scaling",
        severity="notice",
        confidence="measured",
        title=f"all cores together reach {units.percent(worst.of_n.value)} of n times one"
        f" ({worst.load.title}){clock}{limit}",
        evidence=tuple(
            Evidence(f"{r.load.title}: {_interval(r.of_n)} of n times one") for r in slow if r.of_n
        ),
    )


def timer_findings(
    clock: Clocksource | Absent, cost_ns: Figure | None, system_call_ns: Figure | None = None
) -> Iterator[Finding]:
    """Slow where the source is, or where reading the time costs as much as a system call: then it is one."""
    slow_source = present(clock) and clock.slow
    call = system_call_ns.value if system_call_ns is not None else 0.0
    least = max(SLOW_CLOCK_NS, 0.8 * call)
    slow_call = cost_ns is not None and cost_ns.low is not None and cost_ns.low > least
    if not present(clock) or not (slow_source or slow_call):
        return
    cost = f": reading the time costs {cost_ns.value:.0f} ns" if cost_ns is not None else ""
    yield Finding(
        id="numa.clocksource",
        severity="warning" if slow_source else "notice",
        confidence="measured" if slow_call else "rule",
        title=f"the kernel's clock source is {clock.current}{cost}",
        evidence=(
            Evidence(
                f"{clock.current}; available: {', '.join(clock.available) or 'unknown'}",
                "/sys/devices/system/clocksource/clocksource0",
            ),
            *(
                (Evidence(f"the boot parameter clocksource={clock.asked} asks for it", "/proc/cmdline"),)
                if clock.asked == clock.current
                else ()
            ),
        ),
        remedy=remedies.clocksource(clock) if clock.current != "tsc" else (),
        references=("Documentation/timers/timekeeping.rst",),
    )


def device_findings(devices: tuple[PciDevice, ...], tagged: tuple[Tags, ...] | Absent) -> Iterator[Finding]:
    for device in devices:
        link = device.link
        # A card that is idle lowers its link's speed to save power (graphics above all): the width stays.
        if isinstance(link, Absent) or not link.degraded or device.kind in ("GPU", "accelerator"):
            continue
        name = ", ".join(device.names) or device.address
        most, now = link.most_bytes_per_s, link.bytes_per_s
        cost = f", {units.rate(now)} instead of {units.rate(most)}" if present(most) and present(now) else ""
        yield Finding(
            id="numa.pcie-link",
            severity="warning",
            subject=name,
            title=f"{device.kind} {name} runs its PCIe link at {link.now} instead of {link.at_most}{cost}",
            evidence=(
                Evidence(f"now {link.now}; device {link.device_most}, slot {link.port_most}", link.source),
            ),
            remedy=remedies.link(device.address),
        )
    able = [t.address for t in tagged if t.can and not t.on] if present(tagged) else []
    named = [
        ", ".join(d.names) or d.address
        for d in devices
        if d.address in able and (d.kind in STORAGE or d.kind == "NIC")
    ]
    if named:
        yield Finding(
            id="numa.ten-bit-tags",
            severity="notice",
            confidence="hint",
            title=f"PCIe 10-bit tags are off on {len(named)} devices that could use them",
            evidence=(Evidence(", ".join(named[:8]), "PCI configuration space, Device Control 2"),),
            remedy=remedies.ten_bit_tags(),
        )


def firmware_findings(firmware: Firmware) -> Iterator[Finding]:
    costly = [r for r in firmware.readings if r.judgement == "costs I/O"]
    unknown = [r for r in firmware.readings if r.judgement == "unknown"]
    if costly:
        source = firmware.found.source if present(firmware.found) else "the running system"
        yield Finding(
            id="numa.bios",
            severity="notice",
            confidence="rule",
            title=f"{len(costly)} BIOS setting{'s cost' if len(costly) > 1 else ' costs'} a storage or network server "
            f"throughput: {', '.join(r.name or r.title for r in costly)}",
            evidence=tuple(Evidence(_setting(r), source if r.name else "the running system") for r in costly),
            remedy=remedies.bios(tuple(costly), firmware.vendor),
            references=("AMD 56745 (Linux network tuning guide)", "AMD 56338 (NPS)"),
        )
    if unknown:
        yield Finding(
            id="numa.bios-unknown",
            severity="notice",
            confidence="hint",
            title=f"{units.counted(len(unknown), 'BIOS setting')} cannot be read from here",
            evidence=tuple(Evidence(f"{r.title}: look at {r.where}") for r in unknown),
            remedy=remedies.ask_firmware(firmware.vendor),
        )


def _setting(reading: BiosReading) -> str:
    later = f"; {reading.pending} after the next start" if reading.pending else ""
    name = f"{reading.name} is " if reading.name else ""
    return f"{reading.title}: {name}{reading.value}{later}"


def topology_findings(
    doubt: str, nodes: NodesPerSocket | Absent, lost: tuple[int, int] | None = None
) -> Iterator[Finding]:
    """`lost`: domains with CPUs and memory that the firmware describes, and nodes that the kernel made of them."""
    if doubt:
        yield Finding(
            id="numa.table",
            severity="notice",
            title=f"the NUMA table is not credible: {doubt}",
            evidence=(Evidence(doubt, "/sys/devices/system/node"),),
            remedy=remedies.table(),
        )
    if present(nodes) and nodes.by_kernel:
        yield Finding(
            id="numa.off",
            severity="warning",
            title=f"NUMA is switched off: {nodes.words}",
            evidence=(Evidence(nodes.by_kernel, "/proc/cmdline"),),
            remedy=remedies.numa_off(),
        )
    elif lost is not None:
        yield Finding(
            id="numa.srat-unused",
            severity="warning",
            title=f"the firmware describes {lost[0]} NUMA nodes, the kernel uses {lost[1]}: it rejected the "
            "firmware's table",
            evidence=(Evidence(f"{lost[0]} domains with CPUs and memory", "/sys/firmware/acpi/tables/SRAT"),),
            remedy=remedies.table(),
        )


def _ghz(khz: int) -> str:
    return units.frequency(khz * 1000.0)


def _interval(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return units.percent(figure.value)
    return (
        f"{units.percent(figure.value)} (95 % CI {units.percent(figure.low)} to {units.percent(figure.high)})"
    )
