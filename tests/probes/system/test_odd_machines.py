"""Machines that are odd or lie: counted as lscpu counts them, drawn in 80 columns, and nothing false found on them."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from hostdx.probes.system.nodes.nodes_per_socket import read_nodes_per_socket
from hostdx.probes.system.nodes.numa import read_numa
from hostdx.probes.system.processor.cpu import read_cpu
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract.model import OptionMap
from hostdx.scenarios.contract.rule import FactUnreadable, RuleInapplicable
from hostdx.scenarios.numa.rules import RULES
from hostdx.scenarios.numa.scenario import NumaScenario
from tests.fakes.hosts import odd_machines as odd
from tests.fakes.hosts.tree import Tree
from tests.needs import needs, program

Build = Callable[[Path], Tree]


class Odd(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be said of it. `nodes`: those with CPUs, None where they are not to be believed; `setting_text`: what
    explains the nodes, None where nothing may be concluded; `drawn`: parts of the picture.
    """

    build: Build
    counts: tuple[int, int, int]  # sockets, cores, threads online
    nodes: int | None = 1
    words: str | None = ""
    rules: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()


MACHINES: dict[str, Odd] = {
    "threads of some cores and one whole core are offline": Odd(
        build=odd.offline_mixed, counts=(2, 7, 13), nodes=2, words="1 node a socket", drawn=("offline: CPUs 3,9,11",)
    ),
    "a socket is offline": Odd(
        build=odd.socket_off, counts=(1, 4, 8), nodes=1, words="1 node a socket", drawn=("memory only, no CPU",)
    ),
    "the first CPU is offline": Odd(build=odd.first_off, counts=(2, 8, 15), nodes=2, words="1 node a socket"),
    "SMT is switched off": Odd(build=odd.smt_off, counts=(1, 4, 4), words="1 node a socket"),
    "a memory expander": Odd(
        build=odd.memory_expander, counts=(2, 8, 8), nodes=2, words="SNC off",
        drawn=("2 sockets, 8 cores, 8 threads, 3 NUMA nodes (2 with CPUs)", "memory only, no CPU, 256 GiB"),
    ),
    "a socket without memory": Odd(
        build=odd.bare_node, counts=(2, 8, 16), nodes=2, words="SNC off", rules=("numa.node-without-memory",),
        drawn=("no memory of its own",),
    ),
    "hybrid cores": Odd(
        build=odd.hybrid_cores, counts=(1, 12, 16), words="1 node a socket",
        drawn=("4 P cores x 2 threads + 8 E cores (hybrid)",),
    ),
    "caches of two sizes": Odd(
        build=odd.uneven_caches, counts=(1, 16, 32), words="NPS1", drawn=("L3 1 x 96 MiB + 1 x 32 MiB",)
    ),
    "a mainframe of drawers and books": Odd(
        build=odd.mainframe, counts=(8, 16, 32), words="one node over several sockets",
        drawn=("2 drawers, 4 books, 8 sockets",),
    ),
    "POWER with eight threads and graphics memory": Odd(
        build=odd.power, counts=(2, 8, 64), nodes=2, words="1 node a socket",
        drawn=("6 NUMA nodes (2 with CPUs)", "4 cores x 8 threads"),
    ),
    "POWER with one thread of eight": Odd(
        build=odd.power_one_thread, counts=(2, 8, 8), nodes=2, words="1 node a socket"
    ),
    "ARM that tells no numbers": Odd(build=odd.arm_without_ids, counts=(1, 8, 8), words="1 node a socket"),
    "ARM with four threads": Odd(build=odd.arm_four_threads, counts=(2, 16, 64), nodes=2, words="1 node a socket"),
    "ARM of two kinds": Odd(build=odd.big_little, counts=(1, 6, 6), nodes=0, words=None),
    "all CPUs in each node": Odd(
        build=odd.all_in_each, counts=(2, 8, 16), nodes=None, words=None, rules=("numa.table",)
    ),
    "distances all alike": Odd(
        build=odd.flat_distances, counts=(2, 8, 16), nodes=2, words="1 node a socket", drawn=("distances not credible",)
    ),
    "torn distances": Odd(
        build=odd.torn_distances, counts=(2, 8, 16), nodes=2, words="1 node a socket", drawn=("distances not credible",)
    ),
    "nodes across sockets": Odd(build=odd.crossing, counts=(2, 8, 16), nodes=None, words=None, rules=("numa.table",)),
    "a guest with nodes across sockets": Odd(build=odd.crossed_guest, counts=(2, 8, 16), nodes=2, words=None),
    "an ARM guest": Odd(build=odd.arm_guest, counts=(8, 8, 8), words=None),
    "a guest with a socket a CPU": Odd(build=odd.guest_of_sockets, counts=(8, 8, 8), words=None),
    "a guest with nodes, one bare": Odd(build=odd.guest_with_nodes, counts=(8, 8, 8), nodes=2, words=None),
    "lists with holes": Odd(build=odd.cpu_gaps, counts=(2, 16, 16), nodes=2, words="SNC off", drawn=("CPUs 0-3,8-11",)),
    "even and odd": Odd(build=odd.even_and_odd, counts=(2, 8, 16), nodes=2, words="SNC off"),
    "256 CPUs in 16 nodes": Odd(
        build=odd.sixteen_nodes, counts=(2, 128, 256), nodes=16,
        words="a node for each L3 cache (8 a socket), which hides the NPS setting",
        drawn=("nodes 0-7, each", "distances: own memory 10, same socket 11, other sockets 32"),
    ),
    "one node over both sockets": Odd(build=odd.interleaved_memory, counts=(2, 8, 16), words="NPS0"),
    "node numbers with a gap": Odd(build=odd.numbers_missing, counts=(2, 8, 8), nodes=2, words="SNC off"),
    "fast memory beside": Odd(build=odd.fast_memory_beside, counts=(1, 16, 16), nodes=4, words="SNC4"),
    "two dies a socket": Odd(
        build=odd.two_dies, counts=(2, 16, 16), nodes=4, words="SNC2", drawn=("2 sockets, 4 dies, 16 cores",)
    ),
    "SNC4 with fast memory in nodes of its own": Odd(
        build=odd.flat_mode, counts=(2, 16, 32), nodes=8, words="SNC4",
        drawn=("16 NUMA nodes (8 with CPUs)", "SMT on, SNC4", "nodes 8-15, each memory only, no CPU, 16 GiB"),
    ),
    "NPS4": Odd(build=odd.quarter_nodes, counts=(2, 16, 16), nodes=8, words="NPS4", drawn=("L3 2 x 32 MiB, socket 1",)),
    "two sizes of memory in turn": Odd(
        build=odd.in_turn, counts=(12, 12, 12), nodes=12, words="SNC off",
        drawn=("nodes 0,2,4,6,8,10, each 1 core, 128 GiB, a socket each: 0,2,4,6,8,10", "nodes 1,3,5,7,9,11, each"),
    ),
    "CPUs in no node": Odd(
        build=odd.homeless_cpus, counts=(2, 8, 16), nodes=2, words="1 node a socket", drawn=("in no node: CPUs 7,15",)
    ),
    "modules of two cores": Odd(
        build=odd.core_modules, counts=(1, 4, 8), words="1 node a socket",
        drawn=("4 modules, 8 cores", "4 modules x 2 cores")
    ),
    "hybrid with its second threads off": Odd(
        build=odd.hybrid_alone, counts=(1, 8, 8), words="1 node a socket", drawn=("4 P cores + 4 E cores (hybrid)",)
    ),
    "two sockets without memory": Odd(
        build=odd.two_bare, counts=(4, 8, 8), nodes=4, words="SNC off", rules=("numa.node-without-memory",)
    ),
    "a kernel without nodes": Odd(build=odd.without_node_folder, counts=(1, 4, 4), nodes=0, words=None),
    "a node with nothing": Odd(
        build=odd.empty_node, counts=(2, 8, 16), words=None, drawn=("neither CPU nor memory online",)
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=list(MACHINES))
def odd_machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Odd, Tree]:
    """Thousands of small files: each tree is written once."""
    odd = MACHINES[request.param]
    return odd, odd.build(tmp_path_factory.mktemp("machine"))


