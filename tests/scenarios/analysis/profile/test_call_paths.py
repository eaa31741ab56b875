"""Call paths, locks and waits."""

import random
from random import Random
from xml.etree import ElementTree as ET

import msgspec
import pytest

from hostdx.app.features.profile.flame import (
    changed_function_lines,
    difference_share,
    difference_svg,
    stack_lines,
)
from hostdx.probes.engine.command.supervised import CallChains, KernelLockWaits
from hostdx.probes.profile.call_profile import KERNEL, OFF, ON, RUNNABLE
from hostdx.probes.profile.symbols import FrameNames
from hostdx.probes.profile.syscall_names import system_call_names
from hostdx.probes.profile.wait_samples import WaitSample
from hostdx.scenarios.analysis.profile import results
from hostdx.scenarios.analysis.profile.call_paths import (
    NOT_IN_KERNEL,
    ROOTS,
    GroupPaths,
    Path,
    Paths,
    RunCalls,
    _scale_paths,
    compare_call_paths,
    seconds_by_path,
)
from hostdx.scenarios.analysis.profile.locks import LockWaitSample, lock_kind_words, lock_table, waits_by_lock
from hostdx.scenarios.analysis.profile.results import CallNode, PathTree
from hostdx.scenarios.analysis.profile.waits import (
    PLACE,
    load_wait_kinds,
    longest_calls,
    summarise_waits,
    wait_kind_of,
    words_for_wait,
)
from tests.every_case import every_case


class NumberedSymbols(FrameNames):
    def frame_names(self, stack: object, files: object) -> tuple[str, ...]:
        return tuple(NAMES[place] for _, place in stack)  # type: ignore[attr-defined]


NAMES = ["main", "work", "do_syscall_64", "fsync", "do_wait"]


def make_calls(*stacks: tuple[str, tuple[int, ...], float], kernel: bool = True) -> CallChains:
    return CallChains(
        kernel=kernel,
        waits=True,
        lost=0,
        dropped_s=0.0,
        files=("/a",),
        stacks=tuple((kind, tuple((KERNEL, n) for n in places), s) for kind, places, s in stacks),
    )


def test_chains_divide_what_is_exact_and_leave_the_plumbing_and_the_waits_for_children_out() -> None:
    of_run = make_calls((ON, (0, 1), 0.9), (OFF, (0, 2, 3), 1.0), (RUNNABLE, (0, 1), 1.0), (OFF, (0, 4), 5.0))
    seconds = seconds_by_path(RunCalls(of_run, 2.0, 1.5, 9.0), NumberedSymbols())
    assert seconds == {
        (ROOTS[ON], "main", "work"): pytest.approx(2.0),
        (ROOTS[OFF], "main", "fsync"): pytest.approx(2.0),
        (ROOTS[RUNNABLE], "main", "work"): pytest.approx(2.0),
    }


def test_without_the_kernels_part_its_time_is_one_box() -> None:
    seconds = seconds_by_path(
        RunCalls(make_calls((ON, (0, 1), 1.0), kernel=False), 2.0, 1.5, None), NumberedSymbols()
    )
    assert seconds == {(ROOTS[ON], "main", "work"): pytest.approx(1.5), (ROOTS[ON], NOT_IN_KERNEL): 0.5}


def tree_of(groups: list[GroupPaths]) -> PathTree:
    tree = compare_call_paths("A", "B", groups, [make_calls()])
    assert tree is not None
    return tree


def plant_tree(difference: float, seed: int, groups: int = 8) -> PathTree:
    rng = random.Random(seed)

    def run(more: float) -> Paths:
        seconds: dict[Path, float] = {("on", "main"): 0.1}
        for n in range(20):
            seconds["on", "main", f"f{n}"] = rng.gauss(1.0, 0.05)
        seconds["on", "main", "f3"] += more
        return seconds

    return tree_of([GroupPaths([run(0.0)], [run(difference)]) for _ in range(groups)])


def test_of_two_equal_sides_no_function_is_called_different_in_most_runs() -> None:
    called = sum(any(node.differs for node in plant_tree(0.0, seed).nodes) for seed in range(40))
    assert called <= 6, "5 % of 40 runs are 2"


def test_folded_stacks_hold_all_of_each_side() -> None:
    tree = plant_tree(0.5, 2)
    sums = {"A": 0, "B": 0}
    for line in stack_lines(tree):
        stack, _, count = line.rpartition(" ")
        sums[stack.split(";")[0]] += int(count)
    assert sums["A"] / 1e6 == pytest.approx(tree.nodes[0].baseline_s, rel=1e-3)
    assert sums["B"] / 1e6 == pytest.approx(tree.nodes[0].variant_s, rel=1e-3)


