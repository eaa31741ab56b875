"""A block device's queue limits (Documentation/ABI/stable/sysfs-block)."""

import msgspec

from probes.reading.host import Host
from probes.types import Absent


class QueueLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`write_cache` is what the kernel believes, not what the drive does; `hw_queues` a count."""

    nr_requests: int | Absent
    max_sectors_kb: int | Absent
    read_ahead_kb: int | Absent
    logical_block_bytes: int | Absent
    physical_block_bytes: int | Absent
    discard_max_bytes: int | Absent
    discard_granularity_bytes: int | Absent
    write_cache: str | Absent
    wbt_lat_usec: int | Absent
    hw_queues: int | Absent
    device_queue_depth: int | Absent  # SCSI only; 1 on SATA means that NCQ is off


def queue_limits(host: Host, path: str) -> QueueLimits:
    """Of the disk at the sysfs folder `path`."""
    queue = f"{path}/queue"
    names = host.list_names(f"{path}/mq")
    return QueueLimits(
        nr_requests=host.read_integer(f"{queue}/nr_requests"),
        max_sectors_kb=host.read_integer(f"{queue}/max_sectors_kb"),
        read_ahead_kb=host.read_integer(f"{queue}/read_ahead_kb"),
        logical_block_bytes=host.read_integer(f"{queue}/logical_block_size"),
        physical_block_bytes=host.read_integer(f"{queue}/physical_block_size"),
        discard_max_bytes=host.read_integer(f"{queue}/discard_max_bytes"),
        discard_granularity_bytes=host.read_integer(f"{queue}/discard_granularity"),
        write_cache=host.read_file_text(f"{queue}/write_cache"),
        wbt_lat_usec=host.read_integer(f"{queue}/wbt_lat_usec"),
        hw_queues=names if isinstance(names, Absent) else len(names),
        device_queue_depth=host.read_integer(f"{path}/device/queue_depth"),
    )
