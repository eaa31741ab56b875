"""The bundle's start: unpacks it once into a private directory of the user's and becomes the program there.

It runs inside the bundle, as `hostdx_unpack`, before anything of hostdx is there: standard library only. What only the
unpacking needs is imported there, for each start pays for it.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
import zipimport
from collections.abc import Iterator
from typing import IO, Any

STARTED_AS = "HOSTDX_STARTED_AS"
START = "hostdx/probes/children/start.py"
MAX_LINKS = 40  # path_resolution(7)
UNUSED_S = 30 * 86400.0  # an older version's folder goes when nobody started it for so long


class UnfitBundle(Exception):
    """Why it cannot be unpacked there, or at all."""


class Bundle:
    """The file that was started. Its manifest says which part each interpreter needs, and which files are in a part."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._loader = zipimport.zipimporter(path)
        manifest = json.loads(self._loader.get_data("manifest.json"))
        self.time_s: int = manifest["time_s"]
        compiled = f"cp3{sys.version_info[1]}{sys.abiflags}-{os.uname().machine}"
        parts: dict[str, Any] = manifest["parts"]
        if compiled not in parts or not _has_glibc():
            known_parts = ", ".join(name for name in parts if name.startswith("cp"))
            libc = "" if _has_glibc() else " without glibc"
            raise UnfitBundle(f"holds nothing for this Python ({compiled}{libc}), but for {known_parts}")
        self.parts = {n: parts[n] for n in ("any", f"abi3-{os.uname().machine}", compiled) if n in parts}
        self.name = f"{manifest['name']}-{compiled}"

    def read_part(self, name: str) -> bytes:
        """A zip archive. Raises Unfit where the file was damaged on its way."""
        import hashlib

        data: bytes = self._loader.get_data(f"{name}.zip")
        if hashlib.sha256(data).hexdigest() != self.parts[name]["sha256"]:
            raise UnfitBundle(f"part {name} is damaged; copy the file again")
        return data

    def is_whole(self, folder: str) -> bool:
        """Every file is ours, of its size and as old as it was made: what was edited or swept away is unpacked anew."""
        me = os.geteuid()
        for part in self.parts.values():
            for path, size in part["files"]:
                try:
                    status = os.lstat(f"{folder}/{path}")
                except OSError:
                    return False
                as_made = (status.st_size, status.st_mtime, status.st_uid) == (size, self.time_s, me)
                if not as_made or not stat.S_ISREG(status.st_mode):
                    return False
        return True


def candidate_unpack_folders() -> Iterator[str]:
    """Where it may lie, in this order; each is to be a directory of ours alone."""
    me = os.geteuid()
    cache = os.environ.get("XDG_CACHE_HOME", "")
    yield (cache if cache.startswith("/") else os.path.expanduser("~/.cache")) + "/hostdx"  # noqa: PTH111
    yield f"/dev/shm/hostdx-bundle-{me}"
    yield f"{os.environ.get('TMPDIR') or '/tmp'}/hostdx-bundle-{me}"


def make_and_check_unpack_folder(folder: str) -> str:
    """Its real path, made where it is not there. Raises Unfit, OSError."""
    if not folder.startswith("/"):
        raise UnfitBundle("is no absolute path")
    above, name = os.path.split(folder)
    parent, absent = _split_at_first_missing(above)
    while absent:
        try:
            os.mkdir(os.path.join(parent, absent), 0o700)  # noqa: PTH102, PTH118
        except FileExistsError:
            pass  # somebody was quicker: whose it is, the next look tells
        parent, absent = _split_at_first_missing(above)
    folder = os.path.join(parent, name)  # noqa: PTH118
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102
    except FileExistsError:
        pass
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise UnfitBundle("is not a directory of yours alone (mode 700)")
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        raise UnfitBundle("programs may not be executed there (noexec)")
    return folder


def _split_at_first_missing(directory: str) -> tuple[str, str]:
    """Return how far it is there, over its links, and the first name that is not; nobody else rules what is passed.

    Before anything is made: another user's link leads to any place. Raises Unfit, OSError.
    """
    at, names, links = "/", directory.split("/")[::-1], 0
    folder = _require_own_and_status(at)
    while names:
        name = names.pop()
        if name in ("", "."):
            continue
        path = os.path.dirname(at) if name == ".." else os.path.join(at, name)  # noqa: PTH118, PTH120
        try:
            status = _require_own_and_status(path)
        except FileNotFoundError:
            if ".." in names:
                raise
            return at, name
        if not stat.S_ISLNK(status.st_mode):
            at, folder = path, status
            continue
        links += 1
        if folder.st_mode & 0o022 or links > MAX_LINKS:
            raise UnfitBundle(f"{path} is a link that others may have put there, or one of too many")
        target = os.readlink(path)  # noqa: PTH115
        names += target.split("/")[::-1]
        if target.startswith("/"):
            at, folder = "/", _require_own_and_status("/")
    return at, ""


