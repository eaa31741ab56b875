"""Which I/O schedulers a class of device suggests (schedulers.toml)."""

from hostdx.probes.system.disk.block import BlockDevice
from hostdx.probes.types import is_present
from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries

# The single-queue block layer's nearest relatives (kernels before 5.0; EL7).
_LEGACY = {"mq-deadline": "deadline", "none": "noop", "bfq": "cfq"}


class DeviceClass(KnowledgeEntry, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A kind of device. `suggests`: best first; `speaks`: worth a word when active."""

    id: str
    title: str
    suggests: tuple[str, ...]
    why: str
    source: str
    speaks: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()
    rotational: bool | None = None

    def fits_device(self, device: BlockDevice) -> bool:
        # a captured folder without the link of its bus
        unlinked = "virtio" if device.name.startswith("vd") else ""
        transport = device.transport if is_present(device.transport) else unlinked
        if self.transports and transport not in self.transports:
            return False
        if self.rotational is None:
            return True
        return is_present(device.rotational) and device.rotational == self.rotational


def device_class_of(device: BlockDevice) -> DeviceClass:
    """The first class that meets the device; the last entry meets every one."""
    return next(
        c for c in load_entries("schedulers", "device_class", DeviceClass).entries if c.fits_device(device)
    )


def schedulers_worth_trying(device: BlockDevice, active: str, offered: tuple[str, ...]) -> tuple[str, ...]:
    """The schedulers to compare with the active one: suggested for the class, offered here, best first."""
    return tuple(s for s in schedulers_on_offer(device_class_of(device).suggests, offered) if s != active)


def schedulers_on_offer(suggested: tuple[str, ...], offered: tuple[str, ...]) -> tuple[str, ...]:
    """The suggested schedulers by the names that the device offers them under; the legacy ones of EL7 too."""
    names = (s if s in offered else _LEGACY.get(s, s) for s in suggested)
    return tuple(n for n in names if n in offered)
