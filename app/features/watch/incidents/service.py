"""The recorder as a service: a systemd unit, installed as a change that stays until it is removed."""

import shlex
from pathlib import Path

import msgspec

from hostdx.app.features.watch.incidents.book import MAX_BOOK_BYTES, book_dir
from hostdx.app.features.watch.timer import quote_unit_command, unit_actions
from hostdx.app.terminal.invocation import own_command
from hostdx.probes.units import format_size
from hostdx.scenarios.contract.plan import Plan

NAME = "hostdx-incidents.service"
NICE = 5
REMOVE = "hostdx watch --incidents --remove"


class IncidentService(msgspec.Struct, frozen=True):
    """The service that runs `hostdx watch --incidents`."""

    remove_command: str = REMOVE
    cron_line: str = ""
    install_arguments: tuple[str, ...] = ("--incidents", "--install")
    installed_text: str = f"installed: `{REMOVE}` removes it, `hostdx incident` reads the book"

    @property
    def files(self) -> dict[str, str]:
        return {NAME: self.unit_text}

    @property
    def record_command(self) -> tuple[str, ...]:
        return (*own_command(), "watch", "--incidents")

    @property
    def unit_text(self) -> str:
        text = Path(__file__).with_name(NAME).read_text("utf-8")
        return text.format(command=quote_unit_command(self.record_command), nice=NICE)

    def install_plan(self) -> Plan:
        """Return what installing it changes, and what it does then."""
        return Plan(
            scenario="watch",
            title="the incident book: a look at this host every ten seconds",
            question="What happened at a time of the last days, and who did it?",
            actions=unit_actions(
                self.files,
                enabled=NAME,
                risk=f"a process runs all the time, with at most 5 % of one CPU; the book takes at most "
                f"{format_size(MAX_BOOK_BYTES)} of {book_dir()}",
            ),
            rights=("root",),
            sentences=(
                f"runs {shlex.join(self.record_command)} at low priority",
                f"keeps process names, users and control groups in {book_dir()}, which only root reads",
                f"stays until `{REMOVE}`",
            ),
        ).with_digest()
