"""Profiles of calls, symbols and lock waits."""

import os
import random
import struct
import time
from pathlib import Path

import pytest

from hostdx.probes.profile.call_profile import KERNEL, OFF, ON, RUNNABLE, CallChainFold, ProcessMaps
from hostdx.probes.profile.lock_waits import BEGIN, END, LockProfile, LockWaitFold
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
from hostdx.probes.profile.rings import RecordWindow, RingReader, SampledWindowReader, tracepoint_numbers
from hostdx.probes.profile.symbols import MAX_NAME_BYTES, ElfSymbols, FrameNames
from tests.every_case import every_case
from tests.needs import ROOT, needs

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

    def enable_for(self, samples: int) -> None:
        self.refreshed.append(samples)


def test_a_window_ends_where_the_first_ring_stopped_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(100, 1000, 100))
    monkeypatch.setattr("hostdx.probes.profile.rings.time.monotonic_ns", lambda: next(now))
    windows = SampledWindowReader((), [0, 1])
    data = b"data"
    fake_ring = FakeRing(sample(5, 7, 110, data=data) * 3, sample(5, 7, 250, data=data) * 160, b"")
    other = FakeRing(
        b"", sample(5, 8, 260, data=data), sample(5, 8, 350, data=data) + sample(5, 8, 450, data=data)
    )
    windows.rings, windows._left = [fake_ring, other], [0, 0]
    windows.start()  # at 100
    windows.hold_ring_bytes()
    windows.hold_ring_bytes()  # the window goes on until 250; the next one begins at 400
    windows.hold_ring_bytes(last=True)
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
    monkeypatch.setattr("hostdx.probes.profile.rings.time.monotonic_ns", lambda: next(now))
    reader = RingReader([FakeRing(sample(5, 7, 90)), FakeRing(sample(5, 8, 110) + sample(5, 8, 80))])
    reader.hold_ring_bytes(), reader.hold_ring_bytes()
    assert [[record.at_ns for record in reader.take_oldest_window().records] for _ in range(2)] == [
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


def make_elf(
    names: list[tuple[bytes, int, int]], *, kind: int = 2, link: int = 1, offset: int | None = None
) -> bytes:
    """64 bits, little-endian: file offset 0x1000 lies at address 0x401000; the symbols' table, then its strings."""
    strings, symbols = b"\0", bytes(24)
    for name, value, size in names:
        symbols += struct.pack("<IBBHQQ", len(strings), 2, 0, 1, value, size)
        strings += name + b"\0"
    at = 64 + 56 + 2 * 64
    head = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 120, 0, 64, 56, 1, 64, 2, 0)
    )
    load = struct.pack("<IIQQQQQQ", 1, 5, 0x1000, 0x401000, 0, 0x1000, 0x1000, 0x1000)
    table = struct.pack(
        "<IIQQQQIIQQ", 0, kind, 0, 0, at if offset is None else offset, len(symbols), link, 1, 8, 24
    )
    text = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, at + len(symbols), len(strings), 0, 0, 1, 0)
    return head + load + table + text + symbols + strings


@every_case(
    "data",
    [
        b"",
        b"\x7fELF",
        b"#!/bin/sh\n" * 20,
        make_elf([(b"a", 0x401000, 16)], offset=1 << 62),
        make_elf([(b"a", 0x401000, 16)])[:150],
        b"\x7fELF\x02\x01\x01" + b"\xff" * 57,
    ],
)
def test_what_is_no_sound_elf_file_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises((ValueError, OSError)):
        ElfSymbols(str(path))


@every_case("seed", range(30))
def test_a_hostile_elf_file_is_read_to_an_end_or_refused(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(make_elf([(b"f%d" % n, 0x401000 + 16 * n, 16) for n in range(8)]))
    for _ in range(10):
        data[rng.randrange(16, len(data))] = rng.randrange(256)
    path = tmp_path / "x"
    path.write_bytes(bytes(data))
    try:
        ElfSymbols(str(path)).name(0x1010)
    except (ValueError, OSError):
        pass


def test_a_long_name_is_cut_and_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(make_elf([(b"n" * 5000, 0x401000, 16)]))
    assert ElfSymbols(str(path)).name(0x1001) == "n" * MAX_NAME_BYTES
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError):
        ElfSymbols(str(tmp_path / "fifo"))


def test_each_frame_has_a_name_or_says_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "kallsyms").write_text(
        "ffffffff81000000 T do_it\nffffffff81000100 t other\t[mod]\nffffffff81000200 d data\n"
    )
    library = tmp_path / "libfoo.so"
    library.write_bytes(make_elf([(b"first", 0x401000, 0x40)]))
    (tmp_path / "perf-12.map").write_text("7f00 20 py::main script.py\nzz 1 x\n")
    names = FrameNames(str(tmp_path / "kallsyms"), str(tmp_path)).frame_names
    files = [str(library), "pid:12", "pid:13", str(tmp_path / "gone")]
    stack = [
        (0, 0x1001),
        (0, 0x12A0),
        (1, 0x7F01),
        (2, 0x10),
        (3, 0x20),
        (KERNEL, 0xFFFFFFFF81000150),
        (9, 1),
    ]
    assert names(stack, files) == (
        "first",
        "[libfoo.so+0x12a0]",
        "py::main script.py",
        "[jit+0x10]",
        "[gone+0x20]",
        "other",
    )


def test_a_map_of_another_user_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "perf-12.map").write_text("7f00 20 mine\n")
    monkeypatch.setattr("hostdx.probes.profile.symbols.os.geteuid", lambda: 4242)
    assert FrameNames(maps=str(tmp_path)).frame_names([(0, 0x7F01)], ["pid:12"]) == ("[jit+0x7f01]",)


