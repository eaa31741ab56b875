"""The hourly summaries beside the book: they outlive its looks by weeks, in a file of at most two megabytes.

A summary is made of a segment that is complete, so that a restart loses none.
"""

import contextlib
from collections import defaultdict
from pathlib import Path

import msgspec

from hostdx.app.features.watch.incidents.book import book_segments, read_looks
from hostdx.app.terminal.output_file import write_bytes
from hostdx.probes.files.safe_read import read_regular
from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.system.running.host_looks import HostLook
from hostdx.scenarios.analysis.incidents.hours import HOUR_S, HourSummary, summarise_hour
from hostdx.scenarios.analysis.incidents.looks import look_series

FILE_NAME = "hours.jsonl"
MAX_BYTES = 2 << 20
KEPT_S = 35 * 24 * HOUR_S
_DECODER = msgspec.json.Decoder(HourSummary)


def read_summaries(folder: Path) -> list[HourSummary]:
    """In order of time; one an hour, the one with the most samples. Empty where there are none."""
    try:
        data = read_regular(str(folder / FILE_NAME), 2 * MAX_BYTES)
    except (OSError, ValueError):
        return []
    by_hour: dict[int, HourSummary] = {}
    for line in data.splitlines():
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            summary = _DECODER.decode(line)
            earlier = by_hour.get(summary.hour_s)
            if earlier is None or earlier.samples < summary.samples:
                by_hour[summary.hour_s] = summary
    return [by_hour[hour] for hour in sorted(by_hour)]


def summarise_hours(folder: Path) -> None:
    """Add the hours of complete segments that have none, and leave out what is older than five weeks.

    Raises OSError and Failure.
    """
    earlier_summaries = read_summaries(folder)
    last_s = earlier_summaries[-1].hour_s if earlier_summaries else 0
    *complete, under_way = book_segments(folder)
    looks: defaultdict[int, list[HostLook]] = defaultdict(list)
    for path in complete:
        if _begun_s(path) + 2 * HOUR_S < last_s:
            continue
        for look in read_looks(path):
            if isinstance(look, HostLook):
                looks[int(look.wall_s // HOUR_S) * HOUR_S].append(look)
    new = [
        summarise_hour(hour, look_series(hour_looks), hour_looks[-1].cpus or None)
        for hour, hour_looks in sorted(looks.items())
        if last_s < hour <= _begun_s(under_way) - HOUR_S  # the rest of an hour may be in the next segment
    ]
    if not new:
        return
    newest_s = new[-1].hour_s
    recent_summaries = [
        summary for summary in (*earlier_summaries, *new) if summary.hour_s > newest_s - KEPT_S
    ]
    lines = [msgspec.json.encode(summary) + b"\n" for summary in recent_summaries]
    while lines and sum(map(len, lines)) > MAX_BYTES:
        lines = lines[len(lines) // 8 + 1 :]
    write_bytes("watch", str(folder / FILE_NAME), 0o600, b"".join(lines))


def _begun_s(segment: Path) -> float:
    return (parse_unsigned(segment.name.split("-")[1]) or 0) / 1e9
