"""What a comparison does not know: too few runs, loads that are not alike, drift, disturbed groups."""

from hostdx.probes.units import count_noun, format_factor, format_percent, join_names
from hostdx.scenarios.analysis.compare.comparison import ComparedRecordings
from hostdx.scenarios.analysis.compare.effects import MAX_OTHERS_CPU

_MAX_UNLIKE = 60
_MAX_SHOWN = 6


def comparison_doubts(result: ComparedRecordings) -> list[str]:
    lines: list[str] = []
    if result.one_boot:
        lines.append(
            "A and B were measured without a restart of the host between them: a kernel or firmware that was "
            "installed meanwhile is not in use yet."
        )
    if others := max(result.a.others_cpu, result.b.others_cpu):
        lines.append(
            f"Who gets what others leave of the CPUs may be {format_factor(1 / (1 - min(others, MAX_OTHERS_CPU)))} "
            "slower for that alone: where runs were not repeated, only larger differences are called."
        )
    return [
        *lines,
        *_left_out_doubts(result),
        *_repetition_doubts(result),
        *_disturbance_doubts(result),
    ]


def _left_out_doubts(result: ComparedRecordings) -> list[str]:
    """What was not compared, or counted once."""
    lines: list[str] = []
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
    return lines


def _repetition_doubts(result: ComparedRecordings) -> list[str]:
    """How often each was measured, and in which order."""
    lines: list[str] = []
    if result.a.runs == result.b.runs == 1:
        unit = "boots" if result.a.boots else "runs"
        limits = ", ".join(
            f"{name} {format_factor(1 / ratio)}" for name, ratio in smallest_called_ratios(result).items()
        )
        spread = (
            "the spread inside the runs is a lower bound of the spread between runs"
            if any(e.basis == "blocks" for e in result.effects)
            else "single values show no spread at all"
        )
        lines.append(
            f"One run each of A and B, so one order only: {spread}. "
            f"Two such runs may differ by chance by a factor of up to: {limits}. Only a "
            "load that differs by more is called slower or faster without “here”. "
            f"Three {unit} each would settle it."
        )
    elif any(e.basis == "one side" for e in result.effects):
        few = "A" if result.a.boots < result.b.boots or result.a.runs < result.b.runs else "B"
        lines.append(f"{few} was measured once: the spread of the other one is used for both.")
    elif any(e.basis == "runs" and e.lower_bound for e in result.effects):
        lines.append(
            "One boot each: the difference from one boot to the next is not in the intervals, so they "
            "are lower bounds. Where a load differs “here”, that may be the boot instead of what was changed."
        )
    if result.ran_one_after_the_other and result.a.runs + result.b.runs > 2:
        lines.append(
            f"All runs of {result.order[0]} were made before those of {result.order[-1]}: a drift over that time "
            "looks like an effect; the order A B B A avoids that."
        )
    return lines


def _disturbance_doubts(result: ComparedRecordings) -> list[str]:
    lines: list[str] = []
    for side, text in ((result.a, "A"), (result.b, "B")):
        if side.unfinished:
            lines.append(f"{side.unfinished} of {side.runs} runs of {text} did not end normally.")
        if side.groups and side.disturbed / side.groups > 0.25:
            lines.append(
                f"{format_percent(side.disturbed / side.groups)} of the groups of {text} were disturbed and left out."
            )
    return lines


def smallest_called_ratios(result: ComparedRecordings) -> dict[str, float]:
    """By group of loads, B against A of the smallest loss that is called one, where runs were not repeated."""
    ratios: dict[str, float] = {}
    for effect in result.effects:
        if effect.allowance and effect.smallest_effect is not None:
            ratio = 1 / (1 + effect.smallest_effect)
            ratios[effect.group] = max(ratio, ratios.get(effect.group, 0.0))
    return ratios


def run_scatter_by_group(result: ComparedRecordings) -> dict[str, float]:
    """By group of loads, how far runs lie apart (one standard deviation), where that was reckoned with."""
    return {e.group: e.allowance for e in result.effects if e.allowance}
