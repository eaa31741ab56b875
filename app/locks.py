"""Locks that say who holds them: one measuring run a host, one change a target."""

from __future__ import annotations

import fcntl
import hashlib
import os
import urllib.parse
from pathlib import Path

import msgspec

from app.failure import Failure
from app.process import identity, start_time
from app.state import private, runtime_dir


class Holder(msgspec.Struct, frozen=True):
    """Who holds a lock: for the one who has to wait."""

    pid: int
    start: int
    command: str
    since: str


class Held(Failure):
    """Somebody else holds the lock; the text says who."""

    def __init__(self, what: str, holder: Holder | None) -> None:
        self.holder = holder
        if holder is None:
            super().__init__(f"{what}: another hostdx is at it; wait for its end")
            return
        who = f"pid {holder.pid} (`{holder.command}`, since {holder.since})"
        super().__init__(
            f"{what}: {who} is at it; wait for its end, or stop it with `kill -INT {holder.pid}`"
        )


class Lock:
    """A lock file in the run-time directory. It is released with the process, however that ends."""

    def __init__(self, name: str, what: str, command: str, since: str) -> None:
        """Takes it at once, or raises Held. `what` begins the line that the second one reads."""
        path = private(runtime_dir(), 0o755) / f"{name}.lock"
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise Failure(f"{path}: the lock cannot be made: {error.strerror}") from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = _holder(self._descriptor)
            os.close(self._descriptor)
            raise Held(what, holder) from None
        me = identity()
        data = msgspec.json.encode(Holder(me.pid, me.start, command[:200], since))
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, data, 0)
        except OSError:
            pass  # a full run-time directory: the lock holds, only nobody can read by whom

    def release(self) -> None:
        try:
            os.ftruncate(self._descriptor, 0)
        except OSError:
            pass
        os.close(self._descriptor)


def target_name(target: str) -> str:
    """A lock's name for what is changed: `/sys/block/sda/queue/scheduler` by whatever link it was reached."""
    real = os.path.realpath(target) if target.startswith("/") else target
    quoted = urllib.parse.quote(real, safe="")
    if len(quoted) > 180:
        quoted = quoted[:100] + hashlib.sha256(real.encode("utf-8", "surrogateescape")).hexdigest()
    return f"target-{quoted}"


def measuring(command: str, since: str) -> Lock:
    """One run a host: other users' are looked for too, each user's lock lying in a directory of its own."""
    what = "another run measures on this host"
    lock = Lock("measuring", what, command, since)
    for path in _others():
        holder = _living(path)
        if holder is not None:
            lock.release()
            raise Held(what, holder)
    return lock


def _others() -> list[Path]:
    """Everybody's lock but ours; none where the run-time directory was set to somewhere of its own, as in tests."""
    own = runtime_dir()
    usual = own in (Path("/run/hostdx"), Path(f"/tmp/hostdx-{os.geteuid()}")) or own.parent.parent == Path(
        "/run/user"
    )
    if not usual:
        return []
    found = [Path("/run/hostdx"), *Path("/run/user").glob("*/hostdx"), *Path("/tmp").glob("hostdx-*")]
    return [directory / "measuring.lock" for directory in found if directory != own]


def _living(path: Path) -> Holder | None:
    """Who holds another user's lock, by what the file says: a process of its owner, with that start time. It is not
    locked to find out: who may lock it could keep its owner from measuring."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        holder = _holder(descriptor)
        owner = os.fstat(descriptor).st_uid
    finally:
        os.close(descriptor)
    if holder is None or start_time(holder.pid) != holder.start:
        return None
    try:
        return holder if Path(f"/proc/{holder.pid}").stat().st_uid == owner else None
    except OSError:
        return None


def _holder(descriptor: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=Holder)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def holder_of_measuring() -> Holder | None:
    """Who measures now, as far as the lock file tells; None when it is free."""
    path = Path(runtime_dir(), "measuring.lock")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except OSError:
        return _holder(descriptor)
    finally:
        os.close(descriptor)
