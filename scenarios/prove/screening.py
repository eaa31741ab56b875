"""The screening: rows of the design, each next to its mirror, until the replicates are complete.

Which of the settings have their new value now: only those that differ are switched, each journalled on its own.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack

from hostdx.probes.engine.measured import Measured
from hostdx.scenarios.contract.model import Run, RunRefused
from hostdx.scenarios.contract.plan import Workload
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch
from hostdx.scenarios.experiment.schedule.guarded import GuardedBlocks
from hostdx.scenarios.experiment.schedule.host_settings import read_setting
from hostdx.scenarios.experiment.schedule.switch import HeldSettingBench, SwitchedLoad
from hostdx.scenarios.prove.design import (
    MIN_REPLICATES,
    MeasuredPair,
    count_replicates,
    design_rows,
    draw_pairs,
    estimate_effects,
)
from hostdx.scenarios.prove.kinds import ProvableSetting
from hostdx.scenarios.prove.results import ScreeningRecord
from hostdx.scenarios.prove.settling import SettleTime


class SettingsSwitch:
    """Puts settings to their new values and back. Leaving it puts all of them back, however the run ends."""

    def __init__(self, run: Run, settings: Sequence[ProvableSetting]) -> None:
        self._run = run
        self._settings = {setting.label: setting for setting in settings}
        self._stays: dict[str, AsyncExitStack] = {}
        self._expected = {
            action.target: read_setting(action.target) for setting in settings for action in setting.actions
        }
        self._own = dict(self._expected)
        self._settle_s = 0.0  # of the last switch
        self.is_fresh = False  # nothing was measured since the last switch
        self.settling = SettleTime(run)

    async def __aenter__(self) -> SettingsSwitch:
        return self

    async def __aexit__(self, *_: object) -> None:
        async with AsyncExitStack() as stack:  # each is put back, even where another one fails
            for stay in self._stays.values():
                stack.push_async_callback(stay.aclose)
            self._stays, self._expected = {}, dict(self._own)

    async def switch_to(self, labels: Collection[str]) -> None:
        """Give these settings their new value and all others today's, then wait. Raise RunRefused where a value is not
        in force.

        Where nothing is switched (from today's value to its control) it waits as after the last switch, so that an idle
        moment before a window slows no value more often than another.
        """
        self.check()
        changed = [label for label in self._settings if (label in labels) != (label in self._stays)]
        for label in changed:
            if label in self._stays:
                await self._put_old_back(label)
        for label in changed:
            if label in labels:
                await self._put_new(label)
        if changed:
            self.is_fresh = True
            self._settle_s = max(self._settings[label].settle_s for label in changed)
        await self._run.clock.sleep(self._settle_s + self.settling.extra_s)
        self.check()

    async def _put_old_back(self, label: str) -> None:
        await self._stays.pop(label).aclose()
        for action in self._settings[label].actions:
            self._expected[action.target] = self._own[action.target]

    async def _put_new(self, label: str) -> None:
        stay = self._stays[label] = AsyncExitStack()
        for action in self._settings[label].actions:
            await stay.enter_async_context(self._run.apply_change(action))
            self._expected[action.target] = read_setting(action.target)

    def check(self) -> None:
        """Raise RunRefused if another program changed a setting meanwhile: then nothing may be measured."""
        for path, expected in self._expected.items():
            if (now := read_setting(path)) != expected:
                raise RunRefused(
                    f"{path} is {now} where {expected} was in force: another program changes it; stop that program, "
                    "then run again"
                )


class ProofBench(HeldSettingBench):
    """One variant: the load while the settings `labels` have their new value."""

    def __init__(
        self, variant: str, labels: Collection[str], switch: SettingsSwitch, load: SwitchedLoad
    ) -> None:
        super().__init__(variant, switch.check, load)
        self.labels = frozenset(labels)
        self.switch = switch
        self._is_cold = True  # its first window tells of the start, not of a switch

    async def switch_to_variant(self) -> None:
        await self.switch.switch_to(self.labels)

    async def measure_block(self, seconds: float) -> Measured:
        is_cold, after_switch = self._is_cold, self.switch.is_fresh
        self.switch.is_fresh = self._is_cold = False
        measured = await super().measure_block(seconds)
        if not is_cold:
            self.switch.settling.add_window(measured, new=bool(self.labels), after_switch=after_switch)
        return measured


MAX_REPEATED = 0.5  # of the pairs: beyond it the run tells of the neighbours, not of the settings
SCREENING = "screening"


class Screening:
    """Measures the settings of one run at once. `measure` gives the record; `broken_off` says why there is none."""

    def __init__(
        self,
        run: Run,
        workload: Workload,
        settings: Sequence[ProvableSetting],
        bench: ProofBench,
        watch: InterferenceWatch | None,
    ) -> None:
        self._run = run
        self._workload = workload
        self._metric = workload.metrics[0]
        self._labels = tuple(setting.label for setting in settings)
        self._bench = bench
        self._switch: SettingsSwitch = bench.switch
        self._blocks = GuardedBlocks(run, watch)
        self._watch = watch

    async def measure(self, seconds: float) -> ScreeningRecord:
        """Measure as many replicates as fit into `seconds`. Raise RunRefused where too few fit or were undisturbed."""
        window_s = await self._window_seconds()
        replicates = count_replicates(len(self._labels), window_s, seconds)
        if not replicates:
            needed_s = 2 * MIN_REPLICATES * len(design_rows(len(self._labels))) * window_s
            raise RunRefused(
                f"screening {len(self._labels)} settings needs {needed_s:.0f} s, and has {seconds:.0f} s of the "
                "budget; raise --budget, or name fewer settings"
            )
        waiting = deque(
            pair for _ in range(replicates) for pair in draw_pairs(len(self._labels), self._run.rng)
        )
        total, repeated, pairs = len(waiting), 0, list[MeasuredPair]()
        while waiting:
            levels, row_first = waiting.popleft()
            left_s = (len(waiting) + 1) * 2 * window_s
            self._run.emit_progress(SCREENING, f"pair {len(pairs) + 1} of {total}", left_s)
            value = await self._measure_pair(len(pairs) + repeated, levels, row_first=row_first)
            if value is None:
                repeated += 1
                waiting.append((levels, row_first))
                if repeated > MAX_REPEATED * total or self._blocks.stop_reason:
                    raise RunRefused(
                        self._blocks.stop_reason
                        or f"{repeated} of {total} pairs were disturbed by other programs, or the load stood still in "
                        "them: too many; name fewer settings, or repeat it when the host is idle"
                    )
            else:
                pairs.append(MeasuredPair(levels, value, row_first))
        return ScreeningRecord(
            labels=self._labels,
            replicates=replicates,
            window_s=window_s,
            effects=tuple(estimate_effects(pairs, self._labels)),
            pairs=tuple(pairs),
        )

    async def _window_seconds(self) -> float:
        """Return the seconds of a window in which all settings are switched, after a warm-up."""
        await self._measure_window("warm-up", -1, ())
        began = self._run.clock.now()
        for labels in (self._labels, ()):
            await self._measure_window("warm-up", -1, labels)
        return (self._run.clock.now() - began) / 2

    async def _measure_pair(self, number: int, levels: Sequence[bool], *, row_first: bool) -> float | None:
        """Return ln(row / mirror), turned so that below 0 is slower; None where it was disturbed or gave nothing."""
        row = [label for label, level in zip(self._labels, levels, strict=False) if level]
        mirror = [label for label in self._labels if label not in row]
        values: dict[str, float | None] = {}
        for name in ("row", "mirror") if row_first else ("mirror", "row"):
            values[name] = await self._measure_window(name, number, row if name == "row" else mirror)
            if values[name] is None:
                return None
        if await self._blocks.pause_to_spare_others(SCREENING, number) is not None:
            return None
        here, there = values["row"] or 0.0, values["mirror"] or 0.0
        return self._metric.sign * math.log(here / there) if here > 0 and there > 0 else None

    async def _measure_window(self, name: str, number: int, labels: Sequence[str]) -> float | None:
        """Return the metric's value; None where the window was disturbed."""
        await self._switch.switch_to(labels)
        measured, disturbance = await self._blocks.measure(
            SCREENING,
            name,
            lambda: self._bench.measure_block(self._workload.block_s),
            group=number,
            phase="warmup" if number < 0 else "steady",
        )
        await self._bench.finish_requests()
        return None if disturbance is not None else measured.values.get(self._metric.name, 0.0)
