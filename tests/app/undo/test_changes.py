"""Consent, locks and the journal around every change."""

import errno
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hostdx.app import locks
from hostdx.app.state import journal_dir
from hostdx.app.terminal.failure import Failure, UndoIncomplete
from hostdx.app.terminal.process import process_identity
from hostdx.app.undo import changes as changes_module
from hostdx.app.undo import effects, undo
from hostdx.app.undo.changes import HostChanges
from hostdx.app.undo.journal import SCHEMA, JournalHeader, UndoOutcome, list_journals, peek_journal
from hostdx.app.undo.kinds import attribute
from hostdx.app.undo.kinds.attribute import AttributeTrouble
from hostdx.app.undo.supervisor import SupervisorProcess
from hostdx.scenarios.contract.action import Action, private_directory_action
from hostdx.scenarios.contract.plan import Plan


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    # this process is the runner and does not end with a test: nobody is to wait for that
    monkeypatch.setattr(SupervisorProcess, "hand_over", SupervisorProcess.end_watch)
    (tmp_path / "data").mkdir()
    (tmp_path / "attribute").write_text("old\n")


def make_setting(tmp_path: Path, new: str | None = "new") -> Action:
    return Action(kind="attribute", title="set", target=str(tmp_path / "attribute"), new=new, consent=True)


def make_changes(*actions: Action, consented: bool = True, lies_on: str = "", run: str = "r") -> HostChanges:
    head = JournalHeader(
        schema=SCHEMA, run=run, who=process_identity(), command=["hostdx", "run"], recording="", began_s=0.0
    )
    plan = Plan(scenario="fake", title="t", question="q", actions=actions)
    return HostChanges(
        plan=plan, consented=consented, header=head, lies_on=lambda _: lies_on, warn=lambda _: None
    )


def test_a_private_directory_needs_no_consent(tmp_path: Path) -> None:
    changes = make_changes(consented=False)
    applied = changes.apply_action(private_directory_action(str(tmp_path / "data")))
    assert Path(applied.value).is_dir()
    assert len(list_journals(journal_dir())) == 1
    assert changes.revert_action(applied.id).state == "reverted"
    assert changes.close_journal() == []
    assert list_journals(journal_dir()) == []


@pytest.mark.parametrize(
    ("is_planned", "consented", "lies_on", "part"),
    [
        (True, False, "", "not confirmed"),
        (False, True, "", "not in the plan"),
        (True, True, "the journal lies on it", "the journal lies on it"),
    ],
)
def test_refused_and_untouched(
    tmp_path: Path, is_planned: bool, consented: bool, lies_on: str, part: str
) -> None:
    action = make_setting(tmp_path)
    changes = make_changes(*([action] if is_planned else []), consented=consented, lies_on=lies_on)
    with pytest.raises(Failure, match=part):
        changes.apply_action(action)
    assert changes.close_journal() == []
    assert (tmp_path / "attribute").read_text() == "old\n"
    assert list_journals(journal_dir()) == []


def test_another_value_than_planned_is_refused(tmp_path: Path) -> None:
    changes = make_changes(make_setting(tmp_path, "new"))
    with pytest.raises(Failure, match="not in the plan"):
        changes.apply_action(make_setting(tmp_path, "other"))
    open_plan = make_changes(make_setting(tmp_path, None), run="s")
    applied = open_plan.apply_action(make_setting(tmp_path, "other"))
    open_plan.revert_action(applied.id)
    open_plan.close_journal()


def test_the_second_is_told_who_is_at_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = make_changes(make_setting(tmp_path)), make_changes(make_setting(tmp_path), run="s")
    applied = first.apply_action(make_setting(tmp_path))
    monkeypatch.setattr(locks, "is_running_hostdx", lambda pid: True)
    with pytest.raises(locks.LockHeld, match=rf"pid {process_identity().pid} \(hostdx run fake, since r\)"):
        second.apply_action(make_setting(tmp_path))
    nested = first.apply_action(make_setting(tmp_path))  # the same run may change it again
    first.revert_action(nested.id)
    with pytest.raises(locks.LockHeld):
        second.apply_action(make_setting(tmp_path))
    first.revert_action(applied.id)
    entry = second.apply_action(make_setting(tmp_path))
    second.revert_action(entry.id)
    first.close_journal()
    second.close_journal()


