"""What runs on a node: takes the bundle in, runs one `hostdx` command from it, hands its output on, clears up.

It crosses the connection as text and is run by the node's own Python (3.11 or newer): standard library only. What it
says itself are lines that begin with MARK; all others are the command's, JSON. Standard input stays open while somebody
waits: its end is the order to stop, for nothing else tells a node that the connection is gone.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import time

TYPE_CHECKING = False  # the module `typing` takes a tenth of the start
if TYPE_CHECKING:
    from typing import IO, TypedDict

    class AgentOrder(TypedDict):
        """`path`: of a bundle that lies here; else `size` bytes of it follow. `records`: a run, tied to us.
        `begin_s`: seconds since 1970, 0 is at once. `ahead`: a command whose output nobody reads: it makes
        ready (the bundle is unpacked and compiled); then a byte is waited for."""

        node: str
        argv: list[str]
        size: int
        sha256: str
        path: str
        records: bool
        most: int
        begin_s: float
        ahead: list[str]


MARK = b"#hostdx-fleet "
PREFIX = "hostdx-fleet-"
FILE = "hostdx.pyz"
MAX_BUNDLE_BYTES = 256 << 20  # bytes
ROOM_FACTOR = 8  # times the bundle: packed, unpacked and compiled
STOPPING_S = 60.0  # a run promises 2 s; a stuck disk keeps it longer
MAX_LAST_WORDS_BYTES = 2000  # bytes of the command's last words
CHUNK = 1 << 16


class AgentTrouble(Exception):
    """Why nothing was run here."""


def write_fields_as_json(**fields: object) -> None:
    write_stdout_or_drop(MARK + json.dumps(fields).encode() + b"\n")


def write_stdout_or_drop(data: bytes) -> None:
    """Lost where nobody reads any more: the command is ended all the same, with its changes undone."""
    try:
        while data:
            data = data[os.write(1, data) :]
    except OSError:
        pass


def candidate_bundle_folders() -> list[str]:
    home = os.path.expanduser("~")  # noqa: PTH111
    return [place for place in ("/dev/shm", os.environ.get("TMPDIR", ""), home) if place.startswith("/")]


def delete_dead_agents_folders(parent: str) -> None:
    """What an agent that was killed left; its command may still be at work, and holds the lock then."""
    mine = f"{PREFIX}{os.geteuid()}-"
    try:
        names = [name for name in os.listdir(parent) if name.startswith(mine)]  # noqa: PTH208
    except OSError:
        return
    for name in names:
        try:
            held = lock_folder(f"{parent}/{name}")
        except OSError:
            continue
        shutil.rmtree(f"{parent}/{name}", ignore_errors=True)
        os.close(held)


def lock_folder(folder: str) -> int:
    """Raises OSError where somebody is at work in it, or where it is no directory of ours."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(held)
        if status.st_uid != os.geteuid() or not os.path.samestat(status, os.lstat(folder)):
            raise OSError("another directory")
    except OSError:
        os.close(held)
        raise
    return held


def make_locked_folder(bundle_bytes: int) -> tuple[str, int]:
    """A private directory (mode 700) where programs may be executed, and the lock on it. Raises Trouble."""
    refused = []
    for place in candidate_bundle_folders():
        delete_dead_agents_folders(place)
        try:
            space = os.statvfs(place)
            if space.f_flag & os.ST_NOEXEC:
                refused.append(f"{place}: noexec")
                continue
            if space.f_bavail * space.f_frsize < bundle_bytes * ROOM_FACTOR:
                refused.append(f"{place}: less than {bundle_bytes * ROOM_FACTOR >> 20} MiB free")
                continue
            folder = f"{place}/{PREFIX}{os.geteuid()}-{os.urandom(8).hex()}"
            os.mkdir(folder, 0o700)  # noqa: PTH102
            return folder, lock_folder(folder)
        except OSError as error:
            refused.append(f"{place}: {error.strerror}")
    raise AgentTrouble(f"no place for the bundle: {'; '.join(refused)}")


def receive_and_check_bundle(source: IO[bytes], asked: AgentOrder, folder: str) -> str:
    """The bundle's path here, checked. Raises Trouble, OSError."""
    size, path = asked["size"], f"{folder}/{FILE}"
    left, digest = size, hashlib.sha256()
    with open(path, "xb") as file:  # noqa: PTH123
        os.fchmod(file.fileno(), 0o600)
        while left and (part := source.read(min(left, CHUNK))):
            digest.update(part)
            file.write(part)
            left -= len(part)
    if left or digest.hexdigest() != asked["sha256"]:
        raise AgentTrouble(f"the bundle came damaged: {size - left} of {size} bytes, or another SHA-256")
    return path


