"""What a scenario found out beside verdicts and findings: a type of its own for each, in the scenario's `results.py`.

The type's tag is `<folder>.<what>/<version>`: an incompatible change is a new version. The registry finds the types, so
nothing above names a scenario; a view is chosen by the type, and what has none of its own is shown as a table.
"""

from __future__ import annotations

import sys
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

from hostdx.probes.reading import other_package
from hostdx.probes.reading.other_package import load_entry_point
from hostdx.probes.types import Json
from hostdx.scenarios import GROUP
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.event import RunEvent
from hostdx.scenarios.contract.finding import Severity, SuggestedStep
from hostdx.scenarios.contract.folders import scenario_packages_with
from hostdx.scenarios.contract.results.document import Part, ReportSection


class Result(RunEvent, frozen=True):
    """A result of a kind of its own, which a scenario emits. `name` is its key in the `--json` document and the
    title of its section.
    """

    name: ClassVar[str]
    value: Any

    @property
    def as_json(self) -> Json:
        """Return the value for the `--json` document."""
        document: Json = msgspec.to_builtins(self.value, str_keys=True)
        return document

    @property
    def appendix_parts(self) -> tuple[Part, ...] | None:
        """Return how the report's appendix shows the result; None: as a table of its fields."""
        return None

    @property
    def quote(self) -> str:
        """Return one sentence that later runs on this host may quote; "" where there is nothing to quote."""
        return ""

    @property
    def rates_alone_by_device(self) -> dict[str, str]:
        """Return, by disk or card, the rate that it reached alone, in words. Triage adds the words to findings about
        that device.
        """
        return {}

    @property
    def proofs(self) -> dict[str, str]:
        """Return, by a finding's key, what its remedy did on this host, in words. Triage adds them to the finding."""
        return {}

    def section_on_top(self, now: float) -> ReportSection | None:
        """Return the section for the first page and for the live screen, `now` seconds after the run began."""
        return None

    @property
    def source_names(self) -> tuple[str, ...]:
        """Return the names of the files that were imported, which tell one recording from the next."""
        return ()


# "rule": what triage's rules say of the host, and no part of the run measured
State: TypeAlias = Literal["cause", "rule", "remark", "cleared", "open", "not measured", "resolution"]


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a ranked answer. `rank` counts from 1. Rank 0 is the line about the resolution, which is no
    suspect. `pid`: the process that the line is about.
    """

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
    pid: of.Count | None = None

    @property
    def ranked_line(self) -> str:
        """Return the line with its rank: `1. not the disk (no difference over 3 %)`."""
        return f"{self.rank}. {self.words}" if self.rank else self.words


class RankedAnswer(Result, frozen=True):
    """The result of a run whose answer is a list with the likeliest cause first. The list stands on the first page."""

    value: tuple[Item, ...]

    @property
    def appendix_parts(self) -> tuple[Part, ...]:
        """Nothing: the whole list stands on the first page."""
        return ()


@cache
def bundled_results() -> dict[str, type[Result]]:
    """Return the result classes of the bundled scenarios, by their tags."""
    modules = [import_module(f"{package}.results") for package in scenario_packages_with("results.py")]
    return {tag: kind for module in modules for tag, kind in _results_in_module(module).items()}


def result_named(name: object) -> type[Result] | None:
    """Return the bundled result class with this name in the `--json` document; None where there is none."""
    return next((kind for kind in bundled_results().values() if kind.name == name), None)


@lru_cache(maxsize=1024)  # a foreign recording may hold a hundred thousand
def result_tagged(tag: str) -> type[Result] | None:
    """Return the result class with this tag, of a bundled scenario or another package's; None where unknown."""
    if tag in bundled_results():
        return bundled_results()[tag]
    scenario, dot, _ = tag.partition(".")
    entries = other_package.entry_points_of(GROUP) if dot else ()
    entry = next((entry for entry in entries if entry.name == scenario), None)
    if entry is None:
        return None
    try:
        load_entry_point(entry)
    except Exception:  # another package's module raises what it likes: its results are not known here, then
        return None
    return _results_in_module(sys.modules[entry.module]).get(tag)


def _results_in_module(module: ModuleType) -> dict[str, type[Result]]:
    types = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Result)]
    return {str(kind.__struct_config__.tag): kind for kind in types if kind.__module__ == module.__name__}
