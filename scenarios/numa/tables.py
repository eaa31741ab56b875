"""The results as the tables of the report and of `--json`, the placements' finding, and the run's answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hostdx.probes.cpu_list import format_cpu_list
from hostdx.probes.system.pci import PciDevice
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import SEVERITIES, Finding
from hostdx.scenarios.contract.plan import Plan
from hostdx.scenarios.numa.measurement.cpu import CpuResult
from hostdx.scenarios.numa.measurement.figures import RoundsFigure
from hostdx.scenarios.numa.measurement.memory import MemoryResult
from hostdx.scenarios.numa.measurement.trains import CPU_TIME
from hostdx.scenarios.numa.placements import RANDOM, TITLES, UNPINNED
from hostdx.scenarios.numa.plan import NumaSetup
from hostdx.scenarios.numa.results import (
    BiosSettingRow,
    CpuRate,
    Device,
    NodePair,
    PageSize,
    PlacementCommand,
    Scaled,
)
from hostdx.scenarios.numa.settings import FirmwareSettings
from hostdx.scenarios.triage.cpus.slot import choose_pinning_slot, pin_remedy
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("numa")


def cpu_rows(result: CpuResult) -> tuple[CpuRate, ...]:
    """A row a load."""
    rows = [
        CpuRate(
            load=row.load.title,
            unit=row.load.unit,
            **_figure_fields(
                one=row.single_core, all_cores=row.cores, all_threads=row.threads, of_n=row.of_n
            ),
        )
        for row in result.rows
    ]
    for title, figure in (("reading the time", result.clock_ns), ("system call", result.system_call_ns)):
        if figure is not None:
            rows.append(CpuRate(load=title, unit="ns a call", **_figure_fields(one=figure)))
    return tuple(rows)


def scaling_rows(result: CpuResult) -> tuple[Scaled, ...]:
    return tuple(Scaled(workers=n, **_figure_fields(of_one=figure)) for n, figure in result.curve.items())


def memory_rows(result: MemoryResult) -> tuple[NodePair, ...]:
    return tuple(
        NodePair(
            cpu_node=reach.cpu_node,
            memory_node=reach.memory_node,
            distance=reach.distance,
            cores=reach.workers,
            **_figure_fields(1e-6, copied=reach.copied_bytes_per_s, one_copied=reach.one_worker_bytes_per_s),
            **_figure_fields(latency=reach.latency_ns),
        )
        for reach in result.reaches
    )


def page_size_rows(result: MemoryResult) -> tuple[PageSize, ...]:
    both = (("small", result.small_ns), ("huge", result.huge_ns))
    return tuple(PageSize(pages=name, **_figure_fields(latency=figure)) for name, figure in both if figure)


def device_rows(device_list: Sequence[PciDevice]) -> tuple[Device, ...]:
    rows = []
    for device in device_list:
        link = device.link if is_present(device.link) else None
        rows.append(
            Device(
                device=", ".join(device.names) or device.address,
                kind=device.kind,
                node=device.node if is_present(device.node) else None,
                link=link.now if link else None,
                at_most=link.at_most or None if link else None,
                rate=_megabytes_per_s(link.bytes_per_s) if link else None,
                most_rate=_megabytes_per_s(link.most_bytes_per_s) if link else None,
                driver=device.driver or None,
            )
        )
    return tuple(rows)


def _megabytes_per_s(bytes_per_s: int | Absent) -> int | None:
    return bytes_per_s // 1_000_000 if is_present(bytes_per_s) else None


def bios_rows(firmware: FirmwareSettings) -> tuple[BiosSettingRow, ...]:
    return tuple(
        BiosSettingRow(
            setting=reading.title,
            name=reading.name or None,
            value=reading.value or "unknown",
            pending=reading.pending or None,
            judgement=reading.judgement if reading.value else None,
            setup=reading.where,
        )
        for reading in firmware.readings
    )


def _figure_fields(factor: float = 1.0, **figures: RoundsFigure | None) -> dict[str, Any]:
    """The fields of a row: each figure with its interval, four digits of both."""
    out: dict[str, Any] = {}
    for name, figure in figures.items():
        if figure is not None:
            out[name] = _four_digits(figure.value * factor)
            if figure.low is not None and figure.high is not None:
                out[f"{name}_ci95"] = (_four_digits(figure.low * factor), _four_digits(figure.high * factor))
    return out


def _four_digits(value: float) -> float:
    return float(f"{value:.4g}")


def placed_commands(layout: NumaSetup) -> tuple[PlacementCommand, ...]:
    return tuple(
        PlacementCommand(
            placement.title,
            format_cpu_list(frozenset(n for seat in placement.seats for n in seat.cpus)),
            line,
        )
        for placement, line in layout.placement_commands
    )


def placement_findings(
    layout: NumaSetup, verdicts: Mapping[str, Sequence[ev.RunVerdict]]
) -> Iterator[Finding]:
    """Pinning helps here: by the verdicts on CPU time a piece of work, against the unpinned one."""
    helped = [
        (workload, v)
        for workload, some in verdicts.items()
        for v in some
        if workload.startswith("placement")
        and v.baseline == UNPINNED
        and v.variant != RANDOM
        and v.is_faster
        and v.metric == CPU_TIME
        and v.ratio
    ]
    if not helped:
        return
    _, best = max(helped, key=lambda pair: pair[1].ratio or 0.0)
    cores = max((len(sides[0].placement.seats) for _, _, sides in layout.entries), default=1)
    chosen = choose_pinning_slot(layout.usable, min(8, cores))
    yield SAYS.finding(
        "placement",
        where=TITLES.get(best.variant, best.variant),
        less=1 - 1 / (best.ratio or 1.0),
        evidence=[
            SAYS.evidence("placed", variant=v.variant, ratio=f"{v.ratio:.3f}", workload=workload)
            for workload, v in helped
        ],
        remedy=(pin_remedy(chosen),) if chosen is not None else (),
    )


def describe_undecided(plan: Plan, verdicts: Mapping[str, Sequence[ev.RunVerdict]]) -> str:
    """The comparisons that were measured and stayed open, by their titles; empty where all were decided."""
    titles = [
        workload.title
        for workload in plan.workloads
        if any(v.is_undecided for v in verdicts.get(workload.id, ()))
    ]
    if not titles:
        return ""
    if len(titles) == len(plan.workloads) > 1:
        return f"all {len(titles)} comparisons are inconclusive"
    return "inconclusive: " + ", ".join(f"'{title}'" for title in titles)


def with_answer(layout: NumaSetup, findings: Sequence[Finding], still_open: str) -> list[Finding]:
    """The findings with the run's answer among them: the worst that speaks, else that nothing is wrong.

    What could not be tested here and what was not decided is said with it.
    """
    tail = "".join(f"; {words}" for words in (layout.untestable, still_open) if words)
    loud = [f for f in findings if f.severity in ("critical", "warning")]
    if loud:
        worst = min(loud, key=lambda f: (SEVERITIES.index(f.severity), not f.answers))
        answer = msgspec.structs.replace(worst, title=f"{worst.title}{tail}", answers=True)
        return [answer if f is worst else msgspec.structs.replace(f, answers=False) for f in findings]
    noticed = [f.title for f in findings if f.severity == "notice"]
    sure = f"no slowdown proved, but {noticed[0]}" if noticed else "nothing found that slows them"
    if layout.measures:
        unsure = bool(still_open or noticed)  # no green for what is not known
        calm = SAYS.finding("answer", severity="notice" if unsure else "ok", sure=sure, tail=tail)
    else:
        calm = SAYS.finding("settings-alone", tail=tail)
    return [calm, *(msgspec.structs.replace(f, answers=False) for f in findings)]
