"""The timer of the watch: a systemd unit with its timer, or a line for cron, and installing it as a change that stays.

systemd.timer(5): `FixedRandomDelay` gives each host its own minute, the same every night, so that the nodes of a farm
do not write to one file server at once. A night that was missed is missed: nobody wants it in the morning.
"""

import shlex
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from app.failure import Failure
from app.invocation import code_rulers, own_command
from app.process import identity
from app.run import consent
from app.state import check_room, journal_dir
from app.undo import undo
from app.undo.changes import Changes
from app.undo.journal import SCHEMA, Busy, Header
from app.watch.battery import WRITES_BYTES, Wanted, arguments, planned
from probes.action import Action
from probes.path_ownership import exposure
from probes.units import size
from scenarios.plan import Plan

UNITS = Path("/etc/systemd/system")
NAME = "hostdx-watch"
REMOVE = "hostdx watch --remove"
NICE = 10
MOST_S = 900  # of a night, its retest included


class Timer(msgspec.Struct, frozen=True, kw_only=True):
    """`at`: HH:MM of the host's clock."""

    at: str
    wanted: Wanted

    @property
    def service(self) -> str:
        return self._unit("service")

    @property
    def timer(self) -> str:
        return self._unit("timer")

    def _unit(self, kind: str) -> str:
        text = Path(__file__).with_name(f"{NAME}.{kind}").read_text("utf-8")
        return text.format(command=_quoted(self.command), nice=NICE, most_s=MOST_S, at=self.at)

    @property
    def cron(self) -> str:
        """crontab(5): a `%` would end the command."""
        hour, _, minute = self.at.partition(":")
        command = shlex.join(("nice", "-n", str(NICE), "ionice", "-c2", "-n7", *self.command))
        return f"{int(minute)} {int(hour)} * * * {command} >/dev/null 2>&1".replace("%", r"\%")

    @property
    def command(self) -> tuple[str, ...]:
        return (*own_command(), "watch", "--night", *arguments(self.wanted))

    def check_program(self) -> None:
        """Root's timer runs nothing that others could replace. Raises Failure."""
        if who := code_rulers(own_command()):
            raise Failure(
                f"watch: {own_command()[0]}: {who}, who could change what root runs every night; install hostdx "
                "where only root may write (/usr/local, a .deb or .rpm), or use your own crontab: "
                "`hostdx watch --units`"
            )

    def plan(self) -> Plan:
        """What installing it changes, and what a night then does."""
        battery = planned(self.wanted)
        return Plan(
            scenario="watch",
            title="a minute's battery every night",
            question="Since when is this host slower, and what changed then?",
            actions=self.actions,
            writes=battery.writes,
            seconds=battery.seconds,
            measuring_s=battery.measuring_s,
            rights=("root",),
            left_out=battery.left_out,
            sentences=(
                f"runs {shlex.join(self.command)}",
                *((rulers,) if (rulers := exposure(self.wanted.directory)) else ()),
                f"every night at {self.at} and up to an hour later, at low priority; not while others keep the host "
                "busy",
                "once more in a night whose figures are low",
                f"keeps the newest {self.wanted.keep} nights and those of the baseline",
                f"stays until `{REMOVE}`",
            ),
        ).with_digest()

    @property
    def actions(self) -> tuple[Action, ...]:
        files = {f"{NAME}.service": self.service, f"{NAME}.timer": self.timer}
        return (
            Action(
                kind="command", title="systemd reads its units", target="systemd", consent=True,
                apply=("systemctl", "daemon-reload"), undo=("systemctl", "daemon-reload"), survives_reboot=True,
            ),
            *(
                Action(
                    kind="resource", resource="file", title=f"unit {name}", target=str(UNITS / name), new=text,
                    consent=True, survives_reboot=True,
                )
                for name, text in files.items()
            ),
            Action(
                kind="command", title="the timer is enabled and started", target=f"{NAME}.timer", consent=True,
                apply=("systemctl", "enable", "--now", f"{NAME}.timer"),
                undo=("systemctl", "disable", "--now", f"{NAME}.timer"), survives_reboot=True,
                risk=f"this host is measured every night: at most {size(2 * WRITES_BYTES)} are written",
            ),
        )  # fmt: skip


def _quoted(command: tuple[str, ...]) -> str:
    """systemd.service(5), "Command lines": double quotes, `%` and `$` doubled."""

    def word(text: str) -> str:
        safe = text.replace("%", "%%").replace("$", "$$")
        if safe and not any(c in safe for c in " \t\"'\\;"):
            return safe
        return '"' + safe.replace("\\", r"\\").replace('"', r"\"") + '"'

    return " ".join(map(word, command))


def systemd_runs() -> bool:
    """sd_booted(3)."""
    return Path("/run/systemd/system").is_dir()


def installed() -> undo.Leftover | None:
    """Its journal, where it is installed."""
    found, _ = undo.leftovers()
    return next((one for one in found if one.header.kept == REMOVE and one.entries), None)


def install(timer: Timer, *, yes: bool) -> None:
    """With consent, journalled, all of it or nothing. Raises Failure."""
    if installed() is not None:
        raise Failure(f"watch: is installed already; `{REMOVE}` first, to install it otherwise")
    timer.check_program()
    plan = timer.plan()
    agreed = consent.asked(plan, yes=yes, digest="", shown="hostdx watch --install --dry-run")
    check_room()
    me = identity()
    header = Header(
        schema=SCHEMA, run=f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-watch-{me.pid}", who=me,
        command=["hostdx", "watch", "--install", *arguments(timer.wanted)], recording="", began_s=time.monotonic(),
    )  # fmt: skip
    troubles: list[str] = []
    changes = Changes(plan=plan, consented=agreed, header=header, lies_on=lambda _: "", warn=troubles.append)
    applied: list[str] = []
    try:
        for action in plan.actions:
            applied.append(changes.apply(action).id)
        changes.keep(REMOVE)
    except (Failure, OSError) as why:
        for identifier in reversed(applied):
            changes.revert(identifier)
        raise Failure(f"watch: not installed: {why}; what was begun is undone") from None
    finally:
        changes.close()


def remove() -> list[undo.Undone]:
    """What its installation had made. The nights stay. Raises Failure."""
    found = installed()
    if found is None:
        raise Failure(f"watch: is not installed here ({journal_dir()})")
    try:
        journal = undo.take(found.path, undo.PATIENCE_S)
    except Busy:
        raise Failure("watch: another hostdx is using its journal; try again in a moment") from None
    if journal is None:
        return []
    try:
        return undo.undo_entries(journal, kept=True)
    finally:
        journal.close()
