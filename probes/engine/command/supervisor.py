"""Runs one command with all that it starts, in a process of its own (`hostdx.probes.engine.command.run_server`).

Standard library only.

The order is a JSON line on stdin, the answer a JSON line on stdout, after one for each sample inside a long run. As
their subreaper (prctl(2)) it gets what daemonises; when the command has ended, the time is up, or stdin ends (who
ordered it wants no more, or was killed), all that is left is ended. So nothing outlives the run.
"""

import json
import os
import resource
import select
import signal
import time
from typing import Any

from hostdx.probes.children.parent_death import die_with_parent
from hostdx.probes.engine.command import energy, group_counters, perf_events, process_tree, taskstats, topdown
from hostdx.probes.engine.command.command_timeline import Sample, TreeTimeline
from hostdx.probes.engine.loads.memory_policy import prefer_node
from hostdx.probes.engine.priority import set_io_priority
from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.profile.sampling import ProfileSampling

GRACE_S = 0.5
BLOCK_BYTES = 512  # of getrusage(2), whatever the file system
# Between two looks at the tree: longer while it stays the same, and at least so often as long as a look takes.
LOOK_S, MAX_LOOK_S, LOOK_COST = 0.05, 0.2, 400
NICE_TO_READ = 1 << 16  # bytes a read
ENERGY_S = 1.0
PSS_S = 0.2  # between two samples of the tree's PSS, and at least so often as long as one takes:
PSS_COST = 200
PSS_SAMPLES = 3  # with fewer, a short run's start would pass for its peak
SEEN = 0.9  # of the CPU time at least: else its threads' time is not known
_DELAYS = "/proc/sys/kernel/task_delayacct"


class OutputTail:
    """The end of what a pipe brings, `keep` bytes of it at most; the rest is read and dropped."""

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.bytes = 0
        self._text = bytearray()
        self.fd, self.write_fd = os.pipe()
        os.set_blocking(self.fd, False)

    def read_more(self) -> bool:
        """Return whether there may be more."""
        try:
            data = os.read(self.fd, NICE_TO_READ)
        except BlockingIOError:
            return False
        self.bytes += len(data)
        self._text += data
        if len(self._text) > self.keep + max(self.keep, NICE_TO_READ):  # seldom: each time it is copied
            del self._text[: -self.keep]
        return bool(data)

    def remaining_text(self) -> str:
        for _ in range(64):
            if not self.read_more():
                break
        return self._text[-self.keep :].decode("utf-8", "backslashreplace")


