"""The CPU caches: level, kind, size, and which CPUs share each (Documentation/ABI/testing/sysfs-devices-system-cpu)."""

from collections import Counter
from typing import Annotated, TypeAlias

import msgspec

from probes.host import Host, once
from probes.system.processor.cpulist import read_cpus
from probes.system.processor.topology import ROOT, topology
from probes.types import Absent, present
from probes.units import bytes_of


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """`kind` is Data, Instruction or Unified. A hypervisor may invent all of it (260 MiB of L3 for two CPUs)."""

    level: int
    kind: str
    size_bytes: int | Absent
    cpus: frozenset[int]

    @property
    def name(self) -> str:
        return f"L{self.level}" + {"Data": "d", "Instruction": "i"}.get(self.kind, "")


Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]  # it stands in recordings, too


class CacheKind(msgspec.Struct, frozen=True, kw_only=True):
    """All caches of a name: `sizes_bytes` smallest first (a hybrid processor has several), `counts` how many have each
    of these sizes.
    """

    name: str
    instances: Count
    sizes_bytes: tuple[Count, ...]
    counts: tuple[Count, ...] = ()


@once
def caches(host: Host) -> tuple[Cache, ...] | Absent:
    """Each cache once, by level, kind and first CPU; only online CPUs. One whose sharers are not told is left out."""
    online = topology(host).online
    found: dict[tuple[int, str, frozenset[int]], Cache] = {}
    covered: dict[str, set[int]] = {}
    for n in sorted(online):
        names = host.listing(f"{ROOT}/cpu{n}/cache")
        for index in names if present(names) else ():
            # On a thousand CPUs each read counts: who shares the last level is read once, not for each sharer.
            if not index.startswith("index") or n in covered.setdefault(index, set()):
                continue
            it = _read(host, f"{ROOT}/cpu{n}/cache/{index}", n, online)
            if it is not None:
                found.setdefault((it.level, it.kind, it.cpus), it)
                covered[index] |= it.cpus
    if not found:
        return Absent("sysfs lists no cache", "missing" if host.live else "captured", f"{ROOT}/cpu*/cache")
    return tuple(sorted(found.values(), key=lambda c: (c.level, c.kind, min(c.cpus))))


def kinds(all_of_them: tuple[Cache, ...]) -> tuple[CacheKind, ...]:
    """As `lscpu` counts: one row a name, smallest level first."""
    by_name: dict[str, list[Cache]] = {}
    for cache in all_of_them:
        by_name.setdefault(cache.name, []).append(cache)
    return tuple(_kind(name, some) for name, some in by_name.items())


def _kind(name: str, some: list[Cache]) -> CacheKind:
    sizes = sorted(Counter(c.size_bytes for c in some if present(c.size_bytes)).items())
    return CacheKind(
        name=name,
        instances=len(some),
        sizes_bytes=tuple(size for size, _ in sizes),
        counts=tuple(count for _, count in sizes),
    )


def last_level(all_of_them: tuple[Cache, ...]) -> tuple[Cache, ...]:
    """The outermost caches. An L4 beside memory (Crystal Well, KNL) counts like any other level."""
    deepest = max((c.level for c in all_of_them if c.kind != "Instruction"), default=0)
    return tuple(c for c in all_of_them if c.level == deepest and c.kind != "Instruction")


def _read(host: Host, folder: str, n: int, online: frozenset[int]) -> Cache | None:
    level, kind = host.integer(f"{folder}/level"), host.word(f"{folder}/type")
    cpus = read_cpus(host, folder, "shared_cpu_list", "shared_cpu_map")
    if isinstance(level, Absent) or isinstance(cpus, Absent) or n not in cpus or not 0 < level < 10:
        return None
    return Cache(
        level=level,
        kind=kind if present(kind) else "Unified",
        size_bytes=_size(host, f"{folder}/size"),
        cpus=cpus & online,
    )


def _size(host: Host, path: str) -> int | Absent:
    text = host.text(path, 64)
    if isinstance(text, Absent):
        return text
    return bytes_of(text) or Absent(
        f"no size: {text[:20]!r}", "unsupported", path
    )  # POWER and some guests say 0
