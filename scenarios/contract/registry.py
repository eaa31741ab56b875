"""Which scenarios there are: folders of this package with a `scenario.py`, and what other packages bring.

Loaded by name, one at a time, so that asking for one does not import the others.

What a scenario of another package declares, checked before anything goes by it.
"""

from __future__ import annotations

import math
import re
from importlib import import_module
from typing import TYPE_CHECKING, cast

from hostdx.probes.reading import other_package
from hostdx.probes.reading.other_package import load_entry_point, package_guard
from hostdx.scenarios import GROUP as GROUP
from hostdx.scenarios.contract.folders import SCENARIOS

if TYPE_CHECKING:
    from hostdx.scenarios.contract.model import Scenario


NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
# of every scenario's command beside its own
TAKEN = frozenset(
    ("help", "yes", "consent", "json", "events", "recording", "tied", "quiet", "with-arguments")
)


def check_declaration(scenario: Scenario) -> None:
    """Raise ImportError where the scenario declares what no command, list or screen could take."""
    import msgspec

    from hostdx.scenarios.contract.card import Card
    from hostdx.scenarios.contract.declared_options import ScenarioWords
    from hostdx.scenarios.contract.plan import Option

    words = {name: getattr(scenario, name) for name in ScenarioWords.__struct_fields__}
    try:
        msgspec.convert(msgspec.to_builtins(words), ScenarioWords)
        msgspec.convert(msgspec.to_builtins(scenario.card), Card)
        options = msgspec.convert(msgspec.to_builtins(scenario.options), tuple[Option, ...])
    except (msgspec.MsgspecError, TypeError, RecursionError) as error:
        raise ImportError(f"its declaration: {error}") from error
    if not all(math.isfinite(words[name]) for name in ("takes_s", "checkup_s")):
        raise ImportError("how long it takes is no number to work with")
    names = [option.name for option in options]
    for name in names:
        if not NAME.fullmatch(name) or name in TAKEN or names.count(name) > 1:
            raise ImportError(
                f"its option {name[:40]!r} is no name, is given twice or is every scenario's own"
            )
    texts = (
        *(word for word in words.values() if isinstance(word, str)),
        *(option.help for option in options),
    )
    if unprintable := next((text for text in texts if not text.isprintable()), ""):
        raise ImportError(f"its text {unprintable[:40]!r} holds what a terminal obeys")


def bundled_scenario_ids() -> tuple[str, ...]:
    """Return the ids of the scenarios that hostdx itself brings: the folders with a `scenario.py`."""
    return tuple(sorted(path.parent.name for path in SCENARIOS.glob("*/scenario.py")))


def scenario_names() -> tuple[str, ...]:
    """Return every id; `offer_sort_key` gives the order in which a person is offered the scenarios."""
    others = (entry.name for entry in other_package.entry_points_of(GROUP))
    return tuple(sorted({*bundled_scenario_ids(), *filter(NAME.fullmatch, others)}))


def offer_sort_key(scenario: Scenario) -> tuple[bool, float]:
    """Return the sort key: scenarios that need no rights and no tools first, the quickest first."""
    return bool(scenario.needs), scenario.takes_s


def load_scenario(name: str) -> Scenario:
    """Return the scenario of that id. Raise KeyError for an unknown one, and whatever another package's module
    raises.
    """
    if name in bundled_scenario_ids():
        module = import_module(f"hostdx.scenarios.{name}.scenario")
        for kind in vars(module).values():
            if (
                isinstance(kind, type)
                and kind.__module__ == module.__name__
                and getattr(kind, "id", "") == name
            ):
                return _require_attributes(kind())
        raise ImportError(f"{module.__name__} has no class with the id {name}")
    for entry in other_package.entry_points_of(GROUP):
        if entry.name == name:
            with package_guard():
                kind_of_another = cast("type[Scenario]", load_entry_point(entry))
                scenario = _require_attributes(kind_of_another())
                check_declaration(scenario)
                return scenario
    raise KeyError(name)


def _require_attributes(scenario: Scenario) -> Scenario:
    from hostdx.scenarios.contract.model import (
        missing_attributes,  # what asks for folders alone needs no scenario
    )

    if missing := missing_attributes(scenario):
        raise ImportError(f"the scenario does not declare {', '.join(missing)}")
    return scenario
