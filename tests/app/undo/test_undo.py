"""The journal and what is made of it: after a crash, after a reboot, on a full disk, with half a line."""

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from hostdx.app.cli.telling import undo as cli_undo
from hostdx.app.state import journal_dir, make_private_dir
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.process import ProcessIdentity, process_identity
from hostdx.app.undo import effects, killed_ending, undo
from hostdx.app.undo.journal import (
    SCHEMA,
    Journal,
    JournalEntry,
    JournalHeader,
    JournalLocked,
    UndoOutcome,
    list_journals,
    peek_journal,
)
from hostdx.scenarios.contract.action import Action, private_directory_action
from tests.needs import TMPFS, need, not_here
from tests.real.own_disk import unmount


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    for module in (undo, killed_ending):
        monkeypatch.setattr(module, "PATIENCE_S", 0.0)
    (tmp_path / "data").mkdir()


def make_header(owner: ProcessIdentity | None = None) -> JournalHeader:
    owner = owner or ProcessIdentity(2**22 + 1, 1, process_identity().boot_id)  # nobody
    return JournalHeader(schema=SCHEMA, run="r", who=owner, command=["hostdx"], recording="", began_s=0.0)


def make_journal(owner: ProcessIdentity | None = None) -> Journal:
    return Journal.create_new(make_private_dir(journal_dir()) / "r.jsonl", make_header(owner))


def apply(book: Journal, action: Action, identifier: str) -> None:
    entry = effects.prepare_entry(action, identifier)
    book.record_intent(entry)
    book.record_made(effects.carry_out_entry(entry, ()))


def abandon_journal(book: Journal) -> Path:
    os.close(book.descriptor)
    return book.path


def set_attribute(tmp_path: Path, old: str = "old", new: str = "new") -> Action:
    path = tmp_path / "attribute"
    path.write_text(old + "\n")
    return Action(kind="attribute", title="set", target=str(path), new=new, consent=True)


def test_in_reverse_order_and_the_file_goes(tmp_path: Path) -> None:
    book = make_journal()
    apply(book, private_directory_action(str(tmp_path / "data")), "1")
    action = set_attribute(tmp_path)
    apply(book, action, "2")
    apply(book, Action(kind="attribute", title="again", target=action.target, new="newer", consent=True), "3")
    abandon_journal(book)
    (leftover,) = undo.find_leftovers()[0]
    assert [entry.id for entry in leftover.entries] == ["1", "2", "3"]
    assert [entry.id for entry in leftover.setting_entries] == ["2", "3"]
    journal = undo.lock_journal(leftover.path)
    assert journal is not None
    assert [(undo_entry.entry.id, undo_entry.outcome.state) for undo_entry in undo.undo_entries(journal)] == [
        ("3", "reverted"), ("2", "reverted"), ("1", "reverted"),
    ]  # fmt: skip
    journal.close()
    assert list_journals(journal_dir()) == []
    assert (tmp_path / "attribute").read_text() == "old\n"
    assert list((tmp_path / "data").iterdir()) == []


def test_the_lock_tells_that_somebody_is_at_it(tmp_path: Path) -> None:
    book = make_journal(process_identity())
    apply(book, private_directory_action(str(tmp_path / "data")), "1")
    with pytest.raises(JournalLocked):
        undo.lock_journal(book.path)
    (leftover,) = undo.find_leftovers()[0]
    assert leftover.living
    book.strike_out("1", UndoOutcome("reverted"))
    book.close()
    assert undo.lock_journal(book.path) is None


def test_after_a_reboot(tmp_path: Path) -> None:
    """What the reboot undid is struck out and not touched: the value there now is the new boot's own."""
    book = make_journal(ProcessIdentity(1, 1, "another-boot"))
    apply(book, private_directory_action(str(tmp_path / "data")), "1")
    apply(book, set_attribute(tmp_path), "2")
    path = abandon_journal(book)
    (leftover,) = undo.find_leftovers()[0]
    assert not leftover.living  # its pid lives, but in another boot
    words = [change.would for change in undo.preview_undo(leftover)]
    assert words[0] == "forget it: the reboot has undone it" and "remove the directory" in words[1]
    journal = undo.lock_journal(path)
    assert journal is not None
    done = undo.undo_entries(journal)
    journal.close()
    assert "reboot" in done[0].outcome.reason
    assert (tmp_path / "attribute").read_text() == "new\n"
    assert list((tmp_path / "data").iterdir()) == []


