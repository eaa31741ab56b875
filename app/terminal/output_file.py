"""A file that a person names for a result: never a device, and never one that nobody reads.

Root types `-o /dev/sdb` for `-o /tmp/sdb` once: what is there would be overwritten from its first byte on.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.output import is_coloured as in_colour
from hostdx.app.terminal.output import print_parts, print_result
from hostdx.probes.files.path_walk import FolderAndName, UntrustedLink, locate_name, open_trusted

RoleText: TypeAlias = tuple[str, str]  # text that may have several lines, and their role

_HARMLESS = frozenset({(1, 3), (1, 7)})  # null and full, Documentation/admin-guide/devices.txt
_TERMINALS = frozenset({4, 5, *range(136, 144)})
# O_NONBLOCK: a FIFO without a reader would be waited for
_LOOKED = os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK


def open_output(command: str, path: str, mode: int) -> int:
    """A descriptor to write to, of an empty file or of a pipe that somebody reads. Raises Failure.

    `command` begins the line, `mode` is for a file that is made.
    """
    flags = _LOOKED | os.O_CREAT  # without O_TRUNC: first it is looked at
    try:
        _refuse_device(command, path, Path(path).stat())
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _unwritable_failure(command, path, error) from None
    try:
        if os.geteuid() == 0:
            descriptor, others = open_trusted(path, flags, mode)
        else:
            descriptor, others = os.open(path, flags, mode), False
    except UntrustedLink as why:
        raise Failure(f"{command}: {path}: {why}; name a file in a folder that belongs to root") from None
    except (OSError, ValueError) as error:
        raise _unwritable_failure(command, path, error) from None
    try:
        status = os.fstat(descriptor)
        _refuse_device(command, path, status)
        if others:
            _refuse_foreign_file(command, path, status, private=not mode & 0o077)
        if stat.S_ISREG(status.st_mode):
            os.ftruncate(descriptor, 0)
        os.set_blocking(descriptor, True)
    except OSError as error:
        os.close(descriptor)
        raise _unwritable_failure(command, path, error) from None
    except Failure:
        os.close(descriptor)
        raise
    return descriptor


def deliver_text(
    command: str, path: str | None, text: str, coloured: Iterable[Sequence[RoleText]] = ()
) -> None:
    """A text result to the file that was named; to stdout where none was, or `-`.

    `is_coloured` are its blocks with roles, for a terminal that shows colours; without them it has none.
    """
    if path is None or path == "-":
        if not coloured or not in_colour():
            print_result(text.rstrip("\n"))
            return
        for number, block in enumerate(coloured):
            if number:
                print_result("")
            for lines, role in block:
                for line in lines.split("\n"):
                    print_parts([(line, role)])
        return
    write_bytes(command, path, 0o644, text.encode("utf-8", "backslashreplace"))


class OutputFile(NamedTuple):
    """A file to write, and its bits where it is made."""

    path: str
    mode: int
    data: bytes


def write_bytes(command: str, path: str, mode: int, data: bytes, *, new: bool = False) -> None:
    """All of it or nothing, as `write_files`."""
    write_files(command, (OutputFile(path, mode, data),), new=new)


def write_files(command: str, files: Iterable[OutputFile], *, new: bool = False) -> None:
    """All of them or none: what fails leaves no file behind, and a file that was there as it was.

    A pipe or a device gets the bytes as they are. With `new` a file that is there is refused. Raises Failure.
    """
    with ExitStack() as written:
        for file in files:
            written.enter_context(_write_then_rename(command, *file, new=new))


def check_outputs(subject: str, *paths: str, new: bool = False) -> None:
    """Raises Failure where they cannot be written, before anything is made that is to be written there."""
    for path in paths:
        status = _status_or_refuse(subject, path)
        if status is not None and not stat.S_ISREG(status.st_mode):
            continue  # the reader of a pipe would take a second opening for the end
        place = _open_output_folder(subject, path)
        try:
            if status is not None and new:
                raise Failure(_already_exists_text(subject, path))
            if status is not None:
                os.close(place.open_name(_LOOKED))
            elif not _is_folder_writable(place):
                read_only = os.fstatvfs(place.folder).f_flag & os.ST_RDONLY
                raise _os_error_of(errno.EROFS if read_only else errno.EACCES)
        except OSError as error:
            raise _unwritable_failure(subject, path, error) from None
        finally:
            os.close(place.folder)


@contextmanager
def _write_then_rename(subject: str, path: str, mode: int, data: bytes, *, new: bool) -> Iterator[None]:
    """Written on entry, under its name on exit; without a trace where either raises."""
    status = _status_or_refuse(subject, path)
    place = _open_output_folder(subject, path)
    try:
        if place.is_open or (status is not None and not stat.S_ISREG(status.st_mode)):
            with os.fdopen(open_output(subject, path, mode), "wb") as file:
                file.write(data)
            yield
        elif status is None:
            with _new_file(place, place.name, mode, data):
                yield
        elif new:
            raise Failure(_already_exists_text(subject, path))
        else:
            with os.fdopen(place.open_name(_LOOKED), "wb") as file:  # one that is read-only stays so
                status = os.fstat(file.fileno())
                _refuse_device(subject, path, status)
                if place.others_may_write and os.geteuid() == 0:
                    _refuse_foreign_file(subject, path, status, private=not mode & 0o077)
                if _must_write_in_place(place, status):
                    _overwrite_file(file, status.st_size, data)
                    yield
                    return
            with _new_file(place, f".{secrets.token_hex(4)}.hostdx", 0o600, data, status) as name:
                yield
                os.rename(name, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except FileExistsError:
        raise Failure(_already_exists_text(subject, path)) from None
    except (OSError, ValueError) as error:
        raise _unwritable_failure(subject, path, error) from error
    finally:
        os.close(place.folder)


@contextmanager
def _new_file(
    place: FolderAndName, name: str, mode: int, data: bytes, replaced: os.stat_result | None = None
) -> Iterator[str]:
    """A file that was not there, with these bytes; `replaced` one that it is to replace."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(name, flags, mode, dir_fd=place.folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if replaced is not None:
                os.fchown(descriptor, replaced.st_uid, replaced.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(replaced.st_mode))
        yield name
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=place.folder)
        raise


