"""BIOS settings through the kernel (Documentation/ABI/testing/sysfs-class-firmware-attributes, since 5.11).

Its drivers (dell-wmi-sysman, think-lmi, hp-bioscfg) serve workstations and notebooks; on most servers there is nothing.
"""

from hostdx.probes.reading.host import Host
from hostdx.probes.system.bios.attributes import MAX_VALUE_CHARACTERS, BiosAttributes, Wanted
from hostdx.probes.types import Absent, is_present

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
