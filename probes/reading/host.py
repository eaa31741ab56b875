"""The host that is looked at: the live machine, or a captured tree (a dump of sysfs and procfs, a sosreport).

Reading never raises and never blocks for ever; what cannot be read is an `Absent` that says why.
"""

# os functions on text: pathlib costs several times as much on thousands of files.
# ruff: noqa: PTH115, PTH116, PTH208

from __future__ import annotations

import errno
import functools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from hostdx.probes.children.command import run_command
from hostdx.probes.files.rights import explain_denied_read, explain_hidden_by_container
from hostdx.probes.files.safe_read import FileTooLarge, decode_host_text, list_directory, read_regular
from hostdx.probes.number_text import parse_hexadecimal, parse_signed
from hostdx.probes.reading.captured import sosreport
from hostdx.probes.reading.captured.captured_paths import resolve_host_path, to_local_path
from hostdx.probes.reading.hang_safe.client import GuardedReader, PathHangs, ReaderNotStarted
from hostdx.probes.reading.patterns import matches_glob
from hostdx.probes.reading.read_trace import ReadTrace, note_read
from hostdx.probes.types import Absent, AbsentKind

T = TypeVar("T")

_MISSING = {errno.ENOENT, errno.ENOTDIR, errno.ESRCH, errno.ENODEV, errno.ENXIO}
# What sysfs and procfs answer for what a device or kernel lacks: PSI on EL9, the link of a dead PCIe device.
_UNSUPPORTED = {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.ENODATA, errno.EAGAIN, errno.ENOTTY}
_DENIED = {errno.EACCES, errno.EPERM}
_MAGIC = frozenset("*?[")
MAX_REMEMBERED_DEPTH = 100  # folders of a path that are remembered singly


class OutOfTime(OSError):
    """An error that is raised once the time given to read the host is over."""


