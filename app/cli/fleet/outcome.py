"""The end of a fleet run: who did not answer and why, and the judgement on those that did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.failure import COULD_NOT, INTERRUPTED
from app.output import say
from app.printable import printable

if TYPE_CHECKING:
    from app.fleet.launch.campaign import Campaign


def told(fleet: Campaign, margin: float) -> int:
    """The exit status: 3 where most nodes did not answer. After a stop there is no judgement: `--resume` takes the rest
    up again.
    """
    from app.fleet.launch.campaign import unanswered

    for line in unanswered(fleet):
        say(printable(line))
    say(printable(f"answers: {fleet.folder.path}"))
    if fleet.interrupted:
        say(
            printable(
                f"to measure the rest, give the same options with --resume {fleet.folder.path}, without -o"
            )
        )
        return INTERRUPTED
    if not fleet.answered():
        return COULD_NOT
    from app.fleet.reading import fleet_of
    from app.report.forms.delivery import deliver_document
    from app.report.results.fleet import fleet_document

    document = fleet_document(fleet_of((str(fleet.folder.path),)).judged(margin))
    deliver_document("fleet", None, document, "md")
    return COULD_NOT if 2 * len(fleet.answered()) < len(fleet.head.nodes) else 0
