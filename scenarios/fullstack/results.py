"""What a run of `fullstack` records beside its verdicts: how fast each way is, what it costs, and what limits it."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from probes import units
from scenarios import ranges as of
from scenarios.fullstack.loads import DISK, LABELS, NETWORK, STREAMS
from scenarios.results.document import Part, ReportSection, Table, paragraph_of
from scenarios.results.result import Result

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


class Limit(msgspec.Struct, frozen=True, kw_only=True):
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
    limits: tuple[Limit, ...]
    card: str = ""

    def level(self, direction: str, side: str) -> SideRate | None:
        return next((one for one in self.levels if (one.direction, one.side) == (direction, side)), None)


class Streams(Result, frozen=True, tag="fullstack.streams/1"):
    name: ClassVar[str] = "streams"
    value: FullstackFigures

    @property
    def parts(self) -> tuple[Part, ...]:
        value = self.value
        header = ("direction", "way", "level", "95 % CI", "CPU s/GB", "peer CPU s/GB", "CPUs, ours",
                  "CPUs, all", "softirq", "memory B/B")  # fmt: skip
        rows = tuple(_row(one) for one in value.levels)
        table = Table(header, rows, frozenset(range(2, 10))).without_empty_columns()
        lent = (f"{_label(one.side)}: the kernel copied {units.percent(one.copied)} of the sends all the same"
                for one in value.levels if one.copied is not None)  # fmt: skip
        return (_limits(value), table, *map(paragraph_of, (f"network: {value.network}", *lent)))

    @property
    def line_rates(self) -> dict[str, str]:
        value, found = self.value, dict[str, str]()
        for device, part in ((value.disk, DISK), (value.card, NETWORK)):
            told = [(way, value.level(way, part)) for way in ("out", "in")]
            words = [f"{units.rate(one.rate)} {DOES[part, way]}" for way, one in told if one is not None]
            if device and words:
                found[device] = f"alone it gave {', '.join(words)}"
        return found

    def on_top(self, now: float) -> ReportSection | None:
        return ReportSection("what limits the streams", (_limits(self.value),)) if self.value.limits else None


def _limits(value: FullstackFigures) -> Table:
    """A direction a column: its limit, the fastest way, and what the parts do alone."""
    columns = []
    for one in value.limits:
        alone = (value.level(one.direction, part) for part in (DISK, NETWORK))
        fastest = value.level(one.direction, one.path)
        columns.append(
            (
                WORDS.get(one.what, one.what),
                _label(one.path),
                units.rate(one.rate) if fastest is None else _rate(fastest),
                _part(one.of_disk, one.of_disk_ci95),
                _part(one.of_network, one.of_network_ci95),
                *("–" if part is None else _rate(part) for part in alone),
            )
        )
    heads = ("limit", "fastest way", "its rate", "of disk alone", "of network alone", "disk alone",
             "network alone")  # fmt: skip
    header = ("with 95 % CI", *(way_words(one.direction) for one in value.limits))
    return Table(header, tuple(zip(heads, *columns, strict=True)))


def _rate(one: SideRate) -> str:
    """`942 MB/s (900 to 980 MB/s)`"""
    if one.ci95 is None:
        return units.rate(one.rate)
    low, high = (units.decimal(end, "B/s") for end in one.ci95)
    return f"{units.rate(one.rate)} ({low.number if low.unit == high.unit else low} to {high})"


def _part(ratio: float | None, ci95: tuple[float, float] | None) -> str:
    if ratio is None or ci95 is None:
        return "–"
    low, high = map(units.percent, ci95)
    return f"{units.percent(ratio)} ({low.removesuffix(' %')} to {high})"


def _row(one: SideRate) -> tuple[str, ...]:
    return (
        way_words(one.direction),
        _label(one.side),
        units.rate(one.rate),
        "–" if one.ci95 is None else " to ".join(map(units.rate, one.ci95)),
        f"{one.cpu_s_per_gb:.2f}",
        f"{one.peer_cpu_s_per_gb:.2f}",
        units.percent(one.cpus),
        units.percent(one.busy),
        units.percent(one.softirq),
        "–" if one.memory is None else units.number(one.memory),
    )


def way_words(direction: str) -> str:
    return STREAMS.get(direction, direction).removeprefix("streams from ")


def _label(side: str) -> str:
    """A foreign recording may name others."""
    return LABELS[side].label if side in LABELS else side
