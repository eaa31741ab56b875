"""Who did it: looks at the processes in the gaps, and the names that come up most often.

A look before every block, of which only the last is kept: what is named used the CPU or the device in the disturbed
block, not at some time since the run began. And who is named also used a quarter of it over NAMED_AFTER_S.
"""

import os
from collections.abc import Collection, Sequence
from typing import Literal

from hostdx.probes.reading.host import Host
from hostdx.probes.system.pulse import HostCounters, compute_host_rates, read_host_counters
from hostdx.probes.system.running.culprit import (
    BusyProcess,
    Resource,
    completion_threads,
    find_dominant_process,
    loop_worker_pids,
    others_cpus_and_io_rate,
    rank_processes,
    used_quarter_of_total,
)
from hostdx.probes.system.running.processes import (
    ProcessTable,
    own_process_family,
    process_io_bytes,
    process_with_descendants,
    read_process_table,
)
from hostdx.probes.system.running.tasks import explain_hidden_tasks
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import InterferenceCulprit
from hostdx.scenarios.contract.model import Run
from hostdx.scenarios.experiment.guards.interference import OthersUse, round_share
from hostdx.scenarios.experiment.guards.thresholds import LOOK_SHARE, NAMED_AFTER_S, NAMED_CPUS, NAMED_SHARE


class CulpritSearch:
    """`look_in_gap` before every block, `culprit_of_kind` after a disturbed one; at most LOOK_SHARE of the time.

    loops  loop devices of ours: the kernel's threads that work for them are nobody else.
    """

    def __init__(self, run: Run, devices: Sequence[str], loops: Collection[str] = ()) -> None:
        self._run = run
        self._devices = tuple(devices)
        self._loops = loops
        self._last: ProcessTable | None = None
        self._at = 0.0
        self._took_s: list[float] = []
        self._has_said_whose = False
        self._began: ProcessTable | None = None  # the looks before and after the block under way
        self._ended: ProcessTable | None = None
        # NAMED_AFTER_S old or more, once there were looks for so long
        self._anchor: ProcessTable | None = None
        self._next_anchor: ProcessTable | None = None

    def look_in_gap(self) -> None:
        """Where there are so many processes that it takes long, not in every gap."""
        self._ended = None
        if self._is_look_affordable:
            self._read_and_keep_processes()
        self._began = self._last

    def use_after_block(self, *, suspected: bool = False) -> OthersUse | None:
        """Right after the block: what other processes used in it, or since the last look before; None where there are
        so many that it takes long, unless the block is `suspected`.
        """
        if self._began is None or not (suspected or self._is_look_affordable):
            return None
        self._ended = self._read_and_keep_processes()
        workers = self._our_kernel_workers(self._began, self._ended)
        cpus, io = others_cpus_and_io_rate(self._began, self._ended, self._our_processes())
        for_us = io_for_us = 0.0
        if workers:
            not_for_us = frozenset(self._ended.processes.keys() - workers)
            for_us = sum(
                (use.rate for use in rank_processes(self._began, self._ended, "cpu", not_for_us)), 0.0
            )
            io_for_us = sum(
                (process.rate for process in rank_processes(self._began, self._ended, "io", not_for_us)), 0.0
            )
        hidden = explain_hidden_tasks(self._run.host) is not None
        return OthersUse(cpus, (io or None) if hidden else io, hidden, for_us, io_for_us)

    def _our_kernel_workers(self, before: ProcessTable, after: ProcessTable) -> frozenset[int]:
        """The kernel's threads that work for us: for our loop devices, and those that end our own I/O."""
        return loop_worker_pids(self._loops, before, after) | completion_threads(
            before, after, self._our_processes()
        )

    def _our_processes(self) -> frozenset[int]:
        return frozenset(own_process_family(self._run.host)) if self._run.host.live else frozenset()

    @property
    def _is_look_affordable(self) -> bool:
        # The shortest of the last three: a look that had to wait for a CPU took long for another reason.
        cost_s = min(self._took_s[-3:], default=0.0)
        return self._last is None or self._run.clock.now() - self._at >= cost_s / LOOK_SHARE

    def culprit_of_kind(self, kind: str, cpu_share: float = 0.0) -> InterferenceCulprit | None:
        return self.culprits_by_kind([kind], cpu_share).get(kind)

    def culprits_by_kind(
        self, kinds: Sequence[str], cpu_share: float = 0.0
    ) -> dict[str, InterferenceCulprit]:
        """By kind ("cpu", "device") the process that used most since the last look, else the device's name.

        cpu_share  of all CPUs, that others used: who used little of it is not named.
        """
        wanted = [kind for kind in kinds if kind in ("cpu", "device")]
        before = self._last if self._ended is None else self._began
        if not wanted or before is None:
            return {}
        now = self._ended or self._read_and_keep_processes()
        excluded_pids = self._our_processes() | self._our_kernel_workers(before, now)
        culprits: dict[str, InterferenceCulprit] = {}
        for kind in wanted:
            resource: Resource = "cpu" if kind == "cpu" else "io"
            least = min(NAMED_CPUS, NAMED_SHARE * cpu_share * now.cpus) if resource == "cpu" else None
            process = find_dominant_process(before, now, resource, excluded_pids, least)
            brief = process is not None and not self._used_quarter(process, resource, now, excluded_pids)
            # Whom this user may read can be named beside somebody busier whom only root may: root need not be told.
            if resource == "io" and now.unreadable and (process is None or os.geteuid()):
                self._say_once_whose_io(now)
            if process is not None and not brief:
                unit: Literal["CPUs", "B/s"] = "CPUs" if resource == "cpu" else "B/s"
                culprits[kind] = InterferenceCulprit(
                    name=process.name, pid=process.pid, rate=process.rate, unit=unit
                )
            elif resource == "io":
                culprits[kind] = InterferenceCulprit(
                    devices=self._devices, unnamed="brief" if brief else self._why_no_culprit(now)
                )
        return culprits

    def _used_quarter(
        self, process: BusyProcess, resource: Resource, now: ProcessTable, excluded_pids: frozenset[int]
    ) -> bool:
        """Return whether looks of NAMED_AFTER_S or more show that it used a quarter of what others used."""
        anchor = self._anchor
        if anchor is None or now.uptime_s - anchor.uptime_s < NAMED_AFTER_S:
            return False
        return used_quarter_of_total(anchor, now, resource, excluded_pids, process)

    def _why_no_culprit(
        self, table: ProcessTable
    ) -> Literal["another user's", "unreadable", "contained", "ended"]:
        hidden = explain_hidden_tasks(self._run.host)
        if hidden is not None and hidden.kind == "container":
            return "contained"  # root there sees no more
        if not table.unreadable and hidden is None:
            return "ended"
        return "another user's" if os.geteuid() else "unreadable"

    def _read_and_keep_processes(self) -> ProcessTable:
        began = self._run.clock.now()
        waiting = self._last is None or not self._last.hung
        self._last = read_process_table(self._run.host, io=bool(self._devices), waiting=waiting)
        self._at = self._run.clock.now()
        self._took_s = [*self._took_s[-2:], self._at - began]
        if self._next_anchor is None or self._last.uptime_s - self._next_anchor.uptime_s >= NAMED_AFTER_S:
            self._anchor, self._next_anchor = self._next_anchor or self._last, self._last
        return self._last

    def _say_once_whose_io(self, table: ProcessTable) -> None:
        """Once a run: among whom the culprit was sought, and how to see the others."""
        if self._has_said_whose:
            return
        self._has_said_whose = True
        of_all = f"{len(table.processes) - table.unreadable} of {len(table.processes)} processes"
        if os.geteuid():
            text = (
                f"I/O can be attributed for {of_all}, those of this user; run as root (sudo hostdx ...) to "
                f"name the other {table.unreadable} too: only root may read their /proc/PID/io"
            )
        else:
            text = (
                f"I/O can be attributed for {of_all}: this root may not read the others' /proc/PID/io (it "
                "lacks CAP_SYS_PTRACE, as in a container); run hostdx on the host itself to name them"
            )
        self._run.emit(ev.Note(t=self._run.elapsed_s(), text=text))


