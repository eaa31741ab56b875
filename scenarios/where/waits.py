"""What a wait is for, by the place in the kernel and the call: `waits.toml`, and what stands in a group's words."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import msgspec

from probes.bench.profile.syscall_names import call_name, names
from probes.bench.profile.wait_samples import Wait
from scenarios.knowledge.load import tables

FILE = Path(__file__).with_name("waits.toml")
CHILD = "child"
CALLS = 2  # of a wait that are named
UNSEEN = "unseen"
PLACE = "at "  # before a place that the file does not know


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Empty `calls` and `states`: any."""

    id: str
    words: str
    places: tuple[str, ...]
    calls: tuple[str, ...] = ()
    states: tuple[str, ...] = ()

    def fits(self, state: str, call: str, place: str) -> bool:
        return (
            any(fnmatchcase(place, pattern) for pattern in self.places)
            and (not self.calls or call in self.calls)
            and (not self.states or state in self.states)
        )


class Waited(msgspec.Struct, frozen=True):
    """Of one run: `what` is a kind's id, or PLACE and the kernel's own name. `hard`: in state D."""

    what: str
    hard: bool
    calls: dict[str, float]  # thread seconds
    thread_s: float
    alone_s: float


@cache
def kinds() -> tuple[Kind, ...]:
    """Raises ValueError that names the file where it is wrong."""
    return tuple(msgspec.convert(tables(FILE).get("wait", []), list[Kind]))


@cache
def _words() -> dict[str, str]:
    return {kind.id: kind.words for kind in kinds()}


def words(what: str) -> str:
    """`a directory lock (rwsem)`; `do_foo() of the kernel` for one that is not known; `something unknown`."""
    if what.startswith(PLACE):
        name = what.removeprefix(PLACE)
        return f"{name}() of the kernel" if name else "something that the kernel does not name"
    if what == UNSEEN:
        return "something unseen (a CPU, or waits too short to be sampled)"
    return _words().get(what, what)


def kind_of(state: str, call: str, place: str) -> str:
    return next((kind.id for kind in kinds() if kind.fits(state, call, place)), f"{PLACE}{place}")


def waited(rows: Iterable[Wait]) -> tuple[Waited, ...]:
    """One run's samples by what was waited for, the longest first."""
    known = names()
    found: dict[tuple[str, bool], Waited] = {}
    for row in rows:
        call = call_name(row.call, known)
        key = (kind_of(row.state, call, row.place), row.state == "D")
        one = found.get(key) or Waited(*key, {}, 0.0, 0.0)
        one.calls[call] = one.calls.get(call, 0.0) + row.thread_s
        found[key] = Waited(*key, one.calls, one.thread_s + row.thread_s, one.alone_s + row.alone_s)
    return tuple(sorted(found.values(), key=lambda one: -one.thread_s))


def leading(calls: dict[str, float]) -> tuple[str, ...]:
    """The calls that wait longest; one with less than a tenth is not named."""
    whole = sum(calls.values())
    longest = sorted((name for name in calls if name), key=lambda name: -calls[name])
    return tuple(name for name in longest[:CALLS] if calls[name] >= 0.1 * whole)
