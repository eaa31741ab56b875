"""The outcomes of simulated runs, as a table and against what is required of them."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tests.measured.simulation.simulated import Outcome
from tests.scenarios.oracle import stats

IDLE, BUSY = "randread4k-qd1", "randread4k-qd1-busy"
FOUND = {  # true effect -> model -> in at least this share of the runs within 60 s
    10: {IDLE: 0.95, BUSY: 0.80, "fsync4k-qd1": 0.99, "cpu": 0.99, "white 5 %": 0.99},
    25: {IDLE: 0.99, BUSY: 0.99, "fsync4k-qd1": 0.99, "cpu": 0.99, "white 5 %": 0.99},
}
SOON = {10: 20.0, 25: 12.0}  # true effect -> median seconds on the idle disk at most


class Requirement(NamedTuple):
    """`missed`: not held, and not by chance: the binomial interval does not reach what is required."""

    text: str
    held: bool
    figures: str
    missed: bool


def exact_interval(hits: int, of: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval of a share."""
    proportion_ci = stats.binomtest(hits, of).proportion_ci(0.95, method="exact")
    return float(proportion_ci.low), float(proportion_ci.high)


def require(text: str, hits: int, of: int, limit: float, place: str, at_least: bool = False) -> Requirement:
    """A share that must be at most (or at least) `limit`."""
    low, high = exact_interval(hits, of)
    is_met = hits >= limit * of if at_least else hits <= limit * of
    missed = not is_met and (high < limit if at_least else low > limit)
    return Requirement(text, is_met, f"{format_share(hits, of).strip()} % {place}".rstrip(), missed)


@dataclass
class Cell:
    """All runs of one noise model with one true effect (per cent)."""

    model: str
    effect: int
    outcomes: list[tuple[int, Outcome]]  # the right answer (-1, 1), what was said
    usual: dict[str, tuple[float, float]]  # way -> per cent right (effect 0: any difference), per cent wrong

    def count(self, kind: str) -> int:
        """Runs that called any difference, the right or the wrong one, that said none, whose interval covers."""
        count = 0
        for right, outcome in self.outcomes:
            direction = outcome.direction
            count += {
                "called": direction in (-1, 1),
                "right": direction == right,
                "wrong": direction == -right,
                "none": direction == 0,
                "covered": outcome.covered,
            }[kind]
        return count

    def share(self, kind: str) -> float:
        return self.count(kind) / len(self.outcomes)

    def percent(self, kind: str) -> str:
        return format_share(self.count(kind), len(self.outcomes))

    def median_seconds(self) -> float:
        """Until the right difference was called (without one: that there is none); a run that did not is never."""
        expected = [(right if self.effect else 0, o) for right, o in self.outcomes]
        return statistics.median([o.seconds if o.direction == word else math.inf for word, o in expected])


def format_share(hits: int, of: int) -> str:
    """A share in per cent with its binomial 95 % interval."""
    low, high = exact_interval(hits, of)
    return f"{100 * hits / of:5.1f} [{100 * low:4.1f},{100 * high:5.1f}]"


def find_requirements(cells: Iterable[Cell]) -> list[Requirement]:
    """What is required of the verdicts, with the worst figure seen."""
    every = list(cells)
    rows: list[Requirement] = []

    def require_everywhere(text: str, effect: int, kind: str, bound: float) -> None:
        share, cell = max(((c.share(kind), c) for c in every if c.effect == effect), key=lambda pair: pair[0])
        place = f"({cell.model})" if share else "everywhere"
        rows.append(require(f"{text}, every model", cell.count(kind), len(cell.outcomes), bound, place))

    require_everywhere("nothing there: a difference called in <= 5 %", 0, "called", 0.05)
    require_everywhere("true 3 %: a difference called in <= 10 %", 3, "called", 0.10)
    require_everywhere("true 6 %: `no material difference` in <= 5 %", 6, "none", 0.05)
    require_everywhere("true 10 %: never the wrong direction", 10, "wrong", 0.0)
    for cell in every:
        least = FOUND.get(cell.effect, {}).get(cell.model)
        if least is not None:
            text = f"{cell.effect} % found within 60 s in >= {100 * least:.0f} % on {cell.model}"
            rows.append(require(text, cell.count("right"), len(cell.outcomes), least, "", at_least=True))
        if cell.model == IDLE and cell.effect in SOON:
            text = f"median seconds to find {cell.effect} % on {IDLE} <= {SOON[cell.effect]:.0f}"
            seconds = cell.median_seconds()
            late = seconds > SOON[cell.effect]
            rows.append(Requirement(text, not late, f"{seconds:.0f} s", late))
    worst = min(every, key=lambda c: c.share("covered"))
    place = f"({worst.model}, {worst.effect} %)"
    text = "the interval covers in >= 94 %, every model"
    rows.append(require(text, worst.count("covered"), len(worst.outcomes), 0.94, place, at_least=True))
    return rows


def heading_text(ways: Iterable[str]) -> str:
    columns = f"{'noise':26}{'true':>5}  {'right (0: any)':19} {'wrong':>5}  {'no material diff.':19} "
    return f"{columns}{'covers':>6}{'median s':>9}  | right (0: any)/wrong of {', '.join(ways)}"


def format_cell(cell: Cell) -> str:
    """One row of the table, in per cent of the runs."""
    wrong = cell.share("wrong") if cell.effect else 0.0
    seconds = cell.median_seconds()
    median = "-" if math.isinf(seconds) else f"{seconds:.0f}" if seconds >= 20 else f"{seconds:.1f}"
    usual_ways = "  ".join(f"{right:3.0f}/{against:2.0f}" for right, against in cell.usual.values())
    return (
        f"{cell.model:26}{cell.effect:3d} %  {cell.percent('right' if cell.effect else 'called'):19} "
        f"{100 * wrong:5.2f}  {cell.percent('none'):19} {100 * cell.share('covered'):6.1f}{median:>9}  | {usual_ways}"
    )
