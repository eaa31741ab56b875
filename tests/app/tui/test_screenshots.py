"""The pictures in `screenshots/` are what the screens show now."""

from __future__ import annotations

import re

import pytest

from tests.screenshots import SCREENSHOTS, Shot, path_of, picture, wanted


def test_every_picture_has_its_recording_and_the_other_way_round() -> None:
    assert {p.name for p in SCREENSHOTS.glob("*.svg")} == {
        path_of(shot, size).name for shot in wanted() for size in ("wide", "narrow")
    }, "python -m tests.screenshots makes them anew"


def cells(svg: str) -> list[str]:
    """The words drawn: colours and ids differ between patch releases of Textual and Rich, what is said does not."""
    return re.findall(r">([^<]+)</text>", svg)


@pytest.mark.parametrize("shot", wanted(), ids=lambda shot: shot.name)
async def test_pictures_are_fresh(shot: Shot) -> None:
    for size in ("wide", "narrow"):
        svg, _ = await picture(shot, size)
        assert cells(svg) and cells(svg) == cells(path_of(shot, size).read_text("utf-8")), (
            "python -m tests.screenshots makes them anew"
        )
