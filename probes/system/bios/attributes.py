"""BIOS settings as the vendor names them, from where they can be read without changing anything.

Only what is asked for is kept: a full answer also holds serial numbers, iSCSI secrets and the hashes of the setup
password.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, is_present

MAX_VALUE_CHARACTERS = 200  # characters; a setting's value is a word

Wanted: TypeAlias = Callable[[str], bool]


class BiosAttributes(msgspec.Struct, frozen=True, kw_only=True):
    """Name -> value in the vendor's own words. `pending` holds what will be in force after the next start and
    differs.
    """

    source: str
    values: dict[str, str]
    vendor: str = ""
    model: str = ""
    pending: dict[str, str] = {}


def wanted_attributes_as_text(answer: Mapping[str, object], wanted: Wanted) -> dict[str, str]:
    """The wanted ones of a parsed answer whose values are words, numbers or truth values."""
    return {
        name: str(value)[:MAX_VALUE_CHARACTERS]
        for name, value in answer.items()
        if isinstance(value, str | int | float) and wanted(name)
    }


# BIOS settings through the kernel (Documentation/ABI/testing/sysfs-class-firmware-attributes, since 5.11).
#
# Its drivers (dell-wmi-sysman, think-lmi, hp-bioscfg) serve workstations and notebooks; on most servers there
# is nothing.
ROOT = "/sys/class/firmware-attributes"


def firmware_attributes(host: Host, wanted: Wanted) -> BiosAttributes | Absent:
    """The wanted ones of every driver. A value that only root may read is left out."""
    drivers = host.list_names(ROOT)
    if isinstance(drivers, Absent):
        return drivers
    values: dict[str, str] = {}
    for driver in drivers:
        names = host.list_names(f"{ROOT}/{driver}/attributes")
        for name in names if is_present(names) else ():
            text = (
                host.read_file_text(f"{ROOT}/{driver}/attributes/{name}/current_value", 4096)
                if wanted(name)
                else ""
            )
            if is_present(text) and text.strip():
                values[name] = text.strip()[:MAX_VALUE_CHARACTERS]
    vendor = host.read_word("/sys/class/dmi/id/sys_vendor")
    return BiosAttributes(source=ROOT, values=values, vendor=vendor if is_present(vendor) else "")
