"""BIOS settings by the vendors' names (bios.toml): what each is called, what it should be on an I/O server, where
it is.
"""

import datetime
import re
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from scenarios.knowledge.load import load

Judgement: TypeAlias = Literal["as advised", "costs I/O", "not judged", "unknown"]
VENDORS = {"dell": "Dell", "hpe": "HPE", "supermicro": "Supermicro", "lenovo": "Lenovo"}
_STARTS = {
    "dell": "dell",
    "hewlett": "hpe",
    "hpe": "hpe",
    "hp": "hpe",
    "super": "supermicro",
    "lenovo": "lenovo",
    "ibm": "lenovo",
}
_SUFFIX = r"(_[0-9A-Fa-f]{4})?"  # of Supermicro's build; other vendors' names do not end so


class BiosSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One setting. `io` and `not_io` hold whole values, compared without regard to case and spaces."""

    id: str
    title: str
    io: tuple[str, ...]
    not_io: tuple[str, ...]
    why: str
    names: dict[str, tuple[str, ...]]
    setup: dict[str, str]
    dated: datetime.date
    source: str
    cpu: Literal["AMD", "Intel", ""] = ""  # whose processors have it

    @property
    def called(self) -> str:
        """Its names: `ApbDis (Dell), InfinityFabricPstate (HPE)`."""
        return ", ".join(
            f"{some[0]} ({VENDORS[vendor]})" for vendor, some in self.names.items() if vendor in VENDORS
        )

    def find(self, values: dict[str, str]) -> tuple[str, str] | None:
        """The name and value of the first of our names that is there; tools differ in dots, spaces and underlines."""
        plain = {_plain(name): name for name in values}
        for name in (name for vendor in self.names.values() for name in vendor):
            pattern = re.compile(re.escape(_plain(name)) + _SUFFIX.replace("_", "_?"), re.IGNORECASE)
            for flat, original in plain.items():
                if pattern.fullmatch(flat):
                    return original, values[original]
        return None

    def judged(self, value: str) -> Judgement:
        flat = _value(value)
        if flat in {_value(good) for good in self.io}:
            return "as advised"
        return "costs I/O" if flat in {_value(bad) for bad in self.not_io} else "not judged"


class BiosReading(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one setting. Unknown: `value` is empty, and `where` says where to look.

    `name` is the vendor's; empty where the value was read off the running system.
    """

    id: str
    title: str
    name: str = ""
    value: str = ""
    pending: str = ""
    judgement: Judgement = "unknown"
    where: str = ""


@lru_cache(maxsize=1)
def bios_settings() -> tuple[BiosSetting, ...]:
    return load("bios", "bios_setting", BiosSetting).entries


@lru_cache(maxsize=1)
def _known() -> re.Pattern[str]:
    names = {_plain(n) for s in bios_settings() for some in s.names.values() for n in some}
    return re.compile(f"(?:{'|'.join(map(re.escape, sorted(names)))})(_?[0-9A-Fa-f]{{4}})?", re.IGNORECASE)


def wanted(name: str) -> bool:
    """Whether an attribute is one that we know: nothing else of a BMC's answer is kept."""
    return len(name) < 200 and _known().fullmatch(_plain(name)) is not None


def vendor_of(text: str) -> str:
    """`dell`, `hpe`, `supermicro`, `lenovo` from DMI's or Redfish's word; empty for others."""
    low = text.strip().lower()
    return next((vendor for start, vendor in _STARTS.items() if low.startswith(start)), "")


def readings(
    values: dict[str, str],
    pending: dict[str, str],
    vendor: str,
    *,
    cpu: str = "",
    seen: dict[str, str] | None = None,
) -> tuple[BiosReading, ...]:
    """Every setting of bios.toml that this processor has (`AMD`, `Intel`; empty: all), known or not.

    `seen`: by setting, what the running system shows of it, for those that the firmware does not tell.
    """
    all_of_them = (_reading(s, values, pending, vendor, (seen or {}).get(s.id, "")) for s in bios_settings())
    foreign = {s.id for s in bios_settings() if s.cpu and cpu and s.cpu != cpu}
    return tuple(reading for reading in all_of_them if reading.value or reading.id not in foreign)


def _reading(
    setting: BiosSetting, values: dict[str, str], pending: dict[str, str], vendor: str, seen: str
) -> BiosReading:
    found = setting.find(values)
    where = setting.setup.get(vendor) or setting.called
    name, value = found or ("", seen)
    return BiosReading(
        id=setting.id,
        title=setting.title,
        name=name,
        value=value,
        pending=pending.get(name, ""),
        judgement=setting.judged(value) if value else "unknown",
        where=where,
    )


def _plain(name: str) -> str:
    """`Processors.SOCP-states`, `Processors_SOCP_states`: one name in two of Lenovo's tools."""
    return re.sub(r"[^0-9A-Za-z]", "", name)


def _value(text: str) -> str:
    return re.sub(r"[\s_-]", "", text).lower()
