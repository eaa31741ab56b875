"""Where a scenario makes its test files: a directory that was named, or one that may be written to without."""

import os
from collections.abc import Sequence

import msgspec

from hostdx.probes.engine.disk.refusals import DirectorySuitability, check_suitability
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.topology import DirectoryPlacement, find_placement
from hostdx.scenarios.contract.model import OptionMap, UsageError


def default_directories(host: Host) -> tuple[str, ...]:
    """`$TMPDIR` and `/var/tmp`, one of each file system: what may be written to without being named."""
    chosen: dict[str, str] = {}
    for directory in (os.environ.get("TMPDIR", ""), "/var/tmp"):
        place = find_placement(host, directory) if directory else None
        if isinstance(place, DirectoryPlacement) and os.path.isdir(directory):  # noqa: PTH112
            chosen.setdefault(place.mount.devno or place.mount.mountpoint, directory)
    return tuple(chosen.values())


def file_system_key(host: Host, directory: str) -> str:
    """The file system that a directory is on: its device number, or where it is mounted."""
    place = find_placement(host, directory)
    return place.mount.devno or place.mount.mountpoint if isinstance(place, DirectoryPlacement) else directory


class ChosenTestDirectory:
    """Where a scenario of one directory makes its test files: the named one, or the first usual one that fits.

    Without one `fit` is None and `refusal` says why.
    """

    def __init__(self, host: Host, options: OptionMap, default_bytes: int, workloads: Sequence[str]) -> None:
        """Raises UsageError where several are named."""
        named_directories = options.as_strings("dir")
        if len(named_directories) > 1:
            raise UsageError("give --dir once here, or run storage to compare several directories")
        self.explicit = bool(named_directories)
        self.fit: DirectorySuitability | None = None
        self.refusal = ""
        directories = named_directories or default_directories(host)
        if not directories:
            self.refusal = "neither $TMPDIR nor /var/tmp is there: name a directory"
        for directory in directories:
            asked = options.as_integer("size") or None
            fit = check_suitability(
                host, directory, explicit=self.explicit, size_bytes=asked, workloads=workloads
            )
            if not fit.refusal:
                least = fit.size_bytes if asked else min(fit.size_bytes, default_bytes)
                self.fit, self.refusal = msgspec.structs.replace(fit, size_bytes=least), ""
                return
            self.refusal = fit.refusal

    @property
    def directory_path(self) -> str:
        return self.fit.directory if self.fit is not None else ""

    @property
    def size_bytes(self) -> int:
        return self.fit.size_bytes if self.fit is not None else 0

    @property
    def leaf_devices(self) -> tuple[str, ...]:
        return self.fit.placement.leaves if self.fit is not None and self.fit.placement is not None else ()

    @property
    def device_name(self) -> str:
        """The leaves' names; the source where no device is known (a network file system)."""
        if self.fit is None or self.fit.placement is None:
            return ""
        return ", ".join(self.leaf_devices) or self.fit.placement.mount.source
