"""`Popen` and `run` as in subprocess, for `python -P -m app.cli …` without the imports of a start: a parent process
that has imported hostdx forks once for each command.

The command becomes a child of the test process, with its own pid, arguments, environment, directory, streams and exit
status. A real start is made instead where a fork would differ: another locale, other PYTHON* variables, other options
of Popen, or a test process that has changed what its children inherit. Tests of the start itself use subprocess, and
tests that find a process by its words or by /proc/PID/environ: a fork has those of its parent (`list_commands`).
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import importlib
import os
import pickle
import pkgutil
import resource
import runpy
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from probes.reading.process_stat import is_running

ROOT = Path(__file__).resolve().parents[2]
LOCALE = "C.UTF-8"
# hostdx's word by which it is known in /proc/PID/cmdline: a fork has the words of its parent
PARENT = (sys.executable, "-P", str(Path(__file__).resolve()), "app.cli")
OF_COMMANDS = ("app.cli", "app.recordings", "app.report", "app.run", "app.undo", "scenarios")
OF_THE_SCREEN = ("app.tui",)
PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
HEADER_BYTES = 8
PARENT_SECONDS = 10.0
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


class Request(NamedTuple):
    argv: list[str]
    environment: dict[str, str]
    directory: str
    new_session: bool
    has_terminal: bool = False  # standard input becomes the session's controlling terminal


class ForkingParent:
    """The process that forks, and this process' end of the connection to it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.inherited = inherited_state()
        self.environments: dict[int, dict[str, str]] = {}  # by the pid of the command
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [*PARENT, str(theirs.fileno())],
                env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
                | {"LC_ALL": LOCALE},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def fork(self, request: Request, streams: Sequence[int]) -> int:
        """Return the pid of a child of this process. Raises EOFError where the parent has ended."""
        data = pickle.dumps(request)
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        with self._lock:
            prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._socket, [len(data).to_bytes(HEADER_BYTES)], list(streams))
                self._socket.sendall(data)
                answer = self._socket.recv(HEADER_BYTES, socket.MSG_WAITALL)
            finally:
                prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        if len(answer) < HEADER_BYTES:
            raise EOFError(f"{PARENT}: has ended ({self._process.poll()})")
        pid = int.from_bytes(answer)
        self.environments[pid] = request.environment
        return pid


_parent: ForkingParent | None = None


def parent_of_this_process() -> ForkingParent:
    """Return the parent, started on first use; it ends when this process does."""
    global _parent
    if _parent is None or _parent.owner != os.getpid():
        _parent = ForkingParent()
    return _parent


def inherited_state() -> tuple[object, ...]:
    """Return what a child takes over from this process and no request carries."""
    mask = os.umask(0)
    os.umask(mask)
    limits = [resource.getrlimit(getattr(resource, name)) for name in dir(resource) if "RLIMIT_" in name]
    spaces = [os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES]  # noqa: PTH115
    groups = Path("/proc/self/cgroup").read_text("ascii", "backslashreplace")
    users = (os.getresuid(), os.getresgid(), os.getgroups())
    ignored = [number for number in range(1, 32) if signal.getsignal(number) == signal.SIG_IGN]
    return (mask, os.sched_getaffinity(0), os.nice(0), limits, spaces, groups, users, ignored)


