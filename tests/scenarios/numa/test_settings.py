"""Firmware settings, memory slots and the picture of the nodes."""

import random
import tarfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hostdx.probes.reading.host import Host
from hostdx.probes.system.nodes.numa import NumaNode, NumaTable
from hostdx.probes.system.processor.caches import Cache
from hostdx.probes.system.processor.frequency import read_frequency
from hostdx.probes.system.processor.topology import CpuTopology
from hostdx.scenarios.numa import picture as numa_picture
from hostdx.scenarios.numa.machine import CoreGroup, DrawnDevice, MachineShape, NodeOrSocket, read_machine
from hostdx.scenarios.numa.picture import COLUMNS, draw_picture
from hostdx.scenarios.numa.placements import (
    APART_OWN,
    RANDOM,
    SAME_OWN,
    SAME_SHARED,
    UNPINNED,
    choose_placements,
    loopback_placements,
    variant_line,
    why_placement_untestable,
)
from hostdx.scenarios.numa.settings import frequency_holder, limited_khz
from hostdx.scenarios.triage.cpus.slot import choose_pinning_slot
from hostdx.scenarios.triage.cpus.usable import UsableCpus
from hostdx.scenarios.workload import variants
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree
from tests.needs import not_here, some_always

P = "cpufreq/policy0"
CPU = "/sys/devices/system/cpu"


@every_case(
    ("files", "limit", "holder"),
    [
        ({}, None, None),
        ({f"{P}/scaling_max_freq": 1_200_000}, 1_200_000, None),
        ({f"{P}/scaling_governor": "powersave"}, None, "powersave"),
        ({f"{P}/scaling_governor": "userspace"}, None, "userspace"),
        ({f"{P}/scaling_governor": "powersave", f"{P}/scaling_driver": "intel_pstate"}, None, None),
        ({"intel_pstate/max_perf_pct": 50}, None, "performance limit"),
        ({"intel_pstate/max_perf_pct": 100}, None, None),
        ({"cpufreq/boost": 0}, None, "boost off"),
        # Some drivers lower the limit to the base clock with boost; below that somebody else did.
        (
            {"cpufreq/boost": 0, f"{P}/scaling_max_freq": 2_300_000, f"{P}/base_frequency": 2_300_000},
            None,
            "boost off",
        ),
        (
            {"cpufreq/boost": 0, f"{P}/scaling_max_freq": 1_200_000, f"{P}/base_frequency": 2_300_000},
            1_200_000,
            "boost off",
        ),
    ],
)
def test_what_keeps_the_clock_low(
    tmp_path: Path, files: dict[str, str | int], limit: int | None, holder: str | None
) -> None:
    tree = Tree(tmp_path)
    usual: dict[str, str | int] = {
        f"{P}/scaling_driver": "acpi-cpufreq",
        f"{P}/scaling_governor": "performance",
        f"{P}/scaling_max_freq": 3_500_000,
        f"{P}/cpuinfo_max_freq": 3_500_000,
        "cpufreq/boost": 1,
    }
    for name, value in (usual | files).items():
        tree.put(f"{CPU}/{name}", f"{value}\n")
    host, clock = tree.host(), read_frequency(tree.host())
    assert (limited_khz(host, clock), frequency_holder(host, clock)) == (limit, holder)


