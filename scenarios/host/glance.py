"""The host at a glance, for triage: settings that were changed. It accuses nobody."""

from collections.abc import Iterator

from probes.host import Host
from probes.types import Entry, Fact
from scenarios.knowledge.defaults import changed_settings

MAX_FACTS = 60


def glance(host: Host) -> Iterator[Entry]:
    """One fact a setting that has another value than the kernel's own."""
    for changed in host.compute_once(changed_settings)[:MAX_FACTS]:
        usual = changed.setting.values[0]
        yield Fact(
            "changed settings",
            changed.setting.key,
            f"{changed.value} (default {usual})",
            changed.setting.path,
        )