class Host:
    """A host that is read: the live machine where `root` is None, else a captured tree.

    Paths are always written as on the host: `/sys/block/sda/size`.
    """

    def __init__(self, root: str | None = None) -> None:
        self.live = root is None
        # whoever knows that nothing changes while it looks sets it: see `compute_once_if_static`
        self.is_static = False
        self.root = None if root is None else captured_root(root)
        self.until_s: float | None = None  # on the monotonic clock: nothing is read any more from then on
        self._guarded = GuardedReader()
        self._memo: dict[Callable[[Host], Any], tuple[Any, ReadTrace]] = {}  # with what it was read from
        self._lock = threading.RLock()
        self._folders: dict[str, str] = {}  # of a captured tree: a folder -> without symlinks

    @property
    def is_out_of_time(self) -> bool:
        return self.until_s is not None and time.monotonic() > self.until_s

    def read_file_text(
        self, path: str, limit_bytes: int = 1 << 20, *, may_hang: bool = False
    ) -> str | Absent:
        """Return a regular file's text without its last line ends; one larger than `limit_bytes` is Absent, never cut.

        `may_hang` reads through a child process that is abandoned after 2 s: files on a network
        file system, the /proc files of another process, the sysfs files of a dying device.
        """
        try:
            self._raise_if_out_of_time(path)
            if may_hang:
                asked = self._guarded.ask_child("text", path, root=self.root or "", limit_bytes=limit_bytes)
                note_read(path)
                return cast(str, asked).rstrip("\n")
            data = self._read_local_bytes(path, limit_bytes)
        except (OSError, ValueError, PathHangs, ReaderNotStarted) as error:
            absent = self._explain_absence(path, error)
            return self._read_captured_setting(path, absent) if path.startswith("/proc/sys/") else absent
        note_read(path)
        if not data and not self.live and path.startswith("/sys/"):
            # sysfs ends what it says with a line end; the file was there, and nobody read it
            return Absent("the captured tree has it without its content", "captured", path)
        return decode_host_text(data).rstrip("\n")

    def read_word(self, path: str) -> str | Absent:
        """Return a short file's text without the blanks around it."""
        text = self.read_file_text(path, 4096)
        return text if isinstance(text, Absent) else text.strip()

    def read_bracketed(self, path: str) -> str | Absent:
        """Return the word in brackets of a short file (`always [madvise] never`); without brackets the whole text."""
        text = self.read_word(path)
        return text if isinstance(text, Absent) else text.partition("[")[2].partition("]")[0] or text

    def read_file_bytes(self, path: str, limit_bytes: int) -> bytes | Absent:
        """Return a regular file's bytes, as firmware tables are; a file larger than `limit_bytes`
        is Absent, never cut.
        """
        try:
            data = self._read_local_bytes(path, limit_bytes)
        except (OSError, ValueError) as error:
            return self._explain_absence(path, error)
        note_read(path)
        return data

    def read_integer(self, path: str) -> int | Absent:
        """Return the number that a file holds (decimal, or hexadecimal with 0x)."""
        text = self.read_file_text(path, 4096)
        if isinstance(text, Absent):
            return text
        value = parse_hexadecimal(text) if text.strip().startswith("0x") else parse_signed(text)
        return Absent(f"{path} holds no number: {text[:40]!r}", "invalid", path) if value is None else value

    def list_names(self, path: str, *, may_hang: bool = False) -> tuple[str, ...] | Absent:
        """Return the names in a directory, sorted."""
        try:
            self._raise_if_out_of_time(path)
            names: list[str]
            if may_hang:
                names = cast(list[str], self._guarded.ask_child("listing", path, root=self.root or ""))
            else:
                names = list_directory(self._to_local(path))
        except (OSError, ValueError, PathHangs, ReaderNotStarted) as error:
            return self._explain_absence(path, error)
        note_read(f"{path}/")
        return tuple(names)

    def list_subfolders(self, path: str) -> tuple[str, ...] | Absent:
        """Return the names of the folders in a directory, sorted, without symlinks."""
        try:
            names = list_directory(self._to_local(path), folders_only=True)
        except (OSError, ValueError) as error:
            return self._explain_absence(path, error)
        note_read(f"{path}/")
        return tuple(names)

    def read_link(self, path: str) -> str | Absent:
        """Return a symlink's target as it is written."""
        try:
            target = os.readlink(self._to_local(path, last=False))
            note_read(path)
            return target
        except OSError as error:
            if error.errno == errno.EINVAL:
                return Absent(f"{path} is not a symlink", "invalid", path)
            return self._explain_absence(path, error)
        except ValueError as error:
            return self._explain_absence(path, error)

    def resolve_path(self, path: str, *, may_hang: bool = False) -> str | Absent:
        """Return the host path of an existing file, without symlinks."""
        try:
            self._raise_if_out_of_time(path)
            if may_hang and self.live:
                return cast(str, self._guarded.ask_child("real", path))
            if self.root is None:
                return os.path.realpath(path, strict=True)
            return resolve_host_path(self.root, path)
        except (OSError, ValueError, PathHangs, ReaderNotStarted) as error:
            return self._explain_absence(path, error)

    def path_exists(self, path: str, *, may_hang: bool = False) -> bool:
        """Return whether the path exists; False also where that is unknown: `read_file_text` or
        `list_names` give the reason.
        """
        try:
            self._raise_if_out_of_time(path)
            if may_hang:
                return bool(self._guarded.ask_child("exists", path, root=self.root or ""))
            os.stat(self._to_local(path))
        except (OSError, ValueError, PathHangs, ReaderNotStarted):
            return False
        note_read(path)
        return True

    def read_statvfs(self, path: str) -> os.statvfs_result | Absent:
        """Return space and inodes of the file system at `path`; a sosreport has them from df. Reads
        through the child: NFS hangs.
        """
        if not self.live:
            return self.compute_once(_usage_by_mountpoint).get(
                path, Absent(f"how full {path} was is not captured", "captured", path)
            )
        try:
            usage = os.statvfs_result(cast(list[int], self._guarded.ask_child("statvfs", path)))
            note_read(f"statvfs {path}")
            return usage
        except (OSError, ValueError, PathHangs, ReaderNotStarted) as error:
            return self._explain_absence(path, error)

    def glob_paths(self, pattern: str) -> tuple[str, ...]:
        """Return existing paths that match, sorted: `*`, `?`, `[...]` within one name; hidden names by a dot."""
        folder, _, last = pattern.rpartition("/")
        if folder == f"{sosreport.FOLDER}/*":  # many rules ask for outputs: their folders are listed once
            outputs = {} if self.live else self.compute_once(_captured_output_paths)
            return tuple(sorted(path for name, path in outputs.items() if matches_glob(name, last)))
        # What has no pattern is looked at once, at its end: absent hardware costs one call.
        paths, plain = [""], ""
        for part in filter(None, pattern.split("/")):
            if not _MAGIC & set(part):
                plain += f"/{part}"
                continue
            paths = [
                f"{base}{plain}/{name}"
                for base in paths
                for name in self._names_or_empty(f"{base}{plain}" or "/")
                if matches_glob(name, part) and (part.startswith(".") or not name.startswith("."))
            ]
            plain = ""
        if plain:
            paths = [f"{base}{plain}" for base in paths if self._is_there_or_link(f"{base}{plain}")]
        return tuple(sorted(path or "/" for path in paths))

    def read_command(self, *argv: str, timeout_s: float = 2.0, any_status: bool = False) -> str | Absent:
        """Return a read-only command's standard output without its last line ends; of a sosreport the stored.

        A failure is Absent with the command's message, unless `any_status` (smartctl's status is a bit mask).
        """
        if self.is_out_of_time:
            return Absent(f"{argv[0]} was not asked: the time for reading this host is over", "timeout")
        if self.live:
            out = run_command(argv, timeout_s, any_status=any_status)
            return out if isinstance(out, Absent) else out.rstrip("\n")
        source = " ".join(argv)
        if not self.compute_once(_captured_output_paths):
            return Absent(f"a captured tree holds no output of {source}", "captured", source)
        if (path := self.captured_output_path_or_command(source)).startswith("/"):
            return self.read_file_text(path, 8 << 20)
        return Absent(f"the sosreport holds no output of {source}", "captured", source)

    def captured_output_path_or_command(self, command: str) -> str:
        """Return the file that holds the command's output in a captured tree, else the command itself."""
        outputs = {} if self.live else self.compute_once(_captured_output_paths)
        return outputs.get(sosreport.captured_file_name(tuple(command.split(" "))), command)

    def compute_once(self, fn: Callable[[Host], T]) -> T:
        """Return `fn(self)`, computed once for this host."""
        with self._lock:
            if fn not in self._memo:
                with ReadTrace() as read:
                    value = fn(self)
                self._memo[fn] = value, read
            else:
                value, read = self._memo[fn]
                note_read(read)
            return value

    @contextmanager
    def read_static_parts_once(self) -> Iterator[None]:
        """Read mounts, block devices and CPUs once within this context, so that all parts see the same picture.

        The results are forgotten afterwards, except those that are read once per host (`compute_once_per_host`).
        """
        saved_memo, before = dict(self._memo), self.is_static
        self.is_static = True
        try:
            yield
        finally:
            self.is_static = before
            if not before:
                self._memo = saved_memo | {fn: self._memo[fn] for fn in _LASTING & self._memo.keys()}

    def start_reader(self) -> None:
        """Start the child process of the reads that may hang, for who will need it soon."""
        self._guarded.start()

    def ask_programs(self, most_s: float) -> tuple[Absent, ...]:
        """Ask programs of this machine for so many seconds at most, where it is a host that does (`AskingHost`).

        Returns why some gave no answer.
        """
        return ()

    @property
    def answering_programs(self) -> tuple[str, ...]:
        """The names of the programs of this machine that were asked and answered: see `AskingHost`."""
        return ()

    @property
    def silent_programs(self) -> dict[str, Absent]:
        """By name, why an installed program of this machine was not asked or gave no answer: see `AskingHost`."""
        return {}

    def commands_for_paths(self, text: str) -> str:
        """Return a text with the commands that were asked in place of the paths that a sosreport has for them."""
        return text

    def close(self) -> None:
        """End the child process, if one was started. The host can still be read."""
        self._guarded.close()

    def _raise_if_out_of_time(self, path: str) -> None:
        if self.is_out_of_time:
            raise OutOfTime(errno.ETIME, os.strerror(errno.ETIME), path)

    def _to_local(self, path: str, *, last: bool = True) -> str:
        self._raise_if_out_of_time(path)
        if self.root is None:
            return path
        above, _, name = path.rpartition("/")
        if name in ("", ".", ".."):
            return to_local_path(self.root, resolve_host_path(self.root, path, follow_last=last))
        # Thousands of files lie in hundreds of folders: a folder's symlinks are followed once.
        real = self._resolve_folder(self.root, above)
        local = to_local_path(self.root, f"{real.rstrip('/')}/{name}")
        if last and os.path.islink(local):  # noqa: PTH114
            return to_local_path(self.root, resolve_host_path(self.root, f"{real}/{name}"))
        return local

    def _read_local_bytes(self, path: str, limit_bytes: int) -> bytes:
        if self.live:
            return read_regular(self._to_local(path), limit_bytes)
        local = self._to_local(path, last=False)
        try:
            return read_regular(local, limit_bytes, follow=False)
        except OSError:  # few files of a captured tree are symlinks: they are followed within it
            if not os.path.islink(local):  # noqa: PTH114
                raise
        return read_regular(self._to_local(path), limit_bytes, follow=False)

    def _resolve_folder(self, root: str, path: str) -> str:
        """Return a folder's host path without symlinks; each folder on the way is resolved once."""
        real = self._folders.get(path)
        if real is None:
            above, _, name = path.rpartition("/")
            if not above or name in ("", ".", "..") or path.count("/") > MAX_REMEMBERED_DEPTH:
                real = resolve_host_path(root, path)
            else:
                real = f"{self._resolve_folder(root, above).rstrip('/')}/{name}"
                if os.path.islink(to_local_path(root, real)):  # noqa: PTH114
                    real = resolve_host_path(root, real)
            self._folders[path] = real
        return real

    def _names_or_empty(self, folder: str) -> tuple[str, ...]:
        names = self.list_names(folder)
        return () if isinstance(names, Absent) else names

    def _is_there_or_link(self, path: str) -> bool:
        try:
            os.lstat(self._to_local(path, last=False))
        except (OSError, ValueError):
            return False
        return True

    def _explain_absence(self, path: str, error: Exception) -> Absent:
        if isinstance(error, PathHangs):
            return Absent(
                f"{path} did not answer within {self._guarded.abandon_after_s:g} s", "timeout", path
            )
        if isinstance(error, OutOfTime):
            return Absent(f"{path} was not read: the time for reading this host is over", "timeout", path)
        if isinstance(error, ReaderNotStarted):
            return Absent(
                f"{path} is read by another process, which cannot be started: {error}", "tool", path
            )
        if isinstance(error, FileTooLarge):
            return Absent(f"{path} is {error.strerror}", "invalid", path)
        if not isinstance(error, OSError):
            return Absent(f"{path!r} cannot be a path", "invalid", path)
        code = error.errno or 0
        if code in _MISSING:
            if self.live:
                masked = explain_hidden_by_container(path, path)
                return masked if masked is not None else Absent(f"{path} does not exist", "missing", path)
            return Absent(f"the captured tree has no {path}", "captured", path)
        if code in _DENIED:
            try:
                local = self._to_local(path)
            except (OSError, ValueError):
                local = path
            return explain_denied_read(path, local, path)
        kind: AbsentKind = "unsupported" if code in _UNSUPPORTED else "invalid"
        return Absent(f"{path}: {error.strerror or error}", kind, path)

    def _read_captured_setting(self, path: str, otherwise: Absent) -> str | Absent:
        """Return a setting from the output of `sysctl -a` in a sosreport, else `otherwise`."""
        if self.live or otherwise.kind != "captured":
            return otherwise
        return self.compute_once(_read_sysctls).get(sosreport.sysctl_key_of(path), otherwise)


