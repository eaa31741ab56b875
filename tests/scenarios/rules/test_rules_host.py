"""Rules about the host as a whole, on small captured trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from probes.host import Host
from scenarios.rules import host as rules
from scenarios.rules.rule import Inapplicable, Unreadable


def put(root: Path, path: str, text: str) -> Host:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return Host(str(root))


CPU = "sys/devices/system/cpu"


@pytest.mark.parametrize(
    ("governor", "driver", "ids"),
    [
        ("powersave", "acpi-cpufreq", ["host.governor"]),
        ("powersave", "intel_pstate", []),  # an active driver's powersave scales up by itself
        ("performance", "acpi-cpufreq", []),
        ("schedutil", "acpi-cpufreq", []),
    ],
)
def test_only_a_governor_that_pins_the_clock_speaks(
    tmp_path: Path, governor: str, driver: str, ids: list[str]
) -> None:
    put(tmp_path, f"{CPU}/cpu0/cpufreq/scaling_driver", f"{driver}\n")
    host = put(tmp_path, f"{CPU}/cpu0/cpufreq/scaling_governor", f"{governor}\n")
    assert [f.id for f in rules.governor(host)] == ids


def test_no_frequency_driver_is_not_applicable(tmp_path: Path) -> None:
    with pytest.raises(Inapplicable):
        list(rules.governor(Host(str(tmp_path))))


@pytest.mark.parametrize(("average", "ids"), [("12.75", ["host.pressure-io"]), ("3.00", [])])
def test_pressure_speaks_from_a_tenth_on(tmp_path: Path, average: str, ids: list[str]) -> None:
    host = put(
        tmp_path,
        "proc/pressure/io",
        f"some avg10=0.00 avg60={average} avg300=0.25 total=1842555\nfull avg10=0.00 avg60=0.07 avg300=0.24 total=1\n",
    )
    assert [f.id for f in rules.pressure(host)] == ids


def test_pressure_that_is_switched_off_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="psi=1"):
        list(rules.pressure(Host(str(tmp_path))))


def test_only_cpus_that_are_there_count_as_switched_off(tmp_path: Path) -> None:
    put(tmp_path, f"{CPU}/present", "0-7\n")
    host = put(tmp_path, f"{CPU}/offline", "4-5,8-127\n")
    found = list(rules.offline(host))
    assert [f.title for f in found] == ["2 CPUs are switched off"]
    put(tmp_path, f"{CPU}/offline", "8-127\n")
    assert list(rules.offline(host)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0-3,8\n", {0, 1, 2, 3, 8}), ("", set()), ("x,2-", {2}), ("5", {5}), ("0-99999999", set())],
)
def test_cpu_lists_of_any_shape(text: str, expected: set[int]) -> None:
    assert rules.cpu_list(text) == expected


def test_a_quota_that_stops_tasks_is_told(tmp_path: Path) -> None:
    host = put(tmp_path, "sys/fs/cgroup/cpu.stat", "usage_usec 5\nnr_periods 100\nnr_throttled 40\n")
    assert [f.id for f in rules.quota(host)] == ["host.cpu-quota"]
    put(tmp_path, "sys/fs/cgroup/cpu.stat", "usage_usec 5\nnr_periods 0\nnr_throttled 0\n")
    with pytest.raises(Inapplicable):
        list(rules.quota(host))


@pytest.mark.parametrize(("source", "ids"), [("hpet", ["host.clock-source"]), ("tsc", []), ("kvm-clock", [])])
def test_a_slow_clock_source_speaks(tmp_path: Path, source: str, ids: list[str]) -> None:
    host = put(tmp_path, "sys/devices/system/clocksource/clocksource0/current_clocksource", f"{source}\n")
    assert [f.id for f in rules.clock_source(host)] == ids
