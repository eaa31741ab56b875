"""Which scenarios there are: the built-in ones, and those that other packages bring (`hostdx.scenarios`).

Loaded by name, one at a time, so that asking for one does not import the others.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points

from scenarios.model import Scenario

GROUP = "hostdx.scenarios"

BUILT_IN: dict[str, str] = {
    "null": "scenarios.null:Null",
    "storage": "scenarios.storage:Storage",
    "fstrim": "scenarios.fstrim:Fstrim",
    "rpfilter": "scenarios.rpfilter:Rpfilter",
    "iosched": "scenarios.iosched:Iosched",
    "dstate": "scenarios.dstate:Dstate",
}


def names() -> tuple[str, ...]:
    """The ids in the order offered: built-in ones first, then third parties' by name."""
    others = sorted(e.name for e in entry_points(group=GROUP) if e.name not in BUILT_IN)
    return (*BUILT_IN, *others)


def load(name: str) -> Scenario:
    """The scenario of that id. Raises KeyError for an unknown one, and what a third party's module raises."""
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        scenario: Scenario = getattr(import_module(module), attribute)()
        return scenario
    for entry in entry_points(group=GROUP):
        if entry.name == name:
            made: Scenario = entry.load()()
            return made
    raise KeyError(name)