_LASTING: set[Callable[[Host], Any]] = set()


def compute_once_per_host(fn: Callable[[Host], T]) -> Callable[[Host], T]:
    """Decorate a function so that it is computed once per host, even while the host changes: a run
    sees what its plan has read.
    """
    _LASTING.add(fn)
    return functools.wraps(fn)(lambda host: host.compute_once(fn))


def compute_once_if_static(fn: Callable[[Host], T]) -> Callable[[Host], T]:
    """Decorate a function so that it is computed once on a host that stands still
    (`Host.is_static`), and each time on a host that changes.
    """

    @functools.wraps(fn)
    def wrapper(host: Host) -> T:
        return host.compute_once(fn) if host.is_static else fn(host)

    return wrapper


def captured_root(folder: str) -> str:
    """Return the folder that holds `sys` or `proc`: the given one, or the only folder in it (as archives unpack)."""
    base = os.path.realpath(folder)
    try:
        names = list_directory(base)
        if {"sys", "proc"} & set(names):
            return base
        inner = [f"{base}/{name}" for name in names]
        holding = [path for path in inner if not os.path.islink(path) and _holds_proc_or_sys(path)]  # noqa: PTH114
    except (OSError, ValueError):
        return base
    return holding[0] if len(holding) == 1 else base


def captured_root_problem(folder: str) -> str:
    """Return why a folder is no captured host, in one line; "" where it is one."""
    try:
        base = captured_root(folder)
        os.listdir(base)
    except (OSError, ValueError) as error:
        return f"{folder}: {error.strerror if isinstance(error, OSError) else error}"
    return "" if _holds_proc_or_sys(base) else f"{folder} holds neither sys nor proc: not a captured host"


