"""A comparison across reboots: which boots of a host were measured as `before` and `after`, and what is still to do.

The plan is in the recordings themselves: each run says which side it is and which order was wanted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

Letter: TypeAlias = Literal["A", "B"]  # before, after
ORDERS = ("AB", "ABBA", "ABBAAB")


class Boot(msgspec.Struct, frozen=True, kw_only=True):
    """A finished run that says which side it is. `wall` is UTC, ISO 8601; `order` what was asked for with it."""

    recording: str
    side: Letter
    boot: str
    wall: str
    kernel: str
    order: str


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """The runs that belong together, the oldest first."""

    order: str
    runs: tuple[Boot, ...]

    @property
    def done(self) -> str:
        """The boots measured, each once: "AB". Several runs of one boot are one."""
        sides = {run.boot: run.side for run in self.runs}
        return "".join(sides.values())

    @property
    def left(self) -> str:
        """The boots still to be measured, in order: by count where the order was not kept."""
        if self.order.startswith(self.done):
            return self.order[len(self.done) :]
        have = Counter(self.done)
        left = []
        for letter in self.order:
            if have[letter]:
                have[letter] -= 1
            else:
                left.append(letter)
        return "".join(left)

    def recordings(self, side: Letter) -> tuple[str, ...]:
        return tuple(run.recording for run in self.runs if run.side == side)

    def kernels(self, side: Letter) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.kernel for run in self.runs if run.side == side and run.kernel))

    def side_of(self, boot: str) -> Letter | None:
        return next((run.side for run in self.runs if run.boot == boot), None)


def series_of(runs: Iterable[Boot]) -> list[Series]:
    """All series of one host, the oldest first. A `before` after a finished one begins the next."""
    found: list[Series] = []
    for run in sorted(runs, key=lambda r: (r.wall, r.recording)):
        last = found[-1] if found else None
        again = last is not None and last.side_of(run.boot) == run.side
        if last is None or (not last.left and not again and run.side == "A"):
            found.append(Series(order=run.order, runs=(run,)))
        else:
            longer = max(last.order, run.order, key=len)
            found[-1] = Series(order=longer, runs=(*last.runs, run))
    return found


def open_series(runs: Sequence[Boot]) -> Series | None:
    """The last one, if it still lacks a boot."""
    found = series_of(runs)
    return found[-1] if found and found[-1].left else None
