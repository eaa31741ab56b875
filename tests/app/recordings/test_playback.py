"""Time under control over a recording, without a screen."""

from __future__ import annotations

import msgspec
import pytest

from app.recordings.playback import SPEEDS, Playback, copy_session
from app.recordings.session import RunSession
from scenarios.contract import events as ev
from tests.fakes.streams.stories import long
from tests.fakes.streams.story import storage


def state(session: RunSession) -> bytes:
    """Everything a session holds, for comparing."""
    return msgspec.json.encode(
        {k: list(v.items()) if isinstance(v, dict) else v for k, v in vars(session).items()}, enc_hook=list
    )


@pytest.fixture(scope="module")
def run() -> list[ev.AnyEvent]:
    return storage()


def folded(events: list[ev.AnyEvent]) -> RunSession:
    session = RunSession()
    for event in events:
        session.apply(event)
    return session


def test_every_position_is_what_folding_up_to_it_gives(
    run: list[ev.AnyEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.recordings.playback.CHECKPOINT_EVERY", 16)
    play = Playback(run)
    for seconds in (40.0, 3.0, 61.0, 0.0, 22.5, 22.4, 1e9, 15.0):
        play.seek(seconds)
        upto = [e for e in run if e.t <= min(seconds, play.end)]
        assert play.position == len(upto)
        assert state(play.session) == state(folded(upto))


def test_checkpoints_folded_ahead_change_nothing(
    run: list[ev.AnyEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.recordings.playback.CHECKPOINT_EVERY", 16)
    play = Playback(run)
    rounds = 0
    while play.fold_checkpoint():
        rounds += 1
    assert rounds == len(run) // 16
    play.seek(50.0)
    assert state(play.session) == state(folded([e for e in run if e.t <= 50.0]))
    assert play.session is not play._checkpoints[3]


def test_a_snapshot_goes_its_own_way(run: list[ev.AnyEvent]) -> None:
    session = folded(run[:60])
    before = state(session)
    copy = copy_session(session)
    assert state(copy) == before
    for event in run[60:]:
        copy.apply(event)
    assert state(session) == before
    assert state(copy) == state(folded(run))


def test_playing_follows_the_clock_at_every_speed(run: list[ev.AnyEvent]) -> None:
    for speed in SPEEDS[:-1]:
        play = Playback(run, speed=speed)
        play.toggle()
        assert play.advance_time(0.5)
        assert play.time == pytest.approx(0.5 * speed)
        assert play.position == len([e for e in run if e.t <= 0.5 * speed])
    play = Playback(run, speed=float("inf"))
    play.toggle()
    play.advance_time(0.001)
    assert play.at_end and not play.playing


def test_paused_time_stands_still(run: list[ev.AnyEvent]) -> None:
    play = Playback(run)
    assert not play.advance_time(10.0)
    assert play.time == 0.0 and play.position == 0


def test_playing_stops_at_the_end_and_space_begins_anew(run: list[ev.AnyEvent]) -> None:
    play = Playback(run, speed=64)
    play.toggle()
    play.advance_time(10.0)
    assert play.at_end and not play.playing and play.time == play.end
    play.toggle()
    assert play.playing and play.time == 0.0
    play.toggle()
    assert not play.playing


def test_steps_there_and_back_visit_the_same_places(run: list[ev.AnyEvent]) -> None:
    play = Playback(run)
    there = [play.position]
    while not play.at_end:
        play.step_group(1)
        there.append(play.position)
    assert there == sorted(set(there)) and there[-1] == len(run)
    back = [play.position]
    while play.position:
        play.step_group(-1)
        back.append(play.position)
    assert back == there[::-1]


def test_a_step_takes_what_was_written_together(run: list[ev.AnyEvent]) -> None:
    play = Playback(run)
    play.seek(20.0)
    play.step_group(1)
    shown = run[play.position - 1]
    assert play.at_end or run[play.position].t - shown.t >= 0.05


def test_jumps_stop_right_after_steps_findings_and_the_end(run: list[ev.AnyEvent]) -> None:
    play = Playback(run)
    seen = []
    while not play.at_end:
        promised = play.next_mark
        play.jump_to_mark(1)
        seen.append(run[play.position - 1])
        assert promised
    kinds = {type(e) for e in seen}
    assert {ev.RunStep, ev.Found, ev.RunVerdict, ev.ActionEvent, ev.RunEnded} <= kinds
    assert kinds <= {ev.RunStep, ev.Found, ev.RunVerdict, ev.ActionEvent, ev.RunEnded, ev.SeriesVerdict}
    assert play.next_mark == ""
    back = [seen[-1]]
    while play.position:
        play.jump_to_mark(-1)
        if play.position:
            back.append(run[play.position - 1])
    assert back == seen[::-1]


def test_a_jump_back_from_between_goes_to_the_last_mark_seen(run: list[ev.AnyEvent]) -> None:
    play = Playback(run)
    play.seek(30.0)
    play.jump_to_mark(-1)
    shown = run[play.position - 1]
    assert isinstance(shown, ev.RunStep) and shown.id == "fsync-4k" and shown.state == "started"


def test_speeds_go_up_and_down_and_no_further() -> None:
    play = Playback([])
    for wanted in SPEEDS[2:]:
        play.change_speed(1)
        assert play.speed == wanted
    play.change_speed(1)
    assert play.speed == SPEEDS[-1]
    for _ in SPEEDS:
        play.change_speed(-1)
    assert play.speed == SPEEDS[0] == 0.5


def test_live_stays_at_the_end_until_somebody_moves(run: list[ev.AnyEvent]) -> None:
    play = Playback(run[:50], live=True)
    assert play.at_end
    assert play.extend(run[50:80]) and play.position == 80
    play.step_group(-1)
    held = play.position
    assert not play.live and not play.extend(run[80:120]) and play.position == held
    play.seek_end(live=True)
    assert play.live and play.position == 120


def test_an_empty_recording_survives_every_key() -> None:
    play = Playback([])
    for act in (
        lambda: play.step_group(1),
        lambda: play.step_group(-1),
        lambda: play.jump_to_mark(1),
        lambda: play.jump_to_mark(-1),
        play.start,
        play.seek_end,
        play.toggle,
        lambda: play.seek(5.0),
        lambda: play.advance_time(1.0),
    ):
        act()
    assert play.position == 0 and play.time == 0.0


def test_times_that_run_backwards_are_survived() -> None:
    events: list[ev.AnyEvent] = [ev.Note(t=5.0, text="a"), ev.Note(t=3.0, text="b"), ev.Note(t=6.0, text="c")]
    play = Playback(events)
    play.seek(5.0)
    assert [n.text for n in play.session.notes] == ["a", "b"]


def test_a_long_recording_is_refolded_from_near_by() -> None:
    """What a jump costs does not grow with the recording: at most one stretch between checkpoints is folded again."""
    events = long(40_000)
    play = Playback(events)
    play.seek_end()
    applied = 0

    class Counting(RunSession):
        def apply(self, event: ev.AnyEvent) -> None:
            nonlocal applied
            applied += 1
            super().apply(event)

    for session in play._checkpoints:
        session.__class__ = Counting  # type: ignore[assignment]
    for seconds in (3500.0, 10.0, 1800.0):
        applied = 0
        play.session = copy_session(play.session)
        play.seek(seconds)
        assert applied <= 8192
