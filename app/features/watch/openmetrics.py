"""The history for node_exporter's textfile collector. The file is replaced in one step, as its documentation asks."""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from hostdx.app.report.forms.openmetrics import Sample, gauge_lines, gauges_text
from hostdx.app.terminal.failure import Failure
from hostdx.scenarios.analysis.nights.history import HostHistory, LoadNights

STATES = ("done", "skipped", "failed", "interrupted")
SUFFIX = ".prom"  # the collector reads no other


def openmetrics_text(history: HostHistory, last_outcome: str = "") -> str:
    """`last_outcome`: how the last night ended."""
    return gauges_text(_night_metric_lines(history, last_outcome))


def _night_metric_lines(history: HostHistory, last: str) -> Iterator[str]:
    slower = sum(load.slow for load in history.loads)
    for name, says, value in (
        ("nights", "Measured nights on record.", history.measured_count),
        (
            "baseline_nights",
            "Nights of the baseline that is being made; 0 when it is whole.",
            history.collected,
        ),
        ("baselines", "Whole baselines on record.", history.baselines),
        ("slower_loads", "Loads that are slower than the baseline.", slower),
        ("last_measured_timestamp_seconds", "Start of the last measured night.", _last_night_s(history)),
    ):
        yield from gauge_lines(f"hostdx_watch_{name}", says, [({}, value)] if value is not None else [])
    states: list[Sample] = [({"state": state}, int(state == last)) for state in STATES if last]
    yield from gauge_lines("hostdx_watch_last_night", "How the last night ended.", states)
    watched = [(_load_labels(load), load) for load in history.loads if load.centre and load.values]
    for name, says, of in (
        ("ratio", "Last night over the baseline; under 1 is slower.", _ratio_to_baseline),
        ("cusum", "CUSUM of the shortfall, in deviations.", lambda load: load.total),
        ("slower", "Slower than the baseline.", lambda load: int(load.slow)),
    ):
        yield from gauge_lines(f"hostdx_watch_load_{name}", says, [(own, of(load)) for own, load in watched])


def _ratio_to_baseline(load: LoadNights) -> float:
    value, centre = load.values[-1][1], load.centre or 1.0
    return value / centre if load.metric.better == "more" else centre / value


def _load_labels(load: LoadNights) -> dict[str, str]:
    labels = {"load": load.key.workload, "metric": load.key.metric, "slot": load.key.variant}
    return {name: value for name, value in labels.items() if value}


def _last_night_s(history: HostHistory) -> float | None:
    wall = next((night.wall for night in reversed(history.nights) if night.state == "measured"), "")
    try:
        return datetime.fromisoformat(wall.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def write_openmetrics(history: HostHistory, path: Path, last_outcome: str = "") -> None:
    """In one step, readable by everybody. Raises Failure."""
    target = path.with_name(f".{path.name}.hostdx-new")
    try:
        target.unlink(missing_ok=True)
        descriptor = os.open(
            target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644
        )
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(openmetrics_text(history, last_outcome))
            os.fchmod(file.fileno(), 0o644)
        target.replace(path)
    except OSError as why:
        try:
            target.unlink(missing_ok=True)
        except OSError:
            pass
        raise Failure(f"watch: {path}: cannot be written: {why.strerror}; name another --textfile") from None
