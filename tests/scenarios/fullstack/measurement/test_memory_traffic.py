"""Which counters of memory controllers are found in sysfs, with what a count is worth; and what is counted by them."""

import os
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.scenarios.fullstack.measurement import memory_traffic
from hostdx.scenarios.fullstack.measurement.memory_traffic import (
    MemoryTraffic,
    TrafficCounter,
    find_traffic_counters,
)

IMC = {
    "type": "23",
    "cpumask": "0,18",
    "format/event": "config:0-7",
    "format/umask": "config:8-15",
    "events/cas_count_read": "event=0x04,umask=0x03",
    "events/cas_count_read.scale": "6.103515625e-5",
    "events/cas_count_read.unit": "MiB",
    "events/cas_count_write": "event=0x04,umask=0x0c",
    "events/cas_count_write.scale": "6.103515625e-5",
    "events/cas_count_write.unit": "MiB",
    "events/clockticks": "event=0xff,umask=0x00",
}
UMC = {"type": "40", "cpumask": "0", "format/event": "config:0-7", "format/rdwrmask": "config:8-9"}


def make_host(root: Path, devices: dict[str, dict[str, str]]) -> Host:
    for device, files in devices.items():
        for name, text in files.items():
            path = root / memory_traffic.DEVICES.lstrip("/") / device / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
    return Host(str(root))


def test_a_driver_without_named_events_is_asked_for_the_known_ones(tmp_path: Path) -> None:
    counters = find_traffic_counters(make_host(tmp_path, {"amd_umc_0": UMC}))
    assert counters == (TrafficCounter(40, 0x10A, 0, 64.0), TrafficCounter(40, 0x20A, 0, 64.0))


def test_where_nothing_can_be_counted_it_is_said_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    none = MemoryTraffic(make_host(tmp_path, {"cpu": {"type": "4"}}))
    assert none.read() is None and none.reason == memory_traffic.NONE
    monkeypatch.setattr(memory_traffic, "open_event", lambda *arguments: -1)
    traffic = MemoryTraffic(make_host(tmp_path, {"uncore_imc_0": IMC}))
    assert traffic.read() is None and traffic.reason not in ("", memory_traffic.NONE)


def test_counts_are_summed_as_bytes_and_scaled_where_they_took_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_traffic, "open_event", lambda *arguments: os.open("/dev/null", os.O_RDONLY))
    data = (1000).to_bytes(8, "little") + (30).to_bytes(8, "little") + (10).to_bytes(8, "little")
    traffic = MemoryTraffic(make_host(tmp_path, {"uncore_imc_0": IMC}))
    with monkeypatch.context() as reading:
        reading.setattr(memory_traffic.os, "read", lambda descriptor, count: data)
        assert traffic.reason == "" and traffic.read() == 4 * 1000 * 3 * 64.0
    traffic.close()
    assert traffic.read() is None
