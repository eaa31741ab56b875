"""What a scenario found out beside verdicts and findings: a type of its own for each, in the scenario's `results.py`.

The type's tag is `<folder>.<what>/<version>`: an incompatible change is a new version. The registry finds the types, so
nothing above names a scenario; a view is chosen by the type, and what has none of its own is shown as a table.
"""

from __future__ import annotations

import sys
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import msgspec

from probes.types import Json
from scenarios import GROUP
from scenarios import ranges as of
from scenarios.entry_object import load_entry
from scenarios.event import RunEvent
from scenarios.finding import Severity, SuggestedStep
from scenarios.results.document import Part, ReportSection

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Result(RunEvent, frozen=True):
    """`name`: its key in the `--json` document, and in words the title of its section."""

    name: ClassVar[str]
    value: Any

    @property
    def as_json(self) -> Json:
        """As the `--json` document holds it."""
        document: Json = msgspec.to_builtins(self.value, str_keys=True)
        return document

    @property
    def result_parts(self) -> tuple[Part, ...] | None:
        """Its own view in a report's appendix; None: a table of its fields."""
        return None

    @property
    def quote(self) -> str:
        """What a later run on this host says of it in one sentence; "" for nothing."""
        return ""

    @property
    def line_rates(self) -> dict[str, str]:
        """By disk or card what it gave alone, in words: triage names it where a rule speaks of that one."""
        return {}

    def on_top(self, now: float) -> ReportSection | None:
        """What of it stands on the first page, and on the live screen `now` seconds after the run began."""
        return None

    @property
    def source_names(self) -> tuple[str, ...]:
        """The files that the whole recording is of, where that tells it from the next one."""
        return ()


# "rule": what triage's rules say of the host, and no part of the run measured
State: TypeAlias = Literal["cause", "rule", "remark", "cleared", "open", "not measured", "resolution"]


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a ranked answer. `rank` counts from 1; 0 for the resolution, which is no suspect."""

    scenario: str
    state: State
    words: str
    severity: Severity | Literal["unknown"] = "unknown"
    rank: of.Number = 0
    seconds: of.Seconds = 0.0
    loss: of.Share = 0.0  # of the time, as surely measured; 0: not told
    recording: str = ""
    following: tuple[SuggestedStep, ...] = ()
    about: tuple[str, ...] = ()  # the findings that it names, by their keys

    @property
    def ranked_line(self) -> str:
        """`1. not the disk (no difference over 3 %)`."""
        return f"{self.rank}. {self.words}" if self.rank else self.words


class RankedAnswer(Result, frozen=True):
    """A run whose answer is a list, the likeliest cause first. It stands on the first page."""

    value: tuple[Item, ...]

    @property
    def result_parts(self) -> tuple[Part, ...]:
        return ()


SCENARIOS = Path(__file__).parents[1]


@cache
def bundled_results() -> dict[str, type[Result]]:
    """Of our own scenarios, by their tags."""
    folders = sorted(path.parent.name for path in SCENARIOS.glob("*/results.py"))
    modules = [import_module(f"scenarios.{folder}.results") for folder in folders]
    return {tag: kind for module in modules for tag, kind in _results_in_module(module).items()}


def result_named(name: object) -> type[Result] | None:
    """Of ours, by its name in the `--json` document."""
    return next((kind for kind in bundled_results().values() if kind.name == name), None)


@cache
def _external_entry_points() -> dict[str, EntryPoint]:
    from importlib import metadata  # a tenth of the app's start

    return {entry.name: entry for entry in metadata.entry_points(group=GROUP)}


@lru_cache(maxsize=1024)  # a foreign recording may hold a hundred thousand
def result_tagged(tag: str) -> type[Result] | None:
    """Of ours, or of another package's scenario: it stands beside that one's class. None: not known here."""
    if tag in bundled_results():
        return bundled_results()[tag]
    scenario, dot, _ = tag.partition(".")
    entry = _external_entry_points().get(scenario) if dot else None
    if entry is None:
        return None
    try:
        load_entry(entry)
    except Exception:  # another package's module raises what it likes: its results are not known here, then
        return None
    return _results_in_module(sys.modules[entry.module]).get(tag)


def _results_in_module(module: ModuleType) -> dict[str, type[Result]]:
    result_types = [
        kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Result)
    ]
    return {
        str(kind.__struct_config__.tag): kind for kind in result_types if kind.__module__ == module.__name__
    }
