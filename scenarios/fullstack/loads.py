"""What is compared: the disk beside the network and the other way round, the ways between them, placements, MTU."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hostdx.probes.files.safe_read import read_shipped_toml
from hostdx.scenarios.contract.plan import Metric, Variant, Workload
from hostdx.scenarios.experiment.levels import Pair
from hostdx.scenarios.fullstack.measurement.bench import METRIC
from hostdx.scenarios.fullstack.measurement.messages import PATHS, Direction, OwnLink, SliceJob

# The kernel's limits of a disk meter in periods of 0.1 s and give the first one at once: slices of 20 to 100 ms of a
# disk that is capped at 100 MiB/s scattered by half and favoured who came after a pause, of 0.3 s by 7 to 11 %.
SLICE_S, MIN_SLICE_S = 0.3, 0.02
MIN_GROUPS = 8
GROUPS = 14  # of the widest load, for which its seconds should do, with what lies between its slices
OPERATIONS = 10  # of CHUNK in a slice, for each stream
LINKS = (OwnLink(), OwnLink(mtu=9000), OwnLink(spread="rfs"), OwnLink(spread="xps"))
# of a link of our own: which load varies it, its title, the side that is as the first link is, the other one
VARIED = {
    1: ("mtu", "MTU of the private link", "mtu1500", "mtu9000"),
    2: ("rfs", "who takes what arrives on the private link", "plain", "rfs"),
    3: ("xps", "queues of the private link", "plain", "xps"),
}
DISK, NETWORK = "disk", "network"
LABELS = {
    v.id: v for v in read_shipped_toml(__file__, "variants.toml", dict[str, tuple[Variant, ...]])["variant"]
}


class StreamLoad(NamedTuple):
    """`pairs`: what is held against what; empty: all against the first."""

    id: str
    title: str
    direction: Direction
    sides: dict[str, SliceJob]
    pairs: tuple[Pair, ...] = ()
    slice_s: float = SLICE_S

    @property
    def has_writes(self) -> bool:
        return any(side.does_write for side in self.sides.values())

    @property
    def budget_weight(self) -> int:
        """Its shares of the budget: what the streams are limited by, what is lost together, what a setting changes."""
        return 8 if self.pairs else 2 if "together" in self.sides else 1

    @property
    def comparison_count(self) -> int:
        return len(self.pairs) or len(self.sides) - 1

    @property
    def planned_workload(self) -> Workload:
        return Workload(
            id=self.id,
            title=self.title,
            metrics=(Metric(METRIC, METRIC),),
            min_groups=MIN_GROUPS,
            slice_s=self.slice_s,
            slice_operations=OPERATIONS,
            aside="together" not in self.sides,
        )


BESIDE = {
    "out": (("read", "reading, beside sending", DISK, NETWORK),
            ("send", "sending, beside reading", NETWORK, DISK)),
    "in": (("write", "writing, beside receiving", DISK, NETWORK),
           ("receive", "receiving, beside writing", NETWORK, DISK)),
}  # fmt: skip
STREAMS = {"out": "streams from disk to network", "in": "streams from network to disk"}


def common_slice_s(seconds: float, all_loads: Sequence[StreamLoad]) -> float:
    """Of all loads, so that groups enough fit into a budget; where bytes are the limit, the scheduler shortens it."""
    widest = max(all_loads, key=lambda load: len(load.sides))
    share = seconds * widest.budget_weight / sum(load.budget_weight for load in all_loads)
    return max(MIN_SLICE_S, min(SLICE_S, share / (GROUPS * 2 * len(widest.sides))))


def write_budget_shares(all_loads: Iterable[StreamLoad]) -> dict[str, float]:
    """Of what may still be written when a load begins, by its weight among those that write and are not over."""
    writing = [load for load in all_loads if load.has_writes]
    return {
        load.id: load.budget_weight / sum(later.budget_weight for later in writing[number:])
        for number, load in enumerate(writing)
    }


def stream_loads(
    directions: Sequence[Direction], *, direct: bool = True, own_links: bool = False,
    near: Sequence[int] = (), far: Sequence[int] = (),
) -> tuple[StreamLoad, ...]:  # fmt: skip
    """own_links: with what is varied on ours. near, far: CPUs, where the host has several nodes."""
    all_loads = []
    for way in directions:
        paths = [path for path in PATHS[way] if direct or path != "direct"]
        sides = {name: SliceJob(job=name, direction=way) for name in (DISK, NETWORK, *paths)}  # type: ignore[arg-type]
        pairs = [(base, path) for path in paths for base in (DISK, NETWORK)]
        pairs += [("copy", path) for path in paths if path != "copy"]
        all_loads.append(StreamLoad(way, STREAMS[way], way, sides, tuple(pairs)))
    for way in directions:
        for id, title, job, other_job in BESIDE[way]:
            alone = SliceJob(job=job, direction=way)  # type: ignore[arg-type]
            both = SliceJob(job=job, direction=way, beside=other_job)  # type: ignore[arg-type]
            all_loads.append(StreamLoad(id, title, way, {"alone": alone, "together": both}))
    if "out" in directions and direct:
        ways = {name: SliceJob(job=name) for name in ("direct", "zerocopy")}
        all_loads.append(StreamLoad("zerocopy", "sending without a copy", "out", ways))
    if near and far:
        placed = {
            name: SliceJob(job="direct" if direct else "copy", direction=directions[0], cpus=tuple(cpus))
            for name, cpus in (("near", near), ("far", far))
        }
        all_loads.append(StreamLoad("placement", "workers near and far", directions[0], placed))
    for number, (id, title, *names) in VARIED.items() if own_links else ():
        links = {
            name: SliceJob(job=NETWORK, direction=directions[0], link=link)  # type: ignore[arg-type]
            for name, link in zip(names, (0, number), strict=True)
        }
        all_loads.append(StreamLoad(id, title, directions[0], links))
    return tuple(all_loads)