def _holds_proc_or_sys(path: str) -> bool:
    """Return whether the folder holds a host. A captured /proc has a `sys` too, which holds `vm` and is not /sys."""
    sysctl = os.path.isdir(f"{path}/sys/vm")  # noqa: PTH112
    return any(os.path.isdir(f"{path}/{name}") for name in ("proc", *(() if sysctl else ("sys",))))  # noqa: PTH112


def _read_sysctls(host: Host) -> dict[str, str]:
    text = host.read_command("sysctl", "-a")
    return sosreport.parse_sysctl_output(text) if isinstance(text, str) else {}


def _usage_by_mountpoint(host: Host) -> dict[str, os.statvfs_result]:
    """Return the usage by mount point, from the two outputs of df in a sosreport."""
    blocks, inodes = (host.read_command("df", option, "-x", "autofs") for option in ("-al", "-ali"))
    if isinstance(inodes, Absent):  # sos 4.8 and later
        inodes = host.read_command("df", "-aliT", "-x", "autofs")
    return sosreport.parse_df(
        blocks if isinstance(blocks, str) else "", inodes if isinstance(inodes, str) else ""
    )


def _captured_output_paths(host: Host) -> dict[str, str]:
    """Return the paths of captured command outputs by file name; of two files with one name the first."""
    paths: dict[str, str] = {}
    for folder in host.glob_paths(f"{sosreport.FOLDER}/*"):
        for name in host._names_or_empty(folder):
            paths.setdefault(name, f"{folder}/{name}")
    return paths
