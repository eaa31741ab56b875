"""What calls of fstrim reach: systemd's unit with its drop-ins, cron's lines, and what /etc/fstab leaves out."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.mounts import find_mount, read_mounts, unescape_mount_text
from hostdx.probes.types import is_present

Reach: TypeAlias = Literal["all", "listed", "paths", "unknown"]
FSTAB = "/etc/fstab"
_CRON = (
    "/etc/crontab",
    "/etc/cron.d/*",
    "/etc/cron.hourly/*",
    "/etc/cron.daily/*",
    "/etc/cron.weekly/*",
    "/etc/cron.monthly/*",
    "/var/spool/cron/*",
    "/var/spool/cron/crontabs/*",
)
UNITS = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
_CALL = re.compile(r"\bfstrim\b")
_VALUED = {"-o", "-l", "-m", "-t", "--offset", "--length", "--minimum", "--types"}  # fstrim(8)


class TrimJob(msgspec.Struct, frozen=True, kw_only=True):
    """One call. `all`: every mounted file system; `listed`: those in /etc/fstab where that has lines, else all;
    `paths`: those on which `paths` lie; `unknown`: what it trims cannot be told from its text.
    """

    where: str
    reach: Reach
    paths: tuple[str, ...] = ()


def explain_job_skip(host: Host, job: TrimJob, mountpoints: Sequence[str]) -> str:
    """Return why this call does not trim the file system that is mounted at `mountpoints`; "" where it does, or may."""
    if job.reach == "paths":
        if any(_mountpoint_of(host, path) in mountpoints for path in job.paths):
            return ""
        return f"{job.where} trims only {', '.join(job.paths)}"
    return explain_fstab_skip(host, mountpoints) if job.reach == "listed" else ""


def fstab_entries(host: Host) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Mount point and options of each line."""
    text = host.read_file_text(FSTAB)
    entries = []
    for line in text.splitlines() if is_present(text) else ():
        fields = line.split()
        if len(fields) >= 3 and not fields[0].startswith("#"):
            options = fields[3].split(",") if len(fields) > 3 else []
            entries.append((unescape_mount_text(fields[1]).rstrip("/") or "/", tuple(options)))
    return tuple(entries)


def explain_fstab_skip(host: Host, mountpoints: Sequence[str]) -> str:
    """Return why `fstrim --listed-in /etc/fstab:/proc/self/mountinfo` passes over a file system; "": it does not.

    It takes the first file that is not empty, so what is mounted by a unit or by hand is skipped where fstab has
    any line (fstrim(8)); one of several mount points is enough. The root file system is added from the kernel's command
    line (sys-utils/fstrim.c). `X-fstrim.notrim` excludes one line.
    """
    entries = fstab_entries(host)
    if not entries or is_trim_excluded_in_fstab(host, mountpoints):
        return "X-fstrim.notrim in /etc/fstab" if entries else ""
    wanted = {place.rstrip("/") or "/" for place in mountpoints}
    if "/" in wanted or any(place in wanted and not is_bind_mount(options) for place, options in entries):
        return ""
    return "it is not in /etc/fstab, and the timer's fstrim reads only that file where it has lines"


def is_bind_mount(options: Sequence[str]) -> bool:
    return "bind" in options or "rbind" in options


def is_trim_excluded_in_fstab(host: Host, mountpoints: Sequence[str]) -> bool:
    """Return whether every line of fstab about this file system says X-fstrim.notrim: the admin's own choice."""
    wanted = {place.rstrip("/") or "/" for place in mountpoints}
    lines = [asked for place, asked in fstab_entries(host) if place in wanted and not is_bind_mount(asked)]
    return bool(lines) and all("X-fstrim.notrim" in options for options in lines)


def _mountpoint_of(host: Host, path: str) -> str:
    """FITRIM works on any directory of a file system."""
    mount = find_mount(read_mounts(host), path)
    return mount.mountpoint if is_present(mount) else path


def cron_trim_jobs(host: Host) -> tuple[TrimJob, ...]:
    """Calls in cron's files and in services of other timers that are enabled, comments left out."""
    jobs: list[TrimJob] = []
    for pattern in _CRON:
        for path in host.glob_paths(pattern) if "*" in pattern else (pattern,):
            text = host.read_file_text(path)
            if is_present(text) and _CALL.search(text):
                jobs += trim_calls(text, path)
    for link in host.glob_paths("/etc/systemd/system/*.wants/*.timer"):
        name = link.rsplit("/", 1)[-1].removesuffix(".timer")
        if name != "fstrim":
            jobs += [job for line in exec_starts(host, name) for job in trim_calls(line, f"{name}.service")]
    return tuple(jobs)


