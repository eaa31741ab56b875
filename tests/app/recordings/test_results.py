"""Results keep their types: every one is read as it was written, and as it was written before it had a type."""

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from hostdx.app.recordings.reader import decode_result, load_recording, read_events
from hostdx.app.recordings.writer import encode_event
from hostdx.app.report import json_document
from hostdx.app.report.delivery import summary_lines
from hostdx.app.report.forms import html, markdown
from hostdx.app.report.full_report import make_report_document
from hostdx.probes.reading import other_package
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.results import result as result_types
from hostdx.scenarios.contract.verdict.verdict import Word
from tests.app.recordings.test_recording import write_recording
from tests.every_case import every_case
from tests.fakes.streams.hostile import _build_event
from tests.soak.strategies import event_types

FORMER_FOLDERS = {"profile": "where"}  # a recorded name outlives the folder
KINDS = result_types.bundled_results()


@every_case("tag", KINDS)
def test_what_is_written_is_read_again_as_the_same_and_every_view_shows_it(tag: str, tmp_path: Path) -> None:
    event = _build_event(event_types()[tag], 0, 1.0)
    assert isinstance(event, ev.Result)
    assert decode_result(encode_event(event)) == event
    path = write_recording(tmp_path / "r.jsonl", event, ev.RunEnded(t=2.0, status="done"))
    session = load_recording(path)
    assert session.find_result(KINDS[tag]) == event
    page = make_report_document(session, "r.jsonl")
    assert markdown.render_markdown(page) and html.render_html(page) and summary_lines(session, path)
    document = json.loads(json_document.document_json(session, None))
    assert document[event.name] == json.loads(json_document.encode_document(event.as_json))


def test_no_two_results_have_one_name_and_each_says_its_version() -> None:
    names = [kind.name for kind in KINDS.values()]
    assert len(set(names)) == len(names)
    for tag, kind in KINDS.items():
        result_name, _, version = tag.rpartition("/")
        folder = kind.__module__.split(".")[-2]
        assert result_name.split(".")[0] == FORMER_FOLDERS.get(folder, folder) and version.isdecimal()


def test_a_later_version_and_an_unknown_scenarios_result_are_survived(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "r.jsonl", ev.Note(t=2.0, text="after"))
    head, note = path.read_bytes().splitlines(keepends=True)
    strange = (b'"storage.levels/9"', b'"none.such/1"', b'"extra","name":"none"')
    lines = [b'{"type":%s,"t":1.0,"value":[]}\n' % tag for tag in strange]
    path.write_bytes(head + b"".join(lines) + note)
    assert [type(e) for e in read_events(path)] == [ev.Began, ev.Note]


class ThpResult(ev.Result, frozen=True, tag="thp.told/1"):
    name: ClassVar[str] = "told"
    value: str


def add_other_package(monkeypatch: pytest.MonkeyPatch, load: Callable[[], None]) -> None:
    """The scenario `thp` of another package, which stands in this file."""
    entry = SimpleNamespace(name="thp", module=__name__, load=load)
    monkeypatch.setattr(other_package, "entry_points_of", lambda group: (entry,))
    monkeypatch.setattr(result_types, "result_tagged", cache(result_types.result_tagged.__wrapped__))


def test_another_packages_module_that_does_not_load_leaves_its_results_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_import_error() -> None:
        raise ImportError("no module named thp")

    add_other_package(monkeypatch, raise_import_error)
    path = write_recording(tmp_path / "r.jsonl", ThpResult(t=1.0, value="so"), ev.Note(t=2.0, text="after"))
    assert [type(e) for e in read_events(path)] == [ev.Began, ev.Note]


def test_another_packages_scenario_brings_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_other_package(monkeypatch, lambda: None)
    session = load_recording(write_recording(tmp_path / "r.jsonl", ThpResult(t=1.0, value="so")))
    assert session.find_result(ThpResult) == ThpResult(t=1.0, value="so")
    assert "so" in markdown.render_markdown(make_report_document(session, "r.jsonl")).splitlines()


def test_a_figure_that_is_none_unmasks_no_secret() -> None:
    run_verdict = ev.RunVerdict(
        t=1.0, workload="w", metric="m", baseline="a", variant="b", verdict=Word.UNDECIDED, ratio=math.nan,
        explain="ran PGPASSWORD=hunter2 psql",
    )  # fmt: skip
    assert b"hunter2" not in encode_event(run_verdict)
