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
import re
import tarfile
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from hostdx.probes.files.safe_read import open_trusted_regular

MAX_MEMBERS = 130_000  # tarfile needs some 70 µs for a header: 9 s
MAX_HEADERS = 500_000  # with those that `_CrowdFilter` takes out before tarfile sees them: 5 s
MAX_SIBLINGS = 10_000  # names in one folder: of a host with 400,000 processes the first ones tell enough
MAX_FILE_BYTES = 64 << 20
MAX_UNPACKED_BYTES = 1 << 30
MAX_STREAM_BYTES = 4 << 30  # with what is left out: some 20 s of unpacking
MAX_HEADER_BYTES = 1 << 20  # of one member: long names and extended attributes
_CHUNK_BYTES = 1 << 16
_EXTENDED_TYPES = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE)
_KNOWN_TYPES = (*_EXTENDED_TYPES, *(b"%d" % number for number in range(8)), tarfile.AREGTYPE)
_OCTAL = re.compile(rb"[0-7]{1,11}")


class ArchiveRefusedError(Exception):
    """Why the archive cannot be used, in one line."""


class _ReadableStream(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _LimitedArchiveReader:
    """Hands out no more than `allowed` bytes; more is asked for by a header that is longer than any."""

    def __init__(self, archive: str, source: _ReadableStream) -> None:
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

    def set_limit_past_member(self, member_bytes: int) -> None:
        """A member's data, and the next header."""
        self.allowed = self._read_bytes + member_bytes + MAX_HEADER_BYTES


class _CrowdFilter:
    """A tar without the plain members of folders that have `MAX_SIBLINGS` names already: tarfile is slow to skip them.

    A member with a long name or extended attributes passes, and so does all that follows a header of another form.
    """

    def __init__(self, archive: str, source: _ReadableStream) -> None:
        self._archive, self._source = archive, source
        self._names: dict[bytes, set[bytes]] = {}  # by folder
        self._passing = 0  # bytes that go on to tarfile unseen
        self._is_extended = self._is_over = False
        self.header_count = self.crowded = 0

    def read(self, size: int, /) -> bytes:
        while not self._passing and not self._is_over:
            header = self._read_exactly(tarfile.BLOCKSIZE)
            data_bytes = self._count_header_and_get_data_bytes(header)
            if data_bytes is None:
                self._is_over = True
            elif not self._note_name_and_is_crowded(header):
                self._passing = data_bytes
                return header
            else:
                self.crowded += 1
                while data_bytes > 0 and (skipped := self._source.read(min(data_bytes, _CHUNK_BYTES))):
                    data_bytes -= len(skipped)
                continue
            return header
        data = self._source.read(size if self._is_over else min(size, self._passing))
        self._passing = max(0, self._passing - len(data)) if data else 0
        self._is_over |= not data
        return data

    def _count_header_and_get_data_bytes(self, header: bytes) -> int | None:
        """Return how many bytes follow the header; None at the end, and where only tarfile understands it."""
        size = header[124:136].strip(b" \0")
        if (
            len(header) < tarfile.BLOCKSIZE
            or header[156:157] not in _KNOWN_TYPES
            or not _OCTAL.fullmatch(size)
        ):
            return None
        self.header_count += 1
        if self.header_count > MAX_HEADERS:
            raise ArchiveRefusedError(f"{self._archive}: more than {MAX_HEADERS} members")
        return -(-int(size, 8) // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE

    def _note_name_and_is_crowded(self, header: bytes) -> bool:
        is_extended, self._is_extended = self._is_extended, header[156:157] in _EXTENDED_TYPES
        if is_extended or self._is_extended:
            return False
        name, prefix = header[:100].partition(b"\0")[0], header[345:500].partition(b"\0")[0]
        folder = b""
        for part in (prefix + b"/" + name).split(b"/"):
            if part in (b"", b"."):
                continue
            names = self._names.setdefault(folder, set())
            if part not in names:
                if len(names) >= MAX_SIBLINGS:
                    return True
                names.add(part)
            folder += b"/" + part
        return False

    def _read_exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size and (more := self._source.read(size - len(data))):
            data += more
        return data


def _open_decompressed(file: IO[bytes]) -> _ReadableStream:
    magic = file.read(6)
    file.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if magic.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if magic.startswith((b"\xfd7zXZ\0", b"\x5d\0\0\x80")):
        return lzma.LZMAFile(file)
    return file


class UnpackedCounts(NamedTuple):
    """How many members were unpacked, left out, and left out because their folder has too many names."""

    unpacked_count: int
    left_out: int
    crowded: int


def unpack_archive(archive: str, into: str) -> UnpackedCounts:
    """Raises ArchiveRefusedError."""
    count = unpacked_count = left_out = total = 0
    tree = _UnpackedTree(into)
    try:
        with os.fdopen(open_trusted_regular(archive), "rb") as file:
            members = _CrowdFilter(archive, _open_decompressed(file))
            stream = _LimitedArchiveReader(archive, members)
            tar = tarfile.open(fileobj=stream, mode="r|", errorlevel=1)  # type: ignore[call-overload] # noqa: SIM115
            while (member := tar.next()) is not None:
                tar.members.clear()  # it would keep half a million of them
                count += 1
                stream.set_limit_past_member(member.size)
                if count > MAX_MEMBERS:
                    raise ArchiveRefusedError(f"{archive}: more than {MAX_MEMBERS} members")
                path = tree.path_of(member.name)
                if path is None or not _is_plain_and_small(member):
                    left_out += 1
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
    return UnpackedCounts(unpacked_count, left_out, members.crowded)


def _is_plain_and_small(member: tarfile.TarInfo) -> bool:
    plain = member.isdir() or member.issym() or member.isreg()
    return plain and member.size <= MAX_FILE_BYTES and "\0" not in member.linkname


class _UnpackedTree:
    """The folders below `into` that this unpacking made: only these are written to, and none is a link."""

    def __init__(self, into: str) -> None:
        self._into = into
        self._folders = {into}

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

    def place_member(self, tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
        """Raises OSError."""
        self._make_folder(path.rpartition("/")[0])
        if member.isdir():
            self._make_folder(path)
            return
        _write_member(tar, member, path)

    def _make_folder(self, folder: str) -> None:
        if folder in self._folders:
            return
        self._make_folder(folder.rpartition("/")[0])
        Path(folder).mkdir(exist_ok=True)
        self._folders.add(folder)


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
