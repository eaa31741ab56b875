"""Energy of the CPU packages and their memory by RAPL (Documentation/power/powercap/powercap.rst), of the whole host.

Counters wrap around within minutes on a large package, so they are looked at more often. Standard library only.
"""

from pathlib import Path
from typing import Literal

from hostdx.probes.number_text import parse_unsigned

ROOT = "/sys/class/powercap"
KINDS = {"package": "energy_package_j", "dram": "energy_dram_j"}


class EnergyCounters:
    """`add_energy` adds what was spent since the look before; nothing where none may be read (root alone may)."""

    def __init__(self, root: str = ROOT) -> None:
        self._zones: list[tuple[str, Path, int]] = []
        self._last: dict[Path, int] = {}
        self._spent: dict[str, float] = {}
        for zone in sorted(Path(root).glob("intel-rapl:*")):
            kind = next((k for k in KINDS if _read_text_or_empty(zone / "name").startswith(k)), "")
            now, most = (
                parse_unsigned(_read_text_or_empty(zone / "energy_uj")),
                parse_unsigned(_read_text_or_empty(zone / "max_energy_range_uj")),
            )
            if kind and now is not None and most is not None:
                self._zones.append((kind, zone, most))
                self._last[zone] = now
                self._spent.setdefault(kind, 0.0)

    def add_energy(self) -> None:
        for kind, zone, most in self._zones:
            now = parse_unsigned(_read_text_or_empty(zone / "energy_uj"))
            if now is not None:
                spent = now - self._last[zone]
                self._spent[kind] += (spent if spent >= 0 else spent + most) / 1e6
                self._last[zone] = now

    def joules_by_name(self) -> dict[str, float | None]:
        return {name: self._spent.get(kind) for kind, name in KINDS.items()}


def is_energy_readable(root: str = ROOT) -> bool:
    """Return whether any of its counters can be read."""
    return any(value is not None for value in EnergyCounters(root).joules_by_name().values())


def energy_counter_access(root: str = ROOT) -> Literal["readable", "permission", "unreadable", "missing"]:
    """Return whether any of its counters can be read; else whether there are some and rights are lacking."""
    if is_energy_readable(root):
        return "readable"
    for zone in sorted(Path(root).glob("intel-rapl:*")):
        if not _read_text_or_empty(zone / "name").startswith(tuple(KINDS)):
            continue
        try:
            (zone / "energy_uj").read_bytes()
        except PermissionError:
            return "permission"
        except FileNotFoundError:
            continue
        except OSError:
            pass
        return "unreadable"
    return "missing"


def _read_text_or_empty(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
