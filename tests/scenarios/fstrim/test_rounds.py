"""Rounds of a trim over days: ageing, planted trends and one run."""

from __future__ import annotations

import errno
import itertools
import json
import math
import os
import random
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.loads.metadata import NewFiles
from hostdx.probes.engine.measured import MeasurementInvalid
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.topology import read_disk_topology
from hostdx.probes.system.disk.trim.discard import discard_chain
from hostdx.probes.system.disk.trim.trim_timer import trim_timer
from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.action import private_directory_action
from hostdx.scenarios.contract.model import OptionMap, RunRefused
from hostdx.scenarios.contract.plan import Plan
from hostdx.scenarios.experiment.treated_trend import treated_trend
from hostdx.scenarios.fstrim.ageing import STEP_BYTES, WORKERS, ChurnBench, least_block_bytes
from hostdx.scenarios.fstrim.findings import idling_finding
from hostdx.scenarios.fstrim.ledger import TrimLedgerKeeper
from hostdx.scenarios.fstrim.measurement.phase import MeasuredPhase, PhaseMeasurer
from hostdx.scenarios.fstrim.measurement.trim import TrimPattern
from hostdx.scenarios.fstrim.plan import load_and_control_workloads, parse_request, trim_action
from hostdx.scenarios.fstrim.results import Round, TrimRoundsResult
from hostdx.scenarios.fstrim.rounds import (
    append_round,
    file_system_id,
    measure_one_round,
    read_trim_rounds,
    round_since,
    rounds_a_day,
    rounds_file,
    trend_of_rounds,
)
from hostdx.scenarios.fstrim.scenario import TrimSession
from hostdx.scenarios.fstrim.trim_setup import TrimSetup
from tests.fakes import FakeClock, FakeRun
from tests.fakes.held import open_private
from tests.fakes.hosts.drive import Drive
from tests.fakes.hosts.tree import Tree
from tests.fakes.noise import Noise, no_noise, replay

ATA = "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda"
GIB = 1 << 30


def test_a_line_cut_short_costs_only_itself(tmp_path: Path) -> None:
    path = rounds_file(str(tmp_path), "x")
    append_round(path, Round(value=1.0))
    with path.open("ab") as file:
        file.write(b'{"value": 2.')
    append_round(path, Round(value=3.0))
    series = read_trim_rounds(path)
    assert [r.value for r in series.rounds] == [1.0, 3.0] and series.bad == 1


def test_a_symlink_in_its_place_is_not_written_through(tmp_path: Path) -> None:
    path = rounds_file(str(tmp_path), "x")
    path.parent.mkdir()
    (tmp_path / "victim").write_text("precious")
    path.symlink_to(tmp_path / "victim")
    with pytest.raises(OSError):
        append_round(path, Round(value=1.0))
    assert (tmp_path / "victim").read_text() == "precious"


class CapturedSetup(TrimSetup):
    """On a captured host: nothing of it is asked but leaves, chain and free space."""

    def __init__(self, tree: Tree, free: int) -> None:
        self.host, self.free, self.chain = tree.host(), free, None
        self.devices, self.placement = (), None

    @property
    def leaf_names(self) -> tuple[str, ...]:
        return ("sda",)

    def read_free_bytes(self) -> int | None:
        return self.free


def put_counters(tree: Tree, boot: str, written: int, discarded: int) -> Tree:
    line = f"   8 0 sda 10 0 80 5 10 0 {written // 512} 5 0 9 10 3 0 {discarded // 512} 0 0 0\n"
    return tree.put("/proc/diskstats", line).put("/proc/sys/kernel/random/boot_id", f"{boot}\n")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def finish(round_: Round, deleted: int | None = GIB) -> Round:
    return msgspec.structs.replace(round_, value=1.0, deleted_bytes=deleted)


