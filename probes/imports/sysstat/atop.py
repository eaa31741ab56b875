"""atop's counters of each interval, with the processes where PRC and PRD are among them: `-P LABELS` and `-J LABELS`.

Every line begins with the label, the host, the time and the length of the interval (atop(1), "Parseable output"). What
stands before the first SEP after RESET are values since boot.

`-J` writes a JSON document a sample, read as the lines of `-P` that say the same (atop's json.c). A process is named in
PRG, and PRC alone says what is a thread; without both nobody is named. The first sample holds values since boot, if its
time is more than three times the next one's.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, pairwise

import msgspec

from hostdx.probes.imports import json_text
from hostdx.probes.imports.dates import date_to_iso
from hostdx.probes.imports.formats import load_format_toml
from hostdx.probes.imports.json_text import mapping_or_empty
from hostdx.probes.imports.model import (
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    make_facts,
    make_troubles,
)
from hostdx.probes.imports.numbers import parse_number
from hostdx.probes.imports.sample_series import BoundedSeries, CommandSeriesSums, SampleSeries
from hostdx.probes.imports.source import LINE_LIMIT, ImportSource
from hostdx.probes.types import Json

# Threads of the kernel that write for others: asleep in D beside a slow disk, and not stuck.
_KERNEL_THREAD = re.compile(
    r"(?:jbd2/|xfsaild|xfs-|txg_|z_|kworker/|kswapd|kcompactd|btrfs-|md\d+_|loop\d|dm[-_]|flush-|nfsd)"
)
_HEAD = re.compile(r"^[A-Za-z]{3}( (\S+) \d{9,11} (\d{4}/\d\d/\d\d) (\d\d:\d\d:\d\d) (\d{1,9})(?: |$))")
_PROCESS = re.compile(r"^(\d{1,10}) (?:\((.*)\)|(\S+)) ([A-Za-z]) (.*)$")
_CPU_SHARES = ("system", "user", "nice", "idle", "iowait", "interrupt", "soft interrupt", "steal")
_SECTOR_BYTES = 512


class AtopLabel(msgspec.Struct, frozen=True):
    """`formats/atop.toml` says what each field means."""

    fields: str
    subject: str = ""
    figures: dict[str, tuple[str, float, str]] = {}

    @property
    def columns(self) -> list[tuple[int, str, float, str]]:
        names = self.fields.split()
        return [(names.index(name), *figure) for name, figure in self.figures.items()]


@lru_cache(maxsize=1)
def load_labels() -> dict[str, AtopLabel]:
    return load_format_toml("atop.toml", dict[str, AtopLabel])


def parse_atop(source: ImportSource) -> ImportResult:
    return parse_atop_lines(_lines_that_say_something(source.data))


def _counting_line_pattern(head_bytes: int) -> re.Pattern[bytes]:
    """Of a day most lines are of processes that did nothing, and of labels that are not read: skipped in runs, those of
    a sample at once. A name of 15 characters cannot look like the fields behind it.

    `head_bytes`: of what stands between the label and the fields. It is as long on all lines but those of an interval
    with another number of digits; they are read one by one.
    """
    head = rb".{%d}" % head_bytes
    return re.compile(
        rb"(?:PRC" + head + rb"\d+ \([^)\n]*\) [A-CE-Za-z] \d+ 0 0 -?\d+ \d+ \d+ -?\d+ \d+ .*\n"
        rb"|PRD" + head + rb"\d+ \([^)\n]*\) [A-Za-z] \S+ y 0 0 0 0 \d+ \d+ .*\n"
        rb"|PR[EGMN] .*\n"
        rb"|(?!RESET|SEP|PRC |PRD |" + b"|".join(b"%s " % name[:3].encode() for name in load_labels())
        + rb").*\n){0,500}(.+)\n?"
    )  # fmt: skip


def _lines_that_say_something(data: bytes) -> Iterator[str]:
    """Yield the lines that say something; all of the first sample, which tells what the file holds."""
    first = data.find(b"\nSEP\n", data.find(b"\nSEP\n") + 1) + 1
    for line in data[:first].split(b"\n"):
        yield _decode_line(line)
    first_head = _HEAD.match(
        _decode_line(data[first + len("SEP\n") : first + LINE_LIMIT].partition(b"\n")[0])
    )
    pattern = _counting_line_pattern(len(first_head[1].encode()) if first_head is not None else 0)
    for match in pattern.finditer(data, first):
        yield _decode_line(match[1])


def _decode_line(line: bytes) -> str:
    return line[:LINE_LIMIT].decode("utf-8", "backslashreplace").rstrip("\r")


def parse_atop_lines(lines: Iterable[str], zone: str = "") -> ImportResult:
    """`zone`: of the times, where it is known."""
    reader = _AtopReader()
    for line in lines:
        reader.read(line)
    all_series = (*reader.table.as_tuple(), *reader.commands.series())
    if not any(len(series.values) for series in all_series):
        raise ImportRefusedError(
            "atop: no interval in it, only values since boot", "export several intervals: atop -r FILE -P ALL"
        )
    samples = max(len(series.values) for series in all_series)
    facts = [*make_facts(("threads", reader.cpus), subject="cpu"), *make_facts(("samples", samples))]
    return ImportResult(
        kind="atop", tool="atop", host=reader.host, began=date_to_iso(reader.first_time), facts=tuple(facts),
        measures=tuple(_measures_of_means(all_series)), times=reader.commands.clock.times(zone), series=all_series,
        troubles=tuple(make_troubles(("sysstat.left-out", reader.table.left_out))),
        recomputed=("means from the samples",),
    )  # fmt: skip


def _measures_of_means(all_series: Sequence[SampleSeries]) -> Iterator[ImportedMeasure]:
    for series in all_series:
        mean = sum(series.values) / len(series.values) if series.values else 0.0
        if mean or series.subject in ("CPU", "host"):
            yield ImportedMeasure(
                workload=series.subject, metric=series.metric, value=mean, unit=series.unit, judged=False,
                better="more" if series.unit in ("B/s", "IOPS") else "less",
            )  # fmt: skip


class _AtopReader:
    def __init__(self) -> None:
        self.table = BoundedSeries()
        self.commands = CommandSeriesSums()
        self._has_processes = False
        self.host: str | None = None
        self.cpus: int | None = None
        self.first_time: str | None = None
        self._columns = {name: (label.subject, label.columns) for name, label in load_labels().items()}
        self._is_since_boot = False
        self._at_s = self._interval_s = 0.0
        self._head = "\n"  # of the sample's lines, behind the label
        # processes that waited in the kernel at a sample and used no CPU time before it; stuck are those of two samples
        self._idle_before, self._idle = set[str](), set[str]()

    def read(self, line: str) -> None:
        if line == "RESET":
            self._is_since_boot = True
        elif line == "SEP":
            if not self._is_since_boot and self._has_processes:
                self._add_value("host", "stuck tasks", "", float(len(self._idle_before & self._idle)))
                self._idle_before, self._idle = self._idle, set()
            self._is_since_boot = False
        elif line[3:4] == " " and not self._is_since_boot:
            self._has_processes = self._has_processes or line[:3] == "PRC"
            # most lines of `-P ALL` are not read
            is_read = line[:3] in self._columns or line[:3] in ("PRC", "PRD")
            if is_read and (line.startswith(self._head, 3) or self._begin_sample(line)):
                self._read_labelled_line(line[:3], line[3 + len(self._head) :])

    def _begin_sample(self, line: str) -> bool:
        match = _HEAD.match(line)
        interval_s = parse_number(match[5]) if match is not None else None
        if match is None or not interval_s:
            return False
        time_text = f"{match[3].replace('/', '-')} {match[4]}"
        self._head = match[1]
        self._at_s, self._interval_s = self.commands.begin_sample(time_text), interval_s
        self.host, self.first_time = self.host or match[2][:200], self.first_time or time_text
        return True

    def _read_labelled_line(self, label: str, rest: str) -> None:
        if label in ("PRC", "PRD"):
            self._read_process(label, rest)
            return
        words = rest.split(None, 40)[:40]
        if label == "CPU":
            self._add_cpu_shares([parse_number(word) for word in words])
        elif label == "CPL" and len(words) > 1 and (load := parse_number(words[1])) is not None:
            self._add_value("host", "load", "", load)
        elif label == "NET" and words[:1] == ["upper"]:
            label = "NET upper"
        prefix, columns = self._columns[label]
        if (prefix and not words) or (label == "PSI" and words[:1] != ["y"]):
            return
        subject = f"{prefix}{words[0][:120]}" if prefix else "host"
        for place, metric, factor, unit in columns:
            count = parse_number(words[place]) if place < len(words) else None
            if count is not None and count >= 0:  # -1: the kernel does not have it
                self._add_value(subject, metric, unit, count * factor / self._interval_s)

    def _add_cpu_shares(self, values: Sequence[float | None]) -> None:
        ticks = values[2 : 2 + len(_CPU_SHARES)]
        total = sum(tick for tick in ticks if tick is not None)
        if len(ticks) == len(_CPU_SHARES) and total > 0 and None not in ticks:
            self.cpus = int(values[1]) if values[1] is not None else None
            for name, tick in zip(_CPU_SHARES, ticks, strict=True):
                self._add_value("CPU", f"{name} share", "", (tick or 0.0) / total)

    def _read_process(self, label: str, rest: str) -> None:
        """Of processes, not of their threads, which have `n` behind the number of their process."""
        match = _PROCESS.match(rest)
        if match is None:
            return
        command = (match[2] if match[2] is not None else match[3] or "")[:120]
        words = match[5].split(None, 12)
        if label == "PRC" and len(words) > 2 and "n" not in words[10:11]:
            hertz, user, system = map(parse_number, words[:3])
            if hertz and user is not None and system is not None:
                if match[4] == "D" and not user + system and not _KERNEL_THREAD.match(command):
                    self._idle.add(match[1])
                share = (user + system) / hertz / self._interval_s
                self.commands.add(command, "CPU share", "", share)
        elif label == "PRD" and words[1:2] == ["y"] and "n" not in words[9:10]:
            for place, metric in ((3, "read rate"), (5, "write rate")):
                sectors = parse_number(words[place]) if len(words) > place else None
                if sectors is not None and sectors >= 0:
                    if sectors:
                        self._idle.discard(match[1])
                    self.commands.add(command, metric, "B/s", sectors * _SECTOR_BYTES / self._interval_s)

    def _add_value(self, subject: str, metric: str, unit: str, value: float) -> None:
        self.table.add_value(subject, metric, unit, self._at_s, value)


_MAX_TIME_S = 1 << 33
_MIN_SINCE_BOOT = 3  # times the length of the next sample


def parse_atop_json(source: ImportSource) -> ImportResult:
    return parse_atop_lines(_json_as_text_lines(source), zone="UTC")


def _json_as_text_lines(source: ImportSource) -> Iterator[str]:
    for number, (sample, after) in enumerate(pairwise(chain(_read_json_samples(source), [{}]))):
        length_s, next_s = (parse_number(document.get("elapsed")) or 0.0 for document in (sample, after))
        time_s = parse_number(sample.get("timestamp")) or 0.0
        is_since_boot = number == 0 and 0 < _MIN_SINCE_BOOT * next_s <= length_s
        if not is_since_boot and 0 < time_s < _MAX_TIME_S:
            host = (json_text.text_or_number(sample.get("host")) or "-").replace(" ", "_")
            clock = f"{datetime.fromtimestamp(time_s, UTC):%Y/%m/%d %H:%M:%S}"
            for label, rest in chain(_host_labels_and_fields(sample), _process_labels_and_fields(sample)):
                yield f"{label} {host} {time_s:.0f} {clock} {length_s:.0f} {rest}"
            yield "SEP"


def _read_json_samples(source: ImportSource) -> Iterator[dict[str, Json]]:
    """atop cuts command lines within a character. Raises ImportRefusedError for a line that is no JSON.

    A last line that ends early, as a killed atop leaves it, is left out.
    """
    for line in io.BytesIO(source.data):
        try:
            utf8_line = line.decode("utf-8", "replace").encode()
            yield mapping_or_empty(json_text.decode_document(utf8_line, dict, "atop"))
        except ImportRefusedError:
            if line.endswith(b"\n"):
                raise


def _host_labels_and_fields(sample: dict[str, Json]) -> Iterator[tuple[str, str]]:
    """Yield (label, fields); -1 is a count that is not known, as atop prints it."""
    for label, kind in load_labels().items():
        for body in _dicts_in(sample.get(label)):
            yield label, " ".join(str(body.get(name, -1)) for name in kind.fields.split())
    again = mapping_or_empty(sample.get("NET_GENERAL")).get("retransSegsTCP", -1)
    yield "NET", f"upper {'-1 ' * 13}{again}"


def _process_labels_and_fields(sample: dict[str, Json]) -> Iterator[tuple[str, str]]:
    hertz = mapping_or_empty(sample.get("CPU")).get("hertz", 100)
    names = {
        entry.get("pid"): f"{entry.get('name')} {entry.get('state')}"
        for entry in reversed(list(_dicts_in(sample.get("PRG"))))
    }
    moved = {entry.get("pid"): entry for entry in reversed(list(_dicts_in(sample.get("PRD"))))}
    for entry in _dicts_in(sample.get("PRC")):
        pid = entry.get("pid")
        if entry.get("isproc") and pid in names:
            yield "PRC", f"{pid} {names[pid]} {hertz} {entry.get('utime')} {entry.get('stime')}"
            if (own := moved.pop(pid, None)) is not None:
                yield "PRD", f"{pid} {names[pid]} - y - {own.get('rsz')} - {own.get('wsz')}"


def _dicts_in(body: Json) -> Iterator[dict[str, Json]]:
    """An object, or each of a list of them."""
    return (entry for entry in (body if isinstance(body, list) else [body]) if isinstance(entry, dict))
