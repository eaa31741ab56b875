"""How long a switch shows in a load: learned from the windows right after one, as the length of a slice is."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hostdx.probes.engine.measured import Measured
from hostdx.scenarios.contract.events import Block
from hostdx.scenarios.contract.model import Run
from hostdx.scenarios.experiment.schedule.blocks import VariantBench
from hostdx.scenarios.experiment.schedule.slices import MIN_SLICES, SURE
from hostdx.scenarios.experiment.statistics.distributions import t_quantile
from hostdx.scenarios.experiment.statistics.stats import sample_deviation

MAX_EXTRA_S = 8.0
LEARNING_SHARE = 0.5  # of the time of a comparison: later a longer wait leaves too few groups
HOLD_S, MIN_HELD = 10.0, 15  # seconds and windows of a value that is held
MIN_OTHERS = 4  # windows of a sample
_PART_OF_MARGIN = 4


class SettleTime:
    """Grows `extra_s`, the wait after each switch beyond the settings' own, as long as a switch shows.

    A switch shows where windows right after one differ from other windows of the same value by more than a quarter of
    the margin, with 99 % certainty. `shows`: it did at the last look.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self.extra_s = 0.0
        self.begin_comparison(math.inf)

    def begin_comparison(self, seconds: float) -> None:
        """Learn from now on, and grow in the first half of these seconds."""
        self._until = self._run.clock.now() + LEARNING_SHARE * seconds
        self.shows = False
        self._clear_windows()

    def _clear_windows(self) -> None:
        """Keep logarithms of the windows' values by whether settings are new, then by whether a switch came before."""
        self._logs = {new: {True: list[float](), False: list[float]()} for new in (True, False)}
        self._looks = 0

    def add_window(self, measured: Measured, *, new: bool, after_switch: bool) -> None:
        self._window_s = measured.seconds
        if (value := math.fsum(measured.values.values())) > 0:
            self._logs[new][after_switch].append(math.log(value))

    def grow(self) -> float:
        """Return by how many seconds the wait is longer from now on, mostly 0: earlier windows count no longer then.

        What fades evenly, and shows in a window by so many times the tolerated share, is over after as many windows as
        the logarithm of that.
        """
        if len(self._logs[False][True]) < MIN_SLICES << self._looks:
            return 0.0
        self._looks += 1
        tolerated = self._run.effect_margin / _PART_OF_MARGIN
        worst = max(self._change_after_switch(new, tolerated) for new in (True, False))
        self.shows = worst > tolerated
        if not self.shows or self.extra_s >= MAX_EXTRA_S or self._run.clock.now() > self._until:
            return 0.0
        grown_s = self._window_s * max(1.0, math.log(worst / tolerated))
        self.extra_s += grown_s
        self._clear_windows()
        return grown_s

    def _change_after_switch(self, new: bool, tolerated: float) -> float:
        """Return by how much windows differ after a switch; 0 where that is not surely more than `tolerated`."""
        after, others = (self._logs[new][after_switch] for after_switch in (True, False))
        return _certain_weighted_change([(1.0, after), (-1.0, others)], tolerated)


async def measure_whether_setting_acts_slowly(
    run: Run, new: VariantBench, today: VariantBench, until: float, blocks: Sequence[Block]
) -> bool:
    """Hold the new and today's values for some seconds each, where these are left `until` the end. Return whether the
    load goes on changing meanwhile, with the one otherwise than with the other: then the windows of a group (`blocks`)
    are too short for the setting.
    """
    window_s = max(block.seconds for block in blocks)
    held_s = max(HOLD_S, MIN_HELD * window_s)
    if run.clock.now() + 2 * held_s > until:
        return False
    samples: list[tuple[float, list[float]]] = []
    for sign, bench in ((0.5, new), (-0.5, today)):
        await bench.switch_to_variant()
        logs, end = list[float](), run.clock.now() + held_s
        while run.clock.now() < end:
            measured = await bench.measure_block(window_s)
            logs += [math.log(value) for value in measured.values.values() if value > 0]
        third = len(logs) // 3
        samples += [(sign, logs[-third:]), (-sign, logs[:third])]
    return _certain_weighted_change(samples, run.effect_margin / _PART_OF_MARGIN) > 0


def _certain_weighted_change(samples: Sequence[tuple[float, Sequence[float]]], tolerated: float) -> float:
    """Return the size of the sum of the weighted means; 0 where it is not beyond `tolerated` with 99 % certainty."""
    fewest = min(len(values) for _, values in samples)
    if fewest < MIN_OTHERS:
        return 0.0
    change = abs(math.fsum(weight * math.fsum(values) / len(values) for weight, values in samples))
    error = math.hypot(*(w * sample_deviation(values) / math.sqrt(len(values)) for w, values in samples))
    return change if change - t_quantile(1 - SURE / 4, fewest - 1) * error > tolerated else 0.0
