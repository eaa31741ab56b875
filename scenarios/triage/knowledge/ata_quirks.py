"""Disks that the kernel treats in a way of its own, because they fail otherwise: libata's quirks."""

import re

from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries


class AtaQuirk(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """`fails` goes on after the disk's name; `force`: the word of libata.force=; `since`: kernels that do so;
    `controller`: vendors of the SATA controller, by PCI id; none: any.
    """

    model: str
    fails: str
    force: str
    since: str
    source: str
    controller: tuple[int, ...] = ()


def ata_quirks_of(model: str, controller: int | None) -> tuple[AtaQuirk, ...]:
    entries = load_entries("ata_quirks", "ata_quirk", AtaQuirk).entries
    return tuple(
        entry
        for entry in entries
        if re.search(entry.model, model) and (not entry.controller or controller in entry.controller)
    )
