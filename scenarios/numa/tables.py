"""The results as the tables of the report and of `--json`, the placements' finding, and the run's answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from probes import units
from probes.system.cpulist import as_list
from probes.system.pci import PciDevice
from probes.types import Absent, Json, present
from scenarios import events as ev
from scenarios.finding import SEVERITIES, Evidence, Finding, Severity
from scenarios.numa import remedies
from scenarios.numa.measurement.cpu import CpuResult, CpuRow
from scenarios.numa.measurement.figures import Figure
from scenarios.numa.measurement.memory import MemoryResult
from scenarios.numa.measurement.trains import CPU_TIME
from scenarios.numa.placements import RANDOM, TITLES, UNPINNED
from scenarios.numa.plan import Layout
from scenarios.numa.settings import Firmware
from scenarios.numa.slots import slot
from scenarios.plan import Plan


def cpu(result: CpuResult, measured: Sequence[CpuRow]) -> Json:
    """A row a load, with 95 % intervals as [low, high]; `measured`: with what other tools measured."""
    rows: list[Json] = [
        {
            "load": row.load.title,
            "unit": row.load.unit,
            **_columns("one core", row.one),
            **_columns("all cores", row.cores),
            **_columns("all threads", row.threads),
            **_columns("cores of n times one", row.of_n),
        }
        for row in measured
    ]
    for title, figure in (("reading the time", result.clock_ns), ("system call", result.system_call_ns)):
        if figure is not None:
            rows.append({"load": title, "unit": "ns a call", **_columns("one core", figure)})
    return rows


def scaling(result: CpuResult) -> Json:
    """From one worker to one a thread: the sum over n times one, without waits for a CPU."""
    rows: list[Json] = [
        {"workers": n, **_columns("of n times one", figure)} for n, figure in result.curve.items()
    ]
    return rows


def memory(result: MemoryResult) -> Json:
    """A row a pair of nodes; MB/s copied, ns a dependent load."""
    rows: list[Json] = [
        {
            "cpus of node": reach.cpu_node,
            "memory of node": reach.memory_node,
            "distance": reach.distance,
            "cores": reach.workers,
            **_columns("copy MB/s", _mega(reach.copied_bytes_per_s)),
            **_columns("one core MB/s", _mega(reach.one_worker_bytes_per_s)),
            **_columns("latency ns", reach.latency_ns),
        }
        for reach in result.reaches
    ]
    return rows


def pages(result: MemoryResult) -> Json:
    """A row a page size: ns a dependent load of near memory."""
    both = (("small", result.small_ns), ("huge", result.huge_ns))
    rows: list[Json] = [
        {"pages": name, **_columns("latency ns", figure)} for name, figure in both if figure is not None
    ]
    return rows


def devices(found: Sequence[PciDevice]) -> Json:
    """A row a device: its node and its PCIe link against what both of its ends can do."""
    rows: list[Json] = []
    for one in found:
        link = one.link if present(one.link) else None
        rows.append(
            {
                "device": ", ".join(one.names) or one.address,
                "kind": one.kind,
                "node": one.node if present(one.node) else None,
                "link": link.now if link else None,
                "both ends can": link.at_most or None if link else None,
                "MB/s": _rate(link.bytes_per_s) if link else None,
                "MB/s at most": _rate(link.most_bytes_per_s) if link else None,
                "driver": one.driver or None,
            }
        )
    return rows


def _rate(bytes_per_s: int | Absent) -> int | None:
    return bytes_per_s // 1_000_000 if present(bytes_per_s) else None


def bios(told: Firmware) -> Json:
    """A row a setting: the vendor's own name and value, or where to look."""
    rows: list[Json] = [
        {
            "setting": one.title,
            "name": one.name or None,
            "value": one.value or "unknown",
            "after a restart": one.pending or None,
            "for storage and network": one.judgement if one.value else None,
            "setup": one.where,
        }
        for one in told.readings
    ]
    return rows


def _columns(name: str, figure: Figure | None) -> dict[str, Json]:
    if figure is None:
        return {name: None}
    ends: Json = (
        None if figure.low is None or figure.high is None else [_short(figure.low), _short(figure.high)]
    )
    return {name: _short(figure.value), f"{name}, 95 % CI": ends}


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _mega(figure: Figure | None) -> Figure | None:
    return None if figure is None else figure.scaled(1e-6)


def placed_commands(layout: Layout) -> Json:
    """A row a placement: whose CPUs, and the same for a command of the user's own."""
    rows: list[Json] = [
        {
            "placement": one.title,
            "CPUs": as_list(frozenset(n for seat in one.seats for n in seat.cpus)),
            "variant of hostdx run workload": line,
        }
        for one, line in layout.commands
    ]
    return rows


def placement_findings(layout: Layout, verdicts: Mapping[str, Sequence[ev.Verdict]]) -> Iterator[Finding]:
    """Pinning helps here: by the verdicts on CPU time a piece of work, against the unpinned one."""
    helped = [
        (workload, v)
        for workload, some in verdicts.items()
        for v in some
        if workload.startswith("placement")
        and v.baseline == UNPINNED
        and v.variant != RANDOM
        and v.faster
        and v.metric == CPU_TIME
        and v.ratio
    ]
    if not helped:
        return
    _, best = max(helped, key=lambda pair: pair[1].ratio or 0.0)
    cores = max((len(sides[0].placement.seats) for _, _, sides in layout.entries), default=1)
    chosen = slot(layout.placed, layout.table, layout.found, min(8, cores), allowed=layout.cpus)
    yield Finding(
        id="numa.placement",
        severity="notice",
        confidence="measured",
        title=f"workers {TITLES.get(best.variant, best.variant)} need {units.percent(1 - 1 / (best.ratio or 1.0))} "
        "less CPU time than workers that are not pinned",
        evidence=tuple(Evidence(f"{v.variant}: ratio {v.ratio:.3f} ({workload})") for workload, v in helped),
        remedy=remedies.pin(chosen) if chosen is not None else (),
    )


def undecided(plan: Plan, verdicts: Mapping[str, Sequence[ev.Verdict]]) -> str:
    """The comparisons that were measured and stayed open, by their titles; empty where all were decided."""
    titles = [
        workload.title
        for workload in plan.workloads
        if any(v.undecided for v in verdicts.get(workload.id, ()))
    ]
    if not titles:
        return ""
    if len(titles) == len(plan.workloads) > 1:
        return f"all {len(titles)} comparisons are inconclusive"
    return "inconclusive: " + ", ".join(f"'{title}'" for title in titles)


def with_answer(layout: Layout, found: Sequence[Finding], still_open: str) -> list[Finding]:
    """The findings with the run's answer among them: the worst that speaks, else that nothing is wrong.

    What could not be tested here and what was not decided is said with it.
    """
    tail = "".join(f"; {words}" for words in (layout.untestable, still_open) if words)
    loud = [f for f in found if f.severity in ("critical", "warning")]
    if loud:
        worst = min(loud, key=lambda f: (SEVERITIES.index(f.severity), not f.answers))
        told = msgspec.structs.replace(worst, title=f"{worst.title}{tail}", answers=True)
        return [told if f is worst else msgspec.structs.replace(f, answers=False) for f in found]
    title = (
        f"CPUs and memory: nothing found that slows them{tail}"
        if layout.measures
        else f"topology and settings were read; no measurement{tail}"
    )
    severity: Severity = (
        "notice" if still_open or not layout.measures else "ok"
    )  # no green for what is not known
    calm = Finding(id="numa.answer", severity=severity, confidence="measured", title=title, answers=True)
    return [calm, *(msgspec.structs.replace(f, answers=False) for f in found)]
