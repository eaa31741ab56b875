"""What the figures mean: each cause comes out as what it is, and nothing is said without one."""

import pytest

from hostdx.probes.system.disk.drive.link import BusLink
from hostdx.probes.system.pci import PciDevice
from hostdx.probes.system.pcie_tags import PcieTags
from hostdx.probes.system.running.culprit import BusyProcess
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.numa.findings import cpu_findings, device_findings
from hostdx.scenarios.numa.measurement.cpu import NO_CLOCK, AllCoresClock, CpuLoad, CpuResult, CpuRow
from hostdx.scenarios.numa.measurement.figures import RoundsFigure, estimate_figure, ratio_figure
from hostdx.scenarios.numa.measurement.memory import MemoryResult, NodeReach
from hostdx.scenarios.numa.measurement.surroundings import CpuConditions
from hostdx.scenarios.numa.memory_findings import memory_findings
from hostdx.scenarios.triage.cpus.quota import SessionQuota
from tests.every_case import every_case

GHZ = 1_000_000


def _make_figure(value: float, spread: float = 0.02) -> RoundsFigure:
    return RoundsFigure(value, value * (1 - spread), value * (1 + spread), 12)


def _cpu(of_n: float = 0.99, share: float = 1.0, reached: int | None = None) -> CpuResult:
    row = CpuRow(
        load=CpuLoad(id="hash", title="SHA-256", unit="MB/s"),
        single_core=_make_figure(100),
        cores=_make_figure(100 * of_n * 4),
        threads=None,
        of_n=_make_figure(of_n),
    )
    return CpuResult(
        rows=(row,),
        curve={},
        clock_ns=None,
        system_call_ns=None,
        share={0: share, 1: 1.0},
        seconds=10.0,
        clocked=AllCoresClock(reached_khz=NO_CLOCK if reached is None else reached, samples=8),
    )


def _ids_of(findings: list[Finding]) -> list[str]:
    return [f.id.removeprefix("numa.") for f in findings]


