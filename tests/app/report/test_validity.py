"""The signs of trust: whose control it was, and what a recording claims beyond all measure is left out."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.session import RunSession
from hostdx.app.report import validity, wording
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance, InterferenceCulprit
from hostdx.scenarios.contract.surroundings import MeasuredSurroundings
from tests.every_case import every_case

DEMO = Path(__file__).parents[3] / "app" / "recordings" / "demos" / "iosched.jsonl"


@every_case("value", [1e308, -1e308, 0.0, 5e-324])
def test_blocks_beyond_all_measure(tmp_path: Path, value: float) -> None:
    lines = []
    for line in DEMO.read_text().splitlines():
        event = json.loads(line)
        if event["type"] == "block":
            event["values"] = dict.fromkeys(event["values"], value)
        if event["type"] == "verdict":
            event["drift"] = {}
        lines.append(json.dumps(event))
    (tmp_path / "r.jsonl").write_text("\n".join(lines) + "\n")
    assert validity.list_trust_signs(load_recording(tmp_path / "r.jsonl"))


def make_verdict(workload: str, **more: Any) -> ev.RunVerdict:
    return ev.RunVerdict(t=1.0, workload=workload, metric="ns", baseline="none", groups=9, **more)


DD = Disturbance("device", InterferenceCulprit(name="dd", pid=7), 300e6, unit="B/s")
HOG = Disturbance("cpu", InterferenceCulprit(name="hog", pid=8), 0.5)
SEEN = MeasuredSurroundings(
    seconds=1.0,
    cpu=0.1,
    device_bytes=340_000_000,
    device_written=300_000_000,
    own_bytes=40_000_000,
    attributed=0,
)


def disturbance_signs(
    looks: list[tuple[MeasuredSurroundings, tuple[Disturbance, ...]]],
    bad_groups: int = 0,
    devices: tuple[str, ...] = ("vda",),
) -> list[validity.TrustSign]:
    """What the trust line says of a run whose guards saw that, of 20 groups."""
    session = RunSession()
    session.apply(make_verdict("reads", variant="B", verdict="inconclusive"))
    for number in range(20):
        bad = (DD,) if number < bad_groups else ()
        session.apply(ev.Group(t=1, workload="reads", index=number, order="ABBA", disturbed=bad))
    session.apply(
        ev.Block(t=1, workload="reads", variant="A", index=0, group=0, seconds=1, values={}, bytes=1)
    )
    for values, causes in looks:
        session.apply(ev.Watched(t=1, workload="reads", surroundings=values, devices=devices, told=causes))
    return [
        s
        for s in validity.list_trust_signs(session)
        if any(word in s.text for word in ("disturb", "other", "measuring"))
    ]


@every_case(("noisy", "state"), [(0, "ok"), (3, "notice"), (15, "critical")])
def test_one_side_alone_was_measured_on_the_host_as_it_was_too(noisy: int, state: str) -> None:
    session = RunSession()
    for n in range(20):
        bad = (DD,) if n < noisy else ()
        session.apply(
            ev.Block(
                t=n, workload="reads", variant="A", index=n, group=n, seconds=1, values={}, disturbed=bad
            )
        )
        session.apply(ev.Watched(t=n, workload="reads", surroundings=SEEN, devices=("vda",), told=bad))
    signs = validity.list_trust_signs(session)
    assert signs[0].state == state and [sign for sign in signs if DD.culprit.name in sign.text] == signs[1:2]
    assert bool(signs[1:]) == bool(noisy)


def test_what_lasts_all_the_time_is_said_of_the_figures() -> None:
    [disk] = disturbance_signs([(SEEN, (DD,))] * 9)
    assert disk.state == "notice" and "300 MB/s" in disk.text and "dd [7]" in disk.text
    [host] = disturbance_signs([(SEEN, (HOG,))] * 9)
    assert host.state == "notice" and "50 %" in host.text and "hog [8]" in host.text


@pytest.mark.parametrize(
    "surroundings",
    [MeasuredSurroundings(seconds=1.0), MeasuredSurroundings(seconds=1.0, cpu=0.1)],
    ids=["nothing", "no device"],
)
def test_where_nobody_looked_there_is_no_check_mark(surroundings: MeasuredSurroundings) -> None:
    assert [sign.state for sign in disturbance_signs([(surroundings, ())] * 9)] == ["unlooked"]


def test_a_run_that_watches_no_disk_says_so() -> None:
    looks = [(MeasuredSurroundings(seconds=1.0, cpu=0.1, users_cpu=0.0), ())] * 9
    [sign], [without_counters] = disturbance_signs(looks, devices=()), disturbance_signs(looks)
    assert sign.state == "unlooked" and sign.text != without_counters.text


@every_case(
    ("surroundings", "state"),
    [
        (replace(SEEN, cpu=0.6), "unlooked"),
        (replace(SEEN, cpu=0.6, users_cpu=0.0, hidden=True), "unlooked"),
        (replace(SEEN, cpu=None), "unlooked"),
        (replace(SEEN, cpu=0.6, users_cpu=0.0), "ok"),
        (replace(SEEN, cpu=0.2), "ok"),  # nobody can have used more than that
    ],
)
def test_cpu_time_that_nobody_could_attribute_has_no_check_mark(
    surroundings: MeasuredSurroundings, state: str
) -> None:
    assert [s.state for s in disturbance_signs([(surroundings, ())] * 6 + [(SEEN, ())] * 3)] == [state]


def test_what_our_own_writes_cause_is_not_charged_to_others() -> None:
    caused = replace(SEEN, device_written=400_000_000, device_bytes=400_000_000, own_bytes=8_000_000)
    hundred = Disturbance("device", InterferenceCulprit(name="dd", pid=7), 105e6, unit="B/s")
    [disk] = disturbance_signs([(caused, (hundred,))] * 9)
    assert "105 MB/s" in disk.text
    [disk] = disturbance_signs([(caused, (Disturbance("device", figure=0.8),))] * 9)
    assert "MB/s" not in disk.text


@every_case(("reached", "state"), [(96, "ok"), (94, "notice"), (60, "notice")])
def test_a_load_that_a_cache_served_in_part_has_no_check_mark(reached: int, state: str) -> None:
    session = RunSession()
    session.apply(make_verdict("reads", variant="B", verdict="slower"))
    before = len(validity.list_trust_signs(session))
    session.apply(
        ev.Block(
            t=1, workload="reads", variant="B", index=0, group=0, seconds=1, values={},
            bytes=100 << 20, device_bytes=reached << 20,
        )
    )  # fmt: skip
    trust_signs = validity.list_trust_signs(session)
    assert len(trust_signs) == before + 1
    assert (state == "notice") == any(sign.state == "notice" for sign in trust_signs)


@every_case(
    ("levels", "state"),
    [
        ([100.0, 101.0, 99.0, 100.0, 102.0, 98.0, 101.0, 100.0], "ok"),
        ([10.0, 15.0, 24.0, 38.0, 60.0, 95.0, 140.0, 200.0], "notice"),
        ([100.0, 100.0, 100.0], None),
    ],
)
def test_levels_that_both_sides_climb_alike_are_no_steady_ones(
    levels: list[float], state: str | None
) -> None:
    """Both directories of one disk went from 10,000 to 200,000 names a second within seconds, beside a check mark."""
    session = RunSession()
    for group, level in enumerate(levels):
        for side in ("A", "B"):
            session.apply(
                ev.Block(
                    t=float(group),
                    workload="w",
                    variant=side,
                    group=group,
                    index=group,
                    seconds=0.5,
                    values={"ops/s": level},
                )
            )
    session.apply(
        ev.RunVerdict(
            t=9.0,
            workload="w",
            metric="ops/s",
            baseline="A",
            variant="B",
            groups=len(levels),
            verdict="faster",
            ratio=1.1,
        )
    )
    states = [
        sign.state
        for sign in validity.list_trust_signs(session)
        if "halved" in sign.text or "while" in sign.text
    ]
    assert states == ([state] if state else [])


def test_comparisons_without_an_interval_leave_no_check_mark() -> None:
    """demo:numa: 4 of 12 comparisons have an interval, and theirs is narrow; of the others nothing is known."""
    session = load_recording(DEMO.with_name("numa.jsonl"))
    few = wording.count_unresolved_verdicts(session)
    resolved = [
        v
        for v in session.verdicts.values()
        if v.smallest_effect and not wording.too_few_groups_text(session, v)
    ]
    assert few == 8 and all((v.smallest_effect or 0) < v.margin for v in resolved)
    (sign,) = [sign.text for sign in validity.list_trust_signs(session) if sign.state == "unknown"]
    assert str(len(resolved)) in sign and str(few) in sign