# They repeat a whole disk's traffic or have none; partitions stay in, for they carry file systems.
_NEVER = ("loop", "ram", "zram", "sr", "fd")


class PulseSource:
    """Reads the counters at each call; the first pulse speaks of the time since it was made.

    devices: the run's own, by kernel name: shown even where they are idle, or loop devices. With one device only,
    our own process family's traffic is told apart as `ours`; with more, no counter says which of them it went to.
    """

    def __init__(self, host: Host, devices: Sequence[str] = ()) -> None:
        self._host = host
        self._before: HostCounters = read_host_counters(host)
        # A plan names the leaves of an array together: "sda, sdb".
        device_names = {name.strip() for device in devices for name in device.split(",")}
        self._devices = frozenset(device_names & self._before.disks.keys())
        self._ours_before = self._our_read_and_written_bytes()

    def next(self, t: float) -> ev.Pulse:
        now = read_host_counters(self._host)
        rates = compute_host_rates(self._before, now)
        self._before = now
        idle: dict[str, tuple[float, float, float]] = dict.fromkeys(
            self._devices & now.disks.keys(), (0.0, 0.0, 0.0)
        )
        busy: dict[str, tuple[float, float, float]] = {
            name: (round(read), round(written), round(used, 3))
            for name, (read, written, used) in rates.devices.items()
            if name in self._devices or not name.startswith(_NEVER)
        }
        ours_before, self._ours_before = self._ours_before, self._our_read_and_written_bytes()
        our_rates: dict[str, tuple[float, float]] = {}
        if len(self._devices) == 1:
            read, written = (
                max(0, after - before) for after, before in zip(self._ours_before, ours_before, strict=True)
            )
            our_rates = {
                next(iter(self._devices)): (round(read / rates.seconds), round(written / rates.seconds))
            }
        return ev.Pulse(
            t=t,
            load1=rates.load1,
            cpu=round(rates.cpu, 4),
            steal=round(rates.steal, 4),
            iowait=round(rates.iowait, 4),
            psi_cpu=round_share(rates.psi_cpu),
            psi_io=round_share(rates.psi_io),
            psi_memory=round_share(rates.psi_memory),
            devices={**idle, **busy},
            ours=our_rates,
        )

    def _our_read_and_written_bytes(self) -> tuple[int, int]:
        if len(self._devices) != 1:
            return 0, 0
        used = [process_io_bytes(self._host, pid) or (0, 0) for pid in process_with_descendants(self._host)]
        return sum(read for read, _ in used), sum(written for _, written in used)
