"""What is counted of a command: energy, quota, delays and pipeline slots."""

import struct
from collections.abc import Mapping
from pathlib import Path

import pytest

from hostdx.probes.engine.command.energy import EnergyCounters, energy_counter_access
from hostdx.probes.engine.command.group_counters import TreeQuota
from hostdx.probes.engine.command.taskstats import (
    EndedTask,
    TaskExitListener,
    parse_ended_tasks,
    task_time_if_complete,
    tasks_below,
)
from hostdx.probes.engine.command.topdown import BACK, BAD, FRONT, RETIRING, TopDown, find_top_down_events
from tests.every_case import every_case

INTEL = {
    "events/slots": "event=0x00,umask=0x4",
    "events/topdown-retiring": "event=0x00,umask=0x80",
    "events/topdown-bad-spec": "event=0x00,umask=0x81",
    "events/topdown-fe-bound": "event=0x00,umask=0x82",
    "events/topdown-be-bound": "event=0x00,umask=0x83",
}
OLD = {
    "events/topdown-total-slots": "event=0x3c,umask=0x0",
    "events/topdown-total-slots.scale": "4",
    "events/topdown-slots-retired": "event=0xc2,umask=0x2",
    "events/topdown-slots-issued": "event=0xe,umask=0x1",
    "events/topdown-fetch-bubbles": "event=0x9c,umask=0x1",
    "events/topdown-recovery-bubbles": "event=0xd,umask=0x3,cmask=0x1",
    "events/topdown-recovery-bubbles.scale": "4",
}
ARM = {
    "caps/slots": "0x00000008",
    "events/stall_slot_frontend": "event=0x003e",
    "events/stall_slot_backend": "event=0x003d",
    "events/stall_slot": "event=0x003f",
    "events/op_retired": "event=0x003a",
    "events/op_spec": "event=0x003b",
    "events/cpu_cycles": "event=0x0011",
}
STALLS_ONLY = {
    "events/stall_frontend": "event=0x0023",
    "events/stall_backend": "event=0x0024",
    "events/cpu_cycles": "event=0x0011",
}
X86 = {"format/event": "config:0-7", "format/umask": "config:8-15", "format/cmask": "config:24-31"}


def find_events(place: Path, device: str, files: Mapping[str, str], cpuinfo: str = "") -> TopDown | None:
    for name, text in {"type": "4", **files}.items():
        file = place / device / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    (place / "cpuinfo").write_text(cpuinfo)
    return find_top_down_events(str(place), str(place / "cpuinfo"))


def test_intels_metrics_count_in_a_group_that_slots_lead(tmp_path: Path) -> None:
    topdown = find_events(tmp_path, "cpu", X86 | INTEL)
    assert topdown is not None and next(iter(topdown.events)) == "slots"
    assert topdown.events["topdown-be-bound"] == (4, 0x8300, "slots") and topdown.events["slots"].leader == ""
    counts = {"slots": 100.0, "topdown-retiring": 40.0, "topdown-bad-spec": 10.0, "topdown-fe-bound": 20.0}
    assert topdown.slot_shares(counts) == {}, "one count is missing"
    shares = topdown.slot_shares(counts | {"topdown-be-bound": 30.0})
    assert shares == {RETIRING: 0.4, BAD: 0.1, FRONT: 0.2, BACK: 0.3}


def test_older_intels_with_their_scales_and_without_any_recovery(tmp_path: Path) -> None:
    topdown = find_events(tmp_path, "cpu", X86 | OLD)
    assert topdown is not None and topdown.events["topdown-recovery-bubbles"].config == 0x100030D
    counts = {"topdown-total-slots": 25.0, "topdown-slots-retired": 40.0, "topdown-slots-issued": 46.0}
    shares = topdown.slot_shares(counts | {"topdown-fetch-bubbles": 20.0, "topdown-recovery-bubbles": 1.0})
    assert shares == pytest.approx({RETIRING: 0.4, BAD: 0.1, FRONT: 0.2, BACK: 0.3})
    assert topdown.slot_shares(counts | {"topdown-fetch-bubbles": 20.0})[BAD] == pytest.approx(0.06)


def test_arms_stalls_by_slot_and_by_cycle(tmp_path: Path) -> None:
    topdown = find_events(tmp_path, "armv8_pmuv3_0", {"format/event": "config:0-15"} | ARM)
    assert topdown is not None and topdown.width == 8 and topdown.events["op_spec"].config == 0x3B
    counts = {
        "stall_slot_frontend": 160.0,
        "stall_slot_backend": 240.0,
        "stall_slot": 400.0,
        "cpu_cycles": 100.0,
    }
    shares = topdown.slot_shares(counts | {"op_retired": 320.0, "op_spec": 400.0})
    assert shares == pytest.approx({RETIRING: 0.4, BAD: 0.1, FRONT: 0.2, BACK: 0.3})


