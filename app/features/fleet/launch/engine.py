"""The connections: ClusterShell's tasks and workers (1.10), by ssh, its tree mode or srun. The only file that knows it.

ClusterShell is an extra (`hostdx[fleet]`): without it everything but launching works.
"""

import logging
import os
import shlex
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Protocol

from hostdx.app.features.fleet.folder import NodeAnswer
from hostdx.app.features.fleet.launch.call import NodeCall
from hostdx.app.run.signals import STOPS, handle_signals_by, hold_back_signals
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.output import print_note
from hostdx.probes.children.bounded_wait import wait_briefly
from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.processes import process_with_descendants

try:
    from ClusterShell import __version__ as _version
    from ClusterShell.Event import EventHandler
    from ClusterShell.NodeSet import NodeSet, NodeSetException
    from ClusterShell.NodeUtils import GroupResolverError, GroupSourceError
    from ClusterShell.Task import Task, task_self
    from ClusterShell.Worker.EngineClient import E_READ, E_WRITE, EngineClient
    from ClusterShell.Worker.Exec import ExecClient, ExecWorker
    from ClusterShell.Worker.Ssh import SshClient
except ImportError as _error:
    raise Failure(
        "fleet: launching needs ClusterShell 1.10 or newer: `pip install 'hostdx[fleet]'`, or the package "
        f"python3-clustershell ({_error})"
    ) from None

CHUNK = 1 << 18  # bytes of a bundle on their way at once
TICK_S = 0.25
# Connections whose node has not said a word yet: each costs CPU time here (ssh's key exchange is 20 to 50 ms). A
# thousand at once took so long that the limit of many was over before this host had come to start them.
MAX_STARTING = 64 * (os.cpu_count() or 1)
GRACE_S = 0.5  # of a command whose output is closed, to end by itself
MAX_NODES = 100_000
MAX_LINE_BYTES = 8 << 20  # bytes
MIN_VERSION = (1, 10)
NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")


def check_clustershell_version() -> None:
    installed_version = tuple(parse_unsigned(part) or 0 for part in _version.split(".")[:2])
    if installed_version < MIN_VERSION:
        raise Failure(
            f"fleet: ClusterShell {_version} is too old: `pip install 'hostdx[fleet]'` (1.10 or newer)"
        )


def expand_nodes(text: str) -> list[str]:
    """Node and group syntax: `node[001-200],@gpu!node7`. A name becomes a path and a word of ssh's command line.

    Raises Failure.
    """
    try:
        node_set = NodeSet(text)
    except NodeSetException as error:
        raise Failure(f"fleet: -w {text}: {' '.join(str(error).split())}", USAGE) from None
    if not 0 < len(node_set) <= MAX_NODES:
        raise Failure(f"fleet: -w {text}: names {len(node_set)} nodes; name 1 to {MAX_NODES}", USAGE)
    names = [str(name) for name in node_set]
    for name in names:
        if not is_node_name(name):
            raise Failure(f"fleet: -w: {name!r} is no node name (letters, digits, `.`, `-`, `_`)", USAGE)
    return names


def is_node_name(name: str) -> bool:
    return 0 < len(name) <= 200 and name[0].isalnum() and NAME.issuperset(name)


def groups_by_node(names: Sequence[str], source: str) -> dict[str, str]:
    """Of each node its group in this source of the site's groups.conf; of one in none, "". Raises Failure."""
    try:
        groups = NodeSet.fromlist(list(names)).groups(source)
    except (NodeSetException, GroupSourceError, GroupResolverError) as error:
        raise Failure(f"fleet: --per {source}: {' '.join(str(error).split())}", USAGE) from None
    return {str(node): group for group, (_, nodes) in groups.items() for node in nodes}


def fold_nodes(names: Sequence[str]) -> str:
    return str(NodeSet.fromlist(list(names)))


class ShellWorker(Protocol):
    """What is used of ClusterShell's."""

    def write(self, buf: bytes) -> None: ...

    def set_write_eof(self) -> None: ...

    def abort(self) -> None: ...


class _BoundedLines(EngineClient):  # type: ignore[misc]
    """Lines as they come, none longer than a recording's: a node that never ends its line would fill the memory."""

    def _readlines(self, sname: str) -> Iterator[bytes]:
        stream = self.streams[sname]
        data = self._read(sname)
        lines = data.split(b"\n")
        lines[0] = stream.rbuf + lines[0]
        stream.rbuf = lines.pop()
        # what comes by a gateway has its own end of lines; a handler of ours knows how far its node is
        if len(stream.rbuf) > getattr(self.worker.eh, "max_line_bytes", MAX_LINE_BYTES):
            lines.append(stream.rbuf)
            stream.rbuf = b""
        yield from lines