def test_what_fails_half_way_is_undone(tmp_path: Path) -> None:
    target = str(tmp_path / "data" / "made")
    action = Action(
        kind="command", title="c", target=target, consent=True,
        apply=("sh", "-c", f"mkdir {target}; exit 7"), undo=("rmdir", target),
    )  # fmt: skip
    changes = make_changes(action)
    with pytest.raises(Failure, match="exit status 7"):
        changes.apply_action(action)
    assert not Path(target).exists()
    assert changes.close_journal() == []


def test_what_cannot_be_undone_stays_in_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = make_changes(make_setting(tmp_path))
    applied = changes.apply_action(make_setting(tmp_path))
    failed = UndoOutcome("failed", "stuck")
    monkeypatch.setattr(effects, "revert_entry", lambda *_: failed)
    assert changes.revert_action(applied.id) == failed
    assert [entry.id for entry in changes.close_journal()] == [applied.id]
    assert len(list_journals(journal_dir())) == 1


class Hung:
    """Stands for the child that writes: its first write hangs, in the shape of a process that lives on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.process = subprocess.Popen(["sleep", "600"])
        self._write = attribute.write_attribute
        monkeypatch.setattr(attribute, "write_attribute", self.write)
        monkeypatch.setattr(changes_module, "END_S", 0.0)
        self.hangs = True

    def write(self, *arguments: Any) -> Any:
        if self.hangs:
            self.hangs = False
            raise AttributeTrouble(errno.ETIMEDOUT, "the device is stuck", process_identity(self.process.pid))
        return self._write(*arguments)

    def finishes(self, path: Path, text: str) -> None:
        """The device answers: what it had begun happens, and it is gone."""
        path.write_text(text)
        self.process.kill()
        self.process.wait()


@pytest.fixture
def hung(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hung]:
    device = Hung(monkeypatch)
    yield device
    device.process.kill()
    device.process.wait()


def test_a_switch_that_hangs_stays_open_and_is_undone_when_it_has_happened(
    tmp_path: Path, hung: Hung
) -> None:
    changes = make_changes(make_setting(tmp_path))
    with pytest.raises(UndoIncomplete, match="stuck; it may still happen") as error:
        changes.apply_action(make_setting(tmp_path))
    assert (
        changes.revert_action(error.value.identifier).state == "failed"
    )  # "old" is there, and that says nothing
    assert [entry.outcome.state for entry in changes.retry_open()] == ["failed"]
    (_, entries) = peek_journal(list_journals(journal_dir())[0])
    assert [w.pid for w in entries[0].writers] == [hung.process.pid]
    hung.finishes(tmp_path / "attribute", "new\n")
    assert [entry.outcome.state for entry in changes.retry_open()] == ["reverted"]
    assert (tmp_path / "attribute").read_text() == "old\n"
    assert changes.close_journal() == []


@pytest.mark.parametrize("after", ["old", "new"])
def test_a_switch_that_hung_is_undone_by_the_journal(tmp_path: Path, hung: Hung, after: str) -> None:
    changes = make_changes(make_setting(tmp_path))
    with pytest.raises(UndoIncomplete):
        changes.apply_action(make_setting(tmp_path))
    assert len(changes.close_journal()) == 1
    for state in ("failed", "reverted"):
        journal = undo.lock_journal(list_journals(journal_dir())[0])
        assert journal is not None
        assert [undo_entry.outcome.state for undo_entry in undo.undo_entries(journal)] == [state]
        journal.close()
        if state == "failed":
            hung.finishes(tmp_path / "attribute", f"{after}\n")
    assert (tmp_path / "attribute").read_text() == "old\n"
    assert list_journals(journal_dir()) == []


def test_a_way_back_that_hangs_keeps_the_target_locked(tmp_path: Path, hung: Hung) -> None:
    hung.hangs = False
    first, second = make_changes(make_setting(tmp_path)), make_changes(make_setting(tmp_path), run="s")
    applied = first.apply_action(make_setting(tmp_path))
    hung.hangs = True
    assert first.revert_action(applied.id).state == "failed"
    with pytest.raises(locks.LockHeld):
        second.apply_action(make_setting(tmp_path))
    hung.finishes(tmp_path / "attribute", "old\n")
    assert [entry.outcome.state for entry in first.retry_open()] == ["reverted"]
    assert first.close_journal() == [] and second.close_journal() == []
