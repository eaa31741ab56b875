"""What an EBS volume counts of itself: how long its own and the instance's limits held I/O back.

The vendor's log page 0xD0 of the NVMe controller, as amazon-ec2-utils' ebsnvme and nvme-cli's amzn plugin read it.
Untested on a real volume. It runs in a child, for a dead controller answers no admin command:
`python -m hostdx.probes.system.disk.drive.ebs NAME`. The node is opened for reading alone.
Get Log Page changes nothing.
"""

import ctypes
import fcntl
import os
import re
import struct
import sys

import msgspec

from hostdx.probes.children.own_module import own_module
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, is_present

MODEL = "Amazon Elastic Block Store"
LOG_PAGE, PAGE_BYTES, MAGIC = 0xD0, 4096, 0x3C23B510
GET_LOG_PAGE = 0x02  # NVM Express base specification, admin commands
NVME_IOCTL_ADMIN_CMD = 0xC0484E41  # linux/nvme_ioctl.h: _IOWR('N', 0x41, struct nvme_admin_cmd)
ADMIN_CMD = struct.Struct("=BBHIIIQQIIIIIIIIII")
FIELDS = struct.Struct("<II6Q4Q")  # magic, reserved, six totals, four times


COUNTED = ("the volume's IOPS", "the volume's throughput", "the instance's IOPS", "the instance's throughput")


def parse_ebs_log_page(page: bytes) -> dict[str, float] | Absent:
    """By limit, the seconds since it was attached in which more was asked for than the limit let pass."""
    if len(page) < FIELDS.size:
        return Absent("the log page is too short", "invalid", "NVMe log page 0xD0")
    magic, _, *counts = FIELDS.unpack_from(page)
    if magic != MAGIC:
        return Absent(f"the log page begins with {magic:#x}, not {MAGIC:#x}", "invalid", "NVMe log page 0xD0")
    return {limit: microseconds / 1e6 for limit, microseconds in zip(COUNTED, counts[6:], strict=True)}


def ebs_seconds_over_limits(host: Host, name: str) -> dict[str, float] | Absent:
    """Of an NVMe namespace by kernel name. Absent for what is no EBS volume, and where it cannot be asked."""
    model = host.read_file_text(f"/sys/block/{name}/device/model")
    if not is_present(model) or model.strip() != MODEL or not re.fullmatch(r"nvme[0-9]+n[0-9]+", name):
        return Absent(f"{name} is no EBS volume", "unsupported", name)
    if os.geteuid() != 0:
        return Absent("reading the volume's own counters needs root", "permission", f"/dev/{name}")
    out = host.read_command(*own_module(__name__, name), timeout_s=5.0)
    if isinstance(out, Absent):
        return out
    try:
        return msgspec.json.decode(out, type=dict[str, float])
    except msgspec.DecodeError:
        return Absent(f"{name}: {out[:100]!r} is no answer", "invalid", f"/dev/{name}")


def read_ebs_log_page(fd: int) -> bytes:
    """The page as the controller gives it. Raises OSError."""
    page = ctypes.create_string_buffer(PAGE_BYTES)
    which = LOG_PAGE | (PAGE_BYTES // 4 - 1) << 16  # dwords, counted from 0
    page_address = ctypes.addressof(page)
    fields = (GET_LOG_PAGE, 0, 0, 1, 0, 0, 0, page_address, 0, PAGE_BYTES, which, 0, 0, 0, 0, 0, 0, 0)
    command = bytearray(ADMIN_CMD.pack(*fields))
    if status := fcntl.ioctl(fd, NVME_IOCTL_ADMIN_CMD, command):
        raise OSError(0, f"the controller refuses log page 0xD0 (status {status:#x})")
    return page.raw


def main() -> None:
    try:
        fd = os.open(f"/dev/{sys.argv[1]}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        counters = parse_ebs_log_page(read_ebs_log_page(fd))
    except OSError as error:
        sys.exit(error.strerror)
    if isinstance(counters, Absent):
        sys.exit(counters.reason)
    os.write(1, msgspec.json.encode(counters))


if __name__ == "__main__":
    main()