class _KillsLingering(EngineClient):  # type: ignore[misc]
    """A command that closed its output and lives on is killed. ClusterShell would wait for it and hear nobody else."""

    popen: subprocess.Popen[bytes] | None

    def _close(self, abort: bool, timeout: bool) -> None:
        if self.popen is not None:
            if abort or wait_briefly(self.popen, GRACE_S) is None:
                _kill_with_descendants(self.popen)
            # the kernel holds it: its status is what the kill will make it
            if wait_briefly(self.popen) is None:
                self.popen.returncode = -signal.SIGKILL
        super()._close(abort, timeout)


def _kill_with_descendants(popen: subprocess.Popen[bytes]) -> None:
    """Kill a connection with what it has started, as ssh its ProxyCommand, which would live on without it."""
    others = [pid for pid in process_with_descendants(Host(), popen.pid) if pid != popen.pid]
    popen.kill()
    for pid in others:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class _StartsWithoutFork(EngineClient):  # type: ignore[misc]
    """Without a fork, which copies the launcher's page tables for each of a thousand nodes. Not for gateways."""

    def _exec_nonblock(
        self, commandlist: Sequence[str], shell: bool = False, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """The streams are ClusterShell's from here on, which closes them."""
        (stdin, to), (out, stdout), (err, stderr) = (os.pipe() for _ in range(3))
        try:
            process = subprocess.Popen(
                commandlist, stdin=stdin, stdout=stdout, stderr=stderr, shell=shell,
                env=None if env is None else {**os.environ, **env},
            )  # fmt: skip
        finally:
            for end in (stdin, stdout, stderr):
                os.close(end)
        for name, end, mask in (("stderr", err, E_READ), ("stdout", out, E_READ), ("stdin", to, E_WRITE)):
            os.set_blocking(end, False)
            self.streams.set_stream(name, end, mask, retain=name != "stdin")
        return process


class _SshClient(_KillsLingering, _BoundedLines, SshClient):  # type: ignore[misc]
    pass


class _GatewayWorker(ExecWorker):  # type: ignore[misc]
    SHELL_CLASS = _SshClient


class _StartedClient(_StartsWithoutFork, _SshClient):
    pass


class _SshWorker(ExecWorker):  # type: ignore[misc]
    SHELL_CLASS = _StartedClient


class _SrunClient(_KillsLingering, _StartsWithoutFork, _BoundedLines, ExecClient):  # type: ignore[misc]
    def _build_cmd(self) -> tuple[list[str], None]:
        words = shlex.split(self.worker.task.info("srun_path"))
        srun_options = ["--nodes=1", "--ntasks=1", f"--nodelist={self.key}", "--quiet", "--unbuffered"]
        return [*words, *srun_options, "/bin/sh", "-c", self.command], None


class _SrunWorker(ExecWorker):  # type: ignore[misc]
    SHELL_CLASS = _SrunClient


class _Connection(EventHandler):  # type: ignore[misc]
    """One worker's events as a call takes them, and the call's orders as the worker takes them."""

    def __init__(self, call: NodeCall, ended: Callable[[NodeAnswer], None], *, tree: bool) -> None:
        """`tree`: a gateway writes to whichever node it was given last, so the head is in the command; and what comes
        of a worker that was aborted breaks its channel, so such a one is left until all are at their end.
        """
        self._call = call
        self._tree = tree
        self._ended = ended
        self._worker: ShellWorker
        self._status: int | None = None
        self._rest = memoryview(b"")
        self._out = 0  # bytes that ClusterShell still has

    @property
    def max_line_bytes(self) -> int:
        return self._call.max_line_bytes

    def open(self, task: Task) -> None:
        node = self._call.node
        command = self._call.errand.shell_command(node if self._tree else "")
        self._worker = task.shell(command, nodes=node, handler=self, stderr=True)

    def ev_start(self, worker: ShellWorker) -> None:
        self._worker = worker
        self._call.begin_call(self)

    def ev_read(self, _worker: ShellWorker, _node: str, sname: str, msg: bytes) -> None:
        if sname == "stderr":
            self._call.take_error_line(msg)
        else:
            self._call.take_output_line(msg)

    def ev_written(self, _worker: ShellWorker, _node: str, _sname: str, size: int) -> None:
        self._out -= size
        self._call.restart_silence_clock()
        self._write_next_chunk()

    def ev_hup(self, _worker: ShellWorker, _node: str, rc: int | None) -> None:
        self._status = rc

    def ev_close(self, _worker: ShellWorker, timedout: bool) -> None:
        self._ended(self._call.close_call(None if timedout else self._status))

    def send(self, data: bytes) -> None:
        if self._tree:
            return
        self._rest = memoryview(bytes(self._rest) + data) if self._rest else memoryview(data)
        self._write_next_chunk()

    def end(self) -> None:
        self._rest = memoryview(b"")
        self._worker.set_write_eof()

    def abort(self) -> None:
        self._rest = memoryview(b"")
        if self._tree:
            self._ended(self._call.close_call(None))
        else:
            self._worker.abort()

    def _write_next_chunk(self) -> None:
        """The next part where the one before went out: a thousand copies of a bundle do not fit into memory."""
        if self._rest and self._out <= 0:
            part, self._rest = self._rest[:CHUNK], self._rest[CHUNK:]
            self._out = len(part)
            self._worker.write(bytes(part))


class ConnectionEngine(EventHandler):  # type: ignore[misc]
    """Makes calls, so many at a time. Ctrl-C is for us alone: an ssh that got it could not say how its run ended."""

    def __init__(
        self,
        rsh: str,
        connect_s: float,
        take_answer: Callable[[NodeAnswer], None],
        every: Callable[[], None],
        *,
        shared: bool,
    ) -> None:
        """`take_answer` gets each answer as it comes; `every` is called a few times a second. `shared`: the nodes
        have the bundle, and nothing need be sent to them: ClusterShell's tree will do, where the site has one.
        """
        check_clustershell_version()
        logging.getLogger("ClusterShell").addHandler(logging.NullHandler())
        logging.getLogger("ClusterShell").propagate = False
        self._take_answer, self._every = take_answer, every
        self._task = task_self()
        for name in ("stdout_msgtree", "stderr_msgtree"):
            self._task.set_default(name, False)
        srun = Path(shlex.split(rsh)[0]).name.startswith("srun")
        self._task.set_info("srun_path" if srun else "ssh_path", rsh)
        self._task.set_info("connect_timeout", connect_s)
        self._task.set_info("command_timeout", 0)
        routes = not srun and any(Path(path).exists() for path in Task.TOPOLOGY_CONFIGS)
        self.tree = routes and shared  # nothing can be sent to a node once it began
        self._task.set_default("auto_tree", self.tree)
        ssh = _GatewayWorker if self.tree else _SshWorker
        self._task.set_default("distant_worker", _SrunWorker if srun else ssh)
        if routes and not shared:
            print_note(
                "topology.conf is not followed, each node is called from here: gateways need --bundle PATH"
            )
        self._waiting: dict[str, list[NodeCall]] = {}  # by rack
        self._open: dict[str, NodeCall] = {}
        self._racks: Mapping[str, str] = {}
        self._at_once = self._most = 1
        self._heard_s = 0.0  # when the launcher listened last
        self.interrupted = self._told_to_stop = False

    def run_calls(
        self, calls: Sequence[NodeCall], fanout: int, per_rack: int, racks: Mapping[str, str]
    ) -> None:
        """All of them, to their answers; after a Ctrl-C those under way are asked to stop, the others not begun.

        `fanout` at a time, and `per_rack` of each rack; nodes without a rack share one. As many more are made
        ready meanwhile, where their errand says how.
        """
        self._task.set_info("fanout", fanout)
        self._waiting = {}
        for call in reversed(calls):
            self._waiting.setdefault(racks.get(call.node, ""), []).append(call)
        timer = self._task.timer(TICK_S, handler=self, interval=TICK_S, autoclose=True)
        self._most, self._at_once, self._racks = fanout, per_rack, racks
        self._heard_s = time.monotonic()
        try:
            with handle_signals_by(self._on_signal), hold_back_signals():  # where a thread gets it
                self._start_waiting_calls()
                if self._open:
                    self._task.resume()
        finally:
            timer.invalidate()

    def ev_timer(self, _timer: object) -> None:
        if self._told_to_stop or signal.sigtimedwait(STOPS, 0) is not None:
            self._interrupt_calls()
        now = time.monotonic()
        late_s = now - self._heard_s - TICK_S
        self._heard_s = now
        for call in list(self._open.values()):
            if late_s > TICK_S:
                call.discount_deaf_time(late_s)
            call.give_up_if_silent()
        self._start_waiting_calls()
        self._every()
        if self.tree and not self._open:
            self._task.abort()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._told_to_stop = True

    def _interrupt_calls(self) -> None:
        if self.interrupted:
            return
        self.interrupted = True
        for call in (call for calls in self._waiting.values() for call in calls):
            self._take_answer(call.close_call(None))
        self._waiting.clear()
        for call in list(self._open.values()):
            call.ask_to_stop()

    def _start_waiting_calls(self) -> None:
        busy = Counter(self._racks.get(node, "") for node in self._open)
        starting = 0 if self.tree else sum(call.is_starting for call in self._open.values())
        for rack, waiting in self._waiting.items():
            while waiting and len(self._open) < self._most and starting < MAX_STARTING:
                if busy[rack] >= (self._at_once if waiting[-1].going else 2 * self._at_once):
                    break
                call = waiting.pop()
                busy[rack] += 1
                starting += not self.tree
                self._open[call.node] = call
                _Connection(call, self._close_call, tree=self.tree).open(self._task)
        at_work = Counter(self._racks.get(node, "") for node, call in self._open.items() if call.going)
        for node, call in list(self._open.items()):  # in the order in which they were begun
            rack = self._racks.get(node, "")
            if not call.going and at_work[rack] < self._at_once:
                at_work[rack] += 1
                call.let_command_start()

    def _close_call(self, answer: NodeAnswer) -> None:
        if self._open.pop(answer.node, None) is not None:
            self._take_answer(answer)
            self._start_waiting_calls()
