"""The pipeline's counters by made-up descriptions: found as sysfs has them, and their shares are those planted."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from hostdx.probes.engine.command.topdown import BACK, BAD, FRONT, RETIRING, TopDown, find_top_down_events
from tests.every_case import every_case

INTEL = {
    "events/slots": "event=0x00,umask=0x4",
    "events/topdown-retiring": "event=0x00,umask=0x80",
    "events/topdown-bad-spec": "event=0x00,umask=0x81",
    "events/topdown-fe-bound": "event=0x00,umask=0x82",
    "events/topdown-be-bound": "event=0x00,umask=0x83",
}
OLD = {
    "events/topdown-total-slots": "event=0x3c,umask=0x0",
    "events/topdown-total-slots.scale": "4",
    "events/topdown-slots-retired": "event=0xc2,umask=0x2",
    "events/topdown-slots-issued": "event=0xe,umask=0x1",
    "events/topdown-fetch-bubbles": "event=0x9c,umask=0x1",
    "events/topdown-recovery-bubbles": "event=0xd,umask=0x3,cmask=0x1",
    "events/topdown-recovery-bubbles.scale": "4",
}
ARM = {
    "caps/slots": "0x00000008",
    "events/stall_slot_frontend": "event=0x003e",
    "events/stall_slot_backend": "event=0x003d",
    "events/stall_slot": "event=0x003f",
    "events/op_retired": "event=0x003a",
    "events/op_spec": "event=0x003b",
    "events/cpu_cycles": "event=0x0011",
}
STALLS_ONLY = {
    "events/stall_frontend": "event=0x0023",
    "events/stall_backend": "event=0x0024",
    "events/cpu_cycles": "event=0x0011",
}
X86 = {"format/event": "config:0-7", "format/umask": "config:8-15", "format/cmask": "config:24-31"}


def find_events(place: Path, device: str, files: Mapping[str, str], cpuinfo: str = "") -> TopDown | None:
    for name, text in {"type": "4", **files}.items():
        file = place / device / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    (place / "cpuinfo").write_text(cpuinfo)
    return find_top_down_events(str(place), str(place / "cpuinfo"))


def test_intels_metrics_count_in_a_group_that_slots_lead(tmp_path: Path) -> None:
    topdown = find_events(tmp_path, "cpu", X86 | INTEL)
    assert topdown is not None and next(iter(topdown.events)) == "slots"
    assert topdown.events["topdown-be-bound"] == (4, 0x8300, "slots") and topdown.events["slots"].leader == ""
    counts = {"slots": 100.0, "topdown-retiring": 40.0, "topdown-bad-spec": 10.0, "topdown-fe-bound": 20.0}
    assert topdown.slot_shares(counts) == {}, "one count is missing"
    shares = topdown.slot_shares(counts | {"topdown-be-bound": 30.0})
    assert shares == {RETIRING: 0.4, BAD: 0.1, FRONT: 0.2, BACK: 0.3}


def test_older_intels_with_their_scales_and_without_any_recovery(tmp_path: Path) -> None:
    topdown = find_events(tmp_path, "cpu", X86 | OLD)
    assert topdown is not None and topdown.events["topdown-recovery-bubbles"].config == 0x100030D
    counts = {"topdown-total-slots": 25.0, "topdown-slots-retired": 40.0, "topdown-slots-issued": 46.0}
    shares = topdown.slot_shares(counts | {"topdown-fetch-bubbles": 20.0, "topdown-recovery-bubbles": 1.0})
    assert shares == pytest.approx({RETIRING: 0.4, BAD: 0.1, FRONT: 0.2, BACK: 0.3})
    assert topdown.slot_shares(counts | {"topdown-fetch-bubbles": 20.0})[BAD] == pytest.approx(0.06)


def test_arms_stalls_by_slot_and_by_cycle(tmp_path: Path) -> None:
    topdown = find_events(tmp_path, "armv8_pmuv3_0", {"format/event": "config:0-15"} | ARM)
    assert topdown is not None and topdown.width == 8 and topdown.events["op_spec"].config == 0x3B
    counts = {
        "stall_slot_frontend": 160.0,
        "stall_slot_backend": 240.0,
        "stall_slot": 400.0,
        "cpu_cycles": 100.0,
    }
    shares = topdown.slot_shares(counts | {"op_retired": 320.0, "op_spec": 400.0})
    assert shares == pytest.approx({RETIRING: 0.4, BAD: 0.1, FRONT: 0.2, BACK: 0.3})


def test_an_arm_that_counts_cycles_only(tmp_path: Path) -> None:
    topdown = find_events(tmp_path, "armv8_cortex_a57", {"format/event": "config:0-15"} | STALLS_ONLY)
    assert topdown is not None
    counts = {"stall_frontend": 20.0, "stall_backend": 30.0, "cpu_cycles": 100.0}
    assert topdown.slot_shares(counts) == {FRONT: 0.2, BACK: 0.3}


@every_case(
    ("family", "model", "width"),
    [(25, 1, 0), (25, 0x21, 0), (25, 0x11, 6), (25, 0x61, 6), (26, 2, 8), (23, 49, 0)],
)
def test_amds_since_zen_4(tmp_path: Path, family: int, model: int, width: int) -> None:
    cpuinfo = f"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: {family}\nmodel\t\t: {model}\n"
    topdown = find_events(tmp_path, "cpu", X86, cpuinfo)
    assert (topdown.width if topdown else 0) == width
    if topdown:
        slots = width * 100.0
        counts = {"unhalted": 100.0, "retired": 0.4 * slots, "dispatched": 0.5 * slots, "front": 0.2 * slots}
        shares = topdown.slot_shares(counts | {"back": 0.3 * slots})
        assert shares == pytest.approx({RETIRING: 0.4, BAD: 0.1, FRONT: 0.2, BACK: 0.3})


def test_a_machine_that_shows_none_and_descriptions_that_are_none(tmp_path: Path) -> None:
    assert find_top_down_events(str(tmp_path), str(tmp_path / "none")) is None
    assert find_events(tmp_path, "cpu", X86 | INTEL | {"events/slots": "event=what"}) is None
    assert find_events(tmp_path, "cpu", X86 | INTEL | {"format/umask": "config:8-999"}) is None


def test_counts_that_make_no_sense_together_are_not_told(tmp_path: Path) -> None:
    topdown = find_events(tmp_path, "cpu", X86 | OLD)
    assert topdown is not None
    counts = {"topdown-total-slots": 25.0, "topdown-slots-retired": 400.0, "topdown-slots-issued": 46.0}
    assert topdown.slot_shares(counts | {"topdown-fetch-bubbles": 20.0}) == {}
