"""A run that collects its events and carries out actions only as far as a test needs them."""

import asyncio
import random
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeVar

from hostdx.probes.files.private_directory import Inode
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Json
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.events import AnyEvent
from hostdx.scenarios.contract.model import AppliedChange, Clock, OptionMap, Run, RunRefused, Scenario
from hostdx.scenarios.contract.plan import Option, Plan
from tests.fakes.clock import FakeClock
from tests.fakes.held import inode_at

E = TypeVar("E")

EMPTY_PLAN = Plan(scenario="fake", title="a fake", question="does it work?")


class FakeRun(Run):
    """Implements `hostdx.scenarios.contract.model.Run`.

    Actions are recorded in `applied` and `reverted`, in order. Directory resources are really made (under the
    action's parent, which must exist) and removed again; everything else happens in the record only.
    `refuse` names the action titles that are refused (for want of consent).
    """

    def __init__(
        self,
        *,
        seed: int = 1,
        host: Host | None = None,
        clock: Clock | None = None,
        options: Mapping[str, Json] | None = None,
        declared: tuple[Option, ...] = (),
        plan: Plan = EMPTY_PLAN,
    ) -> None:
        self.host = host if host is not None else Host("/nonexistent-captured-tree")
        self.clock: Clock = clock if clock is not None else FakeClock()
        self.options = OptionMap(options or {}, declared)
        self.plan = plan
        self.seed = seed
        self.rng = random.Random(seed)
        self.events: list[AnyEvent] = []
        self.applied: list[Action] = []
        self.reverted: list[Action] = []
        self._began = self.clock.now()

    def elapsed_s(self) -> float:
        return self.clock.now() - self._began

    def emit(self, event: AnyEvent) -> None:
        self.events.append(event)

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    def apply_change(self, action: Action) -> AbstractAsyncContextManager[AppliedChange]:
        return self._change(action)

    @asynccontextmanager
    async def _change(self, action: Action) -> AsyncIterator[AppliedChange]:
        value = action.new if action.new is not None else action.target
        folder: Path | None = None
        inode: Inode | None = None
        if action.kind == "resource" and action.resource == "directory":
            folder = Path(tempfile.mkdtemp(prefix=".hostdx-", dir=str(Path(action.target).parent)))
            value = str(folder)
            inode = inode_at(folder)
        self.applied.append(action)
        try:
            yield AppliedChange(id=f"a{len(self.applied)}", action=action, value=value, inode=inode)
        finally:
            if folder is not None:
                await asyncio.to_thread(shutil.rmtree, folder, True)
            self.reverted.append(action)


async def conduct_fake(scenario: Scenario, run: FakeRun) -> None:
    """As `app` does it: prepared once; a refused plan is not run."""
    prepared = scenario.prepare(run.host, run.options)
    run.plan = prepared.plan
    if run.plan.refusal:
        raise RunRefused(run.plan.refusal)
    await prepared.run(run)
