"""Every setting that decides: what the kernel tells, what the firmware tells, and where to look for the rest."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.apic import apic_mode
from hostdx.probes.system.bios.attribute_file import read_attribute_file
from hostdx.probes.system.bios.attributes import BiosAttributes, firmware_attributes
from hostdx.probes.system.nodes.acpi import ROOT as ACPI
from hostdx.probes.system.nodes.acpi import read_acpi_tables
from hostdx.probes.system.nodes.nodes_per_socket import read_nodes_per_socket
from hostdx.probes.system.nodes.numa import ROOT as NODES
from hostdx.probes.system.nodes.numa import NumaTable, read_numa
from hostdx.probes.system.pci import read_pci_devices
from hostdx.probes.system.pcie_tags import PcieTags, read_pcie_tags
from hostdx.probes.system.processor.clocksource import read_clocksource
from hostdx.probes.system.processor.cpu import read_cpu
from hostdx.probes.system.processor.frequency import Frequency, read_frequency
from hostdx.probes.system.processor.idle import read_idle_states
from hostdx.probes.system.processor.topology import ROOT
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.system.virtualisation import read_virtualisation
from hostdx.probes.types import Absent, FactOrUnread, Json, is_present, make_fact
from hostdx.scenarios.triage.knowledge.bios import BiosReading, all_readings, is_known_attribute, vendor_of

if TYPE_CHECKING:
    from hostdx.scenarios.contract.model import OptionMap

DMI = "/sys/class/dmi/id"
Held: TypeAlias = Literal["powersave", "userspace", "performance limit", "boost off"]
_CPU_VENDORS = {"AuthenticAMD": "AMD", "HygonGenuine": "AMD", "GenuineIntel": "Intel"}


class FirmwareSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`attributes` is where the values come from; Absent: no source told any, and the readings are all unknown."""

    attributes: BiosAttributes | Absent
    readings: tuple[BiosReading, ...]
    vendor: str


def read_settings(host: Host) -> tuple[FactOrUnread, ...]:
    """Of the kernel, beyond the facts of every run; each from where it can honestly be read."""
    return tuple(_setting_facts(host))


def _setting_facts(host: Host) -> Iterator[FactOrUnread]:
    nodes = read_nodes_per_socket(host)
    yield make_fact(
        "numa",
        "setting",
        nodes if isinstance(nodes, Absent) else nodes.setting_text,
        "topology, L3 caches, CPU model",
    )
    yield from _acpi_table_facts(host)
    mode = apic_mode(host)
    yield make_fact(
        "cpu",
        "apic",
        mode if isinstance(mode, Absent) else mode.mode,
        mode.source if is_present(mode) else "kernel log",
    )
    yield from _frequency_facts(host)
    sleeping = read_idle_states(host)
    if isinstance(sleeping, Absent):
        yield make_fact("cpu", "idle_states", sleeping, f"{ROOT}/cpuidle")
    else:
        words = [
            f"{s.name} {s.wake_us} µs" + (" (off)" if s.disabled_on == s.cpus else "")
            for s in sleeping.states
            if is_present(s.wake_us)
        ]
        driver_and_states: Json = [sleeping.driver if is_present(sleeping.driver) else "", *words]
        yield make_fact("cpu", "idle_states", driver_and_states, f"{ROOT}/cpu*/cpuidle")
    balancing = host.read_integer("/proc/sys/kernel/numa_balancing")
    yield make_fact("memory", "numa_balancing", balancing, "/proc/sys/kernel/numa_balancing")
    clock = read_clocksource(host)
    yield make_fact(
        "kernel",
        "clocksource",
        clock if isinstance(clock, Absent) else clock.current,
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    )


