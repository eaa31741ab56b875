"""Read-only rules about trimming: does this SSD ever hear what was deleted, and who swallows it on the way?"""

from collections.abc import Iterator

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import BlockDevice, block_devices
from hostdx.probes.system.disk.diskstats import disk_counters
from hostdx.probes.system.disk.drive.transport import is_virtual_disk
from hostdx.probes.system.disk.trim.discard import DiscardChain, discard_chains
from hostdx.probes.system.disk.trim.trim_jobs import is_trim_excluded_in_fstab
from hostdx.probes.system.disk.trim.trim_timer import explain_untrimmed, trim_timer
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.contract.rule import FactUnreadable, HostRule, RuleInapplicable, require_readable
from hostdx.scenarios.fstrim.remedies import remedies_to_trim
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("fstrim")

# Written since boot against the size of the device: from here on the drive's spare area has been through its cells.
WRITTEN_SPEAKS = 0.5
_LAYERS = frozenset({"crypt", "md"})  # with a remedy of that name


def applicable_chains(host: Host) -> tuple[DiscardChain, ...]:
    all_chains = require_readable(host.compute_once(discard_chains), "mounted file systems")
    if not all_chains:
        raise RuleInapplicable("no mounted file system that can trim")
    return all_chains


def flash_leaves(host: Host, chain: DiscardChain) -> list[BlockDevice]:
    """The leaves that are known to be flash. A virtual disk is not accused: what lies under it is not known, and a
    cloud's volume calls itself flash and may take no discards (EBS).
    """
    leaves = [d for n in chain.leaves if (d := block_devices(host).get(n)) is not None]
    return [d for d in leaves if d.rotational is False and not is_virtual_disk(d.transport, d.model)]


def untrimmed_findings(host: Host) -> Iterator[Finding]:
    """An SSD whose stack takes discards, and that nobody ever trims."""
    timer = host.compute_once(trim_timer)
    spoke = False
    unknown = ""
    for chain in applicable_chains(host):
        if not flash_leaves(host, chain) or chain.lowest_without_discard or chain.online or chain.read_only:
            continue
        why = explain_untrimmed(host, timer, chain.mountpoints)
        if isinstance(why, Absent):
            raise FactUnreadable(f"whether fstrim.timer runs: {why.reason}", why.kind)
        if not why:
            continue
        if not chain.are_limits_known:
            silent = next((x.max_bytes for x in chain.layers if isinstance(x.max_bytes, Absent)), None)
            unknown = f"whether {chain.device} takes discards" + (f": {silent.reason}" if silent else "")
            continue
        spoke = True
        asked = is_trim_excluded_in_fstab(host, chain.mountpoints)
        written = times_written_over(host, chain)
        yield SAYS.finding(
            "by-choice" if asked else "never",
            severity="warning" if (written or 0) >= WRITTEN_SPEAKS and not asked else "notice",
            subject=chain.mount.mountpoint,
            leaves=", ".join(chain.leaves),
            why=why,
            source=timer.source,
            evidence=written_evidence(written),
            remedy=() if asked else remedies_to_trim(host, timer, chain.mountpoints),
        )
    if unknown:
        raise FactUnreadable(unknown)
    if not spoke and not any(flash_leaves(host, chain) for chain in applicable_chains(host)):
        raise RuleInapplicable("no file system is on a disk that is known to be flash")


def times_written_over(host: Host, chain: DiscardChain) -> float | None:
    """Bytes written since boot, in sizes of the leaves."""
    counters = disk_counters(host)
    devices = block_devices(host)
    if isinstance(counters, Absent) or not all(n in counters and n in devices for n in chain.leaves):
        return None
    sizes = [devices[n].size_bytes for n in chain.leaves]
    total = sum(s for s in sizes if is_present(s))
    return sum(counters[n].write_bytes for n in chain.leaves) / total if total else None


