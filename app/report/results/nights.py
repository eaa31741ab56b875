"""A host's history as a document: what became slower and since when, each load's line with its changes, the nights."""

from collections.abc import Sequence
from pathlib import Path

from app.glyphs import spark
from app.printable import printable
from app.report.figures.load_lines import LoadLine, load_lines_svg
from probes.units import counted, number, percent
from scenarios.nights.cusum import BASELINE_NIGHTS, CLIP, DRIFT, LIMIT
from scenarios.nights.findings import changed, named, sized, suspects
from scenarios.nights.history import History, LoadNights, Slowdown
from scenarios.results import document as doc
from scenarios.rules.texts import Texts

SAYS = Texts(Path(__file__).with_name("texts.toml"))
_LOW, _HIGH = 0.8, 1.2  # of the baseline: what a line's height shows
_MOST_DRAWN = 16
_MOST_NIGHTS = 60
_NAME, _ROOM = 34, 40  # cells
_SLOWER = "▲ slower"


def nights_document(found: History, troubles: Sequence[str] = ()) -> doc.ReportDocument:
    sections = (
        doc.ReportSection("Since when", tuple(_events(found))),
        doc.ReportSection("Each load", _courses(found)),
        doc.ReportSection("What changed on the host", _changes(found)),
        doc.ReportSection("Figures", _table(found)),
        doc.ReportSection("Nights", _nights(found, troubles), appendix=True),
        doc.ReportSection("How it is judged", (_method(found),), appendix=True),
    )
    title = f"{found.host}: history of {counted(found.measured, 'night')}"
    return doc.ReportDocument(title, headline(found), tuple(section for section in sections if section.parts))


def headline(found: History) -> doc.Words:
    """The answer, first of all."""
    if found.lasting:
        event = min(found.lasting, key=lambda event: event.turns[0].ratio)
        worst = event.turns[0]
        text = f"{named(worst)} is {sized(worst)} since {event.since[:10]}; suspect: {suspects(event)}"
        return (doc.Toned(text, "warning"),)
    if not found.baselines:
        left = BASELINE_NIGHTS - found.collected
        return (
            f"No baseline yet: of {counted(found.measured, 'measured night')} {found.collected} count for it, and "
            f"{left} more are needed.",
        )
    return (f"None of {counted(len(found.loads), 'load')} is slower than the baseline.",)


def _events(found: History) -> list[doc.Part]:
    parts: list[doc.Part] = []
    for event in found.events:
        parts.append(doc.paragraph_of(_event_line(event)))
        rows = tuple(
            (named(turn), sized(turn), (turn.nights and counted(turn.nights, "night")) or "")
            for turn in event.turns
        )
        parts.append(doc.Table(("load", "effect", "seen in"), rows))
    return parts


def _event_line(event: Slowdown) -> doc.Toned:
    state = "still slower" if event.lasting else "over, or part of a newer baseline"
    return doc.Toned(
        f"Since {event.since[:10]} (shown on {event.named[:10]}; {state}). Suspect: {suspects(event)}",
        "warning" if event.lasting else "dim",
    )


def line_order(found: History) -> list[LoadNights]:
    """Loads with a line, those that are or were slow first."""
    turned = {turn.key for event in found.events for turn in event.turns}
    fit = [load for load in found.loads if load.centre and len(load.values) > 1]
    return sorted(fit, key=lambda load: (not load.slow, load.key not in turned))


def _courses(found: History) -> tuple[doc.Part, ...]:
    drawn = line_order(found)[:_MOST_DRAWN]
    if not drawn:
        return ()
    lines = tuple(_line(load) for load in drawn)
    scale = f"Each line: {percent(1 - _LOW)} below to {percent(_HIGH - 1)} above the load's baseline, one mark a night."
    return (doc.Picture(lines, _svg(found, drawn)), doc.paragraph_of(scale))