@every_case(
    ("result", "around", "ids", "words"),
    [
        (_cpu(), CpuConditions(), [], ""),
        (
            _cpu(share=0.25),
            CpuConditions(
                quota_cores=0.5, quota_held_s=6.0, quota_periods=(19, 20), quota_loaded=2, foreign={0: 0.4}
            ),
            ["cpu-quota"],
            SessionQuota(cores=0.5, cpus=2, reached=(19, 20), loaded=2).quota_sentence,
        ),
        (
            _cpu(share=0.25),
            CpuConditions(quota_cores=0.5, quota_held_s=0.1, quota_periods=(53, 100), foreign={0: 0.4}),
            ["cpu-quota"],
            SessionQuota(cores=0.5, cpus=2, reached=(53, 100)).quota_sentence,
        ),
        (
            _cpu(),
            CpuConditions(quota_cores=4.0, quota_held_s=0.0, cpus=8),
            ["cpu-quota"],
            SessionQuota(cores=4.0, cpus=8).quota_sentence,
        ),
        (_cpu(), CpuConditions(quota_cores=4.0, quota_held_s=0.0), [], ""),  # more than there is
        (
            _cpu(share=0.5),
            CpuConditions(foreign={0: 0.5}, culprit=BusyProcess(7, "burner", 0.9)),
            ["cpu-competitor"],
            BusyProcess(7, "burner", 0.9).label,
        ),
        (
            _cpu(share=0.1),  # the one that is named took little of what is missing
            CpuConditions(foreign={0: 0.9}, culprit=BusyProcess(7, "burner", 0.16)),
            ["cpu-competitor"],
            "0.90 of 2 CPUs",
        ),
        (_cpu(share=0.5), CpuConditions(foreign={0: 0.0}), [], ""),  # nobody else was on it: not a competitor
        (_cpu(), CpuConditions(steal=0.08), ["cpu-steal"], "gave 8 % of this machine's CPU time"),
        (
            _cpu(),
            CpuConditions(limited_khz=2 * GHZ, highest_khz=35 * GHZ // 10),
            ["cpu-frequency-limit"],
            "limited to 2 GHz of 3.5 GHz",
        ),
        (
            _cpu(of_n=0.61, reached=21 * GHZ // 10),
            CpuConditions(highest_khz=35 * GHZ // 10, power_w=119.0, power_limit_w=120.0),
            ["cpu-frequency", "cpu-scaling"],
            "all cores together reach only 61 % of one core's rate times their number (SHA-256): "
            "2.1 GHz of 3.5 GHz, package power limit 120 W",
        ),
        (
            _cpu(reached=12 * GHZ // 10),
            CpuConditions(highest_khz=35 * GHZ // 10, held_by="powersave"),
            ["cpu-frequency"],
            "all cores together run at 1.2 GHz of 3.5 GHz: the governor powersave keeps the lowest clock",
        ),
        (
            _cpu(reached=34 * GHZ // 10),
            CpuConditions(highest_khz=35 * GHZ // 10, held_by="boost off"),
            [],
            "",
        ),
        (_cpu(), CpuConditions(throttled=3), ["cpu-throttled"], "throttled by heat 3 times"),
    ],
)
def test_causes(result: CpuResult, around: CpuConditions, ids: list[str], words: str) -> None:
    findings = list(cpu_findings(result, around))
    assert _ids_of(findings) == ids
    assert not words or any(words in f.title for f in findings), [f.title for f in findings]


@pytest.mark.parametrize(("share", "severity"), [(0.87, "notice"), (0.5, "warning")])
def test_a_busy_cpu_is_a_cause_only_where_much_of_it_is_lost(share: float, severity: str) -> None:
    [cpu_finding] = cpu_findings(_cpu(share=share), CpuConditions(foreign={0: 1 - share}))
    assert (cpu_finding.id, cpu_finding.severity) == ("numa.cpu-competitor", severity)


def _reach(cpu: int, memory: int, rate: float, workers: int = 8, ns: float | None = None) -> NodeReach:
    return NodeReach(
        cpu_node=cpu,
        memory_node=memory,
        distance=10 if cpu == memory else 21,
        workers=workers,
        copied_bytes_per_s=_make_figure(rate * 1e9),
        one_worker_bytes_per_s=None,
        latency_ns=None if ns is None else _make_figure(ns),
    )


def _memory(*reaches: NodeReach) -> MemoryResult:
    return MemoryResult(reaches=reaches, small_ns=None, huge_ns=None, beyond_cache=True, problems=())


def test_far_memory_is_called_only_where_the_link_looks_narrow() -> None:
    usual = _memory(_reach(0, 0, 100), _reach(0, 1, 60), _reach(1, 1, 100), _reach(1, 0, 60))
    assert list(memory_findings(usual)) == []
    narrow = _memory(_reach(0, 0, 100), _reach(0, 1, 20), _reach(1, 1, 100), _reach(1, 0, 20))
    [memory_finding] = memory_findings(narrow)
    assert memory_finding.id == "numa.memory-far" and "20 %" in memory_finding.title


def test_a_node_with_fewer_modules() -> None:
    [memory_finding] = memory_findings(_memory(_reach(0, 0, 100), _reach(1, 1, 50)))
    assert memory_finding.id == "numa.memory-uneven" and memory_finding.subject == "node 1"
    assert list(memory_findings(_memory(_reach(0, 0, 100), _reach(1, 1, 50, workers=4)))) == []


def _square(*rates: float, ns: tuple[float, ...] = (100, 100, 100, 100)) -> MemoryResult:
    """Node 0 in node 0's memory, 0 in 1's, 1 in 0's, 1 in 1's."""
    pairs = ((0, 0), (0, 1), (1, 0), (1, 1))
    return _memory(*(_reach(*pair, rate, ns=t) for pair, rate, t in zip(pairs, rates, ns, strict=True)))


@every_case(
    ("result", "pairs"),
    [
        (_square(100, 18, 60, 20), [("memory-uneven", "node 1")]),  # slow memory, whoever reads it
        (_square(100, 55, 20, 40), [("cores-uneven", "node 1")]),  # slow cores, wherever they read
        (_square(100, 10, 10, 40), [("memory-far", "node 0 to node 1"), ("memory-uneven", "node 1")]),
        (_square(100, 20, 20, 100), [("memory-far", "node 0 to node 1")]),
        (_square(100, 60, 60, 100, ns=(100, 200, 160, 190)), [("memory-uneven", "node 1")]),
        (_square(100, 60, 60, 100, ns=(100, 110, 200, 190)), [("cores-uneven", "node 1")]),
        (_square(100, 60, 60, 100, ns=(100, 180, 180, 100)), []),
        (_memory(_reach(0, 0, 100), _reach(0, 2, 20)), [("memory-far", "node 0 to node 2")]),  # without cores
    ],
)
def test_the_distance_is_blamed_only_for_what_is_not_slow_nearby_too(
    result: MemoryResult, pairs: list[tuple[str, str]]
) -> None:
    findings = list(memory_findings(result))
    assert list(zip(_ids_of(findings), (f.subject for f in findings), strict=True)) == pairs
    assert all(len(f.evidence) == 3 for f in findings if f.subject != "node 0 to node 2")


def _device(degraded: bool, kind: str = "NIC") -> PciDevice:
    link = BusLink(
        kind="pcie",
        now="8.0 GT/s x4",
        at_most="16.0 GT/s x8",
        bytes_per_s=3_900_000_000,
        most_bytes_per_s=15_700_000_000,
        degraded=degraded,
        device_most="16.0 GT/s x8",
        port_most="16.0 GT/s x8",
    )
    return PciDevice(
        address="0000:81:00.0",
        kind=kind,  # type: ignore[arg-type]
        names=("eth0",),
        driver="",
        node=1,
        link=link,
    )


def test_tags_that_are_off() -> None:
    off = (PcieTags("0000:81:00.0", can=True, on=False),)
    [device_finding] = device_findings((_device(False),), off)
    assert device_finding.id == "numa.ten-bit-tags" and device_finding.confidence == "hint"
    assert list(device_findings((_device(False),), (PcieTags("0000:81:00.0", can=True, on=True),))) == []


def test_figures_over_rounds() -> None:
    assert estimate_figure([]) is None and estimate_figure([0.0, float("inf")]) is None
    figure = estimate_figure([5.0])
    assert figure is not None and (figure.value, figure.low) == (pytest.approx(5.0), None)
    several = estimate_figure([1.0, 1.1, 0.9, 1.0, 1.05, 0.95])
    assert several is not None and several.low is not None and several.low < 1.0 < (several.high or 0)
    quotient = ratio_figure([2.0, 4.0, 6.0], [1.0, 2.0, 3.0], 0.5)
    assert quotient is not None and quotient.value == pytest.approx(1.0)
