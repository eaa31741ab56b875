"""A file to be imported: read once, bounded, as bytes or as lines. Never more than `LIMIT` in memory."""

from __future__ import annotations

import csv
import hashlib
import os
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path

from hostdx.probes import units
from hostdx.probes.files.safe_read import open_trusted_regular
from hostdx.probes.imports.model import ImportRefusedError

LIMIT = 256 << 20  # bytes
HEAD = 64 << 10
LINE_LIMIT = 1 << 20  # a longer line is cut: mdtest's node map has one character a task
MAX_BLANKS = 500
_BLANKS = re.compile(r"\s{500,}")
_PACKED = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"BZh": ("bzip2", "bunzip2"),
    b"\xfd7zXZ": ("xz", "unxz"),
    b"PK\x03\x04": ("zip", "unzip"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
}


class ImportSource:
    """`name` is for messages and recognition by nothing else; `data` is the whole file without a byte order mark."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.size = len(data)
        self._raw = data
        self.data = _utf8_without_mark(data)
        self.head = self.data[:HEAD]

    @classmethod
    def read(cls, path: Path) -> ImportSource:
        """Raises ImportRefusedError: not there, not readable, no regular file, empty, or larger than LIMIT."""
        try:
            descriptor = open_trusted_regular(path)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise ImportRefusedError(f"cannot be read: {why}", "name the file that the tool wrote") from None
        try:
            with os.fdopen(descriptor, "rb") as file:
                is_large = os.fstat(descriptor).st_size > LIMIT
                data = b"" if is_large else file.read(LIMIT + 1)
        except OSError as error:
            raise ImportRefusedError(f"cannot be read: {error.strerror}", "check the disk it is on") from None
        if is_large or len(data) > LIMIT:
            raise ImportRefusedError(
                f"is larger than {units.format_size(LIMIT)}", "import the parts of it one by one"
            )
        return cls(str(path), data)

    @cached_property
    def sha256_digest(self) -> str:
        """SHA-256 of the file as it is on the disk, in hexadecimal."""
        return hashlib.sha256(self._raw).hexdigest()

    @cached_property
    def packer_names(self) -> tuple[str, str] | None:
        """The packer's name and the command that unpacks, where the file is compressed."""
        return next((names for magic, names in _PACKED.items() if self._raw.startswith(magic)), None)

    @cached_property
    def is_binary(self) -> bool:
        return b"\0" in self.head

    def contains_all(self, *needles: bytes) -> bool:
        """All of them occur in the first 64 KiB."""
        return all(needle in self.head for needle in needles)

    def read_lines(self) -> Iterator[str]:
        """Every line without its end; what is not UTF-8 becomes `\\xNN`. Control characters stay: they are data.

        No tool prints hundreds of blanks in a row, and patterns of a table's row need the square of their number.
        """
        start, data = 0, self.data
        while start < len(data):
            end = data.find(b"\n", start)
            stop = len(data) if end < 0 else end
            line = data[start : min(stop, start + LINE_LIMIT)]
            text = line.decode("utf-8", "backslashreplace").rstrip("\r")
            yield _BLANKS.sub(" " * MAX_BLANKS, text) if len(text) > MAX_BLANKS else text
            start = stop + 1

    def read_rows(self, tool: str) -> Iterator[list[str]]:
        """The rows of a CSV. Raises ImportRefusedError in the name of its tool."""
        try:
            yield from csv.reader(self.read_lines())
        except csv.Error as error:
            raise ImportRefusedError(f"{tool}: CSV cannot be read: {error}", "check the file") from None

    def read_batches(self, size: int = 10_000) -> Iterator[list[str]]:
        """The lines, many at once: long tables are read column by column."""
        lines = self.read_lines()
        while batch := list(islice(lines, size)):
            yield batch


def _utf8_without_mark(data: bytes) -> bytes:
    if data.startswith(b"\xef\xbb\xbf"):
        return data[3:]
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark) and len(data) <= LIMIT // 4:
            return data[2:].decode(encoding, "replace").encode("utf-8", "backslashreplace")
    return data
