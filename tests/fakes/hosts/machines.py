"""Whole machines as captured trees, by their sets of CPUs: what sysfs would show of them, masks and lists."""

from collections.abc import Sequence
from pathlib import Path

from hostdx.probes.cpu_list import format_cpu_list
from tests.fakes.hosts.tree import Tree

CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"

Set = frozenset[int]
Sets = Sequence[Set]


def span(*pairs: tuple[int, int]) -> Set:
    """Both ends are in it."""
    return frozenset(n for first, last in pairs for n in range(first, last + 1))


def runs(count: int, size: int, *, first: int = 0, stride: int = 1) -> list[Set]:
    """`count` sets of `size` CPUs; members of one lie `stride` apart."""
    if stride == 1:
        return [frozenset(range(first + n * size, first + (n + 1) * size)) for n in range(count)]
    return [frozenset(first + n + stride * k for k in range(size)) for n in range(count)]


def join(sets: Sets, size: int) -> list[Set]:
    """Each `size` neighbouring sets as one."""
    return [frozenset().union(*sets[at : at + size]) for at in range(0, len(sets), size)]


def mask(cpus: Set) -> str:
    """As cpumap_print_to_pagebuf writes it: words of 32 bits, the highest first."""
    bits = sum(1 << n for n in cpus)
    words = []
    while True:
        words.append(f"{bits & 0xFFFFFFFF:08x}")
        bits >>= 32
        if not bits:
            return ",".join(reversed(words))


def machine(
    root: Path,
    *,
    cores: Sets,
    sockets: Sets,
    ids: Sequence[int] | None = None,
    core_ids: Sequence[int] | None = None,
    nodes: dict[int, Set] | None = None,
    distances: Sequence[str] = (),
    memory: dict[int, int] | None = None,
    offline: Set = frozenset(),
    dies: Sets = (),
    books: Sets = (),
    drawers: Sets = (),
    caches: Sequence[tuple[int, str, Sets]] = (),
    info: str = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 62\nflags\t\t: fpu",
) -> Tree:
    """`memory` in GiB by node (1 each where it is not given); `caches`: level, size, who shares each. A CPU that is
    offline has a folder without a topology, as the kernel leaves it.
    """
    tree = Tree(root)
    everything = frozenset().union(*cores)
    online = everything - offline
    tree.files(
        CPU,
        possible=format_cpu_list(everything),
        present=format_cpu_list(everything),
        online=format_cpu_list(online),
    )
    tree.files(CPU, offline=format_cpu_list(offline), kernel_max=8191)
    for n in sorted(everything):
        if n:
            tree.files(f"{CPU}/cpu{n}", online=int(n in online))
        else:
            tree.files(f"{CPU}/cpu0", uevent="")
    for position, core in enumerate(cores):
        for n in core & online:
            members = [at for at, cpus in enumerate(sockets) if n in cpus]
            topology = f"{CPU}/cpu{n}/topology"
            tree.files(topology, core_id=core_ids[position] if core_ids else position)
            tree.files(topology, physical_package_id=ids[members[0]] if ids else members[0])
            siblings = (
                (("core_cpus", "thread_siblings"), cores),
                (("package_cpus", "core_siblings"), sockets),
                (("die_cpus",), dies),
                (("book_siblings",), books),
                (("drawer_siblings",), drawers),
            )
            for names, sets in siblings:
                for cpus in (s & online for s in sets if n in s):
                    for name in names:
                        tree.files(topology, **{name: mask(cpus), f"{name}_list": format_cpu_list(cpus)})
            for index, (level, size, sharing) in enumerate(c for c in caches if any(n in s for s in c[2])):
                sharers = next(s for s in sharing if n in s) & online
                folder = f"{CPU}/cpu{n}/cache/index{index}"
                tree.files(folder, level=level, type="Unified", size=size, shared_cpu_map=mask(sharers))
                tree.files(folder, shared_cpu_list=format_cpu_list(sharers))
    for at, (number, cpus) in enumerate((nodes or {}).items()):
        size = (memory or {}).get(number, 1) << 20
        text = f"Node {number} MemTotal: {size} kB\nNode {number} MemFree: {size} kB"
        tree.files(f"{NODE}/node{number}", cpulist=format_cpu_list(cpus), cpumap=mask(cpus), meminfo=text)
        if distances:
            tree.files(f"{NODE}/node{number}", distance=distances[at])
    blocks = "\n".join(f"processor\t: {n}\n{info}\n" for n in sorted(online))
    return tree.put("/proc/cpuinfo", blocks)


def distances(count: int, group: int = 1, near: int = 12, away: int = 32) -> list[str]:
    """Rows of distances: 10 to itself, `near` within a group of nodes, `away` else."""
    return [
        " ".join(
            "10" if a == b else str(near) if a // group == b // group else str(away) for b in range(count)
        )
        for a in range(count)
    ]
