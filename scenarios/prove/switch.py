"""Which of the settings have their new value now: only those that differ are switched, each journalled on its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack

from scenarios.contract.model import Run, RunRefused
from scenarios.experiment.schedule.host_settings import read_setting
from scenarios.experiment.schedule.switch import SwitchedBench, SwitchedLoad
from scenarios.prove.kinds import ProvableSetting


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

    async def __aenter__(self) -> SettingsSwitch:
        return self

    async def __aexit__(self, *_: object) -> None:
        async with AsyncExitStack() as stack:  # each is put back, even where another one fails
            for stay in self._stays.values():
                stack.push_async_callback(stay.aclose)
            self._stays, self._expected = {}, dict(self._own)

    async def switch_to(self, labels: Collection[str]) -> None:
        """Give these settings their new value and all others today's, then wait until the switch has settled. Raise
        RunRefused where a value is not in force.
        """
        self.check()
        changed = [label for label in self._settings if (label in labels) != (label in self._stays)]
        for label in changed:
            if label in self._stays:
                await self._put_back(label)
        for label in changed:
            if label in labels:
                await self._put_new(label)
        if settle_s := max((self._settings[label].settle_s for label in changed), default=0.0):
            await self._run.clock.sleep(settle_s)
        self.check()

    async def _put_back(self, label: str) -> None:
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


class ProofBench(SwitchedBench):
    """One variant: the load while the settings `labels` have their new value."""

    def __init__(
        self, variant: str, labels: Collection[str], switch: SettingsSwitch, load: SwitchedLoad
    ) -> None:
        super().__init__(variant, switch, load)
        self.labels = frozenset(labels)
        self.switch = switch

    async def make_active(self) -> None:
        await self.switch.switch_to(self.labels)
