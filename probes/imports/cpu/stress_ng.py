"""stress-ng: `--yaml` and the text of `--metrics`. Bogo operations a second of real time and of CPU time differ."""

import re

import msgspec

from probes.imports.dates import epoch
from probes.imports.model import Contradiction, Measure, Refused, Result, Trouble, compared, noted
from probes.imports.numbers import number, truncated
from probes.imports.source import Source

_PAIR = re.compile(r"^\s+(- )?([a-z][\w-]*):\s*(.*?)\s*$")
_METRICS_LINE = re.compile(
    r"^stress-ng: (?:info|metrc):\s+\[\d+\] (\S+)\s+(\d{1,18})\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)(?:\s|$)"
)
_MOST = 2000


class Stressor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    bogo_ops: float
    wall_s: float | None = None
    user_s: float | None = None
    system_s: float | None = None
    per_s_real: float | None = None
    per_s_cpu: float | None = None


class StressNg(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    stressors: tuple[Stressor, ...] = ()
    system: dict[str, str] = {}


def recognised(source: Source) -> bool:
    return (
        b"stress-ng-version:" in source.head
        or b"stress-ng: info:" in source.head
        or (b"- stressor:" in source.head and b"bogo-ops" in source.head)
    )


def parse(source: Source) -> Result:
    system: dict[str, str] = {}
    blocks: list[dict[str, str]] = []
    stressors: list[Stressor] = []
    for line in source.lines():
        if found := _METRICS_LINE.match(line):
            values = [number(found[i]) for i in range(2, 8)]
            if values[0] is not None and len(stressors) < _MOST:
                stressors.append(
                    Stressor(
                        name=found[1][:60], bogo_ops=values[0], wall_s=values[1], user_s=values[2],
                        system_s=values[3], per_s_real=values[4], per_s_cpu=values[5],
                    )
                )  # fmt: skip
        elif found := _PAIR.match(line):
            if found[1] and found[2] == "stressor" and len(blocks) < _MOST:
                blocks.append({})
            if blocks:
                blocks[-1].setdefault(found[2], found[3][:200])
            elif len(system) < 100:
                system[found[2]] = found[3][:200]
    stressors += [s for block in blocks if (s := _stressor(block)) is not None]
    if not stressors:
        raise Refused("stress-ng: no metrics in it", "run stress-ng with --metrics --yaml FILE")
    troubles = [Trouble(id="stress-ng.nothing-done", subject=s.name) for s in stressors if s.bogo_ops <= 0]
    facts = noted(("threads", truncated(system.get("cpus-online"))), subject="cpu")
    facts += noted(("release", system.get("release")), subject="kernel")
    return Result(
        kind="stress-ng", tool="stress-ng", version=system.get("stress-ng-version"),
        host=system.get("hostname"), began=epoch(number(system.get("epoch-secs"))), facts=tuple(facts),
        measures=tuple(m for s in stressors for m in _measures(s)),
        contradictions=tuple(c for s in stressors for c in _contradictions(s)), troubles=tuple(troubles),
        recomputed=("rates from operations and times",),
        detail=StressNg(stressors=tuple(stressors), system=system),
    )  # fmt: skip


def _stressor(block: dict[str, str]) -> Stressor | None:
    operations = number(block.get("bogo-ops"))
    if operations is None:
        return None
    return Stressor(
        name=block.get("stressor", "")[:60],
        bogo_ops=operations,
        wall_s=number(block.get("wall-clock-time")),
        user_s=number(block.get("user-time")),
        system_s=number(block.get("system-time")),
        per_s_real=number(block.get("bogo-ops-per-second-real-time")),
        per_s_cpu=number(block.get("bogo-ops-per-second-usr-sys-time")),
    )


def _measures(s: Stressor) -> list[Measure]:
    named = (("bogo operations (real time)", s.per_s_real), ("bogo operations (CPU time)", s.per_s_cpu))
    return [
        Measure(workload=f"stress-ng {s.name}", metric=n, value=v, unit="1/s", seconds=s.wall_s or 0.0)
        for n, v in named
        if v
    ]


def _contradictions(s: Stressor) -> list[Contradiction]:
    """Text prints times with two decimals, so short runs carry their rounding."""
    cpu = (s.user_s or 0.0) + (s.system_s or 0.0)
    found: list[Contradiction] = []
    for name, claimed, seconds in (
        ("real time", s.per_s_real, s.wall_s or 0.0),
        ("CPU time", s.per_s_cpu, cpu),
    ):
        if claimed and seconds > 0.05:
            gives, slack = s.bogo_ops / seconds, 0.01 + 0.01 / seconds
            rule = f"operations ÷ {name}"
            found += compared("stress-ng.rate", f"{s.name} {name}", claimed, gives, rule, slack, unit="1/s")
    return found
