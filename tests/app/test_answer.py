"""Which of several verdicts is the answer in one sentence."""

from __future__ import annotations

import pytest

from app.session import Session
from app.wording import headline
from scenarios import events as ev
from scenarios.plan import Metric, Plan, Variant, Workload

NS = Metric(name="ns/packet", unit="ns", better="less")


def told(own: ev.VerdictWord, ratio: float, controls: tuple[str, ...]) -> str:
    """The host's own check at `ratio`, a dearer variant of it, another workload that is clearer still."""
    session = Session()
    plan = Plan(
        scenario="rpfilter",
        title="t",
        question="q",
        variants=tuple(Variant(id=v, label=v) for v in ("none", "check", "trivial", "mark", "fib")),
        workloads=(
            Workload(id="six", title="six", metrics=(NS,), controls=controls),
            Workload(id="four", title="four", metrics=(NS,)),
        ),
    )
    session.apply(ev.Planned(t=0, plan=plan))
    words: list[tuple[str, str, ev.VerdictWord, float]] = [
        ("six", "mark", "slower", 0.5),
        ("six", "trivial", "slower", 0.3),
        ("six", "check", own, ratio),
        ("four", "fib", "slower", 0.4),
    ]
    for workload, variant, verdict, value in words:
        session.apply(
            ev.Verdict(
                t=1,
                workload=workload,
                metric="ns/packet",
                baseline="none",
                variant=variant,
                verdict=verdict,
                ratio=value if verdict != "not applicable" else None,
                control=variant == "trivial",
            )
        )
    session.apply(ev.Ended(t=2, status="done"))
    return headline(session)


@pytest.mark.parametrize(
    ("own", "ratio", "controls", "begins"),
    [
        ("slower", 0.7, ("trivial",), "six: check is slower than none"),
        ("no material difference", 1.0, ("trivial",), "six: no material difference between check and none"),
        ("not applicable", 0.0, ("trivial",), "four: fib is slower than none"),  # not measured: the clearest
        ("slower", 0.7, (), "four: fib is slower than none"),  # pairs of equal standing: the clearest
    ],
)
def test_the_pair_that_was_asked_about_is_the_answer(
    own: ev.VerdictWord, ratio: float, controls: tuple[str, ...], begins: str
) -> None:
    assert told(own, ratio, controls).startswith(begins)
