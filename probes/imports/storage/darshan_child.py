"""The child that loads libdarshan-util: reads one log and writes its sums as JSON. It may die at any moment.

Everything is imported before it gives up its rights: an environment below /root is closed to others.
"""

import os
import sys
from importlib import import_module
from typing import Any

import msgspec

from hostdx.probes.imports.confinement import confine_process
from hostdx.probes.imports.storage.darshan import MODULES, DarshanLog, DarshanSums

_NAMES = {"MPIIO": "MPI-IO"}


def read_darshan_log_in_child(log: str, answer_fd: str) -> None:
    """Write {"detail": …, "damaged": …} or {"error": …} to the descriptor `answer_fd`, nothing where the library kills
    the process. `log` lies in the working directory.
    """
    try:
        darshan, *_ = map(
            import_module, ("darshan", "darshan.backend.cffi_backend", "numpy.linalg", "pandas")
        )
        confine_process()
        document = _read_log_sums(darshan, log)
    except Exception as error:  # whatever numpy, pandas or the library raise on a damaged log
        document = {"error": f"{type(error).__name__}: {error}"}
    with os.fdopen(int(answer_fd), "wb") as file:
        file.write(msgspec.json.encode(document))


def _read_log_sums(darshan: Any, log: str) -> dict[str, Any]:
    report = darshan.DarshanReport(log, read_all=False)
    sums = DarshanSums()
    damaged = False
    for module, about in report.modules.items():
        name = _NAMES.get(module, module)
        if name not in MODULES:
            _add_unseen_module_bytes(sums, name, report)
            continue
        report.mod_read_all_records(module, dtype="dict")
        records = report.records[module]
        damaged = damaged or not len(records)
        for record in records:
            _add_record_counters(sums, name, record)
        if name in sums.io and isinstance(about, dict):
            sums.io[name].partial = bool(about.get("partial_flag"))
    job = report.metadata["job"]
    detail = DarshanLog(
        exe=str(report.metadata.get("exe", "")).partition(" ")[0][:500] or None,
        command=str(report.metadata.get("exe", ""))[:2000] or None,
        nprocs=int(job["nprocs"]),
        jobid=int(job["jobid"]),
        run_time_s=float(job["run_time"]),
        start=int(job.get("start_time_sec", job.get("start_time", 0))),
        log_version=str(job.get("log_ver", ""))[:20] or None,
        lib_version=str(job.get("metadata", {}).get("lib_ver", ""))[:40] or None,
        io=sums.io,
        unseen=sums.unseen,
    )
    return {"detail": detail, "damaged": damaged}


def _add_unseen_module_bytes(sums: DarshanSums, module: str, report: Any) -> None:
    """Of a module that is not shown. The library does not read every one of them."""
    try:
        report.mod_read_all_records(module, dtype="dict")
        counters = [record["counters"] for record in report.records[module]]
    except Exception:  # whatever the library raises on a module that it does not know
        return
    for counter, value in (item for values in counters for item in values.items()):
        sums.add_unseen_bytes(module, str(counter), float(value))


def _add_record_counters(sums: DarshanSums, module: str, record: Any) -> None:
    rank, identifier = int(record["rank"]), str(record["id"])
    sums.note_record(module, rank, identifier)
    for part in ("counters", "fcounters"):
        for counter, value in record[part].items():
            sums.add_counter(module, str(counter), float(value), f"{rank} {identifier}")


if __name__ == "__main__":
    read_darshan_log_in_child(*sys.argv[1:3])
