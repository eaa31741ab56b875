"""The load beside its reference: what both share is the host's and is divided out.

Dividing by the whole reference (the design's rule) is never wrong about the host: with a common level, drift or step it
called nothing in 400 sessions of each noise, modelled or recorded. But it adds what the reference scatters by itself:
in an emulated guest, whose reads scatter by a factor of two, it hid a loss of 4 % a round. Dividing by the shared part
alone finds that, and is wrong where the level changes between phases or drifts slowly, which steps from block to block
do not show: it called 32 % of the sessions with a step, and 47 % or more of the series in which the host alone drifted
by 2 % a round.

So the effect is estimated with the shared part, and its interval is widened to hold for the whole reference too: what
the reference did in addition is either the host's or its own, and nobody can tell. Nothing is called that only one of
the two would show. Simulated (400 sessions, 300 series of each kind): sessions wrong in at most 3 %, also with reads
that scatter by 40 %; series and their jumps in at most 2.3 %. But up to 40 % where the reads scatter by 30 % *and* the
host itself drifts all the time or steps at the very trim: there only calling nothing, ever, would be safe, and the
verdict's words say that the reads do not rule the host out.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from hostdx.scenarios.experiment.before_after import (
    WIDENED_BY,
    BeforeAfter,
    conclude_before_after,
    judge_before_after,
)

Steps = list[tuple[float, float]]  # from one to the next: of the load, of the reference; logarithms


def log_steps(values: Sequence[float], references: Sequence[float], skipped: Iterable[int] = ()) -> Steps:
    """Return the logarithmic steps from round to round, without those that end at `skipped`, where something else
    happened. A trend hardly shows in them.
    """
    left_out = frozenset(skipped)
    pairs = list(zip(values, references, strict=True))
    if any(not (v > 0 and r > 0 and math.isfinite(v) and math.isfinite(r)) for v, r in pairs):
        return []
    logs = [(math.log(v), math.log(r)) for v, r in pairs]
    return [(b[0] - a[0], b[1] - a[1]) for i, (a, b) in enumerate(pairwise(logs), 1) if i not in left_out]


def part_shared_with_reference(moves: Steps) -> float:
    """Return 0 (nothing in common) to 1 (all in common): the slope of the load's steps over the reference's."""
    if len(moves) < 2:
        return 1.0
    middle = [math.fsum(column) / len(moves) for column in zip(*moves, strict=True)]
    both = math.fsum((v - middle[0]) * (r - middle[1]) for v, r in moves)
    own = math.fsum((r - middle[1]) ** 2 for _, r in moves)
    return min(1.0, max(0.0, both / own)) if own > 0 else 0.0


def weaken_reference(references: Sequence[float], share: float) -> list[float]:
    """Return the reference, weakened to the share that the load has in common with it, to divide by."""
    return [r**share if r > 0 and math.isfinite(r) else r for r in references]


def judge_beside_reference(
    values: tuple[Sequence[float], Sequence[float], Sequence[float]],
    references: tuple[Sequence[float], Sequence[float], Sequence[float]],
    margin: float,
    longer: float = 1.0,
) -> BeforeAfter:
    """Return the change that holds by both ways of dividing by the reference. Each of before, idle and after has a
    reference for each window.

    `longer`: how many times as long as the idle control the treatment took. Idling as long may change as many times as
    much, so the interval is widened by that.
    """
    share = part_shared_with_reference(
        [move for v, r in zip(values, references, strict=True) for move in log_steps(v, r)]
    )
    before, idle, after = (weaken_reference(r, share) for r in references)
    part = judge_before_after(*values, (before, idle, after), margin=margin)
    whole_change = judge_before_after(*values, references, margin=margin)
    if part.ratio is None or part.ci95 is None or part.idle_ratio is None or whole_change.ratio is None:
        return part
    effect, other = math.log(part.ratio), math.log(whole_change.ratio)
    more = WIDENED_BY * (max(1.0, longer) - 1) * abs(math.log(part.idle_ratio))
    low, high = math.log(part.ci95[0]) - more, math.log(part.ci95[1]) + more
    change = conclude_before_after(
        effect,
        low + min(0.0, other - effect),
        high + max(0.0, other - effect),
        math.log(part.idle_ratio),
        part.blocks,
        margin,
    )
    if change.is_undecided and part.is_different:
        change = msgspec.structs.replace(
            change,
            reason=TOO_LONG if longer > 1.1 and whole_change.verdict == part.verdict else MAY_BE_THE_HOST,
        )
    return change


TOO_LONG = "the trim took longer than the idle control; idling for the same time might have given as much"
MAY_BE_THE_HOST = "the reads of the untouched file changed about as much, so the host may be the cause"
