"""A host's history as a document: what became slower and since when, each load's line with its changes, the nights."""

from collections.abc import Sequence
from pathlib import Path

from hostdx.app.report.figures.load_lines import LoadLine, load_lines_svg
from hostdx.app.terminal.glyphs import spark_cell
from hostdx.app.terminal.printable import make_printable
from hostdx.probes.units import count_noun, format_number, format_percent
from hostdx.scenarios.analysis.nights.cusum import BASELINE_NIGHTS, CLIP, DRIFT, LIMIT
from hostdx.scenarios.analysis.nights.findings import (
    change_text,
    load_name,
    ratio_text_with_interval,
    suspected_changes_text,
)
from hostdx.scenarios.analysis.nights.history import HostHistory, LoadNights, Slowdown
from hostdx.scenarios.contract.results import document as doc
from hostdx.scenarios.triage.rules.texts import FindingTexts

SAYS = FindingTexts(Path(__file__).with_name("texts.toml"))
_LOW, _HIGH = 0.8, 1.2  # of the baseline: what a line's height shows
_MAX_DRAWN = 16
_MAX_NIGHTS = 60
_NAME, _ROOM = 34, 40  # cells
_SLOWER = "▲ slower"


def nights_document(history: HostHistory, troubles: Sequence[str] = ()) -> doc.ReportDocument:
    sections = (
        doc.ReportSection("Since when", tuple(_slowdown_parts(history))),
        doc.ReportSection("Each load", _load_chart_parts(history)),
        doc.ReportSection("What changed on the host", _change_parts(history)),
        doc.ReportSection("Figures", _figure_table(history)),
        doc.ReportSection("Nights", _night_parts(history, troubles), appendix=True),
        doc.ReportSection("How it is judged", (_method_part(history),), appendix=True),
    )
    lead = f"{history.host}: history of {nights_text(history)}."
    return doc.ReportDocument(
        headline_text(history), (lead,), tuple(section for section in sections if section.parts)
    )


def nights_text(history: HostHistory) -> str:
    """Return `30 measured nights`, or `3 runs on 1 day`: runs of one morning are not so many nights."""
    days = {night.wall[:10] for night in history.nights if night.state == "measured"}
    if len(days) < history.measured_count:
        return f"{count_noun(history.measured_count, 'run')} on {count_noun(len(days), 'day')}"
    return count_noun(history.measured_count, "measured night")


def headline_text(history: HostHistory) -> str:
    """The answer, first of all."""
    if history.lasting_slowdowns:
        event = min(history.lasting_slowdowns, key=lambda event: event.turns[0].ratio)
        worst = event.turns[0]
        return (
            f"{load_name(worst)} is {ratio_text_with_interval(worst)} since {event.since[:10]}; "
            f"suspect: {suspected_changes_text(event)}"
        )
    if not history.baselines:
        left = BASELINE_NIGHTS - history.collected
        return (
            f"No baseline yet: {history.collected} of {nights_text(history)} can be used for it; {left} more nights "
            "are needed."
        )
    return f"None of {count_noun(len(history.loads), 'load')} is slower than the baseline."


def _slowdown_parts(history: HostHistory) -> list[doc.Part]:
    parts: list[doc.Part] = []
    for event in history.events:
        parts.append(doc.paragraph_of(_slowdown_line(event)))
        rows = tuple(
            (
                load_name(turn),
                ratio_text_with_interval(turn),
                (turn.nights and count_noun(turn.nights, "night")) or "",
            )
            for turn in event.turns
        )
        parts.append(doc.Table(("load", "effect", "seen in"), rows))
    return parts


def _slowdown_line(event: Slowdown) -> doc.Toned:
    state = "still slower" if event.is_lasting else "over, or part of a newer baseline"
    return doc.Toned(
        f"Since {event.since[:10]} (shown on {event.named[:10]}; {state}). Suspect: {suspected_changes_text(event)}",
        "warning" if event.is_lasting else "dim",
    )


def charted_loads_slow_first(history: HostHistory) -> list[LoadNights]:
    """Loads with a line, those that are or were slow first."""
    turned = {turn.key for event in history.events for turn in event.turns}
    fit = [load for load in history.loads if load.centre and len(load.values) > 1]
    return sorted(fit, key=lambda load: (not load.slow, load.key not in turned))