def _make_cpus(nodes: int, cores: int, threads: int = 2) -> UsableCpus:
    """Threads of a core are n and n + all cores; two L3 caches a node."""
    total = nodes * cores
    sets = {}
    for core in range(total):
        members = frozenset(core + total * t for t in range(threads))
        sets |= dict.fromkeys(members, members)
    of_node = [frozenset(n for n in sets if n % total // cores == node) for node in range(nodes)]
    online = frozenset(sets)
    topology = CpuTopology(
        known_cpus=online,
        online=online,
        offline=frozenset(),
        present=online,
        cores=sets,
        dies={},
        sockets={n: of_node[n % total // cores] for n in online},
        books={},
        drawers={},
        ids={n: n % total // cores for n in online},
        source="",
    )
    rows = [
        tuple(10 if a == b else 12 if abs(a - b) == 1 else 32 for b in range(nodes)) for a in range(nodes)
    ]
    table = NumaTable(
        nodes=tuple(
            NumaNode(number=n, cpus=of_node[n], memory_bytes=1 << 30, distances=rows[n]) for n in range(nodes)
        ),
        with_cpus=nodes,
        per_socket=1.0,
    )
    caches = tuple(
        Cache(
            level=3,
            kind="Unified",
            size_bytes=1 << 24,
            cpus=frozenset(c for c in cpus if c % cores // (cores // 2) == h),
        )
        for cpus in of_node
        for h in (0, 1)
        if cores > 1
    )
    return UsableCpus(topology, table, caches, online)


def test_several_nodes_the_near_one_first() -> None:
    usable = _make_cpus(4, 8)
    slot = choose_pinning_slot(usable, 12, frozenset({0}))
    assert slot is not None and slot.cores == 12 and slot.nodes in {(1, 2), (0, 1)}


def test_where_all_is_taken_it_lies_on_others() -> None:
    usable = _make_cpus(1, 8)
    slot = choose_pinning_slot(usable, 2, usable.cpus)
    assert slot is not None and slot.shared and slot.cores == 2


def test_without_nodes_cores_or_caches() -> None:
    usable = _make_cpus(1, 4)
    bare = UsableCpus(replace(usable.placed, cores={}), None, (), usable.cpus)
    slot = choose_pinning_slot(bare, 2)
    assert slot is not None and slot.cores == 2 and slot.nodes == ()


def test_a_command_of_the_users_own_in_the_same_places(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usable = _make_cpus(2, 8)
    lines = [variant_line(p, usable) for p in choose_placements(usable, random.Random(1))]
    assert lines[:4] == [
        "unpinned:",
        "one-node: cpus=0-7 node=0",
        "nodes-apart: cpus=0-3,8-11",
        "shared-cores: cpus=0-3,16-19 node=0",
    ]
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(usable.cpus))
    monkeypatch.setattr(variants, "_parse_memory_node", lambda text, _line: int(text))
    jobs = [variants.parse_variant(line, "true", str(tmp_path)) for line in lines]
    assert [job.id for job in jobs] == [UNPINNED, SAME_OWN, APART_OWN, SAME_SHARED, RANDOM]
    assert jobs[1].cpus == tuple(range(8)) and jobs[1].node == 0 and jobs[4].cpus


def test_where_no_end_of_a_connection_can_be_far() -> None:
    usable = _make_cpus(1, 4)
    assert (
        loopback_placements(usable, None)
        == loopback_placements(replace(usable, nodes=None), 0)
        == "one node has CPUs"
    )
    usable = _make_cpus(2, 1)
    assert loopback_placements(usable, 1) == "node 1 has one core"


@every_case(
    ("nodes", "cores", "threads", "reason"),
    [(1, 2, 1, "one node, no SMT: placement cannot be tested here"), (1, 2, 2, ""), (2, 2, 1, "")],
)
def test_where_it_cannot_be_tested(nodes: int, cores: int, threads: int, reason: str) -> None:
    usable = _make_cpus(nodes, cores, threads)
    assert why_placement_untestable(usable) == reason
    assert why_placement_untestable(replace(usable, cpus=frozenset({0}))).startswith("only one CPU")


@every_case(("nodes", "cores", "threads"), [(1, 2, 2), (2, 2, 1), (2, 4, 2), (8, 2, 2), (1, 6, 2)])
def test_placements_have_the_same_number_of_workers(nodes: int, cores: int, threads: int) -> None:
    usable = _make_cpus(nodes, cores, threads)
    placements = choose_placements(usable, random.Random(2))
    assert len({len(p.seats) for p in placements}) == 1 and len(placements) > 2
    for placement in placements[1:]:
        assert len({seat.cpus for seat in placement.seats}) == len(placement.seats)


TREES = Path(__file__).parents[4] / "shared" / "hosts"
ROOT, NODE = "/sys/devices/system/cpu", "/sys/devices/system/node"


def _large() -> MachineShape:
    """Two sockets, 16 nodes, 256 threads."""
    places = tuple(
        NodeOrSocket(
            number=n,
            sockets=(n // 8,),
            cpus=f"{n * 8}-{n * 8 + 7},{n * 8 + 128}-{n * 8 + 135}",
            cores=(CoreGroup(8, 2),),
            caches=((32 << 20, 1),),
            memory_bytes=(62 if n == 0 else 64) << 30,
            distances=tuple(10 if m == n else 11 if m // 8 == n // 8 else 32 for m in range(16)),
        )
        for n in range(16)
    )
    return MachineShape(
        model="AMD EPYC 7763 64-Core Processor",
        sockets=2,
        dies=2,
        cores=128,
        threads=256,
        threads_per_core=(2,),
        hybrid=False,
        places_are_nodes=True,
        places=places,
        devices=(DrawnDevice("NVMe", "nvme0n1", 3), DrawnDevice("NIC", "eth0", 9)),
        nodes=16,
        nodes_with_cpus=16,
    )


@settings(max_examples=20)
@given(
    st.text(max_size=300),
    st.text(max_size=300),
    st.integers(0, 1 << 60),
    st.lists(st.text(max_size=90), max_size=9),
)
def test_it_fits_whatever_the_host_says(model: str, cpus: str, memory: int, names: list[str]) -> None:
    place = msgspec.structs.replace(_large().places[0], cpus=cpus, memory_bytes=memory)
    devices = tuple(DrawnDevice("NVMe", name, 0) for name in names)
    text = msgspec.structs.replace(_large(), model=model, places=(place,), devices=devices, offline=cpus)
    for line in draw_picture(text):
        assert len(line) <= COLUMNS and (line.isprintable() or line == "")


@pytest.mark.parametrize(
    "name", some_always(("opteron-4s2n", "xeon-buggynuma"), ("epyc-7451", "hybrid-1p6c2t-8e", "disks-lvm"))
)
def test_real_machines(name: str, tmp_path: Path) -> None:
    archive = next(TREES.glob(f"{name}.tar.*"), None)
    if archive is None:
        not_here("the captured trees of real machines are not beside the project")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    shape = read_machine(Host(str(tmp_path)))
    lines = draw_picture(shape)
    assert lines and all(len(line) <= COLUMNS for line in lines)
    assert msgspec.convert(msgspec.to_builtins(shape), MachineShape) == shape


def test_thousands_of_unlike_nodes_are_counted_and_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = []
    alike = numa_picture._has_same_hardware
    monkeypatch.setattr(numa_picture, "_has_same_hardware", lambda *pair: pairs.append(pair) or alike(*pair))
    place = _large().places[0]
    many = tuple(msgspec.structs.replace(place, number=n, cores=(CoreGroup(n + 1, 1),)) for n in range(5000))
    lines = draw_picture(msgspec.structs.replace(_large(), places=many))
    assert "and 4984 more nodes, unlike these" in lines
    assert len(pairs) < 20 * len(many)


def test_lists_of_cpus_that_overlap_are_read_up_to_one_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    parse = numa_picture.parse_cpu_list
    monkeypatch.setattr(numa_picture, "parse_cpu_list", lambda text: read.append(text) or parse(text))
    place = msgspec.structs.replace(_large().places[1], cpus="0-40000")
    many = tuple(msgspec.structs.replace(place, number=n) for n in range(500))
    draw_picture(msgspec.structs.replace(_large(), places=many))
    assert len(read) <= 4
