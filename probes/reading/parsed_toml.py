"""TOML files of the package, parsed once: kept as JSON beside Python's own byte code, by length and check sum.

Whoever may write there may write the byte code too. What is kept is data, and it is read as such.
"""

import contextlib
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from hostdx.probes.files.safe_read import read_regular
from hostdx.probes.types import Json

MAX_BYTES = 16 << 20
_FORM = b"1"  # of what is kept: another form has another name


def parse_toml(
    path: Path, data: bytes, derive: Callable[[dict[str, Json]], None] | None = None
) -> dict[str, Json]:
    """The content of a TOML file of ours, dates as texts. `derive` adds what is worked out from it, once.

    Raises ValueError as tomllib does.
    """
    derived = derive.__qualname__.encode() if derive is not None else b""
    # as Python knows its byte code by time and length; a cryptographic digest costs 4 ms to import
    digest = f"{len(data):x}-{zlib.crc32(data, zlib.crc32(_FORM + derived)):08x}"
    cache_path = path.parent / "__pycache__" / f"{path.name}.{digest}.json"
    with contextlib.suppress(OSError, ValueError):
        cached: dict[str, Json] = msgspec.json.decode(read_regular(str(cache_path), MAX_BYTES), type=dict)
        return cached
    import tomllib  # not where the file was parsed before

    parsed = tomllib.loads(data.decode())
    if derive is not None:
        derive(parsed)
    text = msgspec.json.encode(parsed)
    if not sys.dont_write_bytecode:
        _replace_cache_file(cache_path, text)
    content: dict[str, Json] = msgspec.json.decode(text, type=dict)
    return content


def _replace_cache_file(cache_path: Path, text: bytes) -> None:
    """As Python keeps byte code: under a name of its own first, in its place at once, where Python made the folder.

    A folder that cannot be written does no harm.
    """
    own, stem = f"{cache_path.name}.{os.getpid()}", cache_path.name.rsplit(".", 2)[0]
    with contextlib.suppress(OSError):
        folder = os.open(cache_path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for old in os.listdir(folder):  # noqa: PTH208 (by its descriptor)
                if old.startswith(f"{stem}.") and old.endswith(".json"):
                    os.unlink(old, dir_fd=folder)
            fd = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
            try:
                os.write(fd, text)
            finally:
                os.close(fd)
            os.replace(own, cache_path.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.close(folder)
