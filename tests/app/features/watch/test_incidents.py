"""The incident book: what is kept of a kill, a full disk, a moved clock; when it looks closely; what it answers."""

import os
import time
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from hostdx.app.features.watch.incidents import book as book_module
from hostdx.app.features.watch.incidents.answer import choose_incidents, judge_book
from hostdx.app.features.watch.incidents.book import BookWriter, book_segments, read_book, read_looks
from hostdx.app.features.watch.incidents.recorder import (
    CLOSE_S,
    LOOK_S,
    REST_S,
    SHORT_REST_S,
    IncidentRecorder,
    PressureTriggers,
)
from hostdx.app.features.watch.incidents.summaries import FILE_NAME, read_summaries, summarise_hours
from hostdx.probes.system.running.host_looks import BlockedTasksLook, HostLook, LookState, ProcessUse
from hostdx.scenarios.analysis.incidents.hours import HOUR_S, HourSummary
from tests.app.launcher import run_hostdx, start_hostdx
from tests.every_case import every_case
from tests.fakes.looks import STEP_S, make_close_look, make_looks
from tests.needs import ROOT, needs, program
from tests.real.loop_disk import LoopDisk


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That of the commands that are run in `tmp_path`."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "hostdx" / "incidents"


def write(folder: Path, looks: list[HostLook | BlockedTasksLook], **options: int) -> BookWriter:
    writer = BookWriter(folder, **options)
    for look in looks:
        writer.append(look)
    writer.close()
    return writer


def is_busy(number: int) -> bool:
    return 100 <= number < 130


def test_cause_culprit_user_and_victims_are_those_that_were_planted(folder: Path) -> None:
    write(folder, [*make_looks(400, is_busy), *(make_close_look(100 + n) for n in range(10))])
    answer = judge_book(read_book(folder), folder)
    ((incident, finding),) = choose_incidents(answer)
    assert incident.cause == "disk"
    assert (
        abs(incident.began_s - 99 * STEP_S) <= 2 * STEP_S
        and abs(incident.ended_s - 129 * STEP_S) <= 2 * STEP_S
    )
    assert incident.culprit is not None and incident.culprit.name == "rsync" and incident.culprit.share > 0.9
    assert all(row.source == str(folder) for row in finding.evidence)
    assert len(finding.evidence) == len(incident.symptoms) + 3, "the culprit, its process, the victim"


