"""Perf records and what is folded of them, on made-up rings."""

from __future__ import annotations

import random
import struct

import pytest

from probes.bench.profile.call_profile import KERNEL, OFF, ON, RUNNABLE, Fold, Maps
from probes.bench.profile.perf_records import Fork, Lost, Mapping, Program, Record, Sample, Switch, records
from probes.bench.profile.perf_ring import window

TAIL = struct.Struct("=IIQ")


def record(kind: int, misc: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 8)
    return struct.pack("=IHH", kind, misc, 8 + len(body)) + body


def sample(pid: int, tid: int, at: int, *chain: int, data: bytes = b"") -> bytes:
    body = struct.pack(f"=IIQQ{len(chain)}Q", pid, tid, at, len(chain), *chain)
    return record(9, 2, body + (struct.pack("=I", len(data)) + data if data else b""))


def switch(tid: int, at: int, misc: int) -> bytes:
    return record(14, misc, TAIL.pack(tid, tid, at))


def mapping(
    pid: int, at: int, start: int, length: int, offset: int, path: bytes, protection: int = 5
) -> bytes:
    body = (
        struct.pack("=IIQQQ", pid, pid, start, length, offset) + bytes(24) + struct.pack("=II", protection, 2)
    )
    return record(10, 0, body + path + bytes(8 - len(path) % 8) + TAIL.pack(pid, pid, at))


def test_each_record_is_read_as_what_it_is() -> None:
    ring = b"".join(
        (
            mapping(5, 1, 0x1000, 0x2000, 0x40, b"/usr/lib/libfoo.so"),
            mapping(5, 1, 0x9000, 0x2000, 0x40, b"/etc/data", protection=1),
            record(3, 1 << 13, struct.pack("=II", 5, 5) + b"name\0\0\0\0" + TAIL.pack(5, 5, 2)),
            record(7, 0, struct.pack("=IIIIQ", 6, 5, 6, 5, 3) + TAIL.pack(6, 6, 3)),
            record(7, 0, struct.pack("=IIIIQ", 5, 5, 7, 5, 3) + TAIL.pack(5, 7, 3)),
            sample(5, 7, 4, (1 << 64) - 128, 0xFFFFFFFF81000010, (1 << 64) - 512, 0x1010),
            switch(7, 5, 1 << 13 | 1 << 14),
            switch(7, 6, 0),
            record(2, 0, struct.pack("=QQ", 1, 12) + TAIL.pack(5, 7, 9)),
            record(77, 0, bytes(16)),
        )
    )
    assert list(records(ring)) == [
        Mapping(5, 1, 0x1000, 0x2000, 0x40, "/usr/lib/libfoo.so"),
        Program(5, 2),
        Fork(6, 3, 5),
        Sample(5, 7, 4, (0xFFFFFFFF81000010, 0x1010), b""),
        Switch(7, 7, 5, True, True),
        Switch(7, 7, 6, False, False),
        Lost(9, 12),
    ]


def test_a_tracepoints_data_comes_with_its_sample() -> None:
    (found,) = records(sample(5, 7, 4, 0x1010, data=b"lock\0\0\0\0"), with_data=True)
    assert isinstance(found, Sample) and found.data == b"lock\0\0\0\0" and found.chain == (0x1010,)


@pytest.mark.parametrize("seed", range(20))
def test_bytes_of_any_kind_are_read_to_an_end(seed: int) -> None:
    rng = random.Random(seed)
    good = sample(5, 7, 4, 1, 2, 3) + mapping(5, 1, 0, 10, 0, b"/a") + switch(7, 5, 1 << 13)
    broken = bytearray(good * 3)
    for _ in range(12):
        broken[rng.randrange(len(broken))] = rng.randrange(256)
    list(records(bytes(broken), with_data=bool(seed % 2)))
    list(records(rng.randbytes(4096)))


