"""Machines that are odd or lie, as trees: what their sysfs and /proc/cpuinfo say."""

from pathlib import Path

from tests.fakes.hosts.machines import CPU, distances, join, machine, runs, span
from tests.fakes.hosts.tree import Tree

AMD = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nflags\t\t: fpu ht"
GUEST = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\nflags\t\t: fpu hypervisor"
ICE_LAKE = GUEST.replace(" hypervisor", "")
KNL = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 87\nflags\t\t: fpu"
POWER = "cpu\t\t: POWER9, altivec supported\nclock\t\t: 3800.000000MHz"
ARM = "BogoMIPS\t: 200.00\nCPU implementer\t: 0x43\nCPU part\t: 0x0af"
Z = "vendor_id\t: IBM/S390"
EMPTY: frozenset[int] = frozenset()


def _smt_cores(count: int, cores: int) -> list[frozenset[int]]:
    """Cores whose second thread comes after all first ones."""
    return runs(cores, 2, stride=count)


def dual(root: Path, **more: object) -> Tree:
    """Two sockets of four cores of two threads; a node each."""
    cores = _smt_cores(8, 8)
    sockets = [frozenset().union(*cores[:4]), frozenset().union(*cores[4:])]
    base = {"cores": cores, "sockets": sockets, "nodes": dict(enumerate(sockets)), "distances": distances(2)}
    return machine(root, **{**base, **more})  # type: ignore[arg-type]


def offline_mixed(root: Path) -> Tree:
    return dual(root, offline=frozenset({3, 11, 9}))


def socket_off(root: Path) -> Tree:
    return dual(root, offline=span((4, 7), (12, 15)), nodes={0: span((0, 3), (8, 11)), 1: EMPTY})


def first_off(root: Path) -> Tree:
    tree = dual(root, offline=frozenset({0}))
    return tree.files(f"{CPU}/cpu0", online=0)


def smt_off(root: Path) -> Tree:
    tree = machine(
        root,
        cores=runs(4, 2),
        sockets=[span((0, 7))],
        nodes={0: span((0, 7))},
        offline=frozenset({1, 3, 5, 7}),
    )
    return tree.files(f"{CPU}/smt", control="off", active=0)


def memory_expander(root: Path) -> Tree:
    sockets = runs(2, 4)
    rows = ["10 21 14", "21 10 24", "14 24 10"]
    return machine(
        root, cores=runs(8, 1), sockets=sockets, nodes={0: sockets[0], 1: sockets[1], 2: EMPTY},
        distances=rows, memory={0: 64, 1: 64, 2: 256}, info=ICE_LAKE,
    )  # fmt: skip


def bare_node(root: Path) -> Tree:
    return dual(root, memory={0: 128, 1: 0}, info=ICE_LAKE)


def hybrid_cores(root: Path) -> Tree:
    cores = [*runs(4, 2), *runs(8, 1, first=8)]
    tree = machine(
        root, cores=cores, sockets=[span((0, 15))], nodes={0: span((0, 15))},
        caches=[(2, "2048K", [*runs(4, 2), *runs(2, 4, first=8)]), (3, "24576K", [span((0, 15))])],
    )  # fmt: skip
    tree.files("/sys/devices/cpu_core", cpus="0-7")
    return tree.files("/sys/devices/cpu_atom", cpus="8-15")


def uneven_caches(root: Path) -> Tree:
    return machine(
        root, cores=runs(16, 2, stride=16), sockets=[span((0, 31))], nodes={0: span((0, 31))}, info=AMD,
        caches=[(3, "98304K", [span((0, 7), (16, 23))]), (3, "32768K", [span((8, 15), (24, 31))])],
    )  # fmt: skip


def mainframe(root: Path) -> Tree:
    cores = runs(16, 2)
    sockets = join(cores, 2)  # eight, numbered anew in each book
    books = join(sockets, 2)
    return machine(
        root, cores=cores, sockets=sockets, ids=[0, 1] * 4, core_ids=list(range(16)), books=books,
        drawers=join(books, 2), nodes={0: span((0, 31))}, info=Z,
    )  # fmt: skip


