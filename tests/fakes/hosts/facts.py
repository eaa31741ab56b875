"""Facts of a made-up host written short: `disk.sda.size` is the fact `size` of `disk:sda`."""

from hostdx.probes.types import Fact, UnreadFact
from hostdx.scenarios.contract import events as ev

_DEVICES = ("disk", "mount", "nic", "md", "trim", "node")


def split_fact_name(short: str) -> tuple[str, str]:
    kind, _, rest = short.partition(".")
    device, _, name = rest.rpartition(".")
    return (f"{kind}:{device}", name) if kind in _DEVICES and device else (kind, rest)


def join_fact_name(fact: Fact | UnreadFact | ev.FactRead | ev.AbsentFact) -> str:
    return f"{fact.subject.replace(':', '.', 1)}.{fact.name}"