def _load_chart_parts(history: HostHistory) -> tuple[doc.Part, ...]:
    drawn = charted_loads_slow_first(history)[:_MAX_DRAWN]
    if not drawn:
        return ()
    lines = tuple(_sparkline_of_load(load) for load in drawn)
    scale = (
        f"Each line: {format_percent(1 - _LOW)} below to {format_percent(_HIGH - 1)} above the load's "
        "baseline, one mark a night."
    )
    return (doc.Picture(lines, _history_svg(history, drawn)), doc.paragraph_of(scale))


def night_ratios(load: LoadNights) -> list[tuple[int, float]]:
    """Over the baseline, turned so that less is slower."""
    centre, more = load.centre or 1.0, load.metric.better == "more"
    return [(night, value / centre if more else centre / value) for night, value in load.values if value > 0]


def _sparkline_of_load(load: LoadNights) -> str:
    ratios = [ratio for _, ratio in night_ratios(load)][-_ROOM:]
    bars = "".join(spark_cell(height_in_line(ratio)) for ratio in ratios)
    return f"{make_printable(load_name(load)):<{_NAME}.{_NAME}} {bars:<{_ROOM}} {_SLOWER if load.slow else ''}".rstrip()


def height_in_line(ratio: float) -> float:
    """Return how high it stands in a line of `_LOW` to `_HIGH`."""
    return (max(_LOW, min(_HIGH, ratio)) - _LOW) / (_HIGH - _LOW)


def _history_svg(history: HostHistory, drawn: Sequence[LoadNights]) -> str:
    """Each line round its baseline, dashed where the host was changed, red where the load turned."""
    nights = [entry.night for entry in history.nights]
    first, span = nights[0], max(1, nights[-1] - nights[0])
    turned = [turn for event in history.events for turn in event.turns]
    rows = [
        LoadLine(
            load_name(load),
            _SLOWER if load.slow else "",
            [((night - first) / span, height_in_line(ratio)) for night, ratio in night_ratios(load)],
            load.slow,
            level=height_in_line(1.0),
            turns=[(turn.since - first) / span for turn in turned if turn.key == load.key],
        )
        for load in drawn
    ]
    marks = {(night - first) / span: about for night, about in _changes_by_night(history).items()}
    return load_lines_svg(f"{history.host}: {len(nights)} nights", rows, marks)


def _changes_by_night(history: HostHistory) -> dict[int, str]:
    """By night: what was changed before it."""
    marks: dict[int, list[str]] = {}
    for dated in history.changes:
        marks.setdefault(dated.night, []).append(change_text(dated))
    return {night: "; ".join(texts[:6]) for night, texts in marks.items()}


def _change_parts(history: HostHistory) -> tuple[doc.Part, ...]:
    items: list[doc.Words] = [(change_text(change),) for change in history.changes[-_MAX_NIGHTS:]]
    return (doc.Bullets(tuple(items)),) if items else ()


def _figure_table(history: HostHistory) -> tuple[doc.Part, ...]:
    rows = tuple(_figure_row(load) for load in history.loads)
    header = ("load", "baseline", "last night", "unit", "deviation", "CUSUM", "")
    return (doc.Table(header, rows, frozenset({1, 2, 4, 5})),) if rows else ()


def _figure_row(load: LoadNights) -> tuple[doc.Cell, ...]:
    return (
        load_name(load),
        format_number(load.centre) if load.centre is not None else "–",
        format_number(load.values[-1][1]) if load.values else "–",
        load.metric.unit,
        format_percent(load.deviation) if load.deviation is not None else "–",
        format_number(load.total, 2) if load.centre is not None else "–",
        doc.Toned(_SLOWER, "warning") if load.slow else "",
    )


def _night_parts(history: HostHistory, troubles: Sequence[str]) -> tuple[doc.Part, ...]:
    rows = tuple(
        (
            entry.wall[:16].replace("T", " "),
            entry.state + (", twice" if entry.runs > 1 else ""),
            f"baseline {entry.baseline}" if entry.baseline else "",
            entry.reason or (count_noun(len(entry.changes), "change") if entry.changes else ""),
        )
        for entry in history.nights[-_MAX_NIGHTS:]
    )
    table = doc.Table(("night (UTC)", "", "", ""), rows)
    return (table, *(doc.paragraph_of(trouble) for trouble in troubles[:20]))


def _method_part(history: HostHistory) -> doc.Part:
    limits = {"clip": format_number(CLIP), "drift": format_number(DRIFT), "limit": format_number(LIMIT)}
    return doc.paragraph_of(SAYS.text("nights", nights=BASELINE_NIGHTS, margin=history.margin, **limits))
