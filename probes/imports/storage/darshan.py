"""Darshan: sums per module over the records of a log, from `darshan-parser` text or from PyDarshan's records.

A counter of −1 is "not observed" and left out of sums. MPI-IO and HDF5 traffic is counted again under POSIX: modules
are never added. Times are sums over ranks; old releases stored negative ones.
"""

import re
from typing import NamedTuple

import msgspec

from hostdx.probes import units
from hostdx.probes.imports.dates import epoch_to_iso
from hostdx.probes.imports.model import (
    Contradiction,
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    ImportTrouble,
    Noted,
    compare_claim,
    make_facts,
    make_measures,
)
from hostdx.probes.imports.numbers import parse_number, parse_truncated
from hostdx.probes.imports.source import ImportSource

MODULES = ("POSIX", "MPI-IO", "STDIO", "H5D")
_PREFIX = {"POSIX": "POSIX", "MPI-IO": "MPIIO", "STDIO": "STDIO", "H5D": "H5D"}
_HEAD = re.compile(r"^# ([a-z_]+(?: [a-z]+)*): (.*)$")
_METADATA = re.compile(r"^# metadata: lib_ver = (\S+)")
_SIZE = re.compile(r"^(?:POSIX|MPIIO|H5D)_SIZE_(READ|WRITE)(?:_AGG)?_(\w+)$")
_ACCESS = re.compile(r"^(?:POSIX|MPIIO)_ACCESS(\d)_(ACCESS|COUNT)$")
_READS = {"POSIX": ("READS",), "STDIO": ("READS",), "H5D": ("READS",),
          "MPI-IO": ("INDEP_READS", "COLL_READS", "SPLIT_READS", "NB_READS")}  # fmt: skip
_PARTIAL = re.compile(r"^# \*WARNING\*:? .*incomplete|^# \*ERROR\*", re.IGNORECASE)
_MAX_RECORDS = 1_000_000
_SUMS = {
    "BYTES_READ": "bytes_read", "BYTES_WRITTEN": "bytes_written", "OPENS": "opens", "FILE_NOT_ALIGNED": "not_aligned",
    "F_READ_TIME": "read_time_s", "F_WRITE_TIME": "write_time_s", "F_META_TIME": "meta_time_s",
}  # fmt: skip


