"""Samples of waits, on made-up /proc trees: what is counted, what stands for how much, and what hostile files do."""

from pathlib import Path

import pytest

from hostdx.probes.profile import wait_samples
from hostdx.probes.profile.syscall_names import syscall_name, system_call_names
from hostdx.probes.profile.wait_samples import (
    UNKNOWN,
    WaitSample,
    WaitSamples,
    distribute_incomplete_waits,
    is_waiting_for_mutex,
    parse_call_number,
    scale_waits,
)
from tests.every_case import every_case


def write_thread(proc: Path, pid: int, tid: int, state: str, syscall: str = "", wchan: str = "") -> None:
    folder = proc / f"{pid}/task/{tid}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(f"{tid} (a) b) ) {state} 1 1")
    (folder / "syscall").write_text(syscall)
    (folder / "wchan").write_text(wchan)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Its first element is the time; a look costs nothing."""
    now = [100.0]
    monkeypatch.setattr(wait_samples.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(wait_samples.time, "process_time", lambda: 0.0)
    return now


def sample_threads(proc: Path, pids: list[int], clock: list[float], looks: int = 10) -> dict[str, WaitSample]:
    samples = WaitSamples(str(proc))
    samples.follow_pids(pids)
    for _ in range(looks):
        clock[0] += 0.01
        samples.take_samples()
    rows_by_place = {wait.place: wait for wait in samples.wait_rows(None)}
    samples.close()
    return rows_by_place


def test_threads_in_d_count_each_and_who_waits_for_a_child_does_not_stand_alone(
    tmp_path: Path, clock: list[float]
) -> None:
    write_thread(tmp_path, 7, 7, "S", "61 0x1", "do_wait")
    for tid in (8, 9):
        write_thread(tmp_path, tid, tid, "D", "87 0x0 0x1", "do_unlinkat")
    write_thread(tmp_path, 10, 10, "R", "running", "0")
    waits = sample_threads(tmp_path, [7, 8, 9, 10], clock)
    assert waits["do_unlinkat"] == WaitSample("D", 87, "do_unlinkat", pytest.approx(0.2), 0.0)  # type: ignore[arg-type]
    assert waits["do_wait"].thread_s == pytest.approx(0.1) and waits["do_wait"].alone_s == 0.0
    assert len(waits) == 2, "who runs waits for nothing"


def test_where_all_sleep_the_time_is_divided_among_those_that_wait_for_no_child(
    tmp_path: Path, clock: list[float]
) -> None:
    write_thread(tmp_path, 7, 7, "S", "61 0x1", "do_wait")
    write_thread(tmp_path, 8, 8, "S", "202 0x1", "futex_wait_queue")
    write_thread(tmp_path, 8, 9, "S", "230 0x1", "hrtimer_nanosleep")
    waits = sample_threads(tmp_path, [7, 8], clock)
    assert waits["futex_wait_queue"].alone_s == pytest.approx(0.05)
    assert waits["hrtimer_nanosleep"].alone_s == pytest.approx(0.05)
    assert waits["do_wait"].alone_s == 0.0
    single = sample_threads(tmp_path, [7], clock)
    assert single["do_wait"].alone_s == pytest.approx(0.1)


def test_looks_that_cost_too_much_at_their_rarest_are_at_fewer_threads(
    tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    for tid in range(10, 42):
        write_thread(tmp_path, 5, tid, "D", "1 0", "a_place")
    samples = WaitSamples(str(tmp_path))
    samples.follow_pids([5])
    cpu = [0.0]
    monkeypatch.setattr(wait_samples.time, "process_time", lambda: cpu[0])
    original, looked_at = samples._sample_thread, [0]

    def sample_costly(key: tuple[int, str]) -> tuple[str, int, str, tuple[str, ...]]:
        cpu[0] += 0.0001
        looked_at[0] += 1
        return original(key)

    monkeypatch.setattr(samples, "_sample_thread", sample_costly)
    began = clock[0]
    while clock[0] < began + 60.0:
        clock[0] = samples.due
        samples.take_samples()
    (row,) = samples.wait_rows(None)
    samples.close()
    assert 0.5 <= looked_at[0] * 0.0001 / (60.0 * wait_samples.SHARE) <= 1.1
    assert row.thread_s == pytest.approx(32 * 60.0, rel=0.02), "those looked at stand for all"


def test_the_kernels_functions_are_read_where_they_are_wanted(tmp_path: Path, clock: list[float]) -> None:
    write_thread(tmp_path, 5, 5, "D", "1 0", "xfs_ilock")
    (tmp_path / "5/task/5/stack").write_text("[<0>] xfs_ilock+0x1/0x9\n[<0>] xfs_create+0x2/0x9 [xfs]\n")
    for stacks in (False, True):
        samples = WaitSamples(str(tmp_path), stacks=stacks)
        samples.follow_pids([5])
        clock[0] += 0.01
        samples.take_samples()
        (row,) = samples.wait_rows(None)
        samples.close()
        assert row.stack == (("xfs_ilock", "xfs_create") if stacks else ())


def test_who_woke_up_while_it_was_looked_at_counts_as_those_that_told() -> None:
    rows = [
        WaitSample("D", 74, "a", 3.0, 0.0),
        WaitSample("D", 1, "b", 1.0, 0.5),
        WaitSample("S", 0, "c", 5.0, 5.0),
        WaitSample("D", UNKNOWN, "", 0.4, 0.0),
        WaitSample("D", UNKNOWN, "b", 0.2, 0.0),
        WaitSample("D", 74, "", 0.1, 0.0),
        WaitSample("S", 7, "", 1.0, 1.0),
    ]
    times = {(row.state, row.call): (row.thread_s, row.alone_s) for row in distribute_incomplete_waits(rows)}
    assert times["D", 74] == pytest.approx((3.4, 0.0)) and times["D", 1] == pytest.approx((1.3, 0.5))
    assert times["S", 0] == (5.0, 5.0) and times["S", 7] == (1.0, 1.0), "of another call: it stays unknown"
    assert distribute_incomplete_waits(rows[3:4]) == rows[3:4]


def test_samples_divide_what_is_exact_and_leave_the_wait_for_children_as_it_is() -> None:
    rows = [
        WaitSample("S", 61, "do_wait", 2.0, 0.0),
        WaitSample("D", 74, "a", 0.3, 0.0),
        WaitSample("D", 1, "b", 0.1, 0.0),
    ]
    assert [row.thread_s for row in scale_waits(rows, 2.8)] == pytest.approx([2.0, 0.6, 0.2])
    assert scale_waits(rows, None) == rows
    assert scale_waits(rows, 1.9) == rows, "less than the sampled wait for children: of other threads"
    assert scale_waits(rows, 9.0) == rows, "a factor that no bias of sampling makes"


@every_case(
    ("text", "number"),
    [
        (b"257 0x1 0x2", 257),
        (b"-1 0x1 0x2", -1),
        (b"running", UNKNOWN),
        (b"", UNKNOWN),
        (b"9" * 300, 1 << 16),
    ],
)
def test_calls_are_numbers_or_unknown(text: bytes, number: int) -> None:
    assert parse_call_number(text) == number


def test_calls_have_the_names_of_their_machine() -> None:
    assert (system_call_names("x86_64")[87], system_call_names("x86_64")[74]) == ("unlink", "fsync")
    assert (system_call_names("aarch64")[35], system_call_names("aarch64")[82]) == ("unlinkat", "fsync")
    assert system_call_names("vax") == {}
    assert (
        syscall_name(9999, system_call_names("x86_64")) == "call 9999" and syscall_name(-1, {}) == "no call"
    )
    assert syscall_name(UNKNOWN, {}) == ""


@every_case(
    ("text", "is_mutex"),
    [
        (b"202 0x7f01 0x80 0x2 0x0 0x0 0x0 0x7ffe 0x7f00", True),  # glibc's mutex
        (b"202 0x7f01 0x89 0x2 0x0 0x0 0xffffffff 0x7ffe 0x7f00", True),  # Rust's
        (b"202 0x7f01 0x86 0x0 0x0 0x0 0x0 0x7ffe 0x7f00", True),  # handed on by the kernel
        (b"202 0x7f01 0x109 0x1f8e 0x0 0x0 0x0 0x7ffe 0x7f00", False),  # pthread_join
        (b"202 0x7f01 0x189 0x2 0x0 0x0 0xffffffff 0x7ffe 0x7f00", False),  # a condition variable
        (b"0 0x3 0x80 0x2 0x0 0x0 0x0 0x7ffe 0x7f00", False),
        (b"202 0x7f01 what 0x2", False),
        (b"running", False),
        (b"", False),
    ],
)
def test_who_wants_a_mutex_is_told_by_the_arguments_of_its_call(text: bytes, is_mutex: bool) -> None:
    assert is_waiting_for_mutex(text) == is_mutex
