"""The processors: model, sockets, cores, threads, what is offline, and how they are clocked."""

import threading
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from probes.host import Host, once
from probes.safe_read import own_data
from probes.system.processor.topology import ROOT, cpuinfo, distinct, told, topology, why_nothing
from probes.types import Absent, present

if TYPE_CHECKING:
    from concurrent.futures import Future


class _Implementer(msgspec.Struct, frozen=True):
    """`parts`: names by their numbers, as /proc/cpuinfo writes both."""

    name: str
    parts: dict[str, str] = {}


@cache
def _arm() -> dict[str, _Implementer]:
    return own_data(__file__, "arm.toml", dict[str, _Implementer])


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


@once
def cpu(host: Host) -> Cpu:
    """From /sys/devices/system/cpu and /proc/cpuinfo."""
    info = cpuinfo(host)
    it = topology(host)
    sizes = tuple(sorted({len(threads) for threads in it.cores.values()}))
    count = len(it.online) or len(info)
    return Cpu(
        vendor=_vendor(info),
        model=_model(info),
        sockets=len(distinct(it.sockets)) or why_nothing(host, "sockets"),
        cores=len(distinct(it.cores)) or why_nothing(host, "cores"),
        threads=count or Absent("no CPU is listed", "missing", ROOT),
        present=len(it.present) or Absent("no CPU is listed", "missing", ROOT),
        offline=it.offline,
        threads_per_core=sizes,
        smt=_smt(host, sizes),
        hybrid=_hybrid(host, sizes, it.offline, it.online),
        isolated=told(host, "isolated") or frozenset(),
        flags=frozenset((info[0].get("flags") or info[0].get("Features", "")).split())
        if info
        else frozenset(),
    )


class Described(msgspec.Struct, frozen=True):
    """What py-cpuinfo adds to /proc/cpuinfo: a name for ARM's numbers, flags by lscpu, CPUID or the device tree."""

    brand: str | Absent
    flags: frozenset[str] = frozenset()


def ask(host: Host) -> "Future[Described]":
    """Asks py-cpuinfo, once a host and in the background: it starts a process and takes more than a second."""
    return host.once(_asked)


def brand(host: Host) -> str | Absent:
    """The model, by py-cpuinfo where /proc/cpuinfo tells none."""
    told = cpu(host).model
    return told if present(told) else ask(host).result().brand


def arm_parts(host: Host) -> str:
    """The names of ARM's cores, of each kind once; empty where they are not known."""
    found: dict[str, None] = {}
    for entry in cpuinfo(host):
        maker = _arm().get(entry.get("CPU implementer", ""))
        if maker is not None and (name := maker.parts.get(entry.get("CPU part", ""))):
            found[name] = None
    return " + ".join(found)


def flags(host: Host) -> frozenset[str] | Absent:
    """By py-cpuinfo where /proc/cpuinfo tells none."""
    return cpu(host).flags or ask(host).result().flags or Absent("nothing here reports the CPU's flags")


def _asked(host: Host) -> "Future[Described]":
    from concurrent.futures import Future  # with logging: 6 ms, for hosts that do not tell their model

    found: Future[Described] = Future()
    if host.live:
        threading.Thread(
            target=lambda: found.set_result(_described()), name="py-cpuinfo", daemon=True
        ).start()
    else:
        found.set_result(Described(Absent("the captured tree reports no model", "captured", "/proc/cpuinfo")))
    return found


def _described() -> Described:
    try:
        from cpuinfo import get_cpu_info

        told = get_cpu_info()
    except Exception as error:  # it parses the output of several tools
        return Described(Absent(f"py-cpuinfo failed: {type(error).__name__}", "invalid", "py-cpuinfo"))
    name = told.get("brand_raw")
    unknown = Absent("py-cpuinfo knows no name", "unsupported", "py-cpuinfo")
    return Described(str(name) if name else unknown, frozenset(map(str, told.get("flags") or ())))


def _vendor(info: list[dict[str, str]]) -> str | Absent:
    for entry in info:
        if "vendor_id" in entry:
            return entry["vendor_id"]
        if maker := _arm().get(entry.get("CPU implementer", "")):
            return maker.name
    return Absent("/proc/cpuinfo reports no vendor", "missing", "/proc/cpuinfo")


def _model(info: list[dict[str, str]]) -> str | Absent:
    for key in ("model name", "cpu model", "cpu", "Model", "Hardware"):
        for entry in info[:4]:
            if entry.get(key):
                return " ".join(entry[key].split())
    return Absent("/proc/cpuinfo reports no model", "missing", "/proc/cpuinfo")


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
    kinds = [k for k in ("cpu_core", "cpu_atom", "cpu_lowpower") if host.exists(f"/sys/devices/{k}")]
    if len(kinds) > 1:
        return True
    if len({entry["CPU part"] for entry in cpuinfo(host) if entry.get("CPU part")}) > 1:  # ARM big.LITTLE
        return True
    capacities = {c for n in online if present(c := host.text(f"{ROOT}/cpu{n}/cpu_capacity"))}
    if len(capacities) > 1:
        return True
    if not sizes:
        return Absent("the topology reports no cores", "missing", f"{ROOT}/cpu*/topology")
    if len(sizes) > 1 and offline:
        return Absent("some threads are offline, so that cores look different", "invalid", f"{ROOT}/offline")
    return len(sizes) > 1