def test_hostile_names_and_callers_are_drawn_and_no_markup() -> None:
    bad = CallNode(
        name="<script>;\x1b[2J&",
        up=5,
        baseline_s=1.0,
        variant_s=2.0,
        difference_s=1.0,
        ci95_s=(0.5, 1.5),
        differs=True,
    )
    tree = PathTree(baseline="A", variant="B", groups=2, kernel=True, waits=False, lost=3, nodes=(bad, bad))
    root = ET.fromstring(difference_svg(tree))
    assert len(root.findall(".//{*}rect")) == 2 and not root.findall(".//{*}script")
    assert all(line.isprintable() for line in (*changed_function_lines(tree), *stack_lines(tree)))
    assert (
        difference_share(bad) == pytest.approx(0.5)
        and difference_share(msgspec.structs.replace(bad, differs=False)) == 0.0
    )


def test_one_group_is_no_difference() -> None:
    assert compare_call_paths("A", "B", [GroupPaths([{("on",): 1.0}], [{("on",): 2.0}])], []) is None


@every_case(("total_s", "expected_s"), [(2.0, 2.0), (0.5, 0.5), (3.5, 1.0), (0.2, 1.0), (None, 1.0)])
def test_waits_are_scaled_to_what_is_known_and_not_blown_up(total_s: float | None, expected_s: float) -> None:
    assert _scale_paths({("waiting",): 1.0}, total_s) == {("waiting",): expected_s}


def test_a_function_of_less_than_a_hundredth_is_not_judged() -> None:
    def make_side(large: float, tiny: float) -> list[dict[tuple[str, ...], float]]:
        return [{("on a CPU", "large"): large, ("on a CPU", "tiny"): tiny}]

    tree = tree_of([GroupPaths(make_side(10.0, 0.03), make_side(12.0 + n / 100, 0.09)) for n in range(6)])
    assert {node.name: node.differs for node in tree.nodes if node.name in ("large", "tiny")} == {
        "large": True,
        "tiny": False,
    }


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


@every_case(
    ("state", "call", "place", "kind"),
    [
        ("D", "unlink", "do_unlinkat", "directory-lock"),  # Linux 6.18
        ("D", "openat", "rwsem_down_write_slowpath", "directory-lock"),  # 5.10
        ("D", "write", "rwsem_down_write_slowpath", "file-lock"),
        ("D", "no call", "rwsem_down_read_slowpath", "memory-map-lock"),
        ("D", "unlink", "__rt_mutex_slowlock_locked.constprop.0", "directory-lock"),  # 6.1-rt
        ("D", "write", "__rt_mutex_slowlock_locked.constprop.0", "file-lock"),
        ("D", "fsync", "jbd2_log_wait_commit", "journal"),
        ("D", "fsync", "folio_wait_bit", "disk-sync"),
        ("D", "fsync", "", "disk-sync"),
        ("S", "fsync", "strange_place", PLACE + "strange_place"),  # not of the disk: it can be interrupted
        ("D", "read", "folio_wait_bit_common", "disk"),
        ("D", "write", "balance_dirty_pages", "dirty-limit"),
        ("S", "futex", "futex_wait_queue", "futex"),
        ("S", "clock_nanosleep", "hrtimer_nanosleep", "sleep"),
        ("S", "wait4", "do_wait", "child"),
        ("S", "read", "pipe_read", "pipe"),
        ("D", "read", "strange_place", PLACE + "strange_place"),
        ("S", "read", "", PLACE),
    ],
)
def test_each_has_its_kind(state: str, call: str, place: str, kind: str) -> None:
    assert wait_kind_of(state, call, place) == kind
    assert words_for_wait(kind)


def test_all_kinds_of_one_name_have_the_same_words() -> None:
    by_id: dict[str, set[str]] = {}
    for kind in load_wait_kinds():
        by_id.setdefault(kind.id, set()).add(kind.words)
    assert len(by_id) >= 15 and all(len(words) == 1 for words in by_id.values())


def test_samples_of_one_kind_go_together_with_their_calls() -> None:
    number = {name: n for n, name in system_call_names().items()}
    if not number:
        number = {"unlink": 87, "openat": 257, "fsync": 74}
    rows = [
        WaitSample("D", number["fsync"], "jbd2_log_wait_commit", 3.0, 0.0),
        WaitSample("D", number["fsync"], "jbd2_complete_transaction", 1.0, 0.0),
        WaitSample("S", number["fsync"], "jbd2_log_wait_commit", 1.0, 0.5),
    ]
    first, second = summarise_waits(rows)
    assert (first.cause_id, first.hard, first.thread_s) == ("journal", True, 4.0)
    assert (second.hard, second.alone_s) == (False, 0.5)
    assert longest_calls({"fsync": 8.0, "openat": 1.5, "write": 0.1, "": 3.0}) == ("fsync", "openat")
    assert longest_calls({"fsync": 9.5, "write": 0.5}) == ("fsync",)
