"""A variant's control group: limits as the kernel takes them, and what is said where it cannot be had."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from hostdx.probes.engine.command import group_counters
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.model import Options
from hostdx.scenarios.workload import group
from hostdx.scenarios.workload.group import explain_missing, group_action, limits_to_carry_over, parse_limit
from hostdx.scenarios.workload.scenario import CommandUnderVariants, _make_group_and_get_path
from hostdx.scenarios.workload.variants import parse_variant
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree
from tests.fakes.run import FakeRun


@every_case(
    ("name", "value", "written"),
    [
        ("memory.max", "2G", "2G"),
        ("cpu.max", "50%", "50000 100000"),
        ("cpu.max", "150%", "150000 100000"),
        ("cpu.max", "max", "max"),
        ("pids.max", "100", "100"),
    ],
)
def test_a_limit_as_the_kernel_takes_it(name: str, value: str, written: str) -> None:
    assert parse_limit(name, value, "a") == written
    variant = parse_variant(f"a: {name}={value}", "true", "/")
    assert variant.limits == {name: written} and variant.own == {name: value}


def test_a_controller_that_is_not_enabled_is_named(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory\n")
    assert explain_missing(Host(), str(tmp_path), {"memory.max": "1G"}) == ""
    assert "controller io is not enabled" in explain_missing(Host(), str(tmp_path), {"io.max": "8:0 rbps=1"})
    assert (
        explain_missing(Host(), Absent("needs root", "permission"), {"memory.max": "1"})
        == "memory.max: needs root"
    )
    assert explain_missing(Host(), Absent("needs root", "permission"), {}) == ""
    action = group_action("a", "/sys/fs/cgroup", {"memory.max": "1G"})
    assert (
        not action.needs_consent
        and action.parameters == {"memory.max": "1G"}
        and "memory.max=1G" in action.title
    )


def test_what_a_group_counted_between_two_looks(tmp_path: Path) -> None:
    line = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
    (tmp_path / "cpu.pressure").write_text(line.format(1_000_000))
    (tmp_path / "memory.pressure").write_text(line.format(5_000_000))
    (tmp_path / "memory.events").write_text("low 0\nhigh 2\nmax 40\noom 0\noom_kill 0\n")
    refaults = "workingset_refault_anon {}\nworkingset_refault_file {}\n"
    (tmp_path / "memory.stat").write_text(f"anon 4096\npgsteal 10\n{refaults.format(3, 1)}")
    before = group_counters.read_group_counters(str(tmp_path))
    (tmp_path / "cpu.pressure").write_text(line.format(3_500_000))
    full = "full avg10=0.00 avg60=0.00 avg300=0.00 total=500007\n"
    (tmp_path / "memory.pressure").write_text(line.format(6_000_000).splitlines()[0] + f"\n{full}")
    (tmp_path / "memory.events").write_text("low 0\nhigh 3\nmax 50\noom 0\noom_kill 0\n")
    (tmp_path / "memory.stat").write_text(f"anon 4096\npgsteal 10\n{refaults.format(5, 5)}")
    counters_since = group_counters.group_counters_since(
        before, group_counters.read_group_counters(str(tmp_path))
    )
    assert counters_since["cpu_pressure_s"] == 2.5 and counters_since["io_pressure_s"] is None
    assert (
        counters_since["swapped_in_bytes"] == 2 * group_counters._PAGE
        and counters_since["reclaimed_bytes"] == 0
    )
    assert counters_since["memory_pressure_s"] == 1.0 and counters_since["memory_full_s"] == 0.5
    assert (
        counters_since["limit_hits"] == 11 and counters_since["refaulted_bytes"] == 6 * group_counters._PAGE
    )


def test_a_group_without_the_memory_controller_counts_none_of_it(tmp_path: Path) -> None:
    counters_since = group_counters.group_counters_since(
        group_counters.read_group_counters(str(tmp_path)), group_counters.read_group_counters(str(tmp_path))
    )
    assert set(counters_since.values()) == {None} and "limit_hits" in counters_since


@pytest.fixture
def limited_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """hostdx as root in /batch.slice/job, below a quota, memory limits and a cpuset."""
    monkeypatch.setattr(group.os, "geteuid", lambda: 0)
    monkeypatch.setattr(group.os, "access", lambda path, mode: True)
    tree = Tree(tmp_path)
    tree.put("/proc/self/cgroup", "0::/batch.slice/job\n")
    tree.put("/proc/self/mountinfo", "30 1 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    tree.files(
        "/sys/fs/cgroup", **{"cpuset.cpus.effective": "0-3", "cgroup.subtree_control": "cpu memory cpuset"}
    )
    batch = "/sys/fs/cgroup/batch.slice"
    tree.files(batch, **{"cpu.max": "75000 100000", "memory.max": 1 << 30, "memory.high": "max"})
    tree.files(batch, **{"cpuset.cpus.effective": "0-1", "cpuset.mems.effective": "0"})
    tree.files(f"{batch}/job", **{"cpu.max": "100000 50000", "memory.max": "max", "memory.high": 512 << 20})
    return tree.host()


OWN = {
    "cpu.max": "75000 100000",
    "memory.max": str(1 << 30),
    "memory.high": str(512 << 20),
    "cpuset.cpus": "0-1",
    "cpuset.mems": "0",
}


def test_a_variant_has_the_limits_of_the_callers_own_group(limited_host: Host) -> None:
    scenario = CommandUnderVariants()
    values = {"cmd": "true", "variant": ["asis:", "free: cpu.max=max"], "cwd": "/"}
    plan = scenario.prepare(limited_host, Options(values, scenario.options)).plan
    first, second = (action.parameters for action in plan.actions if action.resource == "cgroup")
    assert first == OWN and second == OWN | {"cpu.max": "max"} and not plan.refusal
    limits = limits_to_carry_over(limited_host, "/sys/fs/cgroup")
    assert limits.limits_sentence in plan.sentences and limits.group == "/batch.slice/job"


def test_the_run_makes_the_group_that_the_plan_shows(limited_host: Host) -> None:
    async def make_group(run: FakeRun) -> None:
        async with AsyncExitStack() as stay:
            await _make_group_and_get_path(run, stay, parse_variant("a: memory.max=2G", "true", "/"))

    run = FakeRun(host=limited_host)
    asyncio.run(make_group(run))
    [action] = run.applied
    assert action.parameters == OWN | {"memory.max": "2G"}
