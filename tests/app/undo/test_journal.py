"""The journal's lines: on the disk before what they announce."""

import os
from pathlib import Path

import pytest

from hostdx.app.terminal.process import process_identity
from hostdx.app.undo.journal import SCHEMA, Journal, JournalEntry, JournalHeader, read_content, read_unlocked
from hostdx.scenarios.contract.action import Action


def test_a_line_is_on_the_disk_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = JournalHeader(
        schema=SCHEMA, run="r", who=process_identity(), command=[], recording="", began_s=0.0
    )
    book = Journal.create_new(tmp_path / "r.jsonl", header)
    synced: list[bytes] = []
    fsync = os.fsync

    def note_and_sync(descriptor: int) -> None:
        assert descriptor == book.descriptor
        synced.append(read_content(descriptor))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note_and_sync)
    book.record_intent(
        JournalEntry(id="1", action=Action(kind="attribute", title="set", target="/x", new="1"), value="1")
    )
    assert synced == [book.path.read_bytes()]
    assert [entry.id for entry in read_unlocked(book.path)[1]] == ["1"]
    os.close(book.descriptor)