def must_start(argv: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether a fork would differ from a start."""
    words = [name for name in environment if name.startswith("PYTHON") and name != "PYTHONPATH"]
    locale = next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environment.get(name))), "")
    forkable = len(argv) > 3 and tuple(argv[:2]) == PARENT[:2] and argv[2] in ("-m", "-c")
    if not forkable or words or locale != LOCALE:
        return True
    return parent_of_this_process().inherited != inherited_state()


def list_commands(name: str, value: str) -> list[int]:
    """Return the pids of the commands that run with that variable: /proc/PID/environ of a fork does not tell it."""
    made = {} if _parent is None else _parent.environments
    return [pid for pid, told in made.items() if told.get(name) == value and is_running(pid)]


class Popen(subprocess.Popen[Any]):
    """A command whose pid is a child of this process, as every other Popen has it."""

    def _execute_child(self, *given: Any) -> None:
        """CPython's own hook: the arguments are those of its signature (3.11 to 3.14)."""
        argv, executable, before, _close, kept, directory, environment, *_windows, shell = given[:10]
        reads, _, _, writes, _, errors = given[10:16]
        _restore, *as_other, new_session, group = given[16:]
        words = argv if isinstance(argv, str) else [os.fspath(word) for word in argv]
        told = os.environ if environment is None else environment
        plain = not shell and executable is None and before is None and not kept and group == -1
        plain = plain and all(value in (None, -1) for value in as_other)
        if not plain or must_start(words, told) or not Path(directory or ".").is_dir():
            return super()._execute_child(*given)
        request = Request(words, dict(told), os.path.abspath(directory or "."), new_session)  # noqa: PTH100
        streams = [own if own != -1 else number for number, own in enumerate((reads, writes, errors))]
        try:
            self.pid = parent_of_this_process().fork(request, streams)
        finally:
            self._close_pipe_fds(*given[10:16])
        self._child_created = True
        return None


def run(
    argv: Sequence[str],
    *,
    input: str | bytes | None = None,
    timeout: float | None = None,
    check: bool = False,
    capture_output: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """As subprocess.run."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen(argv, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(argv, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def fork_on_terminal(argv: Sequence[str], environment: Mapping[str, str], terminal: int) -> int:
    """Return the pid of a command on a terminal, as pty.fork does. Raises ValueError where it must be started."""
    if must_start(argv, environment):
        raise ValueError(f"{argv}: a fork would differ from a start")
    request = Request(list(argv), dict(environment), str(Path.cwd()), new_session=True, has_terminal=True)
    return parent_of_this_process().fork(request, (terminal,) * 3)


def import_packages(names: Sequence[str]) -> None:
    """Import all their modules. Raises RuntimeError where an import starts a thread, which no fork would have."""
    for name in names:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208
        raise RuntimeError(f"an import has started a thread: {threading.enumerate()}")
    gc.collect()
    gc.freeze()  # no collection in a fork touches, and thereby copies, what was imported


def fork_for_grandparent() -> int:
    """Return the pid to the caller and 0 to the new process, which becomes a child of the caller's parent."""
    reads, writes = os.pipe()
    between = os.fork()
    if between == 0 and (child := os.fork()):
        os.write(writes, child.to_bytes(HEADER_BYTES))
        os._exit(0)
    os.close(writes)
    child = int.from_bytes(os.read(reads, HEADER_BYTES)) if between else 0
    os.close(reads)
    if between:
        os.waitpid(between, 0)
    return child


def become(request: Request, streams: Sequence[int], parent: int) -> None:
    """Make this fork what a started interpreter would be."""
    end = time.monotonic() + PARENT_SECONDS
    while os.getppid() != parent:
        if time.monotonic() > end:
            os._exit(127)  # the test process was killed meanwhile
        time.sleep(0.0002)
    if request.new_session:
        os.setsid()
    os.chdir(request.directory)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        os.close(stream)
    if request.has_terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for name, mode, number in (("stdin", "r", 0), ("stdout", "w", 1), ("stderr", "w", 2)):
        old = getattr(sys, name)
        new = open(number, mode, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115
        new.buffer.raw.name = f"<{name}>"
        new.reconfigure(line_buffering=name == "stderr" or new.isatty())
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.path[:0] = [place for place in request.environment.get("PYTHONPATH", "").split(os.pathsep) if place]
    sys.orig_argv[:] = request.argv
    gc.enable()


def serve(connection: socket.socket) -> Request:
    """Fork for each request. Return in each fork; end the process where nobody is left who asks."""
    owner = os.getppid()
    while True:
        header, streams, _, _ = socket.recv_fds(connection, HEADER_BYTES, 3)
        if not header:
            os._exit(0)
        request = pickle.loads(connection.recv(int.from_bytes(header), socket.MSG_WAITALL))
        if request.has_terminal:
            import_packages(OF_THE_SCREEN)
        child = fork_for_grandparent()
        if child == 0:
            connection.close()
            become(request, streams, owner)
            return request
        for stream in streams:
            os.close(stream)
        connection.sendall(child.to_bytes(HEADER_BYTES))


def run_as_python(argv: Sequence[str]) -> None:
    """`python -P -m MODULE …` or `python -P -c CODE …`."""
    _, _, how, what, *words = argv
    if how == "-m":
        sys.argv[:] = [what, *words]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
        return
    sys.argv[:] = ["-c", *words]
    sys.modules["__main__"] = module = types.ModuleType("__main__")
    exec(compile(what, "<string>", "exec"), module.__dict__)


if __name__ == "__main__":
    gc.disable()
    import_packages(OF_COMMANDS)
    run_as_python(serve(socket.socket(fileno=int(sys.argv[2]))).argv)
