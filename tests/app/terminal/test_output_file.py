"""Where a result is written: files and pipes that are read, never a device, and never for ever."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hostdx.app import locks
from hostdx.app.cli.entry import run_command_line
from hostdx.app.recordings import events_output
from hostdx.app.recordings.events_output import EventsOutput
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.output_file import deliver_text, open_output, write_bytes
from hostdx.scenarios.contract import events as ev
from tests.app.cli.test_command_line import enter, own_state  # noqa: F401
from tests.needs import ROOT, needs, not_here

DEMO = "demo:dstate"


@pytest.fixture
def block_device(tmp_path: Path) -> Path:
    """A name for a device that does not exist: opening it would fail, overwriting it harm nobody."""
    device = tmp_path / "sdx"
    try:
        os.mknod(device, 0o600 | 0o060000, os.makedev(4095, 1))
    except PermissionError:
        not_here("making a device node needs root")
    return device


@pytest.mark.parametrize(
    "words",
    [("report", DEMO, "-o"), ("compare", "demo:null", "demo:storage", "-o"), ("run", "fake", "--events")],
)
def test_a_block_device_is_refused(
    capsys: pytest.CaptureFixture[str], block_device: Path, words: tuple[str, ...]
) -> None:
    status, _, err = enter(capsys, *words, str(block_device))
    assert status == 3 and f"{block_device}: is a block device" in err and block_device.is_block_device()


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_so_is_another_device(device: str) -> None:
    with pytest.raises(Failure, match="is a device, not a file"):
        open_output("report", device, 0o600)


@pytest.mark.parametrize("device", ["/dev/null", "/dev/full"])
def test_these_are_asked_for_on_purpose(device: str) -> None:
    os.close(open_output("report", device, 0o600))


@pytest.mark.parametrize("words", [("report", DEMO, "-o"), ("run", "fake", "--events")])
def test_a_pipe_that_nobody_reads_is_not_waited_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    status, _, err = enter(capsys, *words, str(tmp_path / "pipe"))
    assert status == 3 and "no process reads this pipe" in err


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text("what was there before, and longer")
    deliver_text("report", str(path), "new")
    assert path.read_text() == "new"


def full_pipe(tmp_path: Path) -> Path:
    """A pipe that is full, and whose reader does not read."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        while True:
            os.write(reader, bytes(4096))
    except BlockingIOError:
        return pipe  # `reader` stays open: it is ours to close with the process


def test_a_reader_that_pauses_keeps_neither_the_run_nor_its_lock(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_output, "PATIENCE_S", 0.05)
    close_tee, free = EventsOutput.close, []

    def close(tee: EventsOutput, *, hurry: bool) -> None:
        locks.lock_measuring("another", "now", print).release_lock()
        free.append(True)
        close_tee(tee, hurry=hurry)

    monkeypatch.setattr(EventsOutput, "close", close)
    assert run_command_line(["run", "fake", "--fast", "--events", str(full_pipe(tmp_path))]) == 0
    assert free and "its reader pauses; the recording has all of it" in capsys.readouterr().err


def test_what_waits_for_a_reader_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_output, "WAITING_LIMIT", 10_000)
    warnings: list[str] = []
    tee = EventsOutput(str(full_pipe(tmp_path)), warnings.append)
    for _ in range(200):
        tee.write(ev.Note(t=0, text="x" * 100))
    assert len(warnings) == 1 and tee._lines.qsize() < 200
    tee.close(hurry=True)


def test_a_paused_terminal_does_not_hold_up_who_speaks() -> None:
    code = (
        "import os\n"
        "from hostdx.app.terminal import output\n"
        "reader, writer = os.pipe()\n"
        "os.set_blocking(writer, False)\n"
        "try:\n"
        "    while True: os.write(writer, bytes(4096))\n"
        "except BlockingIOError: os.set_blocking(writer, True)\n"
        "os.dup2(writer, 2)\n"
        "for _ in range(9): output.print_note('x' * 9000)\n"
        "os.read(reader, 1 << 20)\n"
        "output.print_note('taken again')\n"
        "output.print_result(os.read(reader, 100).decode())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, timeout=60, check=True
    )
    assert done.stdout == "taken again\n\n"


