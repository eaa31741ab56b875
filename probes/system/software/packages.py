"""The installed packages: those that drive or tune the hardware by version, of all the others a digest and how many.

dpkg's own file (dpkg(1), /var/lib/dpkg/status), else `rpm -qa`; of a sosreport its `installed-rpms`.
"""

import os
import platform
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.types import Absent, is_present

STATUS = "/var/lib/dpkg/status"
RPMS = ("rpm", "-qa", "--queryformat", "%{NAME}\t%{VERSION}-%{RELEASE}\t%{ARCH}\n")
MAX_LIST_BYTES = 64 << 20  # 850 kB of 950 packages
RPM_S = 10.0
MAX_NAMED, MAX_TEXT_CHARACTERS = 60, 200
# Kernels, firmware, microcode, drivers, the C library, and what sets clocks, interrupts or the page cache by itself.
_TELLING = re.compile(
    r"(?P<kernel>linux-(?:image|modules|firmware)|kernel(?:-rt|-core|-modules(?:-core|-extra)?|-default|-uek|-lt|-ml)?)"
    r"(?:-(?:unsigned-)?\d\S*)?|(?P<other>firmware-\S+|linux-firmware\S*|fwupd|intel-microcode|amd64-microcode"
    r"|microcode_ctl|ucode-(?:intel|amd)|seabios|edk2-\S+|ovmf|libc6|glibc|tuned|irqbalance|numad|thermald|tlp"
    r"|power-profiles-daemon|cpufrequtils|auditd?|falcon-sensor|mdatp|zfs\S*|\S*-?zfs-dkms|(?:k?mod-)?lustre-client\S*"
    r"|beegfs-client\S*|gpfs\.\S+|mlnx-ofa_kernel\S*|mlnx-ofed-kernel\S*|doca-ofed\S*|kmod-\S+|\S+-dkms"
    r"|nvidia-(?:driver|kernel|open|fabricmanager)\S*|nvidia-driver\S*|rocm-core|amdgpu-dkms|qemu-guest-agent)"
)
_SOS_RPM = re.compile(r"(\S+)-([^-\s]+-[^-\s]+)\.(\w+)(?:\s|$)")


class InstalledPackages(msgspec.Struct, frozen=True, kw_only=True):
    """`telling`: versions by name, several of a kernel. `others`: how many are installed, and a CRC-32 of what the
    versions in `telling` do not say."""

    telling: dict[str, str]
    others: str
    source: str


@compute_once_per_host
def read_packages(host: Host) -> InstalledPackages | Absent:
    text, source = host.read_file_text(STATUS, MAX_LIST_BYTES), STATUS
    if is_present(text) and text.strip():
        return _summarize_packages(_parse_installed_dpkg(text), source)
    source = "rpm -qa"
    if host.live:
        output = host.read_command(*RPMS, timeout_s=RPM_S)
        rows = [tuple(line.split("\t")) for line in output.splitlines()] if is_present(output) else []
        listed = [(row[0], row[1], row[2]) for row in rows if len(row) == 3]
    else:
        output, source = host.read_file_text("/installed-rpms", MAX_LIST_BYTES), "installed-rpms"
        lines = output.splitlines() if is_present(output) else []
        listed = [(m[1], m[2], m[3]) for line in lines if (m := _SOS_RPM.match(line))]
    if listed:
        return _summarize_packages(listed, source)
    reason = output.reason if isinstance(output, Absent) else "no package is listed"
    return Absent(f"neither dpkg nor rpm lists its packages: {reason}", "missing", source)


def _parse_installed_dpkg(text: str) -> Iterator[tuple[str, str, str]]:
    """Those that are installed: a removed one whose conffiles are kept is none."""
    for paragraph in text.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Status|Version|Architecture): (.*)$", paragraph, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed") and "Package" in fields:
            yield fields["Package"], fields.get("Version", ""), fields.get("Architecture", "")


def _summarize_packages(
    listed: Iterator[tuple[str, str, str]] | list[tuple[str, str, str]], source: str
) -> InstalledPackages:
    telling: defaultdict[str, set[str]] = defaultdict(set)
    others: list[str] = []
    for name, version, machine in listed:
        match = _TELLING.fullmatch(name)
        if match is not None:
            name = match["kernel"] or name
            telling[name].add(version)
            others.append(name)  # another version is told by itself, another name is not
        else:
            others.append(f"{name} {version} {machine}")
    telling_items = sorted(telling.items())[:MAX_NAMED]
    digest = zlib.crc32("\n".join(sorted(set(others))).encode("utf-8", "backslashreplace"))
    return InstalledPackages(
        telling={
            name[:MAX_TEXT_CHARACTERS]: ", ".join(sorted(versions))[:MAX_TEXT_CHARACTERS]
            for name, versions in telling_items
        },
        others=f"{len(others)} packages, {digest:08x}",
        source=source,
    )


# The libraries and services under every program: glibc, what the interpreter links, tuned.
class Userland(msgspec.Struct, frozen=True, kw_only=True):
    """`libraries` by name: those of the running interpreter, live only. `tuned`: the active profile."""

    libraries: dict[str, str]
    tuned: str | Absent


def read_userland(host: Host) -> Userland:
    return Userland(
        libraries=_library_versions() if host.live else {}, tuned=host.read_word("/etc/tuned/active_profile")
    )


def _library_versions() -> dict[str, str]:
    import ssl  # 10 ms, and only here

    versions = {
        "python": platform.python_version(),
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
        "openssl": ssl.OPENSSL_VERSION,
    }
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        libc = None  # musl
    return versions | ({"glibc": libc.removeprefix("glibc ")} if libc else {})
