"""The history as OpenMetrics text, for the textfile collector of node_exporter: the one place that writes it.

Gauges only and no timestamps: the collector reads the text format of Prometheus, which has no `# UNIT`, and refuses
times (node_exporter, collector/textfile.go). The file is replaced in one step, as its documentation asks.
"""

import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from app.terminal.failure import Failure
from scenarios.analysis.nights.history import HostHistory, LoadNights

STATES = ("done", "skipped", "failed", "interrupted")
SUFFIX = ".prom"  # the collector reads no other
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f]")


def metrics_text(history: HostHistory, last: str = "") -> str:
    """`last`: how the last night ended."""
    return "\n".join([*_metric_lines(history, last), "# EOF", ""])


def _metric_lines(history: HostHistory, last: str) -> Iterator[str]:
    for name, says, value in (
        ("nights", "Measured nights on record.", history.measured_count),
        (
            "baseline_nights",
            "Nights of the baseline that is being made; 0 when it is whole.",
            history.collected,
        ),
        ("baselines", "Whole baselines on record.", history.baselines),
        (
            "slower_loads",
            "Loads that are slower than the baseline.",
            sum(load.slow for load in history.loads),
        ),
    ):
        yield from _metric_with_head(f"hostdx_watch_{name}", says, [("", value)])
    if (when := _last_measured(history)) is not None:
        yield from _metric_with_head(
            "hostdx_watch_last_measured_timestamp_seconds", "Start of the last measured night.", [("", when)]
        )
    if last:
        yield from _metric_with_head(
            "hostdx_watch_last_night",
            "How the last night ended.",
            [(f'{{state="{state}"}}', int(state == last)) for state in STATES],
        )
    watched = [load for load in history.loads if load.centre and load.values]
    for name, says, of in (
        ("hostdx_watch_load_ratio", "Last night over the baseline; under 1 is slower.", _ratio_to_baseline),
        ("hostdx_watch_load_cusum", "CUSUM of the shortfall, in deviations.", lambda load: load.total),
        ("hostdx_watch_load_slower", "Slower than the baseline.", lambda load: int(load.slow)),
    ):
        yield from _metric_with_head(name, says, [(_label_text(load), of(load)) for load in watched])


def _metric_with_head(name: str, says: str, samples: list[tuple[str, float]]) -> Iterator[str]:
    if samples:
        yield f"# HELP {name} {says}"
        yield f"# TYPE {name} gauge"
        yield from (f"{name}{labels} {value!r}" for labels, value in samples)


def _ratio_to_baseline(load: LoadNights) -> float:
    value, centre = load.values[-1][1], load.centre or 1.0
    return value / centre if load.metric.better == "more" else centre / value


def _label_text(load: LoadNights) -> str:
    pairs = {"load": load.key.workload, "metric": load.key.metric, "slot": load.key.variant}
    return "{" + ",".join(f'{name}="{_escape_label(value)}"' for name, value in pairs.items() if value) + "}"


def _escape_label(value: str) -> str:
    """Foreign recordings name loads as they like."""
    safe = _FORBIDDEN.sub(" ", value)[:200].encode("utf-8", "replace").decode()
    return safe.replace("\\", r"\\").replace('"', r"\"")


def _last_measured(history: HostHistory) -> float | None:
    wall = next(
        (listed_night.wall for listed_night in reversed(history.nights) if listed_night.state == "measured"),
        "",
    )
    try:
        return datetime.fromisoformat(wall.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def write_metrics(history: HostHistory, path: Path, last: str = "") -> None:
    """In one step, readable by everybody. Raises Failure."""
    target = path.with_name(f".{path.name}.hostdx-new")
    try:
        target.unlink(missing_ok=True)
        descriptor = os.open(
            target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644
        )
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(metrics_text(history, last))
            os.fchmod(file.fileno(), 0o644)
        target.replace(path)
    except OSError as why:
        try:
            target.unlink(missing_ok=True)
        except OSError:
            pass
        raise Failure(f"watch: {path}: cannot be written: {why.strerror}; name another --textfile") from None
