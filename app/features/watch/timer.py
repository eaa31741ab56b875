"""The timer of the watch: a systemd unit with its timer, or a line for cron, and installing it as a change that stays.

systemd.timer(5): `FixedRandomDelay` gives each host its own minute, the same every night, so that the nodes of a farm
do not write to one file server at once. A night that was missed is missed: nobody wants it in the morning.
"""

import shlex
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import msgspec

from hostdx.app.features.watch.battery import WRITES_BYTES, NightSettings, make_night_plan, night_arguments
from hostdx.app.run import consent
from hostdx.app.state import journal_dir, remove_leftovers_and_check_room
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.invocation import code_writers_objection, own_command
from hostdx.app.terminal.process import process_identity
from hostdx.app.undo import undo
from hostdx.app.undo.changes import HostChanges
from hostdx.app.undo.journal import SCHEMA, JournalHeader, JournalLocked
from hostdx.probes.files.path_ownership import describe_exposure_of_root
from hostdx.probes.units import format_size
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.plan import Plan

UNITS = Path("/etc/systemd/system")
NAME = "hostdx-watch"
REMOVE = "hostdx watch --remove"
NICE = 10
MAX_NIGHT_S = 900  # of a night, its retest included


class WatchTimer(msgspec.Struct, frozen=True, kw_only=True):
    """`at`: HH:MM of the host's clock."""

    at: str
    wanted: NightSettings
    remove_command: str = REMOVE

    @property
    def files(self) -> dict[str, str]:
        return {f"{NAME}.service": self.service_unit, f"{NAME}.timer": self.timer_unit}

    @property
    def service_unit(self) -> str:
        return self._filled_unit_text("service")

    @property
    def timer_unit(self) -> str:
        return self._filled_unit_text("timer")

    def _filled_unit_text(self, kind: str) -> str:
        text = Path(__file__).with_name(f"{NAME}.{kind}").read_text("utf-8")
        return text.format(
            command=quote_unit_command(self.night_command), nice=NICE, most_s=MAX_NIGHT_S, at=self.at
        )

    @property
    def cron_line(self) -> str:
        """crontab(5): a `%` would end the command."""
        hour, _, minute = self.at.partition(":")
        command = shlex.join(("nice", "-n", str(NICE), "ionice", "-c2", "-n7", *self.night_command))
        return f"{int(minute)} {int(hour)} * * * {command} >/dev/null 2>&1".replace("%", r"\%")

    @property
    def night_command(self) -> tuple[str, ...]:
        return (*own_command(), "watch", "--night", *night_arguments(self.wanted))

    def install_plan(self) -> Plan:
        """Return what installing it changes, and what a night then does."""
        battery = make_night_plan(self.wanted)
        return Plan(
            scenario="watch",
            title="a benchmark set of one minute every night",
            question="Since when is this host slower, and what changed then?",
            actions=self.install_actions,
            writes=battery.writes,
            seconds=battery.seconds,
            measuring_s=battery.measuring_s,
            rights=("root",),
            left_out=battery.left_out,
            sentences=(
                f"runs {shlex.join(self.night_command)}",
                *((rulers,) if (rulers := describe_exposure_of_root(self.wanted.directory)) else ()),
                f"every night at {self.at} and up to an hour later, at low priority; not while others keep the host "
                "busy",
                "once more in a night whose figures are low",
                f"keeps the newest {self.wanted.keep} nights and those of the baseline",
                f"stays until `{REMOVE}`",
            ),
        ).with_digest()

    @property
    def install_actions(self) -> tuple[Action, ...]:
        return install_unit_actions(
            self.files,
            enabled=f"{NAME}.timer",
            risk=f"this host is measured every night: at most {format_size(2 * WRITES_BYTES)} are written",
        )

    @property
    def install_arguments(self) -> tuple[str, ...]:
        return ("--install", *night_arguments(self.wanted))

    @property
    def installed_text(self) -> str:
        return (
            f"installed: every night at {self.at}; `{REMOVE}` removes it, `hostdx history` shows the nights"
        )


class InstallableUnits(Protocol):
    """Units of systemd that stay until they are removed by `remove_command`. `files`: their texts by name."""

    @property
    def remove_command(self) -> str: ...

    @property
    def files(self) -> Mapping[str, str]: ...

    @property
    def cron_line(self) -> str: ...

    @property
    def install_arguments(self) -> tuple[str, ...]: ...

    @property
    def installed_text(self) -> str: ...

    def install_plan(self) -> Plan: ...