class Supervisor:
    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.look = process_tree.TreeTime()
        self.user_s = self.system_s = 0.0
        self.faults = [0, 0, 0, 0]  # minor, major; voluntary, involuntary switches
        self.peak_rss = 0
        self.peak_pss = self.pss_samples = 0
        self.pss: int | None = None  # since the last sample inside the run
        self.inside = TreeTimeline(_send_sample_if_read)
        self.exits = taskstats.TaskExitListener()
        self.reaped: set[int] = set()
        self.began_ns = 0
        self.next_pss = self.next_energy = 0.0
        self.quota = group_counters.TreeQuota()
        self.many = False  # processes at once, more than are looked at
        self.io: list[int] | None = [0, 0] if os.access("/proc/self/io", os.R_OK) else None
        self.status: int | None = None
        self.ended_ns = 0
        self.child = 0
        self.wakeup, write = os.pipe()
        os.set_blocking(self.wakeup, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._on_stop_signal)
        self.is_told_to_stop = False
        self.errors = OutputTail(4096)
        self.output = OutputTail(order["kept_bytes"]) if order["kept_bytes"] else None

    def _on_stop_signal(self, *_: object) -> None:
        self.is_told_to_stop = True

    def run(self) -> dict[str, Any]:
        floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        group = self.order.get("group", "")
        before = group_counters.read_group_counters(group)
        pipeline = topdown.find_top_down_events()
        counters = perf_events.CountersFromExec(perf_events.EVENTS | (pipeline.events if pipeline else {}))
        chains = self.order.get("chains", False)
        self.wait_sampling = ProfileSampling(
            self.order["cpus"], chains=chains, listed=process_tree.list_descendants
        )
        self.energy = energy.EnergyCounters()
        self.wait_sampling.start()
        self.began_ns, problem = self._start_and_get_ns_and_problem()
        if problem:
            self._reap_and_add_usage()
            return {"problem": problem}
        stopped = self._watch_and_get_stop_reason()
        ended_ns = self.ended_ns or time.perf_counter_ns()
        self.energy.add_energy()
        stalls = group_counters.group_counters_since(before, group_counters.read_group_counters(group))
        left, survivors = process_tree.end_descendants(os.getpid(), GRACE_S, self._reap_and_add_usage)
        self._reap_and_add_usage()
        spent = self.look.total_time
        cpu_s = self.user_s + self.system_s
        looked = min(1.0, spent.ran_ns / 1e9 / cpu_s) if cpu_s > 0 else 1.0
        self.exits.take_messages()
        task_time = taskstats.task_time_if_complete(
            self.exits.ended_tasks_below(os.getpid()), self.reaped, cpu_s
        )
        self.exits.close()
        asleep_s = self._asleep_s(task_time, looked)
        delays = _is_delay_accounting_on()
        blocked_s = (
            spent.blocked_ticks / os.sysconf("SC_CLK_TCK") if task_time is None else task_time.blocked_s
        )
        waits = [] if self.many else self.wait_sampling.waits(asleep_s)
        return {
            "problem": "",
            "stopped": stopped,
            "status": self.status,
            "wall_s": (ended_ns - self.began_ns) / 1e9,
            "user_s": self.user_s,
            "system_s": self.system_s,
            "peak_rss_bytes": self.peak_rss if self.peak_rss > floor else None,
            "minor_faults": self.faults[0],
            "major_faults": self.faults[1],
            "voluntary_switches": self.faults[2],
            "involuntary_switches": self.faults[3],
            "read_bytes": None if self.io is None else self.io[0],
            "written_bytes": None if self.io is None else self.io[1],
            "waited_s": spent.waited_ns / 1e9 if task_time is None else task_time.waited_s,
            "blocked_s": blocked_s if delays else None,
            "asleep_s": asleep_s,
            "refetching_s": task_time.refetching_s if task_time is not None and delays else None,
            "reclaiming_s": task_time.reclaiming_s if task_time is not None and delays else None,
            "waits": waits,
            "d_s": None if self.many else sum(wait.thread_s for wait in waits if wait.state == "D"),
            **self.wait_sampling.all_results(),
            "seen": looked if task_time is None else 1.0,
            "looked": looked,
            "peak_pss_bytes": self.peak_pss if self.pss_samples >= PSS_SAMPLES else None,
            "throttled_s": self.quota.throttled_s(),
            "migrations": self.look.migration_count,
            **stalls,
            **self.energy.joules_by_name(),
            "counts": (counts := counters.read_and_close()),
            "slots": pipeline.slot_shares(counts) if pipeline else {},
            "left": left,
            "survivors": survivors,
            "errors": self.errors.remaining_text(),
            "output": self.output.remaining_text() if self.output is not None else "",
            "output_bytes": self.output.bytes if self.output is not None else 0,
        }

    def _asleep_s(self, task_time: taskstats.TaskTime | None, looked_share: float) -> float | None:
        if task_time is not None:
            return task_time.asleep_s
        return self.look.asleep_s if looked_share >= SEEN else None

    def _start_and_get_ns_and_problem(self) -> tuple[int, str]:
        """When it began (perf_counter_ns) and why it could not."""
        read_end, tell = os.pipe()
        group = self.order.get("group", "")
        placed = group_counters.fork_into_group(group) if group else None
        self.child = os.fork() if placed is None else placed
        if self.child == 0:
            self._become_command(tell, control_group=group if placed is None else "")
        os.close(tell)
        os.close(self.errors.write_fd)
        if self.output is not None:
            os.close(self.output.write_fd)
        message = b""
        while data := os.read(read_end, 4096):  # ends when the command replaces the child, or with it
            message += data
        os.close(read_end)
        began, _, problem = message.partition(b"\n")
        at_ns = parse_unsigned(began.decode("ascii", "replace"))
        if at_ns is None or problem:
            return 0, (problem or began).decode("utf-8", "backslashreplace").strip() or "it ended at once"
        return at_ns, ""

    def _become_command(self, tell_fd: int, control_group: str) -> None:
        """In the child: never returns. The time just before the command is told, then an error if there is one."""
        order = self.order
        try:
            die_with_parent(os.getppid())
            os.setpgid(0, 0)
            signal.set_wakeup_fd(-1)
            for number in (
                signal.SIGPIPE,
                signal.SIGHUP,
                signal.SIGINT,
                signal.SIGTERM,
                signal.SIGCHLD,
                signal.SIGXFSZ,
            ):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            null = os.open("/dev/null", os.O_RDWR)
            os.dup2(null, 0)
            os.dup2(self.output.write_fd if self.output is not None else null, 1)
            os.dup2(self.errors.write_fd, 2)
            os.chdir(order["cwd"])
            if control_group:
                group_counters.enter_group(control_group)
            if order["cpus"]:
                os.sched_setaffinity(0, order["cpus"])
            if order["node"] is not None:
                prefer_node(order["node"])
            if order["ionice"]:
                set_io_priority(order["ionice"])
            if order["nice"]:
                os.nice(order["nice"])
            argv, environment = order["argv"], order["env"]
            os.write(tell_fd, b"%d\n" % time.perf_counter_ns())
            os.execvpe(argv[0], argv, environment)
        except OSError as error:
            os.write(tell_fd, b"\n" + (error.strerror or str(error)).encode())
        except BaseException as error:
            os.write(tell_fd, b"\n" + repr(error).encode())
        finally:
            os._exit(127)

    def _watch_and_get_stop_reason(self) -> str:
        """Until the command ended: ""; or why it was stopped: `time`, `bytes`, `told`."""
        poll = select.poll()
        for fd in (0, self.wakeup):
            poll.register(fd, select.POLLIN | select.POLLHUP)
        tails = {tail.fd: tail for tail in (self.errors, self.output) if tail is not None}
        for fd in tails:
            poll.register(fd, select.POLLIN | select.POLLHUP)
        until = time.monotonic() + self.order["at_most_s"]
        next_look = time.monotonic() + LOOK_S / 5
        every_s, listed = LOOK_S, list[int]()
        self._reap_and_add_usage()
        while self.status is None:
            now = time.monotonic()
            if now >= until:
                return "time"
            if now >= next_look:
                began = time.process_time()  # not by the clock: on a busy host that counts the waiting too
                pids = process_tree.list_descendants(os.getpid())
                self.look.look_at(pids)
                self.exits.take_messages()
                self.wait_sampling.follow_pids(pids)
                cost_s = time.process_time() - began
                self._sample_groups_energy_and_memory(pids)
                if self._has_written_too_much(pids):
                    return "bytes"
                bounded = pids != listed or self.order.get("max_written_bytes", 0)
                every_s = LOOK_S if bounded else min(MAX_LOOK_S, 1.5 * every_s)
                listed = pids
                next_look = time.monotonic() + max(every_s, LOOK_COST * cost_s)
            self.wait_sampling.take_samples()
            next_at = min(until, next_look, self.wait_sampling.next_due_s)
            ready = poll.poll(max(0, next_at - time.monotonic()) * 1000 + 1)
            for fd, _ in ready:
                if fd == 0:
                    return "told"
                if fd == self.wakeup:
                    self._drain_wakeup()
                    self._reap_and_add_usage()
                elif not tails[fd].read_more():
                    self._drop_tail_if_closed(poll, tails, fd)
            if self.is_told_to_stop:
                return "told"
        return ""

    def _has_written_too_much(self, pids: list[int]) -> bool:
        most = self.order.get("max_written_bytes", 0)
        if not most:
            return False
        living = (process_tree.read_and_written_bytes(pid) for pid in pids)
        written = (0 if self.io is None else self.io[1]) + sum(both[1] for both in living if both)
        return bool(written > most)

    def _sample_groups_energy_and_memory(self, pids: list[int]) -> None:
        """After a look at the threads; what has a bound of its own."""
        now = time.monotonic()
        self.quota.look_at_groups(pids)
        self.many = self.many or len(pids) > process_tree.MAX_SAMPLED_PROCESSES
        if now >= self.next_energy:
            self.energy.add_energy()
            self.next_energy = now + ENERGY_S
        if now >= self.next_pss:
            began = time.process_time()
            pss = process_tree.pss_bytes(pids)
            if pss is not None:
                self.peak_pss = max(pss, self.peak_pss)
                self.pss_samples += 1
                self.pss = pss
            self.next_pss = now + max(PSS_S, PSS_COST * (time.process_time() - began))
        if self.inside.is_due(at_s := (time.perf_counter_ns() - self.began_ns) / 1e9):
            self.inside.take_sample(at_s, pids, self.pss, self.user_s + self.system_s, self.io)
            self.pss = None

    def _drop_tail_if_closed(self, poll: select.poll, tails: dict[int, OutputTail], fd: int) -> None:
        """Nothing was read: the other end is closed, or it was taken already."""
        try:
            over = not os.read(fd, 1)
        except BlockingIOError:
            return
        if over:
            poll.unregister(fd)
            del tails[fd]

    def _drain_wakeup(self) -> None:
        try:
            os.read(self.wakeup, 4096)
        except BlockingIOError:
            pass

    def _reap_and_add_usage(self) -> None:
        """Waits for all that ended, the command and orphans of it; each is looked at before."""
        while True:
            try:
                child = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if child is None:
                return
            pid = child.si_pid
            if pid == self.child:
                self.ended_ns = time.perf_counter_ns()
                self.look.look_at(process_tree.list_descendants(os.getpid()))
            else:
                self.look.look_at([pid])
            _, status, used = os.wait4(pid, 0)
            # getrusage(2) tells all users what /proc/PID/io of the dead tells root alone
            if self.io is not None:
                moved = (used.ru_inblock * BLOCK_BYTES, used.ru_oublock * BLOCK_BYTES)
                self.io = [have + more for have, more in zip(self.io, moved, strict=True)]
            self.reaped.add(pid)
            self.user_s += used.ru_utime
            self.system_s += used.ru_stime
            self.peak_rss = max(self.peak_rss, used.ru_maxrss * 1024)
            more = (used.ru_minflt, used.ru_majflt, used.ru_nvcsw, used.ru_nivcsw)
            self.faults = [have + increase for have, increase in zip(self.faults, more, strict=True)]
            if pid == self.child:
                self.status = os.waitstatus_to_exitcode(status)


