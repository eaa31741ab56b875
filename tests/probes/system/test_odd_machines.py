"""Machines that are odd or lie: counted as lscpu counts them, drawn in 80 columns, and nothing false found on them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from probes.system.cpu import cpu
from probes.system.nodes_per_socket import nodes_per_socket
from probes.system.numa import numa
from probes.types import Absent, present
from scenarios.model import Options
from scenarios.numa.rules import RULES
from scenarios.numa.scenario import Numa
from scenarios.rule import Inapplicable, Unreadable
from tests.fakes.machines import CPU, far, joined, machine, runs, span
from tests.fakes.tree import Tree

Build = Callable[[Path], Tree]
AMD = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nflags\t\t: fpu ht"
GUEST = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\nflags\t\t: fpu hypervisor"
ICE_LAKE = GUEST.replace(" hypervisor", "")
KNL = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 87\nflags\t\t: fpu"
POWER = "cpu\t\t: POWER9, altivec supported\nclock\t\t: 3800.000000MHz"
ARM = "BogoMIPS\t: 200.00\nCPU implementer\t: 0x43\nCPU part\t: 0x0af"
Z = "vendor_id\t: IBM/S390"
EMPTY: frozenset[int] = frozenset()


class Odd(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be said of it. `nodes`: those with CPUs, None where they are not to be believed; `words`: what
    explains the nodes, None where nothing may be concluded; `drawn`: parts of the picture.
    """

    build: Build
    counts: tuple[int, int, int]  # sockets, cores, threads online
    nodes: int | None = 1
    words: str | None = ""
    found: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()


def _smt(count: int, cores: int) -> list[frozenset[int]]:
    """Cores whose second thread comes after all first ones."""
    return runs(cores, 2, stride=count)


def _two(root: Path, **more: object) -> Tree:
    """Two sockets of four cores of two threads; a node each."""
    cores = _smt(8, 8)
    sockets = [frozenset().union(*cores[:4]), frozenset().union(*cores[4:])]
    base = {"cores": cores, "sockets": sockets, "nodes": dict(enumerate(sockets)), "distances": far(2)}
    return machine(root, **{**base, **more})  # type: ignore[arg-type]


def _offline_mixed(root: Path) -> Tree:
    return _two(root, offline=frozenset({3, 11, 9}))


def _socket_off(root: Path) -> Tree:
    return _two(root, offline=span((4, 7), (12, 15)), nodes={0: span((0, 3), (8, 11)), 1: EMPTY})


def _first_off(root: Path) -> Tree:
    tree = _two(root, offline=frozenset({0}))
    return tree.files(f"{CPU}/cpu0", online=0)


def _smt_off(root: Path) -> Tree:
    tree = machine(
        root,
        cores=runs(4, 2),
        sockets=[span((0, 7))],
        nodes={0: span((0, 7))},
        offline=frozenset({1, 3, 5, 7}),
    )
    return tree.files(f"{CPU}/smt", control="off", active=0)


def _expander(root: Path) -> Tree:
    sockets = runs(2, 4)
    rows = ["10 21 14", "21 10 24", "14 24 10"]
    return machine(
        root, cores=runs(8, 1), sockets=sockets, nodes={0: sockets[0], 1: sockets[1], 2: EMPTY},
        distances=rows, memory={0: 64, 1: 64, 2: 256}, info=ICE_LAKE,
    )  # fmt: skip


def _bare_node(root: Path) -> Tree:
    return _two(root, memory={0: 128, 1: 0}, info=ICE_LAKE)


def _hybrid(root: Path) -> Tree:
    cores = [*runs(4, 2), *runs(8, 1, first=8)]
    tree = machine(
        root, cores=cores, sockets=[span((0, 15))], nodes={0: span((0, 15))},
        caches=[(2, "2048K", [*runs(4, 2), *runs(2, 4, first=8)]), (3, "24576K", [span((0, 15))])],
    )  # fmt: skip
    tree.files("/sys/devices/cpu_core", cpus="0-7")
    return tree.files("/sys/devices/cpu_atom", cpus="8-15")


def _uneven_caches(root: Path) -> Tree:
    return machine(
        root, cores=runs(16, 2, stride=16), sockets=[span((0, 31))], nodes={0: span((0, 31))}, info=AMD,
        caches=[(3, "98304K", [span((0, 7), (16, 23))]), (3, "32768K", [span((8, 15), (24, 31))])],
    )  # fmt: skip


