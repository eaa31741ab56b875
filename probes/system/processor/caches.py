"""The CPU caches: level, kind, size, and which CPUs share each (Documentation/ABI/testing/sysfs-devices-system-cpu)."""

from collections import Counter
from typing import Annotated, TypeAlias

import msgspec

from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.system.processor.topology import ROOT, read_cpu_topology, read_cpus
from hostdx.probes.types import Absent, is_present
from hostdx.probes.units import parse_size


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


@compute_once_per_host
def read_caches(host: Host) -> tuple[Cache, ...] | Absent:
    """Each cache once, by level, kind and first CPU; only online CPUs. One whose sharers are not told is left out."""
    online = read_cpu_topology(host).online
    caches_by_key: dict[tuple[int, str, frozenset[int]], Cache] = {}
    covered: dict[str, set[int]] = {}
    for n in sorted(online):
        names = host.list_names(f"{ROOT}/cpu{n}/cache")
        for index in names if is_present(names) else ():
            # On a thousand CPUs each read counts: who shares the last level is read once, not for each sharer.
            if not index.startswith("index") or n in covered.setdefault(index, set()):
                continue
            cache = _read_cache(host, f"{ROOT}/cpu{n}/cache/{index}", n, online)
            if cache is not None:
                caches_by_key.setdefault((cache.level, cache.kind, cache.cpus), cache)
                covered[index] |= cache.cpus
    if not caches_by_key:
        return Absent("sysfs lists no cache", "missing" if host.live else "captured", f"{ROOT}/cpu*/cache")
    return tuple(sorted(caches_by_key.values(), key=lambda c: (c.level, c.kind, min(c.cpus))))


def group_caches_by_name(caches: tuple[Cache, ...]) -> tuple[CacheKind, ...]:
    """As `lscpu` counts: one row a name, smallest level first."""
    by_name: dict[str, list[Cache]] = {}
    for cache in caches:
        by_name.setdefault(cache.name, []).append(cache)
    return tuple(_cache_kind(name, some) for name, some in by_name.items())


def _cache_kind(name: str, some: list[Cache]) -> CacheKind:
    sizes = sorted(Counter(c.size_bytes for c in some if is_present(c.size_bytes)).items())
    return CacheKind(
        name=name,
        instances=len(some),
        sizes_bytes=tuple(size for size, _ in sizes),
        counts=tuple(count for _, count in sizes),
    )


def last_level_caches(caches: tuple[Cache, ...]) -> tuple[Cache, ...]:
    """The outermost caches. An L4 beside memory (Crystal Well, KNL) counts like any other level."""
    deepest = max((c.level for c in caches if c.kind != "Instruction"), default=0)
    return tuple(c for c in caches if c.level == deepest and c.kind != "Instruction")


def _read_cache(host: Host, folder: str, n: int, online: frozenset[int]) -> Cache | None:
    level, kind = host.read_integer(f"{folder}/level"), host.read_word(f"{folder}/type")
    cpus = read_cpus(host, folder, "shared_cpu_list", "shared_cpu_map")
    if isinstance(level, Absent) or isinstance(cpus, Absent) or n not in cpus or not 0 < level < 10:
        return None
    return Cache(
        level=level,
        kind=kind if is_present(kind) else "Unified",
        size_bytes=_read_cache_bytes(host, f"{folder}/size"),
        cpus=cpus & online,
    )


def _read_cache_bytes(host: Host, path: str) -> int | Absent:
    text = host.read_file_text(path, 64)
    if isinstance(text, Absent):
        return text
    # POWER and some guests say 0
    return parse_size(text) or Absent(f"no size: {text[:20]!r}", "unsupported", path)