def test_what_is_said_of_it(odd_machine: tuple[Odd, Tree]) -> None:
    odd, host = odd_machine[0], odd_machine[1].host()
    cpu, table = read_cpu(host), read_numa(host)
    assert (cpu.sockets, cpu.cores, cpu.threads) == odd.counts
    if odd.nodes == 0:
        assert isinstance(table, Absent)
    else:
        assert is_present(table) and (None if table.doubt else table.with_cpus) == odd.nodes
    setting = read_nodes_per_socket(host)
    assert (setting.setting_text if is_present(setting) else None) == odd.words
    plan = NumaScenario().prepare(host, OptionMap({})).plan
    assert not plan.refusal and max(map(len, plan.picture)) <= 80
    assert all(part in "\n".join(plan.picture) for part in odd.drawn), "\n".join(plan.picture)
    ids = []
    for rule in RULES:
        try:
            ids += [finding.id for finding in rule.check(host)]
        except (RuleInapplicable, FactUnreadable):
            continue
    assert tuple(ids) == odd.rules


@needs(program("lscpu"))
def test_lscpu_counts_the_same(odd_machine: tuple[Odd, Tree]) -> None:
    odd, tree = odd_machine
    stdout = subprocess.run(
        ["lscpu", "--sysroot", str(tree.root), "-p=CPU,CORE,SOCKET,NODE"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = [line.split(",") for line in stdout.splitlines() if line and not line.startswith("#")]
    columns = [{row[at] for row in rows if row[at]} for at in (2, 1, 0, 3)]
    assert tuple(map(len, columns[:3])) == odd.counts
    if odd.nodes is not None:
        assert len(columns[3]) == odd.nodes
