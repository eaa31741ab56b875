"""What tasks told at their end: messages as the kernel lays them out, whose they are, and when some are missing."""

import struct

from hostdx.probes.engine.command.taskstats import (
    EndedTask,
    TaskExitListener,
    ended_tasks,
    task_time_if_complete,
    tasks_below,
)
from tests.every_case import every_case

FAMILY = 31


def encode_message(task: EndedTask, version: int = 16, family: int = FAMILY) -> bytes:
    """One datagram as Linux 6.18 sends it: aggregate of one task, in it the number and the struct of 560 bytes."""
    stats = bytearray(560)
    struct.pack_into("=H", stats, 0, version)
    struct.pack_into(
        "=8Q", stats, 16, 7, task.waited_ns, 3, task.blocked_ns, 2, task.swapping_ns, 5, task.ran_ns
    )
    struct.pack_into("=4I", stats, 120, 0, 0, task.task, task.parent)
    struct.pack_into("=4Q", stats, 312, 9, task.reclaiming_ns, 9, task.thrashing_ns)
    inner = struct.pack("=HHI", 8, 1, task.task) + struct.pack("=HH", 4 + len(stats), 3) + stats
    body = struct.pack("=BBHHH", 2, 1, 0, 4 + len(inner), 4) + inner
    return struct.pack("=IHHII", 16 + len(body), family, 0, 0, 0) + body


DD = EndedTask(3577, 3575, 3_210_701, 13_733_511, 40_000_000, 5_000_000, 6_000_000, 7_000_000)


def test_a_task_that_ended() -> None:
    assert list(ended_tasks(encode_message(DD), FAMILY)) == [DD]
    assert list(ended_tasks(encode_message(DD) + encode_message(DD), FAMILY)) == [DD, DD]
    assert DD.refetching_ns == 7_000_000


@every_case(
    "bad",
    [
        b"",
        b"\0" * 64,
        encode_message(DD)[:200],
        encode_message(DD, version=15),
        encode_message(DD, version=8),
        encode_message(DD, family=2),
    ],
)
def test_what_is_no_such_message_or_of_another_layout_gives_nothing(bad: bytes) -> None:
    assert list(ended_tasks(bad, FAMILY)) == []


def task(number: int, parent: int, ran_s: float = 0.1) -> EndedTask:
    return EndedTask(number, parent, int(ran_s * 1e9), 10**9, 2 * 10**9, 0, 0, 0)


def test_whose_they_are() -> None:
    child, thread, grandchild, orphan = task(11, 10), task(12, 10), task(13, 11), task(14, 10)
    strangers = [task(20, 1), task(21, 20), task(22, 30), task(30, 31), task(31, 30)]
    below = [grandchild, child, thread, orphan]  # a child may end before its parent has told anything
    assert tasks_below([*strangers[:2], *below, *strangers[2:]], 10) == below


def test_one_that_is_missing_makes_all_unknown() -> None:
    tasks = [task(11, 10), task(13, 11)]
    time_if_complete = task_time_if_complete(tasks, {11}, 0.2)
    assert time_if_complete is not None and (time_if_complete.waited_s, time_if_complete.blocked_s) == (
        2.0,
        4.0,
    )
    assert task_time_if_complete(tasks, {11, 14}, 0.2) is None  # waited for, and never told
    assert task_time_if_complete(tasks, {11}, 0.5) is None  # in a container with numbers of its own
    assert task_time_if_complete(None, set(), 0.0) is None
    assert task_time_if_complete([task(11, 10, 0.0)], {11}, 0.009) is not None  # shorter than a tick


def test_what_is_lost_is_not_told() -> None:
    exits = TaskExitListener()
    exits.close()
    exits._complete = False
    assert exits.ended_tasks_below(1) is None
    exits.take_messages()
