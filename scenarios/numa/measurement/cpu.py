"""The CPUs, measured: one core, all cores, all threads, and how the sum grows from one to all.

Each load runs by what the interpreter brings along compiled; the figures compare this host with itself or with its
like, never a compiler's benchmark. Two rates are kept: with all waits, and by the lower quartile of the operations,
which is what the hardware does while nobody takes the CPU away.
"""

import asyncio
import importlib.util
import random
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from hostdx.probes.engine.command.perf_events import CycleClocks
from hostdx.probes.reading.host import Host
from hostdx.probes.system.processor.topology import ROOT
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.numa.measurement.figures import RoundsFigure, RoundValue, estimate_figure, ratio_figure
from hostdx.scenarios.numa.measurement.placement import (
    PlacedSlice,
    PlacementBench,
    WorkerPlacement,
    WorkerSeat,
)
from hostdx.scenarios.triage.cpus.usable import UsableCpus

SLICE_S = 0.04
MAX_WORKERS = 512
SUSTAINED_S = 2.0
LOOK_S = 0.25
CYCLES = "cycles of our workers (perf_event_open)"
NO_CLOCK = Absent(
    "performance counters may not be read here and there is no cpufreq (usual in a virtual machine)",
    "unsupported",
    CYCLES,
)
# the load of the curve from one to all: it needs no memory, so that only the CPUs bound it
SCALED_BY = "integer"

CROWDS = {"one": "one core", "cores": "all cores", "threads": "all threads"}


