"""`hostdx recordings`: what was recorded, and what is being recorded."""

import os
import shutil
import sys

import click

from hostdx.app.cli.look import add_color_option
from hostdx.app.recordings import store
from hostdx.app.recordings.answers import ranked_items
from hostdx.app.report.headline import read_recording_answer, recording_state_answer
from hostdx.app.report.json_document import to_json_text
from hostdx.app.state import recordings_dir
from hostdx.app.terminal.output import print_parts, print_result
from hostdx.app.terminal.printable import make_printable
from hostdx.probes.units import format_duration
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.card import card_with_role

MAX_EXAMPLES = 8  # on the home screen
MAX_HEADLINES = 30  # of the newest: each is read whole for it
MAX_EXAMINED = 100  # of the newest, for the directories that were measured before
MAX_DIRECTORIES = 8
_WIDE = 140  # cells where no terminal says how many it has
# On home a scenario shows its last run that was done, else how the last one ended.
_ENDED = frozenset({"done", "failed", "interrupted", "dead"})
_ROLES = {"running": "strong", "done": "", "unreadable": "warning", "dead": "warning", "failed": "critical"}


@add_color_option
@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option(
    "--name",
    "called",
    nargs=2,
    metavar="RECORDING WORDS",
    help='Give a recording a name ("before firmware") that lists, reports and comparisons show, and that every '
    "command takes for it. Empty words take it away.",
)
@click.option("--examples", is_flag=True, hidden=True, help="What the screen asks of them, as JSON.")
def recordings(as_json: bool, examples: bool, called: tuple[str, str] | None) -> int:
    """The recordings in the state directory, newest first, and the bundled demos."""
    if called is not None:
        store.set_label(store.resolve_recording(called[0]), called[1])
        return 0
    if examples:
        print_result(to_json_text(_home_screen_document()))
        return 0
    entries = store.list_recordings()
    if as_json:
        print_result(
            to_json_text(
                {
                    "schema": ev.SCHEMA,
                    "recordings": [_entry_document(entry) for entry in entries],
                    "demos": store.list_demo_arguments(),
                }
            )
        )
        return 0
    demos = [
        (name, store.examine_recording(store.resolve_recording(name))) for name in store.list_demo_arguments()
    ]
    rows = [
        (f"{entry.name} ({entry.label})" if entry.label else entry.name, entry) for entry in entries
    ] + demos
    width = max((len(make_printable(name)) for name, _ in rows), default=0)
    if not entries:
        print_result(f"no recording in {make_printable(str(recordings_dir()))}; `hostdx run` makes one")
    if rows:
        print_parts(
            [(f"{'RECORDING':<{width}}  {'BEGAN (UTC)':<16}  {'STATE':<11}  {'TOOK':<11}  RESULT", "dim")]
        )
    for number, (name, entry) in enumerate(rows):
        read = number < MAX_HEADLINES or name.startswith("demo:")
        state = "bundled" if name.startswith("demo:") else entry.state
        began = entry.wall[:16].replace("T", " ")
        head = f"{make_printable(name):<{width}}  {make_printable(began):<16}  "
        took = format_duration(entry.seconds) if entry.state != "unreadable" else ""
        tail = f"  {took:<11}  {make_printable(_answer_or_reason(entry, read))}"
        room = _columns_of_terminal() - len(head) - 11
        print_parts(
            [
                (head, ""),
                (f"{state:<11}", _ROLES.get(state, "")),
                (_shorten_line(tail, max(40, room)).rstrip(), ""),
            ]
        )
    return 0


def _home_screen_document() -> dict[str, object]:
    """The newest with their answers, the bundled ones as long as these are few; of this host's own the newest of each
    scenario, the directories that were measured, and how small a difference the last run of that showed, by load."""
    listed = store.list_recordings()[:MAX_EXAMINED]
    of_this_host = [entry for entry in listed if entry.host == os.uname().nodename and entry.state in _ENDED]
    here = [entry for entry in of_this_host if entry.state == "done"]
    newest = {entry.scenario: entry for entry in (*reversed(of_this_host), *reversed(here))}
    shown = [_recording_with_answer(entry.label or entry.name, entry) for entry in listed[:MAX_EXAMPLES]]
    if len(shown) < MAX_EXAMPLES:
        demos = [
            _recording_with_answer(name, store.examine_recording(store.resolve_recording(name)))
            for name in store.list_demo_arguments()
        ]
        shown += sorted(demos, key=lambda example: example["ratio"] is None)  # those that can be drawn first
    used = [path for entry in here for path in entry.directories if path.startswith("/")]
    detects: dict[str, float] = {}
    if (finest := newest.get(card_with_role("resolution").id)) is not None:
        verdicts = read_recording_answer(finest)[1].verdicts.values()
        detects = {v.workload: v.smallest_effect for v in verdicts if v.smallest_effect}
    last = {entry.scenario: _recording_with_answer(entry.name, entry) for entry in newest.values()}
    if (host_run := newest.get(card_with_role("whole").id)) is not None:
        for scenario, document in _parts_by_scenario(host_run).items():
            if scenario not in newest or newest[scenario].wall < host_run.wall:
                last[scenario] = document
    return {
        "examples": shown,
        "last": last,
        "directories": list(dict.fromkeys(used))[:MAX_DIRECTORIES],
        "detects": detects,
    }


def _parts_by_scenario(host_run: store.ListedRecording) -> dict[str, dict[str, object]]:
    """By scenario what a run of the whole host measured of it, as `_recording_with_answer`."""
    items = ranked_items(read_recording_answer(host_run)[1])
    return {
        item.scenario: {
            "name": host_run.name,
            "wall": host_run.wall,
            "result": item.words,
            "weight": item.severity,
        }
        for item in reversed(items)  # of two of one scenario the graver stands first
        if item.seconds > 0
    }


def _recording_with_answer(name: str, entry: store.ListedRecording) -> dict[str, object]:
    headline = read_recording_answer(entry)[0] or recording_state_answer(entry)
    verdict = headline.verdict
    return {
        "name": name,
        "wall": entry.wall,
        "result": headline.sentence,
        "weight": headline.weight,
        "ratio": None if verdict is None else verdict.ratio,
        "ci95": None if verdict is None else verdict.ci95,
    }


def _answer_or_reason(entry: store.ListedRecording, read_answer: bool) -> str:
    """Return what it found, or why it found nothing."""
    if entry.state == "unreadable":
        return entry.reason or "is no recording"
    if read_answer and (headline := read_recording_answer(entry)[0]) is not None:
        return headline.sentence
    return entry.reason or entry.scenario


def _columns_of_terminal() -> int:
    if sys.stdout is None or not sys.stdout.isatty():
        return _WIDE
    return shutil.get_terminal_size((80, 24)).columns


def _shorten_line(text: str, most: int) -> str:
    """A line of the list is one line; the report has the rest."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _entry_document(entry: store.ListedRecording) -> dict[str, object]:
    field_names = (
        "name",
        "path",
        "state",
        "reason",
        "label",
        "scenario",
        "host",
        "wall",
        "seconds",
        "pid",
        "bytes",
    )
    return {name: getattr(entry, name) for name in field_names} | {"path": str(entry.path)}
