"""Every setting that decides: what the kernel tells, what the firmware tells, and what nobody tells and where to
look.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from probes.host import Host
from probes.system.apic import apic_mode
from probes.system.bios.attribute_file import attribute_file
from probes.system.bios.attributes import BiosAttributes
from probes.system.bios.firmware_attributes import firmware_attributes
from probes.system.nodes.acpi import ROOT as ACPI
from probes.system.nodes.acpi import acpi_tables
from probes.system.nodes.nodes_per_socket import nodes_per_socket
from probes.system.nodes.numa import ROOT as NODES
from probes.system.nodes.numa import Numa, numa
from probes.system.pci import pci_devices
from probes.system.pcie_tags import Tags, tags
from probes.system.processor.clocksource import clocksource
from probes.system.processor.cpu import cpu
from probes.system.processor.frequency import Frequency, frequency
from probes.system.processor.idle import idle
from probes.system.processor.topology import ROOT
from probes.system.software.kernel import kernel
from probes.system.virtualisation import virtualisation
from probes.types import Absent, Entry, Json, entry, present
from scenarios.knowledge.bios import BiosReading, all_readings, is_known_attribute, vendor_of

if TYPE_CHECKING:
    from scenarios.model import Options

DMI = "/sys/class/dmi/id"
Held: TypeAlias = Literal["powersave", "userspace", "performance limit", "boost off"]
_CPU_VENDORS = {"AuthenticAMD": "AMD", "HygonGenuine": "AMD", "GenuineIntel": "Intel"}


class Firmware(msgspec.Struct, frozen=True, kw_only=True):
    """`found` is where the values come from; Absent: no source told any, and the readings are all unknown."""

    found: BiosAttributes | Absent
    readings: tuple[BiosReading, ...]
    vendor: str


def settings(host: Host) -> tuple[Entry, ...]:
    """Of the kernel, beyond the facts of every run; each from where it can honestly be read."""
    return tuple(_settings(host))


def _settings(host: Host) -> Iterator[Entry]:
    nodes = nodes_per_socket(host)
    yield entry(
        "numa",
        "setting",
        nodes if isinstance(nodes, Absent) else nodes.words,
        "topology, L3 caches, CPU model",
    )
    yield from _tables(host)
    mode = apic_mode(host)
    yield entry(
        "cpu",
        "apic",
        mode if isinstance(mode, Absent) else mode.mode,
        mode.source if present(mode) else "kernel log",
    )
    yield from _clocks(host)
    sleeping = idle(host)
    if isinstance(sleeping, Absent):
        yield entry("cpu", "idle_states", sleeping, f"{ROOT}/cpuidle")
    else:
        words = [
            f"{s.name} {s.wake_us} µs" + (" (off)" if s.disabled_on == s.cpus else "")
            for s in sleeping.states
            if present(s.wake_us)
        ]
        told: Json = [sleeping.driver if present(sleeping.driver) else "", *words]
        yield entry("cpu", "idle_states", told, f"{ROOT}/cpu*/cpuidle")
    balancing = host.integer("/proc/sys/kernel/numa_balancing")
    yield entry("memory", "numa_balancing", balancing, "/proc/sys/kernel/numa_balancing")
    clock = clocksource(host)
    yield entry(
        "kernel",
        "clocksource",
        clock if isinstance(clock, Absent) else clock.current,
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    )


def _tables(host: Host) -> Iterator[Entry]:
    """The firmware's own word on the nodes, and how fast the kernel understood them to be."""
    tables, table = acpi_tables(host), numa(host)
    srat: Json | Absent
    slit: Json | Absent
    if isinstance(tables, Absent):
        srat = slit = tables
    else:
        srat = (
            tables.srat
            if isinstance(tables.srat, Absent)
            else f"{len(tables.srat.with_cpus)} domains with CPUs, {len(tables.srat.with_memory)} with memory"
        )
        slit = (
            tables.distances if isinstance(tables.distances, Absent) else _distances(tables.distances, table)
        )
    yield entry("numa", "firmware_domains", srat, f"{ACPI}/SRAT")
    yield entry("numa", "firmware_distances", slit, f"{ACPI}/SLIT")
    speeds: list[Json] = [
        f"node {node.number}: {node.access.latency_ns} ns, {node.access.read_mb_per_s} MB/s"
        for node in (table.nodes if present(table) else ())
        if node.access is not None
    ]
    hmat = tables if isinstance(tables, Absent) else tables.hmat_bytes
    if speeds or present(hmat):
        told: Json | Absent = speeds or Absent("the kernel took no speeds from the HMAT table", "unsupported")
        yield entry("numa", "firmware_speeds", told, f"{NODES}/node*/access0")
    else:
        yield entry("numa", "firmware_speeds", hmat, f"{ACPI}/HMAT")


