"""The processes and threads of a job: by its pids with all their descendants, or by its control group."""

from probes.host import Host
from probes.process_stat import ProcessStat, stat_at
from probes.system.running import processes
from probes.types import Absent

MOST_TASKS = 512  # threads looked at, twenty times a second


def descendants(host: Host, pids: tuple[int, ...]) -> tuple[int, ...]:
    """Those of `pids` that exist, and everything they started."""
    everybody = processes.look(host, io=False).processes
    there = [pid for pid in dict.fromkeys(pids) if pid in everybody]
    return (*there, *processes.descendants(everybody, there))


def tasks(host: Host, pids: tuple[int, ...]) -> tuple[str, ...]:
    """The stat files of their threads, at most 512."""
    found: list[str] = []
    for pid in pids:
        threads = host.listing(f"/proc/{pid}/task")
        if not isinstance(threads, Absent):
            found += [f"/proc/{pid}/task/{tid}/stat" for tid in threads]
        if len(found) >= MOST_TASKS:
            break
    return tuple(found[:MOST_TASKS])


def look(host: Host, paths: tuple[str, ...]) -> tuple[ProcessStat, ...]:
    """One look at each; those that have ended are left out."""
    return tuple(found for path in paths if (found := stat_at(host, path)) is not None)
