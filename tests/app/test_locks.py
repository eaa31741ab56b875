"""Locks: they say who holds them, go with the process, and are not fooled by what lies there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app import locks, state
from app.failure import Failure
from app.process import Identity, boot_id, identity, lives, start_time


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))


def test_the_second_is_told_who() -> None:
    first = locks.measuring("hostdx run storage", "12:00:00 UTC")
    with pytest.raises(locks.Held, match=rf"pid {os.getpid()} \(`hostdx run storage`, since 12:00:00 UTC\)"):
        locks.measuring("hostdx run null", "12:00:01 UTC")
    holder = locks.holder_of_measuring()
    assert holder is not None and holder.pid == os.getpid()
    first.release()
    assert locks.holder_of_measuring() is None
    locks.measuring("hostdx run null", "12:00:02 UTC").release()


def test_it_goes_with_the_process() -> None:
    pid = os.fork()
    if pid == 0:
        locks.measuring("hostdx run storage", "x")
        os.kill(os.getpid(), 9)
    os.waitpid(pid, 0)
    locks.measuring("hostdx run null", "y").release()


def test_a_lock_with_rubbish_in_it(tmp_path: Path) -> None:
    held = locks.measuring("x", "y")
    (tmp_path / "run/hostdx/measuring.lock").write_bytes(b"\xff{")
    with pytest.raises(locks.Held, match="another hostdx"):
        locks.measuring("x", "y")
    held.release()


def test_one_name_for_one_target(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert locks.target_name(str(tmp_path / "link")) == locks.target_name(str(tmp_path / "real"))
    assert (
        "/" not in locks.target_name("/sys/" + "x" * 500) and len(locks.target_name("/" + "x" * 5000)) < 255
    )


def test_a_directory_that_somebody_else_made_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run/hostdx").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Failure, match="not a directory"):
        locks.measuring("x", "y")
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with pytest.raises(Failure, match="others may write"):
        state.private(open_to_all)


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
    me = identity()
    assert lives(me)
    assert not lives(Identity(me.pid, me.start + 1, me.boot_id))
    assert not lives(Identity(me.pid, me.start, "another boot"))
    assert not lives(Identity(0, 0, boot_id()))
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert start_time(pid) is None  # a zombie is dead
    os.waitpid(pid, 0)


def test_a_careless_umask_opens_nothing(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = state.private(state.journal_dir())
    finally:
        os.umask(before)
    assert [p.stat().st_mode & 0o777 for p in (made, made.parent)] == [0o700, 0o700]
    made.parent.chmod(0o777)
    with pytest.raises(Failure, match="others may write"):
        state.private(state.journal_dir())


def test_another_users_run_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = locks.measuring("hostdx run storage", "12:00:00 UTC")
    theirs = tmp_path / "run/hostdx/measuring.lock"
    assert theirs.stat().st_mode & 0o777 == 0o644
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "mine"))
    assert locks._others() == []  # a place of its own: not the host's lock
    monkeypatch.setattr(locks, "_others", lambda: [tmp_path / "missing", theirs])
    with pytest.raises(locks.Held, match="hostdx run storage"):
        locks.measuring("hostdx run null", "12:00:01 UTC")
    text = theirs.read_text()
    theirs.write_text(text.replace(f'"start":{identity().start}', '"start":1'))  # that process is gone
    locks.measuring("hostdx run null", "12:00:01 UTC").release()
    theirs.write_text(text)
    held.release()
    locks.measuring("hostdx run null", "12:00:02 UTC").release()


def test_where_others_locks_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/12345")
    assert Path("/run/hostdx/measuring.lock") in locks._others()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert Path("/run/hostdx/measuring.lock") not in locks._others()
