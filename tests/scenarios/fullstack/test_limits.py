"""Which part is named by what the verdicts say, at the edges."""

import pytest
from msgspec.structs import replace

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.verdict.verdict import OPEN, Word
from hostdx.scenarios.fullstack.findings import fullstack_findings
from hostdx.scenarios.fullstack.limits import stream_limit
from hostdx.scenarios.fullstack.machine import RateBound, StreamBounds
from hostdx.scenarios.fullstack.results import FullstackFigures, SideRate, StreamLimit
from tests.every_case import every_case

NOTHING = StreamBounds(disk={"out": ()})
NEAR, FAR = (0.96, (0.9, 1.02)), (0.5, (0.4, 0.6))
BETWEEN = (0.85, (0.78, 0.92))


def verdict(
    base: str, ratio_ci: tuple[float, tuple[float, float]], word: Word | None = None
) -> ev.RunVerdict:
    ratio, ends = ratio_ci
    slower = Word.SLOWER if ends[1] < 1 and ratio < 0.95 else OPEN
    return ev.RunVerdict(
        t=1.0, workload="out", metric="MB/s", baseline=base, variant="direct", verdict=word or slower,
        ratio=ratio, ci95=ends, reason=None,
    )  # fmt: skip


def limit_named(
    disk: tuple[float, tuple[float, float]],
    network: tuple[float, tuple[float, float]],
    bounds: StreamBounds = NOTHING,
    **more: float,
) -> str:
    side_rates = [SideRate(direction="out", side=side, rate=2e9) for side in ("disk", "network")]
    levels = [*side_rates, SideRate(direction="out", side="direct", rate=1e9, **more)]  # type: ignore[arg-type]
    verdicts = [verdict("disk", disk), verdict("network", network)]
    found_limit = stream_limit("out", levels, verdicts, bounds, private=False)
    assert found_limit is not None
    return found_limit.what


@every_case(
    ("disk", "network", "expected"),
    [
        (NEAR, FAR, "disk"),
        (FAR, NEAR, "network"),
        (NEAR, NEAR, "both"),
        (BETWEEN, FAR, "open"),  # its interval does not come near as a whole
        (NEAR, BETWEEN, "open"),  # nor is this one clearly far
        (BETWEEN, BETWEEN, "open"),
        (FAR, FAR, "streams"),
    ],
)
def test_the_whole_interval_counts(
    disk: tuple[float, tuple[float, float]], network: tuple[float, tuple[float, float]], expected: str
) -> None:
    assert limit_named(disk, network) == expected


def test_of_several_bounds_the_lowest_that_it_comes_near_to() -> None:
    cap, line = RateBound("network cap", 2.1e9, "tc", "tc"), RateBound("line rate", 2.2e9, "eth0", "sysfs")
    assert limit_named(FAR, NEAR, StreamBounds(disk={}, network=(line, cap))) == "network cap"
    assert limit_named(FAR, NEAR, StreamBounds(disk={}, network=(line,))) == "line rate"
    far = RateBound("line rate", 12.5e9, "eth0", "sysfs")
    assert limit_named(FAR, NEAR, StreamBounds(disk={}, network=(far,))) == "network"


def test_between_both_it_is_said_who_had_the_cpus() -> None:
    assert limit_named(FAR, FAR, worker=0.95) == "CPU"
    assert limit_named(FAR, FAR, busy=0.98, cpus=0.9) == "CPU"
    assert limit_named(FAR, FAR, busy=0.98, cpus=0.2) == "open"
    assert limit_named(FAR, FAR, softirq=0.95, busy=0.98, cpus=0.9) == "interrupts"


def test_without_a_way_or_a_part_nothing_is_told() -> None:
    rates = [SideRate(direction="out", side="direct", rate=1e9)]
    assert stream_limit("out", rates, [], NOTHING, private=False) is None
    assert stream_limit("in", rates, [], NOTHING, private=False) is None


def test_where_nothing_was_judged_it_is_open_with_a_reason() -> None:
    levels = [SideRate(direction="out", side=side, rate=1e9) for side in ("disk", "network", "direct")]
    limit = stream_limit("out", levels, [], NOTHING, private=False)
    assert limit is not None and limit.what == "open" and limit.reason


@pytest.mark.parametrize(("private", "expected"), [(True, "CPU"), (False, "network")])
def test_a_private_link_has_no_wire_so_full_cpus_bound_it(private: bool, expected: str) -> None:
    levels = [
        SideRate(direction="out", side="disk", rate=2e9),
        SideRate(direction="out", side="network", rate=2e9, busy=0.98, cpus=0.9),
        SideRate(direction="out", side="direct", rate=1e9),
    ]
    verdicts = [verdict("disk", FAR), verdict("network", NEAR)]
    limit = stream_limit("out", levels, verdicts, NOTHING, private=private)
    assert limit is not None and limit.what == expected


@every_case(
    ("groups", "ratio", "part"), [(3, NEAR, None), (8, NEAR, NEAR[0]), (6, FAR, FAR[0]), (12, FAR, FAR[0])]
)
def test_of_too_few_groups_no_part_is_shown_unless_they_decided(
    groups: int, ratio: tuple[float, tuple[float, float]], part: float | None
) -> None:
    levels = [SideRate(direction="out", side=side, rate=1e9) for side in ("disk", "network", "direct")]
    verdicts = [replace(verdict(base, ratio), groups=groups) for base in ("disk", "network")]
    limit = stream_limit("out", levels, verdicts, NOTHING, private=False)
    assert limit is not None and limit.of_disk == limit.of_network == part


@pytest.mark.parametrize(("direction", "remedies"), [("out", 1), ("in", 0)])
def test_a_read_ahead_is_a_remedy_for_reading_only(direction: str, remedies: int) -> None:
    waits = StreamLimit(direction=direction, path="copy", what="streams", rate=1e9)
    figures = FullstackFigures(
        directory="/data", disk="sda", network="lo", private=True, streams=2, levels=(), limits=(waits,)
    )
    (finding, *_) = fullstack_findings(figures, [], NOTHING)
    assert len([remedy for remedy in finding.remedy if remedy.commands]) == remedies
