"""BIOS settings by the vendors' names (bios.toml): what each is called, what suits an I/O server, where it is."""

import re
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries

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


class BiosSettingEntry(KnowledgeEntry, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One setting. `io` and `not_io` hold whole values, compared without regard to case and spaces."""

    id: str
    title: str
    io: tuple[str, ...]
    not_io: tuple[str, ...]
    why: str
    names: dict[str, tuple[str, ...]]
    setup: dict[str, str]
    source: str
    cpu: Literal["AMD", "Intel", ""] = ""  # whose processors have it

    @property
    def vendor_names(self) -> str:
        """Its names: `ApbDis (Dell), InfinityFabricPstate (HPE)`."""
        return ", ".join(f"{names[0]} ({VENDORS[v]})" for v, names in self.names.items() if v in VENDORS)

    def find(self, values: dict[str, str]) -> tuple[str, str] | None:
        """The name and value of the first of our names that is there; tools differ in dots, spaces and underlines."""
        plain = {_plain_name(name): name for name in values}
        for name in (name for vendor in self.names.values() for name in vendor):
            pattern = re.compile(re.escape(_plain_name(name)) + _SUFFIX.replace("_", "_?"), re.IGNORECASE)
            for flat, original in plain.items():
                if pattern.fullmatch(flat):
                    return original, values[original]
        return None

    def judge_value(self, value: str) -> Judgement:
        flat = _value_to_compare(value)
        if flat in {_value_to_compare(good) for good in self.io}:
            return "as advised"
        return "costs I/O" if flat in {_value_to_compare(bad) for bad in self.not_io} else "not judged"


class BiosReading(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one setting. Unknown: `value` is empty, and `setup_place` says where to look.

    `name` is the vendor's; empty where the value was read off the running system.
    """

    id: str
    title: str
    name: str = ""
    value: str = ""
    pending: str = ""
    judgement: Judgement = "unknown"
    where: str = ""


def bios_settings() -> tuple[BiosSettingEntry, ...]:
    return load_entries("bios", "bios_setting", BiosSettingEntry).entries


@lru_cache(maxsize=1)
def _known_name_pattern() -> re.Pattern[str]:
    names = {_plain_name(n) for s in bios_settings() for some in s.names.values() for n in some}
    return re.compile(f"(?:{'|'.join(map(re.escape, sorted(names)))})(_?[0-9A-Fa-f]{{4}})?", re.IGNORECASE)


def is_known_attribute(name: str) -> bool:
    """Return whether an attribute is one that we know: nothing else of a BMC's answer is kept."""
    return len(name) < 200 and _known_name_pattern().fullmatch(_plain_name(name)) is not None


def vendor_of(text: str) -> str:
    """`dell`, `hpe`, `supermicro`, `lenovo` from DMI's or Redfish's word; empty for others."""
    low = text.strip().lower()
    return next((vendor for start, vendor in _STARTS.items() if low.startswith(start)), "")


def all_readings(
    values: dict[str, str],
    pending: dict[str, str],
    vendor: str,
    *,
    cpu: str = "",
    running_values: dict[str, str] | None = None,
) -> tuple[BiosReading, ...]:
    """Every setting of bios.toml that this processor has (`AMD`, `Intel`; empty: all), known or not.

    `running_values`: by setting, what the running system shows of it, for those that the firmware does not tell.
    """
    all_of_them = (
        _reading_of_setting(s, values, pending, vendor, (running_values or {}).get(s.id, ""))
        for s in bios_settings()
    )
    foreign = {s.id for s in bios_settings() if s.cpu and cpu and s.cpu != cpu}
    return tuple(reading for reading in all_of_them if reading.value or reading.id not in foreign)


def _reading_of_setting(
    setting: BiosSettingEntry,
    values: dict[str, str],
    pending: dict[str, str],
    vendor: str,
    running_value: str,
) -> BiosReading:
    name_and_value = setting.find(values)
    setup_place = setting.setup.get(vendor) or setting.vendor_names
    name, value = name_and_value or ("", running_value)
    return BiosReading(
        id=setting.id,
        title=setting.title,
        name=name,
        value=value,
        pending=pending.get(name, ""),
        judgement=setting.judge_value(value) if value else "unknown",
        where=setup_place,
    )


def _plain_name(name: str) -> str:
    """`Processors.SOCP-states`, `Processors_SOCP_states`: one name in two of Lenovo's tools."""
    return re.sub(r"[^0-9A-Za-z]", "", name)


def _value_to_compare(text: str) -> str:
    return re.sub(r"[\s_-]", "", text).lower()
