"""The system's log: what daemons wrote, by program. The kernel's own lines: hostdx.probes.system.kernel_log.

Sources: RFC 3164 and rsyslog's file formats (traditional, RFC 3339), journalctl(1) -o short.
"""

import re

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.types import is_present

MAX_CAPTURED_BYTES = 32 << 20
MAX_LIVE_BYTES = 1 << 20  # of a larger log the journal has the end
MAX_LINE_CHARACTERS = 4096  # a pattern may need the square of a line's length
_FILES = ("/var/log/messages", "/var/log/syslog")
_MORE_FILES = ("/var/log/daemon.log", "/var/log/secure", "/var/log/auth.log", "/var/log/cron")
_JOURNALS = "/sos_commands/*/journalctl_*"
JOURNAL = ("journalctl", "-b", "-q", "--no-pager", "-n", "2000")
_LINE = lazy_pattern(
    r"^(?:\w{3} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\dT\S+) (\S+) ([^\s:\[]+)(?:\[([^\]\n]*)\])?: (.*)$",
    re.MULTILINE,
)


_CLOCK = lazy_pattern(r"(?<!\d)(\d?\d):(\d\d):(\d\d)(?!\d)")


class ServiceLine(msgspec.Struct, frozen=True):
    """What a program wrote, without time and name; `source` is the file or the command that has the line, `clock` its
    time of day, `09:10:00`, empty where it has none.
    """

    message: str
    source: str
    clock: str = ""


def clock_time(text: str) -> str:
    """Return the time of day with which a line begins, to the second: two logs tell it alike."""
    clock = _CLOCK.search(text, 0, 40)
    return f"{clock[1]:0>2}:{clock[2]}:{clock[3]}" if clock else ""


def read_system_log(host: Host) -> dict[str, list[ServiceLine]]:
    """Return the lines by program. Those that a log server received from other hosts are left out, and of two files
    that hold the same line the second. A manager of a user's units is the program `systemd --user`.
    """
    journals = () if host.live else host.glob_paths(_JOURNALS)
    # without one of this boot the whole journal is read
    boots = [path for path in journals if "--boot" in path]
    wanted = [p for p in journals if "_-1" not in p and (p in boots or not boots or "unit" in p)]
    limit = MAX_LIVE_BYTES if host.live else MAX_CAPTURED_BYTES
    read = ((path, host.read_file_text(path, limit)) for path in (*_FILES, *_MORE_FILES, *wanted))
    texts = {path: text for path, text in read if is_present(text)}
    if host.live and not texts.keys() & {*_FILES} and host.path_exists("/run/systemd/journal"):
        journal = host.read_command(*JOURNAL)
        texts |= {" ".join(JOURNAL): journal} if is_present(journal) else {}
    lines: dict[str, dict[str, list[ServiceLine]]] = {}  # by host and program
    known_lines: set[str] = set()
    for source, text in texts.items():
        matches = [match for match in _LINE.finditer(text) if match[0] not in known_lines]
        known_lines.update(match[0] for match in matches)
        for match in matches:
            programs = lines.setdefault(match[1].partition(".")[0], {})
            line = ServiceLine(match[4][:MAX_LINE_CHARACTERS], source, clock_time(match[0]))
            program = (
                match[2].rpartition("/")[2].partition("@")[0]
            )  # an instance, dcache@pool1, is its program
            if program == "systemd" and match[3] not in (None, "1"):
                program = "systemd --user"
            programs.setdefault(program, []).append(line)
    own = host.read_word("/etc/hostname")
    name = own.partition(".")[0] if is_present(own) else ""
    most = max(lines, key=lambda each: sum(map(len, lines[each].values())), default="")
    return lines.get(name) or lines.get(most, {})
