"""The types of results that there are: each scenario's `results.py`, imported when a recording holds one of them."""

from __future__ import annotations

import sys
from functools import cache, lru_cache
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
def _others() -> dict[str, metadata.EntryPoint]:
    return {entry.name: entry for entry in metadata.entry_points(group=GROUP)}


@lru_cache(maxsize=1024)  # a foreign recording may hold a hundred thousand
def tagged(tag: str) -> type[Result] | None:
    """Of ours, or of another package's scenario: it stands beside that one's class. None: not known here."""
    if tag in own():
        return own()[tag]
    scenario, dot, _ = tag.partition(".")
    entry = _others().get(scenario) if dot else None
    if entry is None:
        return None
    try:
        entry.load()
    except Exception:  # another package's module raises what it likes: its results are not known here, then
        return None
    return _made_in(sys.modules[entry.module]).get(tag)


def _made_in(module: ModuleType) -> dict[str, type[Result]]:
    made = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Result)]
    return {str(kind.__struct_config__.tag): kind for kind in made if kind.__module__ == module.__name__}
