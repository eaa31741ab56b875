"""The processes and threads of a job: by its pids with all their descendants, or by its control group."""

from probes.reading.host import Host
from probes.reading.process_stat import ProcessStat, read_stat
from probes.system.running import processes
from probes.types import Absent

MAX_TASKS = 512  # threads looked at, twenty times a second


def pids_with_descendants(host: Host, pids: tuple[int, ...]) -> tuple[int, ...]:
    """Those of `pids` that exist, and everything they started."""
    everybody = processes.read_process_table(host, io=False).processes
    there = [pid for pid in dict.fromkeys(pids) if pid in everybody]
    return (*there, *processes.find_descendants(everybody, there))


def task_stat_paths(host: Host, pids: tuple[int, ...]) -> tuple[str, ...]:
    """The stat files of their threads, at most 512."""
    paths: list[str] = []
    for pid in pids:
        threads = host.list_names(f"/proc/{pid}/task")
        if not isinstance(threads, Absent):
            paths += [f"/proc/{pid}/task/{tid}/stat" for tid in threads]
        if len(paths) >= MAX_TASKS:
            break
    return tuple(paths[:MAX_TASKS])


def read_stats(host: Host, paths: tuple[str, ...]) -> tuple[ProcessStat, ...]:
    """One look at each; those that have ended are left out."""
    return tuple(stat for path in paths if (stat := read_stat(host, path)) is not None)
