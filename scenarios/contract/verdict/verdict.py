"""What was decided about one effect, with the figures it stands on, whoever judged it."""

import math
from enum import Enum, StrEnum
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from hostdx.scenarios.contract import ranges as of

Interval: TypeAlias = tuple[of.Edge, of.Edge]  # of a ratio


class _VerdictQuestions:
    __slots__ = ()

    @property
    def _verdict_word(self) -> str:
        raise NotImplementedError

    @property
    def is_slower(self) -> bool:
        return self._verdict_word == Word.SLOWER

    @property
    def is_faster(self) -> bool:
        return self._verdict_word == Word.FASTER

    @property
    def is_different(self) -> bool:
        """Return whether a difference larger than the margin is decided, in either direction."""
        return self.is_slower or self.is_faster

    @property
    def is_equal(self) -> bool:
        """Return whether it is decided that any difference lies within the margin."""
        return self._verdict_word == Word.EQUAL

    @property
    def is_decided(self) -> bool:
        return self.is_different or self.is_equal

    @property
    def is_undecided(self) -> bool:
        """Return whether the effect was measured and the result decides nothing."""
        return self._verdict_word == Word.UNDECIDED

    @property
    def is_judged(self) -> bool:
        """Return whether the effect was measured as planned, decided or not."""
        return self.is_decided or self.is_undecided

    @property
    def is_not_measured(self) -> bool:
        """Return whether the measurement was not started, for lack of time, bytes or rights."""
        return self._verdict_word == Word.NOT_MEASURED


class Word(_VerdictQuestions, StrEnum):
    """The word of a verdict."""

    SLOWER = "slower"
    FASTER = "faster"
    EQUAL = "no material difference"
    UNDECIDED = "inconclusive"
    NOT_APPLICABLE = "not applicable"
    NOT_MEASURED = "not measured"

    @property
    def _verdict_word(self) -> str:
        return self


OPEN = Word.UNDECIDED  # of an effect so far: nothing is decided of it
NOT_YET = Word.NOT_MEASURED  # of what is still to be measured
UNFIT = Word.NOT_APPLICABLE  # of what is not what it claims to be


class Judged(_VerdictQuestions):
    """Something that has a verdict; `verdict` is its word."""

    __slots__ = ()
    verdict: Word

    @property
    def _verdict_word(self) -> str:
        return self.verdict


_FARTHEST = 700.0  # in logs: beyond it exp overflows
AnyJudged = TypeVar("AnyJudged", bound=msgspec.Struct)  # that has a `verdict` and a `reason`


class PairVerdict(msgspec.Struct, Judged, frozen=True, kw_only=True):
    """The outcome of a comparison. `ratio`: variant over baseline, below 1 is slower, with its interval.

    `alpha`: the interval's share of the 5 % in which all comparisons of a run err together, so that `ci95` is wider
    than for one comparison alone. `smallest_effect`: the smallest that could have been found. `margin`: a share.
    `reason`: why it is not decided.
    """

    verdict: Word = OPEN
    ratio: of.Ratio | None = None
    ci95: Interval | None = None
    smallest_effect: of.Edge | None = None
    alpha: of.Probability = 0.05
    margin: of.Margin = 0.05
    reason: str | None = None


class OrderEffect(msgspec.Struct, frozen=True, kw_only=True):
    """The effect by which of two variants is measured first in a group (scenarios/experiment/order.py).

    `ratios`, `ci95`, `groups`: of the groups with the baseline first, then of those with the variant first. `second`:
    how many times as fast a variant is because it is measured second, with its 99.5 % interval. `is_established`: it is
    more than a quarter of the margin, and that interval excludes 1.
    """

    ratios: tuple[of.Ratio, of.Ratio]
    ci95: tuple[Interval, Interval]
    groups: tuple[of.Number, of.Number]
    second: of.Ratio
    second_ci: Interval
    is_established: bool


class GroupVerdict(PairVerdict, frozen=True, kw_only=True):
    """A verdict over groups: `ci95` holds at 95 % for all interim analyses and all comparisons of the run together."""

    groups: of.Number = 0
    look: of.Number = 0
    slower_in: of.Number = 0  # groups in which the variant was slower
    batch: of.Number = 1  # so many neighbouring groups, which depend on each other, are one unit of inference
    pairs: of.Number = 0  # of places that were visited: the unit of inference where there are some
    place_scatter: of.Deviation | None = None  # standard deviation of a place's log rate against the others
    slice_scatter: of.Deviation | None = None  # of a slice in its place
    seconds_to_decide: of.Duration | None = None  # `inconclusive`: about; `not measured`: at least
    order: OrderEffect | None = None  # None: of a recording without it, or where the order cannot be drawn


