"""Locks: they say who holds them, go with the process, and are not fooled by what lies there."""

import os
import stat
from pathlib import Path

import msgspec
import pytest

from hostdx.app import locks, state
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.process import ProcessIdentity, boot_id, is_living, process_identity
from hostdx.probes.reading.process_stat import read_start_ticks

pytestmark = pytest.mark.usefixtures("own_state")


@pytest.fixture(autouse=True)
def these_tests_are_hostdx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "is_running_hostdx", lambda pid: pid == os.getpid())


def lock_measuring(scenario: str = "null", since: str = "12:00:01 UTC") -> locks.LockFile:
    warnings: list[str] = []
    lock = locks.lock_measuring(scenario, since, warnings.append)
    assert warnings == []
    return lock


def claim_path(tmp_path: Path) -> Path:
    return tmp_path / "run/hostdx/measuring.json"


def test_the_second_is_told_who(tmp_path: Path) -> None:
    first = lock_measuring("storage", "12:00:00 UTC")
    with pytest.raises(
        locks.LockHeld, match=rf"pid {os.getpid()} \(hostdx run storage, since 12:00:00 UTC\).*kill -INT"
    ):
        lock_measuring()
    first.release_lock()
    assert not claim_path(tmp_path).exists()
    lock_measuring().release_lock()


def test_it_goes_with_the_process(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        locks.lock_measuring("storage", "x", print)
        os.kill(os.getpid(), 9)
    os.waitpid(pid, 0)
    assert claim_path(tmp_path).exists()
    lock_measuring().release_lock()


def test_nobody_else_can_hold_the_lock(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        own_lock = lock_measuring()
    finally:
        os.umask(before)
    lock = tmp_path / "run/hostdx/measuring.lock"
    assert [stat.S_IMODE(p.stat().st_mode) for p in (lock, claim_path(tmp_path))] == [0o600, 0o644]
    own_lock.release_lock()
    lock.chmod(0o644)  # as an earlier version made it
    own_lock = lock_measuring()
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    own_lock.release_lock()


def test_a_pid_that_is_another_process_by_now_is_not_to_be_signalled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = lock_measuring()
    text = claim_path(tmp_path).read_text()
    claim_path(tmp_path).write_text(text.replace(f'"start":{process_identity().start}', '"start":1'))
    with pytest.raises(locks.LockHeld) as error_info:
        lock_measuring()
    assert "kill" not in error_info.value.text and str(os.getpid()) not in error_info.value.text
    claim_path(tmp_path).write_text(text)
    monkeypatch.setattr(locks, "is_running_hostdx", lambda pid: False)
    with pytest.raises(locks.LockHeld) as error_info:
        lock_measuring()
    assert "kill" not in error_info.value.text
    lock.release_lock()


@pytest.mark.parametrize("content", [b"\xff{", b"", b"[" * 5000, b'{"pid": "1"}'])
def test_a_claim_with_rubbish_in_it(tmp_path: Path, content: bytes) -> None:
    lock = lock_measuring()
    claim_path(tmp_path).write_bytes(content)
    with pytest.raises(locks.LockHeld, match="another hostdx"):
        lock_measuring()
    lock.release_lock()


def test_one_name_for_one_target(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert locks.lock_name(str(tmp_path / "link")) == locks.lock_name(str(tmp_path / "real"))
    assert "/" not in locks.lock_name("/sys/" + "x" * 500) and len(locks.lock_name("/" + "x" * 5000)) < 255


def test_a_directory_that_somebody_else_made_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run/hostdx").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Failure, match="not a directory"):
        lock_measuring()
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with pytest.raises(Failure, match="others may write"):
        state.make_private_dir(open_to_all)


def test_where_state_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert state.state_dir() == tmp_path / "state/hostdx"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")  # to be ignored, says the XDG specification
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("HOME", "/home/somebody")  # what sudo leaves
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert (state.state_dir(), state.runtime_dir()) == (Path("/var/lib/hostdx"), Path("/run/hostdx"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert state.state_dir() == Path("/home/somebody/.local/state/hostdx")
    assert state.runtime_dir() == Path("/tmp/hostdx-1000")


def test_a_process_is_more_than_its_pid() -> None:
    me = process_identity()
    assert is_living(me)
    assert not is_living(ProcessIdentity(me.pid, me.start + 1, me.boot_id))
    assert not is_living(ProcessIdentity(me.pid, me.start, "another boot"))
    assert not is_living(ProcessIdentity(0, 0, boot_id()))
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert read_start_ticks(pid) is None  # a zombie is dead
    os.waitpid(pid, 0)


def test_a_careless_umask_opens_nothing(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = state.make_private_dir(state.journal_dir())
    finally:
        os.umask(before)
    assert [p.stat().st_mode & 0o777 for p in (folder, folder.parent)] == [0o700, 0o700]
    folder.parent.chmod(0o777)
    with pytest.raises(Failure, match="others may write"):
        state.make_private_dir(state.journal_dir())


def of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid: int, **fields: object) -> None:
    """Another user's claim, as far as one user can make it: the process is ours, and so is the file."""
    me = process_identity()
    holder = {"pid": me.pid, "start": me.start, "scenario": "storage", "since": "12:00:00 UTC", **fields}
    other_claim = tmp_path / "theirs.json"
    other_claim.write_bytes(msgspec.json.encode(holder))
    monkeypatch.setattr(locks, "_claims_of_other_users", lambda: [tmp_path / "missing", other_claim])
    monkeypatch.setattr(
        locks, "runtime_dir", lambda: tmp_path / "run" / "hostdx"
    )  # root keeps out of a user's
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(
        locks, "make_private_dir", lambda path, mode: (path.mkdir(parents=True, exist_ok=True), path)[1]
    )


def test_another_users_run_keeps_a_user_from_measuring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_another(tmp_path, monkeypatch, 1000)
    with pytest.raises(locks.LockHeld, match="hostdx run storage"):
        lock_measuring()
    of_another(tmp_path, monkeypatch, 1000, start=1)  # that process is gone
    lock_measuring().release_lock()


def test_root_is_warned_and_not_kept_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_another(tmp_path, monkeypatch, 0)
    warnings: list[str] = []
    locks.lock_measuring("null", "12:00:01 UTC", warnings.append).release_lock()
    assert len(warnings) == 1 and "hostdx run storage" in warnings[0] and "kill" not in warnings[0]


@pytest.mark.parametrize(
    "fields",
    [{"scenario": "x\x1b]0;owned\x07"}, {"since": "now; run rm -rf /"}, {"scenario": ""}, {"pid": 0}],
)
@pytest.mark.parametrize("uid", [0, 1000])
def test_what_another_user_wrote_is_words_of_ours_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, object], uid: int
) -> None:
    of_another(tmp_path, monkeypatch, uid, **fields)
    lock_measuring().release_lock()


def test_a_place_of_its_own_is_not_the_hosts() -> None:
    assert locks._claims_of_other_users() == []


def test_where_others_locks_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/12345")
    assert Path("/run/hostdx/measuring.json") in locks._claims_of_other_users()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert Path("/run/hostdx/measuring.json") not in locks._claims_of_other_users()


def test_who_measures_now_is_known_before_a_second_run_is_started() -> None:
    assert locks.measuring_lock_holder() is None
    lock = lock_measuring("storage")
    measuring_holder = locks.measuring_lock_holder()
    assert measuring_holder is not None and (measuring_holder.pid, measuring_holder.scenario) == (
        os.getpid(),
        "storage",
    )
    lock.release_lock()
    assert locks.measuring_lock_holder() is None
