"""`atop -J LABELS`: a JSON document a sample, with the counters of `atop -P` under names (atop's json.c).

A process is named in PRG and PRC alone says what is a thread; without both nobody is named. The first sample holds
values since boot, if its time is longer than the next one's.
"""

import io
from collections.abc import Iterator
from itertools import chain, pairwise

import msgspec

from hostdx.probes.imports import json_text
from hostdx.probes.imports.json_text import as_mapping
from hostdx.probes.imports.model import ImportResult
from hostdx.probes.imports.numbers import parse_number
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.sysstat.atop import AtopReader
from hostdx.probes.types import Json

_MAX_ENTRIES = 100_000  # of a label in one sample
_MIN_SINCE_BOOT = 3  # times the length of the next sample
# The names of the fields in the order of `atop -P`; "" is a field that JSON leaves out.
_FIELDS: dict[str, str] = {
    "CPU": "hertz nrcpu stime utime ntime itime wtime Itime Stime steal",
    "CPL": " lavg1 lavg5 lavg15 csw devint",
    "PAG": "  allocstall  swins swouts",
    "PSI": "psi cs10 cs60 cs300 cstot ms10 ms60 ms300 mstot mf10 mf60 mf300 mftot "
    "ios10 ios60 ios300 iostot iof10 iof60 iof300 ioftot",
    "NFC": "rpccnt rpcread rpcwrite rpcretrans",
    "LVM": "lvmname io_ms nread nrsect nwrite nwsect",
    "MDD": "mddname io_ms nread nrsect nwrite nwsect",
    "DSK": "dskname io_ms nread nrsect nwrite nwsect",
    "NET": "name rpack rbyte spack sbyte",
}


def is_recognised(source: ImportSource) -> bool:
    start = source.head[:400]
    return start.startswith(b'{"host": ') and b'"timestamp": ' in start and b'"elapsed": ' in start


def parse(source: ImportSource) -> ImportResult:
    reader = AtopReader()
    for number, (sample, after) in enumerate(pairwise(chain(_read_documents(source, reader), [{}]))):
        if number > 0 or not after or not _is_since_boot(sample, after):
            _read_sample(reader, sample)
    return reader.make_result()


def _read_documents(source: ImportSource, reader: AtopReader) -> Iterator[dict[str, Json]]:
    """atop cuts command lines within a character; a line that is no JSON is left out, and counted."""
    for line in io.BytesIO(source.data):
        try:
            yield msgspec.json.decode(line.decode("utf-8", "replace"), type=dict[str, Json])
        except (msgspec.MsgspecError, RecursionError):
            reader.table.left_out += bool(line.strip())


def _is_since_boot(sample: dict[str, Json], after: dict[str, Json]) -> bool:
    lengths = [parse_number(document.get("elapsed")) or 0.0 for document in (sample, after)]
    return lengths[0] >= _MIN_SINCE_BOOT * lengths[1]


def _read_sample(reader: AtopReader, sample: dict[str, Json]) -> None:
    time_s, interval_s = (parse_number(sample.get(name)) for name in ("timestamp", "elapsed"))
    if time_s is None or not interval_s:
        return
    reader.begin_sample(str(int(time_s)), interval_s, json_text.text(sample.get("host")) or "")
    for label, names in _FIELDS.items():
        for body in _entries(sample.get(label)):
            reader.read_label(label, [str(body.get(name, -1)) for name in names.split(" ")])
    again = parse_number(as_mapping(sample.get("NET_GENERAL")).get("retransSegsTCP"))
    if again is not None:
        reader.add_retransmitted(again)
    _read_processes(reader, sample)


def _entries(body: Json) -> Iterator[dict[str, Json]]:
    """An object, or each of a list of them."""
    for entry in body[:_MAX_ENTRIES] if isinstance(body, list) else [body]:
        if isinstance(entry, dict):
            yield entry


def _read_processes(reader: AtopReader, sample: dict[str, Json]) -> None:
    hertz = parse_number(as_mapping(sample.get("CPU")).get("hertz")) or 100.0
    commands = {
        str(entry.get("pid")): str(entry.get("name", "")).removeprefix("(").removesuffix(")")
        for entry in _entries(sample.get("PRG"))
    }
    processes: set[str] = set()
    for entry in _entries(sample.get("PRC")):
        pid = str(entry.get("pid"))
        if entry.get("isproc") and pid in commands and pid not in processes:
            processes.add(pid)
            ticks = (parse_number(entry.get("utime")) or 0.0) + (parse_number(entry.get("stime")) or 0.0)
            reader.add_cpu_time(commands[pid], ticks / hertz)
    for entry in _entries(sample.get("PRD")):
        pid = str(entry.get("pid"))
        if pid in processes:
            processes.remove(pid)  # an entry of the same number behind it is of its first thread
            reader.add_sectors(commands[pid], parse_number(entry.get("rsz")), parse_number(entry.get("wsz")))
