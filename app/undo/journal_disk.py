"""Whether the undo journal lies on the very device that is about to be changed: then it could not be relied on."""

import os
from pathlib import Path

from hostdx.app.state import nearest_existing_folder
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.backing import devices_with_loops_under
from hostdx.probes.system.disk.block import block_devices, bottom_devices_of
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract.plan import Plan

_ELSEWHERE = "set XDG_STATE_HOME to a directory on another disk or on a tmpfs"


def journal_disk_refusal(host: Host, journal_dir: Path, plan: Plan) -> str:
    """Return why a run of this plan is refused: said before anything is written, by `plan` and
    `run` in the same words.
    """
    attributes = (action.target for action in plan.actions if action.kind == "attribute")
    return next(
        (why for target in attributes if (why := journal_on_device_reason(host, journal_dir, target))), ""
    )


def journal_on_device_reason(host: Host, journal_dir: Path, target: str) -> str:
    """The refusal in one line; empty where the journal is elsewhere or the target is no block device's attribute."""
    device = block_device_of_attribute(target)
    if not device:
        return ""
    under = devices_with_loops_under(host, str(nearest_existing_folder(journal_dir)))
    if isinstance(under, Absent):
        return (
            f"{target}: not changed: whether the undo journal ({journal_dir}) lies on {device} cannot be known "
            f"({under.reason}); {_ELSEWHERE}"
        )
    loops = next(
        (under[name] for name in (device, *bottom_devices_of(block_devices(host), device)) if name in under),
        None,
    )
    if loops is None:
        return ""
    through = ""
    if loops:
        file = host.read_file_text(f"/sys/block/{loops[0]}/loop/backing_file")
        through = f" (through {loops[0]}, whose file is {file if is_present(file) else 'gone'})"
    return (
        f"{target}: not changed: the undo journal ({journal_dir}) lies on {device} itself{through}, and if {device} "
        f"hangs nothing could be undone; {_ELSEWHERE}"
    )


def block_device_of_attribute(target: str) -> str:
    """`sda` of `/sys/block/sda/queue/scheduler`, also by its long path."""
    parts = Path(os.path.realpath(target)).parts
    if "block" in parts[:-2] and parts[:2] == ("/", "sys"):
        return parts[parts.index("block") + 1]
    return ""
