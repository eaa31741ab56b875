"""The words and the table of a difference: what moved most, in points of the baseline's wall time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hostdx.probes.units import format_number, format_percent, format_signed
from hostdx.scenarios.analysis.profile.results import differs_word
from hostdx.scenarios.analysis.profile.waits import words_for_wait
from hostdx.scenarios.contract.results.document import Cell, Part, Strong, Table, paragraph_of
from hostdx.scenarios.workload.parts import BlockedOn, Split, TimePart
from hostdx.scenarios.workload.variant_bench import (
    BLOCKED,
    MEMORY,
    MUTEX,
    OTHER_D,
    QUOTA,
    SYSTEM,
    USER,
    WAITING,
    WALL,
)

REST = "rest"
OTHER = "all other parts together"
ROUNDED = 1e-3  # of the wall time: less is what rounding leaves
MIN_NAMED_SHARE = 0.01  # of the wall time: smaller parts are not named in the first line
EQUAL = 0.05  # of the wall time: within it an interval says that nothing material is there
FACTOR = 2.0  # of the wall time: from here on seconds, not points
NAMED = 3
LIKELY = "likely: significant alone, not after correction for many tests"

WORDS = {
    USER: "user CPU",
    SYSTEM: "system CPU",
    WAITING: "waiting for a CPU",
    QUOTA: "held back by a CPU quota of its control group",
    MUTEX: "waiting for a lock of the program (mutex)",
    BLOCKED: "waiting for block I/O",
    MEMORY: "swap and reclaim (memory pressure)",
    OTHER_D: "other uninterruptible waits (state D)",
    REST: "the rest (asleep, and other waits)",
}
WHY_UNKNOWN = {
    WAITING: "waiting for a CPU is in the rest: its processes ended too quickly to be sampled",
    BLOCKED: "waiting for block I/O is in the other waits and the rest: it needs a control group of its own (root, "
    "cgroup2), or kernel.task_delayacct=1 before the command starts, and processes that live longer than "
    "the sampling interval",
    OTHER_D: "waits in state D are in the rest: there were too many processes at once to sample all of them",
    MEMORY: "swap and reclaim are in the other waits and the rest: the pressure (PSI) of a control group of its own "
    "shows them, which needs root, cgroup2 mounted writable and a kernel with PSI on",
}
DIVIDED = (BLOCKED, OTHER_D, REST)  # by the waits, where these are known


def part_words(part: str) -> str:
    """In words; what a foreign recording calls a part else."""
    return WORDS.get(part, part)


def wall_time_parts(split: Split) -> list[TimePart]:
    """Return what the first line chooses from: each second of the wall time in one of them."""
    parts = [part for part in split.parts[1:] if not split.waits or part.name not in DIVIDED]
    return [*parts, *split.waits]


def moved_and_alike_parts(split: Split) -> tuple[list[TimePart], list[TimePart]]:
    """The parts that moved along with the whole or against it, the largest first, `unmoved` ones last, and those alike.

    The largest along with the whole comes first even where its interval holds 0, as long as the sure ones are less.
    """
    wall_part = split.parts[0]
    least = MIN_NAMED_SHARE * wall_part.baseline_s
    ranked = sorted(wall_time_parts(split), key=lambda part: (part.unmoved, -abs(part.difference_s)))
    sure = [part for part in ranked if part.differs and abs(part.difference_s) >= least]
    along = [part for part in ranked if part.difference_s * wall_part.difference_s > 0]
    # no word of "equal" where the table says "likely"
    alike = [
        p for p in ranked if p.name in (USER, SYSTEM) and p not in sure and p.ci95_s[0] <= 0 <= p.ci95_s[1]
    ]
    edge = EQUAL * wall_part.baseline_s
    if along and along[0] not in sure and abs(along[0].difference_s) > sum(abs(p.difference_s) for p in sure):
        sure = [along[0], *sure]
    return sure[:NAMED], [part for part in alike if max(map(abs, part.ci95_s)) <= edge]


def moved_words(split: Split) -> str:
    """`+14 points blocked in unlink and openat on a directory lock (rwsem), +3 points system CPU; user CPU equal`."""
    largest, alike = moved_and_alike_parts(split)
    parts_text = ", ".join(
        f"{_points_or_seconds(part, split)} {_part_words(part)}{_part_note(part, split)}" for part in largest
    )
    parts_text = parts_text or "no part of it stands out"
    equal = [part_words(part.name) for part in alike if part not in largest]
    parts_text += f"; {' and '.join(equal)} within {format_percent(EQUAL)} of the wall time" if equal else ""
    return parts_text + (f"; {counters}" if (counters := counter_words(split)) else "")


def _part_words(part: TimePart) -> str:
    return wait_words(part) if isinstance(part, BlockedOn) else part_words(part.name)


def _part_note(part: TimePart, split: Split) -> str:
    if not part.differs:
        return " (inconclusive)"
    if part.unmoved:
        return f" (as many CPU seconds, {'less' if part.difference_s > 0 else 'more'} at once)"
    if part.name != SYSTEM or split.faults is None:
        return ""
    return (
        f" ({format_number(abs(split.faults))} page faults a run {'more' if split.faults > 0 else 'fewer'})"
    )


def wait_words(wait: BlockedOn) -> str:
    """`blocked in unlink and openat on a directory lock (rwsem)`."""
    calls = f" in {' and '.join(wait.calls)}" if wait.calls and wait.calls != ("no call",) else ""
    return f"{'blocked' if wait.hard else 'asleep'}{calls} on {words_for_wait(wait.name)}"


def _points_or_seconds(part: TimePart, split: Split) -> str:
    """Of the baseline's wall time; of a difference of a factor of two or more its seconds."""
    wall_part = split.parts[0]
    if wall_part.baseline_s <= 0 or not 1 / FACTOR < wall_part.variant_s / wall_part.baseline_s < FACTOR:
        return f"{format_signed(part.difference_s)} s of {format_signed(wall_part.difference_s)} s"
    return f"{format_signed(100 * part.difference_s / wall_part.baseline_s)} points"


