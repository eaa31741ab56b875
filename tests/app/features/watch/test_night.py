"""Nights of a host and of a fleet."""

import errno
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hostdx.app import locks
from hostdx.app.features.watch import fleet_nights as module
from hostdx.app.features.watch import night as nights
from hostdx.app.features.watch.battery import NightSettings
from hostdx.app.features.watch.fleet_nights import read_fleet_nights
from hostdx.app.features.watch.nights import NightsFolder
from hostdx.app.features.watch.openmetrics import openmetrics_text
from hostdx.app.recordings import baselines
from hostdx.app.state import state_dir
from hostdx.app.terminal.failure import Failure
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract import events as ev
from tests.app.features.fleet.test_reading import write_run
from tests.fakes.streams.small_recordings import record_small

pytestmark = pytest.mark.usefixtures("own_state")


START = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
MONTH = 29  # nights


class Clocked:
    """A host whose clock is set by hand and whose battery gives a rate; `cut`: the runner is killed in the middle."""

    def __init__(self, tmp_path: Path) -> None:
        self.tmp = tmp_path
        self.now = START
        self.rate = 1000.0
        self.rates: list[float] = []  # taken first
        self.cut = self.full = False
        self.busy = ""

    def measure(self, recording: Path, blocked: str) -> ev.RunEnded:
        if self.full:
            raise Failure(f"{recording}: cannot record there: no space left on device")
        source = record_small(self.tmp, "now", self.rates.pop(0) if self.rates else self.rate)
        lines = [msgspec.json.decode(line) for line in source.read_bytes().splitlines()]
        lines[0]["wall"] = f"{self.now:%Y-%m-%dT%H:%M:%SZ}"
        ended: dict[str, Any] = {"type": "end", "t": 2.0, "status": "done"}
        if blocked:
            ended |= {"status": "skipped", "reason": blocked}
            lines = lines[:1]
        lines = [line for line in lines if line["type"] != "end"] + ([] if self.cut else [ended])
        recording.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        return ev.RunEnded(t=2.0, status=ended["status"], reason=ended.get("reason"))

    def night(self, keep: int = 100, textfile: str = "") -> nights.NightOutcome:
        return nights.measure_night(
            NightSettings(keep=keep, textfile=textfile), self.measure, lambda text: None,
            why_busy=lambda: self.busy, now=lambda: self.now,
        )  # fmt: skip

    def nights(self, count: int, **changes: Any) -> nights.NightOutcome:
        for _ in range(count):
            night = self.night(**changes)
            self.now += timedelta(days=1)
        return night


@pytest.fixture
def host(tmp_path: Path) -> Clocked:
    return Clocked(tmp_path)