def _mainframe(root: Path) -> Tree:
    cores = runs(16, 2)
    sockets = joined(cores, 2)  # eight, numbered anew in each book
    books = joined(sockets, 2)
    return machine(
        root, cores=cores, sockets=sockets, ids=[0, 1] * 4, core_ids=list(range(16)), books=books,
        drawers=joined(books, 2), nodes={0: span((0, 31))}, info=Z,
    )  # fmt: skip


def _power(root: Path) -> Tree:
    cores = runs(8, 8)
    sockets = joined(cores, 4)
    nodes = {0: sockets[0], 8: sockets[1], 252: EMPTY, 253: EMPTY, 254: EMPTY, 255: EMPTY}
    rows = ["10 40 80 80 80 80", "40 10 80 80 80 80", "80 80 10 80 80 80", "80 80 80 10 80 80",
            "80 80 80 80 10 80", "80 80 80 80 80 10"]  # fmt: skip
    return machine(
        root, cores=cores, sockets=sockets, ids=[0, 8], core_ids=[n * 4 for n in range(8)], nodes=nodes,
        distances=rows, memory={0: 128, 8: 128, 252: 16, 253: 16, 254: 16, 255: 16}, info=POWER,
        caches=[(1, "32K", cores), (2, "512K", cores), (3, "10240K", cores)],
    )  # fmt: skip


def _power_one_thread(root: Path) -> Tree:
    off = frozenset(n for n in range(64) if n % 8)
    sockets = joined(runs(8, 8), 4)
    return machine(
        root, cores=runs(8, 8), sockets=sockets, ids=[0, 8], nodes={0: sockets[0] - off, 8: sockets[1] - off},
        distances=far(2, away=40), offline=off, info=POWER,
    )  # fmt: skip


def _arm_without_ids(root: Path) -> Tree:
    return machine(
        root, cores=runs(8, 1), sockets=[span((0, 7))], ids=[-1], core_ids=[-1] * 8, nodes={0: span((0, 7))},
        info=ARM,
    )  # fmt: skip


def _arm_four_threads(root: Path) -> Tree:
    cores = runs(16, 4, stride=16)
    sockets = [frozenset().union(*cores[:8]), frozenset().union(*cores[8:])]
    return machine(
        root, cores=cores, sockets=sockets, ids=[36, 3180], nodes=dict(enumerate(sockets)), distances=far(2),
        info=ARM,
    )  # fmt: skip


def _big_little(root: Path) -> Tree:
    tree = machine(
        root, cores=runs(6, 1), sockets=[span((0, 5))], info=ARM, clusters=[span((0, 3)), span((4, 5))]
    )
    for n in range(6):
        tree.files(f"{CPU}/cpu{n}", cpu_capacity=446 if n < 4 else 1024)
    return tree


def _all_in_each(root: Path) -> Tree:
    return _two(root, nodes=dict.fromkeys(range(4), span((0, 15))), distances=far(4))


def _flat_distances(root: Path) -> Tree:
    return _two(root, distances=["10 10", "10 10"])


def _torn_distances(root: Path) -> Tree:
    return _two(root, distances=["10 20 20", "20"])


def _crossed(root: Path) -> Tree:
    return _two(
        root, nodes={0: span((0, 1), (4, 5), (8, 9), (12, 13)), 1: span((2, 3), (6, 7), (10, 11), (14, 15))}
    )


def _crossed_guest(root: Path) -> Tree:
    return _two(root, nodes={0: frozenset(range(0, 16, 2)), 1: frozenset(range(1, 16, 2))}, info=GUEST)


def _arm_guest(root: Path) -> Tree:
    tree = machine(
        root, cores=runs(8, 1), sockets=runs(8, 1), ids=[-1] * 8, nodes={0: span((0, 7))}, info=ARM
    )
    return tree.files("/sys/class/dmi/id", sys_vendor="QEMU", product_name="KVM Virtual Machine")


def _guest_of_sockets(root: Path) -> Tree:
    return machine(root, cores=runs(8, 1), sockets=runs(8, 1), nodes={0: span((0, 7))}, info=GUEST)


def _guest_with_nodes(root: Path) -> Tree:
    return machine(
        root, cores=runs(8, 1), sockets=runs(8, 1), nodes=dict(enumerate(runs(2, 4))), distances=far(2, away=20),
        memory={0: 8, 1: 0}, info=GUEST,
    )  # fmt: skip


