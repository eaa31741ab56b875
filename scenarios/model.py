"""A scenario: a question, an experiment, a verdict. What it needs from above comes in as the protocol `Run`."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Protocol

import msgspec

from probes.action import Action
from probes.host import Host
from probes.types import Json
from scenarios.events import ActionState, AnyEvent
from scenarios.plan import Option, Plan


class Refused(Exception):
    """The run cannot be done here (exit status 3). The text is one line: what, where, why, what next."""


class Usage(Exception):
    """The request itself is wrong (exit status 2). The text is one line."""


class Clock(Protocol):
    """Monotonic seconds. Tests bring one that does not wait."""

    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class Applied(msgspec.Struct, frozen=True):
    """An action as it was carried out: `value` is the path, name or text that it made or wrote.

    `endings` is filled on the way out: how its undoing ended (reverted, kept, failed), and why.
    """

    id: str
    action: Action
    value: str
    endings: list[tuple[ActionState, str]] = []


class Options:
    """The chosen options with their declared defaults filled in; typed access."""

    def __init__(self, values: Mapping[str, Json], declared: Sequence[Option] = ()) -> None:
        self.values: dict[str, Json] = {o.name: o.default for o in declared} | {
            k: v for k, v in values.items() if v is not None and v != []
        }

    def strings(self, name: str) -> tuple[str, ...]:
        value = self.values.get(name)
        if value is None:
            return ()
        return tuple(str(v) for v in value) if isinstance(value, list) else (str(value),)

    def string(self, name: str, default: str = "") -> str:
        value = self.values.get(name)
        return default if value is None else str(value)

    def number(self, name: str, default: float = 0.0) -> float:
        value = self.values.get(name)
        return default if value is None or isinstance(value, list | dict) else float(value)

    def integer(self, name: str, default: int = 0) -> int:
        value = self.values.get(name)
        return default if value is None or isinstance(value, list | dict) else int(value)

    def flag(self, name: str) -> bool:
        return bool(self.values.get(name))


class Run(Protocol):
    """What a scenario is given. `change` asks for consent, writes the journal, applies, and reverts on the way out.

    A stop (Ctrl-C, SIGTERM) cancels the scenario's task: it need not poll. Undoing is shielded from a second one.
    """

    host: Host
    clock: Clock
    options: Options
    plan: Plan
    seed: int
    rng: random.Random

    def time(self) -> float:
        """Seconds since the run began: the `t` of the next event."""
        ...

    def emit(self, event: AnyEvent) -> None: ...

    def change(self, action: Action) -> AbstractAsyncContextManager[Applied]: ...


class Scenario(Protocol):
    """Declared once; the same text feeds the screen, the plan, the help and the report."""

    id: ClassVar[str]
    title: ClassVar[str]
    question: ClassVar[str]
    why: ClassVar[str]
    answers: ClassVar[str]
    takes_s: ClassVar[float]
    needs: ClassVar[str]  # rights and tools, in words; empty: nothing
    order: ClassVar[int]  # place in the list offered
    options: ClassVar[tuple[Option, ...]]

    def blocked(self, host: Host) -> str:
        """Why it cannot run here, in one line; empty where it can. Quick and read-only.

        A scenario with a true `reads_anyway` is run all the same: it emits what it can read, then raises Refused.
        """
        ...

    def plan(self, host: Host, options: Options) -> Plan:
        """What it would do; changes nothing. Raises Usage for a wrong request."""
        ...

    async def run(self, run: Run) -> None:
        """Emits events. Raises Refused where it finds out late that it cannot be done."""
        ...


COMMON_OPTIONS: tuple[Option, ...] = (
    Option(
        name="budget",
        kind="number",
        help="wall seconds of measuring, without the preparation",
        least=1.0,
        most=86400.0,
    ),
    # Below half a per cent no host decides within a day; a half and more is no margin but a factor.
    Option(
        name="margin",
        kind="number",
        default=0.05,
        help="smallest effect that matters, as a fraction",
        least=0.005,
        most=0.5,
    ),
    Option(name="seed", kind="integer", help="seed of the random order (recorded; drawn if not given)"),
)
