"""Waits for the kernel's locks of two variants' runs as one table: what waited, and who had the lock before."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from msgspec.structs import asdict

from hostdx.probes.engine.command.supervised import KernelLockWaits
from hostdx.probes.profile.call_profile import KERNEL
from hostdx.probes.profile.symbols import FrameNames
from hostdx.scenarios.analysis.profile.call_paths import MIN_JUDGED_SHARE, PLUMBING, compare_seconds
from hostdx.scenarios.analysis.profile.results import LockTable, LockWaits

MAX_ROWS = 15
MIN_LOCK_S = 1e-4  # a run: less is not shown
SHOWN = 4  # functions of a path
# include/trace/events/lock.h: what the kernel says of the lock, the first that fits.
KINDS = (
    (32, "mutex"),
    (16, "per-CPU rwsem"),
    (8, "rt_mutex"),
    (1 | 4, "rwlock (write)"),
    (1 | 2, "rwlock (read)"),
    (1, "spinlock"),
    (4, "rwsem (write)"),
    (2, "rwsem (read)"),
)
# The locks' own functions: the place is who wanted the lock.
_OWN = re.compile(
    r"\w*(spin_lock|rwsem_|mutex_lock|raw_read_|raw_write_|percpu_down)|(__)?(down|rt_|ww_)|pv_|osq_lock|queued_"
)


Key: TypeAlias = tuple[str, str]  # the kind of lock, and the function that wanted it


class LockWaitSample(NamedTuple):
    seconds: float
    path: tuple[str, ...]
    holder: tuple[str, ...]


def lock_kind_words(flags: int) -> str:
    return next((words for bits, words in KINDS if flags & bits == bits), "semaphore")


def waits_by_lock(locks: KernelLockWaits, symbols: FrameNames) -> dict[Key, list[LockWaitSample]]:
    """Of one run."""
    rows: dict[Key, list[LockWaitSample]] = {}
    for kind, path, holder, seconds, _ in locks.ways:
        names, others = (_caller_names(addresses, symbols) for addresses in (path, holder))
        rows.setdefault((lock_kind_words(kind), names[0] if names else ""), []).append(
            LockWaitSample(seconds, names, others)
        )
    return rows


def _caller_names(path: Sequence[int], symbols: FrameNames) -> tuple[str, ...]:
    """From who wanted the lock to the system call."""
    names = symbols.frame_names([(KERNEL, address) for address in path], ())
    first = next((n for n, name in enumerate(names) if not _OWN.match(name)), len(names))
    return (*names[first : first + 1], *(name for name in names[first + 1 :] if name not in PLUMBING))


def most_waited_path(waits: Sequence[LockWaitSample], holder: bool) -> tuple[str, ...]:
    """The path that most of it came by."""
    seconds: dict[tuple[str, ...], float] = {}
    for wait in waits:
        if path := (wait.holder if holder else wait.path)[:SHOWN]:
            seconds[path] = seconds.get(path, 0.0) + wait.seconds
    return max(seconds, key=lambda path: seconds[path], default=())


Runs: TypeAlias = Sequence[Mapping[Key, Sequence[LockWaitSample]]]


def lock_table(
    baseline: str, variant: str, groups: Sequence[tuple[Runs, Runs]], lost: int
) -> LockTable | None:
    """`groups`: of each the runs of either side; None with fewer than 2."""
    if len(groups) < 2:
        return None
    waits: dict[Key, list[LockWaitSample]] = {}
    for sides in groups:
        for run in (*sides[0], *sides[1]):
            for key, some in run.items():
                waits.setdefault(key, []).extend(some)
    everything = math.fsum(wait.seconds for some in waits.values() for wait in some)
    judged = {
        key
        for key, some in waits.items()
        if math.fsum(w.seconds for w in some) >= MIN_JUDGED_SHARE * everything
    }
    rows = []
    for key, some in waits.items():
        baseline_s, variant_s = (
            [math.fsum(_waited_seconds_at(run, key) for run in sides[n]) / len(sides[n]) for sides in groups]
            for n in (0, 1)
        )
        fields = asdict(compare_seconds(baseline_s, variant_s, len(judged)))
        fields["differs"] = fields["differs"] and key in judged
        fields |= {"path": most_waited_path(some, False), "holder": most_waited_path(some, True)}
        rows.append(LockWaits(**fields, kind=key[0], place=key[1]))
    rows.sort(key=lambda row: -max(row.baseline_s, row.variant_s))
    shown = tuple(row for row in rows if max(row.baseline_s, row.variant_s) >= MIN_LOCK_S)[:MAX_ROWS]
    return LockTable(baseline=baseline, variant=variant, groups=len(groups), lost=lost, locks=shown)


def _waited_seconds_at(run: Mapping[Key, Sequence[LockWaitSample]], key: Key) -> float:
    return math.fsum(wait.seconds for wait in run.get(key, ()))
