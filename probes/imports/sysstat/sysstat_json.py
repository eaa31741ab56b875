"""`sadf -j`, `iostat -o JSON` and `mpstat -o JSON`. One sample after another is decoded, so that a day's file fits."""

import msgspec

from hostdx.probes.imports import json_text
from hostdx.probes.imports.json_text import mapping_or_empty
from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.sample_series import SampleClock
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.sysstat.sysstat_table import (
    SysstatFile,
    SysstatHeader,
    SysstatTables,
    float_fields,
    make_result,
)
from hostdx.probes.types import Json

_SUBJECT = {
    "cpu": "", "disk-device": "disk:", "disk_device": "disk:", "iface": "net:", "filesystem": "fs:",
    "intr": "irq:", "line": "tty:", "number": "cpu:", "device": "device:",
}  # fmt: skip
_EACH_REPORT_SINCE_BOOT = ("iostat", "mpstat")


class _SysstatHost(msgspec.Struct):
    nodename: Json = None
    release: Json = None
    machine: Json = None
    cpus: Json = msgspec.field(name="number-of-cpus", default=None)
    file_date: Json = msgspec.field(name="file-date", default=None)
    date: Json = None
    statistics: list[msgspec.Raw] = []


class _SysstatHosts(msgspec.Struct):
    hosts: list[_SysstatHost]


class _SysstatDocument(msgspec.Struct):
    sysstat: _SysstatHosts


def parse_sadf(source: ImportSource) -> ImportResult:
    top, _ = json_text.decode_first_document(source.data, _SysstatDocument, "sysstat")
    if not top.sysstat.hosts:
        raise ImportRefusedError("sysstat: no host in it", "export it again: sadf -j FILE -- -A")
    host = top.sysstat.hosts[0]
    tables = SysstatTables()
    tool = "sadf"
    clock = SampleClock(json_text.text_or_number(host.date, 30))
    zone = ""
    at_s = 0.0
    for index, raw in enumerate(host.statistics):
        sample = mapping_or_empty(json_text.decode_document(bytes(raw), dict, "sysstat"))
        if index == 0:
            tool = "iostat" if "avg-cpu" in sample else "sadf"
            if isinstance(sample.get("timestamp"), str) and "cpu-load" in sample:
                tool = "mpstat"
        if index == 1 and tool in _EACH_REPORT_SINCE_BOOT:
            tables.forget_since_boot()
        at_s, zone = _time_and_zone_of(sample.get("timestamp"), clock, at_s)
        for activity, body in list(sample.items())[:100]:
            _add_activity(tables, str(activity)[:60].strip(), body, at_s)
    samples = len(host.statistics)
    header = SysstatHeader(
        kernel=json_text.text_or_number(host.release),
        host=json_text.text_or_number(host.nodename),
        date=json_text.text_or_number(host.file_date or host.date, 30),
        arch=json_text.text_or_number(host.machine),
        cpus=host.cpus if isinstance(host.cpus, int) else None,
    )
    detail = SysstatFile(tool=tool, header=header, samples=samples, tables=tables.tables)
    return make_result(
        detail, tables, clock.times(zone), since_boot=tool in _EACH_REPORT_SINCE_BOOT and samples == 1
    )


def _time_and_zone_of(stamp: Json, clock: SampleClock, last_s: float) -> tuple[float, str]:
    """Return a sample's time since the first, with the zone that it names; without a clock time by its interval."""
    if isinstance(stamp, str):  # iostat and mpstat
        at_s = clock.read(stamp)
        return (last_s + 1.0 if at_s is None else at_s), ""
    fields = mapping_or_empty(stamp)
    day, hour = (json_text.text_or_number(fields.get(key), 30) or "" for key in ("date", "time"))
    at_s = clock.read(f"{day} {hour}")
    if at_s is None:
        interval = fields.get("interval")
        at_s = last_s + (float(interval) if isinstance(interval, int | float) else 1.0)
    zone = json_text.text_or_number(fields.get("tz"), 20) or ("UTC" if fields.get("utc") else "")
    return at_s, zone


def _add_activity(tables: SysstatTables, name: str, body: Json, at_s: float, depth: int = 0) -> None:
    """An object is one subject, a list of objects one each; an activity can hold others ("network", "psi")."""
    if isinstance(body, list):
        for item in body[:5000]:
            if isinstance(item, dict):
                _add_subject(tables, name, item, at_s)
    elif isinstance(body, dict) and name != "timestamp":
        values = float_fields(body)
        if values:
            is_cpu = name == "avg-cpu"
            tables.add(name, "all" if is_cpu else "", values, at_s)
        if depth < 3:
            for inner, part in list(body.items())[:100]:
                if isinstance(part, dict | list):
                    _add_activity(tables, str(inner)[:60], part, at_s, depth + 1)


def _add_subject(tables: SysstatTables, activity: str, item: dict[str, Json], at_s: float) -> None:
    key = next((k for k in _SUBJECT if k in item), None)
    subject = "" if key is None else f"{_SUBJECT[key]}{str(item[key])[:120]}"
    values = float_fields({k: v for k, v in item.items() if k != key})
    if key == "cpu":
        subject = "all" if subject in ("all", "-1") else f"cpu:{subject}"
    tables.add(activity, subject, values, at_s)
