"""Looks of the incident book with an incident of known time, process and victims in them."""

import random
from collections.abc import Callable

from hostdx.probes.system.running.host_looks import BlockedTasksLook, HostLook, ProcessUse

FIRST_WALL_S, FIRST_BOOT_S = 1_795_900_000.0, 5000.0
STEP_S = 10.0


def make_looks(
    count: int, busy: Callable[[int], bool] = lambda number: False, *, culprit: str = "rsync", seed: int = 1
) -> list[HostLook]:
    """While `busy`, sda is at its limit and `culprit` writes; `decoy` uses a CPU all the time."""
    rng = random.Random(seed)
    looks = []
    for number in range(count):
        slow = busy(number)
        written = 80e6 + rng.random() * 1e6 if slow else rng.random() * 1e5
        iowait = 0.5 if slow else abs(rng.gauss(0.01, 0.005))
        looks.append(
            HostLook(
                wall_s=FIRST_WALL_S + number * STEP_S,
                boot_s=FIRST_BOOT_S + number * STEP_S,
                seconds=STEP_S,
                cpus=4,
                values={
                    "CPU": {
                        "user share": 0.25,
                        "idle share": 0.75 - iowait,
                        "iowait share": iowait,
                        "steal share": 0.0,
                    },
                    "host": {
                        "run queue": 1.0,
                        "blocked tasks": 3.0 if slow else 0.0,
                        "pages swapped out": 0.0,
                    },
                    "disk:sda": {
                        "utilisation": 0.99 if slow else 0.1 + rng.random() / 10,
                        "latency": 0.08 if slow else 0.002,
                        "write rate": written,
                    },
                },
                total=(1.2, written + 2e4),
                processes=(
                    ProcessUse("decoy", 4000, "root", "/", 1.0 if slow else 0.9, 0.0),
                    ProcessUse(culprit, 4711, "backup", "/system.slice/backup.service", 0.1, written),
                ),
            )
        )
    return looks


def make_close_look(number: int, function: str = "jbd2_log_wait_commit") -> BlockedTasksLook:
    at_s = number * STEP_S
    waiting = (("mysqld", 99, (function, "ext4_sync_file")),)
    return BlockedTasksLook(wall_s=FIRST_WALL_S + at_s, boot_s=FIRST_BOOT_S + at_s, waiting=waiting)
