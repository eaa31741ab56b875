"""Perf records and what is folded of them, on made-up rings."""

import os
import random
import struct

import pytest

from hostdx.probes.profile.call_profile import KERNEL, OFF, ON, RUNNABLE, CallChainFold, ProcessMaps
from hostdx.probes.profile.perf_records import (
    ExitRecord,
    ForkRecord,
    LostRecord,
    MappingRecord,
    ProgramStartRecord,
    Record,
    SampleRecord,
    count_samples_and_last_ns,
    parse_records,
)
from hostdx.probes.profile.perf_ring import PerfRing, ring_window
from hostdx.probes.profile.takings import RecordWindow, RingReader, SampledWindowReader
from tests.every_case import every_case

TAIL = struct.Struct("=IIQ")


def record(kind: int, misc: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 8)
    return struct.pack("=IHH", kind, misc, 8 + len(body)) + body


def sample(pid: int, tid: int, at: int, *chain: int, data: bytes = b"") -> bytes:
    body = struct.pack(f"=IIQQ{len(chain)}Q", pid, tid, at, len(chain), *chain)
    return record(9, 2, body + (struct.pack("=I", len(data)) + data if data else b""))


def mapping_record(
    pid: int, at: int, start: int, length: int, offset: int, path: bytes, protection: int = 5
) -> bytes:
    body = (
        struct.pack("=IIQQQ", pid, pid, start, length, offset) + bytes(24) + struct.pack("=II", protection, 2)
    )
    return record(10, 0, body + path + bytes(8 - len(path) % 8) + TAIL.pack(pid, pid, at))


def test_each_record_is_read_as_what_it_is() -> None:
    ring = b"".join(
        (
            mapping_record(5, 1, 0x1000, 0x2000, 0x40, b"/usr/lib/libfoo.so"),
            mapping_record(5, 1, 0x9000, 0x2000, 0x40, b"/etc/data", protection=1),
            record(3, 1 << 13, struct.pack("=II", 5, 5) + b"name\0\0\0\0" + TAIL.pack(5, 5, 2)),
            record(7, 0, struct.pack("=IIIIQ", 6, 5, 6, 5, 3) + TAIL.pack(6, 6, 3)),
            record(7, 0, struct.pack("=IIIIQ", 5, 5, 7, 5, 3) + TAIL.pack(5, 7, 3)),
            sample(5, 7, 4, (1 << 64) - 128, 0xFFFFFFFF81000010, (1 << 64) - 512, 0x1010),
            record(4, 0, struct.pack("=IIIIQ", 5, 4, 7, 4, 5) + TAIL.pack(5, 7, 5)),
            record(2, 0, struct.pack("=QQ", 1, 12) + TAIL.pack(5, 7, 9)),
            record(77, 0, bytes(16)),
        )
    )
    assert list(parse_records(ring)) == [
        MappingRecord(5, 1, 0x1000, 0x2000, 0x40, "/usr/lib/libfoo.so"),
        ProgramStartRecord(5, 2),
        ForkRecord(6, 3, 5),
        SampleRecord(5, 7, 4, (0xFFFFFFFF81000010, 0x1010), b""),
        ExitRecord(7, 5),
        LostRecord(9, 12),
    ]
    assert count_samples_and_last_ns(ring + sample(5, 7, 8, 0x1010)) == (2, 8)


@every_case("seed", range(20))
def test_bytes_of_any_kind_are_read_to_an_end(seed: int) -> None:
    rng = random.Random(seed)
    good = sample(5, 7, 4, 1, 2, 3) + mapping_record(5, 1, 0, 10, 0, b"/a")
    broken = bytearray(good * 3)
    for _ in range(12):
        broken[rng.randrange(len(broken))] = rng.randrange(256)
    list(parse_records(bytes(broken), with_tracepoint_data=bool(seed % 2)))
    list(parse_records(junk := rng.randbytes(4096)))
    count_samples_and_last_ns(bytes(broken)), count_samples_and_last_ns(junk)


def test_a_window_goes_over_the_rings_end_and_is_nothing_where_the_ends_do_not_fit() -> None:
    ring = b"head" + bytes(range(16))
    assert ring_window(ring, 4, 16, 14, 18) == bytes((14, 15, 0, 1))
    assert ring_window(ring, 4, 16, 32, 48) == bytes(range(16))
    assert (
        ring_window(ring, 4, 16, 5, 5)
        == b""
        == ring_window(ring, 4, 16, 0, 17)
        == ring_window(ring, 4, 16, 9, 3)
    )


