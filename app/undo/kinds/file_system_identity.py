"""On which file system something was made: a name that is missing on another one says nothing about ours."""

import os
from pathlib import Path

from hostdx.app.terminal.process import boot_id
from hostdx.app.undo.journal import FileSystemId
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.mounts import IN_MEMORY, find_mount, read_mounts_now
from hostdx.probes.types import Absent


def file_system_of(directory: Path) -> FileSystemId | None:
    """None where it cannot be told."""
    try:
        device, number = _device_number_and_fsid(directory)
    except OSError:
        return None
    mount = find_mount(read_mounts_now(Host()), str(directory))
    if isinstance(mount, Absent):
        return FileSystemId(device=device, number=number, boot=boot_id())
    return FileSystemId(
        device=device,
        number=number,
        boot=boot_id(),
        mountpoint=mount.mountpoint,
        source=mount.source,
        in_memory=mount.fstype in IN_MEMORY,
    )


def is_on_file_system(file_system: FileSystemId, path: Path) -> bool:
    """Return whether that file system is the one on which `path` is looked for, however much of the path exists."""
    for directory in path.parents:
        try:
            device, number = _device_number_and_fsid(directory)
        except OSError:
            continue
        return number == file_system.number if number or file_system.number else device == file_system.device
    return False


def is_device_gone(made_on: FileSystemId) -> bool:
    """Return whether the block device was pulled or removed in this boot; False after a reboot, or once unmounted."""
    major = made_on.device.partition(":")[0]
    return major != "0" and made_on.boot == boot_id() and not Path("/sys/dev/block", made_on.device).exists()


def _device_number_and_fsid(directory: Path) -> tuple[str, int]:
    device_number = directory.stat().st_dev
    return f"{os.major(device_number)}:{os.minor(device_number)}", os.statvfs(directory).f_fsid