def test_incidents_are_chosen_by_time(folder: Path) -> None:
    write(folder, make_looks(3000, lambda n: is_busy(n) or 2000 <= n < 2020))
    answer = judge_book(read_book(folder), folder)
    assert len(choose_incidents(answer)) == 2
    assert [i.began_s for i, _ in choose_incidents(answer, worst=True)] == [990.0]
    assert [i.began_s for i, _ in choose_incidents(answer, since_s=11_000)] == [19990.0]
    times = answer.timeline.times if answer.timeline is not None else None
    assert times is not None
    hour, minute = (int(part) for part in times.first[11:16].split(":"))
    inside = (hour * 60 + minute + 1100 // 60) % 1440
    assert [
        i.began_s for i, _ in choose_incidents(answer, minute=f"{inside // 60:02d}:{inside % 60:02d}")
    ] == [990.0]
    outside = (inside + 60) % 1440
    assert choose_incidents(answer, minute=f"{outside // 60:02d}:{outside % 60:02d}") == []


def test_hours_outlive_the_looks_and_are_summarised_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hour under way is not: its rest is still to come."""
    looks = make_looks(1400, lambda number: 400 <= number < 700)
    writer = BookWriter(folder, after_segment=summarise_hours)
    for look in looks:
        monkeypatch.setattr(time, "time_ns", lambda look=look: int(look.wall_s * 1e9))
        writer.append(look)
    writer.close()
    summarise_hours(folder)
    hours = read_summaries(folder)
    numbers = [hour.hour_s for hour in hours]
    assert numbers == sorted(set(numbers)) and all(number % HOUR_S == 0 for number in numbers)
    last_s = max(look.wall_s for path in book_segments(folder)[:-1] for look in read_looks(path) if look)
    by_hour = Counter(int(look.wall_s // HOUR_S) * HOUR_S for look in looks)
    assert {hour.hour_s: hour.samples for hour in hours} == {
        hour_s: count for hour_s, count in by_hour.items() if hour_s + HOUR_S <= last_s + STEP_S
    }
    high = [hour.high.get("disk:sda", {}).get("utilisation", 0.0) for hour in hours]
    assert max(high) > 0.9 > min(high)
    (folder / FILE_NAME).write_bytes(b"[[\n" + (folder / FILE_NAME).read_bytes()[:-30])
    assert read_summaries(folder) == hours[:-1], "a kill in the midst of a line, and rubbish"


@pytest.mark.parametrize(
    "high_days, days, is_usual", [(5, 5, True), (4, 5, True), (2, 5, False), (0, 5, False), (2, 2, False)]
)
def test_what_happens_at_that_hour_anyway_is_no_warning(
    folder: Path, high_days: int, days: int, is_usual: bool
) -> None:
    """Of days of the other kind, and of other hours, nothing is counted: there it was always as high."""
    write(folder, make_looks(400, is_busy))
    book = read_book(folder)
    timeline = judge_book(book, folder).timeline
    assert timeline is not None
    first = timeline.incidents[0].symptoms[0]
    began = datetime.fromtimestamp(book.looks[0].wall_s + timeline.incidents[0].began_s)
    high = {first.subject: {first.metric: first.level}}
    before = [began - timedelta(days=back) for back in range(1, 40)]
    alike = [day for day in before if (day.weekday() >= 5) == (began.weekday() >= 5)]
    hours = [
        HourSummary(hour_s=_hour_of(day), samples=360, high=high if number < high_days else {})
        for number, day in enumerate(alike[:days])
    ]
    other = [day for day in before if day not in alike] + [day + timedelta(hours=6) for day in alike]
    hours += [HourSummary(hour_s=_hour_of(day), samples=360, high=high) for day in other]
    assert (judge_book(book, folder, hours).findings[0].severity == "ok") == is_usual


def _hour_of(day: datetime) -> int:
    return int(day.replace(minute=0, second=0, microsecond=0).timestamp())


def test_many_nodes_answers_are_judged_together(folder: Path, tmp_path: Path) -> None:
    """As any launcher leaves them: `hostdx incident --format json` of each node in one folder."""
    write(folder, make_looks(400, is_busy))
    done = run_hostdx(tmp_path, "incident", "--format", "json")
    assert done.returncode == 0
    answer = msgspec.json.decode(done.stdout.encode())
    answers = tmp_path / "answers"
    answers.mkdir()
    for number in range(4):
        (answers / f"{number}.json").write_bytes(msgspec.json.encode(answer | {"host": f"n{number}"}))
    (answers / "other.json").write_text('{"schema": 1}')
    done = run_hostdx(tmp_path, "fleet", "judge", str(answers), "--json")
    assert done.returncode == 0
    document = msgspec.json.decode(done.stdout.encode())
    (incident,) = document["shared"]
    assert (
        document["nodes"] == 4
        and incident["nodes"] == ["n0", "n1", "n2", "n3"]
        and incident["culprit"] == "rsync"
    )
    assert document["alone"] == {} and len(document["findings"]) == 1


def test_a_killed_writer_leaves_one_line_that_is_left_out(folder: Path) -> None:
    looks = make_looks(60)
    write(folder, list(looks[:30]))
    (path,) = book_segments(folder)
    path.write_bytes(path.read_bytes()[:-50])
    write(folder, list(looks[30:]))
    book = read_book(folder)
    assert len(book.looks) == 59 and book.unreadable == 1


def test_rubbish_in_the_folder_is_counted_and_harmless(folder: Path) -> None:
    write(folder, list(make_looks(30)))
    (folder / "looks-9-a-1.jsonl").write_bytes(
        b'{"type":"look"}\n\xff\xfe\n[[[[\n{"type":"close","wall_s":1e999}\n'
    )
    (folder / "looks-9-a-2.jsonl").mkdir()
    (folder / "other").write_text("x")
    (folder / "looks-9.jsonl").write_text("{}")
    book = read_book(folder)
    assert len(book.looks) == 30 and book.unreadable == 5


def test_a_clock_that_was_set_moves_no_look(folder: Path) -> None:
    looks = make_looks(500)
    earlier = [msgspec.structs.replace(look, wall_s=look.wall_s - 7200) for look in looks[:420]]
    write(folder, [*earlier, *looks[420:]])
    assert len(book_segments(folder)) == 2
    times = [look.wall_s for look in read_book(folder).looks]
    assert times == pytest.approx([look.wall_s for look in looks])


def test_a_reboot_begins_again_and_the_time_between_is_no_incident(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second boot's clock starts at nothing; it was set two hours wrong at first, as after an empty battery."""
    looks = make_looks(420, is_busy)
    later_samples = [
        msgspec.structs.replace(look, boot_s=20.0 + n * STEP_S, wall_s=look.wall_s - (7200 if n < 50 else 0))
        for n, look in enumerate(looks[220:])
    ]
    monkeypatch.setattr(book_module, "_short_boot_id", lambda: "aaaaaaaa")
    write(folder, list(looks[:150]))
    monkeypatch.setattr(book_module, "_short_boot_id", lambda: "bbbbbbbb")
    write(folder, list(later_samples))
    book = read_book(folder)
    expected = [look.wall_s for look in looks[:150] + looks[220:]]
    assert [look.wall_s for look in book.looks] == pytest.approx(expected)
    ((incident, _),) = choose_incidents(judge_book(book, folder))
    assert (incident.began_s, incident.ended_s) == (99 * STEP_S, 129 * STEP_S)


@needs(ROOT, program("mkfs.ext4"))
@pytest.mark.real
def test_a_full_disk_loses_looks_and_the_recorder_goes_on_when_there_is_room(tmp_path: Path) -> None:
    looks = make_looks(600)
    with LoopDisk(tmp_path, size="16M") as disk:
        folder = disk.directory / "incidents"
        writer = BookWriter(folder)
        for look in looks[:200]:
            writer.append(look)
        filling = disk.directory / "filling"
        with filling.open("wb") as file, pytest.raises(OSError, match="No space"):
            while True:
                os.write(file.fileno(), bytes(4096))
        for look in looks[200:400]:
            writer.append(look)
        lost_looks = writer.lost
        full, files = read_book(folder), book_segments(folder)
        filling.unlink()
        for look in looks[400:]:
            writer.append(look)
        writer.close()
        book = read_book(folder)
    assert 100 < lost_looks < 200, "what is left of the last block holds some looks"
    assert len(full.looks) == 400 - lost_looks and len(files) <= 2, "no new file for each lost look"
    assert writer.lost == lost_looks and len(book.looks) == 600 - lost_looks and book.unreadable == 0
    assert [look.boot_s for look in book.looks[-200:]] == [look.boot_s for look in looks[400:]]


def test_the_oldest_hours_go_where_the_book_is_full(folder: Path) -> None:
    looks = make_looks(3600)
    size = len(msgspec.json.encode(looks[0])) * 1200
    write(folder, list(looks), max_bytes=size)
    book = read_book(folder)
    assert sum(path.stat().st_size for path in book_segments(folder)) <= size * 1.35
    assert book.looks[-1] == looks[-1] and 700 < len(book.looks) < 1600


def test_a_full_disk_loses_looks_and_not_the_book(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = make_looks(90)
    writer = BookWriter(folder)
    write_all = os.write
    for number, look in enumerate(looks):
        short = 30 <= number < 60
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", lambda fd, data, n=50 if short else 1 << 20: write_all(fd, data[:n]))
            writer.append(look)
    writer.close()
    book = read_book(folder)
    assert writer.lost == 30 and book.unreadable == 0 and len(book_segments(folder)) == 1
    assert [look.boot_s for look in book.looks] == [look.boot_s for look in looks[:30] + looks[60:]]


class WaitingClock:
    """Time passes where somebody waits. `pressure`: when a trigger fires."""

    def __init__(self, pressure: tuple[float, ...] = ()) -> None:
        self.now_s = 0.0
        self.pressure = list(pressure)

    def wait(self, seconds: float) -> bool:
        until_s = self.now_s + seconds
        if self.pressure and self.pressure[0] < until_s:
            self.now_s = max(self.now_s, self.pressure.pop(0))
            return True
        self.now_s = until_s
        return False

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Kept(BookWriter):
    def __init__(self) -> None:
        self.looks: list[HostLook | BlockedTasksLook] = []

    def append(self, look: HostLook | BlockedTasksLook) -> None:
        self.looks.append(look)


def record(clock: WaitingClock, looks: list[HostLook]) -> tuple[list[float], list[float]]:
    """Return when it looked, and when closely."""
    book, remaining = Kept(), iter(looks)
    at: dict[str, list[float]] = {"look": [], "close": []}
    state = LookState(0.0, 0.0, None, {}, {}, None, None, None, None)  # type: ignore[arg-type]

    def compare(before: LookState, after: LookState) -> HostLook:
        at["look"].append(clock.now_s)
        return next(remaining)

    def close() -> BlockedTasksLook:
        at["close"].append(clock.now_s)
        return make_close_look(0)

    recorder = IncidentRecorder(
        book,
        clock.wait,
        sleep=clock.sleep,
        clock=lambda: clock.now_s,
        read=lambda: state,
        compare=compare,
        look=close,
    )
    recorder.record(len(looks))
    assert len(book.looks) == len(at["look"]) + len(at["close"])
    return at["look"], at["close"]


def test_a_crossed_limit_starts_half_a_minute_of_close_looks_and_looks_go_on() -> None:
    looks, close = record(WaitingClock(), make_looks(60, lambda n: n >= 10))
    assert looks == pytest.approx([LOOK_S * n for n in range(1, 61)])
    first = [at for at in close if at < 110 + CLOSE_S]
    assert first[0] == 110 and len(first) == CLOSE_S / 0.25
    second = next(at for at in close if at > first[-1])
    assert second >= first[-1] + REST_S - 1, "close looks rest for five minutes"


def test_after_a_quiet_look_the_next_alarm_waits_a_minute_only() -> None:
    _, close = record(WaitingClock(), make_looks(60, lambda n: n in (10, 20)))
    assert close[0] == 110
    second = next(at for at in close if at > 110 + CLOSE_S)
    assert second == 210 >= 110 + CLOSE_S + SHORT_REST_S


def test_pressure_ends_the_wait_and_is_not_asked_in_a_circle() -> None:
    clock = WaitingClock(pressure=tuple(3.0 + n / 100 for n in range(5000)))
    looks, close = record(clock, make_looks(40))
    assert close[0] == 3.0 and len(looks) == 40
    assert looks == pytest.approx([LOOK_S * n for n in range(1, 41)])
    assert len(close) <= 400 / (CLOSE_S + SHORT_REST_S) * CLOSE_S / 0.25 + 120


def test_without_pressure_files_the_wait_is_a_wait(tmp_path: Path) -> None:
    triggers = PressureTriggers(tmp_path)
    assert triggers.wait(0.01) is False
    triggers.close()


@every_case("arguments", [["--at", "25:00"], ["--since", "soon"], ["--since", "0m"]])
def test_wrong_times_are_refused(tmp_path: Path, arguments: list[str]) -> None:
    assert run_hostdx(tmp_path, "incident", *arguments).returncode == 2


def test_a_killed_recorder_leaves_a_readable_book(tmp_path: Path, folder: Path) -> None:
    recorder = start_hostdx(tmp_path, "watch", "--incidents")
    try:
        assert recorder.stderr is not None and recorder.stderr.readline(), "it has begun"
        second = run_hostdx(tmp_path, "watch", "--incidents")
        assert second.returncode != 0, "a second recorder would write everything twice"
    finally:
        recorder.kill()
        recorder.communicate(timeout=20)
    assert read_book(folder).unreadable == 0


@every_case("share, is_culprit", [(0.1, False), (0.4, True)])
def test_who_writes_to_another_disk_is_not_named_for_the_slow_one(
    tmp_path: Path, share: float, is_culprit: bool
) -> None:
    """`rsync` writes 80 MB/s; the slow disk moved this share of it."""
    looks = []
    for look in make_looks(400, is_busy):
        disk = look.values["disk:sda"]
        slow = disk | {"write rate": disk["write rate"] * share}
        looks.append(msgspec.structs.replace(look, values=look.values | {"disk:sda": slow}))
    book = tmp_path / f"{is_culprit}"
    write(book, list(looks))
    ((incident, _),) = choose_incidents(judge_book(read_book(book), book))
    assert incident.cause == "disk" and (incident.culprit is not None) == is_culprit
    suspect = None if incident.suspect is None else (incident.suspect.name, incident.suspect.reason)
    assert suspect == (None if is_culprit else ("rsync", "other-disks")), "it is said why he is not named"


def test_who_waits_for_pages_is_named_where_memory_is_short_and_not_who_writes_most(folder: Path) -> None:
    looks = []
    for number, look in enumerate(make_looks(400)):
        short = is_busy(number)
        values = look.values | {"host": look.values["host"] | {"pages swapped in": 2000.0 if short else 0.0}}
        writer = ProcessUse("rsync", 4711, "backup", "/", 0.1, 80e6 if short else 0.0)
        pager = ProcessUse(
            "reindex", 4712, "db", "/jobs", 0.1, 4e6 if short else 0.0, 1900.0 if short else 0.0
        )
        total = (1.2, writer.io_rate + pager.io_rate, pager.major_faults + 5)
        looks.append(msgspec.structs.replace(look, values=values, total=total, processes=(writer, pager)))
    write(folder, looks)
    ((incident, finding),) = choose_incidents(judge_book(read_book(folder), folder))
    assert incident.cause == "memory" and incident.culprit is not None
    assert (incident.culprit.name, incident.culprit.metric) == ("reindex", "major faults")
    assert len(finding.evidence) == len(incident.symptoms) + 2, "the culprit and its process"
