"""Which CPUs a job gets, and the placements that a topology offers."""

import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from hostdx.probes.system.nodes.numa import NumaNode, NumaTable
from hostdx.probes.system.processor.caches import Cache
from hostdx.probes.system.processor.topology import CpuTopology
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
from hostdx.scenarios.triage.cpus.slot import choose_slot
from hostdx.scenarios.triage.cpus.usable import UsableCpus
from hostdx.scenarios.workload import variants
from tests.every_case import every_case


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
    slot = choose_slot(usable, 12, frozenset({0}))
    assert slot is not None and slot.cores == 12 and slot.nodes in {(1, 2), (0, 1)}


def test_where_all_is_taken_it_lies_on_others() -> None:
    usable = _make_cpus(1, 8)
    slot = choose_slot(usable, 2, usable.cpus)
    assert slot is not None and slot.shared and slot.cores == 2


def test_without_nodes_cores_or_caches() -> None:
    usable = _make_cpus(1, 4)
    bare = UsableCpus(replace(usable.placed, cores={}), None, (), usable.cpus)
    slot = choose_slot(bare, 2)
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
    monkeypatch.setattr(variants, "_parse_node", lambda text, _line: int(text))
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