def _holes(root: Path) -> Tree:
    sockets = [span((0, 3), (8, 11)), span((4, 7), (12, 15))]
    return machine(
        root,
        cores=runs(16, 1),
        sockets=sockets,
        nodes=dict(enumerate(sockets)),
        distances=far(2),
        info=ICE_LAKE,
    )


def _even_and_odd(root: Path) -> Tree:
    cores = _smt(8, 8)
    sockets = [frozenset(range(0, 16, 2)), frozenset(range(1, 16, 2))]
    return machine(
        root,
        cores=cores,
        sockets=sockets,
        nodes=dict(enumerate(sockets)),
        distances=far(2, away=21),
        info=ICE_LAKE,
    )


def _sixteen_nodes(root: Path) -> Tree:
    cores = _smt(128, 128)
    caches = joined(cores, 8)
    return machine(
        root, cores=cores, sockets=joined(cores, 64), nodes=dict(enumerate(caches)), distances=far(16, 8, 11),
        caches=[(3, "32768K", caches)], info=AMD,
    )  # fmt: skip


def _interleaved(root: Path) -> Tree:
    return _two(root, nodes={0: span((0, 15))}, distances=["10"], info=AMD)


def _numbers_missing(root: Path) -> Tree:
    sockets = runs(2, 4)
    return machine(
        root,
        cores=runs(8, 1),
        sockets=sockets,
        nodes={0: sockets[0], 2: sockets[1]},
        distances=far(2),
        info=ICE_LAKE,
    )


def _fast_memory_beside(root: Path) -> Tree:
    nodes = dict(enumerate(runs(4, 4))) | dict.fromkeys(range(4, 8), EMPTY)
    rows = [
        " ".join(
            "10" if a == b else "31" if abs(a - b) == 4 else "21" if max(a, b) < 4 else "41" for b in range(8)
        )
        for a in range(8)
    ]
    return machine(
        root, cores=runs(16, 1), sockets=[span((0, 15))], nodes=nodes, distances=rows, info=KNL,
        memory={n: 24 if n < 4 else 4 for n in range(8)},
    )  # fmt: skip


def _two_dies(root: Path) -> Tree:
    dies = runs(4, 4)
    return machine(
        root, cores=runs(16, 1), sockets=joined(dies, 2), dies=dies, nodes=dict(enumerate(dies)),
        distances=far(4, 2), info=ICE_LAKE,
    )  # fmt: skip


def _without_node_folder(root: Path) -> Tree:
    return machine(root, cores=runs(4, 1), sockets=[span((0, 3))])


def _empty_node(root: Path) -> Tree:
    return _two(root, nodes={0: span((0, 15)), 1: EMPTY}, memory={0: 64, 1: 0}, info=GUEST)


def _flat_mode(root: Path) -> Tree:
    cores = _smt(16, 16)
    nodes = dict(enumerate(joined(cores, 2))) | dict.fromkeys(range(8, 16), EMPTY)
    memory = {n: 64 if n < 8 else 16 for n in range(16)}
    return machine(
        root, cores=cores, sockets=joined(cores, 8), nodes=nodes, memory=memory, distances=far(16, 4, 13),
        info=ICE_LAKE.replace("106", "143"),
    )  # fmt: skip


def _quarters(root: Path) -> Tree:
    cores = runs(16, 1)
    return machine(
        root, cores=cores, sockets=joined(cores, 8), nodes=dict(enumerate(joined(cores, 2))), info=AMD,
        distances=far(8, 4), caches=[(3, "32768K", cores)],
    )  # fmt: skip


def _in_turn(root: Path) -> Tree:
    cores = runs(12, 1)
    memory = {n: 64 if n % 2 else 128 for n in range(12)}
    return machine(
        root, cores=cores, sockets=cores, nodes=dict(enumerate(cores)), memory=memory, info=ICE_LAKE
    )


def _homeless(root: Path) -> Tree:
    return _two(root, nodes={0: span((0, 3), (8, 11)), 1: span((4, 6), (12, 14))})


def _modules(root: Path) -> Tree:
    info = AMD.replace("cpu family\t: 25", "cpu family\t: 21")
    return machine(root, cores=runs(4, 2), sockets=[span((0, 7))], nodes={0: span((0, 7))}, info=info)


def _hybrid_alone(root: Path) -> Tree:
    tree = machine(root, cores=runs(8, 1), sockets=[span((0, 7))], nodes={0: span((0, 7))})
    tree.files("/sys/devices/cpu_core", cpus="0-3")
    return tree.files("/sys/devices/cpu_atom", cpus="4-7")


