"""A foreign archive: nothing of it gets out of its folder, and only files, folders and links are made."""

import gzip
import io
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from hostdx.probes.reading.captured import archive as archive_module
from hostdx.probes.reading.captured import archive as bounds
from hostdx.probes.reading.captured.archive import ArchiveRefusedError, unpack_archive
from tests.every_case import every_case


def add_member(tar: tarfile.TarFile, name: str, data: bytes = b"x", **fields: object) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    tar.addfile(info, io.BytesIO(data))


def test_what_leads_out_is_left_out(tmp_path: Path) -> None:
    archive, into = tmp_path / "a.tar.gz", tmp_path / "in"
    into.mkdir()
    with tarfile.open(archive, "w:gz") as tar:
        add_member(tar, "sys/block/sda/size", b"12")
        add_member(tar, "../escaped")
        add_member(tar, "/proc/version", b"Linux")
        add_member(tar, "evil", type=tarfile.SYMTYPE, linkname=str(tmp_path), size=0, data=b"")
        add_member(tar, "evil/through")
        add_member(tar, "dev/null", type=tarfile.CHRTYPE, size=0, data=b"")
        add_member(tar, "pipe", type=tarfile.FIFOTYPE, size=0, data=b"")
        add_member(tar, "hard", type=tarfile.LNKTYPE, linkname="sys/block/sda/size", size=0, data=b"")
    count, left_out, _ = unpack_archive(str(archive), str(into))
    assert (count, left_out) == (3, 5)
    assert (into / "sys/block/sda/size").read_bytes() == b"12"
    assert (
        into / "proc/version"
    ).read_bytes() == b"Linux"  # from the root of the archive, not of this machine
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tar.gz", "in"]
    assert (into / "evil").is_symlink() and not (into / "pipe").exists()


@every_case("data", [b"", b"nonsense" * 1000, b"\x1f\x8b" + b"x" * 400, b"\xfd7zXZ\x00" + b"y" * 99])
def test_what_is_no_tar_is_said_in_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    (tmp_path / "in").mkdir()
    with pytest.raises(ArchiveRefusedError) as error:
        unpack_archive(str(tmp_path / "a"), str(tmp_path / "in"))
    assert "\n" not in str(error.value)


def test_a_cut_archive_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        add_member(tar, "sys/x", bytes(range(256)) * 4000)
    (tmp_path / "cut").write_bytes((tmp_path / "a.tar.gz").read_bytes()[:-200])
    (tmp_path / "in").mkdir()
    with pytest.raises(ArchiveRefusedError):
        unpack_archive(str(tmp_path / "cut"), str(tmp_path / "in"))


def test_a_header_that_never_ends_is_refused_before_it_is_in_memory(tmp_path: Path) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 64 << 20
    with gzip.open(tmp_path / "a.tar.gz", "wb", 1) as file:
        file.write(header.tobuf(tarfile.USTAR_FORMAT))
        for _ in range(64):
            file.write(bytes(1 << 20))
    (tmp_path / "in").mkdir()
    tracemalloc.start()
    try:
        with pytest.raises(ArchiveRefusedError, match="a header of more than"):
            unpack_archive(str(tmp_path / "a.tar.gz"), str(tmp_path / "in"))
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_what_is_left_out_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_FILE_BYTES", 1000)
    monkeypatch.setattr(bounds, "MAX_STREAM_BYTES", 100_000)
    with tarfile.open(tmp_path / "a.tar.xz", "w:xz") as tar:
        add_member(tar, "big", bytes(200_000))
        add_member(tar, "sys/x")
    (tmp_path / "in").mkdir()
    with pytest.raises(ArchiveRefusedError, match="more than 100000 bytes"):
        unpack_archive(str(tmp_path / "a.tar.xz"), str(tmp_path / "in"))


@every_case("suffix", ["", ":gz", ":bz2", ":xz"])
def test_every_packer_is_read(tmp_path: Path, suffix: str) -> None:
    with tarfile.open(tmp_path / "a", f"w{suffix}") as tar:  # type: ignore[call-overload]
        add_member(tar, "sys/" + "long/" * 60 + "x", bytes(3 << 20))
        add_member(tar, "sys/y", b"1")
    (tmp_path / "in").mkdir()
    assert unpack_archive(str(tmp_path / "a"), str(tmp_path / "in")) == (2, 0, 0)


def test_of_a_crowded_folder_the_first_names_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_module, "MAX_SIBLINGS", 3)
    with tarfile.open(tmp_path / "a", "w") as tar:
        for pid in range(1, 7):
            add_member(tar, f"proc/{pid}/stat", b"x")
            add_member(tar, f"proc/{pid}/status", b"y")
        add_member(tar, "sys/y", b"1")
    (tmp_path / "in").mkdir()
    assert unpack_archive(str(tmp_path / "a"), str(tmp_path / "in")) == (7, 0, 6)
    assert sorted(path.name for path in (tmp_path / "in" / "proc").iterdir()) == ["1", "2", "3"]
    assert (tmp_path / "in" / "proc" / "3" / "status").exists() and (tmp_path / "in" / "sys" / "y").exists()


def test_what_is_left_out_of_a_crowd_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many members as one likes would be read otherwise; tarfile need not see them."""
    monkeypatch.setattr(archive_module, "MAX_SIBLINGS", 3)
    monkeypatch.setattr(archive_module, "MAX_MEMBERS", 8)
    monkeypatch.setattr(archive_module, "MAX_HEADERS", 20)
    (tmp_path / "in").mkdir()
    for pids, crowded in ((20, 17), (21, None)):
        with tarfile.open(tmp_path / "a", "w") as tar:
            for pid in range(pids):
                add_member(tar, f"proc/{pid}", bytes(3000))
        if crowded is not None:
            assert unpack_archive(str(tmp_path / "a"), str(tmp_path / "in")) == (3, 0, crowded)
        else:
            with pytest.raises(ArchiveRefusedError, match="more than 20 members"):
                unpack_archive(str(tmp_path / "a"), str(tmp_path / "in"))


@every_case("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_crowd_takes_nothing_from_its_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: int
) -> None:
    """Long names and large sizes have headers of their own, each a different one by format."""
    monkeypatch.setattr(archive_module, "MAX_SIBLINGS", 2)
    long = "sys/" + "long/" * 30 + "x"
    with tarfile.open(tmp_path / "a", "w", format=form) as tar:
        for pid in range(9):
            add_member(tar, f"proc/{pid}", bytes(513 * pid))
        add_member(tar, long, b"kept")
        for pid in range(9):
            add_member(tar, f"proc/{pid}", b"again")
        add_member(tar, "sys/y", b"last", mtime=1.5, uid=1 << 40 if form != tarfile.USTAR_FORMAT else 1)
    (tmp_path / "in").mkdir()
    assert unpack_archive(str(tmp_path / "a"), str(tmp_path / "in")) == (6, 0, 14)
    assert (tmp_path / "in" / long).read_bytes() == b"kept"
    assert (tmp_path / "in/sys/y").read_bytes() == b"last"