def lost_nodes(host: Host) -> tuple[int, int] | None:
    """Several domains with CPUs and memory of which the kernel made one node. Other differences have good reasons:
    firmware lists what could be plugged in, and a node without memory is folded into another one.
    """
    tables, table = acpi_tables(host), numa(host)
    if isinstance(tables, Absent) or isinstance(tables.srat, Absent) or isinstance(table, Absent):
        return None
    asked = kernel(host).parameters()
    if "off" in (asked.get("numa"), asked.get("acpi")) or asked.get("numa") == "noacpi":
        return None  # asked for
    whole = tables.srat.with_cpus & tables.srat.with_memory
    return (len(whole), 1) if len(whole) > 1 and len(table.nodes) == 1 else None


def _distances(told: tuple[tuple[int, ...], ...], table: Numa | Absent) -> str:
    used = tuple(node.distances for node in table.nodes) if present(table) else ()
    words = "; ".join(" ".join(map(str, row)) for row in told[:8]) + (" …" if len(told) > 8 else "")
    return f"{words} ({'as' if told == used else 'not as'} the kernel uses them)"


def _clocks(host: Host) -> Iterator[Entry]:
    found = frequency(host)
    folder = f"{ROOT}/cpufreq/policy*"
    if isinstance(found, Absent):
        yield entry("cpu", "frequency_control", found, folder)
        return
    if found.preferences:
        words = [
            f"{word} ({count})" if len(found.preferences) > 1 else word
            for word, count in found.preferences.items()
        ]
        yield entry("cpu", "energy_preference", [*words], f"{folder}/energy_performance_preference")
    limit = limited_khz(host, found)
    if limit is not None:
        yield entry("cpu", "limited_to", limit, f"{folder}/scaling_max_freq", unit="kHz")


def limited_khz(host: Host, found: Frequency | Absent) -> int | None:
    """What somebody set as the highest frequency, where that is lower than what the CPU can; the lowest of all.

    Where boost is off, against the frequency without it: some drivers lower the limit with it, which is another
    setting.
    """
    if isinstance(found, Absent):
        return None
    boosted = found.turbo is not False
    if not boosted and isinstance(found.base_khz, Absent):
        return None
    lower = []
    for folder in host.glob(f"{ROOT}/cpufreq/policy*") or host.glob(f"{ROOT}/cpu[0-9]*/cpufreq"):
        most, can = host.integer(f"{folder}/scaling_max_freq"), host.integer(f"{folder}/cpuinfo_max_freq")
        at_most = can if boosted else host.integer(f"{folder}/base_frequency")
        if present(most) and present(at_most) and 0 < most < 0.98 * at_most:
            lower.append(most)
    return min(lower, default=None)


def held_by(host: Host, found: Frequency | Absent) -> Held | None:
    """A setting other than the limit that keeps the clock below what the CPU can."""
    if isinstance(found, Absent):
        return None
    if not found.active:  # an active driver's powersave is no lowest clock
        if "powersave" in found.governors:
            return "powersave"
        if "userspace" in found.governors:
            return "userspace"
    share = host.integer(f"{ROOT}/intel_pstate/max_perf_pct")
    if present(share) and 0 < share < 100:
        return "performance limit"
    return "boost off" if found.turbo is False else None