class Trend(msgspec.Struct, Judged, frozen=True, kw_only=True):
    """The outcome of a series of rounds. Slopes are shares of round 1 per round (per GB); below 0 is slower.

    `smallest_effect`: half the width of the interval, per round. `shows_after`: the rounds after which a loss of 2 %
    per round would have been called in about eight of ten cases.
    """

    verdict: Word = OPEN
    rounds: of.Number = 0
    slope_per_round: of.Change | None = None
    ci95: tuple[of.Change, of.Change] | None = None
    p: of.Probability | None = None
    per_gb: of.Change | None = None
    per_gb_ci95: tuple[of.Change, of.Change] | None = None
    reason: str | None = None
    explain: str = ""
    smallest_effect: of.Change | None = None
    shows_after: of.Number | None = None


def with_figures(event: AnyJudged, verdict: PairVerdict | Trend) -> AnyJudged:
    """Return the event with all figures of the verdict."""
    shared = set(verdict.__struct_fields__) & set(event.__struct_fields__)
    return msgspec.structs.replace(event, **{name: getattr(verdict, name) for name in shared})


def as_undecided(judged: AnyJudged, reason: str | None) -> AnyJudged:
    """Return the same figures with the word "undecided" and the reason."""
    return msgspec.structs.replace(judged, verdict=Word.UNDECIDED, reason=reason or None)


def as_equal(judged: AnyJudged, reason: str) -> AnyJudged:
    """Return the verdict as "no material difference", for a reason other than the interval of its figures."""
    return msgspec.structs.replace(judged, verdict=Word.EQUAL, reason=reason)


def as_not_applicable(judged: AnyJudged, reason: str) -> AnyJudged:
    return msgspec.structs.replace(judged, verdict=Word.NOT_APPLICABLE, reason=reason)


def as_not_measured(judged: AnyJudged, reason: str) -> AnyJudged:
    return msgspec.structs.replace(judged, verdict=Word.NOT_MEASURED, reason=reason)


def ratio_of(log: of.Logarithm) -> of.Ratio:
    return math.exp(min(_FARTHEST, max(-_FARTHEST, log)))


def ratio_interval(low: float, high: float) -> tuple[float, float]:
    """Return the interval of the ratio from the ends of its log."""
    return ratio_of(low), ratio_of(high)


def smallest_effect_of(ci95: tuple[float, float]) -> float:
    """Return the smallest effect that an interval of the ratio shows, as a share: half its width in logs.

    So it is the same for a loss and for a gain, and does not depend on where the estimate lies: 0.5 × to 2 × gives 1.
    """
    low, high = (_log_of(end) for end in ci95)
    return math.expm1(min(_FARTHEST, (high - low) / 2))


def _log_of(ratio: of.Edge) -> of.Logarithm:
    return math.log(min(ratio_of(_FARTHEST), max(ratio_of(-_FARTHEST), ratio)))


class Missable(Protocol):
    """What has an interval of the ratio, and the smallest effect that it shows (None where nothing says it)."""

    @property
    def ci95(self) -> tuple[float, float] | None: ...

    @property
    def smallest_effect(self) -> float | None: ...


def missable_share(verdict: Missable) -> float | None:
    """Return the largest difference that the interval leaves open, as a share: 0.2 where it goes from 20 % slower to
    10 % faster; from a factor of two on the factor minus 1, either way. Without an interval the smallest effect.
    """
    if verdict.ci95 is None or verdict.smallest_effect is None:
        return verdict.smallest_effect
    farthest = max(map(_log_of, verdict.ci95), key=abs)
    factor = math.expm1(min(_FARTHEST, abs(farthest)))
    return factor if farthest > 0 or factor >= 1 else -math.expm1(farthest)