def chain_on(tree: Tree, setup: CapturedSetup, source: str, devno: str, options: str = "rw") -> CapturedSetup:
    """The layout with a real chain, of a captured mount."""
    tree.put("/proc/self/mountinfo", f"30 1 {devno} / /data rw - ext4 {source} {options}\n")
    disks = read_disk_topology(host := tree.host())
    assert not isinstance(disks.mounts, Absent)
    setup.chain = discard_chain(host, disks, disks.mounts[0])
    return setup


@pytest.mark.parametrize(
    ("written", "discarded", "free_then", "trim"),
    [
        (3, 3, 100, False),  # what was written was deleted
        (3, 43, 60, False),  # and 40 GiB of what was there before
        (3, 60, 100, True),  # more than deletions explain
    ],
)
def test_with_online_discard_only_what_deletions_do_not_explain(
    tree: Tree, written: int, discarded: int, free_then: int, trim: bool
) -> None:
    tree.disk(ATA, discard_max_bytes=4096)
    setup = chain_on(tree, CapturedSetup(tree, free_then * GIB), "/dev/sda", "8:0", "rw,discard")
    first = finish(round_since(put_counters(tree, "b1", 0, 0).host(), setup, []))
    setup.free = 100 * GIB
    put_counters(tree, "b1", written * GIB, discarded * GIB)
    assert round_since(tree.host(), setup, [first]).trim_before == trim


def test_a_line_of_older_hostdx_is_compared_with_the_leaves(tree: Tree) -> None:
    old = Round(value=1, boot_id="b1", device_written_bytes=GIB, device_discarded_bytes=5 * GIB)
    since = round_since(
        put_counters(tree, "b1", 2 * GIB, 6 * GIB).host(), CapturedSetup(tree, 400 * GIB), [old]
    )
    assert (since.trimmed_bytes, since.trim_before) == (GIB, True)


