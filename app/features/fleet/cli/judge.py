"""`hostdx fleet judge`: which of many nodes is odd, from their recordings or triages, whatever launched them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from hostdx.app.cli.look import add_color_option
from hostdx.app.cli.options import format_option, margin_option, output_option
from hostdx.app.report.json_document import to_json_text
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.output import print_note
from hostdx.app.terminal.output_file import deliver_text

if TYPE_CHECKING:
    from hostdx.app.recordings.session import RunSession
    from hostdx.scenarios.analysis.peers.judgement import FleetJudgement


@add_color_option
@click.command(short_help="Which node is odd, of recordings or triages.")
@click.argument("answers", nargs=-1, required=True, metavar="RECORDING|TRIAGE.json|DIR...")
@margin_option("difference")
@format_option(
    "md", "html", "json", "ndjson", help="ndjson: a line a node and measure; `hostdx man` says the columns."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: as --format json.")
@click.option("--parquet", type=click.Path(), help="Also write the rows of ndjson as a Parquet file.")
@click.option(
    "--save-class",
    metavar="NAME|FILE.json",
    help="Keep what these nodes give as a class, without the outliers, for `hostdx health --class`.",
)
@output_option
def judge(
    answers: tuple[str, ...],
    margin: float,
    form: str,
    as_json: bool,
    parquet: str | None,
    save_class: str | None,
    output: str | None,
) -> int:
    """Which of many nodes differs from the others, by how much, and which setting no other node has.

    Reads the folder of a `fleet run`, or recordings and the JSON of `hostdx triage --json` that anything else launched
    (clush, pdsh, Ansible, sbatch --array). Nodes are compared with nodes of the same hardware. Without a retest
    nothing is named: it says which nodes to measure again. Of many nodes' `hostdx incident --format json` it says
    which incidents came at the same time, and which server these nodes share.
    """
    from hostdx.app.features.fleet.incidents import deliver_incidents, read_incident_books
    from hostdx.app.features.fleet.reading import read_fleet_answers

    if books := read_incident_books(answers):
        return deliver_incidents(books, ", ".join(answers), "json" if as_json else form, output)
    judgement = read_fleet_answers(answers).judge_answers(margin)
    if parquet is not None:
        from hostdx.app.features.fleet.rows import write_parquet

        write_parquet(judgement, parquet)
    if save_class is not None:
        _save_class_without_outliers(save_class, judgement)
    if form == "json" or as_json:
        deliver_text("fleet", output, to_json_text(msgspec.to_builtins(judgement)) + "\n")
    elif form == "ndjson":
        from hostdx.app.features.fleet.rows import rows_as_ndjson

        deliver_text("fleet", output, rows_as_ndjson(judgement))
    else:
        from hostdx.app.features.fleet.report import fleet_document
        from hostdx.app.report.delivery import deliver_document

        deliver_document("fleet", output, fleet_document(judgement), form)
    if (
        len(judgement.missing)
        and not judgement.compared
        and not any(group.nodes for group in judgement.groups)
    ):
        raise Failure("fleet: no node gave an answer that can be read; the reasons stand in the table")
    return 0


def _save_class_without_outliers(name: str, judgement: FleetJudgement) -> None:
    """Of each node that is no outlier its first recording; a triage has no loads."""
    from hostdx.app.features.health import node_class
    from hostdx.app.recordings.reader import BrokenRecording, load_recording

    outliers = {odd.node for odd in judgement.odd}

    def read_runs() -> Iterator[tuple[str, RunSession]]:
        for node, file in judgement.files.items():
            if node not in outliers and not file.endswith(".json"):
                with suppress(BrokenRecording):
                    yield node, load_recording(Path(file))

    print_note(f"class: {node_class.save_node_class(name, read_runs())}")
