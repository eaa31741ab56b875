"""The pulse of a run: what the host does, once a second, as an event."""

from __future__ import annotations

from collections.abc import Sequence

from probes.host import Host
from probes.system.pulse import Counters, pulse, read_counters
from probes.system.running.processes import family_of, io_bytes
from scenarios import events as ev

# They repeat a whole disk's traffic or have none; partitions stay in, for they carry file systems.
_NEVER = ("loop", "ram", "zram", "sr", "fd")


class PulseSource:
    """Reads the counters at each call; the first pulse speaks of the time since it was made.

    devices: the run's own, by kernel name: shown even where they are idle, or loop devices. With one device only,
    our own process family's traffic is told apart as `ours`; with more, no counter says which of them it went to.
    """

    def __init__(self, host: Host, devices: Sequence[str] = ()) -> None:
        self._host = host
        self._before: Counters = read_counters(host)
        # A plan names the leaves of an array together: "sda, sdb".
        named = {name.strip() for device in devices for name in device.split(",")}
        self._devices = frozenset(named & self._before.disks.keys())
        self._ours_before = self._our_bytes()

    def next(self, t: float) -> ev.Pulse:
        now = read_counters(self._host)
        rates = pulse(self._before, now)
        self._before = now
        idle: dict[str, tuple[float, float, float]] = dict.fromkeys(
            self._devices & now.disks.keys(), (0.0, 0.0, 0.0)
        )
        busy: dict[str, tuple[float, float, float]] = {
            name: (round(read), round(written), round(used, 3))
            for name, (read, written, used) in rates.devices.items()
            if name in self._devices or not name.startswith(_NEVER)
        }
        ours_before, self._ours_before = self._ours_before, self._our_bytes()
        ours: dict[str, tuple[float, float]] = {}
        if len(self._devices) == 1:
            read, written = (
                max(0, after - before) for after, before in zip(self._ours_before, ours_before, strict=True)
            )
            ours = {next(iter(self._devices)): (round(read / rates.seconds), round(written / rates.seconds))}
        return ev.Pulse(
            t=t,
            load1=rates.load1,
            cpu=round(rates.cpu, 4),
            steal=round(rates.steal, 4),
            iowait=round(rates.iowait, 4),
            psi_cpu=_rounded(rates.psi_cpu),
            psi_io=_rounded(rates.psi_io),
            psi_memory=_rounded(rates.psi_memory),
            devices={**idle, **busy},
            ours=ours,
        )

    def _our_bytes(self) -> tuple[int, int]:
        if len(self._devices) != 1:
            return 0, 0
        used = [io_bytes(self._host, pid) or (0, 0) for pid in family_of(self._host)]
        return sum(read for read, _ in used), sum(written for _, written in used)


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)