def make_maps(*records: MappingRecord | ProgramStartRecord | ForkRecord) -> ProcessMaps:
    maps = ProcessMaps()
    for record in records:
        maps.take_record(record)
    return maps


def test_a_frame_is_a_place_in_the_file_that_lies_there_last() -> None:
    maps = make_maps(
        MappingRecord(5, 1, 0x1000, 0x1000, 0x40, "/a"),
        MappingRecord(5, 2, 0x1800, 0x100, 0, "/b"),
        ForkRecord(6, 3, 5),
    )
    assert maps.frame_at(5, 0x1010) == (0, 0x50) and maps.frame_at(6, 0x1810) == (1, 0x10)
    assert maps.frame_at(5, 0x5000) is None and maps.frame_at(5, 0xFFFFFFFF81000000) == (
        KERNEL,
        0xFFFFFFFF81000000,
    )
    maps.take_record(ProgramStartRecord(6, 4))
    assert maps.frame_at(6, 0x1010) is None and maps.frame_at(5, 0x1010) == (0, 0x50)
    own = ProcessMaps({6})
    for record in (
        ForkRecord(7, 1, 6),
        ForkRecord(8, 1, 5),
        ForkRecord(9, 1, os.getpid()),
        ForkRecord(10, 1, os.getpid()),
        ProgramStartRecord(9, 2),
    ):
        own.take_record(record)
    assert [own.is_of_command(pid) for pid in (5, 6, 7, 8, 9, 10)] == [False, True, True, False, True, False]
    jitted = make_maps(MappingRecord(9, 1, 0x1000, 0x1000, 0, "//anon"))
    assert jitted.frame_at(9, 0x1234) is not None and list(jitted.files) == ["pid:9"]


def test_a_callers_place_is_in_the_call_and_the_outermost_stands_first() -> None:
    maps = make_maps(MappingRecord(5, 1, 0x1000, 0x1000, 0, "/a"))
    assert maps.stack_of(SampleRecord(5, 5, 1, (0x1010, 0x1020, 0x77), b"")) == ((0, 0x1F), (0, 0x10))


SECOND = 1_000_000_000


ASLEEP, RUNS, DEAD = 1, 0x100, 0x10


def leave(at_s: float, place: int, *, comes: int = 0, tid: int = 7, state: int = ASLEEP) -> SampleRecord:
    data = struct.pack("=24xi4xq16xi", tid, state, comes)
    return SampleRecord(5, tid, int(at_s * SECOND), (place + 0x1000 - 0x10,), data)


def wake(at_s: float, tid: int = 7) -> SampleRecord:
    return SampleRecord(0, 0, int(at_s * SECOND), (), struct.pack("=24xi4xq16xi", 0, 0, tid))


def fold_all(*windows: tuple[float, float, list[Record]]) -> dict[tuple[str, int], float]:
    fold = CallChainFold(command_pids={5})
    fold.maps.take_record(MappingRecord(5, 0, 0x1000, 0x1000, 0x10, "/a"))
    for began, ended, records in windows:
        clock = [
            record
            for record in records
            if isinstance(record, ExitRecord) or (isinstance(record, SampleRecord) and not record.data)
        ]
        fold.fold_clock(clock)
        switches = [record for record in records if record not in clock]
        fold.fold_switches(RecordWindow(switches, int(began * SECOND), int(ended * SECOND)))
    return {(kind, stack[-1][1]): pytest.approx(s) for (kind, stack), s in fold.seconds.items() if stack}


def test_a_wait_lasts_from_leaving_to_coming_back() -> None:
    assert fold_all((0, 0, [leave(1, 0x10), wake(3)])) == {(OFF, 0x10): 2.0}
    assert fold_all((0, 0, [leave(1, 0x10, state=RUNS)]), (0, 0, [wake(3)])) == {(RUNNABLE, 0x10): 2.0}
    assert fold_all((0, 0, [leave(1, 0x10, comes=8), leave(2, 0x20, comes=7, tid=8), wake(4, 8)])) == {
        (OFF, 0x10): 1.0,
        (OFF, 0x20): 2.0,
    }


