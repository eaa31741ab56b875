"""Making and removing what is ours, in a child: where the file system hangs, and where it is another one now."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from hostdx.app.state import journal_dir, make_private_dir
from hostdx.app.terminal.failure import ChangeNotMade
from hostdx.app.terminal.process import ProcessIdentity, boot_id, is_living, process_identity
from hostdx.app.undo import effects, undo
from hostdx.app.undo.journal import SCHEMA, FileSystemId, Journal, JournalEntry, JournalHeader, list_journals
from hostdx.app.undo.kinds import bounded_child, file_system_identity, own_files
from hostdx.app.undo.kinds.file_system_identity import file_system_of, is_device_gone, is_on_file_system
from hostdx.scenarios.contract.action import private_directory_action
from tests.every_case import every_case
from tests.real.loop_disk import LoopDisk
from tests.real.own_disk import sh, unmount

# An interpreter that hangs in the middle; and one that takes its time, and says so.
HANGS = """#!{python}
import os, time
os.write(1, b"\\n")
time.sleep(60)
"""
SAYS = """#!{python}
import os, time
os.write(1, b"\\n")
for _ in range(18):
    os.write(1, b" ")
    time.sleep(0.1)
os.write(1, b"7")
"""


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def install_child(text: str) -> None:
        path = tmp_path / "python"
        path.write_text(text.format(python=sys.executable))
        path.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(path))

    monkeypatch.setattr(own_files, "TIMEOUT_S", 0.2)
    yield install_child
    monkeypatch.undo()


def apply_private(directory: Path) -> JournalEntry:
    return effects.carry_out_entry(effects.prepare_entry(private_directory_action(str(directory)), "x"), ())


def test_a_removal_that_hangs_is_given_up_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, child: Callable[[str], None]
) -> None:
    entry = apply_private(tmp_path)
    child(HANGS)
    outcome = effects.revert_entry(entry)
    assert outcome.state == "failed"
    assert outcome.writer is None  # this one could be ended: nothing of it will still happen
    monkeypatch.undo()
    assert effects.revert_entry(entry).state == "reverted"
    assert not Path(entry.value).exists()


def test_what_cannot_be_ended_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, child: Callable[[str], None]
) -> None:
    """As in D state, where a kill has to wait as well."""
    entry = apply_private(tmp_path)
    child(HANGS)
    children: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(bounded_child, "DYING_S", 0.0)
    monkeypatch.setattr(subprocess.Popen, "kill", lambda self: children.append(self))
    outcome = effects.revert_entry(entry)
    assert outcome.writer is not None and is_living(outcome.writer)
    assert outcome.writer == process_identity(children[0].pid)
    monkeypatch.undo()
    hanging = replace(entry, writers=(outcome.writer,))
    retried = effects.revert_entry(hanging)
    assert retried.stuck and str(outcome.writer.pid) in retried.reason
    assert Path(entry.value).exists()
    children[0].kill()
    children[0].wait()
    assert effects.revert_entry(hanging).state == "reverted"


def test_making_it_may_hang_too(tmp_path: Path, child: Callable[[str], None]) -> None:
    entry = effects.prepare_entry(private_directory_action(str(tmp_path)), "x")
    child(HANGS)
    with pytest.raises(ChangeNotMade, match="no answer within"):
        effects.carry_out_entry(entry, ())


def test_who_goes_on_has_time(child: Callable[[str], None]) -> None:
    """A large tree on a slow disk takes longer than a time-out, and is no stuck device."""
    child(SAYS)
    assert bounded_child.ask_child("hostdx.app.undo.kinds.own_files", {}, timeout_s=1.5) == 7


PLACE = FileSystemId(device="7:7", number=5, boot=boot_id(), mountpoint="/mnt/x", source="/dev/loop7")


@every_case(
    ("place", "mounted", "state", "part"),
    [
        (PLACE, True, "reverted", "is gone: nothing left to undo"),
        (None, False, "reverted", "is gone: nothing left to undo"),  # a journal of an earlier version
        (PLACE, False, "failed", "mount /dev/loop7 on /mnt/x first"),
        (replace(PLACE, in_memory=True), False, "reverted", "in memory"),
        (replace(PLACE, device="4095:1"), False, "kept", "if it comes back, remove that by hand"),
        # after a reboot a number tells nothing about the device
        (
            replace(PLACE, device="4095:1", boot="another"),
            False,
            "failed",
            "mount /dev/loop7 on /mnt/x first",
        ),
    ],
)
def test_what_is_missing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: FileSystemId | None,
    mounted: bool,
    state: str,
    part: str,
) -> None:
    monkeypatch.setattr(file_system_identity, "is_on_file_system", lambda *_: mounted)
    monkeypatch.setattr(
        file_system_identity, "is_device_gone", lambda p: p.device.startswith("4095") and p.boot == boot_id()
    )
    for missing in (tmp_path / ".hostdx-a", tmp_path / "missing" / ".hostdx-a"):
        outcome = own_files.remove_own_directory(missing, place)
        assert (outcome.state, part in outcome.reason) == (state, True), outcome


def test_the_place_is_told_from_another_one(tmp_path: Path) -> None:
    place = file_system_of(tmp_path)
    assert place is not None and place.mountpoint and not is_device_gone(place)
    assert is_on_file_system(place, tmp_path / "a" / "b" / ".hostdx-x")  # what there is of the path counts
    assert not is_on_file_system(place, Path("/proc/.hostdx-x"))
    assert not is_on_file_system(replace(place, number=place.number + 1), tmp_path / ".hostdx-x")
    assert is_device_gone(replace(place, device="4095:77"))
    assert file_system_of(tmp_path / "missing") is None


@pytest.mark.real("cpu")
def test_unmounted_kept_and_removed_when_it_is_mounted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    nobody = ProcessIdentity(2**22 + 1, 1, process_identity().boot_id)
    header = JournalHeader(schema=SCHEMA, run="r", who=nobody, command=["hostdx"], recording="", began_s=0.0)
    with LoopDisk(tmp_path, "256M") as disk:
        book = Journal.create_new(make_private_dir(journal_dir()) / "r.jsonl", header)
        entry = effects.prepare_entry(private_directory_action(str(disk.directory)), "1")
        book.record_intent(entry)
        book.record_made(effects.carry_out_entry(entry, ()))
        os.close(book.descriptor)
        unmount(disk.mountpoint)
        assert undo_all() == [("failed", True)]
        sh("mount", f"/dev/{disk.device}", str(disk.mountpoint))
        assert list(disk.directory.iterdir()) == [Path(entry.value)]
        assert undo_all() == [("reverted", False)]
        assert list(disk.directory.iterdir()) == [] and list_journals(journal_dir()) == []


def undo_all() -> list[tuple[str, bool]]:
    journal = undo.lock_journal(list_journals(journal_dir())[0])
    assert journal is not None
    done = undo.undo_entries(journal)
    journal.close()
    return [(entry.outcome.state, "mount /dev/loop" in entry.outcome.reason) for entry in done]