class CpuLoad(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    unit: str
    bytes: int = 0


def list_loads() -> tuple[CpuLoad, ...]:
    """`matrix` only where numpy is installed for this interpreter."""
    always = (
        CpuLoad(id="integer", title="integer arithmetic (interpreter)", unit="loops/s"),
        CpuLoad(id="floating", title="floating point (C mathematics)", unit="loops/s"),
        CpuLoad(id="large-numbers", title="20,000-bit multiplication", unit="products/s"),
        CpuLoad(id="hash", title="SHA-256 (OpenSSL; SHA or vector instructions)", unit="MB/s", bytes=1),
        CpuLoad(id="compress", title="zlib", unit="MB/s", bytes=1),
    )
    if importlib.util.find_spec("numpy") is None:
        return always
    return (
        *always,
        CpuLoad(id="matrix", title="matrix product (numpy; vector instructions)", unit="products/s"),
    )


class CpuCrowd(msgspec.Struct, frozen=True):
    """So many workers, each on a CPU of its own: `usable_cores` first, siblings after them."""

    id: str
    cpus: tuple[int, ...]
    cores: int


class CpuRow(msgspec.Struct, frozen=True, kw_only=True):
    """One load: rates in its unit. `of_n` is all cores together over n times one core, without waits for a CPU."""

    load: CpuLoad
    single_core: RoundsFigure
    cores: RoundsFigure | None
    threads: RoundsFigure | None
    of_n: RoundsFigure | None


class AllCoresClock(msgspec.Struct, frozen=True, kw_only=True):
    """While all cores worked: the mean clock of the busy CPUs. `samples`: readings, or workers that were counted."""

    reached_khz: int | Absent
    samples: int
    source: str = "scaling_cur_freq"


class CpuResult(msgspec.Struct, frozen=True, kw_only=True):
    """`share` is the part of its CPU that a worker got, by CPU; `curve` maps workers to the sum over n times one."""

    rows: tuple[CpuRow, ...]
    curve: dict[int, RoundsFigure]
    clock_ns: RoundsFigure | None
    system_call_ns: RoundsFigure | None
    share: dict[int, float]
    seconds: float
    clocked: AllCoresClock


def make_crowds(usable: UsableCpus) -> tuple[CpuCrowd, CpuCrowd | None, CpuCrowd | None]:
    """One core, all cores (None: there is one), all threads (None: no core has several)."""
    cores = [sorted(core) for core in usable.usable_cores()]
    firsts = tuple(core[0] for core in cores)[:MAX_WORKERS]
    rest = tuple(n for core in cores for n in core[1:])
    single = CpuCrowd("one", firsts[:1], 1)
    every = CpuCrowd("cores", firsts, len(firsts)) if len(firsts) > 1 else None
    more = rest and len(firsts) < MAX_WORKERS
    threads = CpuCrowd("threads", (*firsts, *rest)[:MAX_WORKERS], len(firsts)) if more else None
    return single, every, threads


class CpuBench:
    """Rounds of slices: every load on one core, on all cores and on all threads, and the curve's steps."""

    def __init__(self, host: Host, usable: UsableCpus, bench: PlacementBench, seed: int) -> None:
        self._host = host
        self._bench = bench
        self._rng = random.Random(seed)
        self._single, self._cores, self._threads = make_crowds(usable)
        widest = self._threads or self._cores or self._single
        self._all = widest.cpus
        self._steps = _worker_count_steps(len(self._all))
        self._loads = list_loads()
        self._slices: dict[tuple[str, str], list[PlacedSlice]] = defaultdict(list)
        self.round_values: list[RoundValue] = []  # of the last round

    async def measure_round(self) -> None:
        """Every cell once. Raises BenchRefused."""
        cells = [(load.id, crowd) for load in self._loads for crowd in self._crowds_with_random_core()]
        cells += [(SCALED_BY, CpuCrowd(f"{n} workers", self._all[:n], n)) for n in self._steps]
        cells += [("clock", self._draw_one_core_crowd()), ("system-call", self._draw_one_core_crowd())]
        self._rng.shuffle(cells)
        for work, crowd in cells:
            placed_slice = await self._bench.measure_slice(work, _make_placement(crowd), SLICE_S)
            self._slices[work, crowd.id].append(placed_slice)
        self.round_values = [
            RoundValue(load.title, CROWDS[crowd], _rate_or_megabytes(load, slices[-1]), load.unit)
            for load in self._loads
            for crowd in CROWDS
            if (slices := self._slices[load.id, crowd])
        ]

    def discard_measured(self) -> None:
        """What was measured until now does not count."""
        self._slices.clear()

    def _crowds_with_random_core(self) -> tuple[CpuCrowd, ...]:
        return tuple(c for c in (self._draw_one_core_crowd(), self._cores, self._threads) if c is not None)

    def _draw_one_core_crowd(self) -> CpuCrowd:
        """One core, another one every time: a core that is slower must not stand for all."""
        cpus = (self._cores or self._single).cpus
        return CpuCrowd("one", (self._rng.choice(cpus),), 1)

    @property
    def sustained_cpus(self) -> int:
        """CPUs that `measure_sustained` loads."""
        return len((self._cores or self._single).cpus)

    async def measure_sustained(self) -> AllCoresClock:
        """All cores under load for two seconds, and what clock they have meanwhile: by the cycles of our workers,
        else as cpufreq tells it.
        """
        crowd = self._cores or self._single
        counted = CycleClocks(self._bench.all_pids)
        running = asyncio.ensure_future(
            self._bench.measure_slice("floating", _make_placement(crowd), SUSTAINED_S)
        )
        clocks_khz: list[int] = []
        try:
            while not running.done():
                await asyncio.wait((running,), timeout=LOOK_S)
                if not running.done():
                    clocks_khz += _current_khz_of(self._host, crowd.cpus)
            await running
        finally:
            running.cancel()
            gigahertz, workers = counted.read_and_close()
        if gigahertz is not None:
            return AllCoresClock(reached_khz=round(gigahertz * 1e6), samples=workers, source=CYCLES)
        if clocks_khz:
            return AllCoresClock(reached_khz=sum(clocks_khz) // len(clocks_khz), samples=len(clocks_khz))
        return AllCoresClock(reached_khz=NO_CLOCK, samples=0, source=CYCLES)

    def build_result(self, clock: AllCoresClock, seconds: float) -> CpuResult:
        rows = [row for load in self._loads if (row := self._row_of_load(load)) is not None]
        return CpuResult(
            rows=tuple(rows),
            curve=self._scaling_efficiency_by_workers(),
            clock_ns=estimate_figure([s.nanoseconds_a_call() for s in self._slices["clock", "one"]]),
            system_call_ns=estimate_figure(
                [s.nanoseconds_a_call() for s in self._slices["system-call", "one"]]
            ),
            share=self._served_share_by_cpu(),
            seconds=seconds,
            clocked=clock,
        )

    def _row_of_load(self, load: CpuLoad) -> CpuRow | None:
        single_slices = self._slices[load.id, "one"]
        single_figure = estimate_figure([_rate_or_megabytes(load, s) for s in single_slices])
        if single_figure is None:
            return None
        sums = {crowd: self._slices[load.id, crowd] for crowd in ("cores", "threads")}
        count = len(self._cores.cpus) if self._cores is not None else 1
        return CpuRow(
            load=load,
            single_core=single_figure,
            cores=estimate_figure([_rate_or_megabytes(load, s) for s in sums["cores"]]),
            threads=estimate_figure([_rate_or_megabytes(load, s) for s in sums["threads"]]),
            of_n=ratio_figure(
                [s.calm_rate for s in sums["cores"]], [s.calm_rate for s in single_slices], 1 / count
            ),
        )

    def _scaling_efficiency_by_workers(self) -> dict[int, RoundsFigure]:
        single_rates = [s.calm_rate for s in self._slices[SCALED_BY, "one"]]
        figures = {
            n: ratio_figure(
                [s.calm_rate for s in self._slices[SCALED_BY, f"{n} workers"]], single_rates, 1 / n
            )
            for n in self._steps
        }
        return {n: f for n, f in figures.items() if f is not None}

    def _served_share_by_cpu(self) -> dict[int, float]:
        """CPU -> what the worker that was bound to it got of it, over all slices with everybody at work."""
        shares_by_cpu: dict[int, list[float]] = defaultdict(list)
        crowd = self._threads or self._cores or self._single
        for load in self._loads:
            for placed_slice in self._slices[load.id, crowd.id]:
                for cpu, served in zip(crowd.cpus, placed_slice.served, strict=False):
                    if served.seconds > 0 and crowd.id != "one":
                        shares_by_cpu[cpu].append(served.cpu_s / served.seconds)
        return {cpu: sum(shares) / len(shares) for cpu, shares in shares_by_cpu.items()}


def _make_placement(crowd: CpuCrowd) -> WorkerPlacement:
    return WorkerPlacement(crowd.id, crowd.id, tuple(WorkerSeat((cpu,)) for cpu in crowd.cpus))


def _worker_count_steps(count: int) -> tuple[int, ...]:
    """2, 4, 8 … below all, and all."""
    doubled = [1 << power for power in range(1, 10) if 1 << power < count]
    return (*doubled, count) if count > 1 else ()


def _rate_or_megabytes(load: CpuLoad, placed_slice: PlacedSlice) -> float:
    return placed_slice.bytes_per_s() / 1e6 if load.bytes else placed_slice.rate


def _current_khz_of(host: Host, cpus: Iterable[int]) -> list[int]:
    values = (host.read_integer(f"{ROOT}/cpu{n}/cpufreq/scaling_cur_freq") for n in list(cpus)[:64])
    return [value for value in values if is_present(value) and value > 0]
