"""Locks that say who holds them: one measuring run a host, one change a target."""

from __future__ import annotations

import fcntl
import hashlib
import os
import urllib.parse
from pathlib import Path

import msgspec

from app.failure import Failure
from app.process import identity
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
        path = private(runtime_dir()) / f"{name}.lock"
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
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
    return Lock("measuring", "another run measures on this host", command, since)


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
