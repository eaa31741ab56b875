"""A comparison as a document: what is slower on B and how sure that is, then what differs, then the method."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from app.report.figures.interval_chart import drawable, sound
from app.report.results.doubts import allowances, doubts
from app.report.results.result_parts import value_text
from probes.units import amount, counted, listed, number, percent, smallest_effect, times
from scenarios.compare.comparison import ComparedRecordings, RecordedSide
from scenarios.compare.differences import Difference, Experiment
from scenarios.compare.effects import Effect, detectable, interval, is_cost, named, size, sized, word
from scenarios.compare.run_summary import FigureKey
from scenarios.knowledge.loads import group_of
from scenarios.results import document as doc
from scenarios.rules.texts import Texts
from scenarios.verdict.verdict import Word

SAYS = Texts(Path(__file__).with_name("texts.toml"))
PARAMETERS = ("kernel", "parameters")  # the boot parameters that matter for speed; "none" without any
# Differences of one kind that come by the dozen take one row.
LISTED: dict[str, Callable[[Difference], bool]] = {
    "built in (CONFIG_)": lambda d: d.subject == "kernel" and d.name.startswith("config."),
    "modules loaded": lambda d: d.subject == "module",
}
MOST_FACTS = 60  # differences shown; all of them are in the JSON document


def comparison(found: ComparedRecordings) -> doc.ReportDocument:
    sections = (
        doc.ReportSection("Verdict", tuple(_verdict(found))),
        doc.ReportSection("Effects", tuple(_effects(found))),
        doc.ReportSection("Groups and scores", tuple(_means(found))),
        doc.ReportSection("What differs between A and B", tuple(_differences(found))),
        doc.ReportSection("Known kernels", tuple(_faults(found))),
        doc.ReportSection("Not compared", tuple(_left_out(found))),
        doc.ReportSection("How it was compared", tuple(_method(found))),
    )
    return doc.ReportDocument(_title(found), (headline(found),), tuple(s for s in sections if s.parts))


def _title(found: ComparedRecordings) -> str:
    changed = next((d for d in found.fingerprints.differences if (d.subject, d.name) == PARAMETERS), None)
    if changed is not None and found.a.kernels == found.b.kernels and found.a.hosts == found.b.hosts:
        a, b = (
            f"{', '.join(found.a.kernels)}, {'; '.join(map(str, side))}" for side in (changed.a, changed.b)
        )
    else:
        a, b = _short(found.a, found.b), _short(found.b, found.a)
    return f"{a} (A) against {b} (B)"


def _short(side: RecordedSide, other: RecordedSide) -> str:
    """What tells the side from the other one, as far as it fits a title."""
    if side.hosts != other.hosts:
        named = side.hosts
    elif side.kernels != other.kernels and side.kernels:
        named = side.kernels
    elif side.first[:16] and side.first[:16] != other.first[:16]:
        named = (f"{', '.join(side.hosts)}, {side.first[:16].replace('T', ' ')}",)
    else:
        named = side.names
    return listed(named, 3)


def headline(found: ComparedRecordings) -> str:
    """The answer in one sentence: how many loads are slower and faster on B, the largest of each."""
    judged = found.effects
    if not judged:
        if found.unlike:
            first = found.unlike[0]
            return f"Nothing can be compared: {first.title} is not comparable: {first.said}."
        if found.invalid:
            first_invalid = found.invalid[0]
            return f"Nothing can be compared: {first_invalid.load} is invalid: {first_invalid.reason}."
        return "Nothing can be compared: the two sides have no load in common."
    speeds, memory = ([e for e in judged if is_cost(e.metric) is cost] for cost in (False, True))
    parts = _changed(speeds, "loads")
    if costs := _changed(memory, "figures of memory"):
        if speeds and not parts:
            parts = [f"none of {counted(len(speeds), 'load')} shown to be slower or faster"]
        parts += costs
    if not parts:
        judged = tuple(speeds or memory)
        equal = sum(e.is_equal for e in judged)
        if equal == len(judged):
            return f"No material difference in any of {len(judged)} loads."
        seen = sorted(e.smallest_effect for e in judged if e.smallest_effect is not None)
        middle = smallest_effect(seen[len(seen) // 2]) if seen else "unknown"
        return (
            f"No difference found between A and B in {len(judged)} loads ({equal} shown to be equal); smallest "
            f"detectable effect in the median load: {middle}."
        )
    return f"B against A: {'; '.join(parts)}."


def _changed(judged: Sequence[Effect], noun: str) -> list[str]:
    """Those that lost and those that gained, the largest of each."""
    groups = ([e for e in judged if e.is_slower], [e for e in reversed(judged) if e.is_faster])
    return [
        f"{len(group)} of {len(judged)} {noun} {word(group[0])}, most of all {named(group[0])} ({sized(group[0])})"
        for group in groups
        if group
    ]


def _verdict(found: ComparedRecordings) -> list[doc.Part]:
    parts: list[doc.Part] = []
    changed = [e for e in found.effects if e.is_different]
    if changed:
        parts.append(doc.Bullets(tuple((f"{named(e)}: {sized(e)}",) for e in changed)))
    controls = [e for e in changed if e.control]
    if controls:
        parts.append(
            doc.paragraph_of(
                doc.Strong("The control changed:"),
                SAYS.text("control-changed", loads=", ".join(named(e) for e in controls)),
            )
        )
    if found.pattern is not None:
        parts.append(doc.paragraph_of(found.pattern.says))
    if not found.effects:
        return parts
    parts += [doc.paragraph_of(*_attribution(found)), *(doc.paragraph_of(line) for line in doubts(found))]
    experiments = found.fingerprints.attribution.experiments
    if experiments:
        parts.append(doc.paragraph_of("To separate the changes, make one at a time:"))
        parts.append(doc.Bullets(tuple(_experiment(name, one) for name, one in experiments.items())))
    return parts


def _experiment(name: str, one: Experiment) -> doc.Words:
    head = doc.Strong(f"{name}:")
    return (head, f"{one.says}:", doc.Mono(one.command)) if one.command else (head, one.says)


def _attribution(found: ComparedRecordings) -> doc.Words:
    attribution = found.fingerprints.attribution
    along = f" ({', '.join(attribution.along)} changed along with it)" if attribution.along else ""
    match attribution.word:
        case "several":
            names = " AND ".join(attribution.components)
            return (doc.Strong(f"{names} changed: this cannot be attributed to one of them{along}."),)
        case "one":
            return (f"Of what is recorded, only this differs: {attribution.components[0]}{along}.",)
        case "nothing differs":
            count = counted(found.fingerprints.of_the_host, "fact")
            return (
                f"Of the {count} of the host that both sides recorded, none that is known to change its speed differs.",
            )
        case "no fingerprint":
            return ("At least one side has no facts of its host, so nothing can be attributed.",)


def _effects(found: ComparedRecordings) -> list[doc.Part]:
    if not found.effects:
        return []
    wider = all(e.lower_bound for e in found.effects)
    told = sorted(
        found.effects, key=lambda e: not e.is_different
    )  # what is decided is looked for among forty
    rows = [
        (
            named(e),
            *_values_of(e),
            size(e),
            interval(e, said=wider),
            detectable(e),
        )
        for e in told
    ]
    header = ("load", "A", "B", "B against A", f"95 % CI{' or wider' if wider else ''}", "would show from")
    table = doc.Table(header, tuple(rows), frozenset({1, 2})).without_empty_columns()
    bars = {
        n: doc.Bar(named(e), e.ratio, drawable(e.ci95), Word(e.verdict), size(e))
        for n, e in enumerate(told)
        if sound(e.ratio)
    }
    return [
        doc.Effects(table, doc.Intervals(tuple(bars.values()), found.margin), tuple(bars)) if bars else table
    ]


def _values_of(effect: Effect) -> tuple[str, str]:
    """A's and B's; a unit that both have stands beside the second one: there are forty rows of them."""
    a, b = (amount(value, effect.metric.unit) for value in (effect.a, effect.b))
    return str(a.unitless if a.unit == b.unit and " " in a.unit else a), str(b)


def _means(found: ComparedRecordings) -> list[doc.Part]:
    means = [*found.groups, *found.scores]
    if not means:
        return []
    scores = {e.key.workload for e in found.scores}
    rows = [
        (
            named(e),
            str(e.loads),
            number(e.a) if e.key.workload in scores else "–",
            number(e.b) if e.key.workload in scores else "–",
            size(e),
            interval(e),
        )
        for e in means
    ]
    header = ("geometric mean of", "loads", "A", "B", "B against A", "95 % CI")
    return [doc.Table(header, tuple(rows), frozenset({1, 2, 3})).without_empty_columns()]


def _differences(found: ComparedRecordings) -> list[doc.Part]:
    prints = found.fingerprints
    if not prints.differences:
        return (
            [doc.paragraph_of(f"{counted(prints.same, 'fact')} of the hosts: the same on both sides.")]
            if prints.same
            else []
        )
    groups = {e.group for e in found.effects} or {g for d in prints.differences for g in d.moves}
    lists = {what: [d for d in prints.differences if fits(d)] for what, fits in LISTED.items()}
    in_lists = [d for among in lists.values() for d in among]
    shown = [d for d in prints.differences if d not in in_lists][:MOST_FACTS]
    rows = [
        (d.component, f"{d.subject} {d.name}".strip(), _values(d, d.a), _values(d, d.b), _moves(d, groups))
        for d in shown
    ]
    for what, among in lists.items():
        if among:
            only_a, only_b = _only(among, "a"), _only(among, "b")
            rows.append((among[0].component, what, only_a, only_b, _moves(among[0], groups)))
    differ = len(prints.differences)
    parts: list[doc.Part] = [
        doc.Table(("what", "fact", "A", "B", "known to affect"), tuple(rows)),
        doc.paragraph_of(
            f"Of {counted(differ + prints.same, 'fact')} {differ} differ{'s' if differ == 1 else ''}. Facts known to "
            "affect the loads that changed come first."
        ),
    ]
    if left := len(prints.differences) - len(in_lists) - len(shown):
        parts.append(doc.paragraph_of(f"{left} more are in the JSON document:", doc.Mono("--format json")))
    reasons = dict.fromkeys((d.component, d.why) for d in prints.differences if d.why)
    parts.append(doc.Bullets(tuple((doc.Strong(f"{component}:"), why) for component, why in reasons)))
    return parts


def _only(among: Sequence[Difference], side: Literal["a", "b"]) -> str:
    """`crc64, sha1_ssse3`, with the value where it tells more than that it is there: `HZ 250`."""
    found = []
    for one in among:
        name = one.name.removeprefix("config.")
        for value in one.a if side == "a" else one.b:
            found.append(name if value in (True, "y") else f"{name} {value_text(value)}")
    return listed(tuple(found), 12) or "none"


def _values(difference: Difference, values: tuple[object, ...]) -> str:
    if not difference.name:
        return "there" if values else "not there"
    return "; ".join(value_text(v) for v in values) if values else "not there"  # type: ignore[arg-type]


def _moves(difference: Difference, groups: set[str]) -> str:
    """The three largest of the groups that were compared."""
    moves = [(group, share) for group, share in difference.moves.items() if group in groups]
    return ", ".join(
        f"{group} {percent(share) if share < 1 else times(1 + share)}"
        for group, share in sorted(moves, key=lambda item: -item[1])[:3]
    )


def _faults(found: ComparedRecordings) -> list[doc.Part]:
    items: list[doc.Words] = [
        (
            doc.Strong(f"{fault.release} ({' and '.join(fault.sides)}):"),
            f"{fault.title}. {fault.effect}",
            f"Fixed in: {fault.fixed_in}." if fault.fixed_in else "",
        )
        for fault in found.faults
    ]
    if not items:
        return []
    return [
        doc.paragraph_of(
            "By the version and what was recorded; whether a fault shows here is not known from that:"
        ),
        doc.Bullets(tuple(items)),
    ]


def _left_out(found: ComparedRecordings) -> list[doc.Part]:
    items: list[doc.Words] = []
    if not found.anyway:
        items += [(f"{one.title}:", f"not comparable: {one.said}") for one in found.unlike]
    unlike = {key.workload for one in found.unlike for key in one.keys}
    for side, only in (("A", found.only_a), ("B", found.only_b)):
        if keys := [key for key in only if key.workload not in unlike]:
            items.append((f"loads that only {side} has:", ", ".join(map(_key, keys))))
    for name, runs in (("A", found.a), ("B", found.b)):
        if runs.left_out:
            items.append(
                (f"lines of {name} with a number out of its range, or too many facts:", str(runs.left_out))
            )
    prints = found.fingerprints
    if prints.unknown:
        items.append(
            (f"{counted(len(prints.unknown), 'fact')} read on one side only:", listed(prints.unknown, 12))
        )
    if prints.varying:
        items.append(
            (
                f"{counted(len(prints.varying), 'fact')} differing within a side as well:",
                listed(prints.varying, 12),
            )
        )
    return [doc.Bullets(tuple(items))] if items else []


def _key(key: FigureKey) -> str:
    return f"{key.workload} ({key.variant})" if key.variant else key.workload


def _method(found: ComparedRecordings) -> list[doc.Part]:
    sides = doc.Table(
        ("side", "hosts", "kernels", "scenario", "runs", "boots", "from", "to"),
        tuple(_side_row(name, side) for name, side in (("A", found.a), ("B", found.b))),
        frozenset({4, 5}),
    )
    if not found.effects:
        return [sides]
    said = [
        SAYS.text("compared-figures"),
        SAYS.text("compared-spread"),
        SAYS.text("compared-intervals", loads=len(found.effects), margin=found.margin),
    ]
    items: list[doc.Words] = [(one,) for one in said]
    for name, share in allowances(found).items():
        sources = "; ".join(group_of(name).sources)
        items.append(
            (f"Run to run {percent(share)}, taken for want of repeated runs,", f"{name}: {sources}.")
        )
    return [sides, doc.Bullets(tuple(items))]


def _side_row(name: str, side: RecordedSide) -> tuple[str, ...]:
    return (
        name,
        ", ".join(side.hosts[:4]),
        ", ".join(side.kernels[:4]),
        ", ".join(side.scenarios),
        str(side.runs),
        str(side.boots or "–"),
        side.first,
        side.last,
    )
