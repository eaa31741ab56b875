"""What the corners of one run say: their extent, a hard corner far below its easy one, an order that cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hostdx.probes import units
from hostdx.scenarios.box.measurement.corner import box_tests_of
from hostdx.scenarios.box.results import CornerFigures, CornerLevel, corner_title, format_amount
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.contract.verdict.verdict import estimate_of_ratio
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("box")
# How many times slower hard may be before it is named, hostdx's own limits: on local disks hard is 1 to 4 times slower,
# on parallel file systems 2 to 10 (tests/measured/README.md, "corners").
LIMIT = {"ior-write": 10.0, "ior-read": 10.0, "mdtest-write": 5.0, "mdtest-stat": 5.0, "mdtest-delete": 5.0}
MIN_CROWDED_NAMES = 100_000  # in one directory: listing it is felt
# How far easy must lie below hard where it passes by the page cache: reading ahead and writing behind keep the disk at
# work while hard's records are copied, which direct transfers one after another do not (1.8 times on a loop device).
OVERLAP = 2.0
FIND_LIMIT = 5.0  # times fewer files a second than stat
# one bandwidth and one rate of names in the answer; the table has the others
WRITING = ("writing", "ior-hard-write", "ior-easy-write")
CREATING = ("creating files", "mdtest-hard-write", "mdtest-easy-write")


def box_findings(measured: CornerFigures, verdicts: Sequence[ev.RunVerdict]) -> Iterator[Finding]:
    """The worst first; the summary last."""
    yield from _easy_below_hard_findings(measured, verdicts)
    yield from _slow_hard_findings(measured, verdicts)
    yield from _find_command_findings(measured)
    yield from _crowded_directory_findings(measured)
    yield from _cached_read_findings(measured)
    if any(level.median is not None for level in measured.levels):
        yield SAYS.finding(
            "corners",
            subject=measured.directory,
            bandwidth=_hard_to_easy_text(measured, *WRITING),
            metadata=_hard_to_easy_text(measured, *CREATING),
        )


def _hard_to_easy_text(measured: CornerFigures, quantity: str, hard: str, easy: str) -> str:
    by_id = {level.corner: level for level in measured.levels if level.median is not None}
    if hard in by_id and easy in by_id:
        low, high = _median_text(by_id[hard]), _median_text(by_id[easy])
        return SAYS.text("extent", hard=low, easy=high, what=quantity)
    alone = [by_id[corner] for corner in (hard, easy) if corner in by_id]
    if not alone:
        return SAYS.text("nothing", what=quantity)
    return SAYS.text("alone", value=_median_text(alone[0]), name=corner_title(alone[0].corner))


def _median_text(level: CornerLevel) -> str:
    return format_amount(level.median, level.unit)


def _easy_below_hard_findings(
    measured: CornerFigures, verdicts: Sequence[ev.RunVerdict]
) -> Iterator[Finding]:
    """The box's law: hard is no faster than easy, whatever other runs say. Of bandwidth: names may lie in one cache."""
    for verdict in verdicts:
        if not (verdict.is_faster and verdict.workload.startswith("ior")) or verdict.ci95 is None:
            continue
        if measured.direct and verdict.ci95[0] < OVERLAP:
            continue
        easy, hard = (corner_title(corner.id) for corner in box_tests_of(verdict.workload))
        (low, high), ratio = verdict.ci95, 1 / (verdict.ratio or 1.0)
        yield SAYS.finding(
            "below", id=f"box.below.{verdict.workload}", subject=measured.directory, easy=easy, hard=hard,
            factor=units.format_effect(ratio), interval=units.format_interval(1 / high, 1 / low, ratio),
        )  # fmt: skip


def _slow_hard_findings(measured: CornerFigures, verdicts: Sequence[ev.RunVerdict]) -> Iterator[Finding]:
    """By how much the whole interval lies beyond the limit, the farthest first."""
    beyond = [
        (verdict.ratio * LIMIT[verdict.workload], verdict)
        for verdict in verdicts
        if verdict.is_slower and verdict.ratio and _is_beyond_limit(verdict)
    ]
    for _, verdict in sorted(beyond, key=lambda pair: pair[0]):
        easy, hard = box_tests_of(verdict.workload)
        assert verdict.ratio is not None
        assert verdict.ci95 is not None
        low, high = sorted(1 / end for end in verdict.ci95)
        levels = {level.corner: level for level in measured.levels}
        yield SAYS.finding(
            "far-mdtest" if verdict.workload.startswith("mdtest") else "far-ior",
            id=f"box.far.{hard.id}",
            subject=measured.directory,
            corner=corner_title(hard.id),
            easy=corner_title(easy.id),
            factor=units.format_factor(1 / verdict.ratio),
            low=units.format_factor(low),
            high=units.format_factor(high),
            limit=LIMIT[verdict.workload],
            hard_value=_median_text(levels[hard.id]),
            easy_value=_median_text(levels[easy.id]),
            cycles=verdict.groups,
        )


def _is_beyond_limit(verdict: ev.RunVerdict) -> bool:
    if verdict.ratio is None or verdict.ci95 is None or min(verdict.ci95) <= 0:
        return False
    estimate = estimate_of_ratio(verdict.ratio, verdict.ci95, LIMIT[verdict.workload] - 1)
    return estimate.high < -estimate.edge


def _find_command_findings(measured: CornerFigures) -> Iterator[Finding]:
    """Against the files that stat asks: both answer from the same names. The intervals must lie apart."""
    by_id = {level.corner: level for level in measured.levels}
    find, stat = by_id.get("find"), by_id.get("mdtest-hard-stat")
    if find is None or stat is None or not (find.ci95 and stat.ci95 and find.median and stat.median):
        return
    if find.ci95[1] * FIND_LIMIT < stat.ci95[0]:
        yield SAYS.finding(
            "find", subject=measured.directory, rate=units.format_prefixed(find.median).strip(),
            stat=units.format_prefixed(stat.median).strip(), factor=units.format_factor(stat.median / find.median),
        )  # fmt: skip


def _crowded_directory_findings(measured: CornerFigures) -> Iterator[Finding]:
    """The corners' own directories are new and small: what is slow in this one is how many names it has."""
    if measured.beside >= MIN_CROWDED_NAMES:
        rate = measured.corner_median("find")
        yield SAYS.finding(
            "crowded", subject=measured.directory, count=f"{measured.beside:,}", seconds=measured.listed_s,
            least="" if measured.listed else SAYS.text("at-least"),
            evidence=[SAYS.evidence("each", seconds=measured.beside / rate)] if rate else [],
        )  # fmt: skip


def _cached_read_findings(measured: CornerFigures) -> Iterator[Finding]:
    """Reads that were refused because they would have measured memory."""
    refused = [
        level
        for level in measured.levels
        if level.median is None and level.corner in ("ior-easy-read", "ior-hard-read", "mdtest-hard-read")
    ]
    cached_levels = [level for level in refused if level.cached]
    if cached_levels:
        yield SAYS.finding(
            "cached",
            subject=measured.directory,
            corners=", ".join(corner_title(level.corner) for level in cached_levels),
            evidence=[
                Evidence(SAYS.text("refused", corner=corner_title(level.corner), reason=level.reason))
                for level in cached_levels
            ],
        )
