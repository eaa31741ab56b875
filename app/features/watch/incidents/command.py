"""`hostdx incident`: what happened at 03:12, and who did it, from the incident book."""

import os
import re

import click

from hostdx.app.cli.look import add_color_option, check_hh_mm
from hostdx.app.cli.options import format_option, output_option
from hostdx.app.terminal.failure import COULD_NOT, Failure

_SINCE = re.compile(r"([1-9][0-9]{0,4})(m|h|d)")
_SECONDS = {"m": 60, "h": 3600, "d": 86400}


def _parse_since(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    match = _SINCE.fullmatch(value)
    if match is None:
        raise click.BadParameter(f"{value!r} is no time span; write 90m, 12h or 2d")
    return float(int(match[1]) * _SECONDS[match[2]])


@add_color_option
@click.command()
@click.option(
    "--at",
    metavar="HH:MM",
    callback=check_hh_mm,
    help="Show incidents at this time of day, the newest first.",
)
@click.option(
    "--since",
    "since_s",
    metavar="TIME",
    callback=_parse_since,
    help="Show incidents of the last 90m, 12h or 2d.",
)
@click.option("--worst", is_flag=True, help="Show only the worst incident.")
@format_option("md", "html", "json", help="Format of the answer.")
@output_option
def incident(at: str | None, since_s: float | None, worst: bool, form: str, output: str | None) -> int:
    """Show what happened on this host: when, which resource, by which process, and who waited.

    Reads the incident book, which `hostdx watch --incidents` writes.
    """
    from hostdx.app.features.watch.incidents.answer import choose_incidents, judge_book
    from hostdx.app.features.watch.incidents.book import book_folder, read_book
    from hostdx.app.features.watch.incidents.summaries import read_summaries

    folder = book_folder()
    try:
        book = read_book(folder)
    except FileNotFoundError:
        raise Failure("incident: no book here; `hostdx watch --incidents` writes one", COULD_NOT) from None
    except OSError as error:
        raise Failure(f"incident: {folder}: cannot be read: {error.strerror}", COULD_NOT) from None
    answer = judge_book(book, folder, read_summaries(folder))
    if answer.timeline is None:
        raise Failure(
            f"incident: {answer.looks} looks in {folder}: too few to know what is quiet here (20 are needed, one every "
            "ten seconds); ask again later",
            COULD_NOT,
        )
    chosen = choose_incidents(answer, minute=at, since_s=since_s, worst=worst)
    if form == "json":
        from hostdx.app.report.json_document import to_json_text
        from hostdx.app.terminal.output_file import deliver_text
        from hostdx.probes.reading.host import Host
        from hostdx.probes.system.disk.mounts import network_mounts
        from hostdx.scenarios.contract import events as ev

        document = {
            "schema": ev.SCHEMA, "book": answer.folder, "looks": answer.looks, "unreadable": answer.unreadable,
            "host": os.uname().nodename, "first_s": answer.first_s,
            "times": answer.timeline.times, "seconds": answer.timeline.seconds,
            "incidents": [{"incident": incident, "finding": finding} for incident, finding in chosen],
            "mounts": [{"source": mount.source, "fstype": mount.fstype} for mount in network_mounts(Host())],
        }  # fmt: skip
        deliver_text("incident", output, to_json_text(document) + "\n")
        return 0
    from hostdx.app.features.watch.incidents.report import PICTURE_CELLS, SCREEN_CELLS, incident_document
    from hostdx.app.report.delivery import deliver_document

    cells = SCREEN_CELLS if form == "document" else PICTURE_CELLS
    deliver_document("incident", output, incident_document(answer, chosen, at, cells=cells), form)
    return 0