@pytest.fixture(scope="module")
def measured_month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state directory after `MONTH` nights."""
    place = tmp_path_factory.mktemp("month")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(place / "state"))
        patch.setenv("XDG_RUNTIME_DIR", str(place / "run"))
        for name in ("state", "run"):
            (place / name).mkdir(mode=0o700)
        Clocked(place).nights(MONTH)
    return place / "state"


@pytest.fixture
def later_host(host: Clocked, measured_month: Path) -> Clocked:
    shutil.copytree(measured_month, os.environ["XDG_STATE_HOME"], dirs_exist_ok=True)
    host.now += timedelta(days=MONTH)
    return host


def test_a_second_time_in_the_same_night_measures_nothing(host: Clocked) -> None:
    host.night()
    host.now += timedelta(hours=1)
    assert host.night().skipped and len(NightsFolder(nights.nights_folder()).recording_paths) == 1


@pytest.mark.parametrize("by", [timedelta(days=-40), timedelta(days=400), timedelta(days=-1)])
def test_a_clock_that_was_moved_loses_no_night_and_no_order(host: Clocked, by: timedelta) -> None:
    host.nights(2)
    host.now += by
    if by == timedelta(days=-1):
        host.now -= timedelta(hours=12)
    host.rate = 900.0
    tonight = host.nights(2)
    assert tonight.history.measured_count == 4
    assert [round(value, -2) for _, value in tonight.history.loads[0].values] == [1000, 1000, 900, 900]


def test_a_busy_night_is_recorded_as_skipped_and_the_next_one_runs(host: Clocked) -> None:
    host.busy = "others"
    assert host.nights(1).skipped == "others"
    host.busy = ""
    history = host.nights(1).history
    assert [night.state for night in history.nights] == ["skipped", "measured"]


def test_a_full_disk_costs_that_night_only(host: Clocked, monkeypatch: pytest.MonkeyPatch) -> None:
    host.nights(1)
    host.full = True
    with pytest.raises(Failure):
        host.night()
    host.full = False

    def no_room(self: NightsFolder) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    host.now += timedelta(days=1)
    with monkeypatch.context() as patched:
        patched.setattr(NightsFolder, "write_index", no_room)
        host.nights(1)
    assert host.nights(1).history.measured_count == 3


def test_another_night_under_way_is_not_disturbed(host: Clocked, monkeypatch: pytest.MonkeyPatch) -> None:
    inner: list[type[BaseException]] = []
    measure = host.measure

    def measure_twice(recording: Path, blocked: str) -> ev.RunEnded:
        host.measure = measure  # type: ignore[method-assign]
        try:
            host.night()
        except Failure as failure:
            inner.append(type(failure))
        return measure(recording, blocked)

    host.measure = measure_twice  # type: ignore[method-assign]
    assert host.night().history.measured_count == 1 and len(inner) == 1


def test_a_low_night_is_measured_once_more(later_host: Clocked) -> None:
    later_host.rates = [700.0, 1000.0]
    tonight = later_host.nights(1)
    assert len(tonight.recordings) == 2 and tonight.history.nights[-1].runs == 2
    assert not tonight.history.loads[0].slow
    later_host.rate = 900.0
    assert later_host.nights(4).history.lasting_slowdowns


def test_the_oldest_nights_go_and_the_baseline_stays(later_host: Clocked) -> None:
    tonight = later_host.nights(21, keep=10)
    assert tonight.history.measured_count == 38 and tonight.history.baselines == 1
    assert len(NightsFolder(nights.nights_folder()).recording_paths) == 38


def test_a_damaged_recording_is_said_and_left_out(host: Clocked) -> None:
    host.nights(3)
    NightsFolder(nights.nights_folder()).recording_paths[1].write_bytes(b"\xff\n{")
    nights_there = NightsFolder(nights.nights_folder())
    assert nights_there.read_history().measured_count == 2 and len(nights_there.troubles) == 1


def test_its_baseline_is_a_baseline_as_any_other(later_host: Clocked, tmp_path: Path) -> None:
    later_host.nights(6)
    assert len(baselines.baseline_recordings(baselines.WATCH)) == 28
    assert [baseline.name for baseline in baselines.list_baselines()] == [baselines.WATCH]
    assert baselines.compare_since(baselines.WATCH, record_small(tmp_path, "later", 800.0)).a.runs == 28
    with pytest.raises(Failure):
        baselines.add_to_baseline(baselines.WATCH, [record_small(tmp_path, "mine", 1.0)])


def test_open_metrics_are_written_in_one_step(later_host: Clocked, tmp_path: Path) -> None:
    target = tmp_path / "hostdx.prom"
    tonight = later_host.nights(1, textfile=str(target))
    written = target.read_text()
    assert written == openmetrics_text(tonight.history, "done") and written.endswith("# EOF\n")
    samples = dict(line.rsplit(" ", 1) for line in written.splitlines() if not line.startswith("#"))
    assert float(samples["hostdx_watch_nights"]) == 30 and float(samples["hostdx_watch_slower_loads"]) == 0
    assert samples['hostdx_watch_last_night{state="done"}'] == "1"
    assert len([name for name in samples if name.startswith("hostdx_watch_load_ratio{")]) == 1
    assert target.stat().st_mode & 0o777 == 0o644 and not list(tmp_path.glob(".*new"))
    with pytest.raises(Failure):
        nights.write_openmetrics(tonight.history, tmp_path / "none" / "hostdx.prom")


@pytest.mark.parametrize(
    ("files", "busy"),
    [
        (
            {"pressure/cpu": "some avg10=0 avg60=0 avg300=1.00 total=1\n", "loadavg": "99 99 99 1/1 1\n"},
            False,
        ),
        ({"pressure/cpu": "some avg10=0 avg60=0 avg300=60.00 total=1\n"}, True),
        ({"pressure/io": "some avg10=0 avg60=0 avg300=30.00 total=1\n"}, True),
        ({"loadavg": "0.01 9999 0.01 1/1 1\n"}, True),
        ({"loadavg": "9999 0.01 0.01 1/1 1\n"}, False),
        ({}, False),
    ],
)
def test_a_night_is_not_for_a_busy_host(tmp_path: Path, files: dict[str, str], busy: bool) -> None:
    for name, words in files.items():
        path = tmp_path / "root/proc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words)
    (tmp_path / "root").mkdir(exist_ok=True)
    assert bool(nights.busy_reason(Host(tmp_path / "root"))) == busy


def test_a_run_under_way_is_not_disturbed_and_the_next_night_runs(host: Clocked) -> None:
    lock = locks.lock_measuring("storage", "02:29:00 UTC", lambda text: None)
    try:
        measure = nights.make_night_measure(
            NightSettings(), ["hostdx", "watch", "--night"], lambda event: None, lambda text: None
        )
        night = nights.measure_night(
            NightSettings(), measure, lambda text: None, why_busy=lambda: "", now=lambda: host.now
        )
    finally:
        lock.release_lock()
    assert night.skipped and night.history.measured_count == 0
    host.now += timedelta(days=1)
    assert host.nights(1).history.measured_count == 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for host in ("n1", "n2"):
        for night in range(3):
            write_run(tmp_path / f"fleet/{host}/{night}.jsonl", host, 1.0 + night / 10, {})
    (tmp_path / "fleet/answers.jsonl").write_text("{}\n")  # of a fleet run
    return tmp_path / "fleet"


def read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[module.FleetNights, list[str]]:
    names: list[str] = []
    take_of = module.read_run_summary

    def read_and_note(path: Path, name: str, *, spread: bool) -> object:
        names.append(name)
        return take_of(path, name, spread=spread)

    with monkeypatch.context() as patched:
        patched.setattr(module, "read_run_summary", read_and_note)
        return read_fleet_nights(str(folder)), sorted(names)


def test_what_cannot_be_read_is_counted_with_the_first_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "n1/7.jsonl").write_text("nonsense\n")
    (folder / "n1/8.jsonl").write_text("")
    fleet, _ = read(folder, monkeypatch)
    assert (
        "2 of 8 recordings" in fleet.trouble and "7.jsonl" in fleet.trouble and "8.jsonl" not in fleet.trouble
    )
    assert len(fleet.trouble.splitlines()) == 1 and len(fleet.others["n1"]) == 3
    assert read(folder, monkeypatch) == (fleet, []), "said again, not read again"


@pytest.mark.parametrize(
    "damage", [b"", b"nonsense", b"\x82\xa4keys\x90\xa7entries\x81\xa1x\x96\x01\x01\xa0\xa0\x91\x07\x91\x01"]
)
def test_a_damaged_index_is_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes) -> None:
    fleet, _ = read(folder, monkeypatch)
    (entry,) = (state_dir() / "fleet-nights").iterdir()
    entry.write_bytes(damage)
    reread, names = read(folder, monkeypatch)
    assert reread == fleet and len(names) == 6
