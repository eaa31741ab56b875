"""The verdict rule, its words and its form."""

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from hostdx.probes.reading.lossless_json import Decoder, encode
from hostdx.scenarios.analysis.compare.effects import effects_between
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.verdict import verdict as rule
from hostdx.scenarios.contract.verdict.verdict import (
    EffectEstimate,
    IntervalWithin,
    UndecidedReason,
    Word,
    rule_on_effect,
    word_that_still_holds,
)
from hostdx.scenarios.experiment.before_after import conclude_before_after
from hostdx.scenarios.experiment.carry_over import restrict_word
from hostdx.scenarios.experiment.sequential import SequentialComparison
from hostdx.scenarios.experiment.statistics.least_squares import Coefficient as Line
from hostdx.scenarios.experiment.statistics.stats import EstimateWithInterval
from hostdx.scenarios.experiment.trend import MATTERS_A_ROUND, trend_estimate
from tests.every_case import every_case
from tests.fakes.streams.takes import summary

MARGIN = 0.05
EDGE = rule.margin_edge(MARGIN)
BIT = 1e-6  # of the margin
SLOWER, FASTER, EQUAL, UNDECIDED = Word.SLOWER, Word.FASTER, Word.EQUAL, Word.UNDECIDED


def by_rule(effect: float, half: float) -> Word:
    return rule_on_effect(EffectEstimate(effect, effect - half, effect + half, EDGE)).word


def by_groups(effect: float, half: float) -> Word:
    """Ten groups at the last look, whose interval is given."""

    class Given(SequentialComparison):
        def current_spread(self, final: bool = False) -> EstimateWithInterval:
            return EstimateWithInterval(effect, effect - half, effect + half)

    comparison = Given("A", "B", "IOPS", margin=MARGIN)
    for _ in range(10):
        comparison.add(effect)
    return comparison.final_verdict().verdict


def by_idle_control(effect: float, half: float) -> Word:
    return conclude_before_after(effect, effect - half, effect + half, 0.0, 60, MARGIN).verdict


def by_rounds(effect: float, half: float) -> Word:
    """Two rounds: the change in all is the one a round; its margins are its own."""
    scale = rule.margin_edge(0.01) / EDGE
    line = Line(effect * scale, half * scale / Line(0.0, 1.0, 8, 0.6, 1.0).half_width(0.01), 8, 0.6, 1.0)
    ends = [end / EDGE * MATTERS_A_ROUND for end in (effect - half, effect + half)]
    return rule_on_effect(trend_estimate(line, (ends[0], ends[1]), 2, 2)).word


def by_runs(effect: float, half: float) -> Word:
    """Two runs of one boot a side; how far apart they must lie for this interval is found out first."""

    def word_and_half(distance: float) -> tuple[Word, float]:
        sides = [
            [summary({"load": 1000 * math.exp(at + d)}, name=f"{at}{d}") for d in (-distance, distance)]
            for at in (0.0, effect)
        ]
        (between,) = effects_between(*sides, margin=MARGIN)
        assert between.ci95 is not None and not between.lower_bound
        return between.verdict, math.log(between.ci95[1] / between.ci95[0]) / 2

    return word_and_half(0.01 * half / word_and_half(0.01)[1])[0]


def beside_carry_over(effect: float, half: float) -> Word:
    """A word given before, of which half of the interval's width is only what one side may leave to the other."""
    ci95 = (math.exp(effect - half / 2), math.exp(effect + half / 2))
    bias = EstimateWithInterval(half / 4, 0.0, half / 2)
    word = SLOWER if effect < -EDGE else FASTER if effect > EDGE else EQUAL
    return restrict_word(word, math.exp(effect), ci95, bias, MARGIN)


Caller: TypeAlias = Callable[[float, float], Word]
CALLERS: tuple[Caller, ...] = (by_rule, by_groups, by_idle_control, by_rounds, by_runs, beside_carry_over)

