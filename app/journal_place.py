"""Whether the undo journal lies on the very device that is about to be changed: then it could not be relied on."""

from __future__ import annotations

import os
from pathlib import Path

from probes.host import Host
from probes.system.block import leaves
from probes.system.mounts import placement
from probes.types import Absent


def lies_on(host: Host, journal_dir: Path, target: str) -> str:
    """The refusal in one line; empty where the journal is elsewhere or the target is no block device's attribute."""
    device = device_of(target)
    if not device:
        return ""
    place = placement(host, str(journal_dir))
    if isinstance(place, Absent):
        return f"{target}: not changed: where the undo journal lies cannot be read ({place.reason})"
    if isinstance(place.device, Absent):
        return ""  # memory or another machine: not a device of this host
    tested = {device, *leaves(host, device)}
    under = {place.device, *place.layers, *place.leaves}
    if tested & under:
        return (
            f"{target}: not changed: the undo journal ({journal_dir}) lies on {device} itself, and if {device} hangs "
            "nothing could be undone; set XDG_STATE_HOME to a directory on another disk or on a tmpfs"
        )
    return ""


def device_of(target: str) -> str:
    """`sda` of `/sys/block/sda/queue/scheduler`, also by its long path."""
    parts = Path(os.path.realpath(target)).parts
    if "block" in parts[:-2] and parts[:2] == ("/", "sys"):
        return parts[parts.index("block") + 1]
    return ""