def _require_own_and_status(path: str) -> os.stat_result:
    """Return what it is, a link itself. Raises Unfit where it is another user's or others may write to it, OSError."""
    status = os.lstat(path)
    if status.st_uid not in (0, os.geteuid()):
        raise UnfitBundle(f"{path} belongs to uid {status.st_uid}")
    if not stat.S_ISLNK(status.st_mode) and status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX:
        raise UnfitBundle(f"others may write to {path}")
    return status


def unpack_if_needed(bundle: Bundle, parent: str) -> str:
    """The folder with the program. Raises OSError, Unfit."""
    folder = f"{parent}/{bundle.name}"
    if not bundle.is_whole(folder):
        import fcntl

        # one at a time: whoever waited finds it done
        with open(f"{parent}/lock", "a", opener=_open_private) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not bundle.is_whole(folder):
                _unpack_and_remove_unused(bundle, parent, folder)
    os.utime(folder)
    return folder


def _unpack_and_remove_unused(bundle: Bundle, place: str, folder: str) -> None:
    import io
    import shutil
    import zipfile

    for name in os.listdir(place):  # noqa: PTH208
        path = f"{place}/{name}"
        if name.startswith(".") or (name.startswith("hostdx-") and _is_unused_for_long(path)):
            shutil.rmtree(path, ignore_errors=True)  # of one that was killed here; of an older version
    new = f"{place}/.new"
    os.mkdir(new, 0o700)  # noqa: PTH102
    try:
        made_folders = {new}
        for part in bundle.parts:
            with zipfile.ZipFile(io.BytesIO(bundle.read_part(part))) as archive:
                for path in archive.namelist():
                    target = f"{new}/{path}"
                    _make_folder_and_parents(target.rpartition("/")[0], made_folders)
                    with open(target, "xb", opener=_open_private) as file:
                        file.write(archive.read(path))
                    os.utime(target, (bundle.time_s, bundle.time_s))
        if os.path.lexists(folder):
            os.rename(folder, f"{place}/.old")  # noqa: PTH104
        os.rename(new, folder)  # noqa: PTH104
    finally:
        for path in (new, f"{place}/.old"):
            shutil.rmtree(path, ignore_errors=True)


def _is_unused_for_long(folder: str) -> bool:
    """Not started for long, and no process is left: each of them holds the file that it began with (start.py)."""
    import fcntl

    if time.time() - os.lstat(folder).st_mtime <= UNUSED_S:
        return False
    try:
        with open(f"{folder}/{START}") as start:  # noqa: PTH123
            fcntl.flock(start, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True  # it could not be started
    except OSError:
        return False
    return True


def _make_folder_and_parents(folder: str, made_folders: set[str]) -> None:
    if folder not in made_folders:
        _make_folder_and_parents(folder.rpartition("/")[0], made_folders)
        os.mkdir(folder, 0o700)  # noqa: PTH102
        made_folders.add(folder)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _has_glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (ValueError, OSError):
        return False


def main(out: IO[str] = sys.stderr) -> None:
    path = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    refused = []
    try:
        bundle = Bundle(path)
        for place in candidate_unpack_folders():
            try:
                folder = unpack_if_needed(bundle, make_and_check_unpack_folder(place))
                break
            except UnfitBundle as why:
                refused.append(f"{place}: {why}")
            except OSError as error:
                refused.append(f"{place}: {error.strerror}")
        else:
            raise UnfitBundle(
                f"cannot be unpacked: {'; '.join(refused)}; name a directory: XDG_CACHE_HOME=/DIRECTORY"
            )
    except UnfitBundle as why:
        out.write(f"hostdx: {path}: {why}\n")
        sys.exit(3)
    argv = [sys.executable, "-I", f"{folder}/{START}", "hostdx.app.cli", *sys.argv[1:]]
    os.execve(sys.executable, argv, {**os.environ, STARTED_AS: path})
