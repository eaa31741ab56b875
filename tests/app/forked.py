"""`Popen` and `run` as in subprocess, for `python -P -m hostdx.app.cli …` without the imports of a start.

A parent process that has imported hostdx forks once for each command. `OwnModulePopen` does so for the children that
hostdx starts in the test process (`own_module`).

The command becomes a child of the test process, with its own pid, arguments, environment, directory, streams and exit
status. A real start is made instead where a fork would differ: another locale, other PYTHON* variables, other options
of Popen, or a test process that has changed what its children inherit. Tests of the start itself use subprocess, and
tests that find a process by its words or by /proc/PID/environ: a fork has those of its parent (`list_commands`).
"""

import atexit
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
from typing import Any, NamedTuple, NoReturn

from hostdx.probes.children import start
from hostdx.probes.reading.process_stat import is_running

ROOT = Path(__file__).resolve().parents[2]
LOCALE = "C.UTF-8"
# hostdx's word by which it is known in /proc/PID/cmdline: a fork has the words of its parent
PARENT = (sys.executable, "-P", str(Path(__file__).resolve()), "hostdx.app.cli")
OF_COMMANDS = (
    "hostdx.app.cli",
    "hostdx.app.recordings",
    "hostdx.app.report",
    "hostdx.app.run",
    "hostdx.app.undo",
    "hostdx.scenarios",
)
OF_THE_SCREEN = ("hostdx.app.tui",)
OF_THE_PARENT = (
    "HOME",
    "PATH",
    "PYTHONPATH",
)  # no test's own state: it would be taken for a process of that test
OWN_MODULES = (
    "hostdx.app.undo.",
    "hostdx.probes.reading.hang_safe.",
)  # no bench: a fork's own forks take longer than a start's
PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
HEADER_BYTES = 8
PARENT_SECONDS = 10.0
LOST_OUTPUT = 120  # Python's exit status where the last flush fails
MAX_STREAMS = 16
MAX_STARTS = 20  # of own modules before a parent is started for them alone: its imports cost as much
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


class Request(NamedTuple):
    argv: list[str]
    environment: dict[str, str]
    directory: str
    new_session: bool
    has_terminal: bool = False  # standard input becomes the session's controlling terminal
    extra: tuple[int, ...] = ()  # the numbers of the streams after the first three


class ForkingParent:
    """The process that forks, and this process' end of the connection to it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.inherited = inherited_state()
        self.environments: dict[int, dict[str, str]] = {}  # by the pid of the command
        self._lock = threading.Lock()
        self._socket, parent_end = socket.socketpair()
        with parent_end:
            self._process = subprocess.Popen(
                [*PARENT, str(parent_end.fileno())],
                env={name: os.environ[name] for name in OF_THE_PARENT if name in os.environ}
                | {"LC_ALL": LOCALE},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[parent_end.fileno()],
            )

    def fork(self, request: Request, streams: Sequence[int]) -> int:
        """Return the pid of a child of this process. Raises EOFError where the parent has ended."""
        data = pickle.dumps(tuple(request))
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
    forkable = len(argv) > 3 and tuple(argv[:2]) == PARENT[:2] and argv[2] in ("-m", "-c", start.__file__)
    if not forkable or words or locale != LOCALE:
        return True
    return parent_of_this_process().inherited != inherited_state()


def list_commands(name: str, value: str) -> list[int]:
    """Return the pids of the commands that run with that variable: /proc/PID/environ of a fork does not tell it."""
    by_pid = {} if _parent is None else _parent.environments
    return [pid for pid, values in by_pid.items() if values.get(name) == value and is_running(pid)]


StartingPopen = subprocess.Popen  # whatever stands there later


class Popen(subprocess.Popen[Any]):
    """A command whose pid is a child of this process, as every other Popen has it."""

    def _execute_child(self, *args: Any) -> None:
        """CPython's own hook: the arguments are those of its signature (3.11 to 3.14)."""
        argv, executable, before, _close, extra, directory, environment, *_windows, shell = args[:10]
        reads, _, _, writes, _, errors = args[10:16]
        _restore, *as_other, new_session, group = args[16:]
        words = argv if isinstance(argv, str) else [os.fspath(word) for word in argv]
        variables = os.environ if environment is None else environment
        plain = not shell and executable is None and before is None and group == -1
        plain = plain and not set(extra) & {0, 1, 2} and len(extra) + 3 <= MAX_STREAMS
        plain = plain and all(value in (None, -1) for value in as_other)
        if not plain or must_start(words, variables) or not Path(directory or ".").is_dir():
            return super()._execute_child(*args)
        place = os.path.abspath(directory or ".")  # noqa: PTH100
        request = Request(words, dict(variables), place, new_session, extra=tuple(extra))
        streams = [fd if fd != -1 else number for number, fd in enumerate((reads, writes, errors))]
        streams += extra
        try:
            self.pid = parent_of_this_process().fork(request, streams)
        finally:
            self._close_pipe_fds(*args[10:16])
        self._child_created = True
        return None


