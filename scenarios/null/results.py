"""What a null run records: how small an effect shows in a minute on this host."""

from typing import ClassVar

import msgspec

from probes.units import smallest_effect
from scenarios import ranges as of
from scenarios.results.result import Result
from scenarios.verdict.verdict import Judged, Word


class LeastEffect(msgspec.Struct, Judged, frozen=True, omit_defaults=True):
    """One workload: the smallest effect (a share) that a minute of it can show; None where it was not found out."""

    workload: str
    title: str
    in_a_minute: of.Edge | None
    verdict: Word
    groups: of.Number = 0
    seconds: of.Duration = 0.0
    reason: str = ""


class NullAnswer(msgspec.Struct, frozen=True):
    directory: str
    device: str
    reaches: tuple[LeastEffect, ...] = ()
    margin: of.Margin = 0.05  # nothing smaller is ever called, however quiet the host

    @property
    def worst(self) -> float | None:
        return max((r.in_a_minute for r in self.reaches if r.in_a_minute is not None), default=None)

    @property
    def unknown(self) -> list[LeastEffect]:
        return [r for r in self.reaches if r.in_a_minute is None]


def left_out(answer: NullAnswer) -> str:
    return f"; not measured: {', '.join(r.title for r in answer.unknown)}" if answer.unknown else ""


class Resolution(Result, frozen=True, tag="null.resolution/1"):
    name: ClassVar[str] = "null"
    value: NullAnswer

    @property
    def quote(self) -> str:
        known = [r for r in self.value.reaches if r.in_a_minute is not None]
        if not known:
            return ""
        parts = [f"{smallest_effect(r.in_a_minute or 0.0)} ({r.title})" for r in known]
        where = f" in {self.value.directory}" if self.value.directory else ""
        odd = [r.title for r in known if r.is_different]
        told = f"; it found a difference where there is none ({', '.join(odd)})" if odd else ""
        return (
            f"measured against itself{where}, this host has a resolution after one minute of {', '.join(parts)}{told}"
            f"{left_out(self.value)}"
        )
