"""The table of locks: a planted difference is told with its interval, an equal one is not."""

from random import Random

import pytest

from hostdx.probes.engine.command.supervised import KernelLockWaits
from hostdx.probes.profile.symbols import FrameNames
from hostdx.scenarios.analysis.profile import results
from hostdx.scenarios.analysis.profile.locks import LockWaitSample, lock_kind_words, lock_table, waits_by_lock
from tests.every_case import every_case

DIRECTORY, LOG = ("rwsem (write)", "path_openat"), ("spinlock", "xlog_commit")


def make_table(more: float, groups: int = 6) -> results.LockTable:
    rng = Random(1)

    def run(seconds: float) -> dict[tuple[str, str], list[LockWaitSample]]:
        noise = rng.gauss(1, 0.05)
        return {
            DIRECTORY: [LockWaitSample(seconds * noise, ("path_openat",), ("do_unlinkat",))],
            LOG: [LockWaitSample(0.2 * noise, ("xlog_commit",), ())],
        }

    locks = lock_table("A", "B", [([run(0.1)] * 2, [run(0.1 + more)] * 2) for _ in range(groups)], 3)
    assert locks is not None
    return locks


def test_a_planted_wait_differs_and_the_longest_comes_first() -> None:
    locks = make_table(0.4)
    first, second = locks.locks
    assert (first.place, first.path, first.holder) == ("path_openat", ("path_openat",), ("do_unlinkat",))
    assert first.differs and first.difference_s == pytest.approx(0.4, abs=0.05)
    assert second.place == "xlog_commit" and not second.differs and second.holder == ()
    assert not any(lock.differs for lock in make_table(0.0).locks)


def test_one_group_tells_nothing() -> None:
    assert lock_table("A", "B", [([{}], [{}])], 0) is None


@every_case(
    ("flags", "kind"),
    [
        (32, "mutex"),
        (33, "mutex"),
        (1, "spinlock"),
        (5, "rwlock (write)"),
        (4, "rwsem (write)"),
        (0, "semaphore"),
    ],
)
def test_a_locks_kind_is_what_the_kernel_says(flags: int, kind: str) -> None:
    assert lock_kind_words(flags) == kind


def test_the_place_is_who_wanted_the_lock(tmp_path: object) -> None:
    class LockSymbols(FrameNames):
        def frame_names(self, stack: object, files: object) -> tuple[str, ...]:
            assert isinstance(stack, list)
            return tuple(
                {1: "rwsem_down_write_slowpath", 2: "down_write", 3: "path_openat"}[at] for _, at in stack
            )

    waits = waits_by_lock(KernelLockWaits(lost=0, ways=((4, (1, 2, 3), (), 0.5, 3.0),)), LockSymbols())
    assert list(waits) == [("rwsem (write)", "path_openat")]
    assert waits["rwsem (write)", "path_openat"][0].path == ("path_openat",)
