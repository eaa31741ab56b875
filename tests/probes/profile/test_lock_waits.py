"""Waits for the kernel's locks: what made-up tracepoints come to, and for real where the kernel has them."""

import os
import struct
import time
from pathlib import Path

import pytest

from hostdx.probes.profile.lock_waits import BEGIN, END, LockProfile, LockWaitFold
from hostdx.probes.profile.perf_records import parse_records
from hostdx.probes.profile.takings import RecordWindow, tracepoint_numbers
from tests.needs import ROOT, needs
from tests.probes.profile.test_call_profile import record, sample

A, B = 0xFFFFFFFF81000010, 0xFFFFFFFF81000020  # places in the kernel
LOCK, OTHER, WRITE, MUTEX = 0xFFFF888000001000, 0xFFFF888000002000, 4, 32
MS = 1_000_000


def event(
    begin: bool, tid: int, at_ms: float, chain: tuple[int, ...], lock: int = LOCK, kind: int = WRITE
) -> bytes:
    data = struct.pack("=HBBiQI", 408 if begin else 407, 0, 0, tid, lock, kind if begin else 0)
    return sample(tid, tid, int(at_ms * MS), *chain, data=data)


def fold_all(*parts: bytes) -> LockWaitFold:
    waiting = LockWaitFold(408, 407, {1, 2})
    waiting.take_window(make_window(*parts))
    return waiting


def make_window(*parts: bytes, ended_ms: float = 0) -> RecordWindow:
    return RecordWindow(
        list(parse_records(b"".join(parts), with_tracepoint_data=True)), 0, int(ended_ms * MS)
    )


def test_a_wait_is_as_long_as_from_its_begin_to_its_end_and_who_had_it_before_is_named() -> None:
    fold = fold_all(
        event(True, 1, 0, (A,)), event(False, 1, 2, (A,)),
        event(True, 2, 1, (B, 0x40)), event(True, 2, 3, (B,)), event(False, 2, 6, (B,)),
        event(False, 3, 7, (A,)),
    )  # fmt: skip
    assert fold.seconds == {(WRITE, (A,), ()): [0.002, 1], (WRITE, (B,), (A,)): [0.005, 1]}


def test_one_thread_waits_for_two_locks_at_once() -> None:
    fold = fold_all(
        event(True, 1, 0, (A,), kind=MUTEX), event(True, 1, 1, (B,), OTHER, 1),
        event(False, 1, 2, (B,), OTHER), event(False, 1, 4, (A,)),
    )  # fmt: skip
    assert fold.seconds == {(1, (B,), ()): [0.001, 1], (MUTEX, (A,), ()): [0.004, 1]}


def test_what_a_window_ends_in_counts_until_there_and_what_may_be_lost_does_not() -> None:
    fold = fold_all()
    fold.take_window(make_window(event(True, 1, 0, (A,)), event(True, 9, 0, (A,)), ended_ms=3))
    fold.take_window(make_window(event(False, 1, 9, (A,))))
    assert fold.seconds == {(WRITE, (A,), ()): [0.003, 1]}
    lossy = fold_all(
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
