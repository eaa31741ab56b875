"""Series of runs, memory limits, energy and devices."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from hostdx.probes.engine.command import energy, group_counters
from hostdx.probes.engine.command.supervised import JobRun, Supervisors
from hostdx.probes.engine.measured import Measured
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import OptionMap
from hostdx.scenarios.contract.plan import Plan
from hostdx.scenarios.experiment.load_schedule import measure_workload
from hostdx.scenarios.workload import group
from hostdx.scenarios.workload import request as asked
from hostdx.scenarios.workload.findings import wall_finding
from hostdx.scenarios.workload.group import group_action, limits_problem, limits_to_carry_over, parse_limit
from hostdx.scenarios.workload.request import parse_request
from hostdx.scenarios.workload.scenario import (
    CommandUnderVariants,
    _make_group_and_get_path,
    judge_and_emit_trend,
    measure_series,
)
from hostdx.scenarios.workload.split import find_limit_cause, split_wall_time
from hostdx.scenarios.workload.variant_bench import (
    ALL_WAIT,
    BLOCKED,
    CPU,
    ENERGY,
    HITS,
    MEMORY,
    MIN_ENERGY_J,
    RECLAIMED,
    REFAULTED,
    SWAPPED_IN,
    SYSTEM,
    USER,
    WAITING,
    WALL,
    BytesMoved,
    CommandVariantBench,
    MovedBytesCounter,
    window_values_of,
)
from hostdx.scenarios.workload.variants import parse_variant
from tests.every_case import every_case
from tests.fakes import FakeRun
from tests.fakes.clock import FakeClock
from tests.fakes.hosts.tree import Tree
from tests.probes.engine.command.test_topdown import make_zone

PLAN = Plan(scenario="workload", title="", question="", measuring_s=1e6)


def draw_walls(slower: float, given_back: float, runs: int = 20, every: int = 5) -> list[float]:
    """Each run `slower` than the one before; each treatment gives a share back."""
    draw = random.Random(3)
    level, seconds = 1.0, []
    for i in range(runs):
        if i and i % every == 0:
            level *= 1 - given_back
        seconds.append(level * draw.gauss(1.0, 0.004))
        level *= 1 + slower
    return seconds


def judge_series(seconds: list[float]) -> tuple[ev.SeriesVerdict, FakeRun]:
    run = FakeRun()
    judge_and_emit_trend(run, "command", seconds, {5, 10, 15})
    return run.of(ev.SeriesVerdict)[0], run


def test_a_treatment_that_breaks_the_trend_is_named() -> None:
    verdict, run = judge_series(draw_walls(0.03, 0.14))
    (event,) = run.of(ev.Found)
    assert verdict.verdict == "slower" and verdict.explain
    assert event.finding.answers and event.finding.id == "workload.treatment"
    assert "trim" not in verdict.explain + event.finding.title


class Treated(CommandVariantBench):
    """Runs that end at once; what was run beside them is kept."""

    order: list[str]

    async def measure_block(self, seconds: float = 0.0) -> Measured:
        self.order.append("run")
        failed = len(self.order) == 5
        return Measured(seconds=1.0, values={} if failed else {WALL: 1.0}, operations=1)

    async def run_extra_command(self, argv: Sequence[str], option: str) -> None:
        self.order.append(option)


def test_treated_between_the_runs_that_count(supervisors: Supervisors) -> None:
    options = OptionMap({"cmd": "true", "series": 7, "treat": "true", "every": 3})
    run = FakeRun(plan=PLAN)
    request = parse_request(options, "/")
    bench = Treated(run, request.jobs[0], supervisors, at_most_s=1.0)
    bench.order = []
    asyncio.run(measure_series(run, request, bench))
    assert " ".join(bench.order) == "run run run --treat run run run run --treat run"


FREE = {WALL: 0.6, USER: 0.4, SYSTEM: 0.1, WAITING: 0.0, BLOCKED: 0.02, MEMORY: 0.0, HITS: 0.0}
# as a command that touches 24 MiB under memory.max=20M in a guest: +2.05 s, of it +1.35 system CPU, +0.43 memory
BOUND = FREE | {
    WALL: 2.65,
    SYSTEM: 1.45,
    MEMORY: 0.43,
    BLOCKED: 0.2,
    HITS: 1200.0,
    RECLAIMED: 33e6,
    REFAULTED: 27e6,
    SWAPPED_IN: 27e6,
    ALL_WAIT: 0.3,
}


def make_blocks(a: dict[str, float], b: dict[str, float], noise: float = 0.02) -> list[ev.Block]:
    rng = random.Random(1)
    return [
        ev.Block(
            t=0.0,
            workload="command",
            variant=variant,
            group=group,
            index=0,
            seconds=values[WALL],
            values={name: value * (1 + rng.gauss(0, noise)) for name, value in values.items()},
        )
        for group in range(4)
        for variant, values in (("A", a), ("B", b), ("B", b), ("A", a))
    ]


def make_verdict(word: str) -> ev.RunVerdict:
    return ev.RunVerdict(t=0.0, workload="command", metric=WALL, baseline="A", variant="B", verdict=word)  # type: ignore[arg-type]


@pytest.mark.parametrize(("swapped", "side"), [(False, "B"), (True, "A")])
def test_reclaim_that_is_the_commands_own_system_cpu_is_the_limits(swapped: bool, side: str) -> None:
    blocks = make_blocks(BOUND, FREE) if swapped else make_blocks(FREE, BOUND)
    split, limit = split_wall_time(blocks, "A", "B"), find_limit_cause(blocks, "A", "B")
    assert split is not None and limit is not None and limit.named and limit.side == side
    assert max(split.parts[1:], key=lambda part: abs(part.difference_s)).name == SYSTEM  # what it used to say
    finding = wall_finding(make_verdict("faster" if swapped else "slower"), split, limit)
    assert finding.title.endswith(f" {side}")
    text = "\n".join(evidence.text for evidence in finding.evidence)
    assert "times a run" in text and "swapped in" in text and SYSTEM in text
    assert abs(limit.paid.difference_s) == pytest.approx(1.96, abs=0.1)


def test_without_psi_it_is_told_and_not_named() -> None:
    blocks = make_blocks(*({k: v for k, v in side.items() if k != MEMORY} for side in (FREE, BOUND)))
    limit = find_limit_cause(blocks, "A", "B")
    assert limit is not None and not limit.named


@every_case(
    ("a", "b"),
    [
        (FREE, BOUND | {HITS: 0.0}),
        (FREE | {HITS: 1000.0}, BOUND),  # both are at their limits
        ({k: v for k, v in FREE.items() if k != HITS}, BOUND),  # no control group of its own
    ],
)
def test_without_the_groups_word_nothing_is_said(a: dict[str, float], b: dict[str, float]) -> None:
    assert find_limit_cause(make_blocks(a, b), "A", "B") is None


def make_run(package_j: float | None, dram_j: float | None) -> JobRun:
    zero: dict[str, object] = dict.fromkeys(JobRun.__struct_fields__, 0)
    fields = {"waits": (), "energy_package_j": package_j, "energy_dram_j": dram_j}
    return JobRun(**zero | {"counts": {}, "slots": {}} | fields)  # type: ignore[arg-type]


def test_energy_is_packages_and_memory_and_never_nothing() -> None:
    assert window_values_of(make_run(20.0, 3.0))[ENERGY] == 23.0
    assert window_values_of(make_run(20.0, None))[ENERGY] == 20.0
    assert ENERGY not in window_values_of(make_run(None, None))
    assert (
        window_values_of(make_run(0.0, None))[ENERGY] == MIN_ENERGY_J
    )  # ended before the counters moved: no stall


class Burning:
    """Implements `Variant`: as long as the other, with other joules."""

    def __init__(self, variant: str, joules: float, clock: FakeClock, rng: random.Random) -> None:
        self.variant, self.joules, self.clock, self.rng = variant, joules, clock, rng

    async def switch_to_variant(self) -> None:
        pass

    async def finish_requests(self) -> None:
        pass

    async def measure_block(self, seconds: float) -> Measured:
        self.clock.advance(1.0)
        near = [1 + self.rng.gauss(0, 0.01) for _ in range(3)]
        values = {WALL: near[0], CPU: near[1], ENERGY: self.joules * near[2]}
        return Measured(seconds=near[0], values=values, operations=1)


@pytest.mark.parametrize("has_rapl", [True, False])
def test_the_verdict_on_energy_where_rapl_is_there(
    has_rapl: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_rapl:
        make_zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    monkeypatch.setattr(asked, "is_energy_readable", lambda: energy.is_energy_readable(str(tmp_path)))
    request = asked.parse_request(OptionMap({"cmd": "true", "variant": ["A:", "B:"]}), "/")
    clock, rng = FakeClock(), random.Random(1)
    run = FakeRun(clock=clock)
    benches = [Burning("A", 30.0, clock, rng), Burning("B", 36.0, clock, rng)]
    verdicts, _ = asyncio.run(
        measure_workload(run, request.load, benches, budget_s=120.0, family=1, pairs=request.variant_pairs)
    )
    verdict_by_metric = {verdict.metric: verdict.verdict for verdict in verdicts}
    alike = "no material difference"
    assert verdict_by_metric == {WALL: alike, CPU: alike} | ({ENERGY: "slower"} if has_rapl else {})
    assert {verdict.alpha for verdict in verdicts} == {0.05 / len(verdicts)}


def put_diskstats(root: Path, sda: int, sdb: int) -> None:
    line = "   8  {} {} 10 0 {} 5 20 0 {} 7 0 9 12\n"
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/diskstats").write_text(
        line.format(0, "sda", sda, 2 * sda) + line.format(16, "sdb", sdb, 2 * sdb)
    )


def test_the_disks_below_a_run_move_everybodys_bytes(tmp_path: Path) -> None:
    put_diskstats(tmp_path, 100, 100)
    below = MovedBytesCounter(Host(str(tmp_path)), ())
    below.note_counters()
    assert below.bytes_moved() is None
    below.leaves = ("sda", "sdb")
    below.note_counters()
    put_diskstats(tmp_path, 150, 101)
    assert below.bytes_moved() == BytesMoved(51 * 512, 102 * 512)
    put_diskstats(tmp_path, 5, 101)
    assert below.bytes_moved() is None  # it was taken out and put in again


@every_case(
    ("name", "value", "written"),
    [
        ("memory.max", "2G", "2G"),
        ("cpu.max", "50%", "50000 100000"),
        ("cpu.max", "150%", "150000 100000"),
        ("cpu.max", "max", "max"),
        ("pids.max", "100", "100"),
    ],
)
def test_a_limit_as_the_kernel_takes_it(name: str, value: str, written: str) -> None:
    assert parse_limit(name, value, "a") == written
    variant = parse_variant(f"a: {name}={value}", "true", "/")
    assert variant.limits == {name: written} and variant.own == {name: value}


def test_a_controller_that_is_not_enabled_is_named(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory\n")
    assert limits_problem(Host(), str(tmp_path), {"memory.max": "1G"}) == ""
    assert "controller io is not enabled" in limits_problem(Host(), str(tmp_path), {"io.max": "8:0 rbps=1"})
    assert (
        limits_problem(Host(), Absent("needs root", "permission"), {"memory.max": "1"})
        == "memory.max: needs root"
    )
    assert limits_problem(Host(), Absent("needs root", "permission"), {}) == ""
    action = group_action("a", "/sys/fs/cgroup", {"memory.max": "1G"})
    assert (
        not action.needs_consent
        and action.parameters == {"memory.max": "1G"}
        and "memory.max=1G" in action.title
    )


def test_what_a_group_counted_between_two_looks(tmp_path: Path) -> None:
    line = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
    (tmp_path / "cpu.pressure").write_text(line.format(1_000_000))
    (tmp_path / "memory.pressure").write_text(line.format(5_000_000))
    (tmp_path / "memory.events").write_text("low 0\nhigh 2\nmax 40\noom 0\noom_kill 0\n")
    refaults = "workingset_refault_anon {}\nworkingset_refault_file {}\n"
    (tmp_path / "memory.stat").write_text(f"anon 4096\npgsteal 10\n{refaults.format(3, 1)}")
    before = group_counters.read_group_counters(str(tmp_path))
    (tmp_path / "cpu.pressure").write_text(line.format(3_500_000))
    full = "full avg10=0.00 avg60=0.00 avg300=0.00 total=500007\n"
    (tmp_path / "memory.pressure").write_text(line.format(6_000_000).splitlines()[0] + f"\n{full}")
    (tmp_path / "memory.events").write_text("low 0\nhigh 3\nmax 50\noom 0\noom_kill 0\n")
    (tmp_path / "memory.stat").write_text(f"anon 4096\npgsteal 10\n{refaults.format(5, 5)}")
    counters_since = group_counters.group_counters_since(
        before, group_counters.read_group_counters(str(tmp_path))
    )
    assert counters_since["cpu_pressure_s"] == 2.5 and counters_since["io_pressure_s"] is None
    assert (
        counters_since["swapped_in_bytes"] == 2 * group_counters._PAGE
        and counters_since["reclaimed_bytes"] == 0
    )
    assert counters_since["memory_pressure_s"] == 1.0 and counters_since["memory_full_s"] == 0.5
    assert (
        counters_since["limit_hits"] == 11 and counters_since["refaulted_bytes"] == 6 * group_counters._PAGE
    )


def test_a_group_without_the_memory_controller_counts_none_of_it(tmp_path: Path) -> None:
    counters_since = group_counters.group_counters_since(
        group_counters.read_group_counters(str(tmp_path)), group_counters.read_group_counters(str(tmp_path))
    )
    assert set(counters_since.values()) == {None} and "limit_hits" in counters_since


@pytest.fixture
def limited_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """hostdx as root in /batch.slice/job, below a quota, memory limits and a cpuset."""
    monkeypatch.setattr(group.os, "geteuid", lambda: 0)
    monkeypatch.setattr(group.os, "access", lambda path, mode: True)
    tree = Tree(tmp_path)
    tree.put("/proc/self/cgroup", "0::/batch.slice/job\n")
    tree.put("/proc/self/mountinfo", "30 1 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    tree.files(
        "/sys/fs/cgroup", **{"cpuset.cpus.effective": "0-3", "cgroup.subtree_control": "cpu memory cpuset"}
    )
    batch = "/sys/fs/cgroup/batch.slice"
    tree.files(batch, **{"cpu.max": "75000 100000", "memory.max": 1 << 30, "memory.high": "max"})
    tree.files(batch, **{"cpuset.cpus.effective": "0-1", "cpuset.mems.effective": "0"})
    tree.files(f"{batch}/job", **{"cpu.max": "100000 50000", "memory.max": "max", "memory.high": 512 << 20})
    return tree.host()


OWN = {
    "cpu.max": "75000 100000",
    "memory.max": str(1 << 30),
    "memory.high": str(512 << 20),
    "cpuset.cpus": "0-1",
    "cpuset.mems": "0",
}


def test_a_variant_has_the_limits_of_the_callers_own_group(limited_host: Host) -> None:
    scenario = CommandUnderVariants()
    values = {"cmd": "true", "variant": ["asis:", "free: cpu.max=max"], "cwd": "/"}
    plan = scenario.prepare(limited_host, OptionMap(values, scenario.options)).plan
    first, second = (action.parameters for action in plan.actions if action.resource == "cgroup")
    assert first == OWN and second == OWN | {"cpu.max": "max"} and not plan.refusal
    limits = limits_to_carry_over(limited_host, "/sys/fs/cgroup")
    assert limits.limits_sentence in plan.sentences and limits.group == "/batch.slice/job"


def test_the_run_makes_the_group_that_the_plan_shows(limited_host: Host) -> None:
    async def make_group(run: FakeRun) -> None:
        async with AsyncExitStack() as stay:
            await _make_group_and_get_path(run, stay, parse_variant("a: memory.max=2G", "true", "/"))

    run = FakeRun(host=limited_host)
    asyncio.run(make_group(run))
    [action] = run.applied
    assert action.parameters == OWN | {"memory.max": "2G"}
