"""Processors and NUMA nodes: counted by topology, and not believed where the firmware's table cannot be."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.reading.host import Host
from probes.system.nodes.numa import read_numa
from probes.system.processor.cpu import read_brand, read_cpu, read_flags
from probes.system.processor.cpulist import as_list, parse_list, parse_mask
from probes.system.processor.frequency import read_frequency
from probes.system.summary import summary_facts
from probes.types import Absent, Fact, is_present
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree

Build = Callable[..., Tree]
ROOT = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"


@every_case(
    ("text", "cpus"),
    [
        ("0-3,8", {0, 1, 2, 3, 8}),
        ("", set()),
        ("5\n", {5}),
        ("0-7:2/4", {0, 1, 4, 5}),
        ("0,0-1", {0, 1}),
        ("0-3\0\n", {0, 1, 2, 3}),
    ],
)
def test_lists(text: str, cpus: set[int]) -> None:
    assert parse_list(text) == cpus


@every_case("text", ["x", "3-1", "1-", "0-4000000000", "(null)", "1;2", "²", "0-65535," * 9])
def test_lists_that_are_none(text: str) -> None:
    assert parse_list(text) is None


def test_masks() -> None:
    assert parse_mask("00000000,00000105") == {0, 2, 8}
    assert parse_mask("1,00000000") == {32}
    assert parse_mask("xyz") is None and parse_mask("") is None


@given(st.frozensets(st.integers(0, 300)))
def test_a_list_reads_back(cpus: frozenset[int]) -> None:
    assert parse_list(as_list(cpus)) == cpus


def test_two_sockets_with_smt(cpus: Build) -> None:
    cpus([[0, 4], [1, 5]], socket=0)
    it = read_cpu(cpus([[2, 6], [3, 7]], socket=1).host())
    assert (it.sockets, it.cores, it.threads, it.present, it.threads_per_core) == (2, 4, 8, 8, (2,))
    assert it.smt == "on" and it.hybrid is False


def test_hybrid_by_threads_a_core(cpus: Build) -> None:
    it = read_cpu(cpus([[0, 1], [2, 3], [4], [5]]).host())
    assert (it.cores, it.threads, it.threads_per_core, it.hybrid) == (4, 6, (1, 2), True)


def test_hybrid_by_the_kernels_own_units(cpus: Build) -> None:
    tree = cpus([[0], [1]])
    tree.put("/sys/devices/cpu_core/cpus", "0").put("/sys/devices/cpu_atom/cpus", "1")
    assert read_cpu(tree.host()).hybrid is True


def test_hybrid_by_capacity(cpus: Build) -> None:
    tree = cpus([[0], [1]])
    for number, capacity in enumerate((1024, 446)):
        tree.files(f"{ROOT}/cpu{number}", cpu_capacity=capacity)
    assert read_cpu(tree.host()).hybrid is True


def test_offline_threads_do_not_count_and_hide_what_is_hybrid(cpus: Build) -> None:
    tree = cpus([[0, 1], [2, 3]]).files(f"{ROOT}/cpu1", online=0)
    for name in ("thread_siblings_list", "physical_package_id", "core_id"):
        (tree.root / f"{ROOT}/cpu1/topology/{name}".lstrip("/")).unlink()  # the kernel removes them
    it = read_cpu(tree.host())
    assert (it.cores, it.threads, it.present, it.offline) == (2, 3, 4, frozenset({1}))
    assert isinstance(it.hybrid, Absent)


def test_folders_for_cpus_that_may_be_plugged_in_do_not_count(cpus: Build) -> None:
    tree = cpus([[0], [1]]).files(ROOT, online="0-1", present="0-1", possible="0-15", offline="2-15")
    tree.put(f"{ROOT}/cpu2/crash_notes", "")
    it = read_cpu(tree.host())
    assert (it.threads, it.present, it.offline) == (2, 2, frozenset())


def test_smt_in_the_kernels_words(cpus: Build) -> None:
    assert read_cpu(cpus([[0], [1]]).files(f"{ROOT}/smt", control="forceoff").host()).smt == "forceoff"


def test_names(tree: Tree) -> None:
    tree.put(
        "/proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD  EPYC 7451\nflags\t\t: fpu sse\n\n",
    )
    it = read_cpu(tree.host())
    assert (it.vendor, it.model, it.threads) == ("AuthenticAMD", "AMD EPYC 7451", 1)
    assert "sse" in it.flags and isinstance(it.cores, Absent)


def test_a_list_of_more_cpus_than_a_machine_has_is_none(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.put("/proc/cpuinfo", "\n\n".join(f"processor\t: {n}\nmodel name\t: x" for n in range(5)))
    assert read_cpu(tree.host()).threads == 5
    monkeypatch.setattr("probes.system.processor.topology.MAX_CPUS", 4)
    assert isinstance(read_cpu(tree.host()).threads, Absent)


def test_arm_tells_a_number_for_its_vendor(tree: Tree) -> None:
    tree.put(
        "/proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0xc0\nCPU part\t: 0xac3\n"
    )
    it = read_cpu(tree.host())
    assert it.vendor == "Ampere" and isinstance(it.model, Absent) and "asimd" in it.flags
    assert isinstance(read_brand(tree.host()), Absent)


def test_an_empty_tree_says_why(tree: Tree) -> None:
    it = read_cpu(tree.host())
    for value in (it.vendor, it.model, it.sockets, it.cores, it.threads, it.present, it.hybrid):
        assert isinstance(value, Absent)
    assert isinstance(read_numa(tree.host()), Absent)
    assert isinstance(read_frequency(tree.host()), Absent)


def test_nodes_a_socket(cpus: Build) -> None:
    for number in range(4):
        tree = cpus([[number * 2], [number * 2 + 1]], socket=number // 2, node=number)
    tree.files(f"{NODE}/node0", meminfo="Node 0 MemTotal:       16384 kB", distance="10 12 32 32")
    it = read_numa(tree.host())
    assert is_present(it)
    assert (len(it.nodes), it.with_cpus, it.per_socket, it.doubt) == (4, 4, 2.0, "")
    assert it.nodes[0].memory_bytes == 16384 * 1024 and it.nodes[0].distances == (10, 12, 32, 32)
    assert it.nodes[1].distances == ()  # two numbers for four nodes are no row of the table


def test_memory_only_nodes_do_not_count(cpus: Build) -> None:
    tree = cpus([[0], [1]], node=0).files(f"{NODE}/node1", cpulist="", meminfo="Node 1 MemTotal: 1 kB")
    it = read_numa(tree.host())
    assert is_present(it) and (len(it.nodes), it.with_cpus, it.per_socket) == (2, 1, 1.0)


def test_nodes_that_share_their_cpus_are_not_credible(cpus: Build) -> None:
    tree = cpus([[0], [1]], socket=0)
    for node in range(8):
        tree.files(f"{NODE}/node{node}", cpumap="3")
    it = read_numa(tree.host())
    assert is_present(it) and "more than one node" in it.doubt and isinstance(it.per_socket, Absent)


def test_nodes_across_sockets_are_not_credible_unless_there_are_fewer(cpus: Build) -> None:
    cpus([[0], [1]], socket=0)
    tree = cpus([[2], [3]], socket=1)
    tree.files(f"{NODE}/node0", cpulist="0-3")
    interleaved = read_numa(tree.host())
    assert is_present(interleaved) and (interleaved.doubt, interleaved.per_socket) == ("", 0.5)  # NPS0
    tree.files(f"{NODE}/node0", cpulist="0,2").files(f"{NODE}/node1", cpulist="1,3")
    mixed = read_numa(tree.host())
    assert is_present(mixed) and "several sockets" in mixed.doubt


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
    it = read_frequency(tree.files(f"{ROOT}/intel_pstate", no_turbo=1).host())
    assert is_present(it)
    assert it.governors == {"performance": 2, "powersave": 1} and it.driver == "intel_pstate"
    assert (it.highest_khz, it.turbo) == (3000002, False)
    assert isinstance(it.base_khz, Absent)


def test_old_kernels_have_a_cpufreq_folder_for_each_cpu(tree: Tree) -> None:
    tree.files(f"{ROOT}/cpu0/cpufreq", scaling_governor="ondemand", scaling_driver="acpi-cpufreq")
    it = read_frequency(tree.files(f"{ROOT}/cpufreq", boost=1).host())
    assert is_present(it) and it.governors == {"ondemand": 1} and it.turbo is True


def test_cores_of_several_kinds_without_smt_and_without_names(cpus: Build) -> None:
    tree = cpus([[0], [1]], socket=0)
    tree.put("/proc/cpuinfo", "processor : 0\nCPU part : 0xd05\n\nprocessor : 1\nCPU part : 0xd0a\n")
    assert read_cpu(tree.host()).hybrid is True


def test_nodes_without_lists_are_not_none(tree: Tree) -> None:
    from probes.system.summary import summary_facts

    tree.files(f"{NODE}/node0", meminfo="Node 0 MemTotal: 1024 kB")
    entries = {(e.subject, e.name): e for e in summary_facts(tree.host())}
    assert entries["numa", "nodes"].absent.source == "/sys/devices/system/node/node*/cpulist"


def test_what_proc_does_not_tell_is_asked_of_py_cpuinfo_once_and_in_the_background(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ARM: /proc/cpuinfo has numbers for names, and old kernels no flags."""
    asked: list[str] = []

    def told() -> dict[str, object]:
        asked.append(threading.current_thread().name)
        return {"brand_raw": "Neoverse-N1", "flags": ["asimd", "fp"]}

    class Arm(Host):
        def read_file_text(
            self, path: str, limit_bytes: int = 1 << 20, *, may_hang: bool = False
        ) -> str | Absent:
            if path == "/proc/cpuinfo":
                return "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
            return super().read_file_text(path, limit_bytes, may_hang=may_hang)

    monkeypatch.setattr("cpuinfo.get_cpu_info", told)
    host = Arm()
    assert read_brand(host) == "Neoverse-N1" and read_flags(host) == {"asimd", "fp"}
    facts = {f"{one.subject} {one.name}": one.value for one in summary_facts(host) if isinstance(one, Fact)}
    assert facts["cpu model"] == "Neoverse-N1" and facts["cpu vendor"] == "ARM"
    assert asked == ["py-cpuinfo"]


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
    monkeypatch.setattr("probes.system.processor.cpu.CPUINFO_S", 0.1)
    try:
        brand = read_brand(Unnamed())
        assert isinstance(brand, Absent) and brand.kind == "timeout"
    finally:
        released.set()
