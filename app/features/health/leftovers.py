"""What the last job left behind on an idle node: processes, files, memory, huge pages, loop devices. Reads only.

Runs as a process of its own (`python -m hostdx.app.features.health.leftovers`): a file on a mount that does not answer
holds it for ever, and then it is given up.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from hostdx.probes import units
from hostdx.probes.files.rights import user_name
from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.system.nodes.memory import read_meminfo
from hostdx.probes.system.running.processes import own_process_family, read_process_table
from hostdx.probes.types import Absent, is_present

FIRST_USER = 1000  # where /etc/login.defs says nothing (login.defs(5), UID_MIN)
NOBODY = 65534
GRAVE_SHARE = 0.01  # of the memory: as much in processes or files is missing to the next job
MIN_AVAILABLE = 0.5  # of the memory of an idle node
FILLED_SHARE = 0.05  # of a file system, in one user's files
MAX_ENTRIES = 50_000  # that are looked at below one folder
FOLDERS = ("/dev/shm", "/tmp")
PRIVATE = ("/tmp/", "/var/tmp/", "/dev/shm/")


class HostLeftover(msgspec.Struct, frozen=True):
    """Something left behind. `grave`: it takes from the next job; else it makes the node's state doubtful."""

    kind: str
    text: str
    source: str
    grave: bool


def find_left_behind(host: Host) -> Iterator[HostLeftover]:
    meminfo = read_meminfo(host)
    sizes = {} if isinstance(meminfo, Absent) else meminfo
    total = sizes.get("MemTotal", 0)
    first = _first_user_uid(host)
    owners: set[int] = set()
    yield from _processes_of_absent_users(host, first, total, owners)
    for folder in FOLDERS:
        yield from _files_of_absent_users(folder, first, total, owners)
    available = sizes.get("MemAvailable", total)
    pool = sizes.get("HugePages_Total", 0) * sizes.get("Hugepagesize", 0)
    if total and available + pool < MIN_AVAILABLE * total:
        words = f"{units.format_size(available)} of {units.format_size(total)} memory is available on an idle node"
        yield HostLeftover("memory", words, "/proc/meminfo", False)
    used = (sizes.get("HugePages_Total", 0) - sizes.get("HugePages_Free", 0)) * sizes.get("Hugepagesize", 0)
    if used > GRAVE_SHARE * total:
        yield HostLeftover(
            "huge pages", f"{units.format_size(used)} of huge pages are in use", "/proc/meminfo", False
        )
    for name in host.glob_paths("/sys/block/loop*/loop/backing_file"):
        backing = host.read_file_text(name)
        if isinstance(backing, str) and (backing.startswith(PRIVATE) or "(deleted)" in backing):
            device = name.split("/")[3]
            yield HostLeftover("loop device", f"{device} holds {backing.strip()}", name, False)


def _first_user_uid(host: Host) -> int:
    text = host.read_file_text("/etc/login.defs")
    lines = [line.split() for line in text.splitlines()] if isinstance(text, str) else []
    numbers = (parse_unsigned(words[1]) for words in lines if words[:1] == ["UID_MIN"] and len(words) > 1)
    return next((number for number in numbers if number), FIRST_USER)


def _processes_of_absent_users(
    host: Host, first_uid: int, total_memory: int, seen_uids: set[int]
) -> Iterator[HostLeftover]:
    """Of users who are not logged in (systemd puts sessions below user.slice); `seen_uids` gets everybody's."""
    pages: dict[int, int] = {}
    busy: dict[int, list[str]] = {}
    own = own_process_family(host)
    for process in read_process_table(host, io=False).processes.values():
        try:
            uid = Path(f"/proc/{process.pid}").stat().st_uid
        except OSError:
            continue  # it ended
        if not first_uid <= uid != NOBODY or process.pid in own:
            continue
        seen_uids.add(uid)
        group = host.read_file_text(f"/proc/{process.pid}/cgroup")
        if isinstance(group, str) and "/user.slice/" in group:
            continue
        memory = host.read_file_text(f"/proc/{process.pid}/statm")
        resident = parse_unsigned(memory.split()[1]) if is_present(memory) and len(memory.split()) > 1 else 0
        pages[uid] = pages.get(uid, 0) + (resident or 0)
        if process.state in "RD":
            busy.setdefault(uid, []).append(f"{process.name} [{process.pid}]")
        busy.setdefault(uid, [])
    for uid, active in busy.items():
        held = pages[uid] * os.sysconf("SC_PAGE_SIZE")
        doing = f", at work: {', '.join(active[:3])}" if active else ""
        words = f"processes of {user_name(uid)} hold {units.format_size(held)} of memory{doing}"
        yield HostLeftover("processes", words, "/proc", bool(active) or held > GRAVE_SHARE * total_memory)


def _files_of_absent_users(
    folder: str, first_uid: int, total_bytes: int, seen_uids: set[int]
) -> Iterator[HostLeftover]:
    sizes: dict[int, int] = {}
    try:
        device, space = Path(folder).stat().st_dev, os.statvfs(folder)
        for uid, size in _owners_and_sizes(folder, device):
            if first_uid <= uid != NOBODY and uid not in seen_uids:
                sizes[uid] = sizes.get(uid, 0) + size
    except OSError:
        return
    room = total_bytes if folder == FOLDERS[0] else space.f_blocks * space.f_frsize
    share = GRAVE_SHARE if folder == FOLDERS[0] else FILLED_SHARE
    for uid, size in sizes.items():
        if size > share * room:
            words = f"files of {user_name(uid)}, who runs nothing, hold {units.format_size(size)} in {folder}"
            yield HostLeftover("files", words, folder, True)


def _owners_and_sizes(folder: str, device: int) -> Iterator[tuple[int, int]]:
    """Owner and bytes on the disk of each file on this file system; no link is followed."""
    waiting, entry_count = [folder], 0
    while waiting and entry_count < MAX_ENTRIES:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            entry_count += 1
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(status.st_mode) and status.st_dev == device:
                waiting.append(entry.path)
            elif status.st_dev == device:
                yield status.st_uid, status.st_blocks * 512


def main() -> None:
    with closing(Host()) as host:
        os.write(1, msgspec.json.encode(list(find_left_behind(host))))


if __name__ == "__main__":
    main()
