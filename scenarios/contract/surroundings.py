"""What the host's counters moved while a train or block ran, in all and by us: what others did is told from it."""

import msgspec

from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.event import RunEvent
from hostdx.scenarios.contract.ranges import Count, Seconds, Share


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
    users_cpu: Share | None = (
        None  # of it other processes, without the kernel's threads, which may work for us
    )
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
    def foreign_written(self) -> float:
        """Return the bytes per second that other programs wrote to the devices, our own journal's among them."""
        return max(0, self.device_written - self.own_written) / max(self.seconds, 1e-3)

    @property
    def foreign_read(self) -> float:
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
