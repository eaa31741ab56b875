"""Locks: one measuring run a host, one change a target. Nobody else can hold them; who holds one stands beside it.

The lock is a file of mode 0600: who may read a file may also lock it (flock(2)), and so keep its owner waiting. The
readable file beside it names a process and a scenario, never a command line: those hold passwords.
"""

import fcntl
import hashlib
import os
import re
import urllib.parse
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from hostdx.app.state import make_private_dir, runtime_dir
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.process import is_running_hostdx, process_identity
from hostdx.probes.files.safe_read import reopen_regular
from hostdx.probes.reading.process_stat import read_start_ticks

CLAIM_LIMIT = 4096  # bytes read of what somebody else wrote
MAX_NAMES = 20_000  # looked at in a shared temporary directory, where anybody makes as many as he likes
_WORDS = re.compile(r"[A-Za-z0-9:.+_ -]{1,80}", re.ASCII)


class LockHolder(msgspec.Struct, frozen=True):
    """Who holds a lock. `start`: clock ticks since boot; `since`: for a person."""

    pid: int
    start: int
    scenario: str
    since: str

    @property
    def is_plausible(self) -> bool:
        """Return what somebody else wrote is words of ours and no other text."""
        return self.pid > 0 and all(_WORDS.fullmatch(text) for text in (self.scenario, self.since))

    @property
    def is_living(self) -> bool:
        return read_start_ticks(self.pid) == self.start and is_running_hostdx(self.pid)


class LockHeld(Failure):
    """Somebody else holds the lock; the text says who, as far as that is known."""

    def __init__(self, subject: str, holder: LockHolder | None) -> None:
        if holder is None or not holder.is_living:
            super().__init__(f"{subject}: already running: another hostdx; wait until it ends")
            return
        super().__init__(
            f"{subject}: already running: {_lock_holder_text(holder)}; wait, or stop it with "
            f"`hostdx stop` or `kill -INT {holder.pid}`"
        )


class LockFile:
    """A lock file in the run-time directory. It is released with the process, however that ends."""

    def __init__(self, name: str, subject: str, scenario: str, since: str) -> None:
        """Takes it at once, or raises Held. `subject` begins the line that the second one reads."""
        path = make_private_dir(runtime_dir(), 0o755) / f"{name}.lock"
        self._claim = path.with_suffix(".json")
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            os.fchmod(self._descriptor, 0o600)  # one that an earlier version left
        except OSError as error:
            raise Failure(f"{path}: the lock cannot be made: {error.strerror}") from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            claim = _read_holder_and_user(self._claim)
            raise LockHeld(subject, claim[0] if claim is not None else None) from None
        me = process_identity()
        try:
            self._write_claim(msgspec.json.encode(LockHolder(me.pid, me.start, scenario, since)))
        except OSError:
            pass  # a full run-time directory: the lock holds, only nobody can read by whom

    def _write_claim(self, data: bytes) -> None:
        self._claim.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._claim, flags, 0o600)
        try:
            os.write(descriptor, data)
            os.fchmod(descriptor, 0o644)
        finally:
            os.close(descriptor)

    def release_lock(self) -> None:
        try:
            self._claim.unlink(missing_ok=True)
        except OSError:
            pass
        os.close(self._descriptor)


def lock_name(target: str) -> str:
    """A lock's name for what is changed: `/sys/block/sda/queue/scheduler` by whatever link it was reached."""
    real = os.path.realpath(target) if target.startswith("/") else target
    quoted = urllib.parse.quote(real, safe="", errors="surrogateescape")
    if len(quoted) > 180:
        quoted = quoted[:100] + hashlib.sha256(real.encode("utf-8", "surrogateescape")).hexdigest()
    return f"target-{quoted}"


def lock_measuring(scenario: str, since: str, warn: Callable[[str], None]) -> LockFile:
    """One run a host: other users' are looked for too, each user's lock lying in a directory of its own.

    Root believes no other user's claim: it warns, for two loads at a time disturb each other.
    """
    subject = "another run measures on this host"
    lock = LockFile("measuring", subject, scenario, since)
    for path in _claims_of_other_users():
        claim = _read_holder_and_user(path)
        if claim is None or not claim[0].is_plausible or not _is_living_process_of(*claim):
            continue
        holder, uid = claim
        if os.geteuid() != 0:
            lock.release_lock()
            raise LockHeld(subject, holder)
        warn(f"{subject}, says user {uid}: {_lock_holder_text(holder)}; the two may disturb each other")
    return lock


def measuring_lock_holder() -> LockHolder | None:
    """Whose run a second one would be refused for, told before it is started. Root believes his own claim only."""
    for path in (runtime_dir() / "measuring.json", *(_claims_of_other_users() if os.geteuid() != 0 else [])):
        claim = _read_holder_and_user(path)
        if claim is not None and claim[0].is_plausible and _is_living_process_of(*claim):
            return claim[0]
    return None


def _lock_holder_text(holder: LockHolder) -> str:
    return f"pid {holder.pid} (hostdx run {holder.scenario}, since {holder.since})"


def _claims_of_other_users() -> list[Path]:
    """Everybody's claim but ours; none where the run-time directory was set to somewhere of its own, as in tests."""
    own = runtime_dir()
    usual = own in (Path("/run/hostdx"), Path(f"/tmp/hostdx-{os.geteuid()}")) or own.parent.parent == Path(
        "/run/user"
    )
    if not usual:
        return []
    directories = [
        Path("/run/hostdx"),
        *(Path("/run/user", name, "hostdx") for name in _file_names_in("/run/user")),
    ]
    directories += [
        Path("/tmp", name) for name in _file_names_in("/tmp") if re.fullmatch(r"hostdx-[0-9]{1,10}", name)
    ]
    return [directory / "measuring.json" for directory in directories if directory != own]


def _file_names_in(directory: str) -> Iterator[str]:
    try:
        with os.scandir(directory) as entries:
            yield from (entry.name for entry in islice(entries, MAX_NAMES))
    except OSError:
        return


def _is_living_process_of(holder: LockHolder, uid: int) -> bool:
    """The claim is by the owner of the process that it names, and that process is a hostdx."""
    try:
        return holder.is_living and Path(f"/proc/{holder.pid}").stat().st_uid == uid
    except OSError:
        return False


def _read_holder_and_user(path: Path) -> tuple[LockHolder, int] | None:
    """Who says that he holds the lock, and which user wrote that; None where nobody does."""
    try:
        looked = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
        descriptor = reopen_regular(looked, str(path))
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        holder = msgspec.json.decode(os.pread(descriptor, CLAIM_LIMIT, 0), type=LockHolder)
        return holder, status.st_uid
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    finally:
        os.close(descriptor)
