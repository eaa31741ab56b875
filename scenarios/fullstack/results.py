"""What a run of `fullstack` records beside its verdicts: how fast each way is, what it costs, and what limits it."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from hostdx.probes import units
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.results.document import Part, ReportSection, Table, paragraph_of
from hostdx.scenarios.contract.results.result import Result
from hostdx.scenarios.fullstack.loads import DISK, LABELS, NETWORK, STREAMS

WORDS: dict[str, str] = {
    "disk": "the disk",
    "disk cap": "a cap on the disk",
    "disk link": "the disk's PCIe link",
    "network": "the network",
    "network cap": "a cap on the network",
    "line rate": "the card's line rate",
    "card link": "the card's PCIe link",
    "CPU": "the CPUs",
    "interrupts": "one CPU that takes the interrupts",
    "streams": "each stream waits in turn",
    "both": "disk and network alike",
    "open": "open",
}


DOES = {
    (DISK, "out"): "reading",
    (DISK, "in"): "writing",
    (NETWORK, "out"): "sending",
    (NETWORK, "in"): "receiving",
}


class SideRate(msgspec.Struct, frozen=True, kw_only=True):
    """One side: the median of its groups in B/s with the 95 % interval.

    cpu_s_per_gb: seconds of our own threads for 10⁹ bytes, `peer_cpu_s_per_gb` of the peer's process. cpus: of all
    CPUs' time what we took, `busy` what all took; softirq: of the CPU with the most. memory: bytes that the memory
    controllers moved (for all processes) for each one streamed; copied: share of the sends with MSG_ZEROCOPY.
    """

    direction: str
    side: str
    rate: of.Rate
    ci95: tuple[of.Rate, of.Rate] | None = None
    groups: of.Number = 0
    cpu_s_per_gb: of.Rate = 0.0
    peer_cpu_s_per_gb: of.Rate = 0.0
    cpus: of.Share = 0.0
    busy: of.Share = 0.0
    softirq: of.Share = 0.0
    worker: of.Share = 0.0
    memory: of.Rate | None = None
    copied: of.Share | None = None


class StreamLimit(msgspec.Struct, frozen=True, kw_only=True):
    """`what` holds the fastest way (`path`) back. of_disk, of_network: its part of what these do alone, with the
    intervals; evidence: what else it stands on.
    """

    direction: str
    path: str
    what: str
    rate: of.Rate
    of_disk: of.Ratio | None = None
    of_disk_ci95: tuple[of.Edge, of.Edge] | None = None
    of_network: of.Ratio | None = None
    of_network_ci95: tuple[of.Edge, of.Edge] | None = None
    evidence: tuple[str, ...] = ()
    reason: str = ""


class FullstackFigures(msgspec.Struct, frozen=True, kw_only=True):
    """network: where the other end was, in words; card: through which, where there is a peer."""

    directory: str
    disk: str
    network: str
    private: bool
    streams: of.Number
    levels: tuple[SideRate, ...]
    limits: tuple[StreamLimit, ...]
    card: str = ""

    def find_level(self, direction: str, side: str) -> SideRate | None:
        return next(
            (rate for rate in self.levels if (rate.direction, rate.side) == (direction, side)),
            None,
        )


class StreamsResult(Result, frozen=True, tag="fullstack.streams/1"):
    name: ClassVar[str] = "streams"
    value: FullstackFigures

    @property
    def appendix_parts(self) -> tuple[Part, ...]:
        value = self.value
        header = ("direction", "way", "level", "95 % CI", "CPU s/GB", "peer CPU s/GB", "CPUs, ours",
                  "CPUs, all", "softirq", "memory B/B")  # fmt: skip
        rows = tuple(_table_row(level) for level in value.levels)
        table = Table(header, rows, frozenset(range(2, 10))).without_empty_columns()
        lent = (
            f"{_side_label(level.side)}: the kernel copied {units.format_percent(level.copied)} "
            "of the sends all the same"
            for level in value.levels
            if level.copied is not None
        )
        return (_limits_by_direction(value), table, *map(paragraph_of, (f"network: {value.network}", *lent)))

    @property
    def rates_alone_by_device(self) -> dict[str, str]:
        value, rate_texts = self.value, dict[str, str]()
        for device, part in ((value.disk, DISK), (value.card, NETWORK)):
            rates_by_way = [(way, value.find_level(way, part)) for way in ("out", "in")]
            words = [
                f"{units.format_rate(rate.rate)} {DOES[part, way]}"
                for way, rate in rates_by_way
                if rate is not None
            ]
            if device and words:
                rate_texts[device] = f"alone it gave {', '.join(words)}"
        return rate_texts

    def section_on_top(self, now: float) -> ReportSection | None:
        return (
            ReportSection("what limits the streams", (_limits_by_direction(self.value),))
            if self.value.limits
            else None
        )


def _limits_by_direction(value: FullstackFigures) -> Table:
    """A direction a column: its limit, the fastest way, and what the parts do alone."""
    columns = []
    for stream_limit in value.limits:
        alone = (value.find_level(stream_limit.direction, part) for part in (DISK, NETWORK))
        fastest = value.find_level(stream_limit.direction, stream_limit.path)
        columns.append(
            (
                WORDS.get(stream_limit.what, stream_limit.what),
                _side_label(stream_limit.path),
                units.format_rate(stream_limit.rate) if fastest is None else _rate_text(fastest),
                _share_of_part_text(stream_limit.of_disk, stream_limit.of_disk_ci95),
                _share_of_part_text(stream_limit.of_network, stream_limit.of_network_ci95),
                *("–" if part is None else _rate_text(part) for part in alone),
            )
        )
    heads = ("limit", "fastest way", "its rate", "of disk alone", "of network alone", "disk alone",
             "network alone")  # fmt: skip
    header = ("with 95 % CI", *(way_words(stream_limit.direction) for stream_limit in value.limits))
    return Table(header, tuple(zip(heads, *columns, strict=True)))


def _rate_text(rate: SideRate) -> str:
    """`942 MB/s (900 to 980 MB/s)`"""
    if rate.ci95 is None:
        return units.format_rate(rate.rate)
    low, high = (units.scale_decimal(end, "B/s") for end in rate.ci95)
    return f"{units.format_rate(rate.rate)} ({low.number if low.unit == high.unit else low} to {high})"


def _share_of_part_text(ratio: float | None, ci95: tuple[float, float] | None) -> str:
    if ratio is None or ci95 is None:
        return "–"
    return f"{units.format_percent(ratio)} ({units.format_percent_interval(*ci95)})"


def _table_row(rate: SideRate) -> tuple[str, ...]:
    return (
        way_words(rate.direction),
        _side_label(rate.side),
        units.format_rate(rate.rate),
        "–" if rate.ci95 is None else " to ".join(map(units.format_rate, rate.ci95)),
        f"{rate.cpu_s_per_gb:.2f}",
        f"{rate.peer_cpu_s_per_gb:.2f}",
        units.format_percent(rate.cpus),
        units.format_percent(rate.busy),
        units.format_percent(rate.softirq),
        "–" if rate.memory is None else units.format_number(rate.memory),
    )


def way_words(direction: str) -> str:
    return STREAMS.get(direction, direction).removeprefix("streams from ")


def _side_label(side: str) -> str:
    """A foreign recording may name others."""
    return LABELS[side].label if side in LABELS else side
