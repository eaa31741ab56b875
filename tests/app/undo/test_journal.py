"""The journal's lines: on the disk before what they announce."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.process import identity
from app.undo.journal import SCHEMA, Header, Journal, JournalEntry, content, peek
from probes.action import Action


def test_a_line_is_on_the_disk_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = Header(schema=SCHEMA, run="r", who=identity(), command=[], recording="", began_s=0.0)
    book = Journal.create(tmp_path / "r.jsonl", header)
    synced: list[bytes] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        assert descriptor == book.descriptor
        synced.append(content(descriptor))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    book.intend(
        JournalEntry(id="1", action=Action(kind="attribute", title="set", target="/x", new="1"), value="1")
    )
    assert synced == [book.path.read_bytes()]
    assert [entry.id for entry in peek(book.path)[1]] == ["1"]
    os.close(book.descriptor)