def test_half_a_line_was_never_acted_upon(tmp_path: Path) -> None:
    book = make_journal()
    apply(book, private_directory_action(str(tmp_path / "data")), "1")
    path = abandon_journal(book)
    with path.open("ab") as file:
        file.write(b'{"line":"intend","id":"2","action":{"kind":"comm')
    journal = undo.lock_journal(path)
    assert journal is not None
    assert [entry.id for entry in journal.open_entries] == ["1"]
    journal.record_intent(effects.prepare_entry(set_attribute(tmp_path), "3"))
    assert [entry.id for entry in peek_journal(path)[1]] == ["1", "3"]  # what follows does not join it
    undo.undo_entries(journal)
    journal.close()
    assert not path.exists()


def test_what_fails_stays_open(tmp_path: Path) -> None:
    book = make_journal()
    name = str(tmp_path / "data" / "made")
    apply(
        book, Action(kind="command", title="c", target=name, apply=("mkdir", name), undo=("rmdir", name)), "1"
    )
    Path(name, "in the way").write_text("x")
    path = abandon_journal(book)
    for _ in range(2):
        journal = undo.lock_journal(path)
        assert journal is not None
        (undo_entry,) = undo.undo_entries(journal)
        assert undo_entry.outcome.state == "failed"
        journal.close()
        assert path.exists()
    Path(name, "in the way").unlink()
    journal = undo.lock_journal(path)
    assert journal is not None
    undo.undo_entries(journal)
    journal.close()
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"\0\0\0\0", b'{"line":"header"'])
def test_a_journal_that_never_began(content: bytes) -> None:
    path = make_private_dir(journal_dir()) / "r.jsonl"
    path.write_bytes(content)
    path.chmod(0o600)
    journal = undo.lock_journal(path)
    assert journal is not None and journal.open_entries == []
    journal.close()
    assert not path.exists()


def test_a_damaged_journal_is_said(tmp_path: Path) -> None:
    path = abandon_journal(make_journal())
    with path.open("ab") as file:
        file.write(b'{"line":"intend","id":7}\n{"line":"struck","id":"1","state":"reverted"}\n')
    leftovers, troubles = undo.find_leftovers()
    assert leftovers == []
    assert len(troubles) == 1 and "line 2" in troubles[0]


def test_somebody_elses_journal_is_not_obeyed(tmp_path: Path) -> None:
    path = abandon_journal(make_journal())
    path.chmod(0o666)
    with pytest.raises(Failure, match="yours alone"):
        peek_journal(path)
    (tmp_path / "planted.jsonl").write_bytes(b"")
    link = journal_dir() / "link.jsonl"
    link.symlink_to(tmp_path / "planted.jsonl")
    with pytest.raises(Failure):
        peek_journal(link)


@pytest.mark.real("cpu")
def test_on_a_full_disk_nothing_is_changed(tmp_path: Path) -> None:
    import subprocess

    state = tmp_path / "state" / "hostdx"
    state.mkdir(parents=True)
    need(TMPFS)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(state)], check=True)
    try:
        book = make_journal()
        apply(book, private_directory_action(str(tmp_path / "data")), "1")
        filler = state / "filler"
        try:
            filler.write_bytes(b"x" * (1 << 20))
        except OSError:
            pass
        free = os.statvfs(state).f_bavail
        assert free == 0
        action = set_attribute(tmp_path)
        big = Action(kind=action.kind, title="x" * 5000, target=action.target, new="new", consent=True)
        entry = effects.prepare_entry(big, "2")
        with pytest.raises(Failure, match="nothing was changed"):
            book.record_intent(entry)
        assert [e.id for e in book.open_entries] == ["1"]
        path = abandon_journal(book)
        journal = undo.lock_journal(path)  # undoing needs no room
        assert journal is not None
        assert [undo_entry.outcome.state for undo_entry in undo.undo_entries(journal)] == ["reverted"]
        journal.close()
        assert list_journals(journal_dir()) == []
        assert list((tmp_path / "data").iterdir()) == []
    finally:
        unmount(state)


