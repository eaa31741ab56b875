"""`hostdx watch`: the nightly battery: its timer, a night, and how it stands."""

from __future__ import annotations

import os
import re
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import click

from app.cli.look import with_colour
from app.cli.options import Directory
from app.failure import COULD_NOT, USAGE, Failure
from app.output import complain, out, out_parts
from app.printable import printable
from scenarios.finding import SEVERITIES

if TYPE_CHECKING:
    from app.watch.battery import Wanted
    from app.watch.night import Tonight
    from scenarios.nights.history import History

AT = "02:30"
LEAST_KEPT, KEEP = 7, 180  # nights
KEPT = click.IntRange(min=LEAST_KEPT)
KEPT.name = "number of nights"  # click says "integer range"


def _clock(_ctx: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", value):
        raise click.BadParameter(f"{value!r} is no time of day; write 02:30")
    return value


@with_colour
@click.command()
@click.option("--install", is_flag=True, help="Measure every night: a systemd timer, kept until --remove.")
@click.option("--remove", is_flag=True, help="Remove the timer; the nights stay.")
@click.option("--night", is_flag=True, help="Measure tonight's battery now: what the timer runs.")
@click.option("--dry-run", is_flag=True, help="With --install: show the plan; change nothing.")
@click.option("--units", is_flag=True, help="Print the units and a cron line; change nothing.")
@click.option(
    "--at", default=AT, callback=_clock, metavar="HH:MM", show_default=True, help="When a night begins."
)
@click.option(
    "--dir", "directory", type=Directory(), help="Directory to measure in (default: the battery's own)."
)
@click.option("--keep", type=KEPT, default=KEEP, show_default=True, metavar="N", help="Nights that are kept.")
@click.option(
    "--textfile",
    type=click.Path(),
    metavar="FILE.prom",
    help="Write OpenMetrics text for node_exporter's textfile collector after each night.",
)
@click.option(
    "--fleet",
    type=click.Path(),
    metavar="DIR",
    help="Other nodes' nights: what all of them had in a night is taken off.",
)
@click.option("--yes", "-y", is_flag=True, help="Agree to the changes listed in the plan.")
@click.option("--json", "as_json", is_flag=True, help="With --night: print the history as one JSON document.")
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    help="With --night: exit with status 1 if a load is slower and that finding has this severity or a worse one.",
)
def watch(
    install: bool,
    remove: bool,
    night: bool,
    dry_run: bool,
    units: bool,
    at: str,
    directory: str | None,
    keep: int,
    textfile: str | None,
    fleet: str | None,
    yes: bool,
    as_json: bool,
    fail_on: str | None,
) -> int:
    """Measure a minute's battery every night, and say when something became slower. Alone: how it stands."""
    if install + remove + night + units > 1:
        raise click.UsageError("--install, --remove, --night and --units: choose one")
    from app.watch.battery import Wanted
    from app.watch.openmetrics import SUFFIX

    if textfile is not None and not textfile.endswith(SUFFIX):
        raise Failure(f"watch: {textfile}: node_exporter reads files that end in {SUFFIX} only", USAGE)
    wanted = Wanted(
        directory=directory or "",
        keep=keep,
        textfile=os.path.abspath(textfile) if textfile else "",  # noqa: PTH100
        fleet=os.path.abspath(fleet) if fleet else "",  # noqa: PTH100
    )
    if install or units:
        return _install(at, wanted, yes=yes, dry_run=dry_run, units=units)
    if remove:
        return _remove()
    if night:
        return _night(wanted, as_json=as_json, fail_on=fail_on)
    return _status()


def _install(at: str, wanted: Wanted, *, yes: bool, dry_run: bool, units: bool) -> int:
    from app.watch.battery import checked
    from app.watch.timer import NAME, REMOVE, Timer, install, systemd_runs

    checked(wanted)
    timer = Timer(at=at, wanted=wanted)
    if os.geteuid() == 0:
        timer.check_program()
    if dry_run:
        from app.report.plan_text import plan_lines

        for line in plan_lines(timer.plan()):
            out_parts(line)
        return 0
    if units or os.geteuid() != 0 or not systemd_runs():
        if not units:
            why = "only root installs a timer" if systemd_runs() else "no systemd runs here"
            complain(
                f"watch: not installed: {why}; a line for `crontab -e`, or the units for who may install them:"
            )
        out(timer.cron)
        for name, text in ((f"{NAME}.service", timer.service), (f"{NAME}.timer", timer.timer)):
            out(f"\n# /etc/systemd/system/{name}\n{text}".rstrip("\n"))
        return 0 if units else COULD_NOT
    install(timer, yes=yes)
    out(f"installed: every night at {at}; `{REMOVE}` removes it, `hostdx history` shows the nights")
    return 0


def _remove() -> int:
    from app.watch.timer import remove

    failed = False
    for one in remove():
        change = one.told
        failed = failed or change.state == "failed"
        (complain if change.state == "failed" else out)(printable(change.line))
    return COULD_NOT if failed else 0


def _night(wanted: Wanted, *, as_json: bool, fail_on: str | None) -> int:
    from app.cli.recorded.history import fails
    from app.report.json_document import encoded
    from app.watch import night as nights
    from probes.host import Host

    def busy() -> str:
        with closing(Host()) as host:
            return nights.busy(host)

    measure = nights.measured(wanted, ["hostdx", *sys.argv[1:]], lambda event: None, complain)
    found = nights.night(wanted, measure, complain, busy=busy)
    if as_json:
        import msgspec

        from scenarios import events as ev

        document = msgspec.to_builtins(found.history, str_keys=True)
        out(encoded({"schema": ev.SCHEMA, "skipped": found.skipped, **document}))
    else:
        _told(found)
    if found.failed or found.skipped:
        return COULD_NOT
    return int(fails(found.history, fail_on))


def _told(found: Tonight) -> None:
    if found.skipped:
        complain(printable(f"watch: not measured: {found.skipped}"))
    elif found.failed:
        complain(printable(f"watch: {found.failed}"))
    _headline(found.history)


def _headline(history: History) -> None:
    from app.report.results.nights import headline

    out(printable("".join(words if isinstance(words, str) else words.text for words in headline(history))))


def _status() -> int:
    from app.recording.nights import Nights
    from app.watch.night import folder
    from app.watch.timer import installed

    found = installed()
    if found is None:
        out("not installed; `hostdx watch --install` measures a minute's battery every night")
    else:
        out(printable(f"installed: {' '.join(found.header.command)}"))
    nights = Nights(folder())
    if nights.files:
        last = nights.runs()[-1]
        reason = f" ({last.reason})" if last.reason else ""
        out(printable(f"last night: {last.wall}, {last.state}{reason}"))
        _headline(nights.history())
    return 0
