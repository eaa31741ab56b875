"""The end of a fleet run: who did not answer and why, and the judgement on those that did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.terminal.failure import COULD_NOT, INTERRUPTED
from app.terminal.output import print_note
from app.terminal.printable import make_printable

if TYPE_CHECKING:
    from app.features.fleet.launch.campaign import FleetCampaign


def report_outcome(fleet: FleetCampaign, margin: float) -> int:
    """The exit status: 3 where most nodes did not answer. After a stop there is no judgement: `--resume` takes the rest
    up again.
    """
    from app.features.fleet.launch.campaign import unanswered_lines

    for line in unanswered_lines(fleet):
        print_note(make_printable(line))
    print_note(make_printable(f"answers: {fleet.folder.path}"))
    if fleet.was_interrupted:
        print_note(
            make_printable(
                f"to measure the rest, give the same options with --resume {fleet.folder.path}, without -o"
            )
        )
        return INTERRUPTED
    if not fleet.answered_nodes():
        return COULD_NOT
    from app.features.fleet.reading import read_fleet
    from app.features.fleet.report import fleet_document
    from app.report.delivery import deliver_document

    document = fleet_document(read_fleet((str(fleet.folder.path),)).judge_answers(margin))
    deliver_document("fleet", None, document, "md")
    return COULD_NOT if 2 * len(fleet.answered_nodes()) < len(fleet.head.nodes) else 0
