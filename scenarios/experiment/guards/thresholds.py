"""The guards' thresholds (`thresholds.toml`) and what else they reckon with. The only place where they stand."""

from typing import Literal

import msgspec

from hostdx.probes.files.safe_read import read_shipped_toml

Kind = Literal["cpu", "steal", "device", "frequency", "heat", "quota", "memory", "queue", "space"]


class Threshold(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A train or block is disturbed beyond `limit`; `floor` is the least that counts.

    Where only what is foreign is counted (CPU time, bytes, pressure, tasks) the limit is absolute, so that a neighbour
    who was there from the start is told as well; the rest is judged against the run's own median.
    """

    kind: Kind
    limit: float
    unit: str
    reason: str
    floor: float = 0.0


THRESHOLDS = read_shipped_toml(__file__, "thresholds.toml", dict[str, tuple[Threshold, ...]])["threshold"]

CPUS_PER_READY_TASK = 8
MIN_OPERATIONS_PER_S = 50.0  # of others on our device
# What a write of ours may move on the devices until more is known: three copies of it (mirrors, parity, journalled
# data), and this for the journal and the trees (a 4 KiB fdatasync moved 148 KiB on btrfs).
MAX_WRITE_COPIES = 3
MAX_CAUSED_BYTES = 256 << 10
PAGE_BYTES = 4096  # up to there a read is one request on the device; larger ones are split and merged
TAIL = 8  # looks, in which the kernel has written what lay in the page cache
LOUDER = 1.5  # times as much as the run's quiet level: less is how a neighbour who is always there varies

# Guards need some blocks of a variant before they know what is usual.
BLOCKS_BEFORE_JUDGING = 3

# What a host does more often than in one block of twenty (once at least) is its weather: interleaving and ranks deal
# with it, and every group measured again is a group less to decide with. With one in ten, a 2-CPU machine under a load
# of 5 to 10 lost two of eight groups in most runs, and with them more than the disturbances had cost.
WEATHER = 0.05
# A train is a second of many groups, of which a load affords twenty and more: a quarter of them is measured again.
REPEATED_BLOCKS = (1.0, WEATHER)
REPEATED_TRAINS = (1.0, 0.25)
# The run's quiet level: this share of all its looks at the host were below. A neighbour who comes after a quarter of
# the run is told from it, and what one did who was there nearly all the time is not measured again in vain.
QUIET_SHARE = 0.25

# Others wait twice as long (probes/engine/disk/foreign_latency.py): the load pauses. If they wait half as long or less
# without it, it was the load, and the run stops; otherwise they are busy themselves.
PAUSE_S = 1.0
STILL_WAITING = 0.5

# A look at all processes before every block, so that the culprit is sought in that block: 2 ms for 150 processes, 14
# for 1000. Never more of the time than this: with more processes it is not done before every block.
LOOK_SHARE = 0.02
# Who used less than this share of others' CPU time, and less than half a CPU, is one of a crowd and not to blame.
NAMED_SHARE = 0.2
NAMED_CPUS = 0.5
# Nobody is named whom the looks of less than so long show: in a quarter of a second anybody is the busiest once.
NAMED_AFTER_S = 2.0

SETTLE_S = 0.5  # the look at the host before the first block, while nothing of ours runs
PLACES_EVERY_S = 5.0  # free space and file system type


def guard_threshold(kind: Kind) -> Threshold:
    """Return when a measurement counts as disturbed by `kind`."""
    return next(t for t in THRESHOLDS if t.kind == kind)
