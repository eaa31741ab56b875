"""Kernels with known faults: which entries of kernels.toml a release string falls under."""

import datetime
import re
from functools import lru_cache
from typing import Literal

import msgspec

from probes.host import Host
from probes.system.software.kernel import kernel
from probes.types import present
from scenarios.knowledge.load import Loaded, load


class KernelFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One fault of a range of kernels. `scheduler` empty: whichever is active.

    `of`: whose rules speak of it. `stream`: an EL z-stream ("el8_6"), in which alone the numbers count: other streams
    got the fix under other numbers. `backported`: by upstream series, the first stable release with the fix.
    `needs`: what must be so on the host (`scenarios/kernel/symptoms.py`); `symptom`: what shows it there.
    """

    id: str
    title: str
    family: str
    since: str
    dated: datetime.date
    effect: str
    sources: tuple[str, ...]
    remedy: str
    before: str = ""
    scheduler: str = ""
    needs_multi_queue: bool = False
    certainty: Literal["reported", "possible"] = "possible"
    fixed_in: str = ""
    of: Literal["block", "kernel"] = "kernel"
    stream: str = ""
    backported: dict[str, str] = {}
    needs: tuple[str, ...] = ()
    symptom: str = ""
    quiet: bool = False  # without its symptom nothing is said: it costs nothing
    grave: bool = False  # it damages data: a warning, also where nothing shows it


_ENTERPRISE = re.compile(r"\.el(\d+)")
_STREAM = re.compile(r"\.(el\d+_\d+)")
_REAL_DEBIAN = re.compile(r"\bDebian (\d+\.\d+\.\d+)")


def numbers(release: str) -> tuple[int, ...]:
    """The leading numbers of a release: "4.18.0-348.7.1.el8_5.x86_64" gives (4, 18, 0, 348, 7, 1)."""
    found = re.match(r"[0-9]{1,9}(?:[.-][0-9]{1,9}){0,9}", release)
    return tuple(int(n) for n in re.split(r"[.-]", found.group())) if found else ()


def family(release: str) -> str:
    """Whose numbering counts: "el8" and so on for Enterprise Linux, else "upstream"."""
    found = _ENTERPRISE.search(release)
    return f"el{found.group(1)}" if found else "upstream"


def stream(release: str) -> str:
    """The z-stream: "el8_6" of 4.18.0-372.93.1.el8_6.x86_64; empty where there is none."""
    found = _STREAM.search(release)
    return found.group(1) if found else ""


def upstream(release: str, version: str = "") -> tuple[int, ...]:
    """The upstream version: Debian's release stays at 6.1.0 while `version` (uname -v) names 6.1.76."""
    real = _REAL_DEBIAN.search(version)
    return numbers(real.group(1)) if real else numbers(release)[:3]


def within(release: str, fault: KernelFault, version: str = "") -> bool:
    """True where the release lies in the fault's range; an unreadable release lies in none."""
    if family(release) != fault.family:
        return False
    if fault.stream and fault.stream != stream(release):
        return False
    own = upstream(release, version) if fault.family == "upstream" else numbers(release)
    if any(
        own[:2] == numbers(series) and own >= numbers(fixed) for series, fixed in fault.backported.items()
    ):
        return False
    if not own or own < numbers(fault.since):
        return False
    return not fault.before or own < numbers(fault.before)


@lru_cache(maxsize=1)
def kernel_faults() -> Loaded[KernelFault]:
    """Every known fault, a site's own first."""
    return load("kernels", "kernel_fault", KernelFault)


def faults_here(host: Host, release: str = "") -> tuple[KernelFault, ...]:
    """Of the running kernel; of the one with this `uname -r` where it is named."""
    it = kernel(host)
    named = release or (it.release if present(it.release) else "")
    return faults_of(named, it.build if present(it.build) and not release else "")


def faults_of(release: str, version: str = "") -> tuple[KernelFault, ...]:
    """The faults of the kernel with this `uname -r` (and, for Debian, `uname -v`)."""
    return tuple(f for f in kernel_faults().entries if within(release, f, version))
