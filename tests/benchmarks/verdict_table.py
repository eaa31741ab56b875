"""The outcomes of simulated runs, as a table and against what is required of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from scenarios.distributions import binomial_interval
from tests.benchmarks.simulated import Outcome

IDLE, BUSY = "randread4k-qd1", "randread4k-qd1-busy"
FOUND = {  # true effect -> model -> in at least this share of the runs within 60 s
    10: {IDLE: 0.95, BUSY: 0.80, "fsync4k-qd1": 0.99, "cpu": 0.99, "white 5 %": 0.99},
    25: {IDLE: 0.99, BUSY: 0.99, "fsync4k-qd1": 0.99, "cpu": 0.99, "white 5 %": 0.99},
}
SOON = {10: 20.0, 25: 12.0}  # true effect -> median seconds on the idle disk at most


class Requirement(NamedTuple):
    text: str
    held: bool
    figures: str


@dataclass
class Cell:
    """All runs of one noise model with one true effect (per cent)."""

    model: str
    effect: int
    outcomes: list[tuple[int, Outcome]]  # the right answer (-1, 1), what was said
    usual: dict[str, tuple[float, float]]  # way -> per cent right (effect 0: any difference), per cent wrong

    def count(self, kind: str) -> int:
        """Runs that called any difference, the right or the wrong one, that said none, whose interval covers."""
        tests = {
            "called": lambda right, o: o.said in (-1, 1),
            "right": lambda right, o: o.said == right,
            "wrong": lambda right, o: o.said == -right,
            "none": lambda right, o: o.said == 0,
            "covered": lambda right, o: o.covered,
        }
        return sum(tests[kind](right, o) for right, o in self.outcomes)

    def share(self, kind: str) -> float:
        return self.count(kind) / len(self.outcomes)

    def shown(self, kind: str) -> str:
        return shown(self.count(kind), len(self.outcomes))

    def median_seconds(self) -> float:
        """Until the right difference was called; a run that did not call it counts as never."""
        return statistics.median([o.seconds if o.said == right else math.inf for right, o in self.outcomes])


def shown(hits: int, of: int) -> str:
    """A share in per cent with its binomial 95 % interval."""
    low, high = binomial_interval(hits, of)
    return f"{100 * hits / of:5.1f} [{100 * low:4.1f},{100 * high:5.1f}]"


def requirements(cells: Iterable[Cell]) -> list[Requirement]:
    """What is required of the verdicts, with the worst figure seen."""
    every = list(cells)
    rows: list[Requirement] = []

    def everywhere(text: str, effect: int, kind: str, most: float) -> None:
        share, cell = max(((c.share(kind), c) for c in every if c.effect == effect), key=lambda pair: pair[0])
        rows.append(
            Requirement(f"{text}, every model", share <= most, f"most {cell.shown(kind)} ({cell.model})")
        )

    everywhere("nothing there: a difference called in <= 5 %", 0, "called", 0.05)
    everywhere("true 3 %: a difference called in <= 20 %", 3, "called", 0.20)
    everywhere("true 6 %: `no material difference` in <= 5 %", 6, "none", 0.05)
    everywhere("true 10 %: never the wrong direction", 10, "wrong", 0.0)
    for cell in every:
        least = FOUND.get(cell.effect, {}).get(cell.model)
        if least is not None:
            text = f"{cell.effect} % found within 60 s in >= {100 * least:.0f} % on {cell.model}"
            rows.append(Requirement(text, cell.share("right") >= least, cell.shown("right")))
        if cell.model == IDLE and cell.effect in SOON:
            text = f"median seconds to find {cell.effect} % on {IDLE} <= {SOON[cell.effect]:.0f}"
            seconds = cell.median_seconds()
            rows.append(Requirement(text, seconds <= SOON[cell.effect], f"{seconds:.0f}"))
    worst = min(every, key=lambda c: c.share("covered"))
    figures = f"least {worst.shown('covered')} ({worst.model}, {worst.effect} %)"
    rows.append(
        Requirement("the interval covers in >= 93 %, every model", worst.share("covered") >= 0.93, figures)
    )
    return rows


def heading(ways: Iterable[str]) -> str:
    columns = f"{'noise':26}{'true':>5}  {'right (0: any)':19} {'wrong':>5}  {'no material diff.':19} "
    return f"{columns}{'covers':>6}{'median s':>9}  | right (0: any)/wrong of {', '.join(ways)}"


def line(cell: Cell) -> str:
    """One row of the table, in per cent of the runs."""
    wrong = cell.share("wrong") if cell.effect else 0.0
    seconds = cell.median_seconds() if cell.effect else math.inf
    median = "-" if math.isinf(seconds) else f"{seconds:.0f}"
    beside = "  ".join(f"{right:3.0f}/{against:2.0f}" for right, against in cell.usual.values())
    return (
        f"{cell.model:26}{cell.effect:3d} %  {cell.shown('right' if cell.effect else 'called'):19} "
        f"{100 * wrong:5.2f}  {cell.shown('none'):19} {100 * cell.share('covered'):6.1f}{median:>9}  | {beside}"
    )
