"""A read-only rule: looks at facts and speaks, or stays silent. Triage runs them all in about a second."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, AbsentKind
from hostdx.scenarios.contract.finding import Finding

T = TypeVar("T")


class FactUnreadable(Exception):
    """An error that says why a rule cannot be answered: what could not be read, and why (one line). A rule never
    guesses. `kind`: of what is absent, by which screens say what would show it.
    """

    def __init__(self, reason: str, kind: AbsentKind = "missing") -> None:
        super().__init__(reason)
        self.kind = kind


class RuleInapplicable(Exception):
    """An error that says why a rule does not apply to this host (one line), such as a SATA rule without a SATA disk."""


def require_readable(fact: T | Absent, subject: str = "") -> T:
    """Return `fact` where it was read. Raises FactUnreadable with the reason of its absence, after `subject`."""
    if isinstance(fact, Absent):
        raise FactUnreadable(f"{subject}: {fact.reason}" if subject else fact.reason, fact.kind)
    return fact


@dataclass(frozen=True)
class HostRule:
    """A read-only rule whose `check` yields findings; no finding means that the condition does not hold."""

    id: str  # dotted: "storage.pcie-link"
    subject: str  # the scenario or subject it belongs to
    title: str  # what is looked at, in a few words
    check: Callable[[Host], Iterable[Finding]]
    detail: tuple[str, ...] = ()  # what it reads, when it speaks and why, for who asks
    first_look: Callable[[Host], object] | None = None  # of a rule that looks twice: read before all others


def wait_until_after(look_s: float, seconds: float) -> None:
    """Sleep until `seconds` have passed since `look_s` (monotonic). Other rules usually took that long."""
    time.sleep(max(0.0, look_s + seconds - time.monotonic()))
