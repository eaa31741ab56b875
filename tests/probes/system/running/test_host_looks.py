"""What happened between two looks, on trees with known counters."""

from collections.abc import Container
from itertools import pairwise
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.culprit import BusyProcess
from hostdx.probes.system.running.host_looks import (
    HostLook,
    LookState,
    group_by_user,
    look_between_states,
    read_look_state,
)
from hostdx.scenarios.analysis.incidents.looks import judge_looks
from tests.every_case import every_case


def write_tree(root: Path, turn: int, *, state: str = "S") -> None:
    """Ten seconds of known work a turn; process 70 writes 5 MB in each, process 71 is in `state` and does nothing."""
    files = {
        "proc/stat": f"cpu  {100 + 400 * turn} 0 {100 + 200 * turn} 1000 {100 + 300 * turn} 0 0 {100 * turn} 0 0\n"
        "cpu0 1 0 1 1 1 0 0 0 0 0\nprocs_running 4\nprocs_blocked 2\n",
        "proc/pressure/io": f"some avg10=0.00 avg60=0.00 avg300=0.00 total={turn * 2_500_000}\n",
        "proc/vmstat": f"pswpin {10 * turn}\npswpout {3000 * turn}\nallocstall_normal {5 * turn}\n"
        f"allocstall_dma32 {5 * turn}\n",
        "proc/diskstats": f"   8 0 sda {100 * turn} 0 8000 {100 * turn} {50 * turn} 0 {9000 * turn} {200 * turn} 0 "
        f"{9000 * turn} {300 * turn}\n   8 1 sda1 {100 * turn} 0 1 1 1 0 1 1 0 1 1\n",
        "proc/net/dev": "Inter-|   Receive\n face |bytes\n"
        f"    lo: {turn} 0 0 9 0 0 0 0 0 0 0 0 0 0 0 0\n"
        f"  eth0: {10_000 * turn} 0 0 {70 * turn} 0 0 0 0 {20_000 * turn} 0 0 0 0 0 0 0\n",
        "proc/net/rpc/nfs": f"net 0 0 0 0\nrpc {100 * turn} {20 * turn} 0\n",
        "proc/uptime": f"{1000 + 10 * turn}.00 1.00\n",
        "proc/70/stat": f"70 (dd of=x) S 1 1 1 0 -1 0 0 0 {400 * turn} 0 {100 * turn} {100 * turn} 0 0 20 0 1 0 500 0 0"
        "\n",
        "proc/70/io": f"rchar: 1\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 0\nwrite_bytes: {5_000_000 * turn}\n"
        "cancelled_write_bytes: 0\n",
        "proc/71/stat": f"71 (mysqld) {state} 1 1 1 0 -1 0 0 0 0 0 7 7 0 0 20 0 1 0 600 0 0\n",
        "sys/block/sda/size": "1\n",
        "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": f"{30 * turn}\n",
        "proc/fs/lustre/mdc/work-MDT0000-mdc-ffff8104435c8c00/stats": "snapshot_time 1315505833.280916 secs.usecs\n"
        f"req_waittime {1000 * turn} samples [usec] 32 4826358 {250_000_000 * turn} 670751020176306\n"
        "req_active 1885503 samples [reqs] 1 357 2176198 17811836\n",
        "proc/fs/lustre/osc/work-OST0000-osc-ffff8104435c8c00/stats": "snapshot_time 1315505833.280916 secs.usecs\n"
        f"req_waittime {1000 * turn} samples [usec] 32 4826358 {750_000_000 * turn} 670751020176306\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def look_at(root: Path, *states: str) -> HostLook:
    states_read: list[LookState] = []
    for turn, state in enumerate(states, 1):
        write_tree(root, turn, state=state)
        host = Host(str(root))
        states_read.append(read_look_state(host)._replace(boot_s=1000.0 + 10 * turn))
    return look_between_states(Host(str(root)), states_read[0], states_read[1])


def test_counters_become_rates_and_shares(tmp_path: Path) -> None:
    host_look = look_at(tmp_path, "S", "S")
    assert host_look.seconds == 10 and host_look.cpus == 1
    assert host_look.values["CPU"] == pytest.approx(
        {
            "user share": 0.4,
            "system share": 0.2,
            "idle share": 0.0,
            "iowait share": 0.3,
            "steal share": 0.1,
            "slowed by heat": 3.0,
        }
    )
    host = host_look.values["host"]
    assert (
        host["I/O pressure"] == 0.25 and host["pages swapped out"] == 300 and host["allocation stalls"] == 1
    )
    assert host["run queue"] == 3 and host["blocked tasks"] == 2 and host["NFS calls sent again"] == 2
    assert host["Lustre request time"] == 0.5, "a second of waiting for two requests, of two servers"
    assert host_look.values["disk:sda"]["utilisation"] == 0.9 and "disk:sda1" not in host_look.values
    assert host_look.values["net:eth0"] == {"received bytes": 1000, "receive drops": 7, "sent bytes": 2000}
    assert "net:lo" not in host_look.values
    assert host_look.total == pytest.approx((0.2, 500_000, 40))
    (use,) = host_look.processes
    assert (use.name, use.cpus, use.io_rate, use.major_faults) == ("dd of=x", 0.2, 500_000, 40)


@every_case(("states", "stuck"), [(("D", "D"), 1), (("S", "D"), 0), (("D", "S"), 0), (("R", "R"), 0)])
def test_a_process_that_waits_in_both_looks_is_stuck(
    tmp_path: Path, states: tuple[str, str], stuck: int
) -> None:
    assert look_at(tmp_path, *states).values["host"]["stuck tasks"] == stuck


OLD_KERNELS = {  # names in /proc/vmstat: mm/vmstat.c of that release; both run without /proc/pressure
    "3.10": "allocstall {0}\npgscan_direct_dma32 {1}\npgscan_direct_normal {1}\npgscan_direct_throttle 77{0}\n",
    "4.18": "allocstall_dma 0\nallocstall_normal {0}\nallocstall_movable 0\npgscan_direct {2}\n"
    "pgscan_direct_throttle 77{0}\n",
}


def test_a_process_that_moved_a_byte_in_between_is_slow_and_not_stuck(tmp_path: Path) -> None:
    states = []
    for written in (4096, 8192):
        write_tree(tmp_path, 1, state="D")
        (tmp_path / "proc/71/io").write_text(
            f"read_bytes: 0\nwrite_bytes: {written}\ncancelled_write_bytes: 0\n"
        )
        states.append(read_look_state(Host(str(tmp_path)))._replace(boot_s=float(written)))
    host_look = look_between_states(Host(str(tmp_path)), *states)
    assert host_look.values["host"]["stuck tasks"] == 0


def old_looks(root: Path, kernel: str, busy: Container[int], stalled: Container[int]) -> list[HostLook]:
    """While `busy`, sda is at its limit and dd writes; while `stalled`, memory is short."""
    looks, states = [], []
    ticks = reads = stalls = 0
    for turn in range(120):
        reads, ticks = reads + (2 if turn in busy else 1), ticks + (990 if turn in busy else 50)
        stalls += 1000 if turn in stalled else 0
        write_tree(root, turn)
        (root / "proc/pressure/io").unlink()
        (root / "proc/vmstat").write_text(
            "pswpin 0\npswpout 0\n" + OLD_KERNELS[kernel].format(stalls, 50 * stalls, 100 * stalls)
        )
        (root / "proc/stat").write_text(f"cpu  {100 * turn} 0 0 {900 * turn} 0 0 0 0 0 0\ncpu0 1\n")
        written = 50_000_000 * sum(n in busy for n in range(turn + 1))
        disk = f"8 0 sda {100 * reads} 0 8000 {100 * ticks} 0 0 {written // 512} 0 0 {10 * ticks} {100 * ticks}\n"
        (root / "proc/diskstats").write_text(disk)
        (root / "proc/70/io").write_text(f"read_bytes: 0\nwrite_bytes: {written}\ncancelled_write_bytes: 0\n")
        states.append(
            read_look_state(Host(str(root)))._replace(wall_s=1.795e9 + 10 * turn, boot_s=1e3 + 10.0 * turn)
        )
    for before, after in pairwise(states):
        looks.append(look_between_states(Host(str(root)), before, after))
    return looks


@every_case("kernel", OLD_KERNELS)
def test_an_old_kernel_without_pressure_shows_the_disk_and_the_memory(tmp_path: Path, kernel: str) -> None:
    looks = old_looks(tmp_path, kernel, busy=range(40, 62), stalled=range(80, 100))
    assert not any("pressure" in metric for look in looks for metric in look.values["host"])
    timeline = judge_looks(looks)
    assert timeline is not None
    incidents = {incident.cause: incident for incident in timeline.incidents}
    assert set(incidents) == {"disk", "memory"}
    assert (incidents["disk"].began_s, incidents["disk"].ended_s) == (380, 600)
    assert incidents["disk"].culprit is not None and incidents["disk"].culprit.name == "dd of=x"
    assert (incidents["memory"].began_s, incidents["memory"].ended_s) == (780, 980)
    levels = {symptom.metric: symptom.level for symptom in incidents["memory"].symptoms}
    assert levels == {"allocation stalls": 100, "pages scanned directly": 10_000}


def test_what_a_loop_devices_worker_moves_is_counted_once(tmp_path: Path) -> None:
    states_read = []
    for turn in (1, 2):
        write_tree(tmp_path, turn)
        worker = tmp_path / "proc/72"
        worker.mkdir(exist_ok=True)
        (worker / "stat").write_text(
            f"72 (kworker/u8:7-loop0) S 2 0 0 0 -1 69238880 0 0 0 0 0 {60 * turn} 0 0 20 0 1 0 500 0 0\n"
        )
        (worker / "io").write_text((tmp_path / "proc/70/io").read_text())
        states_read.append(read_look_state(Host(str(tmp_path)))._replace(boot_s=1000.0 + 10 * turn))
    states = look_between_states(Host(str(tmp_path)), *states_read)
    assert states.total == pytest.approx((0.26, 500_000, 40)), "its CPU time is its own"
    assert {use.name: use.io_rate for use in states.processes} == {
        "dd of=x": 500_000,
        "kworker/u8:7-loop0": 0,
    }


def test_a_command_is_told_by_its_users_and_nobody_is_lost() -> None:
    users = ["ann", "ann", "bob", "cy", "dan", "eve", ""]
    processes = [BusyProcess(pid, "python3", 0.5 + (user == "bob")) for pid, user in enumerate(users)]
    groups = group_by_user(processes, users.__getitem__)
    assert sorted(groups) == ["", "ann", "bob", "cy"] and [p.pid for p in groups["ann"]] == [0, 1]
    assert sorted(p.pid for members in groups.values() for p in members) == list(range(7))


def test_what_cannot_be_read_is_no_value(tmp_path: Path) -> None:
    host = Host(str(tmp_path))
    state = read_look_state(host)
    states = look_between_states(host, state, state._replace(boot_s=state.boot_s + 10))
    assert (
        "CPU" not in states.values
        and states.processes == ()
        and not any("pressure" in n for n in states.values["host"])
    )


def test_a_counter_that_ran_backwards_is_nothing(tmp_path: Path) -> None:
    write_tree(tmp_path, 5)
    host = Host(str(tmp_path))
    before = read_look_state(host)._replace(boot_s=0.0)
    write_tree(tmp_path, 1)
    after = read_look_state(Host(str(tmp_path)))._replace(boot_s=10.0)
    states = look_between_states(host, before, after)
    assert all(value >= 0 for values in states.values.values() for value in values.values())
    assert min(states.total) >= 0
