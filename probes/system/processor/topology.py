"""Where each online CPU lies: core, cluster, die, socket, book; by the kernel's sets, not by its numbers.

Numbers repeat (a core_id in each socket, a socket in each book of an IBM Z), may be -1 (old ARM and POWER firmware)
and say nothing about what is offline. lscpu and hwloc count the sets (`core_cpus_list`, `package_cpus_list` …) too.
Documentation/admin-guide/cputopology.rst; kernels before 5.3 call the same sets thread_siblings and core_siblings.
"""

import re
from collections.abc import Callable, Iterable

import msgspec

from hostdx.probes.cpu_list import MAX_CPUS, parse_cpu_list, parse_cpu_mask
from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.types import Absent, is_present


# Sets of CPUs as the kernel's files hold them, as lists or as masks.
def read_cpus(host: Host, folder: str, list_file: str, mask_file: str) -> frozenset[int] | Absent:
    """From the file with a mask, as lscpu and hwloc read it, else the one with a list. Kernels before 2.6.35 have only
    masks; where captured files contradict each other the mask is the one that others counted by.
    """
    why: Absent | None = None
    for name, parse in ((mask_file, parse_cpu_mask), (list_file, parse_cpu_list)):
        text = host.read_file_text(f"{folder}/{name}")
        if isinstance(text, Absent):
            why = why or text
            continue
        cpus = parse(text)
        if cpus is not None:
            return cpus
        why = Absent(f"no set of CPUs: {text[:40]!r}", "invalid", f"{folder}/{name}")
    assert why is not None
    return why


ROOT = "/sys/devices/system/cpu"

Sets = dict[int, frozenset[int]]
# set, its names as list and mask, oldest last
_CORE = (("core_cpus_list", "core_cpus"), ("thread_siblings_list", "thread_siblings"))
_SOCKET = (("package_cpus_list", "package_cpus"), ("core_siblings_list", "core_siblings"))


class CpuTopology(msgspec.Struct, frozen=True, kw_only=True):
    """CPU number -> set, each over online CPUs only; empty where nothing tells. `known` are the CPUs with a folder,
    `is_present` what is plugged in as the kernel says. `ids`: the kernel's socket numbers where they tell sockets
    apart.
    """

    known_cpus: frozenset[int]
    online: frozenset[int]
    offline: frozenset[int]
    present: frozenset[int]
    cores: Sets
    dies: Sets
    sockets: Sets
    books: Sets
    drawers: Sets
    ids: dict[int, int]
    source: str


@compute_once_per_host
def read_cpu_topology(host: Host) -> CpuTopology:
    """From sysfs; what that lacks (kernels before 2.6.16, reduced trees) from /proc/cpuinfo."""
    info = read_cpuinfo(host)
    listed = {int(entry["processor"]): entry for entry in info if _is_number(entry.get("processor", ""))}
    numbered_cpus = _cpus_with_folder(host)
    online, offline = _online_and_offline_cpus(host, numbered_cpus, frozenset(listed))
    cores = _read_cpu_sets(host, online, *_CORE)
    sockets = _read_cpu_sets(host, online, *_SOCKET)
    ids = _read_socket_ids(host, online)
    source = f"{ROOT}/cpu*/topology"
    if not sockets:
        sockets = _set_of_each_cpu(online, lambda n: ids.get(n, -1)) if ids else {}
    if not sockets:
        sockets = _set_of_each_cpu(online, lambda n: _listed_value(listed, n, "physical id"))
        source = "/proc/cpuinfo" if sockets else source
    if not cores:
        numbers = {
            n: value
            for n in online
            if is_present(value := host.read_integer(f"{ROOT}/cpu{n}/topology/core_id"))
        }
        cores = _set_of_each_cpu(online, lambda n: (sockets.get(n), numbers[n]) if n in numbers else None)
    if not cores:
        cores = _set_of_each_cpu(online, lambda n: _core_key(listed, n))
    return CpuTopology(
        known_cpus=numbered_cpus or frozenset(listed),
        online=online,
        offline=offline,
        present=read_cpu_list(host, "present") or numbered_cpus or frozenset(listed),
        cores=cores,
        dies=_read_cpu_sets(host, online, ("die_cpus_list", "die_cpus")),
        sockets=sockets,
        books=_read_cpu_sets(host, online, ("book_siblings_list", "book_siblings")),
        drawers=_read_cpu_sets(host, online, ("drawer_siblings_list", "drawer_siblings")),
        ids=_socket_number_by_cpu(sockets, ids),
        source=source,
    )