# effect and half-width in margins
NEAR: dict[str, tuple[float, float, Word]] = {
    "just over the margin, hardly any width": (-1.0036 - BIT, 0.01, SLOWER),
    "on the margin, hardly any width": (-1.0, 0.01, UNDECIDED),
    "just under the margin, hardly any width": (-0.99 + BIT, 0.01, EQUAL),
    "sure, yet within the margin": (-0.6, 0.3, EQUAL),
    "sure, yet not beyond the margin for certain": (-0.9, 0.5, UNDECIDED),
    "just clearly beyond the margin": (-1.36 - BIT, 1.0, SLOWER),
    "not quite clearly beyond the margin": (-1.36 + BIT, 1.0, UNDECIDED),
    "the interval ends just short of no effect": (-2.0, 2.0 - BIT, SLOWER),
    "the interval just holds no effect": (-2.0, 2.0 + BIT, UNDECIDED),
    "the interval ends just within the margin": (-0.5, 0.5 - BIT, EQUAL),
    "the interval ends just outside the margin": (-0.5, 0.5 + BIT, UNDECIDED),
    "nothing there, great noise": (0.0, 8.0, UNDECIDED),
    "great, and sure": (-14.0, 1.0, SLOWER),
}


@every_case("caller", CALLERS)
@every_case("case", NEAR)
def test_everything_that_judges_judges_alike(caller: Caller, case: str) -> None:
    effect, half, word = NEAR[case]
    mirrored = {SLOWER: FASTER}.get(word, word)
    assert caller(effect * EDGE, half * EDGE) is word
    assert caller(-effect * EDGE, half * EDGE) is mirrored


class Case(NamedTuple):
    estimate: EffectEstimate
    word: Word
    why: UndecidedReason = UndecidedReason.DECIDED


def _usual(effect: float, half: float) -> EffectEstimate:
    return EffectEstimate(effect, effect - half, effect + half, 1.0)


_THIN = EffectEstimate(-3.0, -4.0, -1.5, 1.0, units=7, least=8)
_EARLY = EffectEstimate(-3.0, -4.0, -2.0, 1.0, units=8, least=4, last=False)
EXACT: dict[str, Case] = {
    "on the margin, no width": Case(_usual(-1.0, 0.0), EQUAL),
    "the interval touches no effect": Case(_usual(-2.0, 2.0), UNDECIDED, UndecidedReason.WIDE),
    "the interval touches the margin": Case(_usual(-0.5, 0.5), EQUAL),
    "no margin": Case(EffectEstimate(-0.1, -0.2, -0.01, 0.0), SLOWER),
    "nothing is known": Case(_usual(-3.0, math.inf), UNDECIDED, UndecidedReason.WIDE),
    "no estimate": Case(EffectEstimate(math.nan, -0.1, 0.1, 1.0), UNDECIDED, UndecidedReason.WIDE),
    "no lower end": Case(EffectEstimate(-3.0, math.nan, -2.0, 1.0), UNDECIDED, UndecidedReason.WIDE),
    "no upper end": Case(EffectEstimate(0.0, -0.1, math.nan, 1.0), UNDECIDED, UndecidedReason.WIDE),
    "few units, all of the interval beyond the margin": Case(_THIN, SLOWER),
    "few units, the interval touches the margin": Case(
        _THIN._replace(high=-1.0), UNDECIDED, UndecidedReason.TOO_FEW
    ),
    "few units are never equal": Case(
        EffectEstimate(0.0, -0.1, 0.1, 1.0, 7, 8), UNDECIDED, UndecidedReason.TOO_FEW
    ),
    "as many units as needed": Case(EffectEstimate(0.0, -0.1, 0.1, 1.0, 8, 8), EQUAL),
    "seven units are few while looks follow": Case(
        EffectEstimate(0.0, -0.1, 0.1, 1.0, 7, 4, last=False), UNDECIDED, UndecidedReason.TOO_FEW
    ),
    "at the last look four may be enough": Case(EffectEstimate(0.0, -0.1, 0.1, 1.0, 4, 4), EQUAL),
    "before the last look": Case(_EARLY, SLOWER),
    "before the last look: just clearly": Case(_EARLY._replace(effect=-1.5 - BIT), SLOWER),
    "before the last look: not quite clearly": Case(
        _EARLY._replace(effect=-1.5), UNDECIDED, UndecidedReason.WIDE
    ),
    "great noise: ends as far from no effect as asked": Case(
        _EARLY._replace(effect=-6.0, low=-10.0 - BIT, high=-2.0 - BIT), SLOWER
    ),
    "great noise: ends too near to no effect": Case(
        _EARLY._replace(effect=-6.0, low=-10.0, high=-2.0), UNDECIDED, UndecidedReason.WIDE
    ),
    "great noise at the last look": Case(
        _EARLY._replace(effect=-6.0, low=-10.0, high=-2.0, last=True), SLOWER
    ),
    "blocks agree just enough": Case(_usual(-3.0, 1.0)._replace(agree=0.95), SLOWER),
    "blocks overlap": Case(_usual(-3.0, 1.0)._replace(agree=0.949), UNDECIDED, UndecidedReason.OVERLAP),
    "blocks overlap, and few units": Case(_THIN._replace(agree=0.9), UNDECIDED, UndecidedReason.TOO_FEW),
    "blocks overlap where nothing differs": Case(_usual(0.0, 0.1)._replace(agree=0.5), EQUAL),
    "another interval is within its margin": Case(
        _usual(0.0, 4.0)._replace(within=IntervalWithin(-0.1, 0.2, 0.2)), EQUAL
    ),
    "another interval is not": Case(
        _usual(0.0, 0.1)._replace(within=IntervalWithin(-0.1, 0.21, 0.2)), UNDECIDED, UndecidedReason.WIDE
    ),
    "another interval could have shown nothing": Case(
        _usual(0.0, 0.1)._replace(within=IntervalWithin(0.0, 0.0, 0.2, telling=False)),
        UNDECIDED,
        UndecidedReason.WIDE,
    ),
}


