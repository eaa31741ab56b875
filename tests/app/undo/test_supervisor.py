"""The supervisor's own decisions: when the runner is dead, and what it does while somebody else holds the journal."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hostdx.app.state import journal_dir, make_private_dir
from hostdx.app.terminal.process import ProcessIdentity, process_identity
from hostdx.app.undo import effects, supervisor, undo
from hostdx.app.undo.journal import SCHEMA, Journal, JournalHeader, JournalLocked, UndoOutcome
from hostdx.scenarios.contract.action import Action, private_directory_action

pytestmark = pytest.mark.usefixtures("own_state")


def test_it_waits_for_a_child_that_still_changes_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is held for a moment longer than the runner lives: by its last thread, or by a child that writes."""
    head = JournalHeader(
        schema=SCHEMA, run="r", who=process_identity(), command=[], recording="", began_s=0.0
    )
    book = Journal.create_new(make_private_dir(journal_dir()) / "r.jsonl", head)
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            os.close(book.descriptor)

    monkeypatch.setattr(time, "sleep", wait)
    journal = undo.lock_journal(book.path, 60.0)
    assert journal is not None and len(waits) == 3
    journal.close()


def test_it_gives_up_in_the_end() -> None:
    head = JournalHeader(
        schema=SCHEMA, run="r", who=process_identity(), command=[], recording="", began_s=0.0
    )
    book = Journal.create_new(make_private_dir(journal_dir()) / "r.jsonl", head)
    with pytest.raises(JournalLocked):
        undo.lock_journal(book.path, 0.0)
    assert book.path.exists()  # for `hostdx undo`
    book.close()


def test_it_sleeps_as_long_as_a_change_hangs_and_undoes_it_then(tmp_path: Path) -> None:
    """Who hangs at a change holds the lock; that may take hours."""
    target = tmp_path / "attribute"
    target.write_text("old\n")
    nobody = ProcessIdentity(2**22 + 1, 1, process_identity().boot_id)
    head = JournalHeader(schema=SCHEMA, run="r", who=nobody, command=[], recording="", began_s=0.0)
    book = Journal.create_new(make_private_dir(journal_dir()) / "r.jsonl", head)
    action = Action(kind="attribute", title="set", target=str(target), new="new", consent=True)
    book.record_intent(effects.prepare_entry(action, "1"))
    argv = [sys.executable, "-P", "-m", "hostdx.app.undo.supervisor", str(book.path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe) as process:
        try:
            assert process.stdout is not None and process.stdout.read(1) == b"r"
            until_asleep(process.pid)
            target.write_text("new\n")  # what hung happens
            os.close(book.descriptor)
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert target.read_text() == "old\n" and not book.path.exists()


def test_what_gave_no_answer_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the child that hung could be ended, nothing holds the lock that would wake it up."""
    nobody = ProcessIdentity(2**22 + 1, 1, process_identity().boot_id)
    head = JournalHeader(schema=SCHEMA, run="r", who=nobody, command=[], recording="", began_s=0.0)
    book = Journal.create_new(make_private_dir(journal_dir()) / "r.jsonl", head)
    (tmp_path / "data").mkdir()
    entry = effects.prepare_entry(private_directory_action(str(tmp_path / "data")), "1")
    book.record_intent(entry)
    book.record_made(effects.carry_out_entry(entry, ()))
    os.close(book.descriptor)
    revert = effects.revert_entry
    pauses: list[float] = []
    answers = iter([UndoOutcome("failed", "no answer", stuck=True)] * 2)
    monkeypatch.setattr(effects, "revert_entry", lambda *arguments: next(answers, None) or revert(*arguments))
    monkeypatch.setattr(supervisor, "_wait_and_has_said_goodbye", lambda _: False)
    monkeypatch.setattr("hostdx.app.undo.supervisor.signal.signal", lambda *_: None)
    monkeypatch.setattr("hostdx.app.undo.supervisor.os.dup2", lambda *_: None)
    monkeypatch.setattr("hostdx.app.undo.supervisor.sleep", pauses.append)
    assert supervisor.main([str(book.path)]) == 0
    assert pauses == [supervisor.AGAIN_S] * 2
    assert list((tmp_path / "data").iterdir()) == [] and not book.path.exists()


def until_asleep(pid: int) -> None:
    """In flock(2), where it waits for the lock."""
    deadline = time.monotonic() + 60
    while f"-> FLOCK  ADVISORY  WRITE {pid} " not in Path("/proc/locks").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(("message", "dismissed"), [(b"q", True), (b"", False)])
@pytest.mark.parametrize("pidfd", [True, False])
def test_goodbye_and_death(
    monkeypatch: pytest.MonkeyPatch, message: bytes, dismissed: bool, pidfd: bool
) -> None:
    reader, writer = os.pipe()
    stdin = os.dup(0)
    runner = os.fork()
    if runner == 0:
        os.close(writer)
        signal.pause()
    if not pidfd:
        monkeypatch.setattr(supervisor, "_pidfd_or_none", lambda _: None)  # kernels before 5.3
        monkeypatch.setattr(supervisor, "POLL_S", 0.01)
    identity: ProcessIdentity = process_identity(runner)
    try:
        os.dup2(reader, 0)
        if message:
            os.write(writer, message)
        else:
            os.close(writer)
            threading.Timer(0.1, os.kill, (runner, 9)).start()
        assert supervisor._wait_and_has_said_goodbye(identity) is dismissed
    finally:
        os.dup2(stdin, 0)
        os.close(stdin)
        os.close(reader)
        if message:
            os.close(writer)
            os.kill(runner, 9)
        os.waitpid(runner, 0)
