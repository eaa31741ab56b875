"""What a null run records: how small an effect shows in a minute on this host."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from scenarios import ranges as of
from scenarios.results.result import Result
from scenarios.verdict.word import Judged, Word


class Reach(msgspec.Struct, Judged, frozen=True, omit_defaults=True):
    """One workload: the smallest effect (a share) that a minute of it can show; None where it was not found out."""

    workload: str
    title: str
    in_a_minute: of.Edge | None
    verdict: Word
    groups: of.Number = 0
    seconds: of.Duration = 0.0
    reason: str = ""


class Answer(msgspec.Struct, frozen=True):
    directory: str
    device: str
    reaches: tuple[Reach, ...] = ()
    margin: of.Margin = 0.05  # nothing smaller is ever called, however quiet the host

    @property
    def worst(self) -> float | None:
        return max((r.in_a_minute for r in self.reaches if r.in_a_minute is not None), default=None)

    @property
    def unknown(self) -> list[Reach]:
        return [r for r in self.reaches if r.in_a_minute is None]


class Resolution(Result, frozen=True, tag="null.resolution/1"):
    name: ClassVar[str] = "null"
    value: Answer
