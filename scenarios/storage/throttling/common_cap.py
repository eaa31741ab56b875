"""Two sides that both run into a cap: their ratio says nothing of the disks, and the verdict says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from probes.bench.measured import Train
from scenarios.events import Verdict
from scenarios.storage.throttling.caps import SAME, Limit, Throttle, near, throttles
from scenarios.storage.throttling.course import STEP_S, Course
from scenarios.storage.throttling.findings import cap_words

UNDECIDED = ("inconclusive", "no material difference")
NEARLY_EQUAL = 0.25  # of the sides' rates: a cap that is shared out slice by slice scatters


class Sides:
    """The trains of all loads until now, as courses: of each side, and of all together where they share a device."""

    def __init__(self, variants: Sequence[str], *, shared: bool) -> None:
        self.variants = tuple(variants)
        self.shared = shared
        self.courses: dict[str, dict[str, list[Course]]] = {variant: {} for variant in self.variants}

    def add(self, load: str, trains: Sequence[Train]) -> None:
        """One load's, in the order measured."""
        whole = [train for train in trains if len(train.sides) == len(self.variants)]
        for number, variant in enumerate(self.variants):
            self.courses[variant][load] = _together(whole) if self.shared else _alone(whole, number)

    def caps(self, load: str, limits: Mapping[str, Sequence[Limit]], *, virtual: bool) -> dict[str, Throttle]:
        """By side, the cap at which this load ran; without the sides that ran into none."""
        found: dict[str, Throttle] = {}
        for variant, courses in self.courses.items():
            turns = 1 if self.shared else len(self.variants)
            for one in throttles(courses, limits.get(variant, ()), virtual=virtual, turns=turns):
                # slices put together look like pauses: only what the kernel knows is believed of two disks
                if load in one.loads and (self.shared or (one.limit is not None and one.limit.file)):
                    found[variant] = one
        return found


def recast(verdict: Verdict, caps: Mapping[str, Throttle]) -> Verdict:
    """`no material difference` with the reason where both sides stand at the same cap; a clear difference stays."""
    base, other = caps.get(verdict.baseline), caps.get(verdict.variant)
    if base is None or other is None or verdict.verdict not in UNDECIDED:
        return verdict
    if base.unit != other.unit or not near(base.value, other.value, SAME):
        return verdict
    if verdict.ratio is None or not near(verdict.ratio, 1.0, NEARLY_EQUAL):
        return verdict  # they had unlike shares of it: what lies under the cap is not known
    reason = f"both at the cap of {cap_words(base)}"
    return msgspec.structs.replace(
        verdict, verdict="no material difference", reason=reason, explain=reason, smallest_effect=None,
        seconds_to_decide=None, ci95=None, delta_ci95=None,
    )  # fmt: skip


def _together(trains: Sequence[Train]) -> list[Course]:
    """By the wall clock: what the sides share gives to each in turn. Trains one after the other, no gap taken."""
    courses, at = [], 0.0
    for train in trains:
        end = max(
            (b + len(c) * STEP_S for b, c in zip(train.begins, train.completions, strict=True)), default=0.0
        )
        counts = [0] * (round(end / STEP_S) + 1)
        for begin, steps in zip(train.begins, train.completions, strict=True):
            for step, count in enumerate(steps, round(begin / STEP_S)):
                counts[min(step, len(counts) - 1)] += count
        courses.append(Course(began_s=at, seconds=end, completions=counts))
        at += end + 1.0
    return courses


def _alone(trains: Sequence[Train], side: int) -> list[Course]:
    """One side's slices put together as if nothing lay between them: it is metered while it asks for something."""
    courses, at = [], 0.0
    for train in trains:
        own = [steps for steps, number in zip(train.completions, train.order, strict=True) if number == side]
        counts = [count for steps in own for count in steps]
        courses.append(Course(began_s=at, seconds=len(counts) * STEP_S, completions=counts))
        at += len(counts) * STEP_S + 1.0
    return courses
