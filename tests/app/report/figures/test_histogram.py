"""The times of a load's operations as a histogram: of blocks that are given, in each of its forms."""

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.figures.latency import latency_figure
from hostdx.scenarios.contract import events as ev


def make_session(*blocks: tuple[str, list[tuple[int, int]]], disturbed: bool = False) -> RunSession:
    run_session = RunSession()
    for n, (variant, counts) in enumerate(blocks):
        run_session.apply(
            ev.Block(
                t=n, workload="w", index=n, group=n, seconds=1.0, variant=variant, values={}, histogram=counts,
                phase="warmup" if disturbed else "steady",
            )
        )  # fmt: skip
    return run_session


def test_a_duration_that_no_operation_took_is_on_no_axis() -> None:
    (latency_histogram,) = latency_figure(make_session(("A", [(1000, 500), (1 << 60, 0)])), "w")
    assert sum(latency_histogram.rows[0][1]) == 500 and latency_histogram.high_ns < 2000
