"""What killed runs left, in one line each, for whoever reads the host or is about to measure on it."""

from pathlib import Path

from hostdx.app.undo import undo
from hostdx.app.undo.journal import JournalEntry
from hostdx.app.undo.journal_disk import block_device_of_attribute
from hostdx.app.undo.undo import Leftover
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.backing import devices_with_loops_under
from hostdx.probes.types import Absent
from hostdx.probes.units import count_noun, join_names
from hostdx.scenarios.contract.plan import Plan

MAX_NAMED_CHANGES = 3


def leftover_lines() -> list[str]:
    """One line for each journal with something open in it; also for one that cannot be read."""
    all_leftovers, troubles = undo.find_leftovers()
    return troubles + [held_changes_line(leftover) for leftover in all_leftovers if leftover.is_open]


def held_changes_line(leftover: Leftover) -> str:
    run, count = leftover.header.run, len(leftover.entries)
    if leftover.living:
        pid = leftover.header.who.pid
        return (
            f"a run is under way ({run}, pid {pid}) and holds {count_noun(count, 'change')}: "
            f"{_changed_settings_text(leftover)}"
        )
    ended = f"an earlier run ({run}) ended without undoing {count_noun(count, 'change')}"
    return f"{ended}: {_changed_settings_text(leftover)}; see `hostdx undo`"


def _changed_settings_text(leftover: Leftover) -> str:
    if undo.is_from_earlier_boot(leftover.header.who):
        return "a reboot undid the settings; files may be left"
    settings = [_setting_text(entry) for entry in leftover.setting_entries]
    if not settings:
        return "no setting"
    return join_names(settings, MAX_NAMED_CHANGES)


def _setting_text(entry: JournalEntry) -> str:
    if entry.action.kind != "attribute":
        return entry.action.title
    return f"{entry.action.target} is {entry.value}, was {entry.old}"


def is_in_the_way(host: Host, leftover: Leftover, plan: Plan) -> bool:
    """Return whether a run of this plan would measure, or change, what the killed run left changed.

    A run that makes nothing and changes nothing only watches: it is wanted most when something hangs.
    """
    if not leftover.setting_entries or not plan.actions or undo.is_from_earlier_boot(leftover.header.who):
        return False
    if plan.needs_consent:
        return True
    changed = {block_device_of_attribute(entry.action.target) for entry in leftover.setting_entries}
    if "" in changed:  # no block device's: it may bear on anything that is measured
        return True
    met = {written.device for written in plan.writes}
    for action in plan.actions:
        if action.target.startswith("/"):
            under = devices_with_loops_under(host, str(Path(action.target).parent))
            if isinstance(under, Absent):
                return True
            met |= under.keys()
    return bool(changed & met)
