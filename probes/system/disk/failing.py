"""Which device an input/output error is about: the message names it, not only the file."""

import errno

from hostdx.probes.files.rights import advice_for_failed_write
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.mounts import Mount, find_mount, read_mounts_now
from hostdx.probes.types import Absent

# the device answers with an error, has gone, or its file system shut itself down after one: errno(3); what it answers
# does not fit its checksum or its form: EFSBADCRC and EFSCORRUPTED of ext4 and XFS
_OF_DEVICE = {
    errno.EIO,
    errno.ENXIO,
    errno.ENODEV,
    errno.EREMOTEIO,
    errno.ETIMEDOUT,
    errno.EBADMSG,
    errno.EUCLEAN,
}


def device_error_suffix(path: str, number: int | None) -> str:
    """To be put behind the error's own text; empty where the error says nothing about the device. Looks at no file."""
    if number not in _OF_DEVICE and number != errno.EROFS:
        return ""
    mount = find_mount(read_mounts_now(Host()), path)
    if number == errno.EROFS:
        if not is_made_read_only(mount):
            return ""
        state = "was made read-only by the kernel after an error"
    else:
        state = "fails or is gone"
    if isinstance(mount, Absent):
        return f" (the device {state}: see dmesg)"
    return f" ({mount.source}, {mount.fstype} on {mount.mountpoint}, {state}: see dmesg)"


def is_made_read_only(mount: Mount | Absent) -> bool:
    """True where a file system that refuses writes is not one that was mounted read-only: it aborted after an error.

    ext4 of Linux 6.18 says `emergency_ro` (seen); others change the file system's own `rw` to `ro`; those between,
    and 6.1.0-57 of Debian 12, go on saying `rw` alone (seen under dm-error). A file server's export may be read-only
    where the mount is not.
    """
    if isinstance(mount, Absent):
        return False
    modes = [option for option in mount.options if option in ("rw", "ro")]  # the mount's, the file system's
    return (
        "emergency_ro" in mount.options
        or modes == ["rw", "ro"]
        or (mount.source.startswith("/dev/") and modes == ["rw"])
    )


def io_error_advice(error_number: int | None, *directories: str) -> str:
    """To be put behind the error's own text: whose error it is, and what helps where a test wrote or read there.

    Empty without an error's number: then a worker has ended for a reason of its own.
    """
    if not error_number:
        return ""
    owners = "".join(dict.fromkeys(device_error_suffix(directory, error_number) for directory in directories))
    cause = errno.EIO if owners else error_number
    return f"{owners}; {advice_for_failed_write(cause, 'name another directory')}"
