"""Read-only rules about disks and their links: what is slower than the hardware allows before anything is measured."""

from collections.abc import Iterator

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import BlockDevice, block_devices
from hostdx.probes.system.virtualisation import read_virtualisation
from hostdx.probes.types import is_present
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.rule import FactUnreadable, HostRule, RuleInapplicable
from hostdx.scenarios.triage.rules.texts import finding_texts

ALONE = frozenset({"sata", "sas"})  # outside of virtual machines storage.write-cache looks at each of these


def find_differing_caches(host: Host) -> Iterator[Finding]:
    """Two disks of one model are bought to be alike; a cache that is off on one of them makes its writes slower."""
    guest = read_virtualisation(host).is_virtual
    models: dict[tuple[str, str], list[BlockDevice]] = {}
    for disk in block_devices(host).values():
        if disk.parent or not is_present(disk.model) or not disk.model or not is_present(disk.transport):
            continue
        if is_present(disk.queue.write_cache) and (guest or disk.transport not in ALONE):
            models.setdefault((disk.transport, disk.model.strip()), []).append(disk)
    several = {model: disks for (_, model), disks in models.items() if len(disks) > 1}
    if not several:
        raise RuleInapplicable("no two disks of one model report their write cache")
    for model, disks in several.items():
        off = [d.name for d in disks if _write_cache_or_empty(d) == "write through"]
        on = [d.name for d in disks if _write_cache_or_empty(d) == "write back"]
        if off and on:
            yield SAYS.finding(
                "write-cache-differs",
                subject=off[0] if len(off) == 1 else "",
                subjects=tuple(off) if len(off) > 1 else (),
                model=model,
                off=", ".join(off),
                on=", ".join(on),
                have="has" if len(on) == 1 else "have",
                disks=tuple(off),
            )


def _write_cache_or_empty(disk: BlockDevice) -> str:
    return disk.queue.write_cache.strip() if is_present(disk.queue.write_cache) else ""


SAYS = finding_texts("storage")


def list_disks(host: Host) -> list[BlockDevice]:
    """Whole devices with a size: no partitions, no optical drives, no empty loop or zram devices."""
    return [
        d
        for d in block_devices(host).values()
        if not d.parent and d.kind != "rom" and is_present(d.size_bytes) and d.size_bytes > 0
    ]


def check_link_power(host: Host) -> Iterator[Finding]:
    """SATA link power management: a link that sleeps wakes up in up to 10 ms (partial/slumber states)."""
    paths = host.glob_paths("/sys/class/scsi_host/host*/link_power_management_policy")
    if not any(d.transport == "sata" for d in list_disks(host)):
        raise RuleInapplicable("no SATA disk")
    if not paths:
        raise FactUnreadable("no link_power_management_policy below /sys/class/scsi_host")
    for path in paths:
        policy = host.read_file_text(path)
        if not is_present(policy) or policy.strip() in {"max_performance", "keep_firmware_settings", ""}:
            continue
        yield SAYS.finding("link-power", subject=path.split("/")[4], policy=policy.strip(), path=path)


def check_write_caches(host: Host) -> Iterator[Finding]:
    """Two disks of one model, one of them without its write cache: in virtual machines, too."""
    return find_differing_caches(host)


RULES: tuple[HostRule, ...] = (
    HostRule("storage.link-power", "storage", "SATA link power management", check_link_power),
    HostRule(
        "storage.write-cache-differs", "storage", "write caches of disks of one model", check_write_caches
    ),
)
