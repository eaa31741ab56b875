"""The udev database, where it knows more than sysfs: live hosts only, and empty where no udevd runs (containers)."""

import re

from probes.reading.host import Host
from probes.types import Absent


def read_udev_property(host: Host, name: str, key: str) -> str | Absent:
    """A property of the block device `name`, with udev's `\\x20` escapes undone."""
    source = f"udev {name} {key}"
    if not host.live:
        return Absent("a captured tree holds no udev database", "captured", source)
    try:
        import pyudev  # 17 ms, and it needs libudev.so.1, which slim containers lack

        value = pyudev.Devices.from_name(pyudev.Context(), "block", name).properties.get(key)
    except ImportError as error:
        return Absent(f"libudev is not installed: {error}", "tool", source)
    except Exception as error:  # pyudev raises errors of its own for a device that has just gone
        return Absent(f"udev has no device {name}: {type(error).__name__}", "missing", source)
    if not isinstance(value, str):
        return Absent(f"udev has no {key} of {name}", "missing", source)
    return " ".join(re.sub(r"\\x([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), value).split())
