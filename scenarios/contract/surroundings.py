"""What the host's counters moved while a train or block ran, in all and by us: what others did is told from it."""

from collections.abc import Sequence
from statistics import median

import msgspec

from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.event import RunEvent
from hostdx.scenarios.contract.ranges import Count, Seconds, Share

# the others' are called as their kind
_FIELDS = {"device": "device_bytes", "cpu": "users_cpu", "frequency": "khz"}
MIN_LASTING_SHARE = 0.8  # of the time that the guards looked: what others did then they did all the time


class MeasuredSurroundings(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the guards read over one interval. Shares are 0..1 of all CPUs or of the time; bytes and counts are of
    the interval. None: not known here.

    load: which load of which variant ran; "" where none of ours did.
    uneven: what an operation moves comes later and together with others (metadata: the journal's commit).
    exact: our own I/O moves on the devices what it asked for, without journal or metadata (reads do, writes do not).
    """

    seconds: Seconds
    load: str = ""
    cpu: Share | None = None  # what others used
    # of it other processes, without the kernel's threads, which may work for us
    users_cpu: Share | None = None
    hidden: bool = False  # not all processes of this machine show: `users_cpu` is at least so much
    full: Share = 0.0  # how busy all CPUs were, with us
    steal: Share | None = None
    memory: Share | None = None  # tasks waited for memory
    queue: Count | None = None  # tasks of others that were ready to run, before and after
    cpus: Count = 0  # of the host; 0: not known
    device_bytes: Count | None = None  # everybody's, on the devices that the load uses
    device_written: Count = 0  # of them
    device_operations: Count = 0
    own_bytes: Count = 0  # what our processes made storage read and write
    own_written: Count = 0
    # of `device_bytes`, what came through no loop device of ours; None: there is none
    beside: Count | None = None
    attributed: Count | None = None  # what other processes did here, at least; None: nobody may be read
    operations: Count = 0  # ours
    exact: bool = False
    uneven: bool = False
    khz: Count | None = None
    heat: Count | None = None
    quota: Share | None = None

    @property
    def foreign_write_rate(self) -> float:
        """Return the bytes per second that other programs wrote to the devices, our own journal's among them."""
        return max(0, self.device_written - self.own_written) / max(self.seconds, 1e-3)

    @property
    def foreign_read_rate(self) -> float:
        """Return the bytes per second that other programs read from the devices."""
        read, own = (self.device_bytes or 0) - self.device_written, self.own_bytes - self.own_written
        return max(0, read - own) / max(self.seconds, 1e-3)


class Watched(RunEvent, frozen=True, tag="watched"):
    """What the guards read of a slice batch or window, and what of it was beyond a limit, measured again or not.

    devices: the kernel names of the devices whose counters were read.
    """

    workload: str
    surroundings: MeasuredSurroundings
    devices: tuple[str, ...] = ()
    told: tuple[Disturbance, ...] = ()


def disturbed_time_share(watched: Sequence[Watched], kind: str) -> float:
    """Return the share of the time in which a disturbance of this kind was told, of that in which it could be."""
    field = _FIELDS.get(kind, kind)
    could_s = told_s = 0.0
    for look in watched:
        is_told = any(disturbance.kind == kind for disturbance in look.told)
        if is_told or getattr(look.surroundings, field, 0) is not None:
            could_s += look.surroundings.seconds
            told_s += look.surroundings.seconds if is_told else 0.0
    return told_s / max(could_s, 1e-3)


def lasting_cpu_share(watched: Sequence[Watched]) -> float:
    """Return the share of all CPUs that other programs used, as the median; 0 where they did so only now and then."""
    used = [each.figure or 0.0 for look in watched for each in look.told if each.kind == "cpu"]
    if not used or disturbed_time_share(watched, "cpu") < MIN_LASTING_SHARE:
        return 0.0
    return min(1.0, median(used))