def night_ratios(load: LoadNights) -> list[tuple[int, float]]:
    """Over the baseline, turned so that less is slower."""
    centre, more = load.centre or 1.0, load.metric.better == "more"
    return [(night, value / centre if more else centre / value) for night, value in load.values if value > 0]


def _line(load: LoadNights) -> str:
    ratios = [ratio for _, ratio in night_ratios(load)][-_ROOM:]
    bars = "".join(spark(share_of_line(ratio)) for ratio in ratios)
    return (
        f"{printable(named(load)):<{_NAME}.{_NAME}} {bars:<{_ROOM}} {_SLOWER if load.slow else ''}".rstrip()
    )


def share_of_line(ratio: float) -> float:
    """How high it stands in a line of `_LOW` to `_HIGH`."""
    return (max(_LOW, min(_HIGH, ratio)) - _LOW) / (_HIGH - _LOW)


def _svg(found: History, drawn: Sequence[LoadNights]) -> str:
    """Each line round its baseline, dashed where the host was changed, red where the load turned."""
    nights = [seen.night for seen in found.nights]
    first, span = nights[0], max(1, nights[-1] - nights[0])
    turned = [turn for event in found.events for turn in event.turns]
    rows = [
        LoadLine(
            named(load),
            _SLOWER if load.slow else "",
            [((night - first) / span, share_of_line(ratio)) for night, ratio in night_ratios(load)],
            load.slow,
            level=share_of_line(1.0),
            turns=[(turn.since - first) / span for turn in turned if turn.key == load.key],
        )
        for load in drawn
    ]
    marks = {(night - first) / span: about for night, about in _marks(found).items()}
    return load_lines_svg(f"{found.host}: {len(nights)} nights", rows, marks)


def _marks(found: History) -> dict[int, str]:
    """By night: what was changed before it."""
    marks: dict[int, list[str]] = {}
    for dated in found.changes:
        marks.setdefault(dated.night, []).append(changed(dated))
    return {night: "; ".join(texts[:6]) for night, texts in marks.items()}


def _changes(found: History) -> tuple[doc.Part, ...]:
    items: list[doc.Words] = [(changed(one),) for one in found.changes[-_MOST_NIGHTS:]]
    return (doc.Bullets(tuple(items)),) if items else ()


def _table(found: History) -> tuple[doc.Part, ...]:
    rows = tuple(_row(load) for load in found.loads)
    header = ("load", "baseline", "last night", "unit", "deviation", "CUSUM", "")
    return (doc.Table(header, rows, frozenset({1, 2, 4, 5})),) if rows else ()


def _row(load: LoadNights) -> tuple[doc.Cell, ...]:
    return (
        named(load),
        number(load.centre) if load.centre is not None else "–",
        number(load.values[-1][1]) if load.values else "–",
        load.metric.unit,
        percent(load.deviation) if load.deviation is not None else "–",
        number(load.total, 2) if load.centre is not None else "–",
        doc.Toned(_SLOWER, "warning") if load.slow else "",
    )


def _nights(found: History, troubles: Sequence[str]) -> tuple[doc.Part, ...]:
    rows = tuple(
        (
            seen.wall[:16].replace("T", " "),
            seen.state + (", twice" if seen.runs > 1 else ""),
            f"baseline {seen.baseline}" if seen.baseline else "",
            seen.reason or (counted(len(seen.changes), "change") if seen.changes else ""),
        )
        for seen in found.nights[-_MOST_NIGHTS:]
    )
    table = doc.Table(("night (UTC)", "", "", ""), rows)
    return (table, *(doc.paragraph_of(trouble) for trouble in troubles[:20]))


def _method(found: History) -> doc.Part:
    limits = {"clip": number(CLIP), "drift": number(DRIFT), "limit": number(LIMIT)}
    return doc.paragraph_of(SAYS.text("nights", nights=BASELINE_NIGHTS, margin=found.margin, **limits))
