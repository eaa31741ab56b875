"""BIOS settings through the kernel (Documentation/ABI/testing/sysfs-class-firmware-attributes, since 5.11).

Its drivers (dell-wmi-sysman, think-lmi, hp-bioscfg) serve workstations and notebooks; on most servers there is nothing.
"""

from probes.host import Host
from probes.system.bios.attributes import MOST_VALUE, BiosAttributes, Wanted
from probes.types import Absent, present

ROOT = "/sys/class/firmware-attributes"


def firmware_attributes(host: Host, wanted: Wanted) -> BiosAttributes | Absent:
    """The wanted ones of every driver. A value that only root may read is left out."""
    drivers = host.listing(ROOT)
    if isinstance(drivers, Absent):
        return drivers
    values: dict[str, str] = {}
    for driver in drivers:
        names = host.listing(f"{ROOT}/{driver}/attributes")
        for name in names if present(names) else ():
            text = host.text(f"{ROOT}/{driver}/attributes/{name}/current_value", 4096) if wanted(name) else ""
            if present(text) and text.strip():
                values[name] = text.strip()[:MOST_VALUE]
    vendor = host.word("/sys/class/dmi/id/sys_vendor")
    return BiosAttributes(source=ROOT, values=values, vendor=vendor if present(vendor) else "")
