"""How often a quiet day of samples is called an incident, and how well planted ones are found and timed.

`python -m tests.measured.simulation.incidents --days 300`: series of eleven metrics made of correlated noise with
heavy tails, a day and night cycle and short bursts of work; then the same with one incident of a known cause. No time
is measured. The parameters of `scenarios/analysis/incidents` were chosen on seeds below 100.
"""

import argparse
import math
import random
from array import array
from collections.abc import Callable

from hostdx.probes.imports.model import ImportResult, make_facts
from hostdx.probes.imports.sample_series import SampleSeries, SampleTimes
from hostdx.scenarios.analysis.incidents.incidents import Cause, Timeline, judge_samples

DAY_S, FINEST_S = 86400, 10
# quiet level, relative noise, highest value, share of the day in bursts and their height
QUIET: dict[tuple[str, str], tuple[float, float, float, float, float]] = {
    ("CPU", "iowait share"): (0.01, 0.8, 1.0, 0.02, 0.05),
    ("CPU", "system share"): (0.04, 0.4, 1.0, 0.05, 0.1),
    ("CPU", "steal share"): (0.002, 1.0, 1.0, 0.01, 0.02),
    ("CPU", "idle share"): (0.6, 0.3, 1.0, 0.0, 0.0),
    ("disk:sda", "utilisation"): (0.1, 0.8, 1.0, 0.05, 0.5),
    ("disk:sda", "latency"): (0.004, 0.7, 10.0, 0.05, 0.01),
    ("host", "pages swapped out"): (0.1, 3.0, 1e6, 0.01, 40.0),
    ("host", "run queue"): (1.5, 0.8, 500.0, 0.05, 4.0),
    ("host", "blocked tasks"): (0.2, 1.5, 500.0, 0.02, 2.0),
    ("net:eth0", "receive drops"): (0.05, 3.0, 1e6, 0.01, 2.0),
    ("host", "TCP segments sent again"): (1.0, 1.5, 1e6, 0.02, 15.0),
}
# the metric that shows an incident, how high it rises at least and at most
PLANTED: dict[Cause, tuple[tuple[str, str], float, float]] = {
    "disk": (("disk:sda", "utilisation"), 0.93, 1.0),
    "hypervisor": (("CPU", "steal share"), 0.1, 0.5),
    "memory": (("host", "pages swapped out"), 500.0, 20_000.0),
    "kernel": (("CPU", "system share"), 0.4, 0.9),
    "network": (("net:eth0", "receive drops"), 20.0, 5000.0),
    "cpu": (("host", "run queue"), 20.0, 60.0),
}


def draw_noise(
    rng: random.Random, count: int, step_s: int, shape: tuple[float, float, float, float, float]
) -> list[float]:
    """Means over `step_s` of log-normal AR(1) values every ten seconds, around a day and night cycle, with bursts of
    one to five minutes.
    """
    if step_s > FINEST_S:
        times = step_s // FINEST_S
        fine = draw_noise(rng, count * times, FINEST_S, shape)
        return [sum(fine[n * times : (n + 1) * times]) / times for n in range(count)]
    level, spread, highest, burst_share, burst_height = shape
    sigma, phi, state = math.sqrt(math.log1p(spread**2)), 0.85, 0.0
    innovation = sigma * math.sqrt(1 - phi**2)
    phase, burst_left, burst = rng.random() * 2 * math.pi, 0.0, 0.0
    values = []
    for sample in range(count):
        state = phi * state + rng.gauss(0, innovation)
        day = 1 + 0.4 * math.sin(2 * math.pi * sample * step_s / DAY_S + phase)
        burst_left -= step_s
        if burst_left <= 0:
            starts = rng.random() < burst_share * step_s / 180
            burst_left, burst = (rng.uniform(60, 300), burst_height * rng.random()) if starts else (0.0, 0.0)
        values.append(min(highest, level * day * math.exp(state - sigma**2 / 2) + burst))
    return values


def make_day(rng: random.Random, step_s: int, cause: Cause | None) -> tuple[Timeline, float, float]:
    """Return what is said of it, with the begin and end of the planted incident in seconds from the first sample."""
    count = DAY_S // step_s
    at_s = array("d", (float(sample * step_s) for sample in range(count)))
    values = {name: draw_noise(rng, count, step_s, shape) for name, shape in QUIET.items()}
    began_s = ended_s = 0.0
    if cause is not None:
        name, low, high = PLANTED[cause]
        length = max(2, int(rng.uniform(600, 3600) / step_s))
        first = rng.randrange(1, count - length)
        height = low * (high / low) ** rng.random()
        for sample in range(first, first + length):
            values[name][sample] = height * rng.uniform(0.95, 1.0)
        began_s, ended_s = at_s[first - 1], at_s[first + length - 1]
    series = tuple(
        SampleSeries(subject=subject, metric=metric, unit="", at_s=at_s, values=array("d", series))
        for (subject, metric), series in values.items()
    )
    facts = tuple(make_facts(("threads", 8), subject="cpu"))
    result = ImportResult(
        kind="sar", tool="sar", facts=facts, series=series, times=SampleTimes(first="2026-11-22T00:00:00")
    )
    timeline = judge_samples(result)
    assert timeline is not None
    return timeline, began_s, ended_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=300)
    parser.add_argument("--seed", type=int, default=101)
    options = parser.parse_args()
    steps: dict[int, Callable[[int], int]] = {10: lambda n: n // 3, 60: lambda n: n, 600: lambda n: n}
    print(f"{'interval':<10}{'quiet days':>12}{'with an incident':>18}{'incidents':>11}")
    for step_s, days in steps.items():
        rng = random.Random(options.seed * 1000 + step_s)
        quiet = [make_day(rng, step_s, None)[0] for _ in range(days(options.days))]
        called = [timeline for timeline in quiet if timeline.incidents]
        print(f"{step_s:>6} s  {len(quiet):>12}{len(called):>18}{sum(len(t.incidents) for t in called):>11}")
    print()
    print("interval  cause          planted   found   right cause   begin off: median, most   others")
    for step_s, days in steps.items():
        for cause in PLANTED:
            rng = random.Random(f"{options.seed} {step_s} {cause}")
            detected = right = others = 0
            off: list[float] = []
            number = max(20, days(options.days) // 6)
            for _ in range(number):
                timeline, began_s, ended_s = make_day(rng, step_s, cause)
                hits = [i for i in timeline.incidents if min(i.ended_s, ended_s) > max(i.began_s, began_s)]
                others += len(timeline.incidents) - len(hits)
                detected += bool(hits)
                if hits:
                    right += hits[0].cause == cause
                    off.append(abs(hits[0].began_s - began_s))
            off.sort()
            text = f"{off[len(off) // 2]:.0f} s, {off[-1]:.0f} s" if off else "–"
            print(f"{step_s:>6} s  {cause:<12}{number:>10}{detected:>8}{right:>14}{text:>26}{others:>9}")


if __name__ == "__main__":
    main()
