"""The types of results that there are: each scenario's `results.py`, imported when a recording holds one of them."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType

from scenarios import GROUP
from scenarios.results.result import Result

SCENARIOS = Path(__file__).parents[1]


@cache
def own() -> dict[str, type[Result]]:
    """Of our own scenarios, by their tags."""
    folders = sorted(path.parent.name for path in SCENARIOS.glob("*/results.py"))
    modules = [import_module(f"scenarios.{folder}.results") for folder in folders]
    return {tag: kind for module in modules for tag, kind in _made_in(module).items()}


def named(name: object) -> type[Result] | None:
    """Of ours, by its name in the `--json` document."""
    return next((kind for kind in own().values() if kind.name == name), None)


@cache
def tagged(tag: str) -> type[Result] | None:
    """Of ours, or of another package's scenario: it stands beside that one's class. None: not known here."""
    if tag in own():
        return own()[tag]
    scenario, dot, _ = tag.partition(".")
    for entry in metadata.entry_points(group=GROUP, name=scenario) if dot else ():
        entry.load()
        return _made_in(sys.modules[entry.module]).get(tag)
    return None


def _made_in(module: ModuleType) -> dict[str, type[Result]]:
    made = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Result)]
    return {str(kind.__struct_config__.tag): kind for kind in made if kind.__module__ == module.__name__}
