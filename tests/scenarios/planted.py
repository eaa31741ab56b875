"""Faults and traps: files that are planted into a healthy server, as `tests/data/planted` has them, lines of daemons,
and what is too long to be written down.

A fault's files are planted and the rule must speak; a trap's look much the same, and nobody may be accused.
"""

import tomllib
from pathlib import Path

from hostdx.scenarios.triage.rules.known import load_written_rules
from hostdx.scenarios.triage.rules.rule_file import RuleFile

DATA = Path(__file__).parents[1] / "data"
_TABLES = [tomllib.loads(path.read_text()) for path in sorted((DATA / "planted").glob("*.toml"))]
_LINES = [line.split("\t") for line in (DATA / "service_log/faults.tsv").read_text().splitlines()]
_INNOCENT = [line.split("\t") for line in (DATA / "service_log/traps.tsv").read_text().splitlines()]


def our_rules() -> RuleFile:
    """The rules of hostdx without a site's, and with the rows that test them. They are parsed for who asks: each of
    the four workers imports every test."""
    return load_written_rules(Path("/nonexistent"), tested=False)


PS = "sos_commands/process/ps_alxwww"
_HEAD = "F   UID     PID    PPID PRI  NI    VSZ   RSS WCHAN  STAT TTY        TIME COMMAND\n"
SEMAPHORES = "       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n"


def process(pid: int, parent: int, state: str, command: str) -> str:
    return f"4     0 {pid:7d} {parent:7d}  20   0  16000  9000 -      {state}   ?          0:09 {command}\n"


def cron_jobs(count: int, command: str) -> dict[str, str]:
    """Each child of cron's own with a command, in which {n} is its number."""
    lines = [process(900, 1, "Ss", "/usr/sbin/crond -n")]
    for n in range(1000, 1000 + count):
        lines += [
            process(2 * n, 900, "S", "/usr/sbin/CROND -n"),
            process(2 * n + 1, 2 * n, "Ss", command.format(n=n)),
        ]
    return {PS: _HEAD + "".join(lines)}


def plant_zombies(count: int) -> dict[str, str]:
    dead = "".join(process(n, 4711, "Z", "[sh] <defunct>") for n in range(10_000, 10_000 + count))
    return {PS: _HEAD + process(4711, 1, "Ss", "python3 /app.py") + dead}


def plant_sessions(count: int) -> dict[str, str]:
    line = "  session-{n}.scope loaded active abandoned Session {n} of user nagios\n"
    return {"sos_commands/systemd/systemctl_list-units": "".join(line.format(n=n) for n in range(count))}


def plant_mounts(count: int) -> dict[str, str]:
    more = "".join(f"{n} 30 0:{n} / /run/m/{n} rw - tmpfs tmpfs rw\n" for n in range(100, 100 + count))
    return {"proc/self/mountinfo": f"30 1 8:1 / / rw,relatime - xfs /dev/sda1 rw\n{more}"}


def plant_semaphores(count: int) -> dict[str, str]:
    line = "         0 {n:10d}   600          1    48    48    48    48          0 1700000000\n"
    table = SEMAPHORES + "".join(line.format(n=n) for n in range(count))
    return {"proc/sysvipc/sem": table, "proc/sys/kernel/sem": "32000\t1024000000\t500\t128"}


def open_files(count: int) -> dict[str, str]:
    files = {f"proc/4123/fd/{number}": "" for number in range(count)}
    return files | {
        "proc/4123/stat": "4123 (xrootd) S 1 1 1 0 -1 0 0 0 0 0 7 7 0 0 20 0 1 0 600 0 0\n",
        "proc/4123/status": "Name:\txrootd\nFDSize:\t1024\n",
        "proc/4123/limits": "Limit  Soft Limit  Hard Limit  Units\nMax open files  1024  524288  files\n",
        "proc/4123/cgroup": "0::/system.slice/xrootd@clustered.service\n",
    }