class OwnModulePopen(Popen):
    """subprocess.Popen of a test process: forks what `own_module` names, once a parent is worth its imports."""

    starts = 0

    def _execute_child(self, *args: Any) -> None:
        argv = args[0]
        is_own = not isinstance(argv, str) and len(argv) > 3 and argv[2] == start.__file__
        if not is_own or not argv[3].startswith(OWN_MODULES) or not self._is_worth_a_parent():
            return StartingPopen._execute_child(self, *args)  # type: ignore[attr-defined, no-any-return]
        return super()._execute_child(*args)

    @classmethod
    def _is_worth_a_parent(cls) -> bool:
        if _parent is not None:
            return _parent.owner == os.getpid()
        cls.starts += 1
        return cls.starts > MAX_STARTS


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


def python_path(environment: Mapping[str, str]) -> list[str]:
    return [place for place in environment.get("PYTHONPATH", "").split(os.pathsep) if place]


def become_command(request: Request, streams: Sequence[int], parent: int) -> None:
    """Make this fork what a started interpreter would be."""
    end = time.monotonic() + PARENT_SECONDS
    while os.getppid() != parent:
        if time.monotonic() > end:
            os._exit(127)  # the test process was killed meanwhile
        time.sleep(0.0002)
    if request.new_session:
        os.setsid()
    os.chdir(request.directory)
    place_streams(streams, (0, 1, 2, *request.extra))
    if request.has_terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for name, mode, number in (("stdin", "r", 0), ("stdout", "w", 1), ("stderr", "w", 2)):
        old = getattr(sys, name)
        new = open(number, mode, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115
        new.buffer.raw.name = f"<{name}>"
        new.reconfigure(line_buffering=name == "stderr" or new.isatty())
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    for place in python_path(os.environ):
        sys.path.remove(place)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.path[:0] = python_path(os.environ)
    sys.orig_argv[:] = request.argv
    gc.enable()


def place_streams(streams: Sequence[int], numbers: Sequence[int]) -> None:
    """Give each stream its number, and close the old one."""
    above = max((*streams, *numbers)) + 1
    copies = [fcntl.fcntl(stream, fcntl.F_DUPFD_CLOEXEC, above) for stream in streams]
    for stream in streams:
        os.close(stream)
    for stream, number in zip(copies, numbers, strict=True):
        os.dup2(stream, number)
        os.close(stream)


def serve_forks(connection: socket.socket) -> Request:
    """Fork for each request. Return in each fork; end the process where nobody is left who asks."""
    owner = os.getppid()
    while True:
        header, streams, _, _ = socket.recv_fds(connection, HEADER_BYTES, MAX_STREAMS)
        if not header:
            os._exit(0)
        request = Request(*pickle.loads(connection.recv(int.from_bytes(header), socket.MSG_WAITALL)))
        if request.has_terminal:
            import_packages(OF_THE_SCREEN)
        child = fork_for_grandparent()
        if child == 0:
            connection.close()
            become_command(request, streams, owner)
            return request
        for stream in streams:
            os.close(stream)
        connection.sendall(child.to_bytes(HEADER_BYTES))


def run_as_python(argv: Sequence[str]) -> None:
    """`python -P -m MODULE …`, `python -P -c CODE …`, or what `own_module` gives."""
    _, _, mode, code, *words = argv
    if mode == start.__file__:
        sys.argv[:] = [mode, code, *words]
        start.main()
        return
    if mode == "-m":
        sys.argv[:] = [code, *words]
        runpy.run_module(code, run_name="__main__", alter_sys=True)
        return
    sys.argv[:] = ["-c", *words]
    sys.modules["__main__"] = module = types.ModuleType("__main__")
    exec(compile(code, "<string>", "exec"), module.__dict__)


def run_to_end(argv: Sequence[str]) -> NoReturn:
    """End as an interpreter does, but for the destructors of what is left: they would copy all of the parent's memory,
    which takes 35 ms.
    """
    number = 0
    try:
        run_as_python(argv)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if end.code is not None and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status, number = 1, signal.SIGINT if isinstance(error, KeyboardInterrupt) else 0
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    status = status if flush_streams() else LOST_OUTPUT
    if number:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(status & 0xFF)


def flush_streams() -> bool:
    """Return whether all output was taken."""
    try:
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except Exception as error:
        failure = {"exc_type": type(error), "exc_value": error, "exc_traceback": None, "err_msg": None}
        sys.unraisablehook(types.SimpleNamespace(**failure, object=sys.stdout))
        return False
    try:
        if sys.stderr is not None and not sys.stderr.closed:
            sys.stderr.flush()
    except Exception:
        return False
    return True


if __name__ == "__main__":
    gc.disable()
    import_packages(OF_COMMANDS)
    run_to_end(serve_forks(socket.socket(fileno=int(sys.argv[2]))).argv)
