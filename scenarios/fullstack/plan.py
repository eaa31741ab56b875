"""The plan of scenario `fullstack`: where it reads and writes, to whom it streams, what it compares."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from hostdx.probes import units
from hostdx.probes.engine.disk.budget import GIB, MAX_WRITTEN_BYTES
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import OptionMap, UsageError, make_directory_action
from hostdx.scenarios.contract.plan import Plan, PlannedStep, PlannedWrite
from hostdx.scenarios.experiment.files.directories import ChosenTestDirectory
from hostdx.scenarios.experiment.guards.foreign_latency import STOPS_ITSELF
from hostdx.scenarios.fullstack.loads import LABELS, StreamLoad, common_slice_s, stream_loads
from hostdx.scenarios.fullstack.machine import StreamBounds, read_disk_bounds_and_cpus
from hostdx.scenarios.fullstack.measurement.messages import Direction, Where
from hostdx.scenarios.fullstack.measurement.remote import peer_name_problem
from hostdx.scenarios.triage.knowledge.disks import guess_seconds_to_write

BUDGET_S, MIN_BUDGET_S = 240.0, 10.0
MAX_STREAMS = 32
MAX_FILES_BYTES = GIB
MIN_FILE_BYTES = 16 << 20
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

    def __init__(self, host: Host, options: OptionMap) -> None:
        """Raises UsageError."""
        self.place = ChosenTestDirectory(host, options, MAX_FILES_BYTES, (READS,))
        self.peer, self.token = options.as_string("peer"), options.as_string("token")
        if self.peer and (why := peer_name_problem(self.peer, self.token)):
            raise UsageError(why)
        if self.token and not self.peer:
            raise UsageError("--token belongs to --peer HOST:PORT")
        self.streams = options.as_integer("streams", 4)
        asked = options.as_string("direction", "both")
        self.directions: tuple[Direction, ...] = tuple(w for w in ("out", "in") if asked in ("both", w))
        self.only_streams = options.as_string("only", "all") == "streams"
        self.budget_s = options.as_number("budget") or BUDGET_S
        if self.budget_s < MIN_BUDGET_S:
            raise UsageError(
                f"--budget {self.budget_s:g} is too short for all corners; give {MIN_BUDGET_S:g} or more"
            )
        self.most_bytes = options.as_integer("most-bytes") or MAX_WRITTEN_BYTES
        self.peer_kind: Where
        self.peer_kind = "peer" if self.peer else "namespaces" if os.geteuid() == 0 else "loopback"
        self.machine: StreamBounds = read_disk_bounds_and_cpus(host, self.place.leaf_devices)

    @property
    def test_directory(self) -> str:
        return self.place.directory_path

    def chosen_loads(self, *, direct: bool = True) -> tuple[StreamLoad, ...]:
        own = self.peer_kind == "namespaces"
        bounds = self.machine
        every = stream_loads(self.directions, direct=direct, own_links=own, near=bounds.near, far=bounds.far)
        chosen = [load for load in every if load.pairs or not self.only_streams]
        length = common_slice_s(self.budget_s, chosen)
        # of a setting a third: its share is small, and groups enough tell more than long slices
        return tuple(load._replace(slice_s=length / (3 if load.budget_weight == 1 else 1)) for load in chosen)

    @property
    def network_text(self) -> str:
        """The other end in words."""
        if self.peer:
            return f"peer {self.peer}"
        if self.peer_kind == "namespaces":
            return "a veth pair between two name spaces of this host, no card and no wire (--peer HOST measures these)"
        return "the loopback of this host, without root; no card and no wire (--peer HOST measures these)"

    @property
    def refusal_reason(self) -> str:
        if self.place.refusal:
            return self.place.refusal
        file_bytes = self.place.size_bytes // (len(self.directions) * self.streams)
        if file_bytes < MIN_FILE_BYTES:
            return (
                f"{self.test_directory}: {units.format_size(self.place.size_bytes)} for test files give "
                f"each of {self.streams} "
                f"streams less than {units.format_size(MIN_FILE_BYTES)}: give a larger --size or fewer --streams, or "
                "free some space"
            )
        if self.place.size_bytes > self.most_bytes:
            return f"the files take {units.format_size(self.place.size_bytes)}: raise --most-bytes, or give a --size"
        return ""


def make_plan_and_setup(
    host: Host, options: OptionMap, planned: Callable[..., Plan]
) -> tuple[Plan, FullstackSetup]:
    layout = FullstackSetup(host, options)
    refusal, chosen_loads = layout.refusal_reason, layout.chosen_loads()
    used = dict.fromkeys(name for load in chosen_loads for name in load.sides)
    actions = (
        make_directory_action(host, layout.test_directory) if layout.test_directory else None,
        NAMESPACES if layout.peer_kind == "namespaces" else None,
    )
    written = PlannedWrite(
        device=layout.place.device_name, bytes=layout.most_bytes, where=layout.test_directory
    )
    prepare_s = guess_seconds_to_write(layout.place.size_bytes) + 2.0
    plan = planned(
        options=dict(options.values),
        variants=tuple(LABELS[name] for name in used),
        workloads=tuple(load.planned_workload for load in chosen_loads),
        steps=(
            PlannedStep("prepare", "write the test files", prepare_s),
            PlannedStep("connect", "connect the two ends", 2.0),
            PlannedStep("measure", "measure and judge", layout.budget_s),
        ),
        reads=("mounts", "/proc/diskstats", "/proc/stat", "/sys/class/net, tc, PCIe links", "io.max"),
        actions=() if refusal else tuple(action for action in actions if action is not None),
        writes=() if refusal else (written,),
        rights=() if refusal else (f"write permission in {layout.test_directory}",),
        seconds=layout.budget_s + prepare_s + 2.0,
        measuring_s=layout.budget_s,
        sentences=() if refusal else tuple(_plan_sentences(layout)),
        left_out=tuple(_left_out_sentences(layout)),
        refusal=refusal,
    )
    return plan, layout


def _plan_sentences(layout: FullstackSetup) -> Iterator[str]:
    yield STOPS_ITSELF
    yield (
        f"{layout.streams} streams at once, each with files and a connection of its own; at most "
        f"{units.format_size(layout.place.size_bytes)} of unnamed files, so that nothing is left after a crash"
    )
    yield f"network: {layout.network_text}"
    if layout.peer:
        yield (
            f"loads the network to {layout.peer}; the peer takes bytes or sends them for this run alone, opens no "
            "file, and ends with it"
        )
    yield "settings of the disk and the card are read, none is changed"
    yield from layout.place.fit.notes if layout.place.fit is not None else ()


def _left_out_sentences(layout: FullstackSetup) -> Iterator[str]:
    if layout.peer_kind == "loopback":
        yield "a private link and its MTU: needs root"
    if not layout.machine.near:
        yield "near and far placement: one NUMA node with CPUs, or the disk's node is not told"
