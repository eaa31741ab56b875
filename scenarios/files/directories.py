"""Where a scenario makes its test files: a directory that was named, or one that may be written to without."""

import os
from collections.abc import Sequence

import msgspec

from probes.bench.disk.refusals import Suitability, suitability
from probes.host import Host
from probes.system.disk.topology import Placement, placement
from scenarios.model import Options, Usage


def default_directories(host: Host) -> tuple[str, ...]:
    """`$TMPDIR` and `/var/tmp`, one of each file system: what may be written to without being named."""
    chosen: dict[str, str] = {}
    for directory in (os.environ.get("TMPDIR", ""), "/var/tmp"):
        place = placement(host, directory) if directory else None
        if isinstance(place, Placement) and os.path.isdir(directory):  # noqa: PTH112
            chosen.setdefault(place.mount.devno or place.mount.mountpoint, directory)
    return tuple(chosen.values())


def holding(host: Host, directory: str) -> str:
    """The file system that a directory is on: its device number, or where it is mounted."""
    place = placement(host, directory)
    return place.mount.devno or place.mount.mountpoint if isinstance(place, Placement) else directory


class OwnDirectory:
    """Where a scenario of one directory makes its test files: the named one, or the first usual one that fits.

    Without one `fit` is None and `refusal` says why.
    """

    def __init__(self, host: Host, options: Options, default_bytes: int, workloads: Sequence[str]) -> None:
        """Raises Usage where several are named."""
        named = options.strings("dir")
        if len(named) > 1:
            raise Usage("give --dir once here, or run storage to compare several directories")
        self.explicit = bool(named)
        self.fit: Suitability | None = None
        self.refusal = ""
        directories = named or default_directories(host)
        if not directories:
            self.refusal = "neither $TMPDIR nor /var/tmp is there: name a directory"
        for directory in directories:
            asked = options.integer("size") or None
            fit = suitability(host, directory, explicit=self.explicit, size_bytes=asked, workloads=workloads)
            if not fit.refusal:
                least = fit.size_bytes if asked else min(fit.size_bytes, default_bytes)
                self.fit, self.refusal = msgspec.structs.replace(fit, size_bytes=least), ""
                return
            self.refusal = fit.refusal

    @property
    def directory(self) -> str:
        return self.fit.directory if self.fit is not None else ""

    @property
    def size_bytes(self) -> int:
        return self.fit.size_bytes if self.fit is not None else 0

    @property
    def leaves(self) -> tuple[str, ...]:
        return self.fit.placement.leaves if self.fit is not None and self.fit.placement is not None else ()

    @property
    def device(self) -> str:
        """The leaves' names; the source where no device is known (a network file system)."""
        if self.fit is None or self.fit.placement is None:
            return ""
        return ", ".join(self.leaves) or self.fit.placement.mount.source
