"""What of an application's own result can be put into the box: Darshan's or IOR's bandwidth and metadata rate."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from probes.imports.numbers import MIB
from probes.imports.storage.darshan import Darshan
from probes.imports.storage.ior import Ior
from scenarios.compare.bounding_box import Box, Placed
from scenarios.compare.snapshot import Imported

MANY_OPENS = 1000  # fewer make no rate of metadata operations


def placed(found: Sequence[Box], files: Sequence[Imported]) -> list[Box]:
    """The boxes with the applications that were measured in their direction; one without a direction takes all."""
    points = [point for file in files for point in points_of(file)]
    return [
        msgspec.structs.replace(
            box,
            placed=tuple(p for p in points if not box.title or not p.direction or p.direction == box.title),
        )
        for box in found
    ]


def points_of(file: Imported) -> list[Placed]:
    detail = file.result.detail
    if isinstance(detail, Darshan):
        return _of_darshan(file.name, detail)
    if isinstance(detail, Ior):
        return _of_ior(file.name, detail)
    return []


def _of_darshan(name: str, detail: Darshan) -> list[Placed]:
    """Of the lowest layer that was watched; bytes ÷ the mean time that a process spent reading (or writing)."""
    module = next((detail.io[m] for m in ("POSIX", "MPI-IO", "STDIO") if m in detail.io), None)
    if module is None:
        return []
    processes = max(1, detail.nprocs or 1)
    metadata = None
    if (module.opens or 0) >= MANY_OPENS and module.meta_time_s > 0:
        metadata = (module.opens or 0) / (module.meta_time_s / processes)
    found = []
    for direction, moved, busy in (
        ("read", module.bytes_read, module.read_time_s),
        ("write", module.bytes_written, module.write_time_s),
    ):
        if moved > 0 and busy > 0:
            found.append(
                Placed(
                    name=name, direction=direction, bandwidth=moved / (busy / processes), metadata=metadata,
                    processes=detail.nprocs,
                )
            )  # fmt: skip
    return found


def _of_ior(name: str, detail: Ior) -> list[Placed]:
    found = []
    for run in detail.runs:
        for direction in ("read", "write"):
            rates = [row.mib_s for row in run.rows if row.op == direction]
            best = run.max.get(direction, max(rates, default=0.0))
            if best > 0:
                bandwidth = best * MIB
                found.append(Placed(name=name, direction=direction, bandwidth=bandwidth, processes=run.tasks))
    return found[:20]
