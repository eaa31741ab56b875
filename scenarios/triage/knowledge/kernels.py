"""Kernels with known faults: which entries of kernels.toml a release string falls under."""

import re
from typing import Literal

from hostdx.probes.reading.host import Host
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.types import is_present
from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, LoadedEntries, load_entries


class KernelFault(KnowledgeEntry, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One fault of a range of kernels. `scheduler` empty: whichever is active.

    `of`: whose rules speak of it. `stream`: an EL z-stream ("el8_6"), in which alone the numbers count: other streams
    got the fix under other numbers. `backported`: by upstream series, the first stable release with the fix.
    `needs`: what must be so on the host (`scenarios/kernel/rules.py`); `symptom`: what shows it there; `stack`: what a
    line of the kernel's log meets where it shows, mostly the functions of a stack.
    """

    id: str
    title: str
    family: str
    since: str
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
    stack: str = ""
    quiet: bool = False  # without its symptom nothing is said: it costs nothing
    grave: bool = False  # it damages data: critical where it applies, a warning where that is not known

    @property
    def title_in_sentence(self) -> str:
        """`High load` becomes `high load`, `XFS commits` and `I/O wait` stay."""
        return self.title[:1].lower() + self.title[1:] if self.title[1:2].islower() else self.title


_ENTERPRISE = re.compile(r"\.el(\d+)")
_STREAM = re.compile(r"\.(el\d+_\d+)")
_REAL_DEBIAN = re.compile(r"\bDebian (\d+\.\d+\.\d+)")


def release_numbers(release: str) -> tuple[int, ...]:
    """The leading numbers of a release: "4.18.0-348.7.1.el8_5.x86_64" gives (4, 18, 0, 348, 7, 1)."""
    match = re.match(r"[0-9]{1,9}(?:[.-][0-9]{1,9}){0,9}", release)
    return tuple(int(n) for n in re.split(r"[.-]", match.group())) if match else ()


def release_family(release: str) -> str:
    """Whose numbering counts: "el8" and so on for Enterprise Linux, else "upstream"."""
    match = _ENTERPRISE.search(release)
    return f"el{match.group(1)}" if match else "upstream"


def release_stream(release: str) -> str:
    """The z-stream: "el8_6" of 4.18.0-372.93.1.el8_6.x86_64; empty where there is none."""
    match = _STREAM.search(release)
    return match.group(1) if match else ""


def upstream_numbers(release: str, version: str = "") -> tuple[int, ...]:
    """The upstream version: Debian's release stays at 6.1.0 while `version` (uname -v) names 6.1.76."""
    real = _REAL_DEBIAN.search(version)
    return release_numbers(real.group(1)) if real else release_numbers(release)[:3]


def is_release_affected(release: str, fault: KernelFault, version: str = "") -> bool:
    """True where the release lies in the fault's range; an unreadable release lies in none."""
    if release_family(release) != fault.family:
        return False
    if fault.stream and fault.stream != release_stream(release):
        return False
    own = upstream_numbers(release, version) if fault.family == "upstream" else release_numbers(release)
    if any(
        own[:2] == release_numbers(series) and own >= release_numbers(fixed)
        for series, fixed in fault.backported.items()
    ):
        return False
    if not own or own < release_numbers(fault.since):
        return False
    return not fault.before or own < release_numbers(fault.before)


def all_kernel_faults() -> LoadedEntries[KernelFault]:
    """Every known fault, a site's own first."""
    return load_entries("kernels", "kernel_fault", KernelFault)


def kernel_faults_of_host(host: Host, release: str = "") -> tuple[KernelFault, ...]:
    """Of the running kernel; of the one with this `uname -r` where it is named."""
    kernel = read_kernel(host)
    release_name = release or (kernel.release if is_present(kernel.release) else "")
    return kernel_faults_of_release(
        release_name, kernel.build if is_present(kernel.build) and not release else ""
    )


def kernel_faults_of_release(release: str, version: str = "") -> tuple[KernelFault, ...]:
    """The faults of the kernel with this `uname -r` (and, for Debian, `uname -v`)."""
    return tuple(f for f in all_kernel_faults().entries if is_release_affected(release, f, version))
