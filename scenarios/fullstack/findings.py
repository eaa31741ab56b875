"""What the streams come to: the limit of each direction, what disk and network lose to each other, what costs less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hostdx.probes import units
from hostdx.probes.types import is_present
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.fullstack.loads import BESIDE, DISK, LABELS, NETWORK
from hostdx.scenarios.fullstack.machine import StreamBounds
from hostdx.scenarios.fullstack.results import WORDS, FullstackFigures, StreamLimit, way_words
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("fullstack")


def fullstack_findings(
    measured: FullstackFigures, verdicts: Sequence[ev.RunVerdict], machine: StreamBounds
) -> Iterator[Finding]:
    for stream_limit in measured.limits:
        yield _stream_limit_finding(stream_limit, measured)
    yield from _mutual_loss_findings(measured, verdicts, machine)
    yield from _faster_than_copy_findings(measured, verdicts)
    yield from _placement_findings(measured, verdicts)
    yield from _setting_findings(measured, verdicts, machine)
    yield from _rates_alone_findings(measured)


def _stream_limit_finding(stream_limit: StreamLimit, measured: FullstackFigures) -> Finding:
    lines = [Evidence(text) for text in stream_limit.evidence]
    for part, of in (
        (DISK, (stream_limit.of_disk, stream_limit.of_disk_ci95)),
        (NETWORK, (stream_limit.of_network, stream_limit.of_network_ci95)),
    ):
        if of[0] is not None and of[1] is not None:
            low, high = of[1]
            lines.append(
                SAYS.evidence("part", part=LABELS[part].label, ratio=of[0], low=low, high=high)
            )  # fmt: skip
    if measured.private:
        lines.append(SAYS.evidence("private", network=measured.network))
    finding_fields: dict[str, Any] = {
        "id": f"fullstack.limit.{stream_limit.direction}",
        "subject": measured.directory,
        "direction": way_words(stream_limit.direction),
        "rate": units.format_rate(stream_limit.rate),
        "path": LABELS[stream_limit.path].label,
        "evidence": lines,
    }
    if stream_limit.what == "open":
        return SAYS.finding("open", reason=stream_limit.reason, **finding_fields)
    if stream_limit.what == "streams":
        return SAYS.finding(
            "limit-streams-in" if stream_limit.direction == "in" else "limit-streams", **finding_fields
        )
    return SAYS.finding("limit", what=WORDS[stream_limit.what], **finding_fields)


def _mutual_loss_findings(
    measured: FullstackFigures, verdicts: Sequence[ev.RunVerdict], bounds: StreamBounds
) -> Iterator[Finding]:
    """Yield what each loses to the other, where that is beyond doubt."""
    titles = {id: title for ways in BESIDE.values() for id, title, _, _ in ways}
    for verdict in verdicts:
        if verdict.workload in titles and verdict.is_slower and verdict.ratio and verdict.ci95:
            low, high = verdict.ci95
            yield SAYS.finding(
                "loses", id=f"fullstack.loses.{verdict.workload}", subject=measured.directory,
                what=titles[verdict.workload], lost=1 - verdict.ratio, low=1 - high, high=max(0.0, 1 - low),
                advice=SAYS.text("share-nodes" if bounds.far else "share-one-node"),
                proof="nodes" if bounds.far else "",
            )  # fmt: skip


def _faster_than_copy_findings(
    measured: FullstackFigures, verdicts: Sequence[ev.RunVerdict]
) -> Iterator[Finding]:
    """A way that is faster than a copy through the page cache."""
    for verdict in verdicts:
        if verdict.baseline == "copy" and verdict.is_faster and verdict.ratio and verdict.ci95:
            here, there = (measured.find_level(verdict.workload, side) for side in ("copy", verdict.variant))
            low, high = verdict.ci95
            yield SAYS.finding(
                "faster-way", id=f"fullstack.way.{verdict.workload}.{verdict.variant}",
                subject=measured.directory, direction=way_words(verdict.workload), way=LABELS[verdict.variant].label,
                factor=units.format_effect(verdict.ratio), low=low, high=high,
                cpu=f"{there.cpu_s_per_gb:.2f}" if there else "–", copying=f"{here.cpu_s_per_gb:.2f}" if here else "–",
            )  # fmt: skip


def _placement_findings(measured: FullstackFigures, verdicts: Sequence[ev.RunVerdict]) -> Iterator[Finding]:
    for verdict in verdicts:
        if verdict.workload == "placement" and verdict.is_slower and verdict.ci95:
            low, high = verdict.ci95
            yield SAYS.finding(
                "placement",
                subject=measured.directory,
                factor=units.format_effect(verdict.ratio),
                low=low,
                high=high,
            )


def _setting_findings(
    measured: FullstackFigures, verdicts: Sequence[ev.RunVerdict], machine: StreamBounds
) -> Iterator[Finding]:
    """Yield what a setting of a link of our own changes: a hint for a card, whose own is only read; sends without a
    copy.
    """
    lent = measured.find_level("out", "zerocopy")
    for verdict in verdicts:
        if verdict.workload in ("mtu", "rfs", "xps", "zerocopy") and verdict.is_different and verdict.ci95:
            low, high = verdict.ci95
            copied = lent.copied if lent is not None and lent.copied is not None else 0.0
            yield SAYS.finding(
                verdict.workload, factor=units.format_effect(verdict.ratio), low=low, high=high, copied=copied,
                subject=measured.directory if verdict.workload == "zerocopy" else "",
            )  # fmt: skip
    card = machine.card
    if card is not None and is_present(card.mtu) and card.mtu < 9000:
        yield SAYS.finding("card-mtu", subject=card.name, card=card.name, mtu=card.mtu)


def _rates_alone_findings(measured: FullstackFigures) -> Iterator[Finding]:
    """Yield what this host's disk and network do alone: what triage's rates of the same are to be held against."""
    known_levels = [(level, level.side) for level in measured.levels if level.side in (DISK, NETWORK)]
    if known_levels:
        lines = [
            SAYS.evidence(
                "rate",
                side=LABELS[side].label,
                way=way_words(level.direction),
                rate=units.format_rate(level.rate),
            )
            for level, side in known_levels
        ]
        yield SAYS.finding("rates", subject=measured.directory, disk=measured.disk, evidence=lines)
