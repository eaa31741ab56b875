"""What a wait is for: places and calls as kernels tell them."""

from hostdx.probes.profile.syscall_names import system_call_names
from hostdx.probes.profile.wait_samples import WaitSample
from hostdx.scenarios.analysis.profile.waits import (
    PLACE,
    load_wait_kinds,
    longest_calls,
    summarise_waits,
    wait_kind_of,
    words_for_wait,
)
from tests.every_case import every_case


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
