"""`hostdx history [HOST]`: a host's nights, since when a load is slower, and what had changed then."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from hostdx.app.cli.look import add_color_option
from hostdx.app.cli.options import format_option, output_option
from hostdx.app.report.json_document import to_json_text
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.output import print_problem
from hostdx.app.terminal.output_file import deliver_text
from hostdx.probes.units import count_noun
from hostdx.scenarios.analysis.nights.findings import slowdown_findings
from hostdx.scenarios.analysis.nights.history import HostHistory
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import SEVERITIES

if TYPE_CHECKING:
    from hostdx.app.features.watch.nights import Others
    from hostdx.app.recordings.store import ListedRecording


@add_color_option
@click.command()
@click.argument("of", nargs=-1, metavar="[HOST|NAME|RECORDING...]")
@format_option(
    "md", "html", "json", "openmetrics", help="openmetrics: for node_exporter's textfile collector."
)
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
    help="Directory of other nodes' results; changes common to all nodes are ignored.",
)
def history(
    of: tuple[str, ...], form: str, output: str | None, fail_on: str | None, fleet: str | None
) -> int:
    """Since when is a load slower, and what changed then? Of the nights that `hostdx watch` recorded on this host.

    Of HOST: its recordings that are kept here. NAME: a baseline's recordings. Recordings and directories: each
    recording is a night.
    """
    from hostdx.app.features.watch.fleet_nights import FleetNights, read_fleet_nights

    nights = read_fleet_nights(os.path.abspath(fleet)) if fleet else FleetNights()  # noqa: PTH100 (a Path would keep `..`)
    if nights.trouble:
        print_problem(f"history: {nights.trouble}")
    host_history, troubles = _read_history_and_troubles(of, nights.others)
    if form == "json":
        finding_documents = [msgspec.to_builtins(finding) for finding in slowdown_findings(host_history)]
        document = {
            "schema": ev.SCHEMA,
            **msgspec.to_builtins(host_history, str_keys=True),
            "findings": finding_documents,
        }
        deliver_text("history", output, to_json_text(document) + "\n")
    elif form == "openmetrics":
        from hostdx.app.features.watch.openmetrics import openmetrics_text

        deliver_text("history", output, openmetrics_text(host_history))
    else:
        from hostdx.app.features.watch.report import nights_document
        from hostdx.app.report.delivery import deliver_document

        deliver_document("history", output, nights_document(host_history, troubles), form)
    return int(reaches_severity(host_history, fail_on))


def reaches_severity(host_history: HostHistory, fail_on: str | None) -> bool:
    """Return whether a finding reaches that severity; the worst stands first in the list of them."""
    if fail_on is None:
        return False
    bad = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(finding.severity in bad for finding in slowdown_findings(host_history))


def _read_history_and_troubles(names: Sequence[str], fleet: Others) -> tuple[HostHistory, Sequence[str]]:
    from hostdx.app.features.watch.nights import NightsFolder, history_of_recordings
    from hostdx.app.recordings import baselines, store
    from hostdx.app.recordings.sides import find_recordings

    watch = NightsFolder(baselines.baselines_dir() / baselines.WATCH)
    own = os.uname().nodename
    if not names or (len(names) == 1 and names[0] in (own, baselines.WATCH)):
        if watch.recording_paths:
            return watch.read_history(fleet), watch.troubles
        if not names:
            raise Failure(
                "history: no night is recorded here; `hostdx watch --install` measures each night, "
                "`hostdx watch --night` now",
                USAGE,
            )
    if len(names) > 1 or "/" in names[0] or Path(names[0]).exists():
        host_history = history_of_recordings(find_recordings(names), fleet=fleet)
    elif names[0] in {entry.name for entry in baselines.list_baselines()}:
        host_history = history_of_recordings(baselines.baseline_recordings(names[0]), fleet=fleet)
    else:
        host_history = history_of_recordings(_host_recordings(names[0], store.list_recordings()), fleet=fleet)
    if host_history is None:
        others = sum(entry.host == names[0] for entry in store.list_recordings())
        there = f"{count_noun(others, 'recording')} of that host" if others else "no recording of that host"
        raise Failure(
            f"history: {names[0]}: {there}, none of a night, and no baseline of that name; `hostdx watch --install` "
            "measures each night, `hostdx recordings` lists what there is",
            USAGE,
        )
    return host_history, ()


def _host_recordings(host: str, listed: Sequence[ListedRecording]) -> list[Path]:
    """The battery's recordings of a host: other scenarios' loads are no nights."""
    from hostdx.scenarios.contract.card import card_with_role

    wanted = card_with_role("battery").id
    return [
        entry.path
        for entry in listed
        if (entry.host, entry.scenario) == (host, wanted) and entry.state == "done"
    ]