@every_case("case", EXACT)
def test_on_the_boundaries(case: str) -> None:
    assert rule_on_effect(EXACT[case].estimate) == (EXACT[case].word, EXACT[case].why)


def test_one_group_tells_nothing() -> None:
    comparison = SequentialComparison("A", "B", "IOPS")
    comparison.add(-1.0, 0.01)
    assert comparison.verdict_if_due() is None
    assert comparison.final_verdict().is_undecided and comparison.final_verdict().reason


@st.composite
def _draw_estimate(draw: st.DrawFn) -> EffectEstimate:
    """In eighths, so that sums and halves are exact, and often on a boundary. Another interval's margin is no wider
    than the effect's own: with a wider one a difference that was called is none when less is known of it.
    """

    def draw_eighths(least: int, greatest: int) -> float:
        return draw(st.integers(least, greatest)) / 8

    effect = draw_eighths(-40, 40)
    low, high = effect - draw_eighths(0, 60), effect + draw_eighths(0, 60)
    edge = draw_eighths(0, 16)
    margin = st.integers(0, int(8 * edge)).map(lambda n: n / 8)
    within = draw(st.none() | st.builds(IntervalWithin, st.just(low), st.just(high), margin, st.booleans()))
    return EffectEstimate(
        effect, low, high, edge, draw(st.integers(0, 12)), draw(st.sampled_from([0, 4, 8])),
        draw(st.sampled_from([1.0, 0.95, 0.9])), draw(st.booleans()), within,
    )  # fmt: skip


def _less_sure(e: EffectEstimate, more: float) -> Iterator[EffectEstimate]:
    wider = None if e.within is None else IntervalWithin(e.low - more, e.high + more, *e.within[2:])
    yield e._replace(low=e.low - more, high=e.high + more, within=wider)
    yield e._replace(low=e.low - more, within=wider)
    yield e._replace(high=e.high + more, within=wider)
    if e.units >= 8:  # with fewer only a large effect is called, which is another condition, not a harder one
        yield e._replace(last=False)
    yield e._replace(agree=e.agree - 0.1)


@given(_draw_estimate(), st.integers(0, 40))
def test_with_less_known_no_verdict_is_surer(e: EffectEstimate, eighths: int) -> None:
    word = rule_on_effect(e).word
    for doubtful in _less_sure(e, eighths / 8):
        assert rule_on_effect(doubtful).word in (word, UNDECIDED)
        assert word_that_still_holds(word, doubtful) is rule_on_effect(doubtful).word


