"""The journal and what is made of it: after a crash, after a reboot, on a full disk, with half a line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app import cli_undo, effects, undo
from app.failure import Failure
from app.journal import SCHEMA, Busy, Entry, Header, Journal, Outcome, journals, peek
from app.process import Identity, identity
from app.state import journal_dir, private
from probes.action import Action, private_directory


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    (tmp_path / "data").mkdir()


def header(who: Identity | None = None) -> Header:
    who = who or Identity(2**22 + 1, 1, identity().boot_id)  # nobody
    return Header(schema=SCHEMA, run="r", who=who, command=["hostdx"], recording="", began_s=0.0)


def journal(who: Identity | None = None) -> Journal:
    return Journal.create(private(journal_dir()) / "r.jsonl", header(who))


def do(book: Journal, action: Action, identifier: str) -> None:
    entry = effects.prepare(action, identifier)
    book.intend(entry)
    book.made(effects.carry_out(entry, ()))


def abandon(book: Journal) -> Path:
    os.close(book.descriptor)
    return book.path


def set_attribute(tmp_path: Path, old: str = "old", new: str = "new") -> Action:
    path = tmp_path / "attribute"
    path.write_text(old + "\n")
    return Action(kind="attribute", title="set", target=str(path), new=new, consent=True)


def test_in_reverse_order_and_the_file_goes(tmp_path: Path) -> None:
    book = journal()
    do(book, private_directory(str(tmp_path / "data")), "1")
    action = set_attribute(tmp_path)
    do(book, action, "2")
    do(book, Action(kind="attribute", title="again", target=action.target, new="newer", consent=True), "3")
    abandon(book)
    (leftover,) = undo.leftovers()[0]
    assert [entry.id for entry in leftover.entries] == ["1", "2", "3"]
    assert [entry.id for entry in leftover.settings] == ["2", "3"]
    taken = undo.take(leftover.path)
    assert taken is not None
    assert [(one.entry.id, one.outcome.state) for one in undo.undo_entries(taken)] == [
        ("3", "reverted"), ("2", "reverted"), ("1", "reverted"),
    ]  # fmt: skip
    taken.close()
    assert journals(journal_dir()) == []
    assert (tmp_path / "attribute").read_text() == "old\n"
    assert list((tmp_path / "data").iterdir()) == []


def test_the_lock_tells_that_somebody_is_at_it(tmp_path: Path) -> None:
    book = journal(identity())
    do(book, private_directory(str(tmp_path / "data")), "1")
    with pytest.raises(Busy):
        undo.take(book.path)
    (leftover,) = undo.leftovers()[0]
    assert leftover.living
    book.strike("1", Outcome("reverted"))
    book.close()
    assert undo.take(book.path) is None


def test_after_a_reboot(tmp_path: Path) -> None:
    """What the reboot undid is struck out and not touched: the value there now is the new boot's own."""
    book = journal(Identity(1, 1, "another-boot"))
    do(book, private_directory(str(tmp_path / "data")), "1")
    do(book, set_attribute(tmp_path), "2")
    path = abandon(book)
    (leftover,) = undo.leftovers()[0]
    assert not leftover.living  # its pid lives, but in another boot
    words = [what for _, what in undo.foreseen(leftover)]
    assert words[0] == "strike it out: the reboot has undone it" and "remove the directory" in words[1]
    taken = undo.take(path)
    assert taken is not None
    done = undo.undo_entries(taken)
    taken.close()
    assert "reboot" in done[0].outcome.reason
    assert (tmp_path / "attribute").read_text() == "new\n"
    assert list((tmp_path / "data").iterdir()) == []


def test_half_a_line_was_never_acted_upon(tmp_path: Path) -> None:
    book = journal()
    do(book, private_directory(str(tmp_path / "data")), "1")
    path = abandon(book)
    with path.open("ab") as file:
        file.write(b'{"line":"intend","id":"2","action":{"kind":"comm')
    taken = undo.take(path)
    assert taken is not None
    assert [entry.id for entry in taken.open_entries] == ["1"]
    undo.undo_entries(taken)
    taken.close()
    assert not path.exists()


def test_what_fails_stays_open(tmp_path: Path) -> None:
    book = journal()
    made = str(tmp_path / "data" / "made")
    do(book, Action(kind="command", title="c", target=made, apply=("mkdir", made), undo=("rmdir", made)), "1")
    Path(made, "in the way").write_text("x")
    path = abandon(book)
    for _ in range(2):
        taken = undo.take(path)
        assert taken is not None
        (one,) = undo.undo_entries(taken)
        assert one.outcome.state == "failed"
        taken.close()
        assert path.exists()
    Path(made, "in the way").unlink()
    taken = undo.take(path)
    assert taken is not None
    undo.undo_entries(taken)
    taken.close()
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"\0\0\0\0", b'{"line":"header"'])
def test_a_journal_that_never_began(content: bytes) -> None:
    path = private(journal_dir()) / "r.jsonl"
    path.write_bytes(content)
    path.chmod(0o600)
    taken = undo.take(path)
    assert taken is not None and taken.open_entries == []
    taken.close()
    assert not path.exists()