def _two_bare(root: Path) -> Tree:
    sockets = runs(4, 2)
    return machine(
        root, cores=runs(8, 1), sockets=sockets, nodes=dict(enumerate(sockets)), distances=far(4),
        memory={0: 64, 1: 0, 2: 64, 3: 0}, info=ICE_LAKE,
    )  # fmt: skip


MACHINES: dict[str, Odd] = {
    "threads of some cores and one whole core are offline": Odd(
        build=_offline_mixed, counts=(2, 7, 13), nodes=2, words="1 node a socket", drawn=("offline: CPUs 3,9,11",)
    ),
    "a socket is offline": Odd(
        build=_socket_off, counts=(1, 4, 8), nodes=1, words="1 node a socket", drawn=("memory only, no CPU",)
    ),
    "the first CPU is offline": Odd(build=_first_off, counts=(2, 8, 15), nodes=2, words="1 node a socket"),
    "SMT is switched off": Odd(build=_smt_off, counts=(1, 4, 4), words="1 node a socket"),
    "a memory expander": Odd(
        build=_expander, counts=(2, 8, 8), nodes=2, words="SNC off",
        drawn=("2 sockets, 8 cores, 8 threads, 3 NUMA nodes (2 with CPUs)", "memory only, no CPU, 256 GiB"),
    ),
    "a socket without memory": Odd(
        build=_bare_node, counts=(2, 8, 16), nodes=2, words="SNC off", found=("numa.node-without-memory",),
        drawn=("no memory of its own",),
    ),
    "hybrid cores": Odd(
        build=_hybrid, counts=(1, 12, 16), words="1 node a socket",
        drawn=("4 P cores x 2 threads + 8 E cores (hybrid)",),
    ),
    "caches of two sizes": Odd(
        build=_uneven_caches, counts=(1, 16, 32), words="NPS1", drawn=("L3 1 x 96 MiB + 1 x 32 MiB",)
    ),
    "a mainframe of drawers and books": Odd(
        build=_mainframe, counts=(8, 16, 32), words="one node over several sockets",
        drawn=("2 drawers, 4 books, 8 sockets",),
    ),
    "POWER with eight threads and graphics memory": Odd(
        build=_power, counts=(2, 8, 64), nodes=2, words="1 node a socket",
        drawn=("6 NUMA nodes (2 with CPUs)", "4 cores x 8 threads"),
    ),
    "POWER with one thread of eight": Odd(build=_power_one_thread, counts=(2, 8, 8), nodes=2, words="1 node a socket"),
    "ARM that tells no numbers": Odd(build=_arm_without_ids, counts=(1, 8, 8), words="1 node a socket"),
    "ARM with four threads": Odd(build=_arm_four_threads, counts=(2, 16, 64), nodes=2, words="1 node a socket"),
    "ARM of two kinds": Odd(build=_big_little, counts=(1, 6, 6), nodes=0, words=None),
    "all CPUs in each node": Odd(build=_all_in_each, counts=(2, 8, 16), nodes=None, words=None, found=("numa.table",)),
    "distances all alike": Odd(
        build=_flat_distances, counts=(2, 8, 16), nodes=2, words="1 node a socket", drawn=("distances not credible",)
    ),
    "torn distances": Odd(
        build=_torn_distances, counts=(2, 8, 16), nodes=2, words="1 node a socket", drawn=("distances not credible",)
    ),
    "nodes across sockets": Odd(build=_crossed, counts=(2, 8, 16), nodes=None, words=None, found=("numa.table",)),
    "a guest with nodes across sockets": Odd(build=_crossed_guest, counts=(2, 8, 16), nodes=2, words=None),
    "an ARM guest": Odd(build=_arm_guest, counts=(8, 8, 8), words=None),
    "a guest with a socket a CPU": Odd(build=_guest_of_sockets, counts=(8, 8, 8), words=None),
    "a guest with nodes, one bare": Odd(build=_guest_with_nodes, counts=(8, 8, 8), nodes=2, words=None),
    "lists with holes": Odd(build=_holes, counts=(2, 16, 16), nodes=2, words="SNC off", drawn=("CPUs 0-3,8-11",)),
    "even and odd": Odd(build=_even_and_odd, counts=(2, 8, 16), nodes=2, words="SNC off"),
    "256 CPUs in 16 nodes": Odd(
        build=_sixteen_nodes, counts=(2, 128, 256), nodes=16,
        words="a node for each L3 cache (8 a socket), which hides the NPS setting",
        drawn=("nodes 0-7, each", "distances: own memory 10, same socket 11, other sockets 32"),
    ),
    "one node over both sockets": Odd(build=_interleaved, counts=(2, 8, 16), words="NPS0"),
    "node numbers with a gap": Odd(build=_numbers_missing, counts=(2, 8, 8), nodes=2, words="SNC off"),
    "fast memory beside": Odd(build=_fast_memory_beside, counts=(1, 16, 16), nodes=4, words="SNC4"),
    "two dies a socket": Odd(
        build=_two_dies, counts=(2, 16, 16), nodes=4, words="SNC2", drawn=("2 sockets, 4 dies, 16 cores",)
    ),
    "SNC4 with fast memory in nodes of its own": Odd(
        build=_flat_mode, counts=(2, 16, 32), nodes=8, words="SNC4",
        drawn=("16 NUMA nodes (8 with CPUs)", "SMT on, SNC4", "nodes 8-15, each memory only, no CPU, 16 GiB"),
    ),
    "NPS4": Odd(build=_quarters, counts=(2, 16, 16), nodes=8, words="NPS4", drawn=("L3 2 x 32 MiB, socket 1",)),
    "two sizes of memory in turn": Odd(
        build=_in_turn, counts=(12, 12, 12), nodes=12, words="SNC off",
        drawn=("nodes 0,2,4,6,8,10, each 1 core, 128 GiB, a socket each: 0,2,4,6,8,10", "nodes 1,3,5,7,9,11, each"),
    ),
    "CPUs in no node": Odd(
        build=_homeless, counts=(2, 8, 16), nodes=2, words="1 node a socket", drawn=("in no node: CPUs 7,15",)
    ),
    "modules of two cores": Odd(
        build=_modules, counts=(1, 4, 8), words="1 node a socket", drawn=("4 modules, 8 cores", "4 modules x 2 cores")
    ),
    "hybrid with its second threads off": Odd(
        build=_hybrid_alone, counts=(1, 8, 8), words="1 node a socket", drawn=("4 P cores + 4 E cores (hybrid)",)
    ),
    "two sockets without memory": Odd(
        build=_two_bare, counts=(4, 8, 8), nodes=4, words="SNC off", found=("numa.node-without-memory",)
    ),
    "a kernel without nodes": Odd(build=_without_node_folder, counts=(1, 4, 4), nodes=0, words=None),
    "a node with nothing": Odd(
        build=_empty_node, counts=(2, 8, 16), words=None, drawn=("neither CPU nor memory online",)
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=list(MACHINES))
def machines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Odd, Tree]:
    """Thousands of small files: each tree is written once."""
    odd = MACHINES[request.param]
    return odd, odd.build(tmp_path_factory.mktemp("machine"))


