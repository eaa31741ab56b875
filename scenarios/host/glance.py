"""The host at a glance, for triage: settings and boot parameters that were changed. It accuses nobody."""

from collections.abc import Iterator

from probes.host import Host
from probes.types import Entry, Fact
from scenarios.knowledge.defaults import BOOT_LINE, boot_words, changed_settings

MAX_FACTS = 60


def glance(host: Host) -> Iterator[Entry]:
    """Yield a fact for each setting that differs from the default, then one for each known boot parameter."""
    for changed in host.compute_once(changed_settings)[:MAX_FACTS]:
        usual = changed.setting.values[0]
        yield Fact(
            "changed settings",
            changed.name,
            f"{changed.value} (default {usual})",
            changed.path,
        )
    for word in host.compute_once(boot_words):
        yield Fact("changed settings", "boot parameter", word.text, BOOT_LINE)
