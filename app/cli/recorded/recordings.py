"""`hostdx recordings`: what was recorded, and what is being recorded."""

import os
import shutil
import sys

import click

from app.cli.look import with_colour
from app.output import out, out_parts
from app.printable import printable
from app.recording import store as kept
from app.report.headline import headline_of, read_of
from app.report.json_document import encoded
from app.state import recordings_dir
from probes.units import duration
from scenarios import events as ev
from scenarios.card import card_with_role

FEW = 8  # on the home screen
HEADLINES = 30  # of the newest: each is read whole for it
LOOKED_AT = 100  # of the newest, for the directories that were measured before
MOST_DIRECTORIES = 8
_WIDE = 140  # cells where no terminal says how many it has
_ROLES = {"running": "strong", "done": "", "unreadable": "warning", "dead": "warning", "failed": "critical"}


@with_colour
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
        kept.call(kept.resolve(called[0]), called[1])
        return 0
    if examples:
        out(encoded(_known()))
        return 0
    found = kept.listed()
    if as_json:
        out(
            encoded(
                {
                    "schema": ev.SCHEMA,
                    "recordings": [_document(entry) for entry in found],
                    "demos": kept.demos(),
                }
            )
        )
        return 0
    demos = [(name, kept.examined(kept.resolve(name))) for name in kept.demos()]
    rows = [
        (f"{entry.name} ({entry.label})" if entry.label else entry.name, entry) for entry in found
    ] + demos
    width = max((len(printable(name)) for name, _ in rows), default=0)
    if not found:
        out(f"no recording in {printable(str(recordings_dir()))}; `hostdx run` makes one")
    if rows:
        out_parts(
            [(f"{'RECORDING':<{width}}  {'BEGAN (UTC)':<16}  {'STATE':<11}  {'TOOK':<11}  RESULT", "dim")]
        )
    for number, (name, entry) in enumerate(rows):
        read = number < HEADLINES or name.startswith("demo:")
        state = "bundled" if name.startswith("demo:") else entry.state
        began = entry.wall[:16].replace("T", " ")
        head = f"{printable(name):<{width}}  {printable(began):<16}  "
        took = duration(entry.seconds) if entry.state != "unreadable" else ""
        tail = f"  {took:<11}  {printable(_result(entry, read))}"
        room = _width() - len(head) - 11
        out_parts(
            [(head, ""), (f"{state:<11}", _ROLES.get(state, "")), (_cut(tail, max(40, room)).rstrip(), "")]
        )
    return 0


def _known() -> dict[str, object]:
    """The newest with their answers, the bundled ones as long as these are few; of this host's own the newest of each
    scenario, the directories that were measured, and how small a difference the last run of that showed, by load."""
    listed = kept.listed()[:LOOKED_AT]
    here = [entry for entry in listed if entry.host == os.uname().nodename and entry.state == "done"]
    newest = {entry.scenario: entry for entry in reversed(here)}
    shown = [_example(entry.label or entry.name, entry) for entry in listed[:FEW]]
    if len(shown) < FEW:
        demos = [_example(name, kept.examined(kept.resolve(name))) for name in kept.demos()]
        shown += sorted(demos, key=lambda one: one["ratio"] is None)  # those that can be drawn first
    used = [path for entry in here for path in entry.directories if path.startswith("/")]
    detects: dict[str, float] = {}
    if (finest := newest.get(card_with_role("resolution").id)) is not None:
        told = read_of(finest)[1].verdicts.values()
        detects = {v.workload: v.smallest_effect for v in told if v.smallest_effect}
    return {
        "examples": shown,
        "last": {entry.scenario: _example(entry.name, entry) for entry in newest.values()},
        "directories": list(dict.fromkeys(used))[:MOST_DIRECTORIES],
        "detects": detects,
    }


def _example(name: str, entry: kept.Listed) -> dict[str, object]:
    said = read_of(entry)[0]
    verdict = said.verdict if said is not None else None
    return {
        "name": name,
        "wall": entry.wall,
        "result": _result(entry, False) if said is None else said.sentence,
        "weight": "unknown" if said is None else said.weight,
        "ratio": None if verdict is None else verdict.ratio,
        "ci95": None if verdict is None else verdict.ci95,
    }


def _result(entry: kept.Listed, read: bool) -> str:
    """What it found, or why it found nothing."""
    if entry.state == "unreadable":
        return entry.reason or "is no recording"
    if read and (found := headline_of(entry)) is not None:
        return found.sentence
    return entry.reason or entry.scenario


def _width() -> int:
    if sys.stdout is None or not sys.stdout.isatty():
        return _WIDE
    return shutil.get_terminal_size((80, 24)).columns


def _cut(text: str, most: int) -> str:
    """A line of the list is one line; the report has the rest."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _document(entry: kept.Listed) -> dict[str, object]:
    told = ("name", "path", "state", "reason", "label", "scenario", "host", "wall", "seconds", "pid", "bytes")
    return {name: getattr(entry, name) for name in told} | {"path": str(entry.path)}