def _must_write_in_place(place: FolderAndName, status: os.stat_result) -> bool:
    """Where another file under that name would not be the same: its owner, its other names, a mount."""
    mine = os.geteuid() == 0 or (
        status.st_uid == os.geteuid() and status.st_gid in (os.getegid(), *os.getgroups())
    )
    mounted = os.path.ismount(f"/proc/self/fd/{place.folder}/{place.name}")
    return not mine or status.st_nlink > 1 or mounted or not _is_folder_writable(place)


def _is_folder_writable(place: FolderAndName) -> bool:
    return os.access(f"/proc/self/fd/{place.folder}", os.W_OK | os.X_OK, effective_ids=True)


def _overwrite_file(file: IO[bytes], size: int, data: bytes) -> None:
    """Its room is there before the first byte changes."""
    try:
        os.posix_fallocate(file.fileno(), 0, max(len(data), 1))
    except OSError:
        os.ftruncate(file.fileno(), size)
        raise
    file.write(data)
    file.truncate()


def _status_or_refuse(subject: str, path: str) -> os.stat_result | None:
    """Return what is there, links followed; None for nothing. Raises Failure for what is never written to."""
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unwritable_failure(subject, path, error) from None
    if stat.S_ISDIR(status.st_mode):
        raise _unwritable_failure(subject, path, _os_error_of(errno.EISDIR))
    _refuse_device(subject, path, status)
    return status


def _open_output_folder(subject: str, path: str) -> FolderAndName:
    try:
        return locate_name(path)
    except UntrustedLink as why:
        raise Failure(f"{subject}: {path}: {why}; name a file in a folder that is yours alone") from None
    except (OSError, ValueError) as error:
        raise _unwritable_failure(subject, path, error) from None


def _os_error_of(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _already_exists_text(subject: str, path: str) -> str:
    return f"{subject}: {path}: exists already; name another file"


def _refuse_device(subject: str, path: str, status: os.stat_result) -> None:
    mode, device = status.st_mode, (os.major(status.st_rdev), os.minor(status.st_rdev))
    if stat.S_ISBLK(mode):
        raise Failure(
            f"{subject}: {path}: is a block device: writing there would destroy what is on it; name a file"
        )
    if stat.S_ISCHR(mode) and device not in _HARMLESS and device[0] not in _TERMINALS:
        raise Failure(f"{subject}: {path}: is a device, not a file; name a file")


def _refuse_foreign_file(subject: str, path: str, status: os.stat_result, *, private: bool) -> None:
    """In a folder where others make names: not a second name of a file elsewhere, nor a private one for its owner."""
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        raise Failure(
            f"{subject}: {path}: has {status.st_nlink} hard links, so another file would change too; "
            "name another file"
        )
    if private and status.st_uid != 0:
        raise Failure(
            f"{subject}: {path}: exists already and belongs to uid {status.st_uid}, who could read it; name "
            "another file"
        )


def _unwritable_failure(subject: str, path: str, error: OSError | ValueError) -> Failure:
    if isinstance(error, ValueError):
        return Failure(f"{subject}: {path!r} cannot be a path")
    if error.errno == errno.ENXIO:
        return Failure(f"{subject}: {path}: no process reads this pipe; start its reader first")
    return Failure(f"{subject}: {path}: cannot be written: {error.strerror}")
