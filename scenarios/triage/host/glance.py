"""The host at a glance, for triage: settings and boot parameters that were changed. It accuses nobody."""

from collections.abc import Iterator

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Fact, FactOrUnread
from hostdx.scenarios.triage.knowledge.defaults import BOOT_LINE, changed_settings, known_boot_parameters

MAX_FACTS = 60


def glance(host: Host) -> Iterator[FactOrUnread]:
    """Yield a fact for each setting that differs from the default, then one for each known boot parameter.

    A parameter that stands several times on the command line has its values in that order in one fact.
    """
    for changed in host.compute_once(changed_settings)[:MAX_FACTS]:
        usual = changed.setting.values[0]
        yield Fact(
            "changed settings",
            changed.name,
            f"{changed.value} (default {usual})",
            changed.path,
        )
    values_by_parameter: dict[str, list[str]] = {}
    for word in host.compute_once(known_boot_parameters):
        values_by_parameter.setdefault(word.parameter.name, []).append(word.value or "set")
    for name, values in values_by_parameter.items():
        yield Fact("changed settings", f"boot parameter {name}", ", ".join(values), BOOT_LINE)