def memory_blocks(state: str) -> dict[str, str]:
    """264 blocks of 128 MiB as the host booted, and 128 more that were added while it ran."""
    folder = "sys/devices/system/memory"
    states = {f"{folder}/memory{n}/state": "online" if n < 264 else state for n in range(392)}
    total = 33000000 if state == "offline" else 49000000
    states[f"{folder}/auto_online_blocks"] = "offline"
    return states | {f"{folder}/block_size_bytes": "8000000\n", "proc/meminfo": f"MemTotal: {total} kB\n"}


def firewall_rules(count: int) -> dict[str, str]:
    head = (
        "Chain INPUT (policy ACCEPT 0 packets, 0 bytes)\n"
        " pkts bytes target     prot opt in     out     source               destination\n"
    )
    line = " 12 960 DROP all -- * * 192.0.2.1 0.0.0.0/0\n"
    return {"sos_commands/networking/iptables_-vnxL": head + line * count}


def browsed_homes(count: int) -> dict[str, str]:
    homes = "".join(f"user{n} -rw filer:/home/&\n" for n in range(count))
    return {"etc/autofs.conf": "[ autofs ]\nbrowse_mode = yes\n", "etc/auto.home": homes}


def service_log(program: str, count: int, line: str, *later_lines: str) -> dict[str, str]:
    """The system's log with this line of a program, several times, then later ones, and one of another program."""
    name, pid = ("systemd", 1) if program == "systemd" else (program.partition(" ")[0], 812)
    messages = [line] * count + [*later_lines]
    heads = (f"Nov 24 02:{n // 60:02d}:{n % 60:02d} srv" for n in range(len(messages)))
    text = "".join(
        f"{head} {name}[{pid}]: {message}\n" for head, message in zip(heads, messages, strict=True)
    )
    return {"var/log/messages": f"{text}Nov 24 02:59:59 srv systemd[1]: Reached target Basic System.\n"}


# Settings that a remedy changes, as the host has them.
SETTINGS = {
    "service.map-count": {"proc/sys/vm/max_map_count": "65530"},
    "service.redis-save": {"proc/sys/vm/overcommit_memory": "0"},
    "service.inotify": {
        "proc/sys/fs/inotify/max_user_instances": "128",
        "proc/sys/fs/inotify/max_user_watches": "8192",
    },
}
PLANTED: list[tuple[str, str, dict[str, str]]] = [
    *((fault["rule"], fault["severity"], fault["files"]) for table in _TABLES for fault in table["fault"]),
    *(
        (rule, severity, service_log(program, int(n), line) | SETTINGS.get(rule, {}))
        for rule, severity, program, n, line in _LINES
    ),
    ("host.zombies", "warning", plant_zombies(1200)),
    ("host.zombies", "notice", plant_zombies(120)),
    ("host.cron-overlap", "warning", cron_jobs(40, "/usr/local/bin/sync_scratch.sh")),
    ("host.left-sessions", "notice", plant_sessions(900)),
    ("host.mount-table", "notice", plant_mounts(6000)),
    ("host.semaphores", "warning", plant_semaphores(125)),
    ("host.open-files", "warning", open_files(980)),
    ("host.open-files", "critical", open_files(1023)),
    ("memory.offline", "warning", memory_blocks("offline")),
    ("net.ruleset-length", "warning", firewall_rules(6000)),
    ("storage.btrfs-quota", "warning", {f"sys/fs/btrfs/0a1b/qgroups/0_{n}": "" for n in range(400)}),
    ("storage.browse-mode", "notice", browsed_homes(600)),
]
TRAPS: list[tuple[str, dict[str, str]]] = [
    *((trap["rule"], trap["files"]) for table in _TABLES for trap in table.get("trap", ())),
    *((rule, service_log(program, int(n), *lines)) for rule, program, n, *lines in _INNOCENT),
    ("host.cron-overlap", cron_jobs(20, "/usr/local/bin/job{n}.sh")),
    ("host.mount-table", plant_mounts(800)),
    ("host.open-files", open_files(700)),
    ("memory.offline", memory_blocks("online")),
]
