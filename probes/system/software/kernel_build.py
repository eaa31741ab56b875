"""How the running kernel was built: its configuration, preemption model, tick, modules and live patches."""

import re
import zlib
from pathlib import Path

import msgspec

from hostdx.probes.files.safe_read import read_shipped_words
from hostdx.probes.reading.host import Host
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.types import Absent, is_present

# Options that change how fast a kernel is (the help texts in its Kconfig files). Of the others only the digest is kept.
TELLING = read_shipped_words(__file__, "speed.toml", "kernel_options")
_OPTION = re.compile(r"^CONFIG_(\w+)=(.*)$", re.MULTILINE)
MAX_CONFIG_BYTES = 4 << 20


class KernelBuild(msgspec.Struct, frozen=True, kw_only=True):
    """`config`: of `TELLING` those that are set. `digest`: CRC-32 of all options, order and comments left out."""

    config: dict[str, str] | Absent
    digest: str | Absent
    source: str
    preemption: str | Absent
    clock_source: str | Absent
    modules: tuple[str, ...] | Absent
    live_patches: tuple[str, ...]


def kernel_build(host: Host) -> KernelBuild:
    """From /boot/config-RELEASE or /proc/config.gz, /sys/kernel and /proc/modules."""
    text, source = _read_config_and_path(host)
    options = dict(_OPTION.findall(text)) if is_present(text) else {}
    lines = sorted(f"{name}={value}" for name, value in options.items())
    modules = host.read_file_text("/proc/modules")
    patches = host.list_names("/sys/kernel/livepatch")
    return KernelBuild(
        config=text if isinstance(text, Absent) else {n: options[n] for n in TELLING if n in options},
        digest=f"{zlib.crc32(chr(10).join(lines).encode()):08x}" if is_present(text) else text,
        source=source,
        preemption=_preemption_model(host, options),
        clock_source=host.read_file_text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        modules=modules
        if isinstance(modules, Absent)
        else tuple(sorted(line.split()[0] for line in modules.splitlines() if line.strip())),
        live_patches=patches if is_present(patches) else (),
    )


def _read_config_and_path(host: Host) -> tuple[str | Absent, str]:
    release = read_kernel(host).release
    if is_present(release):
        path = f"/boot/config-{release}"
        text = host.read_file_text(path, MAX_CONFIG_BYTES)
        if is_present(text):
            return text, path
    if host.live:
        try:
            with Path("/proc/config.gz").open("rb") as file:
                packed = file.read(MAX_CONFIG_BYTES)
            # bounded: a file of ours would unpack to 300 kB
            text = (
                zlib.decompressobj(wbits=31)
                .decompress(packed, MAX_CONFIG_BYTES)
                .decode(errors="backslashreplace")
            )
            return text, "/proc/config.gz"
        except (OSError, zlib.error):
            pass
    return Absent("neither /boot/config-RELEASE nor /proc/config.gz can be read", "missing"), "/boot/config-*"


def _preemption_model(host: Host, options: dict[str, str]) -> str | Absent:
    """none, voluntary, full, lazy or rt: as chosen at boot, else as built, else as `uname -v` tells."""
    now = host.read_file_text("/sys/kernel/debug/sched/preempt")
    chosen = re.search(r"\((\w+)\)", now) if is_present(now) else None
    if chosen:
        return chosen[1]
    asked = read_kernel(host).boot_parameters().get("preempt")
    if asked:
        return asked
    for option, word in (
        ("PREEMPT_RT", "rt"),
        ("PREEMPT_LAZY", "lazy"),
        ("PREEMPT", "full"),
        ("PREEMPT_VOLUNTARY", "voluntary"),
        ("PREEMPT_NONE", "none"),
    ):
        if options.get(option) == "y":
            return word
    build = read_kernel(host).build
    match = re.search(r"\bPREEMPT(_\w+)?\b", build) if is_present(build) else None
    return match[0] if match else Absent("the kernel does not report its preemption model", "unsupported")
