"""What panels and screens know of earlier recordings."""

from __future__ import annotations

import msgspec


class Example(msgspec.Struct, frozen=True):
    """A recording with its answer in one sentence, and the effect that this rests on."""

    name: str
    result: str
    wall: str = ""  # when it began, UTC
    weight: str = "unknown"
    ratio: float | None = None
    ci95: tuple[float, float] | None = None


class EarlierResults(msgspec.Struct, frozen=True):
    """What earlier recordings tell: the newest; of this host the last of each scenario, the directories measured, and
    the smallest effect that the last run for that could have shown, by load."""

    examples: list[Example] = []
    last: dict[str, Example] = {}
    directories: list[str] = []
    detects: dict[str, float] = {}
