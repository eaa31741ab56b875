"""Directories whose names are not UTF-8: a plan's digest stays the same, undo removes that one and no other."""

import json
import os
from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.app.state import journal_dir, make_private
from hostdx.app.terminal.process import ProcessIdentity, process_identity
from hostdx.app.undo import effects, undo
from hostdx.app.undo.journal import SCHEMA, Journal, JournalHeader, read_unlocked
from hostdx.scenarios.contract.action import private_directory_action
from tests.app.launcher import run_hostdx

pytestmark = pytest.mark.usefixtures("own_state")

# the same name to a reader; a journal that wrote what a reader sees would not know them apart
NAMES = (b"r\xe9sultats", b"r\\xe9sultats", "résultats".encode(), b"r\\\\xe9sultats", b"r\\udce9sultats")


@pytest.mark.parametrize("name", NAMES)
def test_undo_removes_that_path_and_no_other(tmp_path: Path, name: bytes) -> None:
    folders = [tmp_path / os.fsdecode(raw_name) for raw_name in NAMES]
    for folder in folders:
        folder.mkdir()
    (folder,) = (folder for folder in folders if os.fsencode(folder.name) == name)
    nobody = ProcessIdentity(2**22 + 1, 1, process_identity().boot_id)
    head = JournalHeader(schema=SCHEMA, run="r", who=nobody, command=[str(folder)], recording="", began_s=0.0)
    book = Journal.create_new(make_private(journal_dir()) / "r.jsonl", head)
    entry = effects.prepare_entry(private_directory_action(str(folder)), "1")
    book.record_intent(entry)
    book.record_made(effects.carry_out_entry(entry, ()))
    os.close(book.descriptor)
    path = Path(entry.value)
    assert path.parent == folder and path.is_dir()
    for other in folders:  # of that name, not ours
        (other / path.name).mkdir(exist_ok=True)

    header, (read,) = read_unlocked(book.path)
    assert header.command == [str(folder)] and read.value == entry.value
    journal = undo.lock_journal(book.path)
    assert journal is not None
    assert [undo_entry.outcome.state for undo_entry in undo.undo_entries(journal)] == ["reverted"]
    journal.close()
    assert [folder for folder in folders if not (folder / path.name).exists()] == [folder]


def test_a_plan_has_one_digest_and_two_directories_have_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a process of its own as in this one."""
    digests = []
    for name in NAMES:
        folder = tmp_path / os.fsdecode(name)
        folder.mkdir(exist_ok=True)
        command = ("plan", "null", "--dir", str(folder), "--json")
        done = run_hostdx(tmp_path, *command)
        assert done.returncode == 0, done.stderr
        assert run_command_line(command) == 0
        shown, of_child = capsys.readouterr().out, done.stdout
        assert json.loads(shown)["digest"] == json.loads(of_child)["digest"]
        digests.append(json.loads(shown)["digest"])
    assert len(set(digests)) == len(NAMES)
