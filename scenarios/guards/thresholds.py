"""The guards' thresholds: fixed before the first block, each with its reason. The only place where they stand."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["cpu", "steal", "device", "frequency", "heat", "quota", "space"]


class Threshold(NamedTuple):
    """A block is disturbed when its value passes the run's own median by `limit`; `floor` is the least that counts."""

    kind: Kind
    limit: float
    unit: str
    reason: str
    floor: float = 0.0


THRESHOLDS: tuple[Threshold, ...] = (
    # where the CPUs were that full: what runs on an idle CPU displaces nobody
    Threshold("cpu", 0.25, "of all CPUs",
              "CPU time of others: on two CPUs half a CPU more than usual, which slows one worker and its "
              "device's interrupts", floor=0.90),
    Threshold("steal", 0.05, "of all CPU time",
              "time that the hypervisor gave to other machines: 5 % is the smallest effect that matters"),
    # bytes a second (and 50 operations): below, a log daemon would disturb an idle disk's test
    Threshold("device", 0.25, "of the device's usual traffic",
              "bytes or operations of other processes on the measured disk: a quarter more queueing shifts a "
              "latency by several percent", floor=1 << 20),
    Threshold("frequency", 0.15, "below the usual clock",
              "the fastest CPU's clock: turbo steps of 100 to 300 MHz are usual, a cap or a heat limit takes more"),
    Threshold("heat", 0.0, "events",
              "a thermal throttling event: the hardware itself reports that it was slowed down"),
    Threshold("quota", 0.05, "of the block",
              "our own control group was throttled by its CPU quota, more than usual"),
    Threshold("space", 0.01, "of the file system free",
              "below 1 % (or 256 MiB) allocation slows down and others' writes begin to fail: the run stops",
              floor=256 << 20),
)  # fmt: skip

LEAST_OPERATIONS_A_SECOND = 50.0  # of others on our device

# Guards need some blocks of a variant before they know what is usual.
BLOCKS_BEFORE_JUDGING = 3

# What a host does more often than in one block of twenty (once at least) is its weather: interleaving and ranks deal
# with it, and every group measured again is a group less to decide with. With one in ten, a 2-CPU machine under a load
# of 5 to 10 lost two of eight groups in most runs, and with them more than the disturbances had cost.
WEATHER = 0.05

# Others wait twice as long (probes/bench/bystanders.py): the load pauses. If they wait half as long or less without it,
# it was the load, and the run stops; otherwise they are busy themselves.
PAUSE_S = 1.0
STILL_WAITING = 0.5

# A look at all processes before every block, so that the culprit is sought in that block: 2 ms for 150 processes, 14
# for 1000. Never more of the time than this: with more processes it is not done before every block.
LOOK_SHARE = 0.02
# Who used less than this share of others' CPU time, and less than half a CPU, is one of a crowd and not to blame.
NAMED_SHARE = 0.2
NAMED_CPUS = 0.5

SETTLE_S = 0.5  # the look at the host before the first block, while nothing of ours runs
PLACES_EVERY_S = 5.0  # free space and file system type


def threshold(kind: Kind) -> Threshold:
    return next(t for t in THRESHOLDS if t.kind == kind)