A, B = 0xFFFFFFFF81000010, 0xFFFFFFFF81000020  # places in the kernel
LOCK, OTHER, WRITE, MUTEX = 0xFFFF888000001000, 0xFFFF888000002000, 4, 32
MS = 1_000_000


def event(
    begin: bool, tid: int, at_ms: float, chain: tuple[int, ...], lock: int = LOCK, kind: int = WRITE
) -> bytes:
    data = struct.pack("=HBBiQI", 408 if begin else 407, 0, 0, tid, lock, kind if begin else 0)
    return sample(tid, tid, int(at_ms * MS), *chain, data=data)


def fold_all_waits(*parts: bytes) -> LockWaitFold:
    waiting = LockWaitFold(408, 407, {1, 2})
    waiting.take_window(make_window(*parts))
    return waiting


def make_window(*parts: bytes, ended_ms: float = 0) -> RecordWindow:
    return RecordWindow(
        list(parse_records(b"".join(parts), with_tracepoint_data=True)), 0, int(ended_ms * MS)
    )


def test_a_wait_is_as_long_as_from_its_begin_to_its_end_and_who_had_it_before_is_named() -> None:
    fold = fold_all_waits(
        event(True, 1, 0, (A,)), event(False, 1, 2, (A,)),
        event(True, 2, 1, (B, 0x40)), event(True, 2, 3, (B,)), event(False, 2, 6, (B,)),
        event(False, 3, 7, (A,)),
    )  # fmt: skip
    assert fold.seconds == {(WRITE, (A,), ()): [0.002, 1], (WRITE, (B,), (A,)): [0.005, 1]}


def test_one_thread_waits_for_two_locks_at_once() -> None:
    fold = fold_all_waits(
        event(True, 1, 0, (A,), kind=MUTEX), event(True, 1, 1, (B,), OTHER, 1),
        event(False, 1, 2, (B,), OTHER), event(False, 1, 4, (A,)),
    )  # fmt: skip
    assert fold.seconds == {(1, (B,), ()): [0.001, 1], (MUTEX, (A,), ()): [0.004, 1]}


def test_what_a_window_ends_in_counts_until_there_and_what_may_be_lost_does_not() -> None:
    fold = fold_all_waits()
    fold.take_window(make_window(event(True, 1, 0, (A,)), event(True, 9, 0, (A,)), ended_ms=3))
    fold.take_window(make_window(event(False, 1, 9, (A,))))
    assert fold.seconds == {(WRITE, (A,), ()): [0.003, 1]}
    lossy = fold_all_waits(
        event(True, 1, 0, (A,)), record(2, 0, struct.pack("=QQIIQ", 1, 7, 1, 1, 5)), event(False, 1, 9, (A,))
    )
    assert lossy.seconds == {} and lossy.lost == 7


def test_a_kernel_without_them_and_a_folder_that_is_no_tracefs_have_none(tmp_path: Path) -> None:
    assert tracepoint_numbers((BEGIN,), (str(tmp_path),)) == {}
    event = tmp_path / "events/lock/contention_begin"
    event.mkdir(parents=True)
    (event / "id").write_text("no number")
    assert tracepoint_numbers((BEGIN,), (str(tmp_path),)) == {}
    (event / "id").write_text("408\n")
    for at, expected in ((12, {}), (8, {BEGIN: 408})):
        fields = (("void * lock_addr", at, 8), ("unsigned int flags", 16, 4))
        layout = "".join(
            f"\tfield:{name};\toffset:{n};\tsize:{size};\tsigned:0;\n" for name, n, size in fields
        )
        (event / "format").write_text(layout)
        assert tracepoint_numbers((BEGIN,), (str(tmp_path),)) == expected
    assert tracepoint_numbers((BEGIN, END), (str(tmp_path),)) == {}


def contention_events() -> str:
    profile = LockProfile(sorted(os.sched_getaffinity(0)), set())
    lock_result = profile.lock_result()
    profile.close()
    return "" if lock_result is not None else "this kernel tells of no locks"


def tracing_mounts() -> list[str]:
    """Return the lines of mountinfo that a profile could have added; other tests mount disks of their own."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if line.rpartition(" - ")[2].startswith(("tracefs ", "debugfs "))]


@needs(ROOT, contention_events)
@pytest.mark.real("cpu")
def test_writers_in_one_directory_are_seen_to_wait_for_it(tmp_path: Path) -> None:
    mounts = tracing_mounts()
    children = set[int]()
    profile = LockProfile(sorted(os.sched_getaffinity(0)), children)
    profile.start()
    for writer in range(4):
        if (pid := os.fork()) == 0:
            for n in range(1500):
                os.close(os.open(tmp_path / f"{writer}-{n % 8}", os.O_CREAT | os.O_WRONLY))
                (tmp_path / f"{writer}-{n % 8}").unlink()
            os._exit(0)
        children.add(pid)
    living = set(children)
    while living:
        time.sleep(0.05)
        living -= {pid for pid in living if os.waitpid(pid, os.WNOHANG)[0]}
        profile.take_samples()
    lock_result = profile.lock_result()
    profile.close()
    assert lock_result is not None
    ways = lock_result["ways"]
    assert isinstance(ways, list) and ways and all(way[3] >= 0 for way in ways)
    assert any(way[0] & (2 | 4 | 32) for way in ways), "a directory's lock is one that is slept for"
    assert tracing_mounts() == mounts