def written_evidence(share: float | None) -> tuple[Evidence, ...]:
    if share is None:
        return ()
    return (SAYS.evidence("written", times=f"{share:.2f}"),)


def swallowed_findings(host: Host) -> Iterator[Finding]:
    """A layer between the file system and a flash disk takes no discards."""
    devices = block_devices(host)
    unknown: dict[str, str] = {}
    on_flash = False
    for chain in applicable_chains(host):
        guilty = chain.lowest_without_discard
        below = flash_leaves(host, chain)
        on_flash = on_flash or bool(below)
        if below and not guilty and not chain.are_limits_known:
            silent = next(layer.max_bytes for layer in chain.layers if isinstance(layer.max_bytes, Absent))
            unknown[chain.mount.mountpoint] = silent.reason
        if not guilty or not below:
            continue
        if guilty in chain.leaves:
            below = [disk for disk in below if disk.name == guilty]
            if not below:  # a hard disk beside the flash, as in a btrfs of both: the flash gets its own
                continue
        layer = next(layer for layer in chain.layers if layer.device == guilty)
        if layer.device in chain.leaves or layer.kind == "partition":
            reason = SAYS.text("drive")
        else:
            reason = SAYS.text("layer", layer=guilty, kind=layer.kind)
        label = devices[guilty].label if guilty in devices else ""
        disk = (devices[guilty].parent if guilty in devices else "") or guilty  # a partition has no queue
        yield SAYS.finding(
            "swallowed",
            subject=chain.mount.mountpoint,
            disks=", ".join(d.name for d in below),
            reason=reason,
            disk=disk,
            remedy=_swallowing_remedies(host, layer.kind, guilty, label or "NAME"),
        )
    if unknown:
        raise FactUnreadable(
            f"which discards are taken under {', '.join(unknown)}: {next(iter(unknown.values()))}"
        )
    if not on_flash:
        raise RuleInapplicable("no file system is on a disk that is known to be flash")


def _swallowing_remedies(host: Host, kind: str, device: str, label: str) -> tuple[Remedy, ...]:
    """Return what to do about a layer that takes no discards: of md by its level."""
    if kind not in _LAYERS:
        return ()
    level = host.read_word(f"/sys/block/{device}/md/level") if kind == "md" else ""
    without_parity = is_present(level) and level in ("raid0", "raid1", "raid10", "linear")
    return (SAYS.remedy("md_members") if without_parity else SAYS.remedy(kind, label=label),)


def online_unqueued_findings(host: Host) -> Iterator[Finding]:
    """Online discard on a SATA SSD whose TRIM is not queued: every big unlink stalls the reads."""
    queued_chains = [c for c in applicable_chains(host) if c.queued]
    if not queued_chains:
        raise RuleInapplicable("no SATA disk whose TRIM mode the kernel reports")
    for chain in queued_chains:
        slow = {n: mode for n, mode in chain.queued.items() if "unqueued" in mode}
        if not slow or chain.online not in ("discard", "discard=sync"):
            continue
        mountpoint = chain.mount.mountpoint
        yield SAYS.finding(
            "online-unqueued",
            subject=mountpoint,
            disks=", ".join(slow),
            evidence=(
                *(SAYS.evidence("mode", disk=n, mode=mode) for n, mode in slow.items()),
                SAYS.evidence("mounted", online=chain.online),
            ),
            remedy=(
                *remedies_to_trim(host, host.compute_once(trim_timer), chain.mountpoints),
                SAYS.remedy("no-online", mountpoint=mountpoint),
            ),
        )


RULES: tuple[HostRule, ...] = (
    HostRule("fstrim.never", "fstrim", "SSDs that are never trimmed", untrimmed_findings),
    HostRule("fstrim.swallowed", "fstrim", "layers that drop discards", swallowed_findings),
    HostRule(
        "fstrim.online-unqueued", "fstrim", "online discard without queued TRIM", online_unqueued_findings
    ),
)