def fstrim_service_jobs(host: Host) -> tuple[TrimJob, ...]:
    """Return what fstrim.service calls with the drop-ins that it has; empty where there is no such unit."""
    return tuple(job for line in exec_starts(host, "fstrim") for job in trim_calls(line, "fstrim.service"))


def exec_starts(host: Host, name: str) -> tuple[str, ...]:
    """The commands of a service."""
    return tuple(value.lstrip("-@:+!") for value in read_unit_values(host, f"{name}.service", "ExecStart"))


def read_unit_values(host: Host, unit: str, key: str) -> list[str]:
    """A unit's values of a key, drop-ins last; an empty assignment clears those before (systemd.syntax(7))."""
    values: list[str] = []
    for text in unit_texts(host, unit):
        joined = re.sub(r"\\\n", " ", text)
        for value in re.findall(rf"^[ \t]*{key}[ \t]*=[ \t]*(.*?)[ \t]*$", joined, re.MULTILINE):
            values = [*values, value] if value else []
    return values


def unit_texts(host: Host, unit: str) -> tuple[str, ...]:
    """The unit's own file and its drop-ins in the order in which they count; /etc before /run before /usr."""
    own = next((t for folder in UNITS if is_present(t := host.read_file_text(f"{folder}/{unit}"))), None)
    drop_ins: dict[str, str] = {}
    for folder in UNITS:
        for path in host.glob_paths(f"{folder}/{unit}.d/*.conf"):
            drop_ins.setdefault(path.rsplit("/", 1)[-1], path)
    more = [host.read_file_text(path) for _, path in sorted(drop_ins.items())]
    return (*((own,) if own is not None else ()), *(text for text in more if is_present(text)))


def trim_calls(text: str, source: str) -> tuple[TrimJob, ...]:
    """The calls of fstrim in a script, a crontab or a command line; those that only look for the program left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#") and _CALL.search(line)]
    jobs = [job for line in lines for job in _fstrim_calls_in(line, source)]
    # There are lines, and what they do is not clear: rather trusted than accused.
    return tuple(jobs) if jobs or not lines else (TrimJob(where=source, reach="unknown"),)


def _fstrim_calls_in(line: str, source: str) -> Iterator[TrimJob]:
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        words = list(lexer)
    except ValueError:
        yield TrimJob(where=source, reach="unknown")
        return
    for at, word in enumerate(words):
        name = word.rsplit("/", 1)[-1]
        if name == "fstrim":
            job = _parse_fstrim_call(words[at + 1 :], source)
            if job is not None:
                yield job
        elif " " in word and _CALL.search(word):  # sh -c '...'
            yield from _fstrim_calls_in(word, source)
        elif name.startswith("fstrim"):  # old Ubuntu's fstrim-all
            yield TrimJob(where=source, reach="all")


def _parse_fstrim_call(words: Sequence[str], source: str) -> TrimJob | None:
    """None where it is not run: `[ -x /sbin/fstrim ]`, `command -v fstrim`, a dry run."""
    arguments: list[str] = []
    for word in words:
        if set(word) <= set("();<>|&"):
            break
        arguments.append(word)
    paths: list[str] = []
    reach: Reach | None = None
    waiting = iter(arguments)
    for word in waiting:
        if word in ("-n", "--dry-run"):
            return None
        if word in ("-a", "--all"):
            reach = "all"
        elif word in ("-A", "--fstab"):
            reach = "listed"
        elif word in ("-I", "--listed-in") or word.startswith("--listed-in="):
            reach = _reach_of_listed_in(word.partition("=")[2] or next(waiting, ""))
        elif word in _VALUED:
            next(waiting, None)
        elif re.fullmatch(r"-[a-zA-Z]+", word) and ("a" in word or "A" in word):
            reach = "all" if "a" in word else "listed"
        elif word.startswith("/"):
            paths.append(word)
        elif re.search(r"[$`*?{@%]", word):
            reach = "unknown"
    if reach is not None:
        return TrimJob(where=source, reach=reach)
    return TrimJob(where=source, reach="paths", paths=tuple(paths)) if paths else None


def _reach_of_listed_in(files: str) -> Reach:
    first = files.split(":", 1)[0]
    if first == FSTAB:
        return "listed"
    return "all" if first.startswith("/proc/") and first.endswith("mountinfo") else "unknown"
