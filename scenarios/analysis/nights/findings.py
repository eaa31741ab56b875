"""What a history found: loads that are slower, since when, and the recorded change that is the suspect."""

from hostdx.probes.units import count_noun, join_names
from hostdx.scenarios.analysis.compare.effects import metric_interval_text, metric_ratio_text
from hostdx.scenarios.analysis.compare.run_summary import name_with_variant
from hostdx.scenarios.analysis.nights.history import Dated, HostHistory, LoadNights, Slowdown, Turn
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("analysis/nights")
_MAX_NAMED_LOADS = 12
_MAX_SUSPECTS = 6
_MAX_VALUE_CHARACTERS = 80


def slowdown_findings(past: HostHistory) -> list[Finding]:
    return [_slowdown_finding(past, event) for event in past.lasting_slowdowns]


def _slowdown_finding(past: HostHistory, event: Slowdown) -> Finding:
    worst = event.turns[0]
    more = len(event.turns) - 1
    others = f" and {count_noun(more, 'other load')}" if more else ""
    turns = event.turns[:_MAX_NAMED_LOADS]
    return SAYS.finding(
        "lasting",
        subject=past.host,
        since=event.since[:10],
        worst=load_name(worst),
        others=others,
        size=ratio_text_with_interval(worst),
        evidence=(
            *(
                SAYS.evidence("turn", load=load_name(turn), size=ratio_text_with_interval(turn))
                for turn in turns
            ),
            SAYS.evidence("suspect", suspects=suspected_changes_text(event)),
        ),
    )


def load_name(load: Turn | LoadNights) -> str:
    return name_with_variant(load.title, load.key, load.variant_label)


def ratio_text_with_interval(turn: Turn) -> str:
    size = metric_ratio_text(turn.ratio, turn.metric)
    return f"{size} (95 % CI {metric_interval_text(turn.ci95, turn.ratio, turn.metric)})"


def suspected_changes_text(event: Slowdown) -> str:
    """Return what was recorded as changed about then."""
    if not event.suspects:
        return f"none; no recorded fact changed between {event.before[:10] or 'the first night'} and {event.since[:10]}"
    return join_names([change_text(dated_change) for dated_change in event.suspects], _MAX_SUSPECTS)


def change_text(dated: Dated) -> str:
    """`kernel/release 6.1.0-18 → 6.1.0-22 (2026-11-20)`."""
    change = dated.change
    before, after = (str(value)[:_MAX_VALUE_CHARACTERS] for value in (change.before, change.after))
    return f"{change.subject}/{change.name} {before} → {after} ({dated.wall[:10]})"
