"""What the streams come to: the limit of each direction, what disk and network lose to each other, what costs less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from probes import units
from probes.types import present
from scenarios import events as ev
from scenarios.finding import Evidence, Finding
from scenarios.fullstack.loads import BESIDE, DISK, LABELS, NETWORK
from scenarios.fullstack.machine import Machine
from scenarios.fullstack.results import WORDS, FullstackFigures, Limit, way_words
from scenarios.rules.texts import texts

SAYS = texts("fullstack")


def findings(
    measured: FullstackFigures, verdicts: Sequence[ev.RunVerdict], found: Machine
) -> Iterator[Finding]:
    for one in measured.limits:
        yield _limit(one, measured)
    yield from _losses(measured, verdicts, found)
    yield from _ways(measured, verdicts)
    yield from _placement(measured, verdicts)
    yield from _varied(measured, verdicts, found)
    yield from _rates(measured)


def _limit(one: Limit, measured: FullstackFigures) -> Finding:
    lines = [Evidence(text) for text in one.evidence]
    for part, of in (
        (DISK, (one.of_disk, one.of_disk_ci95)),
        (NETWORK, (one.of_network, one.of_network_ci95)),
    ):
        if of[0] is not None and of[1] is not None:
            low, high = of[1]
            lines.append(
                SAYS.evidence("part", part=LABELS[part].label, ratio=of[0], low=low, high=high)
            )  # fmt: skip
    if measured.private:
        lines.append(SAYS.evidence("private", network=measured.network))
    told: dict[str, Any] = {
        "id": f"fullstack.limit.{one.direction}",
        "subject": measured.directory,
        "direction": way_words(one.direction),
        "rate": units.rate(one.rate),
        "path": LABELS[one.path].label,
        "evidence": lines,
    }
    if one.what == "open":
        return SAYS.finding("open", reason=one.reason, **told)
    if one.what == "streams":
        return SAYS.finding("limit-streams-in" if one.direction == "in" else "limit-streams", **told)
    return SAYS.finding("limit", what=WORDS[one.what], **told)


def _losses(
    measured: FullstackFigures, verdicts: Sequence[ev.RunVerdict], found: Machine
) -> Iterator[Finding]:
    """What each loses to the other, where that is beyond doubt."""
    titles = {id: title for ways in BESIDE.values() for id, title, _, _ in ways}
    for verdict in verdicts:
        if verdict.workload in titles and verdict.is_slower and verdict.ratio and verdict.ci95:
            low, high = verdict.ci95
            yield SAYS.finding(
                "loses", id=f"fullstack.loses.{verdict.workload}", subject=measured.directory,
                what=titles[verdict.workload], lost=1 - verdict.ratio, low=1 - high, high=max(0.0, 1 - low),
                advice=SAYS.text("share-nodes" if found.far else "share-one-node"), proof="nodes" if found.far else "",
            )  # fmt: skip


def _ways(measured: FullstackFigures, verdicts: Sequence[ev.RunVerdict]) -> Iterator[Finding]:
    """A way that is faster than a copy through the page cache."""
    for verdict in verdicts:
        if verdict.baseline == "copy" and verdict.is_faster and verdict.ratio and verdict.ci95:
            here, there = (measured.level(verdict.workload, side) for side in ("copy", verdict.variant))
            low, high = verdict.ci95
            yield SAYS.finding(
                "faster-way", id=f"fullstack.way.{verdict.workload}.{verdict.variant}",
                subject=measured.directory, direction=way_words(verdict.workload), way=LABELS[verdict.variant].label,
                factor=units.effect(verdict.ratio), low=low, high=high,
                cpu=f"{there.cpu_s_per_gb:.2f}" if there else "–", copying=f"{here.cpu_s_per_gb:.2f}" if here else "–",
            )  # fmt: skip


def _placement(measured: FullstackFigures, verdicts: Sequence[ev.RunVerdict]) -> Iterator[Finding]:
    for verdict in verdicts:
        if verdict.workload == "placement" and verdict.is_slower and verdict.ci95:
            low, high = verdict.ci95
            yield SAYS.finding(
                "placement",
                subject=measured.directory,
                factor=units.effect(verdict.ratio),
                low=low,
                high=high,
            )


def _varied(
    measured: FullstackFigures, verdicts: Sequence[ev.RunVerdict], found: Machine
) -> Iterator[Finding]:
    """What a setting of a link of our own changes: a hint for a card, whose own is only read; sends without a copy."""
    lent = measured.level("out", "zerocopy")
    for verdict in verdicts:
        if verdict.workload in ("mtu", "rfs", "xps", "zerocopy") and verdict.is_different and verdict.ci95:
            low, high = verdict.ci95
            copied = lent.copied if lent is not None and lent.copied is not None else 0.0
            yield SAYS.finding(
                verdict.workload, factor=units.effect(verdict.ratio), low=low, high=high, copied=copied,
                subject=measured.directory if verdict.workload == "zerocopy" else "",
            )  # fmt: skip
    card = found.card
    if card is not None and present(card.mtu) and card.mtu < 9000:
        yield SAYS.finding("card-mtu", subject=card.name, card=card.name, mtu=card.mtu)


def _rates(measured: FullstackFigures) -> Iterator[Finding]:
    """What this host's disk and network do alone: what triage's rates of the same are to be held against."""
    known = [(one, one.side) for one in measured.levels if one.side in (DISK, NETWORK)]
    if known:
        lines = [
            SAYS.evidence(
                "rate", side=LABELS[side].label, way=way_words(one.direction), rate=units.rate(one.rate)
            )
            for one, side in known
        ]
        yield SAYS.finding("rates", subject=measured.directory, disk=measured.disk, evidence=lines)
