"""Time under control over a recording, without a screen."""

import msgspec
import pytest

from hostdx.app.recordings.playback import Playback
from hostdx.app.recordings.session import RunSession
from hostdx.scenarios.contract import events as ev
from tests.fakes.streams.story import storage


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
