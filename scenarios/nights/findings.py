"""What a history found: loads that are slower, since when, and the recorded change that is the suspect."""

from probes.units import counted, listed
from scenarios.compare.effects import interval_of_metric, of_metric
from scenarios.finding import Finding
from scenarios.nights.history import Dated, History, LoadNights, Slowdown, Turn
from scenarios.rules.texts import texts

SAYS = texts("nights")
_MOST_LOADS = 12
_MOST_SUSPECTS = 6
_MOST_TEXT = 80


def findings(found: History) -> list[Finding]:
    return [_slower(found, event) for event in found.lasting]


def _slower(found: History, event: Slowdown) -> Finding:
    worst = event.turns[0]
    more = len(event.turns) - 1
    others = f" and {counted(more, 'other load')}" if more else ""
    turns = event.turns[:_MOST_LOADS]
    return SAYS.finding(
        "lasting",
        subject=found.host,
        since=event.since[:10],
        worst=named(worst),
        others=others,
        size=sized(worst),
        evidence=(
            *(SAYS.evidence("turn", load=named(turn), size=sized(turn)) for turn in turns),
            SAYS.evidence("suspect", suspects=suspects(event)),
        ),
    )


def named(load: Turn | LoadNights) -> str:
    """`system call (all)`."""
    return f"{load.title} ({load.key.variant})" if load.key.variant else load.title


def sized(turn: Turn) -> str:
    size = of_metric(turn.ratio, turn.metric)
    return f"{size} (95 % CI {interval_of_metric(turn.ci95, turn.ratio, turn.metric)})"


def suspects(event: Slowdown) -> str:
    """What was recorded as changed about then."""
    if not event.suspects:
        return f"none; no recorded fact changed between {event.before[:10] or 'the first night'} and {event.since[:10]}"
    return listed([changed(one) for one in event.suspects], _MOST_SUSPECTS)


def changed(one: Dated) -> str:
    """`kernel/release 6.1.0-18 → 6.1.0-22 (2026-11-20)`."""
    change = one.change
    before, after = (str(value)[:_MOST_TEXT] for value in (change.before, change.after))
    return f"{change.subject}/{change.name} {before} → {after} ({one.wall[:10]})"
