"""What a rule file says to read: a path and what of it. One value a name."""

import re
from collections.abc import Sequence

import msgspec

from probes.host import Host
from probes.system.kernel_log import kernel_log
from probes.types import Absent
from scenarios.rules.expression import Value

MOST_BYTES = 4 << 20
LONGEST_LINE = 16_384


class Read(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`path`: from the root, or below the row's folder; `{name}` stands for a value of the row.

    Without anything else the whole text, a number where it is one. `key`: the value after that word, as in
    /proc/vmstat, /proc/meminfo, INI. `match`: the first group of a regular expression. `choice`: the word in brackets.
    `count`: how many names a folder has; `exists`: whether it is there; `link`: the last part of a symlink.
    `log`: how many lines of the kernel's log meet the pattern; `last`: the last of those that another read counts.
    `plain`: a text even where it looks like a number, such as a mask. A path with `*` reads all files that match, one
    after the other: sos names the same output differently from version to version.
    """

    path: str = ""
    command: tuple[str, ...] = ()
    key: str = ""
    match: str = ""
    choice: bool = False
    plain: bool = False
    count: bool = False
    exists: bool = False
    link: bool = False
    log: str = ""
    log_words: tuple[str, ...] = ()  # worked out: probes/patterns.py
    last: str = ""

    def said(self) -> str:
        """What is read and where, in one line."""
        if self.log:
            return f"how many lines of the kernel's log match {self.log}"
        if self.last:
            return f"the last of the lines that {self.last} counts"
        of = " ".join(self.command) or self.path
        what = f"what stands after {self.key} in " if self.key else "how many names in " if self.count else ""
        what = f"what {self.match} finds in " if self.match else what
        return f"{what}{of}"

    def place(self, folder: str, row: dict[str, str]) -> str:
        """The file or the command that it reads on this host; empty for the log."""
        if not self.path:
            return " ".join(_filled(word, row) for word in self.command)
        path = _filled(self.path, row)
        return path if path.startswith("/") else f"{folder}/{path}"


def read(host: Host, what: Read, folder: str, row: dict[str, str]) -> Value:
    """The value, or why there is none."""
    if what.log:
        found = _logged(host, what)
        return found if isinstance(found, Absent) else len(found)
    if what.command:
        words = [_filled(word, row) for word in what.command]
        # a thing's name is an argument, never an option of a program that root runs
        if any(
            word.startswith("-") and as_written[0] == "{"
            for word, as_written in zip(words, what.command, strict=True)
        ):
            return Absent(
                f"{what.command[0]}: the name begins with '-', which it would take for an option", "invalid"
            )
        return _of_text(host.command(*words), what, what.command[0])
    path = what.place(folder, row)
    if what.exists:
        return bool(host.glob(path)) if "*" in path else host.exists(path)
    if what.count:
        names = host.listing(path)
        return names if isinstance(names, Absent) else len(names)
    if "*" in what.path:
        return _of_text(_joined(host, path), what, path)
    if what.link:
        target = host.link(path)
        return target if isinstance(target, Absent) else target.rsplit("/", 1)[-1]
    return _of_text(host.text(path, MOST_BYTES), what, path)


def _joined(host: Host, pattern: str) -> str | Absent:
    texts = [text for path in host.glob(pattern) if isinstance(text := host.text(path, MOST_BYTES), str)]
    return "\n".join(texts) if texts else Absent(f"there is no {pattern}", "missing", pattern)


def last_line(host: Host, log: Read) -> Value:
    """Of the kernel's log, the last that meets the pattern; empty where none does."""
    found = _logged(host, log)
    return found if isinstance(found, Absent) else found[-1][:300] if found else ""


def _logged(host: Host, what: Read) -> list[str] | Absent:
    log = host.once(kernel_log)
    if isinstance(log, Absent):
        return log
    if not may_be_in_log(host, what.log_words):
        return []
    meets = re.compile(what.log).search
    return [line.message for line in log.lines if meets(line.message)]


def may_be_in_log(host: Host, words: Sequence[str]) -> bool:
    """False where the log has none of the words of which a line needs one."""
    return not words or any(word in host.once(_log_in_small_letters) for word in words)


def _log_in_small_letters(host: Host) -> str:
    log = host.once(kernel_log)
    return "" if isinstance(log, Absent) else "\n".join(line.message for line in log.lines).lower()


def _of_text(text: str | Absent, what: Read, source: str) -> Value:
    if isinstance(text, Absent):
        return text
    if what.choice:
        return _typed(chosen(text))
    pattern = what.match or (rf"^[ \t]*{re.escape(what.key)}[ \t]*[:= \t](.*)$" if what.key else "")
    if not pattern:
        return text.strip("\0 \t\r\n") if what.plain else _typed(text)
    if len(text) > LONGEST_LINE:  # a pattern may need the square of a line's length
        text = "\n".join(line for line in text.splitlines() if len(line) <= LONGEST_LINE)
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        return Absent(f"{source} has no {what.key or what.match}", "unsupported", source)
    return _typed(match[1] if match.groups() else match[0])


def chosen(text: str) -> str:
    """The word in brackets, as in `always [madvise] never`; without one the whole text."""
    found = re.search(r"\[([^\[\]]*)\]", text)
    return found[1] if found else text.strip("\0 \t\r\n")


def _typed(text: str) -> Value:
    text = text.strip("\0 \t\r\n")
    if re.fullmatch(r"-?[0-9]{1,19}", text):
        return int(text)
    if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text):
        return int(text, 16)
    if re.fullmatch(r"-?[0-9]{1,15}\.[0-9]{1,15}", text):
        return float(text)
    if found := re.fullmatch(r"([0-9]{1,19}) kB", text):
        return int(found[1]) * 1024
    return text


def _filled(template: str, row: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: row.get(found[1], found[0]), template)
