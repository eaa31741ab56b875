"""What a feature brings to the app: commands, screens and parts of reports.

A feature of ours is a folder below `app/features` whose `__init__.py` declares `FEATURE`. Another package brings the
same by entry points of the groups named here. A target is written as `module:attribute` and imported when it is asked
for. The core names no feature (an import contract).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from hostdx.probes.reading.other_package import entry_points_of, load_entry_point

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from hostdx.app.recordings.session import RunSession
    from hostdx.scenarios.contract.results.document import Part, ReportSection
    from hostdx.scenarios.contract.results.result import Result

COMMANDS, SCREENS, REPORT_PARTS = "hostdx.commands", "hostdx.screens", "hostdx.report_parts"

Place: TypeAlias = Literal["recordings", "run"]


class CommandEntry(NamedTuple):
    """`help`: its line in `hostdx --help`; `after`: the command of the core that it is listed behind."""

    target: str
    help: str
    after: str = ""


class ScreenEntry(NamedTuple):
    """A screen that a key opens: `target` is called with the screen that is left (`place` recordings), or makes the
    screen that takes its place (`run`).

    `place`: in the list of recordings, or in the views of a run; there only where the recording has a result with the
    tag `result_tag`.
    """

    name: str
    key: str
    title: str
    place: Place
    target: str
    result_tag: str = ""


class ReportFormEntry(NamedTuple):
    """A form of `hostdx report --format`: `target` makes the text from the session and the recording's name."""

    target: str
    help: str


class ColumnsForManual(NamedTuple):
    """Columns of a table that programs read, for the manual page: `target` is a mapping from name to meaning."""

    title: str
    target: str


class Feature(NamedTuple):
    """What one folder declares.

    `result_parts`: by a result's tag, who draws it. `baselines`: by the name of a baseline that the feature keeps
    itself, who is called with its folder for the recordings that it is made of.
    """

    commands: Mapping[str, CommandEntry] = {}
    screens: tuple[ScreenEntry, ...] = ()
    result_parts: Mapping[str, str] = {}
    report_forms: Mapping[str, ReportFormEntry] = {}
    columns: tuple[ColumnsForManual, ...] = ()
    baselines: Mapping[str, str] = {}


@cache
def own_features() -> tuple[Feature, ...]:
    """Return the features that hostdx itself brings, in the order of their folders."""
    folder = Path(__file__).with_name("features")
    names = sorted(path.parent.name for path in folder.glob("*/__init__.py"))
    declared = (getattr(import_module(f"hostdx.app.features.{name}"), "FEATURE", None) for name in names)
    return tuple(feature for feature in declared if isinstance(feature, Feature))


def import_target(target: str) -> object:
    """Return the object that a target of ours names, with its module imported."""
    module, _, attribute = target.partition(":")
    target_object: object = getattr(import_module(module), attribute)
    return target_object


def import_and_call(target: str, *arguments: object) -> object:
    """Call what a target of ours names."""
    return cast("Callable[..., object]", import_target(target))(*arguments)


def command_entries() -> dict[str, CommandEntry]:
    """Return the commands of our features, by name."""
    return {name: entry for feature in own_features() for name, entry in feature.commands.items()}


def screens_at(place: Place) -> tuple[ScreenEntry, ...]:
    return tuple(screen for feature in own_features() for screen in feature.screens if screen.place == place)


def external_screens() -> tuple[EntryPoint, ...]:
    """Return the screens of other packages: each a callable without arguments that makes a Textual screen."""
    return entry_points_of(SCREENS)


def report_forms() -> dict[str, ReportFormEntry]:
    return {name: form for feature in own_features() for name, form in feature.report_forms.items()}


def parts_of_result(result: Result, width: int) -> tuple[Part, ...] | None:
    """Return what a feature draws for this result; None where none does. `width`: cells of its text, where it can."""
    tag = type(result).__struct_config__.tag
    for feature in own_features():
        if (target := feature.result_parts.get(str(tag))) is not None:
            return cast("tuple[Part, ...]", import_and_call(target, result, width))
    return None


def external_sections(session: RunSession) -> tuple[ReportSection, ...]:
    """Return what other packages add to the report of a run; one that fails is a section that says so."""
    from hostdx.scenarios.contract.results.document import ReportSection, paragraph_of

    sections: list[ReportSection] = []
    for entry in entry_points_of(REPORT_PARTS):
        try:
            make = cast("Callable[[RunSession], tuple[Part, ...]]", load_entry_point(entry))
            parts = tuple(make(session))
        except Exception as error:  # another package's code raises what it likes
            parts = (paragraph_of(f"cannot be made: {type(error).__name__}: {error}"),)
        if parts:
            sections.append(ReportSection(entry.name, parts))
    return tuple(sections)