def power(root: Path) -> Tree:
    cores = runs(8, 8)
    sockets = join(cores, 4)
    nodes = {0: sockets[0], 8: sockets[1], 252: EMPTY, 253: EMPTY, 254: EMPTY, 255: EMPTY}
    rows = ["10 40 80 80 80 80", "40 10 80 80 80 80", "80 80 10 80 80 80", "80 80 80 10 80 80",
            "80 80 80 80 10 80", "80 80 80 80 80 10"]  # fmt: skip
    return machine(
        root, cores=cores, sockets=sockets, ids=[0, 8], core_ids=[n * 4 for n in range(8)], nodes=nodes,
        distances=rows, memory={0: 128, 8: 128, 252: 16, 253: 16, 254: 16, 255: 16}, info=POWER,
        caches=[(1, "32K", cores), (2, "512K", cores), (3, "10240K", cores)],
    )  # fmt: skip


def power_one_thread(root: Path) -> Tree:
    off = frozenset(n for n in range(64) if n % 8)
    sockets = join(runs(8, 8), 4)
    return machine(
        root, cores=runs(8, 8), sockets=sockets, ids=[0, 8], nodes={0: sockets[0] - off, 8: sockets[1] - off},
        distances=distances(2, away=40), offline=off, info=POWER,
    )  # fmt: skip


def arm_without_ids(root: Path) -> Tree:
    return machine(
        root, cores=runs(8, 1), sockets=[span((0, 7))], ids=[-1], core_ids=[-1] * 8, nodes={0: span((0, 7))},
        info=ARM,
    )  # fmt: skip


def arm_four_threads(root: Path) -> Tree:
    cores = runs(16, 4, stride=16)
    sockets = [frozenset().union(*cores[:8]), frozenset().union(*cores[8:])]
    return machine(
        root, cores=cores, sockets=sockets, ids=[36, 3180], nodes=dict(enumerate(sockets)), distances=distances(2),
        info=ARM,
    )  # fmt: skip


def big_little(root: Path) -> Tree:
    tree = machine(root, cores=runs(6, 1), sockets=[span((0, 5))], info=ARM)
    for n in range(6):
        tree.files(f"{CPU}/cpu{n}", cpu_capacity=446 if n < 4 else 1024)
    return tree


def all_in_each(root: Path) -> Tree:
    return dual(root, nodes=dict.fromkeys(range(4), span((0, 15))), distances=distances(4))


def flat_distances(root: Path) -> Tree:
    return dual(root, distances=["10 10", "10 10"])


def torn_distances(root: Path) -> Tree:
    return dual(root, distances=["10 20 20", "20"])


def crossing(root: Path) -> Tree:
    return dual(
        root, nodes={0: span((0, 1), (4, 5), (8, 9), (12, 13)), 1: span((2, 3), (6, 7), (10, 11), (14, 15))}
    )


def crossed_guest(root: Path) -> Tree:
    return dual(root, nodes={0: frozenset(range(0, 16, 2)), 1: frozenset(range(1, 16, 2))}, info=GUEST)


def arm_guest(root: Path) -> Tree:
    tree = machine(
        root, cores=runs(8, 1), sockets=runs(8, 1), ids=[-1] * 8, nodes={0: span((0, 7))}, info=ARM
    )
    return tree.files("/sys/class/dmi/id", sys_vendor="QEMU", product_name="KVM Virtual Machine")


def guest_of_sockets(root: Path) -> Tree:
    return machine(root, cores=runs(8, 1), sockets=runs(8, 1), nodes={0: span((0, 7))}, info=GUEST)


def guest_with_nodes(root: Path) -> Tree:
    return machine(
        root, cores=runs(8, 1), sockets=runs(8, 1), nodes=dict(enumerate(runs(2, 4))), distances=distances(2, away=20),
        memory={0: 8, 1: 0}, info=GUEST,
    )  # fmt: skip


def cpu_gaps(root: Path) -> Tree:
    sockets = [span((0, 3), (8, 11)), span((4, 7), (12, 15))]
    return machine(
        root,
        cores=runs(16, 1),
        sockets=sockets,
        nodes=dict(enumerate(sockets)),
        distances=distances(2),
        info=ICE_LAKE,
    )