@compute_once_per_host
def read_cpuinfo(host: Host) -> list[dict[str, str]]:
    """/proc/cpuinfo: one dictionary a processor; on s390 and some ARM the first holds what is common.

    Empty where a captured one has more than MOST_CPUS.
    """
    text = host.read_file_text("/proc/cpuinfo", 64 << 20)
    blocks = re.split(r"\n\s*\n", text) if is_present(text) else []
    if len(blocks) > MAX_CPUS:
        return []
    parsed = [dict(_split_at_colon(line) for line in block.splitlines() if ":" in line) for block in blocks]
    return [entry for entry in parsed if entry]


def read_cpu_list(host: Host, name: str) -> frozenset[int] | None:
    """A list of the cpu folder (`online`, `isolated` …); None where it is absent, empty or no list."""
    text = host.read_file_text(f"{ROOT}/{name}")
    return parse_cpu_list(text) if is_present(text) and text.strip() not in ("", "(null)") else None


def distinct_sets(sets: Sets) -> tuple[frozenset[int], ...]:
    """Each set once, by its lowest CPU."""
    return tuple(sorted(set(sets.values()), key=lambda cpus: (min(cpus), len(cpus))))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,9}", text) is not None


def _split_at_colon(line: str) -> tuple[str, str]:
    key, _, value = line.partition(":")
    return key.strip(), value.strip()


def _cpus_with_folder(host: Host) -> frozenset[int]:
    names = host.list_names(ROOT)
    matches = (re.fullmatch(r"cpu([0-9]{1,9})", name) for name in names) if is_present(names) else ()
    return frozenset(int(match[1]) for match in matches if match)


def _online_and_offline_cpus(
    host: Host, cpus: frozenset[int], listed: frozenset[int]
) -> tuple[frozenset[int], frozenset[int]]:
    """A tree may hold folders for CPUs that can be plugged in later, and old ones tell offline only by leaving out."""
    off = frozenset(n for n in cpus if host.read_file_text(f"{ROOT}/cpu{n}/online", 64) == "0")
    if not cpus:
        return listed or read_cpu_list(host, "online") or frozenset(), frozenset()
    online = cpus - off
    reported = read_cpu_list(host, "online")
    if reported is not None and reported & cpus:
        online &= reported
    elif listed & cpus:
        # The kernel takes the topology of a CPU away while that is offline, and /proc/cpuinfo leaves it out.
        online = frozenset(n for n in online if n in listed or host.path_exists(f"{ROOT}/cpu{n}/topology"))
    plugged = read_cpu_list(host, "present") or cpus
    return online, (off | (read_cpu_list(host, "offline") or frozenset()) | (cpus - online)) & plugged


def _read_cpu_sets(host: Host, online: frozenset[int], *names: tuple[str, str]) -> Sets:
    sets: Sets = {}
    for n in online:
        for listed, masked in names:
            cpus = read_cpus(host, f"{ROOT}/cpu{n}/topology", listed, masked)
            if is_present(cpus) and n in cpus:
                sets[n] = cpus & online
                break
    return sets


def _read_socket_ids(host: Host, online: frozenset[int]) -> dict[int, int]:
    socket_ids: dict[int, int] = {}
    for n in online:
        number = host.read_integer(f"{ROOT}/cpu{n}/topology/physical_package_id")
        if is_present(number) and number >= 0:  # -1 where the firmware does not tell
            socket_ids[n] = number
    return socket_ids


def _set_of_each_cpu(online: Iterable[int], key: Callable[[int], object]) -> Sets:
    groups: dict[object, set[int]] = {}
    for n in online:
        value = key(n)
        if value is not None:
            groups.setdefault(value, set()).add(n)
    return {n: frozenset(group) for group in groups.values() for n in group}


def _listed_value(listed: dict[int, dict[str, str]], n: int, key: str) -> str | None:
    return listed.get(n, {}).get(key)


def _core_key(listed: dict[int, dict[str, str]], n: int) -> tuple[str | None, str] | None:
    core = _listed_value(listed, n, "core id")
    return None if core is None else (_listed_value(listed, n, "physical id"), core)


def _socket_number_by_cpu(sockets: Sets, ids: dict[int, int]) -> dict[int, int]:
    """CPU -> socket number: the kernel's, where each set has its own, else counted by the lowest CPU."""
    sets = distinct_sets(sockets)
    names = [{ids[n] for n in cpus if n in ids} for cpus in sets]
    single = [next(iter(socket_ids)) for socket_ids in names if len(socket_ids) == 1]
    usable = len(single) == len(sets) == len(set(single))
    return {n: (single[position] if usable else position) for position, cpus in enumerate(sets) for n in cpus}


def absent_level(host: Host, level_name: str) -> Absent:
    return Absent(
        f"the topology reports no {level_name}",
        "missing" if host.live else "captured",
        f"{ROOT}/cpu*/topology",
    )