def test_a_kernel_that_counts_no_discards_leaves_the_timer(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.put("/proc/diskstats", "   8 0 sda 10 0 80 5 10 0 99 5 0 9 10\n")
    first = msgspec.structs.replace(
        finish(round_since(tree.host(), CapturedSetup(tree, GIB), [])), wall="2026-11-01T00:00:00Z"
    )
    assert round_since(tree.host(), CapturedSetup(tree, GIB), [first]).trim_before is False
    fired = datetime(2026, 11, 2, tzinfo=UTC)
    monkeypatch.setattr("hostdx.scenarios.fstrim.rounds.read_last_timer_trim", lambda host: fired)
    since = round_since(tree.host(), CapturedSetup(tree, GIB), [first])
    assert (since.trim_before, since.trim_seen_by, since.trimmed_bytes) == (True, "fstrim.timer", None)


def test_the_bytes_between_rounds_add_up() -> None:
    rounds = [Round(value=100 * 0.98**i, written_bytes=10**9 if i else None) for i in range(12)]
    assert trend_of_rounds(rounds).trend.per_gb == pytest.approx(-0.02, abs=0.002)
    rounds[5] = msgspec.structs.replace(rounds[5], written_bytes=None)
    assert trend_of_rounds(rounds).trend.per_gb is None


def test_how_many_rounds_a_day_there_were() -> None:
    walls = ["2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z", "2026-11-03T00:00:00Z"]
    assert rounds_a_day([Round(value=1, wall=w) for w in walls]) == pytest.approx(1.0)
    assert rounds_a_day([Round(value=1, wall="yesterday")]) is None


def test_the_uuid_names_the_series(tree: Tree) -> None:
    tree.disk(ATA, discard_max_bytes=4096)
    tree.link("/dev/disk/by-uuid/6c1f-22ab", "../../sda")
    setup = chain_on(tree, CapturedSetup(tree, 1), "/dev/sda", "8:0")
    assert file_system_id(tree.host(), setup) == "6c1f-22ab"


async def test_a_round_that_cannot_be_kept_is_judged_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_full(path: Path, round_: Round) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("hostdx.scenarios.fstrim.rounds.append_round", raise_full)
    request = parse_request(OptionMap({"dir": "/data", "round": True, "state": str(tmp_path)}))
    layout = TrimSetup(Host("/nonexistent-captured-tree"), "/data", blocks=8, phases=1)
    run, pattern = FakeRun(), TrimPattern(blocks=8, block_s=0.5, reference_s=0.5)
    drive = Drive(run.clock, no_noise, lambda: 1.0)
    blocks = PhaseMeasurer(
        run, drive, load_and_control_workloads(request, layout, pattern), pattern, 1 << 20, None
    )
    with pytest.raises(
        RunRefused, match="the round cannot be kept: No space left on device; free some space there"
    ):
        await measure_one_round(run, layout, request, blocks, trim_timer(run.host))
    assert [verdict.rounds for verdict in run.of(ev.SeriesVerdict)] == [1]
    assert [len(e.value) for e in run.of(TrimRoundsResult)] == [1]
    assert [e.finding.id for e in run.of(ev.Found)] == ["fstrim.degradation"]


MIB = 1 << 20


def make_turns() -> itertools.cycle[list[memoryview]]:
    return itertools.cycle([[memoryview(b"x" * STEP_BYTES)]])


def test_files_are_new_and_complete(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        files = NewFiles(fd, 7, 4 * STEP_BYTES, STEP_BYTES, make_turns(), False)
        for number in range(10):
            files.write_piece(number)
        files.close_file()
        files.close_file()
    finally:
        os.close(fd)
    sizes = sorted(path.stat().st_size for path in tmp_path.iterdir())
    assert sizes == [2 * STEP_BYTES, 4 * STEP_BYTES, 4 * STEP_BYTES]


def test_two_blocks_never_write_into_the_same_file(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for mark in (1, 2):
            files = NewFiles(fd, mark, STEP_BYTES, STEP_BYTES, make_turns(), False)
            files.write_piece(0)
            files.close_file()
    finally:
        os.close(fd)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.fixture
def bench_directory(tmp_path: Path) -> Path:
    return tmp_path


async def test_a_block_ends_with_its_bytes_and_leaves_files(bench_directory: Path) -> None:
    budget = WriteBudget(64 * MIB)
    bench = ChurnBench(Host(), open_private(bench_directory), (), 1, budget)
    try:
        measured = await bench.measure_block(5.0, 4 * MIB)
        assert measured.bytes == 4 * MIB and measured.values["MB/s"] > 0
        entries = list(bench_directory.iterdir())
        assert sum(path.stat().st_size for path in entries) == 4 * MIB and len(entries) == WORKERS
        second = await bench.measure_block(5.0, 4 * MIB)
        assert second.bytes == 4 * MIB
        assert sum(path.stat().st_size for path in bench_directory.iterdir()) == 8 * MIB
        assert budget.spent_bytes == 8 * MIB
        assert await bench.delete() == 8 * MIB
        await bench.sync_until_free()
        assert list(bench_directory.iterdir()) == []
    finally:
        await bench.close()
        await bench.close()


async def test_a_spent_budget_writes_nothing_more(bench_directory: Path) -> None:
    bench = ChurnBench(Host(), open_private(bench_directory), (), 1, WriteBudget(least_block_bytes() - 1))
    try:
        with pytest.raises(MeasurementInvalid, match="write limit is reached"):
            await bench.measure_block(1.0, MIB)
        assert list(bench_directory.iterdir()) == []
    finally:
        await bench.close()


def test_deleting_takes_folders_and_spares_what_links_point_to(tmp_path: Path) -> None:
    folder, other = tmp_path / "own", tmp_path / "other"
    (folder / "deep" / "er").mkdir(parents=True)
    other.mkdir()
    (other / "precious").write_text("x")
    (folder / "deep" / "er" / "f").write_bytes(b"12345")
    (folder / "link").symlink_to(other)
    (folder / "deep" / "file-link").symlink_to(other / "precious")
    assert sum(open_private(folder).delete_contents()) >= 5
    assert (other / "precious").read_text() == "x"
    assert list(folder.iterdir()) == []


NOISE = Path(__file__).parents[2] / "fixtures" / "noise"
QUIET_HOST, BUSY_HOST = "fsync4k-qd1.json", "randread4k-qd1-2.json"
PATTERN = TrimPattern(blocks=8, block_s=0.5, reference_s=0.5)
LOSS, ROUNDS, TRIM_AT = 0.02, 24, 12


def replay_any(name: str, seed: int) -> Noise:
    """The recorded series from a random place on."""
    values = json.loads((NOISE / name).read_text())
    start = random.Random(seed).randrange(len(values))
    return replay(values[start:] + values[:start])


def layout() -> TrimSetup:
    """Of no real place: nothing here reads or writes a disk."""
    return TrimSetup(Host("/nonexistent-captured-tree"), "/data", blocks=8, phases=3)


async def planted_session(seed: int, name: str, loss: float, no_trim: str = "") -> FakeRun:
    """A whole session on a drive that lost its speed before and gets it back by the trim."""
    run = FakeRun(seed=seed, clock=FakeClock())
    setup = layout()
    request = parse_request(OptionMap({"dir": "/data"}))
    plan = Plan(
        scenario="fstrim",
        title="",
        question="",
        workloads=load_and_control_workloads(request, setup, PATTERN),
        actions=(private_directory_action("/data"), trim_action(setup), trim_action(setup)),
    )
    drive = Drive(run.clock, replay_any(name, seed), lambda: 1.0 if run.applied else 1.0 - loss)
    blocks = PhaseMeasurer(run, drive, plan.workloads, PATTERN, 1 << 20, None)
    ledger = TrimLedgerKeeper(run, setup, "6.1.0")
    setup.no_trim, setup.to_trim = no_trim, "run it with sudo" if no_trim else ""
    await TrimSession(run, plan, setup, PATTERN, blocks, ledger, trim_timer(run.host)).run_phases()
    return run


def only_verdict(run: FakeRun) -> ev.RunVerdict:
    return next(v for v in run.of(ev.RunVerdict) if not v.control)


@pytest.mark.parametrize("name", [QUIET_HOST, BUSY_HOST])
async def test_a_session_without_a_plant_calls_hardly_anything(name: str) -> None:
    runs = [await planted_session(seed, name, 0.0) for seed in range(20)]
    assert sum(only_verdict(run).verdict in ("slower", "faster") for run in runs) <= 3


async def test_without_the_trim_the_blocks_still_run_and_what_idling_did_is_told() -> None:
    run = await planted_session(1, QUIET_HOST, 0.2, no_trim="the trim needs root: it is left out")
    assert only_verdict(run).verdict == "not applicable" and not run.applied
    assert {b.variant for b in run.of(ev.Block)} == {"before", "idle"}
    [finding] = [e.finding for e in run.of(ev.Found)]
    assert finding.id == "fstrim.untrimmed" and len(finding.evidence) == 3
    assert [e.source for e in finding.evidence[1:]] == ["new files", "reads of an untouched file"]
    assert len(finding.remedy) == 2 and "--round" in finding.remedy[1].commands[0]


def test_a_phase_without_a_block_breaks_nothing() -> None:
    none = MeasuredPhase("before", [], [], 0.0, 0, "the command fails")
    finding = idling_finding(layout(), none, none, ["the command fails"])
    assert [e.source for e in finding.evidence][1:] == ["doubt"]


def make_rounds(n: int, loss: float, trims: set[int]) -> tuple[list[float], list[float], list[bool]]:
    """Without noise but for a hundredth of a percent, so that the fit has something to divide by."""
    values, worn = [], 0
    for i in range(n):
        worn = 0 if i in trims else worn
        values.append(100 * math.exp(math.log1p(-loss) * worn + 1e-4 * math.sin(7 * i)))
        worn += 1
    return values, [1.0] * n, [i in trims for i in range(n)]


def test_a_trim_before_every_round_leaves_the_plain_trend() -> None:
    trend = treated_trend(*make_rounds(8, 0.0, set(range(1, 8))))
    assert trend.jumps == () and trend.trend.rounds == 8