def test_a_damaged_journal_is_said(tmp_path: Path) -> None:
    path = abandon(journal())
    with path.open("ab") as file:
        file.write(b'{"line":"intend","id":7}\n{"line":"struck","id":"1","state":"reverted"}\n')
    found, troubles = undo.leftovers()
    assert found == []
    assert len(troubles) == 1 and "line 2" in troubles[0]


def test_somebody_elses_journal_is_not_obeyed(tmp_path: Path) -> None:
    path = abandon(journal())
    path.chmod(0o666)
    with pytest.raises(Failure, match="yours alone"):
        peek(path)
    (tmp_path / "planted.jsonl").write_bytes(b"")
    link = journal_dir() / "link.jsonl"
    link.symlink_to(tmp_path / "planted.jsonl")
    with pytest.raises(Failure):
        peek(link)


@pytest.mark.real
def test_on_a_full_disk_nothing_is_changed(tmp_path: Path) -> None:
    import subprocess

    state = tmp_path / "state" / "hostdx"
    state.mkdir(parents=True)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(state)], capture_output=True
    )
    if made.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs: {made.stderr.decode().strip()}")
    try:
        book = journal()
        do(book, private_directory(str(tmp_path / "data")), "1")
        filler = state / "filler"
        try:
            filler.write_bytes(b"x" * (1 << 20))
        except OSError:
            pass
        free = os.statvfs(state).f_bavail
        assert free == 0
        action = set_attribute(tmp_path)
        big = Action(kind=action.kind, title="x" * 5000, target=action.target, new="new", consent=True)
        entry = effects.prepare(big, "2")
        with pytest.raises(Failure, match="nothing was changed"):
            book.intend(entry)
        assert [e.id for e in book.open_entries] == ["1"]
        path = abandon(book)
        taken = undo.take(path)  # undoing needs no room
        assert taken is not None
        assert [one.outcome.state for one in undo.undo_entries(taken)] == ["reverted"]
        taken.close()
        assert journals(journal_dir()) == []
        assert list((tmp_path / "data").iterdir()) == []
    finally:
        subprocess.run(["umount", str(state)], check=True)


def test_one_bad_entry_does_not_keep_the_others(tmp_path: Path) -> None:
    book = journal()
    do(book, private_directory(str(tmp_path / "data")), "1")
    loop = Action(
        kind="resource", resource="loop", title="l", target="/dev/loop*"
    )  # without its file: a mistake of ours
    book.intend(Entry(id="2", action=loop, value="/dev/loop*"))
    path = abandon(book)
    taken = undo.take(path)
    assert taken is not None
    assert [one.outcome.state for one in undo.undo_entries(taken)] == ["failed", "reverted"]
    taken.close()
    assert list((tmp_path / "data").iterdir()) == []
    assert [entry.id for entry in peek(path)[1]] == ["2"]


def test_a_journal_of_the_same_name_is_another_run_s(tmp_path: Path) -> None:
    book = journal()
    do(book, private_directory(str(tmp_path / "data")), "1")
    with pytest.raises(Failure, match="nothing was changed"):
        journal()
    path = abandon(book)
    assert [entry.id for entry in peek(path)[1]] == ["1"]


def test_one_that_is_held_does_not_keep_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(undo, "PATIENCE_S", 0.0)
    held = Journal.create(private(journal_dir()) / "a.jsonl", header())
    do(held, private_directory(str(tmp_path / "data")), "1")
    book = journal()
    do(book, set_attribute(tmp_path), "1")
    abandon(book)
    assert cli_undo.undo.main([], standalone_mode=False) == 3
    assert "try again in a moment" in capsys.readouterr().err
    assert (tmp_path / "attribute").read_text() == "old\n"
    assert journals(journal_dir()) == [held.path]
    abandon(held)


def test_what_hangs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(undo, "PATIENCE_S", 0.0)
    held = journal()
    do(held, set_attribute(tmp_path), "1")
    held.hanging("1", identity())
    assert cli_undo.undo.main([], standalone_mode=False) == 3
    assert f"hangs on a stuck device (pid {os.getpid()}, see dmesg)" in capsys.readouterr().err
    assert (tmp_path / "attribute").read_text() == "new\n"
    abandon(held)


def test_every_line_is_read_as_it_was_written(tmp_path: Path) -> None:
    book = journal()
    do(book, set_attribute(tmp_path), "1")
    do(book, private_directory(str(tmp_path / "data")), "2")
    book.undoing("1")
    book.back("1", {"/a": "7"})
    book.hanging("1", identity())
    book.hanging("2", identity())
    book.hanging("no such entry", identity())
    entries = book.open_entries
    (first, second) = entries
    assert first.undoing and first.back and first.left == {"/a": "7"} and first.writers == (identity(),)
    assert second.place is not None and second.made
    assert peek(abandon(book))[1] == entries