def test_one_bad_entry_does_not_keep_the_others(tmp_path: Path) -> None:
    book = make_journal()
    apply(book, private_directory_action(str(tmp_path / "data")), "1")
    foreign = Action(kind="resource", resource="namespace", title="n", target="x")  # not a name of ours
    book.record_intent(JournalEntry(id="2", action=foreign, value="x"))
    path = abandon_journal(book)
    journal = undo.lock_journal(path)
    assert journal is not None
    assert [undo_entry.outcome.state for undo_entry in undo.undo_entries(journal)] == ["failed", "reverted"]
    journal.close()
    assert list((tmp_path / "data").iterdir()) == []
    assert [entry.id for entry in peek_journal(path)[1]] == ["2"]


def test_a_journal_of_the_same_name_is_another_run_s(tmp_path: Path) -> None:
    book = make_journal()
    apply(book, private_directory_action(str(tmp_path / "data")), "1")
    with pytest.raises(Failure, match="nothing was changed"):
        make_journal()
    path = abandon_journal(book)
    assert [entry.id for entry in peek_journal(path)[1]] == ["1"]


def test_one_that_is_held_does_not_keep_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Journal.create_new(make_private_dir(journal_dir()) / "a.jsonl", make_header())
    apply(other, private_directory_action(str(tmp_path / "data")), "1")
    book = make_journal()
    apply(book, set_attribute(tmp_path), "1")
    abandon_journal(book)
    assert cli_undo.undo.main([], standalone_mode=False) == 3
    assert "try again in a moment" in capsys.readouterr().err
    assert (tmp_path / "attribute").read_text() == "old\n"
    assert list_journals(journal_dir()) == [other.path]
    abandon_journal(other)


def test_what_hangs_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = make_journal()
    apply(journal, set_attribute(tmp_path), "1")
    journal.record_hanging("1", process_identity())
    assert cli_undo.undo.main([], standalone_mode=False) == 3
    assert f"hangs on a stuck device (pid {os.getpid()}, see dmesg)" in capsys.readouterr().err
    assert (tmp_path / "attribute").read_text() == "new\n"
    abandon_journal(journal)


def test_every_line_is_read_as_it_was_written(tmp_path: Path) -> None:
    book = make_journal()
    apply(book, set_attribute(tmp_path), "1")
    apply(book, private_directory_action(str(tmp_path / "data")), "2")
    book.record_undoing("1")
    book.record_back("1", {"/a": "7"})
    book.record_hanging("1", process_identity())
    book.record_hanging("2", process_identity())
    book.record_hanging("no such entry", process_identity())
    entries = book.open_entries
    (first, second) = entries
    assert (
        first.undoing and first.back and first.left == {"/a": "7"} and first.writers == (process_identity(),)
    )
    assert second.place is not None and second.made
    assert peek_journal(abandon_journal(book))[1] == entries


def test_a_journal_of_an_earlier_version_removes_only_what_is_empty(tmp_path: Path) -> None:
    """It does not tell which directory was made: name and owner are no proof."""
    book = make_journal()
    for number in ("1", "2"):
        apply(book, private_directory_action(str(tmp_path / "data")), number)
    full = Path(book.find_entry("2").value)
    (full / "file").write_text("x")
    path = abandon_journal(book)
    lines = [re.sub(rb',"inode":([{][^}]*[}]|null)', b"", line) for line in path.read_bytes().splitlines()]
    assert not any(b"inode" in line for line in lines)
    path.write_bytes(b"\n".join(lines) + b"\n")
    journal = undo.lock_journal(path)
    assert journal is not None
    second, first = undo.undo_entries(journal)
    assert first.outcome.state == "reverted" and second.outcome.state == "failed"
    journal.close()
    assert list((tmp_path / "data").iterdir()) == [full] and (full / "file").exists()


def test_a_directory_of_another_birth_is_not_the_one_that_was_made(tmp_path: Path) -> None:
    """An inode's number is given again; a device has another one after a reboot, then the birth time vouches."""
    entry = effects.carry_out_entry(
        effects.prepare_entry(private_directory_action(str(tmp_path / "data")), "1"), ()
    )
    assert entry.inode is not None and entry.place is not None
    (Path(entry.value) / "file").write_text("x")
    if entry.inode.born_ns is None:
        not_here("this file system tells no birth time")
    older = replace(entry, inode=replace(entry.inode, born_ns=entry.inode.born_ns - 1))
    assert effects.revert_entry(older).state == "failed" and Path(entry.value).is_dir()
    moved = replace(entry, inode=replace(entry.inode, device=entry.inode.device + 1))
    assert effects.revert_entry(moved).state == "failed" and (Path(entry.value) / "file").exists()
    rebooted = replace(moved, place=replace(entry.place, boot="another"))
    assert effects.revert_entry(rebooted).state == "reverted" and not Path(entry.value).exists()


