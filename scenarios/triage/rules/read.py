"""What a rule file says to read: a path and what of it. One value a name."""

import re

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import LineIndex, lazy_pattern
from hostdx.probes.system.kernel_log import read_kernel_log
from hostdx.probes.types import Absent
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.services import service_state

MAX_READ_BYTES = 4 << 20
MAX_LINE_CHARACTERS = 16_384


class ReadingText(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`path`: from the root, or below the row's folder; `{name}` stands for a value of the row.

    Without anything else the whole text, a number where it is one. `key`: the value after that word, as in
    /proc/vmstat, /proc/meminfo, INI. `match`: the first group of a regular expression. `choice`: the word in brackets.
    `count`: how many names a folder has; `exists`: whether it is there; `link`: the last part of a symlink.
    `service`: the state of a service of that name: running, installed or missing.
    `log`: how many lines of the kernel's log meet the pattern; `last`: the last of those that another read counts.
    `plain`: a text even where it looks like a number, such as a mask. A path with `*` reads all files that match, one
    after the other: sos names the same output differently from version to version. In
    `match`, too, `{name}` stands for a value of the row, as it is written.
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
    log_words: tuple[str, ...] = ()  # worked out: probes/reading/patterns.py
    last: str = ""
    service: str = ""

    def source_words(self) -> str:
        """Return what is read and where, in one line."""
        if self.log:
            return f"how many lines of the kernel's log match {self.log}"
        if self.last:
            return f"the last of the lines that {self.last} counts"
        if self.service:
            return f"the state of the service {self.service}"
        of = " ".join(self.command) or self.path
        words = (
            f"what stands after {self.key} in " if self.key else "how many names in " if self.count else ""
        )
        words = f"what {self.match} finds in " if self.match else words
        return f"{words}{of}"

    def source_path(self, folder: str, row: dict[str, str]) -> str:
        """The file or the command that it reads on this host; empty for the log."""
        if not self.path:
            return " ".join(_fill_known_holes(word, row) for word in self.command)
        path = _fill_known_holes(self.path, row)
        return path if path.startswith("/") else f"{folder}/{path}"


def read_value(host: Host, reading: ReadingText, folder: str, row: dict[str, str]) -> Value:
    """The value, or why there is none."""
    if row and reading.match:
        escaped = {name: re.escape(text) for name, text in row.items()}
        reading = msgspec.structs.replace(reading, match=_fill_known_holes(reading.match, escaped))
    if reading.log:
        messages = _kernel_messages_matching(host, reading)
        return messages if isinstance(messages, Absent) else len(messages)
    if reading.service:
        return service_state(host, reading.service)
    if reading.command:
        words = [_fill_known_holes(word, row) for word in reading.command]
        # a thing's name is an argument, never an option of a program that root runs
        if any(
            word.startswith("-") and as_written[0] == "{"
            for word, as_written in zip(words, reading.command, strict=True)
        ):
            return Absent(
                f"{reading.command[0]}: the name begins with '-', which it would take for an option",
                "invalid",
            )
        return _value_in_text(host.read_command(*words), reading, reading.command[0])
    path = reading.source_path(folder, row)
    if reading.exists:
        return bool(host.glob_paths(path)) if "*" in path else host.path_exists(path)
    if reading.count:
        names = host.list_names(path)
        return names if isinstance(names, Absent) else len(names)
    if "*" in reading.path:
        return _value_in_text(_join_files(host, path), reading, path)
    if reading.link:
        target = host.read_link(path)
        return target if isinstance(target, Absent) else target.rsplit("/", 1)[-1]
    return _value_in_text(host.read_file_text(path, MAX_READ_BYTES), reading, path)


def _join_files(host: Host, pattern: str) -> str | Absent:
    texts = [
        text
        for path in host.glob_paths(pattern)
        if isinstance(text := host.read_file_text(path, MAX_READ_BYTES), str)
    ]
    return "\n".join(texts) if texts else Absent(f"there is no {pattern}", "missing", pattern)


def last_kernel_log_line(host: Host, log: ReadingText) -> Value:
    """Of the kernel's log, the last that meets the pattern; empty where none does."""
    messages = _kernel_messages_matching(host, log)
    return messages if isinstance(messages, Absent) else messages[-1][:300] if messages else ""


def _kernel_messages_matching(host: Host, reading: ReadingText) -> list[str] | Absent:
    log = host.compute_once(read_kernel_log)
    if isinstance(log, Absent):
        return log
    index = host.compute_once(kernel_log_index)
    meets = lazy_pattern(reading.log)
    messages = (index.lines[number] for number in index.lines_with_words(reading.log_words))
    return [message for message in messages if meets.search(message)]


def kernel_log_index(host: Host) -> LineIndex:
    """The messages of the kernel's log; without a log none."""
    log = host.compute_once(read_kernel_log)
    return LineIndex([] if isinstance(log, Absent) else [line.message for line in log.lines])


def _value_in_text(text: str | Absent, reading: ReadingText, source: str) -> Value:
    if isinstance(text, Absent):
        return text
    if reading.choice:
        return _number_or_text_value(bracketed_word_or_text(text))
    pattern = reading.match or (rf"^[ \t]*{re.escape(reading.key)}[ \t]*[:= \t](.*)$" if reading.key else "")
    if not pattern:
        return text.strip("\0 \t\r\n") if reading.plain else _number_or_text_value(text)
    match = re.search(pattern, without_long_lines(text), re.MULTILINE)
    if match is None:
        return Absent(f"{source} has no {reading.key or reading.match}", "unsupported", source)
    return _number_or_text_value(match[1] if match.groups() else match[0])


def without_long_lines(text: str) -> str:
    """Leave out lines beyond every bound: a pattern may need the square of a line's length."""
    if len(text) <= MAX_LINE_CHARACTERS:
        return text
    return "\n".join(line for line in text.splitlines() if len(line) <= MAX_LINE_CHARACTERS)


def bracketed_word_or_text(text: str) -> str:
    """The word in brackets, as in `always [madvise] never`; else the whole text, of md's `1000 (local)` the value."""
    bracket = re.search(r"\[([^\[\]]*)\]", text)
    return bracket[1] if bracket else re.sub(r" \((?:local|system)\)$", "", text.strip("\0 \t\r\n"))


def _number_or_text_value(text: str) -> Value:
    text = text.strip("\0 \t\r\n")
    if re.fullmatch(r"-?[0-9]{1,19}", text):
        return int(text)
    if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text):
        return int(text, 16)
    if re.fullmatch(r"-?[0-9]{1,15}\.[0-9]{1,15}", text):
        return float(text)
    if size := re.fullmatch(r"([0-9]{1,19}) kB", text):
        return int(size[1]) * 1024
    return text


def _fill_known_holes(template: str, row: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda name_match: row.get(name_match[1], name_match[0]), template)