def time_split_parts(split: Split) -> Iterator[Part]:
    """The first line, then each part and what was waited for; of a foreign one without parts nothing."""
    if not split.parts:
        return
    yield paragraph_of(Strong(f"{split.variant} against {split.baseline}: "), moved_words(split))
    yield from build_views(split)
    if none := [part_words(part.name) for part in split.parts[1:] if not max_seconds(part)]:
        yield paragraph_of(f"none on either side: {', '.join(none)}")
    if split.rates:
        yield _counter_table(split)
    looks = (
        f"; waits divided by {format_number(split.looks)} samples a run"
        if split.waits and split.looks
        else ""
    )
    yield paragraph_of(
        f"differs: tested on logarithms (waits have long tails), adjusted for the number of lines; {LIKELY}{looks}"
    )


def counter_words(split: Split) -> str:
    """`instructions per cycle −14 %, back-end bound +12 points`: what of the CPU's counters surely moved."""
    phrases = []
    for rate in split.rates:
        if rate.differs and rate.unit == "of the slots":
            phrases.append(f"{rate.name} {format_signed(100 * rate.difference)} points")
        elif rate.differs and rate.baseline:
            phrases.append(f"{rate.name} {format_signed(100 * rate.difference / rate.baseline)} %")
    return ", ".join(phrases)


def _counter_table(split: Split) -> Table:
    header = (
        "counters of the CPU",
        split.baseline,
        split.variant,
        "difference",
        "95 % CI",
        "differs",
    )
    rows: list[tuple[Cell, ...]] = []
    for rate in split.rates:
        scale, unit = (
            (100.0, " (% of the slots)") if rate.unit == "of the slots" else (1.0, f" {rate.unit}".rstrip())
        )
        low, high = (format_signed(scale * end) for end in rate.ci95)
        rows.append(
            (
                f"{rate.name}{unit}",
                format_number(scale * rate.baseline),
                format_number(scale * rate.variant),
                format_signed(scale * rate.difference),
                f"{low} to {high}",
                differs_word(rate.differs, rate.ci95),
            )
        )
    return Table(header, tuple(rows), frozenset({1, 2, 3, 4}))