def test_an_arm_that_counts_cycles_only(tmp_path: Path) -> None:
    topdown = find_events(tmp_path, "armv8_cortex_a57", {"format/event": "config:0-15"} | STALLS_ONLY)
    assert topdown is not None
    counts = {"stall_frontend": 20.0, "stall_backend": 30.0, "cpu_cycles": 100.0}
    assert topdown.slot_shares(counts) == {FRONT: 0.2, BACK: 0.3}


@every_case(
    ("family", "model", "width"),
    [(25, 1, 0), (25, 0x21, 0), (25, 0x11, 6), (25, 0x61, 6), (26, 2, 8), (23, 49, 0)],
)
def test_amds_since_zen_4(tmp_path: Path, family: int, model: int, width: int) -> None:
    cpuinfo = f"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: {family}\nmodel\t\t: {model}\n"
    topdown = find_events(tmp_path, "cpu", X86, cpuinfo)
    assert (topdown.width if topdown else 0) == width
    if topdown:
        slots = width * 100.0
        counts = {"unhalted": 100.0, "retired": 0.4 * slots, "dispatched": 0.5 * slots, "front": 0.2 * slots}
        shares = topdown.slot_shares(counts | {"back": 0.3 * slots})
        assert shares == pytest.approx({RETIRING: 0.4, BAD: 0.1, FRONT: 0.2, BACK: 0.3})


def test_a_machine_that_shows_none_and_descriptions_that_are_none(tmp_path: Path) -> None:
    assert find_top_down_events(str(tmp_path), str(tmp_path / "none")) is None
    assert find_events(tmp_path, "cpu", X86 | INTEL | {"events/slots": "event=what"}) is None
    assert find_events(tmp_path, "cpu", X86 | INTEL | {"format/umask": "config:8-999"}) is None


def test_counts_that_make_no_sense_together_are_not_told(tmp_path: Path) -> None:
    topdown = find_events(tmp_path, "cpu", X86 | OLD)
    assert topdown is not None
    counts = {"topdown-total-slots": 25.0, "topdown-slots-retired": 400.0, "topdown-slots-issued": 46.0}
    assert topdown.slot_shares(counts | {"topdown-fetch-bubbles": 20.0}) == {}


def make_zone(root: Path, name: str, kind: str, energy: int) -> None:
    (root / name).mkdir(exist_ok=True)
    for file, text in (("name", kind), ("energy_uj", energy), ("max_energy_range_uj", 262_143_328_850)):
        (root / name / file).write_text(f"{text}\n")


def test_packages_and_memory_with_wrap_around(tmp_path: Path) -> None:
    make_zone(tmp_path, "intel-rapl:0", "package-0", 262_143_000_000)
    make_zone(tmp_path, "intel-rapl:1", "package-1", 5_000_000)
    make_zone(tmp_path, "intel-rapl:0:0", "core", 1)
    make_zone(tmp_path, "intel-rapl:0:1", "dram", 7_000_000)
    energy = EnergyCounters(str(tmp_path))
    make_zone(tmp_path, "intel-rapl:0", "package-0", 2_000_000)
    make_zone(tmp_path, "intel-rapl:1", "package-1", 8_000_000)
    energy.add_energy()
    make_zone(tmp_path, "intel-rapl:1", "package-1", 9_000_000)
    energy.add_energy()
    joules = energy.joules_by_name()
    assert joules["energy_package_j"] == pytest.approx(2.0 + 0.32885 + 4.0)
    assert joules["energy_dram_j"] == 0.0