def units_text(units: InstallableUnits) -> str:
    """Return a line for cron, where there is one, and the units: for who may install them."""
    files = (f"# {UNITS / name}\n{text}".rstrip("\n") for name, text in units.files.items())
    return "\n\n".join(filter(None, (units.cron_line, *files)))


def check_program_is_safe() -> None:
    """Root's units run nothing that others could replace. Raises Failure."""
    if owner_text := code_writers_objection(own_command()):
        raise Failure(
            f"watch: {own_command()[0]}: {owner_text}, who could change what root runs; install hostdx where only root "
            "may write (/usr/local, a .deb or .rpm), or use your own crontab: `hostdx watch --units`"
        )


def install_unit_actions(files: Mapping[str, str], *, enabled: str, risk: str) -> tuple[Action, ...]:
    """`files`: the text of each unit by its name; `enabled`: the one that is enabled and started."""
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
            kind="command", title=f"{enabled} is enabled and started", target=enabled, consent=True,
            apply=("systemctl", "enable", "--now", enabled), undo=("systemctl", "disable", "--now", enabled),
            survives_reboot=True, risk=risk,
        ),
    )  # fmt: skip


def quote_unit_command(command: tuple[str, ...]) -> str:
    """systemd.service(5), "Command lines": double quotes, `%` and `$` doubled."""

    def quote_word(text: str) -> str:
        safe = text.replace("%", "%%").replace("$", "$$")
        if safe and not any(c in safe for c in " \t\"'\\;"):
            return safe
        return '"' + safe.replace("\\", r"\\").replace('"', r"\"") + '"'

    return " ".join(map(quote_word, command))


def has_systemd() -> bool:
    """sd_booted(3)."""
    return Path("/run/systemd/system").is_dir()


def find_installation(remove_command: str = REMOVE) -> undo.Leftover | None:
    """The journal of what this command removes, where it is installed."""
    all_leftovers, _ = undo.find_leftovers()
    return next(
        (
            leftover
            for leftover in all_leftovers
            if leftover.header.kept == remove_command and leftover.entries
        ),
        None,
    )


def install_units(units: InstallableUnits, *, yes: bool) -> None:
    """With consent, journalled, all of it or nothing. Raises Failure."""
    if find_installation(units.remove_command) is not None:
        raise Failure(f"watch: is installed already; `{units.remove_command}` first, to install it otherwise")
    check_program_is_safe()
    plan = units.install_plan()
    shown = " ".join(("hostdx", "watch", *units.install_arguments[:2], "--dry-run"))
    agreed = consent.ask_consent_for_plan(plan, yes=yes, digest="", show_command=shown)
    remove_leftovers_and_check_room()
    me = process_identity()
    header = JournalHeader(
        schema=SCHEMA,
        run=f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-watch{'-'.join(units.install_arguments[:1])}-{me.pid}",
        who=me,
        command=["hostdx", "watch", *units.install_arguments],
        recording="",
        began_s=time.monotonic(),
    )
    troubles: list[str] = []
    changes = HostChanges(
        plan=plan, consented=agreed, header=header, lies_on=lambda _: "", warn=troubles.append
    )
    applied: list[str] = []
    try:
        for action in plan.actions:
            applied.append(changes.apply_action(action).id)
        changes.keep_all(units.remove_command)
    except (Failure, OSError) as why:
        for identifier in reversed(applied):
            changes.revert_action(identifier)
        raise Failure(f"watch: not installed: {why}; what was begun is undone") from None
    finally:
        changes.close_journal()


def remove_units(remove_command: str = REMOVE) -> list[undo.UndoneEntry]:
    """Return what its installation had made. What was recorded stays. Raises Failure."""
    installation = find_installation(remove_command)
    if installation is None:
        raise Failure(f"watch: is not installed here ({journal_dir()})")
    try:
        journal = undo.lock_journal(installation.path, undo.PATIENCE_S)
    except JournalLocked:
        raise Failure("watch: another hostdx is using its journal; try again in a moment") from None
    if journal is None:
        return []
    try:
        return undo.undo_entries(journal, include_kept=True)
    finally:
        journal.close()
