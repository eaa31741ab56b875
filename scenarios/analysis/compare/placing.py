"""Where an application lies in the box, how sure that is, and which way tuning should go."""

from collections.abc import Iterator, Sequence
from itertools import product

from hostdx.probes import units
from hostdx.scenarios.analysis.compare.bounding_box import (
    AccessPattern,
    ApplicationPoint,
    BoundingBoxFigures,
    BoxCorner,
    log_position,
)
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.contract.results.document import Cell, Table
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("analysis/compare")
_NEAR_HARD, _NEAR_EASY = 1 / 3, 2 / 3
_MIN_MAJORITY_SHARE = 0.5  # of the calls, which then say what the application does
_COMPUTES = 0.5  # of its time: less than twice the speed is to be had from the file system


def io500_workload_title(name: str) -> str:
    """A workload as a person calls it: `IOR easy`, `mdtest hard write`."""
    head, _, rest = name.partition("-")
    if head not in ("ior", "mdtest"):
        return name
    return " ".join((head.upper() if head == "ior" else head, rest.replace("-", " "))).strip()


def placing_finding(box: BoundingBoxFigures, point: ApplicationPoint) -> Finding:
    """Advice only where the box is of about as many processes, and the application waits for its files."""
    hard, easy, meta_hard, meta_easy = box.corners
    parts: list[str] = []
    advice: list[str] = []
    if point.bandwidth is not None:
        parts.append(f"bandwidth {_where_in_box_text(box, point.bandwidth, hard, easy, point.ci95)}")
        advice += _bandwidth_advice(point, log_position(point.bandwidth, hard, easy))
    if point.metadata is not None:
        parts.append(f"metadata {_where_in_box_text(box, point.metadata, meta_hard, meta_easy)}")
        advice += _metadata_advice(log_position(point.metadata, meta_hard, meta_easy))
    scale, alike = _scale_words_and_is_comparable(box, point)
    computes = (point.computing or 0.0) >= _COMPUTES
    evidence = [Evidence(text) for text in scale]
    if point.computing is not None:
        name = "computes" if computes else "with-computing"
        evidence.append(SAYS.evidence(name, share=point.computing))
    if point.pattern is not None:
        evidence += [SAYS.evidence("pattern", pattern=text) for text in _pattern_texts(point.pattern)]
    if not alike or computes:
        advice = []
    direction_suffix = f" ({point.direction})" if point.direction else ""
    return SAYS.finding(
        "placed",
        id=f"box.placed.{point.name}{direction_suffix}"[:200],
        severity="notice" if advice else "ok",
        subject=f"{point.name}{direction_suffix}",
        parts="; ".join(parts),
        evidence=evidence,
        remedy=[SAYS.remedy("advice", advice=text) for text in dict.fromkeys(advice)],
    )


def jobs_table(boxes: Sequence[BoundingBoxFigures]) -> Table:
    """Every point of the boxes: a row for each axis on which it was measured."""
    header = ("job", "level", "position from hard to easy", "range", "of hard", "of easy", "processes")
    rows = [row for box in boxes for point in box.placed for row in _job_rows(box, point)]
    return Table(header, tuple(rows), frozenset({1, 2, 4, 5})).without_empty_columns()


def _job_rows(box: BoundingBoxFigures, point: ApplicationPoint) -> Iterator[tuple[Cell, ...]]:
    for value, hard, easy, ends in (
        (point.bandwidth, *box.corners[:2], point.ci95),
        (point.metadata, *box.corners[2:], None),
    ):
        if value is None:
            continue
        place, span = log_position(value, hard, easy), _widest_place_range(value, hard, easy, ends)
        yield (
            " ".join((point.name, "metadata" if hard.unit == "IOPS" else point.direction)).rstrip(),
            str(units.metric_quantity(value, hard.unit)),
            _position_text(place),
            " to ".join(units.format_percent(end) for end in span)
            if span and place is not None and 0 <= place <= 1
            else "–",
            *(units.format_percent(value / end.median) if end.median else "–" for end in (hard, easy)),
            f"{point.processes or '?'} (bounding box: {box.processes or '?'})",
        )


def _position_text(place: float | None) -> str:
    if place is None:
        return "–"
    return "below hard" if place < 0 else "above easy" if place > 1 else units.format_percent(place)