def test_bytes_go_into_a_pipe_too(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_bytes("capture", str(tmp_path / "pipe"), 0o600, b"abc")
        assert os.read(reader, 10) == b"abc"
    finally:
        os.close(reader)


def test_bytes_that_find_no_room_are_one_line() -> None:
    with pytest.raises(Failure, match="capture: /dev/full: cannot be written: No space left"):
        write_bytes("capture", "/dev/full", 0o600, bytes(1 << 20))


ALICE = 65534
needs_root = needs(ROOT)


@pytest.fixture
def alices(tmp_path: Path) -> Path:
    """Her folder, in root's; beside it what is precious to root."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "passwd").write_text("root")
    folder = tmp_path / "alice"
    folder.mkdir()
    os.chown(folder, ALICE, ALICE)
    return folder


@needs_root
@pytest.mark.parametrize("link", ["report.md", "out"])
@pytest.mark.parametrize("words", [("report", DEMO, "-o"), ("run", "fake", "--events")])
def test_root_follows_no_link_of_another_users(
    capsys: pytest.CaptureFixture[str], alices: Path, link: str, words: tuple[str, ...]
) -> None:
    """It was written to what the link led to, from its first byte on."""
    precious = alices.parent / "precious"
    target, name = (precious / "passwd", "report.md") if link == "report.md" else (precious, "out/passwd")
    (alices / link).symlink_to(target)
    status, _, err = enter(capsys, *words, str(alices / name))
    assert status == 3 and f"{link} is a link in a folder that others may write to" in err
    assert (precious / "passwd").read_text() == "root"


@needs_root
def test_a_link_that_is_put_there_in_between_is_not_followed(
    alices: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After it was looked at, before it is opened: at each such moment."""
    precious = alices.parent / "precious" / "passwd"
    lstat = os.lstat

    def look_and_swap(path: str, *, dir_fd: int | None = None) -> os.stat_result:
        try:
            return lstat(path, dir_fd=dir_fd)
        finally:
            if path == "report.md":
                (alices / path).unlink(missing_ok=True)
                (alices / path).symlink_to(precious)

    monkeypatch.setattr("hostdx.probes.files.path_walk.os.lstat", look_and_swap)
    for exists in (False, True):
        (alices / "report.md").unlink(missing_ok=True)
        if exists:
            (alices / "report.md").touch()
        with pytest.raises(Failure, match=r"report\.md: cannot be written"):
            open_output("report", str(alices / "report.md"), 0o644)
        assert precious.read_text() == "root"


@needs_root
def test_what_is_for_root_alone_is_not_written_into_anothers_file(alices: Path) -> None:
    (alices / "a.tar.gz").write_text("hers")
    os.chown(alices / "a.tar.gz", ALICE, ALICE)
    with pytest.raises(Failure, match=f"belongs to uid {ALICE}, who could read it"):
        write_bytes("capture", str(alices / "a.tar.gz"), 0o600, b"the kernel's log")
    assert (alices / "a.tar.gz").read_text() == "hers"
    (alices / "passwd").hardlink_to(alices.parent / "precious" / "passwd")
    with pytest.raises(Failure, match="has 2 hard links"):
        open_output("report", str(alices / "passwd"), 0o644)


@needs_root
def test_what_root_named_is_written(alices: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In her folder, over root's own links, relative, over `..`; and what is open already."""
    (alices.parent / "link").symlink_to("alice")
    (alices.parent / "last").symlink_to("link/d")
    monkeypatch.chdir(alices)
    for name in (alices / "a", alices.parent / "link" / "b", "c", "../last", "../precious/../alice//e"):
        write_bytes("capture", str(name), 0o600, b"x")
    assert sorted(p.name for p in alices.iterdir()) == ["a", "b", "c", "d", "e"]
    with (alices.parent / "open").open("wb") as file:
        write_bytes("capture", f"/dev/fd/{file.fileno()}", 0o600, b"x")
    assert (alices.parent / "open").read_bytes() == b"x"
    with pytest.raises(Failure, match="Is a directory"):
        open_output("report", str(alices), 0o644)
