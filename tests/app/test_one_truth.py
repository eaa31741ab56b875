"""What stands side by side agrees: values divide to the effect, and each statement has one source at every instant."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.recording.interference import others_io
from app.recording.reader import load, read_events
from app.recording.session import RunSession
from app.recording.store import list_demos, resolve_recording
from app.recording.values import values_beside
from app.report import json_document
from app.report.figures import verdict_table
from app.report.figures.tiles import summary_tiles
from app.report.first_page import first_page
from app.report.forms import csv_rows, html, markdown
from app.report.full_report import report
from app.report.headline import list_remarks
from app.tui.widgets.measuring.pulse_line import OTHERS_IO, pulse_lines
from app.tui.widgets.verdict_list import list_effects
from scenarios import events as ev
from scenarios.plan import Metric
from scenarios.results.document import Bullets, plain_text

FIXTURES = Path(__file__).parents[1] / "fixtures" / "recordings"
RECORDINGS = [resolve_recording(name) for name in list_demos()] + sorted(FIXTURES.glob("*.jsonl"))
WITHIN = 0.01
INSTANTS = 20


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_the_values_divide_to_the_effect_and_are_the_same_in_every_form(path: Path) -> None:
    session = load(path)
    told = report(session, path.name)
    page, text = html.render_html(told), markdown.render_markdown(told)
    of_csv = list(csv.DictReader(io.StringIO(csv_rows.csv_of_recording(session, path.name))))
    of_json = json.loads(json_document.document_json(session, path.name))["verdicts"]
    shown = {
        (v.workload, v.metric, v.baseline, v.variant): row
        for row in verdict_table.list_verdict_rows(session)
        for v in [row.verdict]
    }
    listed = {id(entry.verdict): entry for entry in list_effects(session) if entry.measured}
    for verdict, row, document in zip(session.verdicts.values(), of_csv, of_json, strict=False):
        left, right = values_beside(session, verdict)
        assert document["values"] == [left, right]
        for value, name in ((left, "baseline_value"), (right, "variant_value")):
            assert row[name] == ("" if value is None else f"{value:.7g}")
        if verdict.ratio is None or not (left and right):
            continue
        metric = session.find_metric(verdict.workload, verdict.metric) or Metric(
            verdict.metric, verdict.metric
        )
        quotient = right / left if metric.better == "more" else left / right
        assert quotient == pytest.approx(verdict.ratio, rel=WITHIN)
        cells = shown[verdict.workload, verdict.metric, verdict.baseline, verdict.variant]
        entry = listed[id(verdict)]
        assert (entry.left, entry.right) == (cells.left, cells.right)
        for value in (cells.left, cells.right):
            assert str(value) in text and str(value) in page


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_no_claim_of_a_recording_is_one_of_an_order_alone(path: Path) -> None:
    """Recordings from before the orders were looked at are judged by them when they are read."""
    session = load(path)
    for verdict in session.verdicts.values():
        drawn = {group.order for group in session.groups_behind(verdict)}
        if not verdict.is_decided or len(drawn) < 2 or verdict.groups < 4:
            continue
        assert verdict.order is not None
        first, second = verdict.order.ratios
        assert not verdict.is_different or (first < 1) is (second < 1) is verdict.is_slower


def test_a_bundled_claim_that_was_an_artefact_of_the_order_is_not_made() -> None:
    events = [
        event for event in read_events(resolve_recording("demo:box")) if isinstance(event, ev.RunVerdict)
    ]
    assert events  # as recorded; what is shown of them is above
    for verdict in load(resolve_recording("demo:box")).verdicts.values():
        assert (verdict.order is not None and verdict.is_judged) or verdict.reason


def instants(path: Path) -> Iterator[RunSession]:
    events = list(read_events(path))
    session = RunSession()
    for number, event in enumerate(events, 1):
        session.apply(event)
        if number % max(1, len(events) // INSTANTS) == 0 or number == len(events):
            yield session


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_nothing_is_unknown_in_one_place_and_known_in_another(path: Path) -> None:
    for session in instants(path):
        told = [
            one for w in session.watched for one in w.told if one.kind == "device" and one.figure is not None
        ]
        known = others_io(session)
        assert known is not None or not told
        if session.pulses and session.pulses[-1].devices:
            spans = [text for line in pulse_lines(session, 400, 9) for text, _ in line]
            assert spans.count(OTHERS_IO) == (known is not None)
        found = list_remarks(session)
        counted = [
            tile for group in summary_tiles(session) for tile in group.tiles if tile.label == "findings"
        ]
        worst = Counter(f.severity for f in found)
        assert bool(counted) == bool(found) or not summary_tiles(session)
        for tile in counted:
            assert (
                sum(int(word) for word in f"{tile.value} {tile.more}".split() if word.isdigit())
                == worst.total()
            )
        listed = first_page(session, path.name)[-1]
        lines = [
            plain_text(item[-1]) for part in listed.parts if isinstance(part, Bullets) for item in part.items
        ]
        assert lines[: len(found)] == [f.title for f in found][: len(lines)]
