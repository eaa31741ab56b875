"""The processors: model, sockets, cores, threads, what is offline, and how they are clocked."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from probes.host import Host
from probes.system.cpulist import parse_list, read_cpus
from probes.types import Absent, present

ROOT = "/sys/devices/system/cpu"
# Implementer codes of ARM's MIDR register; /proc/cpuinfo tells no name there (arch/arm64/include/asm/cputype.h).
_ARM_VENDORS = {
    0x41: "ARM",
    0x43: "Cavium",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x50: "APM",
    0x51: "Qualcomm",
} | {
    0x46: "Fujitsu",
    0x61: "Apple",
    0xC0: "Ampere",
}


class Cpu(msgspec.Struct, frozen=True, kw_only=True):
    """`threads`, `cores` and `sockets` count what is online. A core is a set of threads that share one
    (on AMD's family 15h a module of two integer cores, as lscpu counts too).

    `threads_per_core` lists the distinct numbers: (1, 2) on a hybrid processor. `smt` is the kernel's word.
    """

    vendor: str | Absent
    model: str | Absent
    sockets: int | Absent
    cores: int | Absent
    threads: int | Absent
    present: int | Absent
    offline: frozenset[int]
    threads_per_core: tuple[int, ...]
    smt: str | Absent
    hybrid: bool | Absent
    isolated: frozenset[int]
    core_of: dict[int, int] = {}  # thread -> the lowest thread of its core
    socket_of: dict[int, int] = {}
    flags: frozenset[str] = frozenset()


def cpu(host: Host) -> Cpu:
    """From /sys/devices/system/cpu and /proc/cpuinfo; read afresh."""
    info = cpuinfo(host)
    known = _numbered(host)
    offline = frozenset(n for n in known if host.text(f"{ROOT}/cpu{n}/online") == "0")
    online = known - offline
    told = _told(host, "online")
    if told and known:  # a captured tree may hold folders for CPUs that can be plugged in later
        online &= told
    cores, sockets = _topology(host, online)
    sizes = tuple(sorted({len(threads) for threads in set(cores.values())}))
    count = len(online) or len(info) or None
    here = _told(host, "present")
    return Cpu(
        vendor=_vendor(info),
        model=_model(info),
        sockets=_count(set(sockets.values()) or _from_info(info, "physical id"), "sockets"),
        cores=_count(set(cores.values()), "cores"),
        threads=count if count is not None else Absent("no CPU is listed", "missing", ROOT),
        present=len(here or known) or Absent("no CPU is listed", "missing", ROOT),
        offline=offline | ((_told(host, "offline") or frozenset()) & (here or known)),
        threads_per_core=sizes,
        smt=_smt(host, sizes),
        hybrid=_hybrid(host, sizes, offline, online),
        isolated=_told(host, "isolated") or frozenset(),
        core_of={n: min(threads) for n, threads in cores.items()},
        socket_of=sockets,
        flags=frozenset((info[0].get("flags") or info[0].get("Features", "")).split())
        if info
        else frozenset(),
    )


def cpuinfo(host: Host) -> list[dict[str, str]]:
    """/proc/cpuinfo: one dictionary a processor; on s390 and some ARM the first holds what is common."""
    text = host.text("/proc/cpuinfo", 16 << 20)
    blocks = re.split(r"\n\s*\n", text) if present(text) else []
    parsed = [dict(_pair(line) for line in block.splitlines() if ":" in line) for block in blocks]
    return [entry for entry in parsed if entry]


def brand(host: Host) -> str | Absent:
    """The model by py-cpuinfo, where /proc/cpuinfo tells none. Live only; takes a second, once a host."""
    return host.once(_brand)


def _brand(host: Host) -> str | Absent:
    if not host.live:
        return Absent("the captured tree tells no model", "captured", "/proc/cpuinfo")
    try:
        from cpuinfo import get_cpu_info

        name = get_cpu_info().get("brand_raw")
    except Exception as error:  # it parses the output of several tools
        return Absent(f"py-cpuinfo failed: {type(error).__name__}", "invalid", "py-cpuinfo")
    return str(name) if name else Absent("py-cpuinfo knows no name", "unsupported", "py-cpuinfo")


def _pair(line: str) -> tuple[str, str]:
    key, _, value = line.partition(":")
    return key.strip(), value.strip()


def _vendor(info: list[dict[str, str]]) -> str | Absent:
    for entry in info:
        if "vendor_id" in entry:
            return entry["vendor_id"]
        try:
            return _ARM_VENDORS[int(entry["CPU implementer"], 16)]
        except (KeyError, ValueError):
            continue
    return Absent("/proc/cpuinfo tells no vendor", "missing", "/proc/cpuinfo")


def _model(info: list[dict[str, str]]) -> str | Absent:
    for key in ("model name", "cpu model", "cpu", "Model", "Hardware"):
        for entry in info[:4]:
            if entry.get(key):
                return " ".join(entry[key].split())
    return Absent("/proc/cpuinfo tells no model", "missing", "/proc/cpuinfo")


def _numbered(host: Host) -> frozenset[int]:
    names = host.listing(ROOT)
    found = (re.fullmatch(r"cpu(\d+)", name) for name in names) if present(names) else ()
    return frozenset(int(match[1]) for match in found if match)


def _told(host: Host, name: str) -> frozenset[int] | None:
    text = host.text(f"{ROOT}/{name}")
    return parse_list(text) if present(text) and text.strip() not in ("", "(null)") else None


def _topology(host: Host, online: frozenset[int]) -> tuple[dict[int, frozenset[int]], dict[int, int]]:
    cores: dict[int, frozenset[int]] = {}
    sockets: dict[int, int] = {}
    for n in online:
        folder = f"{ROOT}/cpu{n}/topology"
        threads = read_cpus(host, folder, "core_cpus_list", "core_cpus")
        if isinstance(threads, Absent):
            threads = read_cpus(host, folder, "thread_siblings_list", "thread_siblings")
        if present(threads) and n in threads:
            cores[n] = threads & online
        socket = host.integer(f"{folder}/physical_package_id")
        if present(socket) and socket >= 0:  # -1 on machines whose firmware does not tell
            sockets[n] = socket
    return cores, sockets


def _count(found: Iterable[object], what: str) -> int | Absent:
    number = len(set(found))
    return number if number else Absent(f"the topology tells no {what}", "missing", f"{ROOT}/cpu*/topology")


def _from_info(info: list[dict[str, str]], key: str) -> set[str]:
    return {entry[key] for entry in info if key in entry}


def _smt(host: Host, sizes: tuple[int, ...]) -> str | Absent:
    """`on`, `off`, `forceoff`, `notsupported`; before 4.19 by the number of threads a core has."""
    text = host.text(f"{ROOT}/smt/control")
    if present(text):
        return text.strip()
    return ("on" if max(sizes) > 1 else "off") if sizes else text


def _hybrid(
    host: Host, sizes: tuple[int, ...], offline: frozenset[int], online: frozenset[int]
) -> bool | Absent:
    """Cores of several kinds. A thread that is offline makes its core look like another kind."""
    kinds = [k for k in ("cpu_core", "cpu_atom", "cpu_lowpower") if host.exists(f"/sys/devices/{k}/cpus")]
    if len(kinds) > 1:
        return True
    capacities = {c for n in online if present(c := host.text(f"{ROOT}/cpu{n}/cpu_capacity"))}
    if len(capacities) > 1:
        return True
    if not sizes:
        return Absent("the topology tells no cores", "missing", f"{ROOT}/cpu*/topology")
    if len(sizes) > 1 and offline:
        return Absent("some threads are offline, so that cores look different", "invalid", f"{ROOT}/offline")
    return len(sizes) > 1
