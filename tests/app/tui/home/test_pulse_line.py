"""Whose I/O the live screen says it was: our own is never others', and what cannot be told is a question mark."""

from hostdx.app.recordings.interference import latest_foreign_rate as others
from hostdx.app.recordings.session import RunSession
from hostdx.app.tui.widgets.measuring.host_panel import pulse_lines
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Plan
from tests.every_case import every_case

Rates = dict[str, tuple[float, float, float]]
MIB = float(1 << 20)


def session(devices: Rates, own: dict[str, tuple[float, float]], plan: Plan | None = None) -> RunSession:
    run_session = RunSession()
    if plan is not None:
        run_session.apply(ev.Planned(t=0, plan=plan))
    run_session.apply(ev.Pulse(t=1, load1=0.5, cpu=0.1, devices=devices, ours=own))
    return run_session


def pulse_spans(session: RunSession) -> list[tuple[str, str]]:
    return [span for line in pulse_lines(session, 200) for span in line]


@every_case(
    ("devices", "own", "expected"),
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
def test_whose_it_is(devices: Rates, own: dict[str, tuple[float, float]], expected: float | None) -> None:
    assert others(session(devices, own)) == expected


def test_a_per_cent_of_steal_is_no_warning() -> None:
    run_session = RunSession()
    run_session.apply(ev.Pulse(t=1, load1=0.5, cpu=0.1, steal=0.012))
    assert (" 1 %", "text") in pulse_spans(run_session) or ("1 %", "text") in pulse_spans(run_session)
