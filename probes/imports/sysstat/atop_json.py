"""`atop -J LABELS`: a JSON document a sample, read as the lines of `atop -P` that say the same (atop's json.c).

A process is named in PRG, and PRC alone says what is a thread; without both nobody is named. The first sample holds
values since boot, if its time is more than three times the next one's.
"""

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain, pairwise

from hostdx.probes.imports import json_text
from hostdx.probes.imports.json_text import as_mapping
from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.numbers import parse_number
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.sysstat.atop import load_labels, parse_lines
from hostdx.probes.types import Json

_MAX_TIME_S = 1 << 33
_MIN_SINCE_BOOT = 3  # times the length of the next sample


def parse(source: ImportSource) -> ImportResult:
    return parse_lines(_text_lines(source), zone="UTC")


def _text_lines(source: ImportSource) -> Iterator[str]:
    for number, (sample, after) in enumerate(pairwise(chain(_read_documents(source), [{}]))):
        length_s, next_s = (parse_number(document.get("elapsed")) or 0.0 for document in (sample, after))
        time_s = parse_number(sample.get("timestamp")) or 0.0
        is_since_boot = number == 0 and 0 < _MIN_SINCE_BOOT * next_s <= length_s
        if not is_since_boot and 0 < time_s < _MAX_TIME_S:
            host = (json_text.text(sample.get("host")) or "-").replace(" ", "_")
            clock = f"{datetime.fromtimestamp(time_s, UTC):%Y/%m/%d %H:%M:%S}"
            for label, rest in chain(_host_fields(sample), _process_fields(sample)):
                yield f"{label} {host} {time_s:.0f} {clock} {length_s:.0f} {rest}"
            yield "SEP"


def _read_documents(source: ImportSource) -> Iterator[dict[str, Json]]:
    """atop cuts command lines within a character. Raises ImportRefusedError for a line that is no JSON.

    A last line that ends early, as a killed atop leaves it, is left out.
    """
    for line in io.BytesIO(source.data):
        try:
            utf8_line = line.decode("utf-8", "replace").encode()
            yield as_mapping(json_text.decode_document(utf8_line, dict, "atop"))
        except ImportRefusedError:
            if line.endswith(b"\n"):
                raise


def _host_fields(sample: dict[str, Json]) -> Iterator[tuple[str, str]]:
    """Yield (label, fields); -1 is a count that is not known, as atop prints it."""
    for label, kind in load_labels().items():
        for body in _entries(sample.get(label)):
            yield label, " ".join(str(body.get(name, -1)) for name in kind.fields.split())
    again = as_mapping(sample.get("NET_GENERAL")).get("retransSegsTCP", -1)
    yield "NET", f"upper {'-1 ' * 13}{again}"


def _process_fields(sample: dict[str, Json]) -> Iterator[tuple[str, str]]:
    hertz = as_mapping(sample.get("CPU")).get("hertz", 100)
    names = {
        entry.get("pid"): f"{entry.get('name')} {entry.get('state')}"
        for entry in reversed(list(_entries(sample.get("PRG"))))
    }
    moved = {entry.get("pid"): entry for entry in reversed(list(_entries(sample.get("PRD"))))}
    for entry in _entries(sample.get("PRC")):
        pid = entry.get("pid")
        if entry.get("isproc") and pid in names:
            yield "PRC", f"{pid} {names[pid]} {hertz} {entry.get('utime')} {entry.get('stime')}"
            if (own := moved.pop(pid, None)) is not None:
                yield "PRD", f"{pid} {names[pid]} - y - {own.get('rsz')} - {own.get('wsz')}"


def _entries(body: Json) -> Iterator[dict[str, Json]]:
    """An object, or each of a list of them."""
    return (entry for entry in (body if isinstance(body, list) else [body]) if isinstance(entry, dict))