# With fewer units than this, looks to come, only a large effect is called: the whole interval beyond the margin.
# Simulated with eight noise models and recorded series, as all that follows: tests/measured/README.md, "Verdicts".
MIN_UNITS_FOR_SMALL_EFFECTS = 8
# How far beyond the margin the estimate must be, in half-widths of the interval: a true 3 % is called in at most 10 %
# of the runs. Else every look is one more chance for an effect just below the margin ...
CLEARLY = 0.5
# ... and at the last look less, where it costs power: 10 % on the busiest recorded disk found in 81 % instead of 84.
CLEARLY_AT_LAST = 0.36
# Before the last look, how far from no effect the interval must end, in parts of what the half-width exceeds twice the
# margin: what great noise calls too early may even have the wrong sign (Gelman and Carlin, "Beyond power calculations",
# Perspectives on Psychological Science 9, 2014).
CAUTION = 1.0
# The share of the pairs of blocks, one of each side, that must fall alike where the drawn orders are too few to hold
# the level: six groups fall alike in one of 32 draws (tests/measured/README.md, "few groups").
AGREED = 0.95


class UndecidedReason(Enum):
    """Why nothing was decided."""

    DECIDED = 0
    WIDE = 1  # the interval, or the estimate is too near the margin
    TOO_FEW = 2  # units
    OVERLAP = 3  # of both sides' blocks, in so few units that their drawn orders alone tell nothing


class IntervalWithin(NamedTuple):
    """Another interval than the effect's own, which shows that there is no material difference. `telling`: it could
    have shown one.
    """

    low: float
    high: float
    edge: float
    telling: bool = True


class EffectEstimate(NamedTuple):
    """An effect with its interval and margin (`edge`) in one unit in which 0 is no effect, such as logs of ratios.

    units, least: how many units of inference there are, and below how many only a large effect is called; 0 where the
    interval itself is wide enough for few units.
    agree: the share of pairs of windows that agree, where the units alone are too few.
    last: no interim analysis follows.
    within: the interval for "no material difference", where it is another one.
    """

    effect: float
    low: float
    high: float
    edge: float
    units: int = 0
    least: int = 0
    agree: float = 1.0
    last: bool = True
    within: IntervalWithin | None = None


class Ruling(NamedTuple):
    """The word for an effect, and why where it is undecided."""

    word: Word
    why: UndecidedReason = UndecidedReason.DECIDED

    @property
    def is_decided(self) -> bool:
        return self.why is UndecidedReason.DECIDED


def rule_on_effect(e: EffectEstimate) -> Ruling:
    """Return the ruling on an effect; below 0 is slower. A value that is not a number decides nothing."""
    if any(map(math.isnan, (e.effect, e.low, e.high))):
        return Ruling(Word.UNDECIDED, UndecidedReason.WIDE)
    few = e.units < (e.least if e.last else max(e.least, MIN_UNITS_FOR_SMALL_EFFECTS))
    half = (e.high - e.low) / 2
    near, size = (e.low, e.effect) if e.effect > 0 else (-e.high, -e.effect)  # the end towards no effect
    if few:
        differs = near > e.edge
    else:
        required_distance = 0.0 if e.last else CAUTION * max(0.0, half - 2 * e.edge)
        differs = near > required_distance and size > e.edge + (CLEARLY_AT_LAST if e.last else CLEARLY) * half
    if differs and e.agree >= AGREED:
        return Ruling(Word.FASTER if e.effect > 0 else Word.SLOWER)
    low, high, edge, telling = e.within or IntervalWithin(e.low, e.high, e.edge)
    if not few and not differs and telling and -edge <= low <= high <= edge:
        return Ruling(Word.EQUAL)
    return Ruling(
        Word.UNDECIDED,
        UndecidedReason.TOO_FEW if few else UndecidedReason.OVERLAP if differs else UndecidedReason.WIDE,
    )


def word_that_still_holds(word: Word, e: EffectEstimate) -> Word:
    """Return the word as far as it also holds for a more doubtful estimate of the same effect."""
    return word if rule_on_effect(e).word == word else Word.UNDECIDED


def estimate_of_ratio(ratio: float, ci95: tuple[float, float], margin: float) -> EffectEstimate:
    """Return the estimate in logs for a ratio and its interval as they are shown and recorded."""
    effect, low, high = (-math.inf if x <= 0 else math.log(x) for x in (ratio, *ci95))
    return EffectEstimate(effect, low, high, margin_edge(margin))


def margin_edge(margin: float) -> of.Logarithm:
    """Return the margin (a share) as a log of a ratio: 0.05 gives ln(1.05), and its inverse bounds the other side."""
    return math.log1p(margin)