def open_regular_file(path: str) -> int:
    """A descriptor to read. Raises Trouble where it is no file, OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise AgentTrouble(f"{path} is no file")
    return fd


def environment_and_state_folder(folder: str, node: str) -> tuple[dict[str, str], str]:
    """With a cache of its own. A user's home may be all nodes' own: then the journals must not lie in one directory."""
    variables = {**os.environ, "XDG_CACHE_HOME": folder}
    if os.geteuid() == 0 or "XDG_STATE_HOME" in os.environ:
        return variables, ""
    state = os.path.expanduser(f"~/.local/state/hostdx-fleet/{node}")  # noqa: PTH111
    return {**variables, "XDG_STATE_HOME": state}, state


class AgentCommand:
    """The `hostdx` that was asked for, and its output on its way."""

    def __init__(
        self, argv: list[str], env: dict[str, str], held: int, most: int, *, hands_on_output: bool = True
    ) -> None:
        """`hands_on_output`: its output is handed on."""
        # its pipes are read to the end; the lock goes with it, should this process be killed
        self._process = subprocess.Popen(
            argv, env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            pass_fds=(held,), start_new_session=True,
        )  # fmt: skip
        self._left = most
        self._hands_on_output = hands_on_output
        self._last_words = b""
        self._fresh = True  # the last byte handed on ended a line
        self._stop_s: float | None = None

    @property
    def is_stopped(self) -> bool:
        return self._stop_s is not None

    def stop(self) -> None:
        if not self.is_stopped:
            self._stop_s = time.monotonic()
            self._process.send_signal(signal.SIGINT)

    @property
    def _is_overdue_to_stop(self) -> bool:
        return self._stop_s is not None and time.monotonic() > self._stop_s + STOPPING_S

    def pump_output(self, wake_fd: int) -> dict[str, object]:
        """Return how it ended."""
        out, err = self._process.stdout, self._process.stderr
        assert out is not None and err is not None
        watched = {out.fileno(), err.fileno(), wake_fd, 0}
        closed_s = 0.0
        while watched & {out.fileno(), err.fileno()} and not self._is_overdue_to_stop:
            for ready in select.select(sorted(watched), [], [], 1.0)[0]:
                data = os.read(ready, CHUNK)
                if ready == out.fileno():
                    self._pass_on_or_stop(data)
                elif ready == err.fileno():
                    self._last_words = (self._last_words + data)[-MAX_LAST_WORDS_BYTES:]
                elif ready == wake_fd or not data:
                    self.stop()
                if not data:
                    watched.discard(ready)
        status = self._process.poll()
        while status is None and not self._is_overdue_to_stop:  # its output is closed, and it may live on
            if select.select([wake_fd], [], [], 0.05)[0]:
                os.read(wake_fd, CHUNK)
                self.stop()
            elif not closed_s:
                closed_s = time.monotonic()
            elif time.monotonic() > closed_s + STOPPING_S:
                self.stop()
            status = self._process.poll()
        if status is None:
            return {"left": self._process.pid, "said": self._last_words_text()}
        return {"exit": status, "said": self._last_words_text(), "cut": self._left < 0}

    def _pass_on_or_stop(self, data: bytes) -> None:
        self._left -= len(data)
        # our last word begins a line, also where the output was cut within one
        if not data and not self._fresh:
            write_stdout_or_drop(b"\n")
        elif self._left < 0:
            self.stop()
        elif data and self._hands_on_output:
            write_stdout_or_drop(data)
            self._fresh = data.endswith(b"\n")

    def _last_words_text(self) -> str:
        return self._last_words.decode("utf-8", "backslashreplace")


def route_stop_signals_to_fd() -> int:
    """A descriptor that can be read from when this process is to end: whoever started it may have blocked signals."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    return reader


def main(source: IO[bytes]) -> None:
    wake = route_stop_signals_to_fd()
    asked: AgentOrder = json.loads(source.readline())
    write_fields_as_json(hello=1, python=f"cp3{sys.version_info[1]}{sys.abiflags}-{os.uname().machine}")
    folder, held = "", -1
    try:
        if not 0 < asked["size"] <= MAX_BUNDLE_BYTES:
            raise AgentTrouble("a bundle of no size that one has")
        folder, held = make_locked_folder(asked["size"])
        if asked["path"]:
            with os.fdopen(open_regular_file(asked["path"]), "rb") as shared:
                bundle = receive_and_check_bundle(shared, asked, folder)
        else:
            bundle = receive_and_check_bundle(source, asked, folder)
        env, state = environment_and_state_folder(folder, asked["node"])
        start = [sys.executable, "-I", bundle]
        if asked["ahead"]:
            first = AgentCommand([*start, *asked["ahead"]], env, held, asked["most"], hands_on_output=False)
            first.pump_output(wake)
            write_fields_as_json(ready=1)
            if first.is_stopped or select.select([0, wake], [], [])[0] != [0] or not os.read(0, 1):
                raise AgentTrouble("told to stop before it began")
        argv = [*start, *asked["argv"]]
        if asked["records"]:  # told to stop where this process is killed
            argv += ["--recording", f"{folder}/recording.jsonl", "--tied", str(os.getpid())]
        write_fields_as_json(began=1)
        while (early := asked["begin_s"] - time.time()) > 0:
            if select.select([0, wake], [], [], early)[0]:
                raise AgentTrouble("told to stop before it began")
        ended = AgentCommand(argv, env, held, asked["most"]).pump_output(wake)
        if "left" in ended:
            folder = ""  # it still works there; the next one clears up
        elif state:
            delete_empty_folders_in(state)
    except (AgentTrouble, OSError) as why:
        ended = {"trouble": str(why)}
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
    write_fields_as_json(**ended)


def delete_empty_folders_in(state: str) -> None:
    """The directories in which nothing was kept."""
    for below in ("hostdx/journal", "hostdx/recordings", "hostdx", ""):
        try:
            os.rmdir(f"{state}/{below}")  # noqa: PTH106
        except OSError:
            continue


if __name__ == "hostdx_agent":
    main(SOURCE)  # type: ignore[name-defined]  # noqa: F821 (whoever runs this text gives it)