class DarshanModule(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Sums over the records; times in seconds, summed over ranks. `sizes_read`: "1M_4M" → calls."""

    records: int = 0
    shared_records: int = 0
    files: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    reads: int = 0
    writes: int = 0
    opens: int | None = None
    read_time_s: float = 0.0
    write_time_s: float = 0.0
    meta_time_s: float = 0.0
    sizes_read: dict[str, int] = {}
    sizes_write: dict[str, int] = {}
    common_access_sizes: dict[str, int] = {}
    not_aligned: int = 0
    partial: bool = False

    @property
    def directions(self) -> tuple["ModuleDirection", "ModuleDirection"]:
        return (
            ModuleDirection("read", self.bytes_read, self.reads, self.read_time_s, self.sizes_read),
            ModuleDirection("write", self.bytes_written, self.writes, self.write_time_s, self.sizes_write),
        )


class ModuleDirection(NamedTuple):
    name: str
    moved_bytes: int
    calls: int
    busy_s: float
    sizes: dict[str, int]


def _add_to_sum_field(part: DarshanModule, short: str, value: float) -> None:
    if (field := _SUMS.get(short)) is not None:
        setattr(part, field, (getattr(part, field) or 0) + value)


class DarshanLog(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    exe: str | None = None
    command: str | None = None
    nprocs: int | None = None
    jobid: int | None = None
    run_time_s: float | None = None
    start: int | None = None
    log_version: str | None = None
    lib_version: str | None = None
    io: dict[str, DarshanModule] = {}
    unseen: dict[str, tuple[int, int]] = {}  # bytes read and written through modules that are not shown


class DarshanSums:
    """Adds up one module's records, counter by counter."""

    def __init__(self) -> None:
        self.io: dict[str, DarshanModule] = {}
        self.unseen: dict[str, tuple[int, int]] = {}
        self._records: dict[str, set[str]] = {}
        self._files: dict[str, set[str]] = {}
        self._access: dict[str, tuple[str, int]] = {}

    def note_record(self, module: str, rank: int, identifier: str) -> None:
        """Called for every counter or once a record: known ones are not counted again."""
        known_records = self._records.setdefault(module, set())
        key = f"{rank} {identifier}"
        if key in known_records or len(known_records) >= _MAX_RECORDS:
            return
        known_records.add(key)
        self._files.setdefault(module, set()).add(identifier)
        part = self.io.setdefault(module, DarshanModule())
        part.records += 1
        part.shared_records += rank == -1
        part.files = len(self._files[module])

    def add_unseen_bytes(self, module: str, name: str, value: float) -> None:
        """A counter of a module that is not shown: its bytes."""
        read, written = self.unseen.get(module, (0, 0))
        if value > 0 and name.endswith("_BYTES_READ"):
            self.unseen[module] = (read + int(value), written)
        elif value > 0 and name.endswith("_BYTES_WRITTEN"):
            self.unseen[module] = (read, written + int(value))

    def add_counter(self, module: str, name: str, value: float, record: str) -> None:
        part = self.io.setdefault(module, DarshanModule())
        prefix = _PREFIX[module]
        short = name.removeprefix(prefix + "_")
        if short.startswith("F_"):
            if value != -1:
                _add_to_sum_field(part, short, value)
            return
        count = int(value)
        if count == -1:
            return
        _add_to_sum_field(part, short, count)
        if match := _SIZE.match(name):
            sizes = part.sizes_read if match[1] == "READ" else part.sizes_write
            if count > 0:
                sizes[match[2]] = sizes.get(match[2], 0) + count
        elif match := _ACCESS.match(name):
            self._join_access_size_and_count(part, f"{module} {record} {match[1]}", match[2], count)
        elif short in _READS[module]:
            part.reads += count
        elif short.replace("WRITES", "READS") in _READS[module] and "WRITES" in short:
            part.writes += count

    def _join_access_size_and_count(self, part: DarshanModule, key: str, part_name: str, value: int) -> None:
        """ACCESSn_ACCESS is the size, ACCESSn_COUNT how often: both of the same record, in either order."""
        other = self._access.pop(key, None)
        if other is None:
            if len(self._access) < _MAX_RECORDS:
                self._access[key] = (part_name, value)
            return
        size, count = (value, other[1]) if part_name == "ACCESS" else (other[1], value)
        if other[0] == part_name or count <= 0:
            return
        part.common_access_sizes[str(size)] = part.common_access_sizes.get(str(size), 0) + count


def parse_darshan_text(source: ImportSource) -> ImportResult:
    """The text of `darshan-parser` (not `--total` and not `--perf` alone)."""
    head: dict[str, str] = {}
    library = None
    sums = DarshanSums()
    modules: set[str] = set()
    partial = False
    for line in source.read_lines():
        if line.startswith("#"):
            if match := _METADATA.match(line):
                library = match[1][:40]
            elif (match := _HEAD.match(line)) and len(head) < 100:
                head.setdefault(match[1], match[2].strip())
            partial = partial or _PARTIAL.match(line) is not None
            continue
        fields = line.split("\t")
        if len(fields) < 5:
            continue
        module, rank, identifier, name = fields[0], parse_number(fields[1]), fields[2], fields[3]
        if rank is None or len(modules) > 100:
            continue
        modules.add(module[:40])
        value = parse_number(fields[4])
        if module in MODULES and value is not None:
            sums.note_record(module, int(rank), identifier)
            sums.add_counter(module, name, value, f"{fields[1]} {identifier}")
        elif value is not None:
            sums.add_unseen_bytes(module[:40], name, value)
    detail = DarshanLog(
        exe=head.get("exe"),
        command=head.get("exe"),
        nprocs=parse_truncated(head.get("nprocs")),
        jobid=parse_truncated(head.get("jobid")),
        run_time_s=parse_number(head.get("run time")),
        start=parse_truncated(head.get("start_time")),
        log_version=head.get("darshan log version"),
        lib_version=library,
        io=sums.io,
        unseen=sums.unseen,
    )
    return make_result(detail, "darshan-text", partial)


def make_result(detail: DarshanLog, kind: str, partial: bool = False) -> ImportResult:
    if not any(part.records for part in detail.io.values()):
        raise ImportRefusedError(
            "Darshan: no module has a record",
            "the program did no I/O that Darshan watches, or the log is damaged: repeat the job",
        )
    troubles = [ImportTrouble(id="darshan.partial", subject=n) for n, p in detail.io.items() if p.partial]
    if partial and not troubles:
        troubles.append(ImportTrouble(id="darshan.partial"))
    for module, (read, written) in detail.unseen.items():
        bytes_text = f"{units.format_size(read)} read, {units.format_size(written)} written"
        troubles.append(ImportTrouble(id="darshan.unseen", subject=module, said=bytes_text))
    measures: list[ImportedMeasure] = []
    contradictions: list[Contradiction] = []
    for name, part in detail.io.items():
        measures += _module_measures(name, part, detail)
        for operation, seconds in (
            ("read", part.read_time_s), ("write", part.write_time_s), ("metadata", part.meta_time_s)
        ):  # fmt: skip
            if seconds < 0:
                troubles.append(
                    ImportTrouble(
                        id="darshan.negative-time", subject=f"{name} {operation}", said=f"{seconds:.1f}"
                    )
                )
        contradictions += _check_size_histograms(name, part)
    facts = make_facts(
        ("program", detail.exe), ("command", detail.command), ("processes", detail.nprocs), ("job", detail.jobid),
        ("run time", detail.run_time_s, "s"), ("log version", detail.log_version),
    )  # fmt: skip
    for name, part in detail.io.items():
        sizes = sorted(part.common_access_sizes.items(), key=lambda item: -item[1])[:4]
        if sizes:
            facts.append(
                Noted(name="common access sizes", value=dict(sizes), unit="B", subject=f"layer:{name}")
            )
    return ImportResult(
        kind=kind, tool="Darshan", version=detail.lib_version, began=epoch_to_iso(detail.start),
        seconds=detail.run_time_s, measures=tuple(measures), facts=tuple(facts), troubles=tuple(troubles),
        contradictions=tuple(contradictions), recomputed=("calls from the size histogram",), detail=detail,
    )  # fmt: skip


def _module_measures(name: str, part: DarshanModule, detail: DarshanLog) -> list[ImportedMeasure]:
    """Rates are bytes ÷ the mean time a process spent in the calls: what the application itself saw."""
    seconds = detail.run_time_s or 0.0
    processes = max(1, detail.nprocs or 1)
    measures: list[ImportedMeasure] = []
    for direction, moved, calls, busy, _ in part.directions:
        workload = f"{name} {direction}"
        counts = (("bytes", float(moved), "B"), ("calls", float(calls), ""))
        measures += make_measures(
            workload, *(entry for entry in counts if entry[1] > 0), seconds=seconds, judged=False
        )
        rate = moved / (busy / processes) if moved > 0 and busy > 0 else None
        measures += make_measures(workload, ("bandwidth", rate, "B/s"), seconds=seconds)
    time_s = part.meta_time_s if part.meta_time_s > 0 else None
    return measures + make_measures(
        f"{name} metadata", ("time", time_s, "s"), better="less", seconds=seconds, judged=False
    )


def _check_size_histograms(name: str, part: DarshanModule) -> list[Contradiction]:
    contradictions: list[Contradiction] = []
    for direction, _, calls, _, sizes in part.directions:
        if sizes and calls:
            total, rule = float(sum(sizes.values())), "sum of the size histogram"
            contradictions += compare_claim(
                "darshan.histogram", f"{name} {direction}s", float(calls), total, rule, 0.0, 0.01 * calls
            )
    return contradictions
