"""The pictures in `screenshots/` are what the screens show now."""

import re
from collections.abc import Iterable

import pytest

from hostdx.app.recordings.reader import read_events
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.triage.triage import all_rules
from tests.fakes.streams import stories
from tests.fakes.streams.story import RECORDINGS
from tests.needs import some_always
from tests.screenshots import SCREENSHOTS, Shot, bundled_demos, path_of, take_picture, wanted_shots


def test_every_picture_has_its_recording_and_the_other_way_round() -> None:
    assert {p.name for p in SCREENSHOTS.glob("*.svg")} == {
        path_of(shot, size).name for shot in wanted_shots() for size in ("wide", "narrow")
    }, "python -m tests.screenshots makes them anew"


def test_every_bundled_recording_has_a_picture_of_its_report() -> None:
    expected = {f"report-{name}-1000.png" for name in bundled_demos()} | {"report-storage-400.png"}
    assert {p.name for p in SCREENSHOTS.glob("*.png")} == expected, (
        "python -m tests.screenshots makes them anew"
    )


def texts_in(svg: str) -> list[str]:
    """The words drawn: colours and ids differ between patch releases of Textual and Rich, what is said does not."""
    return re.findall(r">([^<]+)</text>", svg)


@pytest.mark.parametrize("shot", some_always(wanted_shots()[::4], wanted_shots()), ids=lambda shot: shot.name)
async def test_pictures_are_fresh(shot: Shot) -> None:
    for size in ("wide", "narrow"):
        svg, _ = await take_picture(shot, size)
        assert texts_in(svg) and texts_in(svg) == texts_in(path_of(shot, size).read_text("utf-8")), (
            "python -m tests.screenshots makes them anew"
        )


def unknown_names(events: Iterable[ev.AnyEvent]) -> list[str]:
    """Checks and findings that no rule of today could have given."""
    rules = {rule.id for rule in all_rules()}
    out, spoke = [], set()
    for event in events:
        if isinstance(event, ev.Checked):
            out += [event.rule] if event.rule not in rules else []
            spoke |= {event.rule} & rules if event.state == "spoke" else set()
        elif isinstance(event, ev.Found):
            out.append(event.finding.id)
    return [name for name in out if not any(name.startswith(rule) for rule in spoke)]


def test_the_home_screens_picture_shows_what_a_host_really_told() -> None:
    real: list[ev.AnyEvent] = list(read_events(RECORDINGS / "home.jsonl"))
    assert sum(isinstance(event, ev.Found) for event in real) > 1 and not unknown_names(real)


def test_a_made_up_host_would_be_noticed() -> None:
    assert "host.mce" in unknown_names(stories.triage())
