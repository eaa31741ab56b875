"""What a run of `numa` records beside its verdicts: the machine, its settings, and what CPUs and memory gave."""

from typing import ClassVar, TypeAlias

import msgspec

from hostdx.probes import units
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.results.document import Code, Part, ReportSection, Table
from hostdx.scenarios.contract.results.result import Result
from hostdx.scenarios.numa.machine import MachineShape
from hostdx.scenarios.numa.picture import draw_picture

Ends: TypeAlias = tuple[of.Value, of.Value] | None  # of a 95 % interval


def _column_title(name: str) -> str:
    """Of a field that ends in `_ci95`: `one core` has its interval in `one core, 95 % CI`."""
    figure, suffix, _ = name.partition("_ci95")
    return _TITLES.get(figure, figure) + (", 95 % CI" if suffix else "")


_TITLES = {
    "one": "one core",
    "all_cores": "all cores",
    "all_threads": "all threads",
    "of_n": "cores of n times one",
    "of_one": "of n times one",
    "cpu_node": "cpus of node",
    "memory_node": "memory of node",
    "copied": "copy MB/s",
    "one_copied": "one core MB/s",
    "latency": "latency ns",
    "cpus": "CPUs",
    "variant": "variant of hostdx run workload",
    "at_most": "both ends can",
    "rate": "MB/s",
    "most_rate": "MB/s at most",
    "pending": "after a restart",
    "judgement": "for storage and network",
}


class MachineResult(Result, frozen=True, tag="numa.machine/1"):
    name: ClassVar[str] = "machine"
    value: MachineShape

    @property
    def appendix_parts(self) -> tuple[Part, ...]:
        return (Code(draw_picture(self.value)),)


class PlacementCommand(msgspec.Struct, frozen=True, rename=_column_title):
    """Whose CPUs, and the same for a command of the user's own."""

    placement: str
    cpus: str
    variant: str


class PlacementsResult(Result, frozen=True, tag="numa.placements/1"):
    name: ClassVar[str] = "placements"
    value: tuple[PlacementCommand, ...]


class Device(msgspec.Struct, frozen=True, kw_only=True, rename=_column_title):
    """Its node and its PCIe link against what both of its ends can do."""

    device: str
    kind: str
    node: of.Number | None
    link: str | None
    at_most: str | None
    rate: of.Count | None
    most_rate: of.Count | None
    driver: str | None


class DevicesResult(Result, frozen=True, tag="numa.devices/1"):
    name: ClassVar[str] = "devices"
    value: tuple[Device, ...]


class BiosSettingRow(msgspec.Struct, frozen=True, kw_only=True, rename=_column_title):
    """The vendor's own name and value, or where to look."""

    setting: str
    name: str | None
    value: str
    pending: str | None
    judgement: str | None
    setup: str


class BiosResult(Result, frozen=True, tag="numa.bios/1"):
    name: ClassVar[str] = "bios"
    value: tuple[BiosSettingRow, ...]


class CpuRate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename=_column_title):
    """A load's rate on one core, on all cores and on all threads, and the cores' share of n times one."""

    load: str
    unit: str
    one: of.Value | None = None
    one_ci95: Ends = None
    all_cores: of.Value | None = None
    all_cores_ci95: Ends = None
    all_threads: of.Value | None = None
    all_threads_ci95: Ends = None
    of_n: of.Value | None = None
    of_n_ci95: Ends = None


class CpuRates(Result, frozen=True, tag="numa.cpu/1"):
    name: ClassVar[str] = "cpu"
    value: tuple[CpuRate, ...]

    def section_on_top(self, now: float) -> ReportSection | None:
        """What one core gives, and how much of n times that all cores give together."""
        rows = tuple(
            (
                rate.load,
                "–" if rate.one is None else str(units.metric_quantity(rate.one, rate.unit)),
                _share_with_interval(rate.of_n, rate.of_n_ci95),
            )
            for rate in self.value
            if rate.of_n is not None
        )
        table = Table(("load", "one core", "all cores, share of the ideal"), rows, frozenset({1, 2}))
        return ReportSection("one core against all cores", (table,)) if rows else None


def _share_with_interval(share: float, ends: Ends) -> str:
    """`61 % (58 to 64 %)`."""
    interval = f" ({units.format_percent_interval(*ends)})" if ends else ""
    # The value with the digits of its interval: `100 %` beside `100.3 to 100.4 %` would lie outside of it.
    is_fine = ends is not None and units.format_percent(ends[0]) == units.format_percent(ends[1])
    return (f"{100 * share:.1f} %" if is_fine else units.format_percent(share)) + interval


class Scaled(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename=_column_title):
    """From one worker to one a thread: the sum over n times one, without waits for a CPU."""

    workers: of.Number
    of_one: of.Value | None = None
    of_one_ci95: Ends = None


class ScalingResult(Result, frozen=True, tag="numa.scaling/1"):
    name: ClassVar[str] = "scaling"
    value: tuple[Scaled, ...]


class NodePair(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename=_column_title):
    """MB/s copied by all cores of a node and by one, ns a dependent load, in the memory of another node."""

    cpu_node: of.Number | None
    memory_node: of.Number | None
    distance: of.Number | None
    cores: of.Number
    copied: of.Value | None = None
    copied_ci95: Ends = None
    one_copied: of.Value | None = None
    one_copied_ci95: Ends = None
    latency: of.Value | None = None
    latency_ci95: Ends = None


class NodePairs(Result, frozen=True, tag="numa.memory/1"):
    name: ClassVar[str] = "memory"
    value: tuple[NodePair, ...]


class PageSize(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename=_column_title):
    """Ns a dependent load of near memory, in small pages and in huge ones."""

    pages: str
    latency: of.Value | None = None
    latency_ci95: Ends = None


class PageSizes(Result, frozen=True, tag="numa.page-size/1"):
    name: ClassVar[str] = "page_size"
    value: tuple[PageSize, ...]
