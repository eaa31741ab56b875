"""Darshan's binary logs, through PyDarshan (extra `hostdx[darshan]`) in a child process on a private copy,
with bounds and without root's rights (`confinement.py`).

libdarshan-util ends its process on a damaged log (assertion, invalid pointer), and once it unlinked the log on the
way: so it never sees the user's file and never runs in our process. Logs of 1.x and 2.x are refused by name.
"""

import importlib.util
import os
import subprocess
import tempfile
from pathlib import Path
from typing import IO

import msgspec

from probes.captured.temporary_folder import temporary_folder
from probes.children.own_module import own_module
from probes.imports.confinement import MOST_WRITTEN
from probes.imports.model import Refused, Result
from probes.imports.source import Source
from probes.imports.storage.darshan import Darshan, result

_MAGIC = 6567223  # include/darshan-log-format.h, DARSHAN_MAGIC_NR, in the byte order of the writer
_MAGICS = (_MAGIC.to_bytes(8, "little"), _MAGIC.to_bytes(8, "big"))
_SECONDS = 120
# each thread that numpy's library might want reserves memory, and that is bounded
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class _Child(msgspec.Struct):
    detail: Darshan | None = None
    error: str = ""
    damaged: bool = False


def recognised(source: Source) -> bool:
    """By the version text "3.10" and the magic number right behind it."""
    return any(magic in source.head[:64] for magic in _MAGICS) or _old(source)


def _old(source: Source) -> bool:
    return source.head[:2] in (b"1.", b"2.") and b"\0" in source.head[:8] and source.head[2:4].isdigit()


def parse(source: Source) -> Result:
    if _old(source):
        version = source.head[:4].decode("ascii", "replace")
        raise Refused(
            f"Darshan: a log of version {version}, which the installed library does not read",
            "convert it with a darshan-parser of that version, and import the text",
        )
    if importlib.util.find_spec("darshan") is None:
        raise Refused(
            "Darshan: a binary log, and PyDarshan is not installed",
            "pip install 'hostdx[darshan]', or import the output of darshan-parser",
        )
    with temporary_folder() as place, tempfile.TemporaryFile() as answer:
        copy = Path(place) / "copy.darshan"
        copy.write_bytes(source.data)
        if os.geteuid() == 0:  # the child is nobody: it may pass, and read this one
            Path(place).chmod(0o711)
            copy.chmod(0o644)
        fd = answer.fileno()
        command = own_module("probes.imports.storage.darshan_child", copy.name, str(fd))
        try:
            status = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=_SECONDS, cwd=place, check=False, pass_fds=(fd,), env=os.environ | _ONE_THREAD,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Refused(
                f"Darshan: the library did not end within {_SECONDS} s", "the log is damaged"
            ) from None
        child = _answer(answer)
    if child is None:
        how = f"signal {-status}" if status < 0 else f"status {status}"
        raise Refused(
            f"Darshan: the log is damaged: the library ended with {how}", "copy it again from the cluster"
        )
    if child.detail is None:
        raise Refused(
            f"Darshan: the log cannot be read: {child.error[:200]}", "copy it again from the cluster"
        )
    if child.damaged:
        raise Refused(
            "Darshan: the log names modules that have no record: it is cut off",
            "copy it again from the cluster",
        )
    return result(child.detail, "darshan")


def _answer(file: IO[bytes]) -> _Child | None:
    file.seek(0)
    try:
        return msgspec.json.decode(file.read(MOST_WRITTEN), type=_Child)
    except msgspec.MsgspecError:
        return None
