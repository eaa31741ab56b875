"""Whose I/O the live screen says it was: our own is never others', and what cannot be told is a question mark."""

from __future__ import annotations

import msgspec
import pytest

from app.recordings import store
from app.recordings.interference import others_by_pulse as others
from app.recordings.reader import read_events
from app.recordings.session import RunSession
from app.tui.widgets.measuring.pulse_line import pulse_lines
from scenarios.contract import events as ev
from scenarios.contract.plan import Plan, Written
from tests.every_case import every_case

Rates = dict[str, tuple[float, float, float]]
MIB = float(1 << 20)
DECODER = msgspec.json.Decoder(ev.Common)


def session(devices: Rates, ours: dict[str, tuple[float, float]], plan: Plan | None = None) -> RunSession:
    told = RunSession()
    if plan is not None:
        told.apply(ev.Planned(t=0, plan=plan))
    told.apply(ev.Pulse(t=1, load1=0.5, cpu=0.1, devices=devices, ours=ours))
    return told


def words(told: RunSession) -> list[tuple[str, str]]:
    return [span for line in pulse_lines(told, 200) for span in line]


@every_case(
    ("devices", "ours", "expected"),
    [
        ({"vda": (300 * MIB, 0, 1.0)}, {"vda": (300 * MIB, 0.0)}, 0.0),
        ({"vda": (300 * MIB, 0, 1.0)}, {"vda": (200 * MIB, 0.0)}, 100 * MIB),
        ({"vda": (0, 80 * MIB, 1.0)}, {"vda": (0.0, 0.0)}, 80 * MIB),
        ({"vda": (0, 80 * MIB, 1.0)}, {"vda": (0.0, 20 * MIB)}, None),  # the journal's, or somebody's
        ({"vda": (300 * MIB, 0, 1.0), "loop0": (9 * MIB, 0, 1.0)}, {}, None),
        ({"loop0": (9 * MIB, 0, 1.0), "vda": (9 * MIB, 0, 1.0)}, {"loop0": (9 * MIB, 0.0)}, None),  # below it
        ({"vda": (9 * MIB, 0, 1.0), "dm-0": (9 * MIB, 0, 1.0)}, {"vda": (9 * MIB, 0.0)}, None),  # above it
        (
            {"vda": (9 * MIB, 0, 1.0), "vda1": (9 * MIB, 0, 1.0)},
            {"vda": (9 * MIB, 0.0)},
            0.0,
        ),  # its partition
        ({"sda": (0, 0, 0), "sdb": (50 * MIB, 0, 1.0)}, {"sda": (0.0, 0.0)}, 50 * MIB),
    ],
)
def test_whose_it_is(devices: Rates, ours: dict[str, tuple[float, float]], expected: float | None) -> None:
    assert others(session(devices, ours)) == expected


def test_what_was_written_half_a_minute_ago_may_come_back_now() -> None:
    told = session({"vda": (0, 9 * MIB, 0.5)}, {"vda": (0.0, 9 * MIB)})
    for t, expected in ((20, None), (80, 9 * MIB)):
        told.apply(
            ev.Pulse(t=t, load1=0, cpu=0, devices={"vda": (0, 9 * MIB, 0.5)}, ours={"vda": (0.0, 0.0)})
        )
        assert others(told) == expected


def test_unknown_is_never_a_warning_and_several_disks_are_told_apart() -> None:
    writes = (Written(device="vda", bytes=1), Written(device="loop0", bytes=1))
    plan = Plan(scenario="storage", title="", question="", writes=writes)
    shown = words(session({"vda": (300 * MIB, 0, 1.0), "loop0": (9 * MIB, 0, 0.9)}, {}, plan))
    assert not any("others' I/O" in text for text, _ in shown) and ("loop0 ", "dim") in shown
    assert not [text for text, role in shown if role == "warning"]


def test_a_run_without_files_of_its_own_only_sees_others() -> None:
    watch = Plan(scenario="dstate", title="", question="")
    assert others(session({"vda": (9 * MIB, 0, 0.9)}, {}, watch)) == 9 * MIB


def test_a_per_cent_of_steal_is_no_warning() -> None:
    told = RunSession()
    told.apply(ev.Pulse(t=1, load1=0.5, cpu=0.1, steal=0.012))
    assert (" 1 %", "text") in words(told) or ("1 %", "text") in words(told)


def test_our_own_that_is_counted_late_is_not_others() -> None:
    told = session({"vda": (9 * MIB, 0, 1.0)}, {"vda": (9 * MIB, 0)})
    late = session({"vda": (9 * MIB, 0, 1.0)}, {"vda": (0, 0)}).pulses[-1]
    for _ in range(2):
        told.apply(late)
        assert others(told) == 0.0
    told.apply(late)
    assert others(told) == 9 * MIB  # three in turn: somebody else's


@pytest.mark.parametrize("demo", ["storage", "iosched"])
def test_the_load_of_a_bundled_run_is_not_shown_as_others(demo: str) -> None:
    """Two disks, or a loop device above a disk: what the run itself does stands on both."""
    told = RunSession()
    pulses = 0
    for event in read_events(store.resolve_recording(f"demo:{demo}"), DECODER):
        told.apply(event)
        if isinstance(event, ev.Pulse):
            pulses += 1
            assert not others(told)
    assert pulses > 20


def test_a_command_of_the_users_is_not_called_others() -> None:
    """Its reads and writes are the run's own, and nobody counts them apart."""
    plan = Plan(scenario="workload", title="t", question="q", commands=("./job.sh",))
    assert others(session({"vda": (0.0, 50 * MIB, 0.5)}, {}, plan)) is None
    assert (
        others(session({"vda": (0.0, 50 * MIB, 0.5)}, {}, msgspec.structs.replace(plan, commands=())))
        == 50 * MIB
    )
