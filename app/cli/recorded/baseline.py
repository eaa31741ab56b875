"""`hostdx baseline`: recordings kept under a name, for `compare --against NAME` and `run … --against NAME`."""

import click

from app.cli.look import with_colour
from app.output import out, out_parts
from app.report.json_document import encoded
from probes.units import counted
from scenarios import events as ev


@click.group(short_help="Recordings kept to compare later runs with.")
def baseline() -> None:
    """Recordings kept under a name: the host's own past, or a site's reference host."""


@baseline.command()
@click.argument("name")
@click.argument("recordings", nargs=-1, metavar="[RECORDING]...")
def save(name: str, recordings: tuple[str, ...]) -> int:
    """Add recordings (default: the last one) to the baseline NAME."""
    from app.recording import baselines
    from app.recording.sides import paths

    saved = baselines.save(name, paths(recordings or ("last",)))
    count = len(saved.recordings)
    out(f"baseline {saved.name}: {counted(count, 'recording')}; `hostdx compare --against {saved.name}`")
    return 0


@with_colour
@baseline.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_(as_json: bool) -> int:
    """The baselines and how many recordings each has."""
    from app.recording import baselines

    found = baselines.listed()
    if as_json:
        kept = [{"name": b.name, "recordings": [str(p) for p in b.recordings]} for b in found]
        out(encoded({"schema": ev.SCHEMA, "baselines": kept}))
        return 0
    for one in found:
        out_parts([(one.name, "strong"), (f"  {len(one.recordings)}  {one.recordings[-1].name}", "")])
    if not found:
        out("no baseline; `hostdx baseline save NAME` keeps the last recording")
    return 0