def test_one_entry_or_a_whole_run_is_struck_out_by_hand(tmp_path: Path) -> None:
    book = make_journal()
    for number in ("r#1", "r#2", "r#3"):
        apply(book, private_directory_action(str(tmp_path / "data")), number)
    path = abandon_journal(book)
    command = CliRunner().invoke
    assert "would stay as it is now" in command(cli_undo.undo, ["--forget", "r#2", "--dry-run"]).output
    assert len(peek_journal(path)[1]) == 3
    assert command(cli_undo.undo, ["--forget", "r#2", "--yes"], standalone_mode=False).return_value == 0
    assert [entry.id for entry in peek_journal(path)[1]] == ["r#1", "r#3"]
    for unknown in ("r#2", "other", "#", ""):
        assert isinstance(command(cli_undo.undo, ["--forget", unknown, "--yes"]).exception, Failure)
    assert isinstance(command(cli_undo.undo, ["--forget", "r"]).exception, Failure)  # nobody to ask
    assert command(cli_undo.undo, ["--forget", "r", "--yes"], standalone_mode=False).return_value == 0
    assert not path.exists() and len(list((tmp_path / "data").iterdir())) == 3


def test_a_damaged_journal_is_shown_and_given_up_by_hand(tmp_path: Path) -> None:
    book = make_journal()
    apply(book, set_attribute(tmp_path), "r#1")
    path = abandon_journal(book)
    with path.open("ab") as file:
        file.write(b"{rubbish\n")
    command = CliRunner().invoke
    assert command(cli_undo.undo, [], standalone_mode=False).return_value == 3
    result = command(cli_undo.undo, ["--forget", "r", "--dry-run"], standalone_mode=False)
    assert result.return_value == 0 and "set: new, was old: would stay as it is now" in result.output
    assert isinstance(command(cli_undo.undo, ["--forget", "r"]).exception, Failure) and path.exists()
    assert command(cli_undo.undo, ["--forget", "r", "--yes"], standalone_mode=False).return_value == 0
    assert not path.exists() and (tmp_path / "attribute").read_text() == "new\n"


def test_a_damaged_journal_that_somebody_holds_stays(tmp_path: Path) -> None:
    book = make_journal()
    os.write(book.descriptor, b"{rubbish\n")
    with pytest.raises(Failure, match="another hostdx is using it"):
        CliRunner().invoke(cli_undo.undo, ["--forget", "r", "--yes"], catch_exceptions=False)
    assert abandon_journal(book).exists()


@pytest.mark.parametrize("content", [b"", b'{"line":"head', None])
def test_a_run_that_was_killed_before_it_changed_anything_leaves_no_trace(
    content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = abandon_journal(make_journal())
    if content is not None:
        path.write_bytes(content)
    assert cli_undo.undo.main(["--dry-run"], standalone_mode=False) == 0 and path.exists()
    assert cli_undo.undo.main([], standalone_mode=False) == 0
    captured = capsys.readouterr()
    assert captured.out.count("nothing to undo") == 2 and captured.err == "" and not path.exists()


def test_a_journal_that_was_cleaned_away_while_it_was_made_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    place = make_private_dir(journal_dir())

    def remove_and_lock(descriptor: int, operation: int) -> None:
        (place / "r.jsonl").unlink()

    monkeypatch.setattr("hostdx.app.undo.journal.fcntl.flock", remove_and_lock)
    with pytest.raises(Failure, match="nothing was changed"):
        make_journal()


def test_journals_that_cannot_be_listed_are_not_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_private_dir(journal_dir()).rmdir()
    journal_dir().write_text("")
    assert cli_undo.undo.main([], standalone_mode=False) == 3
    captured = capsys.readouterr()
    assert "cannot be read" in captured.err and "nothing to undo" not in captured.out


def test_root_trusts_no_journal_in_a_folder_that_others_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = make_journal()
    apply(book, set_attribute(tmp_path), "r#1")
    path = abandon_journal(book)
    monkeypatch.setattr(
        "hostdx.app.undo.journal.known_path_writers_text", lambda path: "/home/alice belongs to alice"
    )
    for act in (lambda: peek_journal(path), lambda: Journal.lock_existing(path), make_journal):
        with pytest.raises(Failure, match="belongs to alice, who can put other journals there"):
            act()
    assert (tmp_path / "attribute").read_text() == "new\n"
