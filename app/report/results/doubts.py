"""What a comparison does not show: too few runs, unlike loads, copies, disturbance; and what was taken instead."""

from probes.units import count_noun, format_percent, join_names
from scenarios.analysis.compare.comparison import ComparedRecordings

_MAX_UNLIKE = 60
_MAX_SHOWN = 6


def list_doubts(result: ComparedRecordings) -> list[str]:
    lines = []
    if result.unlike and result.anyway:
        several = "; ".join(f"{item.title}: {item.differences_text}" for item in result.unlike[:_MAX_UNLIKE])
        lines.append(
            f"Compared though they are not the same load ({several}): what differs is not the host's alone."
        )
    elif result.unlike:
        several = "; ".join(f"{item.title}: {item.differences_text}" for item in result.unlike[:_MAX_SHOWN])
        lines.append(f"Not compared, because the loads are not alike (A / B): {several}.")
    if result.invalid:
        several = "; ".join(
            f"{item.load} in {item.run}: {item.reason}" for item in result.invalid[:_MAX_SHOWN]
        )
        lines.append(f"Not compared, because the figures are invalid: {several}.")
    for side, text in ((result.a, "A"), (result.b, "B")):
        if side.twins:
            lines.append(
                f"{count_noun(len(side.twins), 'result')} of {text} with the figures of another counted once: "
                f"{join_names([f'{item} = {other}' for item, other in side.twins], 12)}."
            )
    if result.a.runs == result.b.runs == 1:
        unit = "boots" if result.a.boots else "runs"
        usual = ", ".join(
            f"{name} {format_percent(share)}" for name, share in allowances_by_group(result).items()
        )
        spread = (
            "the spread inside the runs is a lower bound of the spread between runs"
            if any(e.basis == "blocks" for e in result.effects)
            else "single values show no spread at all"
        )
        lines.append(
            f"One run each of A and B, so one order only: {spread}. "
            "A load is called slower or faster only beyond what two runs "
            f"of such a load usually differ by ({usual} from run to run). Three {unit} each would settle it."
        )
    elif any(e.basis == "one side" for e in result.effects):
        few = "A" if result.a.boots < result.b.boots or result.a.runs < result.b.runs else "B"
        lines.append(f"{few} was measured once: the spread of the other one is used for both.")
    elif any(e.basis == "runs" and e.lower_bound for e in result.effects):
        lines.append(
            "One boot each: the difference from one boot to the next is not in the intervals, so they "
            "are lower bounds."
        )
    if result.one_after_the_other and result.a.runs + result.b.runs > 2:
        lines.append(
            f"All runs of {result.order[0]} were made before those of {result.order[-1]}: a drift over that time "
            "looks like an effect; the order A B B A avoids that."
        )
    for side, text in ((result.a, "A"), (result.b, "B")):
        if side.unfinished:
            lines.append(f"{side.unfinished} of {side.runs} runs of {text} did not end normally.")
        if side.groups and side.disturbed / side.groups > 0.25:
            lines.append(
                f"{format_percent(side.disturbed / side.groups)} of the groups of {text} were disturbed and left out."
            )
    return lines


def allowances_by_group(result: ComparedRecordings) -> dict[str, float]:
    """By group of loads, how far runs lie apart (one standard deviation), where that was reckoned with."""
    return {e.group: e.allowance for e in result.effects if e.allowance}
