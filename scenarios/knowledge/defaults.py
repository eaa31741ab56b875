"""What the kernel, modules and drivers set by themselves, and which settings of a host differ from that."""

from functools import lru_cache

import msgspec

from probes.host import Host
from probes.types import is_present
from scenarios.knowledge.load import load


class DefaultSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sysctl or a file below /sys, with the values that are usual. `costly`: an expression on `value`."""

    key: str
    values: tuple[str, ...]
    source: str
    costly: str = ""
    cost: str = ""

    @property
    def path(self) -> str:
        return self.key if self.key.startswith("/") else "/proc/sys/" + self.key.replace(".", "/")


class ChangedSetting(msgspec.Struct, frozen=True):
    """A setting that has another value than the usual ones."""

    setting: DefaultSetting
    value: str


@lru_cache(maxsize=1)
def default_settings() -> tuple[DefaultSetting, ...]:
    return load("defaults", "setting", DefaultSetting).entries


def changed_settings(host: Host) -> tuple[ChangedSetting, ...]:
    """In the order of the table; what cannot be read is left out."""
    changed = []
    for setting in default_settings():
        text = host.read_bracketed(setting.path)
        value = " ".join(text.split()) if is_present(text) else ""
        if value and value not in setting.values:
            changed.append(ChangedSetting(setting, value))
    return tuple(changed)
