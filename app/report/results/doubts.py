"""What a comparison does not show: too few runs, unlike loads, copies, disturbance; and what was taken instead."""

from probes.units import counted, listed, percent
from scenarios.compare.comparison import ComparedRecordings

_MOST_UNLIKE = 60
_MAX_SHOWN = 6


def doubts(found: ComparedRecordings) -> list[str]:
    lines = []
    if found.unlike and found.anyway:
        several = "; ".join(f"{one.title}: {one.said}" for one in found.unlike[:_MOST_UNLIKE])
        lines.append(
            f"Compared though they are not the same load ({several}): what differs is not the host's alone."
        )
    elif found.unlike:
        several = "; ".join(f"{one.title}: {one.said}" for one in found.unlike[:_MAX_SHOWN])
        lines.append(f"Not compared, because the loads are not alike (A / B): {several}.")
    if found.invalid:
        several = "; ".join(f"{one.load} in {one.run}: {one.reason}" for one in found.invalid[:_MAX_SHOWN])
        lines.append(f"Not compared, because the figures are invalid: {several}.")
    for side, text in ((found.a, "A"), (found.b, "B")):
        if side.twins:
            lines.append(
                f"{counted(len(side.twins), 'result')} of {text} with the figures of another counted once: "
                f"{listed([f'{one} = {other}' for one, other in side.twins], 12)}."
            )
    if found.a.runs == found.b.runs == 1:
        unit = "boots" if found.a.boots else "runs"
        usual = ", ".join(f"{name} {percent(share)}" for name, share in allowances(found).items())
        spread = (
            "the spread inside the runs is a lower bound of the spread between runs"
            if any(e.basis == "blocks" for e in found.effects)
            else "single values show no spread at all"
        )
        lines.append(
            f"One run a side, so one order only: {spread}. A load is called slower or faster only beyond what two runs "
            f"of such a load usually differ by ({usual} from run to run). Three {unit} a side would settle it."
        )
    elif any(e.basis == "one side" for e in found.effects):
        few = "A" if found.a.boots < found.b.boots or found.a.runs < found.b.runs else "B"
        lines.append(f"Side {few} was measured once: the spread of the other side is used for both.")
    elif any(e.basis == "runs" and e.lower_bound for e in found.effects):
        lines.append(
            "One boot a side: how much one boot differs from the next is not in the intervals, so they "
            "are lower bounds."
        )
    if found.one_after_the_other and found.a.runs + found.b.runs > 2:
        lines.append(
            f"All runs of {found.order[0]} were made before those of {found.order[-1]}: a drift over that time "
            "looks like an effect; the order A B B A avoids that."
        )
    for side, text in ((found.a, "A"), (found.b, "B")):
        if side.unfinished:
            lines.append(f"{side.unfinished} of {side.runs} runs of {text} did not end normally.")
        if side.groups and side.disturbed / side.groups > 0.25:
            lines.append(
                f"{percent(side.disturbed / side.groups)} of the groups of {text} were disturbed and left out."
            )
    return lines


def allowances(found: ComparedRecordings) -> dict[str, float]:
    """By group of loads, how far runs lie apart (one standard deviation), where that was reckoned with."""
    return {e.group: e.allowance for e in found.effects if e.allowance}
