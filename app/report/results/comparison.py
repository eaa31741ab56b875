"""A comparison as a document: what is slower on B and how sure that is, then what differs, then the method."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

from hostdx.app.report.figures.interval_chart import drawable_interval, is_drawable_value
from hostdx.app.report.results.comparison_doubts import comparison_doubts, run_scatter_by_group
from hostdx.app.report.results.result_parts import value_text
from hostdx.app.report.title import rest_of_title, split_title
from hostdx.app.report.wording import emulation_text
from hostdx.probes.units import (
    count_noun,
    format_factor,
    format_number,
    format_percent,
    join_names,
    metric_quantity,
    missable_difference_text,
)
from hostdx.scenarios.analysis.compare.comparison import ComparedRecordings, RecordedSide
from hostdx.scenarios.analysis.compare.differences import ComponentExperiment, Difference
from hostdx.scenarios.analysis.compare.effects import (
    Effect,
    certain_log_difference,
    direction_word,
    effect_name,
    effect_size_text,
    interval_text,
    is_cost_metric,
    is_different_in_these_runs,
    is_shown_to_differ,
    is_within_margin,
    missable_effect_text,
    ratio_text_with_interval,
)
from hostdx.scenarios.analysis.compare.odd import FAMILY_ERROR, MIN_EFFECT, MIN_RUNS, RunOutliers
from hostdx.scenarios.analysis.compare.run_summary import FigureKey
from hostdx.scenarios.analysis.imported.cross_run import outlier_findings
from hostdx.scenarios.contract.results import document as doc
from hostdx.scenarios.contract.results.document import Bullets, ReportDocument, ReportSection, paragraph_of
from hostdx.scenarios.contract.verdict.verdict import Word
from hostdx.scenarios.triage.knowledge.loads import load_group_of
from hostdx.scenarios.triage.rules.texts import FindingTexts

SAYS = FindingTexts(Path(__file__).with_name("texts.toml"))
PARAMETERS = ("kernel", "parameters")  # the boot parameters that matter for speed; "none" without any
# Differences of one kind that come by the dozen take one row.
LISTED: dict[str, Callable[[Difference], bool]] = {
    "built in (CONFIG_)": lambda d: d.subject == "kernel" and d.name.startswith("config."),
    "modules loaded": lambda d: d.subject == "module",
}
MAX_FACTS = 60  # differences shown; all of them are in the JSON document
MAX_PAGE_LOADS = 10  # on one page
MAX_PAGE_FACTS = 8


def comparison_page(result: ComparedRecordings) -> doc.ReportDocument:
    """Return what fits one page: the loads that say most, what can be trusted of it, and what differs of the hosts."""
    sections = (
        doc.ReportSection("Effects", tuple(_effect_parts(result, max_rows=MAX_PAGE_LOADS))),
        doc.ReportSection("Verdict", tuple(_verdict_parts(result))),
        doc.ReportSection(
            "What differs between A and B", tuple(_fact_difference_parts(result, max_rows=MAX_PAGE_FACTS))
        ),
    )
    return _document_of(result, sections)


def comparison_document(result: ComparedRecordings) -> doc.ReportDocument:
    sections = (
        doc.ReportSection("Effects", tuple(_effect_parts(result))),
        doc.ReportSection("Verdict", tuple(_verdict_parts(result))),
        doc.ReportSection("Groups and scores", tuple(_geometric_mean_parts(result))),
        doc.ReportSection("What differs between A and B", tuple(_fact_difference_parts(result))),
        doc.ReportSection("Known kernels", tuple(_kernel_fault_parts(result))),
        doc.ReportSection("Not compared", tuple(_not_compared_parts(result))),
        doc.ReportSection("How it was compared", tuple(_method_parts(result))),
    )
    return _document_of(result, sections)


def _document_of(result: ComparedRecordings, sections: Iterable[doc.ReportSection]) -> doc.ReportDocument:
    title = split_title(headline_text(result))
    return doc.ReportDocument(
        title.text,
        (_comparison_title(result), *rest_of_title(title), *_caveat_words(result)),
        tuple(s for s in sections if s.parts),
    )


def _caveat_words(result: ComparedRecordings) -> doc.Words:
    """In short what section Verdict says at length: who reads the table alone must not conclude more."""
    attribution = result.fingerprints.attribution
    caveats = [
        *(["one run each"] if result.a.runs == result.b.runs == 1 else []),
        *(
            [f"{' and '.join(attribution.components)} changed together"]
            if attribution.word == "several"
            else []
        ),
    ]
    if not result.effects:
        return ()
    emulated = [name for name, side in (("A", result.a), ("B", result.b)) if side.emulated]
    return (
        *((doc.Strong(f"{emulation_text(' and '.join(emulated))}."),) if emulated else ()),
        *((doc.Strong(f"Before you conclude: {'; '.join(caveats)} (see Verdict)."),) if caveats else ()),
    )


def _comparison_title(result: ComparedRecordings) -> str:
    changed = next((d for d in result.fingerprints.differences if (d.subject, d.name) == PARAMETERS), None)
    if changed is not None and result.a.kernels == result.b.kernels and result.a.hosts == result.b.hosts:
        a, b = (
            f"{', '.join(result.a.kernels)}, {'; '.join(map(str, side))}" for side in (changed.a, changed.b)
        )
    else:
        a, b = _what_tells_side_apart(result.a, result.b), _what_tells_side_apart(result.b, result.a)
    return f"{a} (A) against {b} (B)"


def _what_tells_side_apart(side: RecordedSide, other: RecordedSide) -> str:
    """Return what tells the side from the other one, as far as it fits a title."""
    if side.hosts != other.hosts:
        labels = side.hosts
    elif side.kernels != other.kernels and side.kernels:
        labels = side.kernels
    elif side.first[:16] and side.first[:16] != other.first[:16]:
        labels = (f"{', '.join(side.hosts)}, {side.first[:16].replace('T', ' ')}",)
    else:
        labels = side.names
    return join_names(labels, 3)


def headline_text(result: ComparedRecordings) -> str:
    """The answer in one sentence: how many loads are slower and faster on B, the largest of each; then who else ran."""
    return f"{_effects_sentence(result)}{_busy_host_sentence(result)}"


def _busy_host_sentence(result: ComparedRecordings) -> str:
    busy = [(name, side.others_cpu) for name, side in (("A", result.a), ("B", result.b)) if side.others_cpu]
    if not busy or not result.effects:
        return ""
    used = " and ".join(f"{format_percent(share)} of the CPUs during {name}" for name, share in busy)
    return f" Other programs used {used}: compare runs of a quiet host."


def _effects_sentence(result: ComparedRecordings) -> str:
    judged = result.effects
    if not judged:
        if result.unlike:
            first = result.unlike[0]
            return f"Nothing can be compared: {first.title} is not comparable: {first.differences_text}."
        if result.invalid:
            first_invalid = result.invalid[0]
            return f"Nothing can be compared: {first_invalid.load} is invalid: {first_invalid.reason}."
        return "Nothing can be compared: the two sides have no load in common."
    speeds, memory = ([e for e in judged if is_cost_metric(e.metric) is cost] for cost in (False, True))
    parts = _slower_and_faster_texts(speeds, "loads")
    if differs_text := _differs_here_text(speeds, is_more=bool(parts)):
        parts.append(differs_text)
    if costs := _slower_and_faster_texts(memory, "figures of memory"):
        if speeds and not parts:
            parts = [f"none of {count_noun(len(speeds), 'load')} shown to be slower or faster"]
        parts += costs
    if not parts:
        judged = tuple(speeds or memory)
        equal = sum(e.is_equal for e in judged)
        if equal == len(judged):
            return f"No material difference in any of {len(judged)} loads."
        smallest = sorted(e.smallest_effect for e in judged if e.smallest_effect is not None)
        missable_text = (
            f"; in the median load {missable_difference_text(smallest[len(smallest) // 2])}"
            if smallest
            else ""
        )
        loads = count_noun(len(judged), "load")
        return f"No difference found between A and B in {loads} ({equal} shown to be equal){missable_text}."
    return f"B against A: {'; '.join(parts)}."


def _slower_and_faster_texts(judged: Sequence[Effect], noun: str) -> list[str]:
    """Those that lost and those that gained, of each the one that differs most for certain."""
    groups = ([e for e in judged if e.is_slower], [e for e in judged if e.is_faster])
    return [
        f"{len(group)} of {len(judged)} {noun} {direction_word(group[0])}, most clearly "
        f"{effect_name(clearest)} ({ratio_text_with_interval(clearest)})"
        for group in groups
        if group
        for clearest in [max(group, key=certain_log_difference)]
    ]


def _differs_here_text(judged: Sequence[Effect], *, is_more: bool) -> str:
    """Return `7 more loads differ here (1 slower, 6 faster)`, of each side the clearest, and what was not decided: a
    group that is left out reads as one that is well.
    """
    differing_effects = [e for e in judged if is_different_in_these_runs(e)]
    if not differing_effects:
        return ""
    loads = (
        f"{len(differing_effects)} more {'load differs' if len(differing_effects) == 1 else 'loads differ'}"
        if is_more
        else f"{len(differing_effects)} of {len(judged)} loads differ{'s' if len(differing_effects) == 1 else ''}"
    )
    losses, gains = ([e for e in differing_effects if (e.ratio < 1) is lost] for lost in (True, False))
    sides = [(direction_word(side[0]), side) for side in (losses, gains) if side]
    counts = ", ".join(f"{len(side)} {way}" for way, side in sides)
    clearest_texts = [
        f"{way}{'' if len(side) == 1 else ' most clearly'}: {effect_name(clearest)} ({effect_size_text(clearest)})"
        for way, side in sides
        for clearest in [max(side, key=certain_log_difference)]
    ]
    return "; ".join([f"{loads} here ({counts})", *clearest_texts, *_undecided_group_texts(judged)])


def _undecided_group_texts(judged: Sequence[Effect]) -> list[str]:
    """Return the groups of which at least half of the loads are not decided, as one clause."""
    counts: Counter[str] = Counter(e.group for e in judged)
    undecided: Counter[str] = Counter(
        e.group for e in judged if e.is_undecided and not is_shown_to_differ(e) and not is_within_margin(e)
    )
    groups = [
        f"{name} ({count} of {counts[name]} loads)"
        for name, count in undecided.most_common()
        if 2 * count >= counts[name]
    ]
    return [f"not decided: {join_names(groups, 3)}"] if groups else []


def _verdict_parts(result: ComparedRecordings) -> list[doc.Part]:
    parts: list[doc.Part] = []
    controls = [e for e in result.effects if e.is_different and e.control]
    if controls:
        parts.append(
            doc.paragraph_of(
                doc.Strong("The control changed:"),
                SAYS.text("control-changed", loads=", ".join(effect_name(e) for e in controls)),
            )
        )
    if result.pattern is not None:
        parts.append(doc.paragraph_of(result.pattern.says))
    if not result.effects:
        return parts
    parts += [
        doc.paragraph_of(*_attribution_words(result)),
        *(doc.paragraph_of(line) for line in comparison_doubts(result)),
    ]
    experiments = result.fingerprints.attribution.experiments
    if experiments:
        parts.append(doc.paragraph_of("To separate the changes, make one at a time:"))
        parts.append(
            doc.Bullets(
                tuple(_experiment_words(name, experiment) for name, experiment in experiments.items())
            )
        )
    return parts


def _experiment_words(name: str, experiment: ComponentExperiment) -> doc.Words:
    head = doc.Strong(f"{name}:")
    return (
        (head, f"{experiment.says}:", doc.Mono(experiment.command))
        if experiment.command
        else (head, experiment.says)
    )


def _attribution_words(result: ComparedRecordings) -> doc.Words:
    attribution = result.fingerprints.attribution
    along = f" ({', '.join(attribution.along)} changed along with it)" if attribution.along else ""
    match attribution.word:
        case "several":
            names = " AND ".join(attribution.components)
            return (doc.Strong(f"{names} changed: this cannot be attributed to one of them{along}."),)
        case "one":
            return (
                f"All recorded differences that are known to matter belong to one part: {attribution.components[0]}"
                f"{along}.",
            )
        case "nothing differs":
            return ("No recorded fact that is known to change the speed of a host differs between A and B.",)
        case "no fingerprint":
            return ("A or B has no facts of its host, so no cause can be named.",)


def _effect_parts(result: ComparedRecordings, *, max_rows: int | None = None) -> list[doc.Part]:
    if not result.effects:
        return []
    wider = all(e.lower_bound for e in result.effects)
    ordered = sorted(result.effects, key=_place_in_table)[:max_rows]
    rows = [
        (
            effect_name(e),
            " → ".join(_value_texts_of_a_and_b(e)),
            effect_size_text(e),
            interval_text(e, is_bound_explained=wider),
            missable_effect_text(e),
        )
        for e in ordered
    ]
    header = (
        "load",
        "A → B, means",
        "B against A",
        f"95 % CI{', at least' if wider else ''}",
        "could be missed",
    )
    table = doc.Table(header, tuple(rows), frozenset({1}), frozenset({1, 3, 4})).without_empty_columns()
    bars = {
        n: doc.Bar(effect_name(e), e.ratio, drawable_interval(e.ci95), Word(e.verdict), effect_size_text(e))
        for n, e in enumerate(ordered)
        if is_drawable_value(e.ratio) and rows[n][3] != "–"
    }
    left_out = len(result.effects) - len(ordered)
    rest = [doc.paragraph_of(f"{count_noun(left_out, 'more load')}: the whole comparison has them.")]
    return [
        *_explain_mark_here(result),
        doc.Effects(table, doc.Intervals(tuple(bars.values()), result.margin), tuple(bars))
        if bars
        else table,
        *(rest if left_out else ()),
    ]


def _place_in_table(effect: Effect) -> tuple[bool, bool, bool, float]:
    """What is decided is looked for among forty: what differs, losses first, then what is the same, then the rest."""
    is_different = is_shown_to_differ(effect)
    return (
        not effect.is_different,
        not is_different and not (effect.is_equal or is_within_margin(effect)),
        not is_different or effect.ratio >= 1,
        -certain_log_difference(effect) if is_different else effect.ratio,
    )


def _value_texts_of_a_and_b(effect: Effect) -> tuple[str, str]:
    """A's and B's; a unit that both have stands beside the second one: there are forty rows of them."""
    a, b = (metric_quantity(value, effect.metric.unit) for value in (effect.a, effect.b))
    return str(a.without_unit if a.unit == b.unit and " " in a.unit else a), str(b)


def _geometric_mean_parts(result: ComparedRecordings) -> list[doc.Part]:
    means = [*result.groups, *result.scores]
    if not means:
        return []
    scores = {e.key.workload for e in result.scores}
    wider = all(e.lower_bound for e in means)
    rows = [
        (
            effect_name(e),
            str(e.loads),
            format_number(e.a) if e.key.workload in scores else "–",
            format_number(e.b) if e.key.workload in scores else "–",
            _mean_size_text(e, result.effects),
            interval_text(e, is_bound_explained=wider),
        )
        for e in means
    ]
    header = (
        "geometric mean of",
        "loads",
        "A",
        "B",
        "B against A",
        f"95 % CI{', at least' if wider else ''}",
    )
    return [doc.Table(header, tuple(rows), frozenset({1, 2, 3})).without_empty_columns()]


def _mean_size_text(mean: Effect, load_effects: Sequence[Effect]) -> str:
    """The size of the mean; where it shows no difference, also how many of its loads do: they cancel each other."""
    text = effect_size_text(mean)
    if is_shown_to_differ(mean):
        return text
    words = Counter(
        direction_word(e) for e in load_effects if e.group == mean.key.workload and is_shown_to_differ(e)
    )
    counts = " and ".join(f"{count} {word}" for word, count in words.items())
    return f"{text}; of its loads {counts}" if counts else text


def _fact_difference_parts(result: ComparedRecordings, *, max_rows: int = MAX_FACTS) -> list[doc.Part]:
    prints = result.fingerprints
    if not prints.differences:
        return (
            [doc.paragraph_of(f"{count_noun(prints.same, 'fact')} of the hosts: the same on both sides.")]
            if prints.same
            else []
        )
    groups = {e.group for e in result.effects} or {g for d in prints.differences for g in d.moves}
    lists = {label: [d for d in prints.differences if fits(d)] for label, fits in LISTED.items()}
    in_lists = [d for among in lists.values() for d in among]
    shown = [d for d in prints.differences if d not in in_lists][:max_rows]
    rows = [
        (
            d.component,
            f"{d.subject} {d.name}".strip(),
            _values_or_not_there(d, d.a),
            _values_or_not_there(d, d.b),
            _affected_groups_text(d, groups),
        )
        for d in shown
    ]
    for label, among in lists.items():
        if among:
            only_a, only_b = _only_on_side_text(among, "a"), _only_on_side_text(among, "b")
            rows.append((among[0].component, label, only_a, only_b, _affected_groups_text(among[0], groups)))
    differ = len(prints.differences)
    parts: list[doc.Part] = [
        doc.Table(("what", "fact", "A", "B", "known to affect"), tuple(rows)),
        doc.paragraph_of(
            f"Of {count_noun(differ + prints.same, 'fact')} {differ} differ{'s' if differ == 1 else ''}. "
            "Facts known to "
            "affect the loads that changed come first."
        ),
    ]
    if left := len(prints.differences) - len(in_lists) - len(shown):
        parts.append(doc.paragraph_of(f"{left} more are in the JSON document:", doc.Mono("--format json")))
    reasons = dict.fromkeys((d.component, d.why) for d in prints.differences if d.why)
    parts.append(doc.Bullets(tuple((doc.Strong(f"{component}:"), why) for component, why in reasons)))
    return parts


def _only_on_side_text(among: Sequence[Difference], side: Literal["a", "b"]) -> str:
    """`crc64, sha1_ssse3`, with the value where it tells more than that it is there: `HZ 250`."""
    texts = []
    for difference in among:
        name = difference.name.removeprefix("config.")
        for value in difference.a if side == "a" else difference.b:
            texts.append(name if value in (True, "y") else f"{name} {value_text(value)}")
    return join_names(tuple(texts), 12) or "none"


def _values_or_not_there(difference: Difference, values: tuple[object, ...]) -> str:
    if not difference.name:
        return "there" if values else "not there"
    return "; ".join(value_text(v) for v in values) if values else "not there"  # type: ignore[arg-type]


def _affected_groups_text(difference: Difference, groups: set[str]) -> str:
    """The three largest of the groups that were compared."""
    moves = [(group, share) for group, share in difference.moves.items() if group in groups]
    return ", ".join(
        f"{group} {format_percent(share) if share < 1 else format_factor(1 + share)}"
        for group, share in sorted(moves, key=lambda item: -item[1])[:3]
    )


def _kernel_fault_parts(result: ComparedRecordings) -> list[doc.Part]:
    items: list[doc.Words] = [
        (
            doc.Strong(f"{fault.release} ({' and '.join(fault.sides)}):"),
            f"{fault.title}. {fault.effect}",
            f"Fixed in: {fault.fixed_in}." if fault.fixed_in else "",
        )
        for fault in result.faults
    ]
    if not items:
        return []
    return [
        doc.paragraph_of(
            "By the version and what was recorded; whether a fault shows here is not known from that:"
        ),
        doc.Bullets(tuple(items)),
    ]


def _not_compared_parts(result: ComparedRecordings) -> list[doc.Part]:
    items: list[doc.Words] = []
    if not result.anyway:
        items += [(f"{item.title}:", f"not comparable: {item.differences_text}") for item in result.unlike]
    unlike = {key.workload for item in result.unlike for key in item.keys}
    for side, only in (("A", result.only_a), ("B", result.only_b)):
        if keys := [key for key in only if key.workload not in unlike]:
            items.append((f"loads that only {side} has:", ", ".join(map(_load_and_variant, keys))))
    for name, runs in (("A", result.a), ("B", result.b)):
        if runs.left_out:
            items.append(
                (f"lines of {name} with a number out of its range, or too many facts:", str(runs.left_out))
            )
    prints = result.fingerprints
    if prints.unknown:
        items.append(
            (
                f"{count_noun(len(prints.unknown), 'fact')} known for only one of A and B:",
                join_names(prints.unknown, 12),
            )
        )
    if prints.varying:
        items.append(
            (
                f"{count_noun(len(prints.varying), 'fact')} that also differ within A or within B:",
                join_names(prints.varying, 12),
            )
        )
    return [doc.Bullets(tuple(items))] if items else []


def _load_and_variant(key: FigureKey) -> str:
    return f"{key.workload} ({key.variant})" if key.variant else key.workload


def _method_parts(result: ComparedRecordings) -> list[doc.Part]:
    sides = doc.Table(
        ("variant", "hosts", "kernels", "scenario", "runs", "boots", "measured"),
        tuple(_side_row(name, side) for name, side in (("A", result.a), ("B", result.b))),
        frozenset({4, 5}),
    )
    if not result.effects:
        return [sides]
    texts = [
        SAYS.text("compared-figures"),
        SAYS.text("compared-spread"),
        SAYS.text("compared-intervals", loads=len(result.effects), margin=result.margin),
    ]
    scatter = run_scatter_by_group(result)
    parts: list[doc.Part] = [sides, doc.Bullets(tuple((text,) for text in texts))]
    if scatter:
        rows = [
            (name, format_percent(share), "; ".join(load_group_of(name).sources))
            for name, share in scatter.items()
        ]
        header = ("loads", "run to run", "source")
        parts += [
            doc.paragraph_of(SAYS.text("assumed-scatter")),
            doc.Table(header, tuple(rows), frozenset({1})),
        ]
    return parts


def _side_row(name: str, side: RecordedSide) -> tuple[str, ...]:
    return (
        name,
        ", ".join(side.hosts[:4]),
        ", ".join(side.kernels[:4]),
        ", ".join(side.scenarios),
        str(side.runs),
        str(side.boots or "–"),
        side.first if side.first == side.last else f"{side.first} to {side.last}",
    )


def _explain_mark_here(result: ComparedRecordings) -> list[doc.Part]:
    """Return what the mark “here” says in the table of effects."""
    once = sum(map(is_different_in_these_runs, result.effects))
    if not once or not result.a.runs == result.b.runs == 1:
        return []
    unit = "boot" if result.a.boots else "run"
    return [
        doc.paragraph_of(
            f"{count_noun(once, 'load')} marked “here”: the figures of A and B differ, but one {unit} of each "
            f"variant cannot tell what was changed from what differs between any two {unit}s."
        )
    ]


_MAX_NAMED = 12


def outlier_results_document(outliers: RunOutliers, duplicates: Sequence[tuple[str, str]]) -> ReportDocument:
    findings = outlier_findings(outliers)
    runs = count_noun(len(outliers.runs), "result")
    loads = count_noun(outliers.loads, "load")
    none = f"None of {runs} lies apart from the others in any of {loads}."
    sections = [
        ReportSection(f.title, (Bullets(tuple((line.text,) for line in f.evidence)),)) for f in findings
    ]
    names = join_names(outliers.runs, _MAX_NAMED)
    pile = SAYS.text("odd-pile", runs=runs, names=names, least=MIN_RUNS, loads=outliers.loads)
    method = [
        paragraph_of(pile),
        paragraph_of(SAYS.text("odd-method", effect=MIN_EFFECT, error=FAMILY_ERROR)),
    ]
    if duplicates:
        method.append(
            paragraph_of(
                f"{count_noun(len(duplicates), 'result')} with the figures of another counted once: "
                f"{join_names([f'{twin} = {other}' for twin, other in duplicates], _MAX_NAMED)}."
            )
        )
    lead = findings[0].title if findings else none
    sections.append(ReportSection("How it was looked at", tuple(method)))
    return ReportDocument(lead, (f"Which of {runs} differs from the others?",), tuple(sections))
