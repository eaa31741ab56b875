"""What a person or a neighbour named is opened where it is a regular file; nothing else is touched or waited for."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.probes.files.safe_read import FileTooLarge, open_trusted_regular, read_trusted_file
from tests.needs import ROOT, needs

ALICE = 65534
needs_root = needs(ROOT)


@pytest.fixture
def odd(tmp_path: Path) -> Iterator[dict[str, Path]]:
    """What is no regular file, and links to such."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        with contextlib.chdir(tmp_path):  # a socket's path is short
            server.bind("socket")
        paths = {name: tmp_path / name for name in ("pipe", "folder", "socket")}
        paths["device"] = Path("/dev/null")
        for name, path in tuple(paths.items()):
            paths[f"link-to-{name}"] = tmp_path / f"link-to-{name}"
            paths[f"link-to-{name}"].symlink_to(path)
        yield paths


def test_what_is_no_file_is_refused_without_being_opened(
    odd: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    flags_used: list[int] = []
    real = os.open

    def note_and_open(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        flags_used.append(flags)
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", note_and_open)
    for name, path in odd.items():
        before = list(Path("/proc/self/fd").iterdir())
        with pytest.raises(OSError, match="not a regular file"):
            open_trusted_regular(path)
        assert len(list(Path("/proc/self/fd").iterdir())) == len(before), name
    assert flags_used and all(flags & os.O_PATH for flags in flags_used)


def test_a_file_is_opened_by_every_way_that_is_the_callers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "up").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    for path in ("file", "./up//link", str(tmp_path / "up/up/file"), "../" + tmp_path.name + "/link"):
        assert read_trusted_file(path, 5) == b"12345"
    with Path("file").open("rb") as file:
        assert read_trusted_file(f"/dev/fd/{file.fileno()}", 5) == b"12345"
    with pytest.raises(FileTooLarge):
        read_trusted_file("file", 4)
    with pytest.raises(FileNotFoundError):
        read_trusted_file("none", 4)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="too many links"):
        read_trusted_file("loop", 4)


@needs_root
def test_a_link_in_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("root's")
    for name, uid, mode in (("alices", ALICE, 0o755), ("sticky", 0, 0o1777), ("shared", 0, 0o777)):
        folder = tmp_path / name
        folder.mkdir()
        os.chown(folder, uid, uid)
        folder.chmod(mode)
        (folder / "link").symlink_to("../secret")
        (folder / "up").symlink_to("..")
        for path in (folder / "link", folder / "up" / "secret"):
            with pytest.raises(PermissionError, match="is a link in a folder that others may write to"):
                open_trusted_regular(path)
        (folder / "file").write_text("hers")
        assert read_trusted_file(folder / "file", 9) == b"hers"


@needs_root
def test_what_is_swapped_after_the_look_is_not_what_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a file when it is looked at, and a FIFO in its place when it is opened."""
    place = tmp_path / "file"
    place.write_text("seen")
    real = os.fstat

    def look_and_swap(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        if Path(f"/proc/self/fd/{descriptor}").readlink() == place:
            place.rename(tmp_path / "gone")
            os.mkfifo(place)
        return status

    monkeypatch.setattr("hostdx.probes.files.safe_read.os.fstat", look_and_swap)
    assert os.read(open_trusted_regular(place), 9) == b"seen"