def _send_sample_if_read(sample: Sample) -> None:
    """Left out where nobody reads them: one that is stopped must not hold up who watches the command."""
    if select.select((), (1,), (), 0)[1]:
        _send_json(sample)


def _send_json(fields: dict[str, Any]) -> None:
    data = memoryview(json.dumps(fields).encode() + b"\n")
    try:
        while data:
            data = data[os.write(1, data) :]
    except (BrokenPipeError, ConnectionResetError):
        pass


def _is_delay_accounting_on() -> bool:
    """Since Linux 5.14 delay accounting is off until kernel.task_delayacct is set (Documentation/accounting)."""
    try:
        with open(_DELAYS, encoding="ascii") as file:  # noqa: PTH123
            return file.read().strip() == "1"
    except OSError:
        return False


def load_modules_before_forks() -> None:
    """What a first call loads (codecs, patterns, `ctypes`): once before many are forked."""
    energy.EnergyCounters()
    topdown.find_top_down_events()
    perf_events.CountersFromExec().read_and_close()
    _is_delay_accounting_on()


def supervise_one_command() -> None:
    """Nothing is started where the order does not come whole."""
    order = b""
    while not order.endswith(b"\n"):
        if not (data := os.read(0, NICE_TO_READ)):
            return
        order += data
    _send_json(Supervisor(json.loads(order)).run())
