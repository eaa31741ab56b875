"""What a null run records: how small an effect shows in a minute on this host."""

from typing import ClassVar

import msgspec

from hostdx.probes.units import smallest_seen_difference_text
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.results.result import Result
from hostdx.scenarios.contract.verdict.verdict import Judged, Word


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
    def coarsest_load(self) -> LeastEffect | None:
        """Return the load in which a minute shows least."""
        known = [r for r in self.reaches if r.in_a_minute is not None]
        return max(known, key=lambda r: r.in_a_minute or 0.0, default=None)

    @property
    def coarsest_resolution(self) -> float | None:
        return None if self.coarsest_load is None else self.coarsest_load.in_a_minute

    @property
    def unmeasured_loads(self) -> list[LeastEffect]:
        return [r for r in self.reaches if r.in_a_minute is None]


def format_left_out(answer: NullAnswer) -> str:
    return (
        f"; not measured: {', '.join(r.title for r in answer.unmeasured_loads)}"
        if answer.unmeasured_loads
        else ""
    )


class Resolution(Result, frozen=True, tag="null.resolution/1"):
    name: ClassVar[str] = "null"
    value: NullAnswer

    @property
    def quote(self) -> str:
        measured = [r for r in self.value.reaches if r.in_a_minute is not None]
        if not measured:
            return ""
        parts = [f"below {smallest_seen_difference_text(r.in_a_minute or 0.0)} ({r.title})" for r in measured]
        directory_text = f" in {self.value.directory}" if self.value.directory else ""
        odd = [r.title for r in measured if r.is_different]
        difference_text = f"; it found a difference where there is none ({', '.join(odd)})" if odd else ""
        return (
            f"measured against itself{directory_text}, this host may miss in one minute a difference "
            f"{', '.join(parts)}{difference_text}"
            f"{format_left_out(self.value)}"
        )
