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

from hostdx.probes.children.own_module import own_module
from hostdx.probes.imports.confinement import MAX_WRITTEN_BYTES
from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage.darshan import DarshanLog, make_result
from hostdx.probes.reading.captured.temporary_folder import temporary_folder

_MAGIC = 6567223  # include/darshan-log-format.h, DARSHAN_MAGIC_NR, in the byte order of the writer
_MAGICS = (_MAGIC.to_bytes(8, "little"), _MAGIC.to_bytes(8, "big"))
_SECONDS = 120
# each thread that numpy's library might want reserves memory, and that is bounded
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class _DarshanAnswer(msgspec.Struct):
    detail: DarshanLog | None = None
    error: str = ""
    damaged: bool = False


def is_darshan_log(source: ImportSource) -> bool:
    """By the version text "3.10" and the magic number right behind it."""
    return any(magic in source.head[:64] for magic in _MAGICS) or _is_old_log(source)


def _is_old_log(source: ImportSource) -> bool:
    return source.head[:2] in (b"1.", b"2.") and b"\0" in source.head[:8] and source.head[2:4].isdigit()


def parse_darshan_log(source: ImportSource) -> ImportResult:
    if _is_old_log(source):
        version = source.head[:4].decode("ascii", "replace")
        raise ImportRefusedError(
            f"Darshan: a log of version {version}, which the installed library does not read",
            "convert it with a darshan-parser of that version, and import the text",
        )
    if importlib.util.find_spec("darshan") is None:
        raise ImportRefusedError(
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
        command = own_module("hostdx.probes.imports.storage.darshan_child", copy.name, str(fd))
        try:
            status = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=_SECONDS, cwd=place, check=False, pass_fds=(fd,), env=os.environ | _ONE_THREAD,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ImportRefusedError(
                f"Darshan: the library did not end within {_SECONDS} s", "the log is damaged"
            ) from None
        child = _read_answer(answer)
    if child is None:
        ending = f"signal {-status}" if status < 0 else f"status {status}"
        raise ImportRefusedError(
            f"Darshan: the log is damaged: the library ended with {ending}", "copy it again from the cluster"
        )
    if child.detail is None:
        raise ImportRefusedError(
            f"Darshan: the log cannot be read: {child.error[:200]}", "copy it again from the cluster"
        )
    if child.damaged:
        raise ImportRefusedError(
            "Darshan: the log names modules that have no record: it is cut off",
            "copy it again from the cluster",
        )
    return make_result(child.detail, "darshan")


def _read_answer(file: IO[bytes]) -> _DarshanAnswer | None:
    file.seek(0)
    try:
        return msgspec.json.decode(file.read(MAX_WRITTEN_BYTES), type=_DarshanAnswer)
    except msgspec.MsgspecError:
        return None