def test_what_is_said_of_it(machines: tuple[Odd, Tree]) -> None:
    odd, host = machines[0], machines[1].host()
    it, table = cpu(host), numa(host)
    assert (it.sockets, it.cores, it.threads) == odd.counts
    if odd.nodes == 0:
        assert isinstance(table, Absent)
    else:
        assert present(table) and (None if table.doubt else table.with_cpus) == odd.nodes
    setting = nodes_per_socket(host)
    assert (setting.words if present(setting) else None) == odd.words
    plan = Numa().plan(host, Options({}))
    assert not plan.refusal and max(map(len, plan.picture)) <= 80
    assert all(part in "\n".join(plan.picture) for part in odd.drawn), "\n".join(plan.picture)
    found = []
    for rule in RULES:
        try:
            found += [finding.id for finding in rule.check(host)]
        except (Inapplicable, Unreadable):
            continue
    assert tuple(found) == odd.found


@pytest.mark.skipif(shutil.which("lscpu") is None, reason="lscpu (util-linux) is not installed")
def test_lscpu_counts_the_same(machines: tuple[Odd, Tree]) -> None:
    odd, tree = machines
    said = subprocess.run(
        ["lscpu", "--sysroot", str(tree.root), "-p=CPU,CORE,SOCKET,NODE"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = [line.split(",") for line in said.splitlines() if line and not line.startswith("#")]
    columns = [{row[at] for row in rows if row[at]} for at in (2, 1, 0, 3)]
    assert tuple(map(len, columns[:3])) == odd.counts
    if odd.nodes is not None:
        assert len(columns[3]) == odd.nodes
