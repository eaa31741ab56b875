"""Where each online CPU lies: core, cluster, die, socket, book; by the kernel's sets, not by its numbers.

Numbers repeat (a core_id in each socket, a socket in each book of an IBM Z), may be -1 (old ARM and POWER firmware)
and say nothing about what is offline. lscpu and hwloc count the sets (`core_cpus_list`, `package_cpus_list` …) too.
Documentation/admin-guide/cputopology.rst; kernels before 5.3 call the same sets thread_siblings and core_siblings.
"""

import re
from collections.abc import Callable, Iterable

import msgspec

from probes.host import Host, once
from probes.system.processor.cpulist import MOST_CPUS, parse_list, read_cpus
from probes.types import Absent, present

ROOT = "/sys/devices/system/cpu"

Sets = dict[int, frozenset[int]]
# set, its names as list and mask, oldest last
_CORE = (("core_cpus_list", "core_cpus"), ("thread_siblings_list", "thread_siblings"))
_SOCKET = (("package_cpus_list", "package_cpus"), ("core_siblings_list", "core_siblings"))


class Topology(msgspec.Struct, frozen=True, kw_only=True):
    """CPU number -> set, each over online CPUs only; empty where nothing tells. `known` are the CPUs with a folder,
    `present` what is plugged in as the kernel says. `ids`: the kernel's socket numbers where they tell sockets apart.
    """

    known: frozenset[int]
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


@once
def topology(host: Host) -> Topology:
    """From sysfs; what that lacks (kernels before 2.6.16, reduced trees) from /proc/cpuinfo."""
    info = cpuinfo(host)
    listed = {int(entry["processor"]): entry for entry in info if _is_number(entry.get("processor", ""))}
    known = _numbered(host)
    online, offline = _online(host, known, frozenset(listed))
    cores = _sets(host, online, *_CORE)
    sockets = _sets(host, online, *_SOCKET)
    ids = _ids(host, online)
    source = f"{ROOT}/cpu*/topology"
    if not sockets:
        sockets = _grouped(online, lambda n: ids.get(n, -1)) if ids else {}
    if not sockets:
        sockets = _grouped(online, lambda n: _word(listed, n, "physical id"))
        source = "/proc/cpuinfo" if sockets else source
    if not cores:
        numbers = {
            n: value for n in online if present(value := host.integer(f"{ROOT}/cpu{n}/topology/core_id"))
        }
        cores = _grouped(online, lambda n: (sockets.get(n), numbers[n]) if n in numbers else None)
    if not cores:
        cores = _grouped(online, lambda n: _pair_of(listed, n))
    return Topology(
        known=known or frozenset(listed),
        online=online,
        offline=offline,
        present=told(host, "present") or known or frozenset(listed),
        cores=cores,
        dies=_sets(host, online, ("die_cpus_list", "die_cpus")),
        sockets=sockets,
        books=_sets(host, online, ("book_siblings_list", "book_siblings")),
        drawers=_sets(host, online, ("drawer_siblings_list", "drawer_siblings")),
        ids=_labels(sockets, ids),
        source=source,
    )


@once
def cpuinfo(host: Host) -> list[dict[str, str]]:
    """/proc/cpuinfo: one dictionary a processor; on s390 and some ARM the first holds what is common.

    Empty where a captured one has more than MOST_CPUS.
    """
    text = host.text("/proc/cpuinfo", 64 << 20)
    blocks = re.split(r"\n\s*\n", text) if present(text) else []
    if len(blocks) > MOST_CPUS:
        return []
    parsed = [dict(_pair(line) for line in block.splitlines() if ":" in line) for block in blocks]
    return [entry for entry in parsed if entry]


def told(host: Host, name: str) -> frozenset[int] | None:
    """A list of the cpu folder (`online`, `isolated` …); None where it is absent, empty or no list."""
    text = host.text(f"{ROOT}/{name}")
    return parse_list(text) if present(text) and text.strip() not in ("", "(null)") else None


def distinct(sets: Sets) -> tuple[frozenset[int], ...]:
    """Each set once, by its lowest CPU."""
    return tuple(sorted(set(sets.values()), key=lambda cpus: (min(cpus), len(cpus))))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,9}", text) is not None


def _pair(line: str) -> tuple[str, str]:
    key, _, value = line.partition(":")
    return key.strip(), value.strip()


def _numbered(host: Host) -> frozenset[int]:
    names = host.listing(ROOT)
    found = (re.fullmatch(r"cpu([0-9]{1,9})", name) for name in names) if present(names) else ()
    return frozenset(int(match[1]) for match in found if match)


def _online(
    host: Host, known: frozenset[int], listed: frozenset[int]
) -> tuple[frozenset[int], frozenset[int]]:
    """A tree may hold folders for CPUs that can be plugged in later, and old ones tell offline only by leaving out."""
    off = frozenset(n for n in known if host.text(f"{ROOT}/cpu{n}/online", 64) == "0")
    if not known:
        return listed or told(host, "online") or frozenset(), frozenset()
    online = known - off
    said = told(host, "online")
    if said is not None and said & known:
        online &= said
    elif listed & known:
        # The kernel takes the topology of a CPU away while that is offline, and /proc/cpuinfo leaves it out.
        online = frozenset(n for n in online if n in listed or host.exists(f"{ROOT}/cpu{n}/topology"))
    plugged = told(host, "present") or known
    return online, (off | (told(host, "offline") or frozenset()) | (known - online)) & plugged


def _sets(host: Host, online: frozenset[int], *names: tuple[str, str]) -> Sets:
    found: Sets = {}
    for n in online:
        for listed, masked in names:
            cpus = read_cpus(host, f"{ROOT}/cpu{n}/topology", listed, masked)
            if present(cpus) and n in cpus:
                found[n] = cpus & online
                break
    return found


def _ids(host: Host, online: frozenset[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for n in online:
        number = host.integer(f"{ROOT}/cpu{n}/topology/physical_package_id")
        if present(number) and number >= 0:  # -1 where the firmware does not tell
            found[n] = number
    return found


def _grouped(online: Iterable[int], key: Callable[[int], object]) -> Sets:
    groups: dict[object, set[int]] = {}
    for n in online:
        value = key(n)
        if value is not None:
            groups.setdefault(value, set()).add(n)
    return {n: frozenset(group) for group in groups.values() for n in group}


def _word(listed: dict[int, dict[str, str]], n: int, key: str) -> str | None:
    return listed.get(n, {}).get(key)


def _pair_of(listed: dict[int, dict[str, str]], n: int) -> tuple[str | None, str] | None:
    core = _word(listed, n, "core id")
    return None if core is None else (_word(listed, n, "physical id"), core)


def _labels(sockets: Sets, ids: dict[int, int]) -> dict[int, int]:
    """CPU -> socket number: the kernel's, where each set has its own, else counted by the lowest CPU."""
    sets = distinct(sockets)
    names = [{ids[n] for n in cpus if n in ids} for cpus in sets]
    single = [next(iter(found)) for found in names if len(found) == 1]
    usable = len(single) == len(sets) == len(set(single))
    return {n: (single[position] if usable else position) for position, cpus in enumerate(sets) for n in cpus}


def why_nothing(host: Host, what: str) -> Absent:
    return Absent(
        f"the topology reports no {what}", "missing" if host.live else "captured", f"{ROOT}/cpu*/topology"
    )
