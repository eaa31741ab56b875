"""The I/O scheduler of a block device: which, which are offered, and its settings.

Sources: Documentation/block/switching-sched.rst (the brackets), Documentation/ABI/stable/sysfs-block
(nr_requests, wbt_lat_usec), block/elevator.c (the default).
"""

import msgspec

from hostdx.probes.number_text import parse_unsigned_list
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, is_present

# What write-back throttling starts with: 75 ms on a rotational queue, 2 ms else (block/blk-wbt.c,
# wbt_default_latency_nsec), 0 while bfq is active or where it is not built. Anything else was written by a
# person or a tool. A loop device may show 2000 although its rotational flag says 1: wbt starts before the
# flag is known (measured).
WBT_DEFAULTS_USEC: tuple[int, ...] = (75000, 2000, 0)


class SchedulerState(msgspec.Struct, frozen=True, kw_only=True):
    """One device's scheduler and what belongs to it."""

    device: str
    active: str | Absent
    offered: tuple[str, ...]
    tunables: dict[str, str]
    nr_requests: int | Absent
    wbt_lat_usec: int | Absent
    hw_queues: int | Absent

    @property
    def is_wbt_set_by_hand(self) -> bool:
        """True where write-back throttling has a value that the kernel never chooses itself."""
        return is_present(self.wbt_lat_usec) and self.wbt_lat_usec not in WBT_DEFAULTS_USEC


def queue_folder_of(device: str) -> str:
    return f"/sys/block/{device}/queue"


def parse_active_and_offered(text: str) -> tuple[str | Absent, tuple[str, ...]]:
    """The active scheduler and all offered: "[none] mq-deadline" gives ("none", ("none", "mq-deadline")).

    A bio-based device (dm, md on old kernels) shows `none` alone, without brackets.
    """
    words = text.split()
    offered = tuple(w.strip("[]") for w in words)
    active = [w.strip("[]") for w in words if w.startswith("[") and w.endswith("]")]
    if active or len(offered) == 1:
        return (active or offered)[0], offered
    return Absent("no scheduler is marked as active", kind="invalid"), offered


def read_inflight_reads_and_writes(host: Host, device: str) -> tuple[int, int] | Absent:
    """Reads and writes that the driver holds now. On blk-mq what waits in the scheduler is not counted."""
    text = host.read_file_text(f"/sys/block/{device}/inflight")
    if isinstance(text, Absent):
        return text
    numbers = parse_unsigned_list(text.split())
    if numbers is None or len(numbers) != 2:
        return Absent("not two numbers", kind="invalid", source=f"/sys/block/{device}/inflight")
    return numbers[0], numbers[1]


def count_hardware_queues(host: Host, device: str) -> int | Absent:
    names = host.list_names(f"/sys/block/{device}/mq")
    return names if isinstance(names, Absent) else sum(1 for n in names if n.isdecimal())


def read_scheduler_tunables(host: Host, device: str) -> dict[str, str]:
    """The active scheduler's settings by name; empty for none."""
    directory = f"{queue_folder_of(device)}/iosched"
    names = host.list_names(directory)
    if isinstance(names, Absent):
        return {}
    read = {name: host.read_file_text(f"{directory}/{name}") for name in sorted(names)}
    return {name: text.strip() for name, text in read.items() if is_present(text)}


def read_scheduler_state(host: Host, device: str) -> SchedulerState | Absent:
    """Return what `device` (a kernel name, "sda") does now; absent where it has no scheduler file."""
    queue = queue_folder_of(device)
    text = host.read_file_text(f"{queue}/scheduler")
    if isinstance(text, Absent):
        return text
    active, offered = parse_active_and_offered(text)
    return SchedulerState(
        device=device,
        active=active,
        offered=offered,
        tunables=read_scheduler_tunables(host, device),
        nr_requests=host.read_integer(f"{queue}/nr_requests"),
        wbt_lat_usec=host.read_integer(f"{queue}/wbt_lat_usec"),
        hw_queues=count_hardware_queues(host, device),
    )


def kernel_default_scheduler(hw_queues: int | Absent, offered: tuple[str, ...]) -> str:
    """Return what the kernel takes by itself: mq-deadline for one hardware queue, none for several."""
    return "mq-deadline" if hw_queues == 1 and "mq-deadline" in offered else "none"