def max_seconds(part: TimePart) -> float:
    return max(part.baseline_s, part.variant_s)


class TimeViewLine(NamedTuple):
    """A line of a view: seconds of a run on either side. `part`: None for what is too small for a line of its own."""

    name: str
    baseline_s: float
    variant_s: float
    part: TimePart | None


def lines_by_state(split: Split, least_s: float = 0.0) -> list[TimeViewLine]:
    """Each second of the wall time in one state; what is less than `least_s` on both sides is together in the last."""
    return _build_lines(split, [(part_words(part.name), part) for part in split.parts[1:]], least_s)


def lines_by_call(split: Split, least_s: float = 0.0) -> list[TimeViewLine]:
    """The same seconds, with block I/O, other waits and the rest by what was waited for; none where that is unknown."""
    if not split.waits:
        return []
    parts = [(part_words(part.name), part) for part in split.parts[1:] if part.name not in DIVIDED]
    return _build_lines(split, [*parts, *((wait_words(wait), wait) for wait in split.waits)], least_s)


def _build_lines(
    split: Split, named_parts: Sequence[tuple[str, TimePart]], min_s: float
) -> list[TimeViewLine]:
    """They sum to the wall time of either side."""
    wall_part = split.parts[0]
    shown = [
        TimeViewLine(
            name + (_part_note(part, split) if part.differs else ""),
            part.baseline_s,
            part.variant_s,
            part,
        )
        for name, part in named_parts
        if max_seconds(part) > min_s
    ]
    left = wall_part.baseline_s - math.fsum(line.baseline_s for line in shown)
    right = wall_part.variant_s - math.fsum(line.variant_s for line in shown)
    if max(abs(left), abs(right)) > ROUNDED * max_seconds(wall_part):
        shown.append(TimeViewLine(OTHER, left, right, None))
    return shown


def build_views(split: Split, min_share: float = 0.0) -> list[Part]:
    """Two tables that each sum to the wall time. `min_share`: of the wall time; smaller parts stand in one line."""
    wall_part = split.parts[0]
    wall = max_seconds(wall_part)
    places = 4 - math.ceil(math.log10(wall)) if wall > 0 else 4  # no digit of less than a thousandth of it
    tables: list[Part] = []
    for name, lines in (
        ("time by state", lines_by_state(split, min_share * wall)),
        ("time by call", lines_by_call(split, min_share * wall)),
    ):
        if not lines:
            continue
        ranked = sorted(lines, key=lambda line: (line.part is None, -abs(line.variant_s - line.baseline_s)))
        total = TimeViewLine("wall time", wall_part.baseline_s, wall_part.variant_s, wall_part)
        header = (
            name,
            f"{split.baseline} s",
            f"{split.variant} s",
            "difference s (95 % CI)",
            "differs",
        )
        rows = tuple(_format_row(line, places) for line in (total, *(ranked if min_share else lines)))
        tables.append(Table(header, rows, frozenset({1, 2, 3})))
    return tables


def _format_row(line: TimeViewLine, places: int) -> tuple[Cell, ...]:
    name, left, right, part = line
    if part is None:
        return (
            name,
            format_number(left),
            format_number(right),
            format_signed(round(right - left, places)),
            "–",
        )
    middle, low, high = (round(value, places) for value in (part.difference_s, *part.ci95_s))
    return (
        name,
        format_number(left),
        format_number(right),
        f"{format_signed(middle)} ({format_signed(low)} to {format_signed(high)})",
        "–" if part.name == WALL else differs_word(part.differs, part.ci95_s),
    )


def difference_words(part: TimePart) -> str:
    low, high = part.ci95_s
    return f"{format_signed(part.difference_s)} s (95 % CI {format_signed(low)} to {format_signed(high)} s)"
