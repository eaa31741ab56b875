"""The kernel settings under /proc/sys that are known to change how fast a host is."""

from hostdx.probes.files.safe_read import read_own_words
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent

SPEED = read_own_words(__file__, "speed.toml", "sysctls")


def path_of(name: str) -> str:
    return "/proc/sys/" + name.replace(".", "/")


def speed_settings(host: Host) -> dict[str, str | Absent]:
    """By name; one that this kernel does not have is left out, one that may not be read is absent."""
    values: dict[str, str | Absent] = {}
    for name in SPEED:
        value = host.read_file_text(path_of(name), 4096)
        if isinstance(value, Absent):
            if value.kind not in ("missing", "captured"):
                values[name] = value
        else:
            values[name] = " ".join(value.split())
    return values
