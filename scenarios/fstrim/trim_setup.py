"""Where scenario `fstrim` works: the stack under the directory, how much may be written, and whether it can trim."""

from hostdx.probes import units
from hostdx.probes.children.command import find_tool
from hostdx.probes.engine.disk.refusals import check_suitability
from hostdx.probes.engine.disk.size import SHARE_OF_FREE
from hostdx.probes.engine.workloads import UNIT
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.backing import served_by_memory_reason
from hostdx.probes.system.disk.block import BlockDevice, block_devices
from hostdx.probes.system.disk.topology import DirectoryPlacement, read_disk_topology
from hostdx.probes.system.disk.trim.discard import TRIMMING, DiscardChain, discard_chain
from hostdx.probes.system.running.allowed import may_administer
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.fstrim.ageing import LARGEST_FILE, STEP_BYTES, WORKERS, least_block_bytes

MAX_WRITTEN_BYTES = 8 << 30
SHARE_OF_CAPACITY = 0.02
MAX_FIXED_BYTES = 256 << 20
MAX_BLOCK_BYTES = 512 << 20
# Half of what may be written is planned: a file system writes more than it is given, and neighbours count as ours.
PLANNED_SHARE = 0.5


class TrimSetup:
    """What a trim meets in a directory, and whether it can be measured there.

    `refusal`: nothing can be measured; `no_trim`: it can be measured, but not trimmed; `to_trim`: what would help
    there. Each one line, or empty.
    """

    def __init__(self, host: Host, directory: str, *, blocks: int, phases: int) -> None:
        """`blocks` in a phase; the warm-up is one more."""
        self.host = host
        self.directory = directory
        self.refusal = ""
        self.no_trim = self.to_trim = ""
        self.notes: tuple[str, ...] = ()
        self.placement: DirectoryPlacement | None = None
        self.chain: DiscardChain | None = None
        self.devices: tuple[BlockDevice, ...] = ()
        self.most_bytes = self.fixed_bytes = self.block_bytes = 0
        fit = check_suitability(host, directory, explicit=True, workloads=("cpu",))
        if fit.refusal or fit.placement is None:
            self.refusal = fit.refusal
            return
        self.directory, self.placement, self.notes = fit.directory, fit.placement, fit.notes
        devices_by_name = block_devices(host)
        self.devices = tuple(devices_by_name[n] for n in fit.placement.leaves if n in devices_by_name)
        self.chain = discard_chain(host, read_disk_topology(host), fit.placement.mount)
        self.refusal = (
            self._no_device_reason()
            or self._in_memory_reason()
            or self._set_sizes_and_get_refusal(blocks, phases)
        )
        self.no_trim = self._no_discard_reason()
        if not self.no_trim:
            self.no_trim, self.to_trim = cannot_trim_reason_and_advice(host)

    @property
    def mount_directory(self) -> str:
        return self.placement.mount.mountpoint if self.placement else ""

    @property
    def file_system_type(self) -> str:
        return self.placement.mount.fstype if self.placement else ""

    @property
    def leaf_names(self) -> tuple[str, ...]:
        return self.placement.leaves if self.placement else ()

    @property
    def device_names(self) -> str:
        return ", ".join(self.leaf_names)

    @property
    def never_trim_reason(self) -> str:
        """Return why no right and no tool would help; empty where one would."""
        return self._no_discard_reason()

    def _no_device_reason(self) -> str:
        assert self.placement is not None
        if self.leaf_names and self.devices:
            return ""
        kind, source = self.placement.mount.fstype, self.placement.mount.source
        return f"{self.directory} is on {kind} from {source}, not on a disk of this host: nothing to trim"

    def _in_memory_reason(self) -> str:
        why = served_by_memory_reason(self.host, self.leaf_names)
        return f"{self.directory}: not applicable, {why}" if why else ""

    def _no_discard_reason(self) -> str:
        chain = self.chain
        if chain is None:
            return f"{self.directory}: the disk under {self.file_system_type} is not known"
        if chain.mount.fstype not in TRIMMING:
            return f"{self.directory} is on {chain.mount.fstype}, which cannot report free space to the disk"
        if not (guilty := chain.lowest_without_discard):
            return ""
        if guilty in chain.leaves:
            return f"{self.directory}: {guilty} takes no discards (its discard_max_bytes is 0), so a trim does nothing"
        kind = next(layer.kind for layer in chain.layers if layer.device == guilty)
        return f"{self.directory}: the layer {guilty} ({kind}) takes no discards, so a trim never reaches the disk"

    def _set_sizes_and_get_refusal(self, blocks: int, phases: int) -> str:
        sizes = [d.size_bytes for d in self.devices]
        known_sizes = [s for s in sizes if is_present(s)]
        space = self.host.read_statvfs(self.directory)
        if len(known_sizes) < len(sizes) or isinstance(space, Absent):
            return f"{self.directory}: the size of {self.device_names} or its free space is unknown"
        capacity, free = min(known_sizes), space.f_bavail * space.f_frsize
        self.most_bytes = min(MAX_WRITTEN_BYTES, int(capacity * SHARE_OF_CAPACITY))
        self.fixed_bytes = max(UNIT, min(MAX_FIXED_BYTES, self.most_bytes // 16) // UNIT * UNIT)
        by_wear = (self.most_bytes * PLANNED_SHARE - self.fixed_bytes) / (phases * blocks + 1)
        by_space = self.block_bytes_by_space(blocks, free)
        step = WORKERS * STEP_BYTES
        self.block_bytes = int(min(by_wear, by_space, MAX_BLOCK_BYTES)) // step * step
        if self.block_bytes >= least_block_bytes():
            return ""
        if by_space < by_wear:
            need = ((blocks + 1) * least_block_bytes() + self.fixed_bytes) / SHARE_OF_FREE
            return (
                f"{self.directory}: too little space: needs {units.format_size(need)} free (the files take at most "
                f"{100 * SHARE_OF_FREE:.0f} % of it), has {units.format_size(free)}; free some, or name "
                "another directory"
            )
        return (
            f"{self.directory}: {self.device_names} is too small: the test may use at most "
            f"{100 * SHARE_OF_CAPACITY:.0f} % of its "
            f"{units.format_size(capacity)}; name another directory"
        )

    def block_bytes_by_space(self, blocks: int, free: int | None = None) -> float:
        """Return what each block of a phase and the warm-up may hold at once: the file system's share of free space."""
        if free is None:
            space = self.host.read_statvfs(self.directory)
            free = 0 if isinstance(space, Absent) else space.f_bavail * space.f_frsize
        return (free * SHARE_OF_FREE - self.fixed_bytes) / (blocks + 1)

    @property
    def file_bytes(self) -> int:
        return min(LARGEST_FILE, max(STEP_BYTES, self.block_bytes // WORKERS))

    def read_free_bytes(self) -> int | None:
        """Free blocks, those kept for root included: a trim offers them too."""
        space = self.host.read_statvfs(self.mount_directory)
        return None if isinstance(space, Absent) else space.f_bfree * space.f_frsize

    def read_file_system_bytes(self) -> int | None:
        space = self.host.read_statvfs(self.mount_directory)
        return None if isinstance(space, Absent) else space.f_blocks * space.f_frsize


def cannot_trim_reason_and_advice(host: Host) -> tuple[str, str]:
    """Return why this process cannot trim though the disk could be, the right or tool, and what to do; "": it can."""
    if not may_administer(host):
        return (
            "the trim needs root (CAP_SYS_ADMIN)",
            "run it with sudo, and not in a container that lacks CAP_SYS_ADMIN",
        )
    if find_tool("fstrim") is None:
        return "fstrim (util-linux) is not installed", "install util-linux"
    return "", ""
