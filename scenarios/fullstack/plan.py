"""The plan of scenario `fullstack`: where it reads and writes, to whom it streams, what it compares."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from probes import units
from probes.action import Action
from probes.bench.disk.budget import GIB, MAX_WRITTEN_BYTES
from probes.bench.streams.messages import Direction, Where
from probes.bench.streams.remote import unfit_reason
from probes.host import Host
from scenarios.files.directories import TestDirectory
from scenarios.fullstack.loads import LABELS, Load, loads, slice_s
from scenarios.fullstack.machine import Machine, machine
from scenarios.guards.foreign_latency import STOPS_ITSELF
from scenarios.knowledge.disks import fill_s
from scenarios.model import Options, UsageError, directory_action
from scenarios.plan import Plan, PlannedStep, Written

BUDGET_S, LEAST_BUDGET_S = 240.0, 10.0
MOST_STREAMS = 32
MOST_FILES_BYTES = GIB
LEAST_FILE_BYTES = 16 << 20
PEER_SPARE_S = 120.0  # beside the measuring, until a peer ends by itself
READS = "read-1m-qd8"  # the engine's load that asks for a directory as this scenario does

NAMESPACES = Action(
    kind="resource",
    resource="namespace",
    title="private network namespaces with veth pairs",
    target="hostdx-fullstack-*",
    parameters={"held by": "process"},
    risk="none: a process of hostdx holds them, and the kernel removes them when it ends",
)


class FullstackSetup:
    """The directory, the other end, and what is compared."""

    def __init__(self, host: Host, options: Options) -> None:
        """Raises Usage."""
        self.place = TestDirectory(host, options, MOST_FILES_BYTES, (READS,))
        self.peer, self.token = options.as_string("peer"), options.as_string("token")
        if self.peer and (why := unfit_reason(self.peer, self.token)):
            raise UsageError(why)
        if self.token and not self.peer:
            raise UsageError("--token belongs to --peer HOST:PORT")
        self.streams = options.as_integer("streams", 4)
        asked = options.as_string("direction", "both")
        self.directions: tuple[Direction, ...] = tuple(w for w in ("out", "in") if asked in ("both", w))
        self.only_streams = options.as_string("only", "all") == "streams"
        self.budget_s = options.as_number("budget") or BUDGET_S
        if self.budget_s < LEAST_BUDGET_S:
            raise UsageError(f"--budget {self.budget_s:g} is too short; give {LEAST_BUDGET_S:g} or more")
        self.most_bytes = options.as_integer("most-bytes") or MAX_WRITTEN_BYTES
        self.where: Where
        self.where = "peer" if self.peer else "namespaces" if os.geteuid() == 0 else "loopback"
        self.machine: Machine = machine(host, self.place.leaf_devices)

    @property
    def directory(self) -> str:
        return self.place.directory_path

    def loads(self, *, direct: bool = True) -> tuple[Load, ...]:
        own = self.where == "namespaces"
        found = self.machine
        every = loads(self.directions, direct=direct, own_links=own, near=found.near, far=found.far)
        chosen = [load for load in every if load.pairs or not self.only_streams]
        length = slice_s(self.budget_s, chosen)
        # of a setting a third: its share is small, and groups enough tell more than long slices
        return tuple(load._replace(slice_s=length / (3 if load.weight == 1 else 1)) for load in chosen)

    @property
    def network(self) -> str:
        """The other end in words."""
        if self.peer:
            return f"peer {self.peer}"
        if self.where == "namespaces":
            return "a veth pair between two name spaces of this host, no card and no wire (--peer HOST measures these)"
        return "the loopback of this host, without root; no card and no wire (--peer HOST measures these)"

    @property
    def refusal(self) -> str:
        if self.place.refusal:
            return self.place.refusal
        file_bytes = self.place.size_bytes // (len(self.directions) * self.streams)
        if file_bytes < LEAST_FILE_BYTES:
            return (
                f"{self.directory}: {units.size(self.place.size_bytes)} for test files give each of {self.streams} "
                f"streams less than {units.size(LEAST_FILE_BYTES)}; free some space, or give fewer --streams"
            )
        if self.place.size_bytes > self.most_bytes:
            return f"the files take {units.size(self.place.size_bytes)}: raise --most-bytes, or give a --size"
        return ""


def make(host: Host, options: Options, planned: Callable[..., Plan]) -> tuple[Plan, FullstackSetup]:
    layout = FullstackSetup(host, options)
    refusal, found = layout.refusal, layout.loads()
    used = dict.fromkeys(name for load in found for name in load.sides)
    actions = (
        directory_action(host, layout.directory) if layout.directory else None,
        NAMESPACES if layout.where == "namespaces" else None,
    )
    written = Written(device=layout.place.device_name, bytes=layout.most_bytes, where=layout.directory)
    prepare_s = fill_s(layout.place.size_bytes) + 2.0
    plan = planned(
        options=dict(options.values),
        variants=tuple(LABELS[name] for name in used),
        workloads=tuple(load.workload for load in found),
        steps=(
            PlannedStep("prepare", "write the test files", prepare_s),
            PlannedStep("connect", "connect the two ends", 2.0),
            PlannedStep("measure", "measure and judge", layout.budget_s),
        ),
        reads=("mounts", "/proc/diskstats", "/proc/stat", "/sys/class/net, tc, PCIe links", "io.max"),
        actions=() if refusal else tuple(action for action in actions if action is not None),
        writes=() if refusal else (written,),
        rights=() if refusal else (f"write permission in {layout.directory}",),
        seconds=layout.budget_s + prepare_s + 2.0,
        measuring_s=layout.budget_s,
        sentences=() if refusal else tuple(_sentences(layout)),
        left_out=tuple(_left_out(layout)),
        refusal=refusal,
    )
    return plan, layout


def _sentences(layout: FullstackSetup) -> Iterator[str]:
    yield STOPS_ITSELF
    yield (
        f"{layout.streams} streams at once, each with files and a connection of its own; at most "
        f"{units.size(layout.place.size_bytes)} of unnamed files, so that nothing is left after a crash"
    )
    yield f"network: {layout.network}"
    if layout.peer:
        yield (
            f"loads the network to {layout.peer}; the peer takes bytes or sends them for this run alone, opens no "
            "file, and ends with it"
        )
    yield "settings of the disk and the card are read, none is changed"
    yield from layout.place.fit.notes if layout.place.fit is not None else ()


def _left_out(layout: FullstackSetup) -> Iterator[str]:
    if layout.where == "loopback":
        yield "a private link and its MTU: needs root"
    if not layout.machine.near:
        yield "near and far placement: one NUMA node with CPUs, or the disk's node is not told"