def highest_khz(found: Frequency | Absent) -> int | None:
    return found.highest_khz if isinstance(found, Frequency) and present(found.highest_khz) else None


def source_problem(options: "Options") -> str:
    """What is wrong with the request for the firmware's settings, in one line; empty where they can be asked for."""
    path, url, authority = (options.as_string(name) for name in ("bios", "redfish", "redfish-ca"))
    if path and url:
        return "--bios and --redfish are two sources of the same settings: give one of them"
    if authority and not url:
        return "--redfish-ca is the certificate for --redfish URL, which is not given"
    if path:
        told = attribute_file(path, is_known_attribute)
        return told.reason if isinstance(told, Absent) else ""
    from probes.system.bios.redfish import url_problem  # http.client takes 20 ms, and triage asks nobody

    return url_problem(url, authority or None) if url else ""


def firmware(host: Host, options: "Options") -> Firmware:
    """From the file that was named, else the Redfish service, else the kernel's firmware attributes.

    Raises Refused where a source that was asked for does not tell.
    """
    path, url = options.as_string("bios"), options.as_string("redfish")
    found: BiosAttributes | Absent
    if path:
        found = attribute_file(path, is_known_attribute)
    elif url:
        from probes.system.bios.redfish import redfish_bios

        found = redfish_bios(url, is_known_attribute, options.as_string("redfish-ca") or None)
    else:
        found = firmware_attributes(host, is_known_attribute)
    if (path or url) and isinstance(found, Absent):
        which = "--bios" if path else "--redfish"
        from scenarios.model import RunRefused

        raise RunRefused(
            f"the BIOS settings could not be read: {found.reason}; leave out {which} to go on without them"
        )
    maker = host.text(f"{DMI}/sys_vendor", 4096)
    named = found.vendor if present(found) and found.vendor else maker if present(maker) else ""
    vendor = vendor_of(named)
    values = found.values if present(found) else {}
    pending = found.pending if present(found) else {}
    if virtualisation(host).virtual and not (path or url):
        inside = Absent(
            "a virtual machine does not see the settings of the machine below", "unsupported", "DMI"
        )
        return Firmware(found=inside, readings=(), vendor=vendor)
    made_by = cpu(host).vendor
    maker_of_cpu = _CPU_VENDORS.get(made_by, "") if present(made_by) else ""
    known = all_readings(values, pending, vendor, cpu=maker_of_cpu, running_values=_seen(host))
    return Firmware(found=found, readings=known, vendor=vendor)


def _seen(host: Host) -> dict[str, str]:
    """What the running system shows of settings that the firmware does not tell; only what is certain."""
    seen: dict[str, str] = {}
    nodes = nodes_per_socket(host)
    if present(nodes) and not nodes.by_kernel and nodes.l3_as_numa is False:
        if nodes.scheme == "NPS":
            seen |= {"nodes_per_socket": f"NPS{nodes.value}", "l3_as_numa": "Disabled"}
        elif nodes.scheme == "SNC" and nodes.value:
            seen["sub_numa_cluster"] = "Disabled" if nodes.value == 1 else f"SNC{nodes.value}"
    elif present(nodes) and nodes.l3_as_numa:
        seen["l3_as_numa"] = "Enabled"
    mode = apic_mode(host)
    if present(mode):
        seen["apic_mode"] = mode.mode
    tagged = device_tags(host)
    able = [t for t in tagged if t.can] if present(tagged) else []
    if able:
        seen["pcie_ten_bit_tag"] = "Enabled" if all(t.on for t in able) else "Disabled"
    return seen


def device_tags(host: Host) -> tuple[Tags, ...] | Absent:
    devices = pci_devices(host)
    return devices if isinstance(devices, Absent) else tags(host, devices)
