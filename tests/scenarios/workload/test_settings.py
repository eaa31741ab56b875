"""Settings that a variant names: in force while it runs and only then, and not measured where others change them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import AppliedChange, RunRefused
from hostdx.scenarios.experiment.schedule.host_settings import HostSettingsSwitch, read_setting
from hostdx.scenarios.experiment.schedule.switch import attribute_change
from tests.fakes.run import FakeRun


class Writes(FakeRun):
    """Carries attributes out for real, under a test's own directory."""

    def apply_change(self, action: Action) -> AbstractAsyncContextManager[AppliedChange]:
        return self._written(action)

    @asynccontextmanager
    async def _written(self, action: Action) -> AsyncIterator[AppliedChange]:
        old = Path(action.target).read_text()
        Path(action.target).write_text(f"{action.new}\n")
        yield AppliedChange("x", action, action.new or "")
        Path(action.target).write_text(old)


def test_each_variant_meets_its_own_and_the_others_the_hosts(tmp_path: Path) -> None:
    number, choice = tmp_path / "one", tmp_path / "other"
    number.write_text("1\n")
    choice.write_text("none [bfq]\n")
    a, b = (
        attribute_change(str(number), "1", "7", risk=""),
        attribute_change(str(choice), "bfq", "none", risk=""),
    )

    async def switch() -> list[tuple[str, str]]:
        read_values = []
        async with HostSettingsSwitch(Writes(), (a, b)) as stay:
            for changes in ((), (a,), (a, b), (b,), ()):
                await stay.switch_to(changes)
                read_values.append((read_setting(str(number)), read_setting(str(choice))))
        return read_values

    assert asyncio.run(switch()) == [("1", "bfq"), ("7", "bfq"), ("7", "none"), ("1", "none"), ("1", "bfq")]
    assert (number.read_text(), choice.read_text()) == ("1\n", "none [bfq]\n")


def test_what_somebody_else_changes_is_not_measured(tmp_path: Path) -> None:
    path = tmp_path / "one"
    path.write_text("1\n")

    async def change_and_check() -> None:
        async with HostSettingsSwitch(Writes(), (attribute_change(str(path), "1", "7", risk=""),)) as stay:
            await stay.switch_to(())
            path.write_text("3\n")
            stay.check()

    with pytest.raises(RunRefused, match="is 3 where 1 was in force"):
        asyncio.run(change_and_check())
