"""What the kernel, modules and drivers set by themselves, and which settings of a host differ from that."""

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.types import is_present
from hostdx.scenarios.contract.knowledge_file import load_entries

BOOT_LINE = "/proc/cmdline"


class DefaultSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sysctl or a file below /sys (`*` stands for any name), with its usual values.

    `costly`: an expression on `value`, the value that was read. `at_load`: a module's parameter that is read when the
    module is loaded, so that it cannot be set afterwards (mode 0444 in the driver's module_param).
    """

    key: str
    values: tuple[str, ...]
    source: str
    costly: str = ""
    cost: str = ""
    at_load: bool = False

    @property
    def path(self) -> str:
        return self.key if self.key.startswith("/") else "/proc/sys/" + self.key.replace(".", "/")


class ChangedSetting(msgspec.Struct, frozen=True):
    """A setting that has another value than the usual ones; `path` is the file that it was read from."""

    setting: DefaultSetting
    value: str
    path: str

    @property
    def name(self) -> str:
        """The sysctl, or the path of the file."""
        return self.path if self.setting.key.startswith("/") else self.setting.key


class BootParameter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A boot parameter that changes speed; `costly` is an expression on `value`, as for a setting."""

    name: str
    cost: str
    costly: str = ""
    severe: bool = False
    source: str = "Documentation/admin-guide/kernel-parameters.txt"


class BootWord(msgspec.Struct, frozen=True):
    """A word of the kernel's command line that the table of boot parameters knows."""

    parameter: BootParameter
    value: str

    @property
    def text(self) -> str:
        return f"{self.parameter.name}={self.value}" if self.value else self.parameter.name


@lru_cache(maxsize=1)
def boot_parameter_table() -> dict[str, BootParameter]:
    """By name, with `-` read as `_`: the kernel takes both."""
    entries = load_entries("boot_parameters", "boot_parameter", BootParameter).entries
    return {entry.name.replace("-", "_"): entry for entry in reversed(entries)}


def changed_settings(host: Host) -> tuple[ChangedSetting, ...]:
    """Return each file's setting in the order of the table, where the first entry of a file counts.

    What cannot be read is left out.
    """
    changed = []
    visited_paths: set[str] = set()
    for setting in load_entries("defaults", "setting", DefaultSetting).entries:
        for path in host.glob_paths(setting.path) if "*" in setting.path else (setting.path,):
            if path in visited_paths:  # a site's own entry stands before ours
                continue
            visited_paths.add(path)
            text = host.read_bracketed(path)
            value = " ".join(text.split()) if is_present(text) else ""
            if value and value not in setting.values:
                changed.append(ChangedSetting(setting, value, path))
    return tuple(changed)


def known_boot_parameters(host: Host) -> tuple[BootWord, ...]:
    """The known boot parameters of this host, in the order of its command line; empty where that cannot be read."""
    text = host.read_file_text(BOOT_LINE, 1 << 16)
    return tuple(_known_boot_words(text)) if is_present(text) else ()


def _known_boot_words(line: str) -> Iterator[BootWord]:
    for word in line.split():
        name, _, value = word.partition("=")
        parameter = boot_parameter_table().get(name.replace("-", "_"))
        if parameter is not None:
            yield BootWord(parameter, value)
