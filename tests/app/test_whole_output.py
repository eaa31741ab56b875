"""A result is written whole or not at all: a disk that is full leaves nothing new, and what was there as it was."""

import os
import resource
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.app.features.bundle import build
from hostdx.app.features.bundle.build import PortableArchive
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.output_file import OutputFile, check_outputs, write_bytes, write_files
from hostdx.probes.reading.recording_host import RecordingHost
from hostdx.scenarios.triage import triage
from tests.app.cli.test_command_line import own_state  # noqa: F401
from tests.app.launcher import ROOT as TREE

LIMIT = 4096


@contextmanager
def no_room() -> Iterator[None]:
    """No file grows beyond 4 KiB (setrlimit(2), RLIMIT_FSIZE): as a disk that gets full while one is written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    compiled, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # Python keeps half a compiled module
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, before[1]))
    try:
        yield
    finally:
        sys.dont_write_bytecode = compiled
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    results = tmp_path / "results"
    results.mkdir()
    return results


def is_refused(*words: str) -> bool:
    with no_room():
        return run_command_line(list(words)) == 3


FILE = str(TREE / "tests/data/io500-claix.tsv")
COMMANDS = {
    "report": ("report", "demo:storage", "-o"),
    "report-html": ("report", "demo:storage", "--format", "html", "-o"),
    "compare": ("compare", "demo:kernel-5-10", "--", "demo:kernel", "--format", "json", "-o"),
    "capture": ("capture", "-o"),
    "import": ("import", FILE, "-o"),
    "bundle": ("bundle", "-o"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_leaves_nothing_of_a_command(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        build, "build_portable_archive", lambda: PortableArchive(bytes(99), bytes(2 * LIMIT), 1)
    )  # the second does not fit
    (folder.parent / "read").write_bytes(os.urandom(4 * LIMIT))  # a capture of one file, which does not fit
    monkeypatch.setattr(
        triage, "examine_host", lambda host, _: [host.read_file_text(str(folder.parent / "read"))]
    )
    for asks in ("ask_programs", "ask_commands"):
        monkeypatch.setattr(RecordingHost, asks, lambda *_: None)
    assert is_refused(*COMMANDS[name], str(folder / "result")) and list(folder.iterdir()) == []
    if name != "import":  # never over a file
        (folder / "result").write_text("before")
        (folder / "result").chmod(0o640)
        assert is_refused(*COMMANDS[name], str(folder / "result"))
        assert [p.name for p in folder.iterdir()] == ["result"]
        assert (folder / "result").read_text() == "before"


def as_it_was(path: Path) -> bool:
    with no_room(), pytest.raises(Failure):
        write_bytes("report", str(path), 0o644, b"x" * 2 * LIMIT)
    return path.read_text() == "before"


def test_what_is_written_in_place_stays_as_it_was(folder: Path) -> None:
    """A file with two names: both show the new one, or neither."""
    (folder / "a").write_text("before")
    (folder / "b").hardlink_to(folder / "a")
    assert as_it_was(folder / "a") and (folder / "b").read_text() == "before"
    write_bytes("report", str(folder / "a"), 0o644, b"new")
    assert (folder / "b").read_text() == "new" and len(list(folder.iterdir())) == 2


def test_a_file_keeps_its_bits_and_a_link_leads_on(folder: Path) -> None:
    (folder / "a").write_text("before, and longer")
    (folder / "a").chmod(0o640)
    (folder / "link").symlink_to("a")
    write_bytes("report", str(folder / "link"), 0o644, b"new")
    assert (folder / "a").read_text() == "new" and (folder / "link").is_symlink()
    assert stat.S_IMODE((folder / "a").stat().st_mode) == 0o640


def test_several_are_there_together_or_not_at_all(folder: Path) -> None:
    (folder / "b").write_text("before")
    files = [OutputFile(str(folder / name), 0o644, b"new") for name in ("a", "b")]
    with pytest.raises(Failure):
        write_files("bundle", [*files, OutputFile(str(folder / "no" / "c"), 0o644, b"new")])
    assert [(p.name, p.read_text()) for p in folder.iterdir()] == [("b", "before")]
    write_files("bundle", files)
    assert sorted((p.name, p.read_text()) for p in folder.iterdir()) == [("a", "new"), ("b", "new")]


@pytest.mark.parametrize("name", ["bundle", "capture"])
def test_a_place_that_is_not_there_is_refused_before_anything_is_made(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail_if_made() -> PortableArchive:
        pytest.fail("it was made")

    monkeypatch.setattr(build, "build_portable_archive", fail_if_made)
    monkeypatch.setattr("hostdx.app.cli.telling.capture.RecordingHost", fail_if_made)
    for place in (folder / "no" / "x", folder):
        assert run_command_line([*COMMANDS[name], str(place)]) == 3
        assert len(capsys.readouterr().err.splitlines()) == 1
    assert list(folder.iterdir()) == []


def test_the_check_makes_and_changes_nothing(folder: Path) -> None:
    (folder / "there").write_text("before")
    os.mkfifo(folder / "pipe")
    check_outputs("report", *(str(folder / name) for name in ("there", "pipe", "absent")))
    assert sorted(p.name for p in folder.iterdir()) == ["pipe", "there"]
    with pytest.raises(Failure):
        check_outputs("import", str(folder / "there"), new=True)
    assert (folder / "there").read_text() == "before"