def _acpi_table_facts(host: Host) -> Iterator[FactOrUnread]:
    """The firmware's own word on the nodes, and how fast the kernel understood them to be."""
    tables, table = read_acpi_tables(host), read_numa(host)
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
            tables.distances
            if isinstance(tables.distances, Absent)
            else _distances_as_used_or_not(tables.distances, table)
        )
    yield make_fact("numa", "firmware_domains", srat, f"{ACPI}/SRAT")
    yield make_fact("numa", "firmware_distances", slit, f"{ACPI}/SLIT")
    speeds: list[Json] = [
        f"node {node.number}: {node.access.latency_ns} ns, {node.access.read_mb_per_s} MB/s"
        for node in (table.nodes if is_present(table) else ())
        if node.access is not None
    ]
    hmat = tables if isinstance(tables, Absent) else tables.hmat_bytes
    if speeds or is_present(hmat):
        speeds_entry: Json | Absent = speeds or Absent(
            "the kernel took no speeds from the HMAT table", "unsupported"
        )
        yield make_fact("numa", "firmware_speeds", speeds_entry, f"{NODES}/node*/access0")
    else:
        yield make_fact("numa", "firmware_speeds", hmat, f"{ACPI}/HMAT")


def described_and_used_nodes(host: Host) -> tuple[int, int] | None:
    """Several domains with CPUs and memory of which the kernel made one node. Other differences have good reasons:
    firmware lists what could be plugged in, and a node without memory is folded into another one.
    """
    tables, table = read_acpi_tables(host), read_numa(host)
    if isinstance(tables, Absent) or isinstance(tables.srat, Absent) or isinstance(table, Absent):
        return None
    asked = read_kernel(host).boot_parameters()
    if "off" in (asked.get("numa"), asked.get("acpi")) or asked.get("numa") == "noacpi":
        return None  # asked for
    complete_domains = tables.srat.with_cpus & tables.srat.with_memory
    return (len(complete_domains), 1) if len(complete_domains) > 1 and len(table.nodes) == 1 else None


def _distances_as_used_or_not(rows: tuple[tuple[int, ...], ...], table: NumaTable | Absent) -> str:
    used = tuple(node.distances for node in table.nodes) if is_present(table) else ()
    words = "; ".join(" ".join(map(str, row)) for row in rows[:8]) + (" …" if len(rows) > 8 else "")
    return f"{words} ({'as' if rows == used else 'not as'} the kernel uses them)"


def _frequency_facts(host: Host) -> Iterator[FactOrUnread]:
    frequencies = read_frequency(host)
    folder = f"{ROOT}/cpufreq/policy*"
    if isinstance(frequencies, Absent):
        yield make_fact("cpu", "frequency_control", frequencies, folder)
        return
    if frequencies.preferences:
        words = [
            f"{word} ({count})" if len(frequencies.preferences) > 1 else word
            for word, count in frequencies.preferences.items()
        ]
        yield make_fact("cpu", "energy_preference", [*words], f"{folder}/energy_performance_preference")
    limit = limited_khz(host, frequencies)
    if limit is not None:
        yield make_fact("cpu", "limited_to", limit, f"{folder}/scaling_max_freq", unit="kHz")


def limited_khz(host: Host, frequencies: Frequency | Absent) -> int | None:
    """Return what somebody set as the highest frequency, where that is lower than what the CPU can; the lowest of
    all.

    Where boost is off, against the frequency without it: some drivers lower the limit with it, which is another
    setting.
    """
    if isinstance(frequencies, Absent):
        return None
    boosted = frequencies.turbo is not False
    if not boosted and isinstance(frequencies.base_khz, Absent):
        return None
    lower = []
    for folder in host.glob_paths(f"{ROOT}/cpufreq/policy*") or host.glob_paths(f"{ROOT}/cpu[0-9]*/cpufreq"):
        most, can = (
            host.read_integer(f"{folder}/scaling_max_freq"),
            host.read_integer(f"{folder}/cpuinfo_max_freq"),
        )
        at_most = can if boosted else host.read_integer(f"{folder}/base_frequency")
        if is_present(most) and is_present(at_most) and 0 < most < 0.98 * at_most:
            lower.append(most)
    return min(lower, default=None)


def frequency_holder(host: Host, frequencies: Frequency | Absent) -> Held | None:
    """A setting other than the limit that keeps the clock below what the CPU can."""
    if isinstance(frequencies, Absent):
        return None
    if not frequencies.is_driver_active:  # an active driver's powersave is no lowest clock
        if "powersave" in frequencies.governors:
            return "powersave"
        if "userspace" in frequencies.governors:
            return "userspace"
    share = host.read_integer(f"{ROOT}/intel_pstate/max_perf_pct")
    if is_present(share) and 0 < share < 100:
        return "performance limit"
    return "boost off" if frequencies.turbo is False else None


