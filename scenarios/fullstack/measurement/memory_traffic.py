"""What the memory controllers moved, by their own counters: bytes read and written by the whole host.

Events in sysfs: Intel's `uncore_imc_*` (cas_count_*, data_*), with their scale (Documentation/ABI/testing/
sysfs-bus-event_source-devices-events); AMD's `amd_umc_*` name none: a command of 64 bytes is event 0x0a,
rdwrmask 1 or 2 (PPR of family 19h, "UMC Performance Monitors"; tools/perf/pmu-events/arch/x86/amdzen4). Root only.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from hostdx.probes.engine.command.topdown import DEVICES, perf_event_config
from hostdx.probes.number_text import parse_real, parse_unsigned
from hostdx.probes.profile.perf_ring import open_event
from hostdx.probes.reading.host import Host
from hostdx.probes.types import is_present

ACCESS_BYTES = 64  # of an event that has no scale
EVENTS = ("cas_count_read", "cas_count_write", "data_read", "data_write", "data_reads", "data_writes")
UMC = ("event=0x0a,rdwrmask=0x1", "event=0x0a,rdwrmask=0x2")
_UNITS = {"MiB": 1 << 20, "KiB": 1 << 10, "Bytes": 1, "B": 1}
NONE = "no memory controller's counters here (usual in a virtual machine)"


class TrafficCounter(NamedTuple):
    kind: int
    config: int
    cpu: int
    bytes: float  # of a count


def find_traffic_counters(host: Host) -> tuple[TrafficCounter, ...]:
    """One for each controller and direction, on the CPU that its driver names."""
    return tuple(_memory_counters(host))


def _memory_counters(host: Host) -> Iterator[TrafficCounter]:
    names = host.list_names(DEVICES)
    for name in names if is_present(names) else ():
        device = f"{DEVICES}/{name}"
        kind, mask = host.read_integer(f"{device}/type"), host.read_word(f"{device}/cpumask")
        if not name.startswith(("uncore_imc", "amd_umc")) or not is_present(kind) or not is_present(mask):
            continue
        firsts = (parse_unsigned(part.partition("-")[0]) for part in mask.split(","))
        cpus = [cpu for cpu in firsts if cpu is not None]
        event_terms = {event: host.read_word(f"{device}/events/{event}") for event in EVENTS}
        terms = [(event, words) for event, words in event_terms.items() if is_present(words)]
        for event, words in terms or [("", words) for words in UMC if name.startswith("amd")]:
            config = perf_event_config(words, partial(_read_format_bits, host, device))
            unit, scale = (
                host.read_word(f"{device}/events/{event}.{suffix}") for suffix in ("unit", "scale")
            )
            each = float(ACCESS_BYTES)
            if event and is_present(unit) and is_present(scale) and unit in _UNITS:
                each = (parse_real(scale) or 0.0) * _UNITS[unit]
            for cpu in cpus if config is not None else ():
                yield TrafficCounter(kind, config or 0, cpu, each)


def _read_format_bits(host: Host, device: str, field: str) -> str:
    bits = host.read_word(f"{device}/format/{field}")
    return bits if is_present(bits) else ""


class MemoryTraffic:
    """`read` counts on from here; None where nothing can be counted, and `reason` says why."""

    def __init__(self, host: Host) -> None:
        self._open: list[tuple[int, float]] = []
        self.reason = NONE
        for kind, config, cpu, each in find_traffic_counters(host):
            attr = struct.pack("=IIQQQQQIIQ", kind, 64, config, 0, 0, 0b11, 0, 0, 0, 0)  # with both times
            descriptor = open_event(attr, -1, cpu, -1)
            self.reason = (
                "" if descriptor >= 0 else "the memory controllers' counters may not be read (root may)"
            )
            if self.reason:
                self.close()  # some of the channels would be a part that looks like the whole
                return
            self._open.append((descriptor, each))

    def read(self) -> float | None:
        if not self._open:
            return None
        moved = 0.0
        for descriptor, each in self._open:
            count, enabled, running = struct.unpack("QQQ", os.read(descriptor, 24))
            moved += count * each * (enabled / running if running else 1.0)
        return moved

    def close(self) -> None:
        for descriptor, _ in self._open:
            os.close(descriptor)
        self._open.clear()
