"""Where files can be measured: the mounts with device, model, file system and free space, and why one cannot."""

import msgspec

from hostdx.probes.engine.disk.refusals import check_suitability
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import BlockDevice, Devices, block_devices
from hostdx.probes.system.disk.mounts import read_mounts
from hostdx.probes.system.disk.topology import DirectoryPlacement, find_placement
from hostdx.probes.types import Absent
from hostdx.scenarios.experiment.files.directories import default_directories

# File systems that keep no files of users.
NO_DATA = frozenset({"proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "debugfs", "tracefs", "securityfs"}) | {
    "pstore", "bpf", "configfs", "fusectl", "autofs", "rpc_pipefs", "binfmt_misc", "nsfs", "efivarfs", "squashfs",
    "iso9660", "selinuxfs", "devtmpfs", "fuse.gvfsd-fuse", "fuse.portal", "erofs",
}  # fmt: skip


class ComparedDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """A directory to be measured. `letter` is its variant's id; `devices` the leaves in the order of `place.leaves`."""

    letter: str
    directory: str
    place: DirectoryPlacement
    devices: tuple[BlockDevice, ...]

    @property
    def single_device(self) -> BlockDevice | None:
        """Where it is a single one: of several nothing can be said as of one disk."""
        return self.devices[0] if len(self.devices) == 1 else None

    @property
    def leaf_names(self) -> str:
        if self.place.leaves:
            return ", ".join(self.place.leaves)
        return self.place.mount.source


def compared_directory(
    known_devices: Devices, letter: str, directory: str, place: DirectoryPlacement
) -> ComparedDirectory:
    """`known_devices`: the host's block devices."""
    devices = tuple(known_devices[name] for name in place.leaves if name in known_devices)
    return ComparedDirectory(letter=letter, directory=directory, place=place, devices=devices)


def text_or_empty(value: object) -> str:
    return "" if isinstance(value, Absent) or value is None else str(value)


_NEVER = ("/sys", "/proc", "/dev", "/run")  # nobody keeps data there


class DirectoryChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A directory to choose. `free_bytes` None: not known; `refusal` says why it cannot be measured. `file_system`: the
    number of the mounted device, the same for all directories of one file system.
    """

    path: str
    device: str
    model: str
    fstype: str
    free_bytes: int | None
    refusal: str = ""
    file_system: str = ""


def list_directory_choices(host: Host) -> tuple[DirectoryChoice, ...]:
    """Return the mounts that may be written to without being named, then the others, the unmeasurable last."""
    table = read_mounts(host)
    paths = list(default_directories(host))
    taken_devices = set()
    for path in paths:
        fit = check_suitability(host, path, explicit=True)
        if isinstance(fit.placement, DirectoryPlacement):
            taken_devices.add(fit.placement.mount.devno)
    for mount in () if isinstance(table, Absent) else table:
        if mount.fstype in NO_DATA or mount.devno in taken_devices or mount.mountpoint.startswith(_NEVER):
            continue
        taken_devices.add(mount.devno)
        paths.append(mount.mountpoint)
    choices = [directory_choice(host, path) for path in paths]
    return tuple(sorted(choices, key=lambda choice: bool(choice.refusal)))


def directory_choice(host: Host, path: str) -> DirectoryChoice:
    fit = check_suitability(host, path, explicit=True)
    there = fit.placement or find_placement(host, path)
    if isinstance(there, Absent):
        return DirectoryChoice(
            path=path, device="", model="", fstype="", free_bytes=None, refusal=fit.refusal or there.reason
        )
    compared, state = compared_directory(block_devices(host), "A", path, there), host.read_statvfs(path)
    leaf = compared.devices[0] if compared.devices else None
    return DirectoryChoice(
        path=path,
        device=compared.leaf_names,
        model=text_or_empty(leaf.model) if leaf is not None else "",
        fstype=compared.place.mount.fstype,
        free_bytes=None if isinstance(state, Absent) else state.f_bavail * state.f_frsize,
        refusal=fit.refusal,
        file_system=compared.place.mount.devno,
    )