def test_over_a_windows_ends_a_wait_counts_as_far_as_it_lies_within() -> None:
    first = (1.0, 4.0, [leave(2, 0x10)])
    assert fold_all(first) == {(OFF, 0x10): 2.0}
    assert fold_all(first, (8.0, 9.0, [])) == {(OFF, 0x10): 3.0}, "away all the time"
    assert fold_all(first, (8.0, 9.0, [leave(8.5, 0x20)])) == {(OFF, 0x10): 2.0, (OFF, 0x20): 0.5}, "it ran"
    came = (1.0, 4.0, [leave(2, 0x10), wake(3)])
    assert fold_all(came, (8.0, 9.0, [wake(8.25)])) == {(OFF, 0x10): 1.25}, "away when it began"
    assert fold_all(came, (8.0, 9.0, [])) == {(OFF, 0x10): 2.0}, "away again, where is not known"
    sample = SampleRecord(5, 7, int(8.5 * SECOND), (), b"")
    assert fold_all(came, (8.0, 9.0, [sample]))[OFF, 0x10] == 1.0, "on a CPU all the time"
    assert fold_all(first, (8.0, 9.0, [ExitRecord(7, SECOND)]), (10.0, 12.0, [])) == {(OFF, 0x10): 3.0}


def test_after_a_loss_nothing_is_guessed_nor_of_who_is_no_more_or_not_ours() -> None:
    assert fold_all((0, 0, [leave(1, 0x10), LostRecord(2 * SECOND, 5), wake(9)])) == {}
    assert fold_all((0, 9, [leave(1, 0x10, state=DEAD)])) == {}
    assert fold_all((0, 9, [leave(1, 0x10)._replace(pid=6)])) == {}


class FakeRing(PerfRing):
    """Gives what is due; remembers how it was refreshed."""

    def __init__(self, *parts: bytes) -> None:
        self.parts, self.refreshed = list(parts), list[int]()

    def take_bytes(self) -> bytes:
        return self.parts.pop(0) if self.parts else b""

    def refresh(self, samples: int) -> None:
        self.refreshed.append(samples)


def test_a_window_ends_where_the_first_ring_stopped_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(100, 1000, 100))
    monkeypatch.setattr("hostdx.probes.profile.takings.time.monotonic_ns", lambda: next(now))
    windows = SampledWindowReader((), [0, 1])
    data = b"data"
    fake_ring = FakeRing(sample(5, 7, 110, data=data) * 3, sample(5, 7, 250, data=data) * 160, b"")
    other = FakeRing(
        b"", sample(5, 8, 260, data=data), sample(5, 8, 350, data=data) + sample(5, 8, 450, data=data)
    )
    windows.rings, windows._left = [fake_ring, other], [0, 0]
    windows.start()  # at 100
    windows.take_records()
    windows.take_records()  # the window goes on until 250; the next one begins at 400
    windows.take_records(last=True)
    assert fake_ring.refreshed == [160, 3, 160, 0] and other.refreshed == [160, 0, 1, 2]
    oldest_windows = [windows.take_oldest_window() for _ in range(3)]
    assert [(len(w.records), w.began_ns, w.ended_ns) for w in oldest_windows] == [
        (3, 100, 0),
        (160, 0, 250),
        (1, 400, 500),
    ]
    assert windows.scale == pytest.approx((600 - 100) / (150 + 100)) and not windows


def test_what_is_younger_than_a_taking_waits_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter((100, 200))
    monkeypatch.setattr("hostdx.probes.profile.takings.time.monotonic_ns", lambda: next(now))
    takings = RingReader([FakeRing(sample(5, 7, 90)), FakeRing(sample(5, 8, 110) + sample(5, 8, 80))])
    takings.take_records(), takings.take_records()
    assert [[record.at_ns for record in takings.take_oldest_window().records] for _ in range(2)] == [
        [80, 90],
        [110],
    ]


def test_samples_count_for_their_period_and_stacks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hostdx.probes.profile.call_profile.MAX_STACKS", 1)
    fold = CallChainFold(command_pids={5})
    fold.fold_clock([MappingRecord(5, 0, 0x1000, 0x1000, 0, "/a")])
    fold.fold_clock([SampleRecord(6, 6, 1, (0x1010,), b"")])
    fold.fold_clock([SampleRecord(5, 5, 1, (0x1010,), b"")] * 99 + [SampleRecord(5, 5, 1, (0x1020,), b"")])
    assert fold.seconds == {(ON, ((0, 0x10),)): pytest.approx(1.0)}
    assert fold.dropped_s == pytest.approx(1 / 99)
