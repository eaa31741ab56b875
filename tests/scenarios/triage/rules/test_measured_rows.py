"""Rows with figures of captured hosts: each in the unit that rules compare in."""

from pathlib import Path
from typing import Any

import pytest

from hostdx.scenarios.triage.rules.subjects.cpu import (
    rapl_package_rows,
    sensor_rows,
    stat_rows,
    throttle_rows,
)
from hostdx.scenarios.triage.rules.subjects.disk import disk_rows
from hostdx.scenarios.triage.rules.subjects.memory import dimm_rows
from tests.fakes.hosts.tree import Tree

CPU = "/sys/devices/system/cpu"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def only_row(rows: Any) -> Any:
    assert isinstance(rows, list)
    [row] = rows
    return row


def test_events_of_a_package_are_told_by_each_of_its_cores_and_count_once(tree: Tree) -> None:
    for cpu, own in ((0, 3), (1, 4)):
        folder = f"{CPU}/cpu{cpu}/thermal_throttle"
        tree.files(folder, core_throttle_count=own, package_throttle_count=50)
    tree.put("/proc/uptime", "7200.00 9.00\n")
    row = only_row(throttle_rows(tree.host()))
    assert (row["core"], row["package"], row["hours"]) == (7, 50, 2.0)


def test_sensors_speak_in_thousandths_of_a_degree(tree: Tree) -> None:
    tree.files(
        "/sys/class/hwmon/hwmon0", name="coretemp", temp1_input=61500, temp1_crit=100000, temp1_max=80000
    )
    row = only_row(sensor_rows(tree.host()))
    assert (row["celsius"], row["critical"], row["high"], row["alarm"]) == (61.5, 100.0, 80.0, False)


def test_power_limits_are_in_microwatts(tree: Tree) -> None:
    tree.files(
        "/sys/class/powercap/intel-rapl:0",
        name="package-0",
        constraint_0_power_limit_uw=125_000_000,
        constraint_0_max_power_uw=250_000_000,
    )
    row = only_row(rapl_package_rows(tree.host()))
    assert (row["limit_w"], row["most_w"]) == (125.0, 250.0)


def test_shares_of_cpu_time_since_boot(tree: Tree) -> None:
    """user, nice, system, idle, iowait, irq, softirq, steal; guest time is part of user's."""
    tree.put("/proc/stat", "cpu  100 20 60 500 200 5 15 100 90 0\ncpu0 100 20 60 500 200 5 15 100 90 0\n")
    tree.put(f"{CPU}/online", "0\n")
    row = only_row(stat_rows(tree.host()))
    assert (row["steal"], row["iowait"], row["softirq"], row["busy"]) == (0.1, 0.2, 0.015, 0.3)
    assert (row["busiest_softirq"], row["busiest_softirq_cpu"], row["seconds"]) == (0.015, 0, 10.0)
    assert row["system"] == pytest.approx(60 / 180)


DIMM = "Memory Device\n\tSize: {}\n\tLocator: {}\n\tSpeed: {} MT/s\n\tConfigured Memory Speed: {} MT/s\n\n"


def test_the_slowest_module_sets_the_speed_and_an_empty_channel_is_seen(tree: Tree) -> None:
    modules = (("16 GB", "CPU1_DIMM_A1", 3200, 2933), ("16 GB", "CPU1_DIMM_B1", 2933, 2666))
    text = "".join(DIMM.format(*module) for module in modules)
    text += "Memory Device\n\tSize: No Module Installed\n\tLocator: CPU1_DIMM_C1\n"
    tree.put("/sos_commands/hardware/dmidecode", text)
    row = only_row(dimm_rows(tree.host()))
    assert (row["slots"], row["filled"], row["empty_channels"]) == (3, 2, 1)
    assert (row["rated"], row["configured"], row["uneven"]) == (2933, 2666, True)


def test_a_queues_sizes_are_in_kib(tree: Tree) -> None:
    path = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda"
    tree.disk(path, read_ahead_kb=128, max_sectors_kb=1280, max_hw_sectors_kb=32767)
    row = only_row(disk_rows(tree.host()))
    assert (row["read_ahead"], row["max_sectors"]) == (128 << 10, 1280 << 10)
    assert row["max_hw_sectors"] == 32767 << 10
