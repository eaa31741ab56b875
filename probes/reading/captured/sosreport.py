"""An unpacked sosreport as a captured host: commands' outputs and kernel settings lie in their own files."""

import os
import re

FOLDER = "/sos_commands"


def captured_file_name(argv: tuple[str, ...]) -> str:
    """The name under which sos keeps a command's output (sos/report/plugins/__init__.py: `_mangle_command`).

    `/usr/sbin/dmsetup info -c` is `dmsetup_info_-c`; slashes of arguments become dots.
    """
    command = re.sub(r"^/(?:usr/)?s?bin/", "", " ".join(argv))
    flat = re.sub(r"[^\w./-]+", "_", command).replace("/", ".")
    return flat.strip(" ._-")[:255]


def sysctl_key_of(path: str) -> str:
    """The name that `sysctl -a` prints for a file of /proc/sys: dots and slashes change places."""
    return path.removeprefix("/proc/sys/").translate(str.maketrans("/.", "./"))


def parse_sysctl_output(text: str) -> dict[str, str]:
    """The output of `sysctl -a`."""
    pairs = (line.partition(" = ") for line in text.splitlines())
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def parse_df(blocks: str, inodes: str) -> dict[str, os.statvfs_result]:
    """`df -al` in blocks of 1 KiB and `df -ali`, by mount point. A line that does not fit is left out."""
    counted = {
        place: numbers for numbers, place in map(_parse_df_sizes_and_mount, inodes.splitlines()) if numbers
    }
    usages: dict[str, os.statvfs_result] = {}
    for numbers, place in map(_parse_df_sizes_and_mount, blocks.splitlines()):
        if numbers:
            total, used, usable = numbers
            files, _, free_files = counted.get(place, (0, 0, 0))
            usages[place] = os.statvfs_result(
                (1024, 1024, total, max(0, total - used), usable, files, free_files, free_files, 0, 255)
            )
    return usages


def _parse_df_sizes_and_mount(line: str) -> tuple[tuple[int, int, int] | None, str]:
    """`/dev/sda1 1000 200 800 20% /data`, with -T the type behind the device; a mount point may hold blanks."""
    match = re.match(
        r"\S+(?:\s+[a-zA-Z][\w.-]*)?\s+([0-9]{1,18})\s+([0-9]{1,18})\s+([0-9]{1,18})\s+(?:[0-9]+%|-)\s+(/.*?)\s*$",
        line,
    )
    return ((int(match[1]), int(match[2]), int(match[3])), match[4]) if match else (None, "")
