"""`hostdx watch`: the nightly battery: its timer, a night, and how it stands."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import click

from hostdx.app.cli.look import add_color_option, check_hh_mm
from hostdx.app.cli.options import DirectoryParameter
from hostdx.app.terminal.failure import COULD_NOT, USAGE, Failure
from hostdx.app.terminal.output import print_line, print_parts, print_problem, print_result
from hostdx.app.terminal.printable import make_printable
from hostdx.scenarios.contract.finding import SEVERITIES

if TYPE_CHECKING:
    from hostdx.app.features.watch.battery import NightSettings
    from hostdx.app.features.watch.night import NightOutcome
    from hostdx.app.features.watch.timer import InstallableUnits
    from hostdx.scenarios.analysis.nights.history import HostHistory

AT = "02:30"
MIN_KEPT_RUNS, KEEP = 7, 180  # nights
KEPT = click.IntRange(min=MIN_KEPT_RUNS)
KEPT.name = "number of nights"  # click says "integer range"


@add_color_option
@click.command()
@click.option("--install", is_flag=True, help="Measure every night: a systemd timer, kept until --remove.")
@click.option(
    "--remove",
    is_flag=True,
    help="Remove the timer, or with --incidents the service. Recordings stay.",
)
@click.option("--night", is_flag=True, help="Run tonight's benchmark set now, as the timer does.")
@click.option(
    "--incidents",
    is_flag=True,
    help="Record the incident book for `hostdx incident`, until you stop it. With --install: as a service.",
)
@click.option("--dry-run", is_flag=True, help="With --install: show the plan; change nothing.")
@click.option("--units", is_flag=True, help="Print the units and a cron line; change nothing.")
@click.option(
    "--at", default=AT, callback=check_hh_mm, metavar="HH:MM", show_default=True, help="When a night begins."
)
@click.option(
    "--dir",
    "directory",
    type=DirectoryParameter(),
    help="Directory to measure in (default: the benchmark set's own).",
)
@click.option(
    "--keep", type=KEPT, default=KEEP, show_default=True, metavar="N", help="Number of nights to keep."
)
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
    help="Directory of other nodes' results; changes common to all nodes are ignored.",
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
    incidents: bool,
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
    """Run a benchmark set of one minute every night, and say when a load became slower.

    Without options: show the status.
    """
    if install + remove + night + units > 1:
        raise click.UsageError("--install, --remove, --night and --units: choose one")
    if incidents:
        if night:
            raise click.UsageError("--night and --incidents: choose one")
        return _install_or_record(install=install, remove=remove, units=units, yes=yes, dry_run=dry_run)
    from hostdx.app.features.watch.battery import NightSettings
    from hostdx.app.features.watch.openmetrics import SUFFIX

    if textfile is not None and not textfile.endswith(SUFFIX):
        raise Failure(f"watch: {textfile}: node_exporter reads files that end in {SUFFIX} only", USAGE)
    wanted = NightSettings(
        directory=directory or "",
        keep=keep,
        textfile=os.path.abspath(textfile) if textfile else "",  # noqa: PTH100
        fleet=os.path.abspath(fleet) if fleet else "",  # noqa: PTH100
    )
    if install or units:
        from hostdx.app.features.watch.battery import check_directories
        from hostdx.app.features.watch.timer import WatchTimer

        check_directories(wanted)
        return _install_or_show(WatchTimer(at=at, wanted=wanted), yes=yes, dry_run=dry_run, only_print=units)
    if remove:
        return _remove_and_get_status()
    if night:
        return _measure_and_print_night(wanted, as_json=as_json, fail_on=fail_on)
    return _print_status()


def _install_or_show(units: InstallableUnits, *, yes: bool, dry_run: bool, only_print: bool) -> int:
    from hostdx.app.features.watch.timer import check_program_is_safe, has_systemd, install_units, units_text

    if os.geteuid() == 0:
        check_program_is_safe()
    if dry_run:
        from hostdx.app.report.plan_text import plan_lines

        for line in plan_lines(units.install_plan()):
            print_parts(line)
        return 0
    if only_print or os.geteuid() != 0 or not has_systemd():
        if not only_print:
            why = "only root installs units" if has_systemd() else "no systemd runs here"
            print_problem(f"watch: not installed: {why}; for who may install it:")
        print_result(units_text(units))
        return 0 if only_print else COULD_NOT
    install_units(units, yes=yes)
    print_result(units.installed_text)
    return 0


def _record_until_stopped() -> int:
    """Until it is stopped. A second recorder of the same book would only write everything twice."""
    from datetime import UTC, datetime

    from hostdx.app.features.watch.incidents.book import BookWriter, book_folder
    from hostdx.app.features.watch.incidents.recorder import NICE, IncidentRecorder, PressureTriggers
    from hostdx.app.features.watch.incidents.summaries import summarise_hours
    from hostdx.app.locks import LockFile

    lock = LockFile("incidents", "watch --incidents", "watch", f"{datetime.now(UTC):%Y-%m-%d %H:%M}")
    book, triggers = BookWriter(book_folder(), after_segment=summarise_hours), PressureTriggers()
    os.nice(NICE)
    print_problem(f"watch: a look every ten seconds goes to {book.folder}; `hostdx incident` reads it")
    try:
        IncidentRecorder(book, triggers.wait).record()
    finally:
        triggers.close()
        book.close()
        lock.release_lock()
    return 0


def _install_or_record(*, install: bool, remove: bool, units: bool, yes: bool, dry_run: bool) -> int:
    """Without `install`, `remove` and `units` the book is recorded."""
    from hostdx.app.features.watch.incidents.recorder import REMOVE, IncidentService

    if remove:
        return _remove_and_get_status(REMOVE)
    if not install and not units:
        return _record_until_stopped()
    return _install_or_show(IncidentService(), yes=yes, dry_run=dry_run, only_print=units)


def _remove_and_get_status(remove_command: str | None = None) -> int:
    from hostdx.app.features.watch.timer import REMOVE, remove_units

    failed = False
    for removal in remove_units(remove_command or REMOVE):
        change = removal.change_report
        failed = failed or change.state == "failed"
        (print_problem if change.state == "failed" else print_result)(make_printable(change.change_line))
    return COULD_NOT if failed else 0


def _measure_and_print_night(wanted: NightSettings, *, as_json: bool, fail_on: str | None) -> int:
    from hostdx.app.features.watch import night as nights
    from hostdx.app.features.watch.history_command import reaches_severity
    from hostdx.app.report.json_document import to_json_text
    from hostdx.probes.reading.host import Host

    def find_busy_reason() -> str:
        with closing(Host()) as host:
            return nights.busy_reason(host)

    measure = nights.make_night_measure(wanted, ["hostdx", *sys.argv[1:]], lambda _event: None, print_problem)
    tonight = nights.measure_night(wanted, measure, print_problem, why_busy=find_busy_reason)
    if as_json:
        import msgspec

        from hostdx.scenarios.contract import events as ev

        document = msgspec.to_builtins(tonight.history, str_keys=True)
        print_result(to_json_text({"schema": ev.SCHEMA, "skipped": tonight.skipped, **document}))
    else:
        _print_outcome(tonight)
    if tonight.failed or tonight.skipped:
        return COULD_NOT
    return int(reaches_severity(tonight.history, fail_on))


def _print_outcome(tonight: NightOutcome) -> None:
    if tonight.skipped:
        print_problem(f"watch: not measured: {tonight.skipped}")
    elif tonight.failed:
        print_problem(f"watch: {tonight.failed}")
    _print_headline(tonight.history)


def _print_headline(history: HostHistory) -> None:
    from hostdx.app.features.watch.report import headline_text

    print_line(headline_text(history))


def _print_status() -> int:
    from hostdx.app.features.watch.night import nights_folder
    from hostdx.app.features.watch.nights import NightsFolder
    from hostdx.app.features.watch.timer import find_installation

    timer = find_installation()
    if timer is None:
        print_result("not installed; `hostdx watch --install` runs a benchmark set of one minute every night")
    else:
        print_line(f"installed: {' '.join(timer.header.command)}")
    nights = NightsFolder(nights_folder())
    if nights.recording_paths:
        last = nights.read_runs()[-1]
        reason = f" ({last.reason})" if last.reason else ""
        print_line(f"last night: {last.wall}, {last.state}{reason}")
        _print_headline(nights.read_history())
    return 0