def _scale_words_and_is_comparable(
    box: BoundingBoxFigures, point: ApplicationPoint
) -> tuple[list[str], bool]:
    """Of how many processes each is, and whether that lets the one be held against the other."""
    if point.processes is None:
        return [], True
    own = "1 process" if point.processes == 1 else f"{point.processes} processes"
    if box.processes is None:
        return [SAYS.text("scale-unknown", own=own)], False
    alike = 0.5 <= point.processes / max(1, box.processes) <= 2
    return [SAYS.text("scale" if alike else "scale-apart", own=own, box=box.processes)], alike


def _where_in_box_text(
    box: BoundingBoxFigures,
    value: float,
    hard: BoxCorner,
    easy: BoxCorner,
    ends: tuple[float, float] | None = None,
) -> str:
    """Where it lies between hard and easy, with what is known of how sure that is."""
    place = log_position(value, hard, easy)
    value_text = str(units.metric_quantity(value, hard.unit))
    if place is None:
        return SAYS.text("no-extent", value=value_text)
    words = SAYS.text(
        "below-hard" if place < 0 else "above-easy" if place > 1 else "between",
        value=value_text, share=max(0.0, min(1.0, place)), hard=io500_workload_title(hard.workload),
        easy=io500_workload_title(easy.workload),
        of_easy=value / easy.median, of_hard=value / hard.median,
    )  # fmt: skip
    span = _widest_place_range(value, hard, easy, ends)
    if span is None or not 0 <= place <= 1:  # outside of the box the way has no meaning
        return words
    name = "interval" if hard.ci95 and easy.ci95 else "range"
    return words + SAYS.text(name, low=span[0], high=span[1], runs=len(box.runs))


def _widest_place_range(
    value: float, hard: BoxCorner, easy: BoxCorner, ends: tuple[float, float] | None
) -> tuple[float, float] | None:
    """The places at the ends of all intervals: wider than the interval of the place itself, never narrower."""
    measured = hard.ci95 is not None and easy.ci95 is not None
    below, above = [(c.ci95 if measured and c.ci95 else (c.low, c.high)) for c in (hard, easy)]
    if not measured and (below[0] == below[1] and above[0] == above[1]):
        return None
    places = []
    for v, low, high in product(ends or (value,), below, above):
        place = log_position(v, _corner_with_value(hard, low), _corner_with_value(easy, high))
        if place is None:
            return None
        places.append(place)
    return min(places), max(places)


def _corner_with_value(corner: BoxCorner, value: float) -> BoxCorner:
    return BoxCorner(
        workload=corner.workload, unit=corner.unit, values=(), median=value, low=value, high=value
    )


def _bandwidth_advice(point: ApplicationPoint, hard_to_easy: float | None) -> Iterator[str]:
    """By what its calls show, where they were counted; else what the corners differ in."""
    if hard_to_easy is None or hard_to_easy >= _NEAR_EASY:
        return
    pattern, many = point.pattern, (point.processes or 1) > 1
    if pattern is None or (pattern.small is None and pattern.mean_bytes is None):
        yield SAYS.text("slow-bandwidth" if hard_to_easy < 0 else "towards-bandwidth")
        return
    causes = []
    if (pattern.small or 0.0) >= _MIN_MAJORITY_SHARE:
        causes.append(SAYS.text("towards-larger"))
    if pattern.shared_files and many:
        causes.append(SAYS.text("towards-own-files"))
    if (pattern.unaligned or 0.0) >= _MIN_MAJORITY_SHARE:
        causes.append(SAYS.text("towards-aligned"))
    yield from causes or [SAYS.text("towards-none")]


def _metadata_advice(hard_to_easy: float | None) -> Iterator[str]:
    if hard_to_easy is not None and hard_to_easy < _NEAR_HARD:
        yield SAYS.text("slow-metadata" if hard_to_easy < 0 else "towards-metadata")


def _pattern_texts(pattern: AccessPattern) -> Iterator[str]:
    if pattern.mean_bytes is not None:
        yield SAYS.text("calls", mean=units.format_size(pattern.mean_bytes), small=pattern.small or 0.0)
    if pattern.files:
        yield SAYS.text("files", files=units.count_noun(pattern.files, "file"), shared=pattern.shared_files)
    if pattern.unaligned:
        yield SAYS.text("unaligned", share=pattern.unaligned)
