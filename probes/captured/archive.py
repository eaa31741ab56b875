"""A captured host in a tar: unpacked into a private folder, trusting nothing of it.

Only folders, regular files and symlinks are made; names that lead out, devices, pipes and hard links are left out.
Symlinks are never followed while unpacking, and afterwards only inside the tree (`captured_paths`). Bounded in members
and bytes, left out ones included: tarfile reads a header of any size whole into memory, and 4 MB of gzip hold one of a
gigabyte. `tarfile.data_filter` is not in Python 3.11.2.
"""

import bz2
import gzip
import lzma
import os
import tarfile
from collections import Counter
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from probes.named_file import open_regular

MAX_MEMBERS = 250_000
MAX_SIBLINGS = 10_000  # names in one folder: of a host with 400,000 processes the first ones tell enough
MAX_FILE_BYTES = 64 << 20
MAX_UNPACKED_BYTES = 1 << 30
MAX_STREAM_BYTES = 4 << 30  # with what is left out: some 20 s of unpacking
MAX_HEADER_BYTES = 1 << 20  # of one member: long names and extended attributes
_CHUNK_BYTES = 1 << 16


class ArchiveRefusedError(Exception):
    """Why the archive cannot be used, in one line."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _LimitedArchiveReader:
    """Hands out no more than `allowed` bytes; more is asked for by a header that is longer than any."""

    def __init__(self, archive: str, source: _Readable) -> None:
        self._archive, self._source, self._read_bytes = archive, source, 0
        self.allowed = MAX_HEADER_BYTES

    def read(self, size: int, /) -> bytes:
        data = self._source.read(min(size, _CHUNK_BYTES))
        self._read_bytes += len(data)
        if self._read_bytes > MAX_STREAM_BYTES:
            raise ArchiveRefusedError(f"{self._archive}: more than {MAX_STREAM_BYTES} bytes unpacked")
        if self._read_bytes > self.allowed:
            raise ArchiveRefusedError(f"{self._archive}: a header of more than {MAX_HEADER_BYTES} bytes")
        return data

    def allow_member(self, member_bytes: int) -> None:
        """A member's data, and the next header."""
        self.allowed = self._read_bytes + member_bytes + MAX_HEADER_BYTES


def _open_decompressed(file: IO[bytes]) -> _Readable:
    magic = file.read(6)
    file.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if magic.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if magic.startswith((b"\xfd7zXZ\0", b"\x5d\0\0\x80")):
        return lzma.LZMAFile(file)
    return file


class Unpacked(NamedTuple):
    """How many members were unpacked, left out, and left out because their folder has too many names."""

    unpacked_count: int
    left_out: int
    crowded: int


def unpack_archive(archive: str, into: str) -> Unpacked:
    """Raises ArchiveRefusedError."""
    count = unpacked_count = left_out = crowded = total = 0
    tree = _Tree(into)
    try:
        with os.fdopen(open_regular(archive), "rb") as file:
            stream = _LimitedArchiveReader(archive, _open_decompressed(file))
            tar = tarfile.open(fileobj=stream, mode="r|", errorlevel=1)  # type: ignore[call-overload] # noqa: SIM115
            while (member := tar.next()) is not None:
                tar.members.clear()  # it would keep half a million of them
                count += 1
                stream.allow_member(member.size)
                if count > MAX_MEMBERS:
                    raise ArchiveRefusedError(f"{archive}: more than {MAX_MEMBERS} members")
                path = tree.path_of(member.name)
                if path is None or not _is_allowed_member(member):
                    left_out += 1
                    continue
                if not tree.has_room(path):
                    crowded += 1
                    continue
                total += member.size if member.isreg() else 0
                if total > MAX_UNPACKED_BYTES:
                    raise ArchiveRefusedError(f"{archive}: more than {MAX_UNPACKED_BYTES} bytes unpacked")
                try:
                    tree.place_member(tar, member, path)
                    unpacked_count += 1
                except OSError:  # a name that is too long, a file in the place of a folder
                    left_out += 1
    except (tarfile.TarError, EOFError, ValueError, OverflowError, MemoryError) as error:
        raise ArchiveRefusedError(f"{archive}: not a tar that can be read: {error}") from None
    except OSError as error:
        raise ArchiveRefusedError(f"{archive}: {error.strerror or error}") from None
    except Exception as error:  # lzma and zlib have errors of their own
        if isinstance(error, ArchiveRefusedError):
            raise
        raise ArchiveRefusedError(
            f"{archive}: not a tar that can be read: {type(error).__name__}: {error}"
        ) from None
    return Unpacked(unpacked_count, left_out, crowded)


def _is_allowed_member(member: tarfile.TarInfo) -> bool:
    plain = member.isdir() or member.issym() or member.isreg()
    return plain and member.size <= MAX_FILE_BYTES and "\0" not in member.linkname


class _Tree:
    """The folders below `into` that this unpacking made: only these are written to, and none is a link."""

    def __init__(self, into: str) -> None:
        self._into = into
        self._folders = {into}
        self._names: Counter[str] = Counter()  # by folder

    def path_of(self, name: str) -> str | None:
        """Return where a member goes; None for one that leads out of the tree, or through a link of another one."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if not parts or ".." in parts or "\0" in name:
            return None
        path = self._into
        for part in parts[:-1]:
            path = f"{path}/{part}"
            if path not in self._folders and os.path.islink(path):  # noqa: PTH114 (thousands of files)
                return None
        return f"{path}/{parts[-1]}"

    def has_room(self, path: str) -> bool:
        """Return False for a member of a folder that has its number of names, at any depth below `into`."""
        while path not in self._folders and path != self._into:
            folder, _, _ = path.rpartition("/")
            if self._names[folder] >= MAX_SIBLINGS and not os.path.lexists(path):
                return False
            path = folder
        return True

    def place_member(self, tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
        """Raises OSError."""
        self._make_folder(path.rpartition("/")[0])
        if member.isdir():
            self._make_folder(path)
            return
        self._names[path.rpartition("/")[0]] += 1
        _write_member(tar, member, path)

    def _make_folder(self, folder: str) -> None:
        if folder in self._folders:
            return
        above = folder.rpartition("/")[0]
        self._make_folder(above)
        Path(folder).mkdir(exist_ok=True)
        self._folders.add(folder)
        self._names[above] += 1


def _write_member(tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
    place = Path(path)
    if os.path.lexists(path):
        if place.is_dir() and not place.is_symlink():
            return
        place.unlink()
    if member.issym():
        place.symlink_to(member.linkname)
        return
    source = tar.extractfile(member)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        while source is not None and (data := source.read(_CHUNK_BYTES)):
            file.write(data)
