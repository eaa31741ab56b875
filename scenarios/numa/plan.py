"""The plan of scenario `numa`: what can be measured on this topology, how long, and what is only read."""

import random
from collections.abc import Callable

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.pci import PciDevice, read_pci_devices
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract.model import OptionMap, UsageError, make_directory_action
from hostdx.scenarios.contract.plan import Plan, PlannedStep, Variant, Workload
from hostdx.scenarios.experiment.load_schedule import MAY_BE_LEFT_OUT
from hostdx.scenarios.numa.machine import MachineShape, read_machine
from hostdx.scenarios.numa.measurement import locality
from hostdx.scenarios.numa.measurement.memory import CpuMemoryPair, limit_pairs, list_node_pairs
from hostdx.scenarios.numa.measurement.placement import WorkerPlacement, WorkerSeat
from hostdx.scenarios.numa.measurement.trains import ASKING, STREAMING, PlacementSide, metrics_for
from hostdx.scenarios.numa.picture import draw_picture
from hostdx.scenarios.numa.placements import (
    choose_placements,
    full_free_and_pinned,
    loopback_placements,
    variant_line,
    why_placement_untestable,
)
from hostdx.scenarios.numa.settings import bios_source_problem
from hostdx.scenarios.triage.cpus.usable import UsableCpus, usable_cpus

DEFAULT_BUDGET_S = 60.0
# Shares of the budget: what a CPU and a memory need for intervals of a few per cent, the rest for the comparisons.
CPU_SHARE, MEMORY_SHARE, DISK_SHARE = 0.35, 0.25, 0.2
MIN_ROUNDS = 4  # fewer give no interval
WORK = "compress"  # branches, tables in the first-level cache, and a second-level cache's worth of data
NEAR, FAR = "near", "far"
MAX_COPIERS = 16
SMALL, HUGE = "small", "huge"


class NumaSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What the host offers, worked out once for the plan and its run."""

    shape: MachineShape
    usable: UsableCpus
    entries: tuple[tuple[Workload, str, tuple[PlacementSide, ...]], ...]  # workload, work, sides
    left_out: tuple[str, ...]
    pairs: tuple[CpuMemoryPair, ...]  # of nodes: whose CPUs copy from whose memory
    disk: locality.NodeDirectory | None
    untestable: str  # why placements cannot be tested here
    measures: bool

    @property
    def placement_commands(self) -> tuple[tuple[WorkerPlacement, str], ...]:
        """The placements, each with the same for scenario `workload`."""
        sides = next((sides for workload, _, sides in self.entries if workload.id == "placement"), ())
        return tuple((side.placement, variant_line(side.placement, self.usable)) for side in sides)


def budget_s(options: OptionMap) -> float:
    return options.as_number("budget") or DEFAULT_BUDGET_S


def make_numa_setup(host: Host, options: OptionMap) -> NumaSetup:
    usable = usable_cpus(host)
    measures = host.live and options.as_string("only", "all") == "all" and bool(usable.cpus)
    left_out: list[str] = []
    entries: list[tuple[Workload, str, tuple[PlacementSide, ...]]] = []
    disk: locality.NodeDirectory | None = None
    every = list_node_pairs(usable)
    pairs = limit_pairs(every, budget_s(options) * MEMORY_SHARE, MIN_ROUNDS)
    if measures:
        entries, left_out = _plan_comparisons(options, usable, every, _card_node(read_pci_devices(host)))
        if len(pairs) < len(every):
            left_out.append(
                f"memory of {len(every) - len(pairs)} of {len(every)} pairs of nodes: measured are each node's own "
                f"memory and what node {every[0].cpu_node} reaches; a longer --budget measures all"
            )
        if directory := options.as_string("dir"):
            there = locality.examine_directory(host, directory, usable)
            disk = there if isinstance(there, locality.NodeDirectory) else None
            left_out += [] if isinstance(there, locality.NodeDirectory) else [f"disk: {there}"]
    elif not host.live:
        left_out.append("every measurement: a captured tree is only read")
    return NumaSetup(
        shape=read_machine(host),
        usable=usable,
        entries=tuple(entries),
        left_out=tuple(left_out),
        pairs=pairs,
        disk=disk,
        untestable=why_placement_untestable(usable) if measures else "",
        measures=measures,
    )


def _card_node(devices: tuple[PciDevice, ...] | Absent) -> int | None:
    """Of the first network card that tells one."""
    cards = [d.node for d in devices if d.kind == "NIC" and d.names] if is_present(devices) else []
    return next((node for node in cards if isinstance(node, int)), None)


def _plan_comparisons(
    options: OptionMap, usable: UsableCpus, reach: tuple[CpuMemoryPair, ...], card_node: int | None
) -> tuple[list[tuple[Workload, str, tuple[PlacementSide, ...]]], list[str]]:
    entries: list[tuple[Workload, str, tuple[PlacementSide, ...]]] = []
    left_out: list[str] = []
    if unfit := why_placement_untestable(usable):
        left_out.append(f"placements: {unfit}")
    else:
        rng = random.Random(options.as_integer("seed"))
        idle = choose_placements(usable, rng, options.as_integer("workers"))
        if len(idle) > 1:
            title = f"zlib, {len(idle[0].seats)} workers"
            entries.append(
                (_make_workload("placement", title, WORK), WORK, tuple(PlacementSide(p) for p in idle))
            )
        entries.append(
            (
                _make_workload("placement-full", f"zlib, all {len(usable.cpus)} CPUs", WORK),
                WORK,
                tuple(PlacementSide(p) for p in full_free_and_pinned(usable.cpus)),
            )
        )
    if (both := _near_and_far_pair(reach)) is not None:
        near, far = both
        alike = near.memory_node == far.memory_node
        place_text = f"node {far.memory_node}'s memory" if alike else f"node {far.cpu_node}'s cores"
        for work, title in (("copy", "memory copy"), ("chase", "memory latency")):
            entries.append(
                (
                    _make_workload(f"memory-{work}", f"{title}, {place_text}", work),
                    work,
                    _near_and_far_variants(near, far, work),
                )
            )
    else:
        left_out.append("near against far memory: one node has memory")
    connected = loopback_placements(usable, card_node)
    if isinstance(connected, str):
        left_out.append(f"loopback network near against far: {connected}")
    else:
        for work, title in (
            (STREAMING, "loopback network, stream"),
            (ASKING, "loopback network, request and answer"),
        ):
            entries.append(
                (_make_workload(work, title, work), work, tuple(PlacementSide(p) for p in connected))
            )
    home = next((t for t in reach if t.is_near), reach[0] if reach else None)
    page_placement = WorkerPlacement(
        SMALL, "", (WorkerSeat((min(usable.cpus),), home.memory_node if home else None),)
    )
    pages = tuple(PlacementSide(page_placement, page) for page in (SMALL, HUGE))
    entries.append((_make_workload("pages", "memory latency by page size", "chase"), "chase", pages))
    return entries, left_out


def _near_and_far_pair(reach: tuple[CpuMemoryPair, ...]) -> tuple[CpuMemoryPair, CpuMemoryPair] | None:
    """The farthest memory from the first node's cores, and the same memory from its own: a node whose memory is slow
    is slow in both. Where only memory without cores is far, the first node's own is the near one.
    """
    own = {t.memory_node: t for t in reach if t.is_near}
    first = next(iter(own.values()), None)
    others = [t for t in reach if first is not None and t.cpu_node == first.cpu_node and t is not first]
    if first is None or not others:
        return None
    far = max(others, key=lambda t: (t.memory_node in own, t.distance or 0))
    return own.get(far.memory_node, first), far


def _near_and_far_variants(near: CpuMemoryPair, far: CpuMemoryPair, work: str) -> tuple[PlacementSide, ...]:
    """As many cores on both sides."""
    count = min(len(near.cpus), len(far.cpus), MAX_COPIERS) if work == "copy" else 1
    sides = []
    for name, target in ((NEAR, near), (FAR, far)):
        seats = tuple(WorkerSeat((cpu,), target.memory_node, store=name) for cpu in target.cpus[:count])
        sides.append(PlacementSide(WorkerPlacement(name, _memory_title(near, target), seats)))
    return tuple(sides)


def _memory_title(near: CpuMemoryPair, target: CpuMemoryPair) -> str:
    if target.is_near:
        return f"memory of node {target.memory_node}, from its own cores"
    coreless = "" if near.memory_node == target.memory_node else ", which has no cores"
    return f"memory of node {target.memory_node}{coreless}, from node {target.cpu_node}'s cores"


def _make_workload(name: str, title: str, work: str) -> Workload:
    return Workload(
        id=name,
        title=title,
        metrics=metrics_for(work),
        min_groups=8,
        slice_s=0.03,
        slice_operations=20,
        block_s=0.2,
        max_block_s=0.5,
    )


def make_plan_and_setup(
    host: Host, options: OptionMap, planned: Callable[..., Plan]
) -> tuple[Plan, NumaSetup]:
    """Raises UsageError for a file, a URL or a certificate that is none."""
    if problem := bios_source_problem(options):
        raise UsageError(f"numa: {problem}")
    setup = make_numa_setup(host, options)
    budget = budget_s(options) if setup.measures else 0.0
    sides_by_id = {side.id: side for _, _, sides in setup.entries for side in sides}
    plan = planned(
        options=dict(options.values),
        variants=(
            *(Variant(id=name, label=_side_label(side)) for name, side in sides_by_id.items()),
            *(setup.disk.disk_variants if setup.disk else ()),
        ),
        workloads=(
            *(workload for workload, _, _ in setup.entries),
            *(setup.disk.disk_workloads if setup.disk else ()),
        ),
        actions=(make_directory_action(host, setup.disk.fit.directory),) if setup.disk else (),
        writes=(setup.disk.planned_writes,) if setup.disk else (),
        rights=(f"write permission in {setup.disk.fit.directory}",) if setup.disk else (),
        steps=_plan_steps(setup, budget),
        reads=(
            "/sys/devices/system/{cpu,node}",
            "/sys/bus/pci/devices",
            "/proc/{cpuinfo,stat,cmdline}",
            "the kernel's log",
            *((f"BIOS attributes from {source_text}",) if (source_text := _bios_source(options)) else ()),
        ),
        seconds=budget + 8.0 if setup.measures else 1.0,
        measuring_s=budget,
        picture=draw_picture(setup.shape) if setup.shape.places else (),
        sentences=_list_sentences(setup),
        left_out=setup.left_out,
        refusal="" if setup.shape.places else "this tree holds no description of its processors",
    )
    return plan, setup


def _side_label(side: PlacementSide) -> str:
    words = {SMALL: "small pages", HUGE: "huge pages (transparent)"}
    return words.get(side.id) or side.placement.title


def _bios_source(options: OptionMap) -> str:
    return options.as_string("bios") or ("the Redfish service" if options.as_string("redfish") else "")


def _plan_steps(setup: NumaSetup, budget: float) -> tuple[PlannedStep, ...]:
    read = PlannedStep("read", "read topology and settings", 1.0)
    if not setup.measures:
        return (read,)
    disk_s = budget * DISK_SHARE if setup.disk else 0.0
    rest = budget * (1 - CPU_SHARE - MEMORY_SHARE) - disk_s
    compared = (PlannedStep(w.id, w.title, rest / len(setup.entries)) for w, _, _ in setup.entries)
    loads = setup.disk.disk_workloads if setup.disk else ()
    read_twice = (PlannedStep(w.id, w.title, disk_s / len(loads)) for w in loads)
    return (
        read,
        PlannedStep("cpu", "measure the CPUs", budget * CPU_SHARE),
        PlannedStep("memory", "measure memory", budget * MEMORY_SHARE),
        PlannedStep("prepare", "make the buffers", 1.0),
        *compared,
        *((PlannedStep("disk", "write the test file", 2.0),) if setup.disk else ()),
        *read_twice,
    )


def _list_sentences(setup: NumaSetup) -> tuple[str, ...]:
    if not setup.measures:
        return ("only reads: measures nothing",)
    variants = " ".join(f"--variant '{line}'" for _, line in setup.placement_commands)
    own = (
        (f"to compare these placements for your own command: hostdx run workload --cmd COMMAND {variants}",)
        if variants
        else ()
    )
    return (
        f"loads {len(setup.usable.cpus)} CPUs in short slices; moves only its own workers, no other process",
        MAY_BE_LEFT_OUT,
        *own,
    )
