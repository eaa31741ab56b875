"""What a wait is for, by the place in the kernel and the call: `waits.toml`, and what stands in a group's words."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import msgspec

from hostdx.probes.profile.syscall_names import syscall_name, system_call_names
from hostdx.probes.profile.wait_samples import WaitSample
from hostdx.scenarios.contract.knowledge_file import read_toml_tables

FILE = Path(__file__).with_name("waits.toml")
CALLS = 2  # of a wait that are named
UNSEEN = "unseen"
PLACE = "at "  # before a place that the file does not know


class WaitKindEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Empty `calls` and `states`: any."""

    id: str
    words: str
    places: tuple[str, ...]
    calls: tuple[str, ...] = ()
    states: tuple[str, ...] = ()

    def fits_wait(self, state: str, call: str, place: str) -> bool:
        return (
            any(fnmatchcase(place, pattern) for pattern in self.places)
            and (not self.calls or call in self.calls)
            and (not self.states or state in self.states)
        )


class WaitTotal(msgspec.Struct, frozen=True):
    """Of one run: `cause_id` is a kind's id, or PLACE and the kernel's own name. `hard`: in state D."""

    cause_id: str
    hard: bool
    calls: dict[str, float]  # thread seconds
    thread_s: float
    alone_s: float


@cache
def load_wait_kinds() -> tuple[WaitKindEntry, ...]:
    """Raises ValueError that names the file where it is wrong."""
    return tuple(msgspec.convert(read_toml_tables(FILE).get("wait", []), list[WaitKindEntry]))


@cache
def _wait_words_by_kind() -> dict[str, str]:
    return {kind.id: kind.words for kind in load_wait_kinds()}


def words_for_wait(cause_id: str) -> str:
    """`a directory lock (rwsem)`; `do_foo() of the kernel` for one that is not known; `something unknown`."""
    if cause_id.startswith(PLACE):
        name = cause_id.removeprefix(PLACE)
        return f"{name}() of the kernel" if name else "something that the kernel does not name"
    if cause_id == UNSEEN:
        return "something unseen (a CPU, or waits too short to be sampled)"
    return _wait_words_by_kind().get(cause_id, cause_id)


def wait_kind_of(state: str, call: str, place: str) -> str:
    return next((k.id for k in load_wait_kinds() if k.fits_wait(state, call, place)), f"{PLACE}{place}")


def summarise_waits(rows: Iterable[WaitSample]) -> tuple[WaitTotal, ...]:
    """One run's samples by what was waited for, the longest first."""
    call_names = system_call_names()
    waits: dict[tuple[str, bool], WaitTotal] = {}
    for row in rows:
        call = syscall_name(row.call, call_names)
        key = (wait_kind_of(row.state, call, row.place), row.state == "D")
        wait = waits.get(key) or WaitTotal(*key, {}, 0.0, 0.0)
        wait.calls[call] = wait.calls.get(call, 0.0) + row.thread_s
        waits[key] = WaitTotal(*key, wait.calls, wait.thread_s + row.thread_s, wait.alone_s + row.alone_s)
    return tuple(sorted(waits.values(), key=lambda wait: -wait.thread_s))


def longest_calls(calls: dict[str, float]) -> tuple[str, ...]:
    """The calls that wait longest; one with less than a tenth is not named."""
    total_s = sum(calls.values())
    longest = sorted((name for name in calls if name), key=lambda name: -calls[name])
    return tuple(name for name in longest[:CALLS] if calls[name] >= 0.1 * total_s)