@every_case(
    ("energy", "error", "expected"),
    [
        (5, None, "readable"),
        (5, PermissionError, "permission"),
        (5, OSError, "unreadable"),
        ("none", None, "unreadable"),
        (None, None, "missing"),
    ],
)
def test_rights_that_lack_are_told_from_counters_that_are_not_there(
    energy: int | str | None,
    error: type[OSError] | None,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_zone(tmp_path, "intel-rapl:0", "psys", 0)  # neither packages nor DRAM
    if energy is not None:
        make_zone(tmp_path, "intel-rapl:1", "package-0", 0)
        (tmp_path / "intel-rapl:1/energy_uj").write_text(f"{energy}\n")
    read_bytes, read_text = Path.read_bytes, Path.read_text

    def refuse_energy(path: Path) -> None:
        if error is not None and path.name == "energy_uj":
            raise error("not for you")

    def bytes_of(path: Path) -> bytes:
        refuse_energy(path)
        return read_bytes(path)

    def text_of(path: Path, **options: str) -> str:
        refuse_energy(path)
        return read_text(path, **options)

    monkeypatch.setattr(Path, "read_bytes", bytes_of)
    monkeypatch.setattr(Path, "read_text", text_of)
    assert energy_counter_access(str(tmp_path)) == expected


def write_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@every_case(
    ("line", "folder", "stat", "unit"),
    [
        ("0::/a", "", "usage_usec 9\nthrottled_usec {}", 1_000_000),
        ("0::/a", "unified", "throttled_usec {}", 1_000_000),
        ("4:cpu,cpuacct:/a", "cpu,cpuacct", "nr_throttled 2\nthrottled_time {}", 1_000_000_000),
        ("4:cpu:/a", "cpu", "throttled_time {}", 1_000_000_000),
    ],
)
def test_what_a_group_was_held_back_since_it_was_seen(
    tmp_path: Path, line: str, folder: str, stat: str, unit: int
) -> None:
    write_file(tmp_path / "proc" / "7" / "cgroup", f"3:memory:/b\n{line}\n")
    counters = tmp_path / "groups" / folder / "a" / "cpu.stat"
    write_file(counters, stat.format(5 * unit))
    quota = TreeQuota(str(tmp_path / "proc"), str(tmp_path / "groups"))
    assert quota.throttled_s() is None
    quota.look_at_groups([7])
    counters.write_text(stat.format(7 * unit))
    quota.look_at_groups([7])
    assert quota.throttled_s() == 2.0


FAMILY = 31


def encode_message(task: EndedTask, version: int = 16, family: int = FAMILY) -> bytes:
    """One datagram as Linux 6.18 sends it: aggregate of one task, in it the number and the struct of 560 bytes."""
    stats = bytearray(560)
    struct.pack_into("=H", stats, 0, version)
    struct.pack_into(
        "=8Q", stats, 16, 7, task.waited_ns, 3, task.blocked_ns, 2, task.swapping_ns, 5, task.ran_ns
    )
    struct.pack_into("=4I", stats, 120, 0, 0, task.task, task.parent)
    struct.pack_into("=4Q", stats, 312, 9, task.reclaiming_ns, 9, task.thrashing_ns)
    inner = struct.pack("=HHI", 8, 1, task.task) + struct.pack("=HH", 4 + len(stats), 3) + stats
    body = struct.pack("=BBHHH", 2, 1, 0, 4 + len(inner), 4) + inner
    return struct.pack("=IHHII", 16 + len(body), family, 0, 0, 0) + body


DD = EndedTask(3577, 3575, 3_210_701, 13_733_511, 40_000_000, 5_000_000, 6_000_000, 7_000_000)


def test_a_task_that_ended() -> None:
    assert list(parse_ended_tasks(encode_message(DD), FAMILY)) == [DD]
    assert list(parse_ended_tasks(encode_message(DD) + encode_message(DD), FAMILY)) == [DD, DD]
    assert DD.reread_wait_ns == 7_000_000


@every_case(
    "bad",
    [
        b"",
        b"\0" * 64,
        encode_message(DD)[:200],
        encode_message(DD, version=15),
        encode_message(DD, version=8),
        encode_message(DD, family=2),
    ],
)
def test_what_is_no_such_message_or_of_another_layout_gives_nothing(bad: bytes) -> None:
    assert list(parse_ended_tasks(bad, FAMILY)) == []


def task(number: int, parent: int, ran_s: float = 0.1) -> EndedTask:
    return EndedTask(number, parent, int(ran_s * 1e9), 10**9, 2 * 10**9, 0, 0, 0)


def test_whose_they_are() -> None:
    child, thread, grandchild, orphan = task(11, 10), task(12, 10), task(13, 11), task(14, 10)
    strangers = [task(20, 1), task(21, 20), task(22, 30), task(30, 31), task(31, 30)]
    below = [grandchild, child, thread, orphan]  # a child may end before its parent has told anything
    assert tasks_below([*strangers[:2], *below, *strangers[2:]], 10) == below


def test_one_that_is_missing_makes_all_unknown() -> None:
    tasks = [task(11, 10), task(13, 11)]
    time_if_complete = task_time_if_complete(tasks, {11}, 0.2)
    assert time_if_complete is not None and (time_if_complete.waited_s, time_if_complete.blocked_s) == (
        2.0,
        4.0,
    )
    assert task_time_if_complete(tasks, {11, 14}, 0.2) is None  # waited for, and never told
    assert task_time_if_complete(tasks, {11}, 0.5) is None  # in a container with numbers of its own
    assert task_time_if_complete(None, set(), 0.0) is None
    assert task_time_if_complete([task(11, 10, 0.0)], {11}, 0.009) is not None  # shorter than a tick


def test_what_is_lost_is_not_told() -> None:
    exits = TaskExitListener()
    exits.close()
    exits._complete = False
    assert exits.ended_tasks_below(1) is None
    exits.take_messages()