def test_a_window_goes_over_the_rings_end_and_is_nothing_where_the_ends_do_not_fit() -> None:
    ring = b"head" + bytes(range(16))
    assert window(ring, 4, 16, 14, 18) == bytes((14, 15, 0, 1))
    assert window(ring, 4, 16, 32, 48) == bytes(range(16))
    assert window(ring, 4, 16, 5, 5) == b"" == window(ring, 4, 16, 0, 17) == window(ring, 4, 16, 9, 3)


def maps(*found: Mapping | Program | Fork) -> Maps:
    made = Maps()
    for one in found:
        made.hear(one)
    return made


def test_a_frame_is_a_place_in_the_file_that_lies_there_last() -> None:
    made = maps(
        Mapping(5, 1, 0x1000, 0x1000, 0x40, "/a"), Mapping(5, 2, 0x1800, 0x100, 0, "/b"), Fork(6, 3, 5)
    )
    assert made.frame(5, 0x1010) == (0, 0x50) and made.frame(6, 0x1810) == (1, 0x10)
    assert made.frame(5, 0x5000) is None and made.frame(5, 0xFFFFFFFF81000000) == (KERNEL, 0xFFFFFFFF81000000)
    made.hear(Program(6, 4))
    assert made.frame(6, 0x1010) is None and made.frame(5, 0x1010) == (0, 0x50)
    jitted = maps(Mapping(9, 1, 0x1000, 0x1000, 0, "//anon"))
    assert jitted.frame(9, 0x1234) is not None and list(jitted.files) == ["pid:9"]


def test_a_callers_place_is_in_the_call_and_the_outermost_stands_first() -> None:
    made = maps(Mapping(5, 1, 0x1000, 0x1000, 0, "/a"))
    assert made.stack(Sample(5, 5, 1, (0x1010, 0x1020, 0x77), b"")) == ((0, 0x1F), (0, 0x10))


SECOND = 1_000_000_000


def folded(period: int, *found: Record) -> dict[tuple[str, int], float]:
    fold = Fold(period)
    fold.maps.hear(Mapping(5, 0, 0x1000, 0x1000, 0, "/a"))
    fold.switches(found)
    return {(kind, stack[-1][1]): seconds for (kind, stack), seconds in fold.seconds.items()}


def test_a_wait_lasts_from_leaving_to_coming_back_and_counts_for_its_period() -> None:
    leaves, back = Sample(5, 7, 10, (0x1010,), b""), Switch(5, 7, 3 * SECOND, False, False)
    assert folded(1, leaves, Switch(5, 7, SECOND, True, False), back) == {(OFF, 0x10): pytest.approx(2.0)}
    assert folded(3, leaves, Switch(5, 7, SECOND, True, False), back) == {(OFF, 0x10): pytest.approx(6.0)}
    assert folded(1, leaves, Switch(5, 7, SECOND, True, True), back) == {(RUNNABLE, 0x10): pytest.approx(2.0)}


def test_after_a_loss_nothing_is_guessed() -> None:
    leaves, out = Sample(5, 7, 10, (0x1010,), b""), Switch(5, 7, SECOND, True, False)
    assert folded(1, leaves, out, Lost(2 * SECOND, 5), Switch(5, 7, 9 * SECOND, False, False)) == {}
    assert folded(1, out, Switch(5, 7, 9 * SECOND, False, False)) == {}, "without a chain it is nowhere"


def test_samples_count_for_their_period_and_stacks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probes.bench.profile.call_profile.MOST_STACKS", 1)
    fold = Fold()
    fold.clock([Mapping(5, 0, 0x1000, 0x1000, 0, "/a")])
    fold.clock([Sample(5, 5, 1, (0x1010,), b"")] * 99 + [Sample(5, 5, 1, (0x1020,), b"")])
    assert fold.seconds == {(ON, ((0, 0x10),)): pytest.approx(1.0)}
    assert fold.dropped_s == pytest.approx(1 / 99)
