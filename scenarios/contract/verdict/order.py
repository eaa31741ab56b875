"""What the two orders of a pair allow a verdict to say. `scenarios/experiment/order.py` makes the estimates by order.

A verdict stands where each order alone gives it. Where no order effect is established, the orders are two samples of
one effect, and it is enough that both lie on the verdict's side.
"""

from __future__ import annotations

import math
from typing import TypeVar

import msgspec

from hostdx.probes import units
from hostdx.scenarios.contract.verdict.verdict import GroupVerdict, OrderEffect, Word, margin_edge

AnyGroupVerdict = TypeVar("AnyGroupVerdict", bound=GroupVerdict)


def word_held_to_order(word: Word, order: OrderEffect | None, margin: float) -> Word:
    """Return the word that the orders allow: the same, `inconclusive`, or `not measured` where they contradict it."""
    word = Word(word)
    if order is None or not word.is_judged:
        return word
    logs = [math.log(ratio) for ratio in order.ratios]
    intervals = [[math.log(max(end, 1e-300)) for end in ends95] for ends95 in order.ci95]
    edge = margin_edge(margin)
    alone = {
        _word_of_estimate(log, low, high, edge) for log, (low, high) in zip(logs, intervals, strict=True)
    }
    if not order.is_established:
        same_side = all((log > 0) is word.is_faster for log in logs)
        return Word.UNDECIDED if word.is_different and not same_side else word
    return word if alone == {word} or (word.is_undecided and len(alone) == 1) else Word.NOT_MEASURED


def _word_of_estimate(log: float, low: float, high: float, edge: float) -> Word:
    """Return what one order alone gives by its estimate and 95 % interval."""
    if high < 0 and log < -edge:
        return Word.SLOWER
    if low > 0 and log > edge:
        return Word.FASTER
    return Word.EQUAL if -edge <= low <= high <= edge else Word.UNDECIDED


def apply_order_guard(verdict: AnyGroupVerdict, order: OrderEffect | None) -> AnyGroupVerdict:
    """Return the verdict with its orders, and with the word that these allow."""
    word = word_held_to_order(verdict.verdict, order, verdict.margin)
    if order is None or word == verdict.verdict:
        return msgspec.structs.replace(verdict, order=order)
    if word.is_not_measured:
        return as_contradicted(verdict, order)
    reason = "; ".join(filter(None, (contradiction_words(order), verdict.reason)))
    return msgspec.structs.replace(verdict, order=order, verdict=word, reason=reason)


def as_contradicted(verdict: AnyGroupVerdict, order: OrderEffect) -> AnyGroupVerdict:
    """Return the verdict as `not measured`, without the figures that the order decides."""
    no_figures = dict.fromkeys(
        ("ratio", "ci95", "smallest_effect", "seconds_to_decide", "delta", "delta_ci95")
    )
    cleared_fields = {name: None for name in no_figures if name in verdict.__struct_fields__}
    word, reason = Word.NOT_MEASURED, contradiction_words(order)
    return msgspec.structs.replace(
        verdict, order=order, verdict=word, reason=reason, groups=0, slower_in=0, **cleared_fields
    )


def contradiction_words(order: OrderEffect) -> str:
    """Return why no verdict stands: `whichever runs second is 2.4 × faster here`."""
    if not order.is_established:
        sides = (units.format_effect(ratio) for ratio in order.ratios)
        return f"the two orders lie on different sides: {' and '.join(sides)}"
    return f"whichever runs second is {units.format_effect(order.second)} here"


def order_words(order: OrderEffect) -> str:
    """Return the effect in both orders without its direction, which the verdict says: `13.4 × and 12.8 ×`."""
    return " and ".join(units.format_effect(ratio, ("", "")).strip() for ratio in order.ratios)
