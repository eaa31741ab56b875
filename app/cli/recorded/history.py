"""`hostdx history [HOST]`: a host's nights, since when a load is slower, and what had changed then."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from app.cli.look import with_colour
from app.cli.options import form_option, output_option
from app.failure import USAGE, Failure
from app.output import complain
from app.output_file import deliver
from app.report.json_document import encoded
from probes.units import counted
from scenarios import events as ev
from scenarios.finding import SEVERITIES
from scenarios.nights.findings import findings
from scenarios.nights.history import History

if TYPE_CHECKING:
    from app.recording.nights import Others
    from app.recording.store import Listed


@with_colour
@click.command()
@click.argument("of", nargs=-1, metavar="[HOST|NAME|RECORDING...]")
@form_option("md", "html", "json", "openmetrics", help="openmetrics: for node_exporter's textfile collector.")
@output_option
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    help="Exit with status 1 if a load is still slower and that finding has this severity or a worse one.",
)
@click.option(
    "--fleet",
    type=click.Path(exists=True),
    metavar="DIR",
    help="Other nodes' nights: what all of them had in a night is taken off.",
)
def history(
    of: tuple[str, ...], form: str, output: str | None, fail_on: str | None, fleet: str | None
) -> int:
    """Since when is a load slower, and what changed then? Of the nights that `hostdx watch` recorded on this host.

    Of HOST: its recordings that are kept here. NAME: a baseline's recordings. Recordings and directories: each
    recording is a night.
    """
    from app.watch.fleet_nights import FleetNights, fleet_nights

    nights = fleet_nights(os.path.abspath(fleet)) if fleet else FleetNights()  # noqa: PTH100 (a Path would keep `..`)
    if nights.trouble:
        complain(f"history: {nights.trouble}")
    found, troubles = _folded(of, nights.others)
    if form == "json":
        told = [msgspec.to_builtins(finding) for finding in findings(found)]
        document = {"schema": ev.SCHEMA, **msgspec.to_builtins(found, str_keys=True), "findings": told}
        deliver("history", output, encoded(document) + "\n")
    elif form == "openmetrics":
        from app.watch.openmetrics import text

        deliver("history", output, text(found))
    else:
        from app.report.forms.delivery import deliver_document
        from app.report.results.nights import nights_document

        deliver_document("history", output, nights_document(found, troubles), form)
    return int(fails(found, fail_on))


def fails(found: History, fail_on: str | None) -> bool:
    """Whether a finding reaches that severity; the worst stands first in the list of them."""
    if fail_on is None:
        return False
    bad = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(finding.severity in bad for finding in findings(found))


def _folded(of: Sequence[str], fleet: Others) -> tuple[History, Sequence[str]]:
    from app.recording import baselines, store
    from app.recording.nights import Nights, of_recordings
    from app.recording.sides import paths

    watch = Nights(baselines.directory() / baselines.WATCH)
    own = os.uname().nodename
    if not of or (len(of) == 1 and of[0] in (own, baselines.WATCH)):
        if watch.files:
            return watch.history(fleet), watch.troubles
        if not of:
            raise Failure(
                "history: no night is recorded here; `hostdx watch --install` measures each night, "
                "`hostdx watch --night` now",
                USAGE,
            )
    if len(of) > 1 or "/" in of[0] or Path(of[0]).exists():
        found = of_recordings(paths(of), fleet=fleet)
    elif of[0] in {one.name for one in baselines.listed()}:
        found = of_recordings(baselines.recordings(of[0]), fleet=fleet)
    else:
        found = of_recordings(_of_host(of[0], store.listed()), fleet=fleet)
    if found is None:
        others = sum(one.host == of[0] for one in store.listed())
        there = f"{counted(others, 'recording')} of that host" if others else "no recording of that host"
        raise Failure(
            f"history: {of[0]}: {there}, none of a night, and no baseline of that name; `hostdx watch --install` "
            "measures each night, `hostdx recordings` lists what there is",
            USAGE,
        )
    return found, ()


def _of_host(host: str, listed: Sequence[Listed]) -> list[Path]:
    """The battery's recordings of a host: other scenarios' loads are no nights."""
    from scenarios.card import card_with_role

    wanted = card_with_role("battery").id
    return [one.path for one in listed if (one.host, one.scenario) == (host, wanted) and one.state == "done"]