def highest_khz(frequencies: Frequency | Absent) -> int | None:
    return (
        frequencies.highest_khz
        if isinstance(frequencies, Frequency) and is_present(frequencies.highest_khz)
        else None
    )


def bios_source_problem(options: "OptionMap") -> str:
    """Return what is wrong with the request for the firmware's settings, in one line; empty where all is well."""
    path, url, authority = (options.as_string(name) for name in ("bios", "redfish", "redfish-ca"))
    if path and url:
        return "--bios and --redfish are two sources of the same settings: give one of them"
    if authority and not url:
        return "--redfish-ca is the certificate for --redfish URL, which is not given"
    if path:
        attributes = read_attribute_file(path, is_known_attribute)
        return attributes.reason if isinstance(attributes, Absent) else ""
    from hostdx.probes.system.bios.redfish import (
        redfish_url_problem,  # http.client takes 20 ms, and triage asks nobody
    )

    return redfish_url_problem(url, authority or None) if url else ""


def read_firmware(host: Host, options: "OptionMap") -> FirmwareSettings:
    """From the file that was named, else the Redfish service, else the kernel's firmware attributes.

    Raises RunRefused where a source that was asked for does not tell.
    """
    path, url = options.as_string("bios"), options.as_string("redfish")
    attributes: BiosAttributes | Absent
    if path:
        attributes = read_attribute_file(path, is_known_attribute)
    elif url:
        from hostdx.probes.system.bios.redfish import read_redfish_bios

        attributes = read_redfish_bios(url, is_known_attribute, options.as_string("redfish-ca") or None)
    else:
        attributes = firmware_attributes(host, is_known_attribute)
    if (path or url) and isinstance(attributes, Absent):
        which = "--bios" if path else "--redfish"
        from hostdx.scenarios.contract.model import RunRefused

        raise RunRefused(
            f"the BIOS settings could not be read: {attributes.reason}; leave out {which} to go on without them"
        )
    maker = host.read_file_text(f"{DMI}/sys_vendor", 4096)
    vendor_name = (
        attributes.vendor
        if is_present(attributes) and attributes.vendor
        else maker
        if is_present(maker)
        else ""
    )
    vendor = vendor_of(vendor_name)
    values = attributes.values if is_present(attributes) else {}
    pending = attributes.pending if is_present(attributes) else {}
    if read_virtualisation(host).is_virtual and not (path or url):
        inside = Absent(
            "a virtual machine does not see the settings of the machine below", "unsupported", "DMI"
        )
        return FirmwareSettings(attributes=inside, readings=(), vendor=vendor)
    made_by = read_cpu(host).vendor
    maker_of_cpu = _CPU_VENDORS.get(made_by, "") if is_present(made_by) else ""
    bios_readings = all_readings(
        values, pending, vendor, cpu=maker_of_cpu, running_values=_settings_seen_running(host)
    )
    return FirmwareSettings(attributes=attributes, readings=bios_readings, vendor=vendor)


def _settings_seen_running(host: Host) -> dict[str, str]:
    """Return what the running system shows of settings that the firmware does not tell; only what is certain."""
    observed: dict[str, str] = {}
    nodes = read_nodes_per_socket(host)
    if is_present(nodes) and not nodes.by_kernel and nodes.l3_as_numa is False:
        if nodes.scheme == "NPS":
            observed |= {"nodes_per_socket": f"NPS{nodes.value}", "l3_as_numa": "Disabled"}
        elif nodes.scheme == "SNC" and nodes.value:
            observed["sub_numa_cluster"] = "Disabled" if nodes.value == 1 else f"SNC{nodes.value}"
    elif is_present(nodes) and nodes.l3_as_numa:
        observed["l3_as_numa"] = "Enabled"
    mode = apic_mode(host)
    if is_present(mode):
        observed["apic_mode"] = mode.mode
    tagged = pcie_tags_of_devices(host)
    able = [t for t in tagged if t.can] if is_present(tagged) else []
    if able:
        observed["pcie_ten_bit_tag"] = "Enabled" if all(t.on for t in able) else "Disabled"
    return observed


def pcie_tags_of_devices(host: Host) -> tuple[PcieTags, ...] | Absent:
    devices = read_pci_devices(host)
    return devices if isinstance(devices, Absent) else read_pcie_tags(host, devices)