@given(_draw_estimate())
def test_exchanged_sides_mirror_it(e: EffectEstimate) -> None:
    within = None if e.within is None else e.within._replace(low=-e.within.high, high=-e.within.low)
    mirrored = rule_on_effect(e._replace(effect=-e.effect, low=-e.high, high=-e.low, within=within))
    ruling = rule_on_effect(e)
    assert mirrored == ({SLOWER: FASTER, FASTER: SLOWER}.get(ruling.word, ruling.word), ruling.why)


@given(_draw_estimate(), st.integers(-20, 20))
def test_another_unit_changes_nothing(e: EffectEstimate, power: int) -> None:
    scale = 2.0**power
    within = (
        None if e.within is None else IntervalWithin(*(x * scale for x in e.within[:3]), e.within.telling)
    )
    scaled = [x * scale for x in e[:4]]
    assert rule_on_effect(EffectEstimate(*scaled, *e[4:8], within)) == rule_on_effect(e)


@given(_draw_estimate())
def test_what_is_decided_names_no_reason_and_what_is_not_names_one(e: EffectEstimate) -> None:
    ruling = rule_on_effect(e)
    assert ruling.is_decided == (ruling.word is not UNDECIDED) == (ruling.why is UndecidedReason.DECIDED)
    if ruling.word.is_different:
        assert ruling.word is (FASTER if e.effect > 0 else SLOWER) and abs(e.effect) > e.edge


@every_case(
    ("ci95", "smallest"),
    [
        ((0.5, 2.0), 1.0),
        ((0.9, 0.9), 0.0),
        ((0.25, 1.0), 1.0),
        ((1.0, 4.0), 1.0),
        ((0.0, 1.0), rule.ratio_of(350.0)),
    ],
)
def test_the_smallest_effect_depends_on_the_width_in_logs_alone(
    ci95: tuple[float, float], smallest: float
) -> None:
    assert math.isclose(rule.smallest_effect_of(ci95), smallest, rel_tol=1e-9, abs_tol=1e-12)


@every_case(
    ("ci95", "share"),
    [
        ((0.8, 1.1), 0.2),
        ((0.95, 1.1), 0.1),
        ((0.4, 1.5), 1.5),
        ((0.9, 2.5), 1.5),
        ((0.2, 0.9), 4.0),
        (None, 0.03),
    ],
)
def test_what_could_be_missed_is_the_far_end_as_the_interval_says_it(
    ci95: tuple[float, float] | None, share: float
) -> None:
    verdict = rule.PairVerdict(ci95=ci95, smallest_effect=0.03)
    assert math.isclose(rule.missable_share(verdict) or 0.0, share)


DEMOS = Path(__file__).parents[4] / "app/recordings/demos"


def test_recorded_lines_keep_every_field() -> None:
    decoder, count = Decoder(ev.Common), 0
    for path in sorted(DEMOS.glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            if line.startswith((b'{"type":"verdict"', b'{"type":"series"')):
                count += 1
                assert json.loads(encode(decoder.decode(line))) == json.loads(line), path.name
    assert count > 20


ROOT = Path(__file__).parents[4]
CONTRACT = {"scenarios/contract/verdict/verdict.py", "probes/units.py"}
OTHER_MEANINGS = {
    "app/features/watch/openmetrics.py",
    "app/cli/recorded/compare.py",
    "app/tui/screens/run.py",
    "scenarios/triage/rules/subjects/net.py",
}  # a metric's, an option's value, a key's name, a row's field, a glossary
NAMED = re.compile(r"""["'](slower|faster|no material difference|inconclusive)["']""")
MEMBER = re.compile(r"\bWord\.[A-Z_]+\b")
# What decides, and the edge that shows it.
DECIDE = ("scenarios/contract/verdict/", "app/report/wording.py")


def _files_naming(pattern: re.Pattern[str]) -> set[str]:
    rooms = [path for room in ("app", "probes", "scenarios") for path in (ROOT / room).rglob("*.py")]
    assert len(rooms) > 300
    return {str(p.relative_to(ROOT)) for p in rooms if pattern.search(p.read_text(encoding="utf-8"))}


def test_no_finding_and_no_view_names_a_word() -> None:
    assert {
        f for f in _files_naming(NAMED) if not f.startswith("scenarios/contract/verdict/")
    } - OTHER_MEANINGS <= CONTRACT
    assert not {f for f in _files_naming(MEMBER) if not f.startswith(DECIDE)}
