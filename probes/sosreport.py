"""An unpacked sosreport as a captured host: commands' outputs and kernel settings lie in their own files."""

from __future__ import annotations

import re

FOLDER = "/sos_commands"


def file_name(argv: tuple[str, ...]) -> str:
    """The name under which sos keeps a command's output (sos/report/plugins/__init__.py: `_mangle_command`).

    `/usr/sbin/dmsetup info -c` is `dmsetup_info_-c`; slashes of arguments become dots.
    """
    command = re.sub(r"^/(?:usr/)?s?bin/", "", " ".join(argv))
    flat = re.sub(r"[^\w./-]+", "_", command).replace("/", ".")
    return flat.strip(" ._-")[:255]


def setting_key(path: str) -> str:
    """The name that `sysctl -a` prints for a file of /proc/sys: dots and slashes change places."""
    return path.removeprefix("/proc/sys/").translate(str.maketrans("/.", "./"))


def settings(text: str) -> dict[str, str]:
    """The output of `sysctl -a`."""
    pairs = (line.partition(" = ") for line in text.splitlines())
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}
