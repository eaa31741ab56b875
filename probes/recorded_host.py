"""A live host that keeps what is read of it, so that somebody else can ask the same elsewhere.

Each read is kept under its real path with the symlinks on the way to it: what `Host(root)` then finds is what was found
here. Commands' outputs lie where a sosreport has them; how full file systems are, as the output of df.
"""

# os functions on text: pathlib costs several times as much on thousands of files.
# ruff: noqa: PTH115

import io
import os
import stat
import tarfile
from collections.abc import Callable

from probes.captured.captured_paths import resolve
from probes.captured.sosreport import FOLDER, file_name
from probes.host import Host
from probes.types import Absent, present

MOST_KEPT_BYTES = 256 << 20


class RecordedHost(Host):
    """Live only. `files` maps real paths to texts, `links` symlinks to their targets, `folders` are empty or not."""

    def __init__(self) -> None:
        super().__init__()
        self.still = True
        self.files: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.folders: set[str] = set()
        self.spaces: dict[str, os.statvfs_result] = {}
        self._kept_bytes = 0

    def text(self, path: str, limit_bytes: int = 1 << 20, *, may_hang: bool = False) -> str | Absent:
        found = super().text(path, limit_bytes, may_hang=may_hang)
        if isinstance(found, str):
            self._keep(self._real(path), found + "\n")
        return found

    def listing(self, path: str, *, may_hang: bool = False) -> tuple[str, ...] | Absent:
        names = super().listing(path, may_hang=may_hang)
        if present(names) and (real := self._real(path)):
            self.folders.add(real)
            for name in names:
                self._shape(f"{real.rstrip('/')}/{name}")
        return names

    def subfolders(self, path: str) -> tuple[str, ...] | Absent:
        names = super().subfolders(path)
        if present(names) and (real := self._real(path)):
            self.folders.add(real)
            self.folders.update(f"{real.rstrip('/')}/{name}" for name in names)
        return names

    def link(self, path: str) -> str | Absent:
        target = super().link(path)
        if present(target) and (above := self._real(path.rsplit("/", 1)[0])):
            self.links[f"{above}/{path.rsplit('/', 1)[1]}"] = target
        return target

    def real(self, path: str, *, may_hang: bool = False) -> str | Absent:
        found = super().real(path, may_hang=may_hang)
        if present(found):
            self._walk(path)
            self._shape(found)
        return found

    def exists(self, path: str, *, may_hang: bool = False) -> bool:
        found = super().exists(path, may_hang=may_hang)
        if found and not may_hang:
            self._shape(self._real(path))
        return found

    def statvfs(self, path: str) -> os.statvfs_result | Absent:
        found = super().statvfs(path)
        if present(found):
            self.spaces[path] = found
        return found

    def command(self, *argv: str, timeout_s: float = 2.0, any_status: bool = False) -> str | Absent:
        found = super().command(*argv, timeout_s=timeout_s, any_status=any_status)
        if isinstance(found, str):
            self._keep(f"{FOLDER}/hostdx/{file_name(argv)}", found + "\n")
        return found

    def _keep(self, path: str, text: str) -> None:
        if path and not self.files.get(path) and self._kept_bytes + len(text) <= MOST_KEPT_BYTES:
            self._kept_bytes += len(text)
            self.files[path] = text

    def _real(self, path: str) -> str:
        """Without symlinks, those on the way kept; "" where it is gone."""
        return self._walk(path) or ""

    def _walk(self, path: str) -> str:
        try:
            return resolve("", path, seen=self.links)
        except (OSError, ValueError):
            return ""

    def _shape(self, path: str) -> None:
        """That something is there, as a link, a folder or a file that nobody read."""
        try:
            mode = os.lstat(path).st_mode if path else 0
            if stat.S_ISLNK(mode):
                self.links.setdefault(path, os.readlink(path))
            elif stat.S_ISDIR(mode):
                self.folders.add(path)
            elif stat.S_ISREG(mode):
                self.files.setdefault(path, "")
        except (OSError, ValueError):
            return

    def ask_commands(self) -> None:
        """What is read live by system calls and captured by commands."""
        self.command("uname", "-a")
        self.text("/proc/version")
        names = super().listing("/sys/class/net")
        for name in names if present(names) else ():
            for option in ("-k", "-g", "-l", "-S"):
                self.command("ethtool", option, name)

    def df(self) -> dict[str, str]:
        """How full file systems are, as sos keeps it: 1 KiB blocks, and inodes."""
        head = "Filesystem {} Used Available Use% Mounted on\n"
        space, inodes = [head.format("1K-blocks")], [head.format("Inodes")]
        for place, found in self.spaces.items():
            unit = found.f_frsize / 1024
            total, free, usable = (round(n * unit) for n in (found.f_blocks, found.f_bfree, found.f_bavail))
            space.append(f"- {total} {total - free} {usable} - {place}\n")
            used = found.f_files - found.f_ffree
            inodes.append(f"- {found.f_files} {used} {found.f_ffree} - {place}\n")
        folder = f"{FOLDER}/filesys"
        return {f"{folder}/df_-al_-x_autofs": "".join(space), f"{folder}/df_-ali_-x_autofs": "".join(inodes)}


def write(
    host: RecordedHost,
    file: io.BufferedIOBase,
    redact: Callable[[str, str], str | None],
    name: Callable[[str], str] = lambda path: path,
) -> int:
    """A tar.gz of what was read; `redact` gives the text to keep of a path's, None for nothing; `name` what a path or
    a link's target is called. How many files.
    """
    kept = 0
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as tar:
        for path in sorted(host.folders - {"/"}):
            info = tarfile.TarInfo(name(path).lstrip("/"))
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        for path, target in sorted(host.links.items()):
            info = tarfile.TarInfo(name(path).lstrip("/"))
            info.type, info.linkname = tarfile.SYMTYPE, name(target)
            tar.addfile(info)
        for path, text in sorted({**host.files, **host.df()}.items()):
            if path in host.folders or path in host.links:
                continue
            told = redact(path, text)
            if told is None:
                continue
            data = told.encode("utf-8", "backslashreplace")
            info = tarfile.TarInfo(name(path).lstrip("/"))
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
            kept += 1
    return kept
