"""`hostdx baseline`: recordings kept under a name, for `compare --against NAME` and `run … --against NAME`."""

import click

from hostdx.app.cli.look import add_color_option
from hostdx.app.report.json_document import to_json_text
from hostdx.app.terminal.output import print_parts, print_result
from hostdx.probes.units import count_noun
from hostdx.scenarios.contract import events as ev


@click.group(short_help="Recordings kept to compare later runs with.")
def baseline() -> None:
    """Recordings kept under a name: the host's own past, or a site's reference host."""


@baseline.command()
@click.argument("name")
@click.argument("recordings", nargs=-1, metavar="[RECORDING]...")
def save(name: str, recordings: tuple[str, ...]) -> int:
    """Add recordings (default: the last one) to the baseline NAME."""
    from hostdx.app.recordings import baselines
    from hostdx.app.recordings.sides import find_recordings

    saved = baselines.add_to_baseline(name, find_recordings(recordings or ("last",)))
    count = len(saved.recordings)
    print_result(
        f"baseline {saved.name}: {count_noun(count, 'recording')}; `hostdx compare --against {saved.name}`"
    )
    return 0


@add_color_option
@baseline.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def print_baselines(as_json: bool) -> int:
    """The baselines and how many recordings each has."""
    from hostdx.app.recordings import baselines

    stored = baselines.list_baselines()
    if as_json:
        documents = [{"name": b.name, "recordings": [str(p) for p in b.recordings]} for b in stored]
        print_result(to_json_text({"schema": ev.SCHEMA, "baselines": documents}))
        return 0
    for entry in stored:
        print_parts([(entry.name, "strong"), (f"  {len(entry.recordings)}  {entry.recordings[-1].name}", "")])
    if not stored:
        print_result("no baseline; `hostdx baseline save NAME` keeps the last recording")
    return 0
