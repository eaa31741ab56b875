"""A recording folded into a session, played back and listed."""

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import msgspec
import pytest

from hostdx.app.recordings import store as recordings
from hostdx.app.recordings.playback import Playback
from hostdx.app.recordings.reader import decode_result, load_recording, read_events
from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.writer import encode_event
from hostdx.app.report import json_document
from hostdx.app.report.delivery import summary_lines
from hostdx.app.report.forms import html, markdown
from hostdx.app.report.forms import markdown as document_markdown
from hostdx.app.report.full_report import make_report_document
from hostdx.probes.reading import other_package
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.plan import Plan, Workload
from hostdx.scenarios.contract.results import result as result_types
from hostdx.scenarios.contract.verdict.verdict import Word
from tests.app.recordings.test_recording import write_recording
from tests.every_case import every_case
from tests.fakes.streams.hostile import _build_event
from tests.fakes.streams.story import storage
from tests.soak.strategies import event_types

DISTURBED = Disturbance(kind="cpu", figure=0.5)
VERDICT = ev.RunVerdict(
    t=9.0, workload="w", metric="m", baseline="A", variant="B", verdict="slower", groups=9,  # type: ignore[arg-type]
)  # fmt: skip


def fold(*events: ev.AnyEvent) -> RunSession:
    session = RunSession()
    for event in events:
        session.apply(event)
    return session


def step(t: float, state: ev.StepState = "started", name: str = "w") -> ev.RunStep:
    return ev.RunStep(t=t, id=name, title="load", state=state)


def group(index: int, *disturbed: Disturbance) -> ev.Group:
    ratios = {VERDICT.group_ratio_key: 0.1}
    return ev.Group(t=index, workload="w", index=index, order="AB", log_ratios=ratios, disturbed=disturbed)


def test_no_clock_goes_back() -> None:
    load = Workload(id="w", title="load", metrics=())
    plan = ev.Planned(t=0.0, plan=Plan(scenario="x", title="t", question="q", workloads=(load,)))
    session = fold(plan, step(1.0), ev.Progress(t=8.0, step="w", text="", seconds_left=2.0))
    assert (session.time, session.share) == (8.0, 0.8)
    session.apply(ev.Progress(t=7.0, step="w", text="", seconds_left=3.0))
    assert (session.time, session.share) == (8.0, 0.8)


def test_a_step_began_when_it_first_did_and_says_nothing_once_it_is_over() -> None:
    session = fold(step(1.0), step(4.0, name="x"), step(5.0), ev.Progress(t=6.0, step="w", text="so far"))
    assert session.began_at == {"w": 1.0, "x": 4.0} and session.current_progress is not None
    session.apply(step(7.0, "done"))
    assert session.current_progress is None


def test_a_fact_that_was_read_at_last_is_no_longer_absent() -> None:
    absent = ev.AbsentFact(t=1.0, name="n", reason="why")
    assert fold(absent).absent == {"n": absent}
    assert fold(absent, ev.FactRead(t=2.0, name="n", value=1, source="s")).absent == {}


def test_the_first_reason_is_kept() -> None:
    session = fold(ev.LeftOutLine(t=1.0, why="first"), ev.LeftOutLine(t=2.0, why="second"))
    assert (session.unsound, session.unsound_why) == (2, "first")


def test_no_verdict_rests_on_disturbed_groups_or_on_those_before_a_new_beginning() -> None:
    session = fold(group(0), group(1, DISTURBED), group(2))
    assert [g.index for g in session.groups_behind(VERDICT)] == [0, 2]
    session.apply(ev.SliceLengthChosen(t=3.0, workload="w", seconds=0.02, why="order"))
    assert session.groups_behind(VERDICT) == []
    session.apply(group(3))
    assert [g.index for g in session.groups_behind(VERDICT)] == [3]


def test_a_batch_gives_groups_once_it_is_steady() -> None:
    batch = ev.SliceBatch(
        t=1.0, workload="w", index=0, group=0, seconds=1.0, slice_s=0.02, variants=["A", "B"], order="0110 1001",
        values={"m": [1.0] * 8}, log_ratios={VERDICT.group_ratio_key: [0.1, 0.2]},
    )  # fmt: skip
    warmup = msgspec.structs.replace(batch, phase="warmup")
    assert "w" not in fold(warmup).groups
    assert len(fold(warmup, batch).groups["w"]) == 2


def test_what_was_computed_holds_until_the_next_event() -> None:
    session, numbers = fold(step(1.0)), iter(range(9))
    assert [session.compute_once("key", lambda: next(numbers)) for _ in range(2)] == [0, 0]
    session.apply(step(2.0))
    assert session.compute_once("key", lambda: next(numbers)) == 1


def encode_state(session: RunSession) -> bytes:
    """Everything a session holds, for comparing."""
    return msgspec.json.encode(
        {k: list(v.items()) if isinstance(v, dict) else v for k, v in vars(session).items()}, enc_hook=list
    )


@pytest.fixture(scope="module")
def run() -> list[ev.AnyEvent]:
    return storage()


def fold_events(events: list[ev.AnyEvent]) -> RunSession:
    session = RunSession()
    for event in events:
        session.apply(event)
    return session


def test_every_position_is_what_folding_up_to_it_gives(
    run: list[ev.AnyEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hostdx.app.recordings.playback.CHECKPOINT_EVERY", 16)
    play = Playback(run)
    for seconds in (40.0, 3.0, 61.0, 0.0, 22.5, 22.4, 1e9, 15.0):
        play.seek(seconds)
        upto = [e for e in run if e.t <= min(seconds, play.end)]
        assert play.position == len(upto)
        assert encode_state(play.session) == encode_state(fold_events(upto))


def test_checkpoints_folded_ahead_change_nothing(
    run: list[ev.AnyEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hostdx.app.recordings.playback.CHECKPOINT_EVERY", 16)
    play = Playback(run)
    rounds = 0
    while play.fold_checkpoint():
        rounds += 1
    assert rounds == len(run) // 16
    play.seek(50.0)
    assert encode_state(play.session) == encode_state(fold_events([e for e in run if e.t <= 50.0]))
    assert play.session is not play._checkpoints[3]


def test_steps_there_and_back_visit_the_same_places(run: list[ev.AnyEvent]) -> None:
    play = Playback(run)
    forth = [play.position]
    while not play.is_at_end:
        play.step_group(1)
        forth.append(play.position)
    assert forth == sorted(set(forth)) and forth[-1] == len(run)
    back = [play.position]
    while play.position:
        play.step_group(-1)
        back.append(play.position)
    assert back == forth[::-1]


def test_an_empty_recording_survives_every_key() -> None:
    play = Playback([])
    for act in (
        lambda: play.step_group(1),
        lambda: play.step_group(-1),
        lambda: play.jump_to_mark(1),
        lambda: play.jump_to_mark(-1),
        play.pause_at_start,
        play.seek_end,
        play.toggle,
        lambda: play.seek(5.0),
        lambda: play.advance_time(1.0),
    ):
        act()
    assert play.position == 0 and play.time == 0.0


@every_case("name", recordings.list_demo_arguments())
def test_a_demo_is_whole(name: str) -> None:
    path = recordings.resolve_recording(name)
    session = load_recording(path)
    assert session.ended is not None and session.ended.status == "done"
    assert session.plan is not None and session.began is not None
    text = document_markdown.render_markdown(make_report_document(session, path.name))
    assert "How it was measured" in text
    assert recordings.examine_recording(path).state == "done"


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
    assert document[event.name] == json.loads(json_document.to_json_text(event.as_json))


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
