"""The processors: model, sockets, cores, threads, what is offline, and how they are clocked."""

import threading
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from hostdx.probes.files.safe_read import read_shipped_toml
from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.system.processor.topology import (
    ROOT,
    absent_level,
    distinct_sets,
    read_cpu_list,
    read_cpu_topology,
    read_cpuinfo,
)
from hostdx.probes.types import Absent, is_present

if TYPE_CHECKING:
    from concurrent.futures import Future

CPUINFO_S = 10.0


class _Implementer(msgspec.Struct, frozen=True):
    """`parts`: names by their numbers, as /proc/cpuinfo writes both."""

    name: str
    parts: dict[str, str] = {}


@cache
def _arm_implementers() -> dict[str, _Implementer]:
    return read_shipped_toml(__file__, "arm.toml", dict[str, _Implementer])


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
    flags: frozenset[str] = frozenset()


@compute_once_per_host
def read_cpu(host: Host) -> Cpu:
    """From /sys/devices/system/cpu and /proc/cpuinfo."""
    info = read_cpuinfo(host)
    cpu_topology = read_cpu_topology(host)
    sizes = tuple(sorted({len(threads) for threads in cpu_topology.cores.values()}))
    count = len(cpu_topology.online) or len(info)
    return Cpu(
        vendor=_find_vendor(info),
        model=_find_model(info),
        sockets=len(distinct_sets(cpu_topology.sockets)) or absent_level(host, "sockets"),
        cores=len(distinct_sets(cpu_topology.cores)) or absent_level(host, "cores"),
        threads=count or Absent("no CPU is listed", "missing", ROOT),
        present=len(cpu_topology.present) or Absent("no CPU is listed", "missing", ROOT),
        offline=cpu_topology.offline,
        threads_per_core=sizes,
        smt=_read_smt(host, sizes),
        hybrid=_is_hybrid(host, sizes, cpu_topology.offline, cpu_topology.online),
        isolated=read_cpu_list(host, "isolated") or frozenset(),
        flags=frozenset((info[0].get("flags") or info[0].get("Features", "")).split())
        if info
        else frozenset(),
    )


class CpuinfoAddition(msgspec.Struct, frozen=True):
    """What py-cpuinfo adds to /proc/cpuinfo: a name for ARM's numbers, flags by lscpu, CPUID or the device tree."""

    brand: str | Absent
    flags: frozenset[str] = frozenset()


def ask_cpuinfo(host: Host) -> "Future[CpuinfoAddition]":
    """Asks py-cpuinfo, once a host and in the background: it starts a process and takes more than a second."""
    return host.compute_once(_start_cpuinfo_thread)


def read_cpu_model(host: Host) -> str | Absent:
    """The model, by py-cpuinfo where /proc/cpuinfo tells none."""
    model = read_cpu(host).model
    return model if is_present(model) else _ask_cpuinfo_in_time(host).brand


def arm_core_names(host: Host) -> str:
    """The names of ARM's cores, of each kind once; empty where they are not known."""
    part_names: dict[str, None] = {}
    for entry in read_cpuinfo(host):
        maker = _arm_implementers().get(entry.get("CPU implementer", ""))
        if maker is not None and (name := maker.parts.get(entry.get("CPU part", ""))):
            part_names[name] = None
    return " + ".join(part_names)


def read_cpu_flags(host: Host) -> frozenset[str] | Absent:
    """By py-cpuinfo where /proc/cpuinfo tells none."""
    return (
        read_cpu(host).flags
        or _ask_cpuinfo_in_time(host).flags
        or Absent("nothing here reports the CPU's flags")
    )


def _ask_cpuinfo_in_time(host: Host) -> CpuinfoAddition:
    """What py-cpuinfo says within `CPUINFO_S`: the tools that it starts have no limit of their own."""
    try:
        return ask_cpuinfo(host).result(timeout=CPUINFO_S)
    except TimeoutError:
        return CpuinfoAddition(
            Absent(f"py-cpuinfo gave no answer within {CPUINFO_S:.0f} s", "timeout", "py-cpuinfo")
        )


def _start_cpuinfo_thread(host: Host) -> "Future[CpuinfoAddition]":
    from concurrent.futures import Future  # with logging: 6 ms, for hosts that do not tell their model

    future: Future[CpuinfoAddition] = Future()
    if host.live:
        threading.Thread(
            target=lambda: future.set_result(_ask_py_cpuinfo()), name="py-cpuinfo", daemon=True
        ).start()
    else:
        future.set_result(
            CpuinfoAddition(Absent("the captured tree reports no model", "captured", "/proc/cpuinfo"))
        )
    return future


def _ask_py_cpuinfo() -> CpuinfoAddition:
    try:
        from cpuinfo import get_cpu_info

        info = get_cpu_info()
    except Exception as error:  # it parses the output of several tools
        return CpuinfoAddition(Absent(f"py-cpuinfo failed: {type(error).__name__}", "invalid", "py-cpuinfo"))
    name = info.get("brand_raw")
    unknown = Absent("py-cpuinfo knows no name", "unsupported", "py-cpuinfo")
    return CpuinfoAddition(str(name) if name else unknown, frozenset(map(str, info.get("flags") or ())))


def _find_vendor(info: list[dict[str, str]]) -> str | Absent:
    for entry in info:
        if "vendor_id" in entry:
            return entry["vendor_id"]
        if maker := _arm_implementers().get(entry.get("CPU implementer", "")):
            return maker.name
    return Absent("/proc/cpuinfo reports no vendor", "missing", "/proc/cpuinfo")


def _find_model(info: list[dict[str, str]]) -> str | Absent:
    for key in ("model name", "cpu model", "cpu", "Model", "Hardware"):
        for entry in info[:4]:
            if entry.get(key):
                return " ".join(entry[key].split())
    return Absent("/proc/cpuinfo reports no model", "missing", "/proc/cpuinfo")


def _read_smt(host: Host, sizes: tuple[int, ...]) -> str | Absent:
    """`on`, `off`, `forceoff`, `notsupported`; before 4.19 by the number of threads a core has."""
    text = host.read_file_text(f"{ROOT}/smt/control")
    if is_present(text):
        return text.strip()
    return ("on" if max(sizes) > 1 else "off") if sizes else text


def _is_hybrid(
    host: Host, sizes: tuple[int, ...], offline: frozenset[int], online: frozenset[int]
) -> bool | Absent:
    """Cores of several kinds. A thread that is offline makes its core look like another kind."""
    kinds = [k for k in ("cpu_core", "cpu_atom", "cpu_lowpower") if host.path_exists(f"/sys/devices/{k}")]
    if len(kinds) > 1:
        return True
    # ARM big.LITTLE
    if len({entry["CPU part"] for entry in read_cpuinfo(host) if entry.get("CPU part")}) > 1:
        return True
    capacities = {c for n in online if is_present(c := host.read_file_text(f"{ROOT}/cpu{n}/cpu_capacity"))}
    if len(capacities) > 1:
        return True
    if not sizes:
        return Absent("the topology reports no cores", "missing", f"{ROOT}/cpu*/topology")
    if len(sizes) > 1 and offline:
        return Absent("some threads are offline, so that cores look different", "invalid", f"{ROOT}/offline")
    return len(sizes) > 1