def even_and_odd(root: Path) -> Tree:
    cores = _smt_cores(8, 8)
    sockets = [frozenset(range(0, 16, 2)), frozenset(range(1, 16, 2))]
    return machine(
        root,
        cores=cores,
        sockets=sockets,
        nodes=dict(enumerate(sockets)),
        distances=distances(2, away=21),
        info=ICE_LAKE,
    )


def sixteen_nodes(root: Path) -> Tree:
    cores = _smt_cores(128, 128)
    caches = join(cores, 8)
    return machine(
        root, cores=cores, sockets=join(cores, 64), nodes=dict(enumerate(caches)), distances=distances(16, 8, 11),
        caches=[(3, "32768K", caches)], info=AMD,
    )  # fmt: skip


def interleaved_memory(root: Path) -> Tree:
    return dual(root, nodes={0: span((0, 15))}, distances=["10"], info=AMD)


def numbers_missing(root: Path) -> Tree:
    sockets = runs(2, 4)
    return machine(
        root,
        cores=runs(8, 1),
        sockets=sockets,
        nodes={0: sockets[0], 2: sockets[1]},
        distances=distances(2),
        info=ICE_LAKE,
    )


def fast_memory_beside(root: Path) -> Tree:
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


def two_dies(root: Path) -> Tree:
    dies = runs(4, 4)
    return machine(
        root, cores=runs(16, 1), sockets=join(dies, 2), dies=dies, nodes=dict(enumerate(dies)),
        distances=distances(4, 2), info=ICE_LAKE,
    )  # fmt: skip


def without_node_folder(root: Path) -> Tree:
    return machine(root, cores=runs(4, 1), sockets=[span((0, 3))])


def empty_node(root: Path) -> Tree:
    return dual(root, nodes={0: span((0, 15)), 1: EMPTY}, memory={0: 64, 1: 0}, info=GUEST)


def flat_mode(root: Path) -> Tree:
    cores = _smt_cores(16, 16)
    nodes = dict(enumerate(join(cores, 2))) | dict.fromkeys(range(8, 16), EMPTY)
    memory = {n: 64 if n < 8 else 16 for n in range(16)}
    return machine(
        root, cores=cores, sockets=join(cores, 8), nodes=nodes, memory=memory, distances=distances(16, 4, 13),
        info=ICE_LAKE.replace("106", "143"),
    )  # fmt: skip


def quarter_nodes(root: Path) -> Tree:
    cores = runs(16, 1)
    return machine(
        root, cores=cores, sockets=join(cores, 8), nodes=dict(enumerate(join(cores, 2))), info=AMD,
        distances=distances(8, 4), caches=[(3, "32768K", cores)],
    )  # fmt: skip


def in_turn(root: Path) -> Tree:
    cores = runs(12, 1)
    memory = {n: 64 if n % 2 else 128 for n in range(12)}
    return machine(
        root, cores=cores, sockets=cores, nodes=dict(enumerate(cores)), memory=memory, info=ICE_LAKE
    )


def homeless_cpus(root: Path) -> Tree:
    return dual(root, nodes={0: span((0, 3), (8, 11)), 1: span((4, 6), (12, 14))})


def core_modules(root: Path) -> Tree:
    info = AMD.replace("cpu family\t: 25", "cpu family\t: 21")
    return machine(root, cores=runs(4, 2), sockets=[span((0, 7))], nodes={0: span((0, 7))}, info=info)


def hybrid_alone(root: Path) -> Tree:
    tree = machine(root, cores=runs(8, 1), sockets=[span((0, 7))], nodes={0: span((0, 7))})
    tree.files("/sys/devices/cpu_core", cpus="0-3")
    return tree.files("/sys/devices/cpu_atom", cpus="4-7")


def two_bare(root: Path) -> Tree:
    sockets = runs(4, 2)
    return machine(
        root, cores=runs(8, 1), sockets=sockets, nodes=dict(enumerate(sockets)), distances=distances(4),
        memory={0: 64, 1: 0, 2: 64, 3: 0}, info=ICE_LAKE,
    )  # fmt: skip
