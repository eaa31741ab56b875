"""A host setting that is switched between variants: every stay in another value is journalled and left again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Protocol

from hostdx.probes.engine.measured import Measured
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import Run, RunRefused


def attribute_change(path: str, old: str, value: str, *, risk: str) -> Action:
    """Return the change of one sysfs or procfs attribute from the host's own value, which needs consent."""
    title = f"{path}: {old} to {value}"
    return Action(kind="attribute", title=title, target=path, old=old, new=value, consent=True, risk=risk)


def scheduler_change(leaf: str, current: str, scheduler: str) -> Action:
    """Return the change of a disk's I/O scheduler. Settings that a switch resets are saved and restored with it."""
    queue = f"/sys/block/{leaf}/queue"
    return Action(
        kind="attribute",
        title=f"I/O scheduler of {leaf}",
        target=f"{queue}/scheduler",
        old=current,
        new=scheduler,
        # nr_requests first: it sets async_depth along (mq-deadline, measured).
        side_paths=(f"{queue}/nr_requests", f"{queue}/iosched/*"),
        consent=True,
        risk=f"a switch waits until {leaf} has nothing in flight (some 30 ms); on a stuck device it hangs",
        rights="root",
    )


class SettingSwitch:
    """Knows which value is active, and restores the host's own. `switch_back` must be called however the run ends.

    own: the value before the run; keeping it needs no change.
    change: the change that leads from `own` to a value.
    active: reads the value that is active now.
    """

    def __init__(
        self, run: Run, own: str, change: Callable[[str], Action], active: Callable[[], str]
    ) -> None:
        self.run = run
        self.own = own
        self.value = own
        self._change = change
        self._active = active
        self._stay = AsyncExitStack()

    async def __aenter__(self) -> SettingSwitch:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.switch_back()

    async def switch_to(self, value: str) -> None:
        """Make the value active and check that it is. Raise RunRefused where it is not."""
        if value != self.value:
            await self.switch_back()
            self.check()
            if value != self.own:
                self.value = value
                await self._stay.enter_async_context(self.run.apply_change(self._change(value)))
        self.check()

    async def switch_back(self) -> None:
        stay, self._stay, self.value = self._stay, AsyncExitStack(), self.own
        await stay.aclose()

    def check(self) -> None:
        """Raise RunRefused if somebody else changed the value meanwhile: then nothing may be measured."""
        now = self._active()
        if now != self.value:
            raise RunRefused(
                f"the setting is {now} where {self.value} was set: another program on this host changes it"
            )


class SwitchedLoad(Protocol):
    """The load that a `SwitchedVariantBench` measures.

    A bench such as `hostdx.probes.engine.command.command.CommandBench`.
    """

    async def measure_block(self, seconds: float) -> Measured: ...

    async def finish_requests(self) -> None: ...


class HeldSettingBench:
    """A variant under a load that is measured while a switch holds its settings. A subclass makes it active.

    `check` is the switch's: it raises RunRefused if another program changed a setting meanwhile.
    """

    def __init__(self, variant: str, check: Callable[[], None], load: SwitchedLoad) -> None:
        self.variant = variant
        self.load = load
        self._check = check

    async def measure_block(self, seconds: float) -> Measured:
        measured = await self.load.measure_block(seconds)
        self._check()
        return measured

    async def finish_requests(self) -> None:
        await self.load.finish_requests()


class SwitchedVariantBench(HeldSettingBench):
    """One value of the setting under a load. `value` differs from `variant` where one value is measured twice."""

    def __init__(self, variant: str, switch: SettingSwitch, load: SwitchedLoad, value: str = "") -> None:
        super().__init__(variant, switch.check, load)
        self.value = value or variant
        self.switch = switch

    async def switch_to_variant(self) -> None:
        await self.switch.switch_to(self.value)
