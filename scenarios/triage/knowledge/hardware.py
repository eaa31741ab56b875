"""Disks, modules, emulated devices and cloud volumes that are known to be unfit, faulty or limited."""

import re
from typing import Literal

from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries
from hostdx.scenarios.triage.knowledge.kernels import release_numbers


class UnfitDiskModel(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """Disks that are unfit for a use by how they are built."""

    model: str
    trait: str
    unfit_for: Literal["array", "sync"]
    instead: str
    effect: str
    sources: tuple[str, ...]


class ModuleFault(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """A fault of a module from outside of the kernel."""

    module: str
    title: str
    since: str
    before: str
    effect: str
    remedy: str
    commands: tuple[str, ...]
    sources: tuple[str, ...]
    grave: bool = False


class EmulatedDevice(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """A driver that in a guest means an emulated device."""

    driver: str
    kind: Literal["card", "disk"]
    what: str
    instead: str
    effect: str
    source: str


class CloudVolumeLimits(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """A cloud and what limits its volumes."""

    name: str
    vendor: str
    volume: str
    limits: str
    advice: str
    sources: tuple[str, ...]


class BoardEvent(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """An event of the board's log; `event` is sought in `SENSOR: EVENT`, `ended_by` in a later event of the sensor."""

    event: str
    told: str
    severity: Literal["notice", "warning", "critical"]
    advice: str
    source: str
    ended_by: str = ""


def known_board_event(text: str) -> BoardEvent | None:
    entries = load_entries("board_events", "board_event", BoardEvent).entries
    return next((entry for entry in entries if re.search(entry.event, text)), None)


def unfit_disk_models() -> tuple[UnfitDiskModel, ...]:
    return load_entries("disk_models", "disk_model", UnfitDiskModel).entries


def unfit_disk_model_named(model: str) -> UnfitDiskModel | None:
    return next((entry for entry in unfit_disk_models() if re.search(entry.model, model)), None)


def module_faults() -> tuple[ModuleFault, ...]:
    return load_entries("modules", "module_fault", ModuleFault).entries


def faults_of_module(module: str, version: str) -> tuple[ModuleFault, ...]:
    """Of this version; none where it cannot be told."""
    own = release_numbers(version)
    return tuple(
        fault
        for fault in module_faults()
        if fault.module == module
        and own
        and release_numbers(fault.since) <= own < release_numbers(fault.before)
    )


def emulated_device(kind: str, driver: str) -> EmulatedDevice | None:
    return next(
        (
            e
            for e in load_entries("emulated", "emulated_device", EmulatedDevice).entries
            if e.kind == kind and re.search(e.driver, driver)
        ),
        None,
    )


def cloud_of_firmware_texts(texts: tuple[str, ...]) -> CloudVolumeLimits | None:
    """By what the firmware says of vendor, product, BIOS and asset tag."""
    return next(
        (
            cloud
            for cloud in load_entries("clouds", "cloud", CloudVolumeLimits).entries
            for text in texts
            if re.search(cloud.vendor, text)
        ),
        None,
    )
