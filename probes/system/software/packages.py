"""The installed packages: those that drive or tune the hardware by version, of all the others a digest and how many.

dpkg's own file (dpkg(1), /var/lib/dpkg/status), else `rpm -qa`; of a sosreport its `installed-rpms`.
"""

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from probes.host import Host, once
from probes.types import Absent, present

STATUS = "/var/lib/dpkg/status"
RPMS = ("rpm", "-qa", "--queryformat", "%{NAME}\t%{VERSION}-%{RELEASE}\t%{ARCH}\n")
MOST_BYTES = 64 << 20  # 850 kB of 950 packages
RPM_S = 10.0
MOST_NAMED, MOST_TEXT = 60, 200
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


class Packages(msgspec.Struct, frozen=True, kw_only=True):
    """`telling`: versions by name, several of a kernel. `others`: how many are installed, and a CRC-32 of what the
    versions in `telling` do not say."""

    telling: dict[str, str]
    others: str
    source: str


@once
def packages(host: Host) -> Packages | Absent:
    text, source = host.text(STATUS, MOST_BYTES), STATUS
    if present(text) and text.strip():
        return _sorted(_of_dpkg(text), source)
    source = "rpm -qa"
    if host.live:
        said = host.command(*RPMS, timeout_s=RPM_S)
        found = [tuple(line.split("\t")) for line in said.splitlines()] if present(said) else []
        listed = [(one[0], one[1], one[2]) for one in found if len(one) == 3]
    else:
        said, source = host.text("/installed-rpms", MOST_BYTES), "installed-rpms"
        lines = said.splitlines() if present(said) else []
        listed = [(m[1], m[2], m[3]) for line in lines if (m := _SOS_RPM.match(line))]
    if listed:
        return _sorted(listed, source)
    reason = said.reason if isinstance(said, Absent) else "no package is listed"
    return Absent(f"neither dpkg nor rpm lists its packages: {reason}", "missing", source)


def _of_dpkg(text: str) -> Iterator[tuple[str, str, str]]:
    """Those that are installed: a removed one whose conffiles are kept is none."""
    for paragraph in text.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Status|Version|Architecture): (.*)$", paragraph, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed") and "Package" in fields:
            yield fields["Package"], fields.get("Version", ""), fields.get("Architecture", "")


def _sorted(found: Iterator[tuple[str, str, str]] | list[tuple[str, str, str]], source: str) -> Packages:
    telling: defaultdict[str, set[str]] = defaultdict(set)
    others: list[str] = []
    for name, version, machine in found:
        known = _TELLING.fullmatch(name)
        if known is not None:
            name = known["kernel"] or name
            telling[name].add(version)
            others.append(name)  # another version is told by itself, another name is not
        else:
            others.append(f"{name} {version} {machine}")
    named = sorted(telling.items())[:MOST_NAMED]
    digest = zlib.crc32("\n".join(sorted(set(others))).encode("utf-8", "backslashreplace"))
    return Packages(
        telling={name[:MOST_TEXT]: ", ".join(sorted(versions))[:MOST_TEXT] for name, versions in named},
        others=f"{len(others)} packages, {digest:08x}",
        source=source,
    )
