"""Processors and NUMA nodes: counted by topology, and not believed where the firmware's table cannot be."""

import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostdx.probes.cpu_list import format_cpu_list, parse_cpu_list, parse_cpu_mask
from hostdx.probes.reading.host import Host
from hostdx.probes.system.processor.cpu import read_cpu, read_cpu_flags, read_cpu_model
from hostdx.probes.system.processor.frequency import read_frequency
from hostdx.probes.system.summary import summary_facts
from hostdx.probes.types import Absent, Fact, is_present
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree

Build = Callable[..., Tree]
ROOT = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"


@every_case("text", ["x", "3-1", "1-", "0-4000000000", "(null)", "1;2", "²", "0-65535," * 9])
def test_lists_that_are_none(text: str) -> None:
    assert parse_cpu_list(text) is None


def test_masks() -> None:
    assert parse_cpu_mask("00000000,00000105") == {0, 2, 8}
    assert parse_cpu_mask("1,00000000") == {32}
    assert parse_cpu_mask("xyz") is None and parse_cpu_mask("") is None


@given(st.frozensets(st.integers(0, 300)))
def test_a_list_reads_back(cpus: frozenset[int]) -> None:
    assert parse_cpu_list(format_cpu_list(cpus)) == cpus


def test_a_list_of_more_cpus_than_a_machine_has_is_none(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.put("/proc/cpuinfo", "\n\n".join(f"processor\t: {n}\nmodel name\t: x" for n in range(5)))
    assert read_cpu(tree.host()).threads == 5
    monkeypatch.setattr("hostdx.probes.system.processor.topology.MAX_CPUS", 4)
    assert isinstance(read_cpu(tree.host()).threads, Absent)


def test_frequencies_and_governors(tree: Tree) -> None:
    for number, governor in enumerate(("performance", "performance", "powersave")):
        folder = f"{ROOT}/cpufreq/policy{number}"
        tree.files(
            folder,
            scaling_governor=governor,
            scaling_driver="intel_pstate",
            cpuinfo_max_freq=3000000 + number,
        )
        tree.files(folder, cpuinfo_min_freq=800000, energy_performance_preference="performance")
    frequency = read_frequency(tree.files(f"{ROOT}/intel_pstate", no_turbo=1).host())
    assert is_present(frequency)
    assert frequency.governors == {"performance": 2, "powersave": 1} and frequency.driver == "intel_pstate"
    assert (frequency.highest_khz, frequency.turbo) == (3000002, False)
    assert isinstance(frequency.base_khz, Absent)


def test_old_kernels_have_a_cpufreq_folder_for_each_cpu(tree: Tree) -> None:
    tree.files(f"{ROOT}/cpu0/cpufreq", scaling_governor="ondemand", scaling_driver="acpi-cpufreq")
    frequency = read_frequency(tree.files(f"{ROOT}/cpufreq", boost=1).host())
    assert is_present(frequency) and frequency.governors == {"ondemand": 1} and frequency.turbo is True


def test_cores_of_several_kinds_without_smt_and_without_names(cpus: Build) -> None:
    tree = cpus([[0], [1]], socket=0)
    tree.put("/proc/cpuinfo", "processor : 0\nCPU part : 0xd05\n\nprocessor : 1\nCPU part : 0xd0a\n")
    assert read_cpu(tree.host()).hybrid is True


def test_nodes_without_lists_are_not_none(tree: Tree) -> None:
    from hostdx.probes.system.summary import summary_facts

    tree.files(f"{NODE}/node0", meminfo="Node 0 MemTotal: 1024 kB")
    entries = {(e.subject, e.name): e for e in summary_facts(tree.host())}
    assert entries["numa", "nodes"].absent.source == "/sys/devices/system/node/node*/cpulist"


def test_what_proc_does_not_tell_is_asked_of_py_cpuinfo_once_and_in_the_background(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ARM: /proc/cpuinfo has numbers for names, and old kernels no flags."""
    threads: list[str] = []

    def ask_cpuinfo() -> dict[str, object]:
        threads.append(threading.current_thread().name)
        return {"brand_raw": "Neoverse-N1", "flags": ["asimd", "fp"]}

    class Arm(Host):
        def read_file_text(
            self, path: str, limit_bytes: int = 1 << 20, *, may_hang: bool = False
        ) -> str | Absent:
            if path == "/proc/cpuinfo":
                return "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
            return super().read_file_text(path, limit_bytes, may_hang=may_hang)

    monkeypatch.setattr("cpuinfo.get_cpu_info", ask_cpuinfo)
    host = Arm()
    assert read_cpu_model(host) == "Neoverse-N1" and read_cpu_flags(host) == {"asimd", "fp"}
    facts = {
        f"{fact.subject} {fact.name}": fact.value for fact in summary_facts(host) if isinstance(fact, Fact)
    }
    assert facts["cpu model"] == "Neoverse-N1" and facts["cpu vendor"] == "ARM"
    assert threads == ["py-cpuinfo"]


def test_tools_of_py_cpuinfo_that_hang_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unnamed(Host):
        def read_file_text(
            self, path: str, limit_bytes: int = 1 << 20, *, may_hang: bool = False
        ) -> str | Absent:
            if path == "/proc/cpuinfo":
                return "processor\t: 0\n"
            return super().read_file_text(path, limit_bytes, may_hang=may_hang)

    released = threading.Event()
    monkeypatch.setattr("cpuinfo.get_cpu_info", lambda: {"brand_raw": str(released.wait(60.0))})
    monkeypatch.setattr("hostdx.probes.system.processor.cpu.CPUINFO_S", 0.1)
    try:
        brand = read_cpu_model(Unnamed())
        assert isinstance(brand, Absent) and brand.kind == "timeout"
    finally:
        released.set()
