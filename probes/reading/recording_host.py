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

from hostdx.probes.reading.asking_host import AskedProgram, AskingHost
from hostdx.probes.reading.captured.captured_paths import resolve_host_path
from hostdx.probes.reading.captured.sosreport import FOLDER, captured_file_name
from hostdx.probes.types import Absent, is_present

MAX_KEPT_BYTES = 256 << 20


class RecordingHost(AskingHost):
    """Live only. `files` maps real paths to texts, `links` symlinks to their targets, `folders` are empty or not."""

    def __init__(self) -> None:
        super().__init__()
        self.is_static = True
        self.files: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.folders: set[str] = set()
        self.spaces: dict[str, os.statvfs_result] = {}
        self._kept_bytes = 0

    def read_file_text(
        self, path: str, limit_bytes: int = 1 << 20, *, may_hang: bool = False
    ) -> str | Absent:
        content = super().read_file_text(path, limit_bytes, may_hang=may_hang)
        if isinstance(content, str):
            self._keep_text_if_room(self._resolve_or_empty(path), content + "\n")
        return content

    def list_names(self, path: str, *, may_hang: bool = False) -> tuple[str, ...] | Absent:
        names = super().list_names(path, may_hang=may_hang)
        if is_present(names) and (real := self._resolve_or_empty(path)):
            self.folders.add(real)
            for name in names:
                self._record_kind(f"{real.rstrip('/')}/{name}")
        return names

    def list_subfolders(self, path: str) -> tuple[str, ...] | Absent:
        names = super().list_subfolders(path)
        if is_present(names) and (real := self._resolve_or_empty(path)):
            self.folders.add(real)
            self.folders.update(f"{real.rstrip('/')}/{name}" for name in names)
        return names

    def read_link(self, path: str) -> str | Absent:
        target = super().read_link(path)
        if is_present(target) and (above := self._resolve_or_empty(path.rsplit("/", 1)[0])):
            self.links[f"{above}/{path.rsplit('/', 1)[1]}"] = target
        return target

    def resolve_path(self, path: str, *, may_hang: bool = False) -> str | Absent:
        real_path = super().resolve_path(path, may_hang=may_hang)
        if is_present(real_path):
            self._record_links_and_resolve(path)
            self._record_kind(real_path)
        return real_path

    def path_exists(self, path: str, *, may_hang: bool = False) -> bool:
        has_path = super().path_exists(path, may_hang=may_hang)
        if has_path and not may_hang:
            self._record_kind(self._resolve_or_empty(path))
        return has_path

    def read_statvfs(self, path: str) -> os.statvfs_result | Absent:
        usage = super().read_statvfs(path)
        if is_present(usage):
            self.spaces[path] = usage
        return usage

    def read_command(self, *argv: str, timeout_s: float = 2.0, any_status: bool = False) -> str | Absent:
        output = super().read_command(*argv, timeout_s=timeout_s, any_status=any_status)
        if isinstance(output, str):
            self._keep_text_if_room(f"{FOLDER}/hostdx/{captured_file_name(argv)}", output + "\n")
        return output

    def _keep_output_at_path(self, program: AskedProgram, argv: tuple[str, ...], text: str) -> str:
        path = super()._keep_output_at_path(program, argv, text)
        if not program.private:
            self._keep_text_if_room(path, text + "\n")
        return path

    def _keep_text_if_room(self, path: str, text: str) -> None:
        if path and not self.files.get(path) and self._kept_bytes + len(text) <= MAX_KEPT_BYTES:
            self._kept_bytes += len(text)
            self.files[path] = text

    def _resolve_or_empty(self, path: str) -> str:
        """Without symlinks, those on the way kept; "" where it is gone."""
        return self._record_links_and_resolve(path) or ""

    def _record_links_and_resolve(self, path: str) -> str:
        try:
            return resolve_host_path("", path, followed_links=self.links)
        except (OSError, ValueError):
            return ""

    def _record_kind(self, path: str) -> None:
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
        self.read_command("uname", "-a")
        self.read_file_text("/proc/version")
        names = super().list_names("/sys/class/net")
        for name in names if is_present(names) else ():
            for option in ("-k", "-g", "-l", "-S"):
                self.read_command("ethtool", option, name)

    def render_df(self) -> dict[str, str]:
        """Return how full file systems are, as sos keeps it: 1 KiB blocks, and inodes."""
        head = "Filesystem {} Used Available Use% Mounted on\n"
        space, inodes = [head.format("1K-blocks")], [head.format("Inodes")]
        for place, usage in self.spaces.items():
            unit = usage.f_frsize / 1024
            total, free, usable = (round(n * unit) for n in (usage.f_blocks, usage.f_bfree, usage.f_bavail))
            space.append(f"- {total} {total - free} {usable} - {place}\n")
            used = usage.f_files - usage.f_ffree
            inodes.append(f"- {usage.f_files} {used} {usage.f_ffree} - {place}\n")
        folder = f"{FOLDER}/filesys"
        return {f"{folder}/df_-al_-x_autofs": "".join(space), f"{folder}/df_-ali_-x_autofs": "".join(inodes)}


def write_archive(
    host: RecordingHost,
    file: io.BufferedIOBase,
    redact: Callable[[str, str], str | None],
    name: Callable[[str], str] = lambda path: path,
) -> int:
    """A tar.gz of what was read; `redact` gives the text to keep of a path's, None for nothing;
    `name` what a path or a link's target is called. How many files.
    """
    file_count = 0
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as tar:
        for path in sorted(host.folders - {"/"}):
            info = tarfile.TarInfo(name(path).lstrip("/"))
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        for path, target in sorted(host.links.items()):
            info = tarfile.TarInfo(name(path).lstrip("/"))
            info.type, info.linkname = tarfile.SYMTYPE, name(target)
            tar.addfile(info)
        for path, text in sorted({**host.files, **host.render_df()}.items()):
            if path in host.folders or path in host.links:
                continue
            redacted = redact(path, text)
            if redacted is None:
                continue
            data = redacted.encode("utf-8", "backslashreplace")
            info = tarfile.TarInfo(name(path).lstrip("/"))
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
            file_count += 1
    return file_count
