"""`hostdx recordings`: what was recorded, and what is being recorded."""

from __future__ import annotations

import click

from app import recordings as kept
from app.output import out
from app.plain import duration
from app.printable import printable
from app.result import encoded
from app.state import recordings_dir
from scenarios import events as ev


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def recordings(as_json: bool) -> int:
    """The recordings in the state directory, newest first, and the bundled demos."""
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
    for entry in found:
        rest = f": {entry.reason}" if entry.reason and entry.state != "done" else ""
        out(printable(f"{entry.name}  {entry.state}  {duration(entry.seconds)}{rest}"))
    if not found:
        out(f"no recording in {printable(str(recordings_dir()))}; `hostdx run` makes one")
    for demo in kept.demos():
        out(f"{demo}  bundled")
    return 0


def _document(entry: kept.Listed) -> dict[str, object]:
    return {
        "name": entry.name,
        "path": str(entry.path),
        "state": entry.state,
        "reason": entry.reason,
        "scenario": entry.scenario,
        "host": entry.host,
        "wall": entry.wall,
        "seconds": entry.seconds,
        "pid": entry.pid,
        "bytes": entry.bytes,
    }
