"""Many nodes as a document: who is odd and why, who is to be measured again, the groups, who did not answer."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hostdx.app.features.fleet.strip import strip_lines, strip_svg
from hostdx.probes import units
from hostdx.probes.types import Json
from hostdx.probes.units import count_noun, format_percent, join_names
from hostdx.scenarios.analysis.peers import judgement as peers
from hostdx.scenarios.analysis.peers.node import fold_names
from hostdx.scenarios.analysis.peers.retest import MAX_ROUNDS, MIN_ROUNDS, RetestedMeasure
from hostdx.scenarios.analysis.peers.screen import DRAWN, MIN_PEERS
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.contract.results import document as doc
from hostdx.scenarios.triage.rules.texts import FindingTexts

SAYS = FindingTexts(Path(__file__).with_name("texts.toml"))
WIDTH = 78
_TRIAGE = "triage"  # rules alone, nothing is measured
_MAX_NAMED = 12
_MAX_STRIPS = 40
_MAX_MISSING = 200
_MAX_NODES = 64  # columns of a table that a person reads
_MAX_SUMS = 2
_VALUE = 60  # characters of a fact
_STATES = {"no_python": "no Python", "rubbish": "answer unusable"}
_SMALL_FLEET_TEXT = f"Too few nodes ({peers.MIN_NODES} are needed) to name a setting; these facts differ"


def fleet_document(judgement: peers.FleetJudgement) -> doc.ReportDocument:
    sections = [
        *total_rate_sections(judgement.sums),
        *(_outlier_section(judgement, odd) for odd in judgement.odd),
        *_suspect_sections(judgement),
        *_slow_fast_sections(judgement),
        *_measure_sections(judgement),
        *_rare_and_finding_sections(judgement),
        *_missing_sections(judgement.missing),
        *_hardware_group_sections(judgement),
        doc.ReportSection("How it was judged", _method_parts(judgement), appendix=True),
    ]
    subject = join_names(judgement.what, 3) or "nothing"
    answer, *others = lead_sentences(judgement)
    lead = f"{count_noun(judgement.nodes, 'node')}: {subject}. {' '.join(others)}".rstrip()
    return doc.ReportDocument(answer, (lead,), tuple(sections))


def lead_sentences(judgement: peers.FleetJudgement) -> list[str]:
    """The answer, first of all."""
    sentences = []
    copies = nodes_with_same_figures(judgement)
    for nodes in copies:
        sentences.append(
            f"{len(nodes)} nodes have exactly the same figures, so their recordings are copies of one: "
            f"{fold_names(nodes)}"
        )
    if judgement.odd:
        sentences.append("; ".join(_outlier_words(judgement, odd) for odd in judgement.odd[:_MAX_NAMED]))
    open_ = dict.fromkeys(item.node for item in judgement.suspects)
    if open_ and not judgement.rounds:
        sentences.append(
            f"Measure {count_noun(len(open_), 'node')} again together with peer nodes: "
            f"{join_names(list(open_), _MAX_NAMED)}"
        )
    elif open_:
        sentences.append(f"Inconclusive for {join_names(list(open_), _MAX_NAMED)}")
    two = dict.fromkeys(measure.title for measure in judgement.measures if measure.parts is not None)
    if two:
        sentences.append(f"In {join_names(list(two), 3)} the nodes split into two groups")
    if not sentences and judgement.smallest_difference is not None:
        sentences.append(
            f"No node of {judgement.compared} differs by more than {format_percent(judgement.smallest_difference)} "
            f"in any of {count_noun(len(judgement.measures), 'measure')}"
        )
    elif not sentences:
        sentences.append(_lead_text_of_triages(judgement))
    if judgement.missing:
        sentences.append(
            f"{count_noun(len({item.node for item in judgement.missing}), 'node')} gave no answer"
        )
    return [f"{sentence}." for sentence in (*sentences, *total_rate_sentences(judgement.sums))]


def nodes_with_same_figures(judgement: peers.FleetJudgement) -> list[list[str]]:
    """Return groups of nodes all of whose figures are equal: no two measurements are."""
    figures: dict[str, list[tuple[int, float]]] = {}
    for number, measure in enumerate(judgement.measures):
        for node, value in measure.values.items():
            figures.setdefault(node, []).append((number, value))
    nodes: dict[tuple[tuple[int, float], ...], list[str]] = {}
    for node, values in figures.items():
        nodes.setdefault(tuple(values), []).append(node)
    return [sorted(group) for values, group in nodes.items() if len(group) > 1 and len(values) > 1]


def _lead_text_of_triages(judgement: peers.FleetJudgement) -> str:
    if judgement.rare and not judgement.rare[0].few:
        first = judgement.rare[0]
        return (
            f"{fold_names(first.nodes)} alone: {_fact_label(first.subject, first.name)} "
            f"{_differing_value_text(first.value, first.usual)}"
        )
    most = max((group.nodes for group in judgement.groups), default=0)
    if not most:
        return "No answer could be read"
    if judgement.what != (_TRIAGE,):
        return f"Too few nodes to compare: it takes measurements of {MIN_PEERS} nodes of the same hardware"
    few = f"Too few nodes to name a setting: it takes {peers.MIN_NODES} of the same hardware"
    if judgement.rare:
        few += "; the facts that differ are listed"
    return few if most < peers.MIN_NODES else "No setting and no finding singles out a node"


def _outlier_words(judgement: peers.FleetJudgement, odd: peers.FleetOutlier) -> str:
    worst = min(odd.standings, key=lambda standing: standing.ratio or 1.0)
    others = len(odd.standings) - 1
    more = f" and differs in {count_noun(others, 'other measure')}" if others else ""
    words = (
        f"{odd.node} is {units.format_effect(worst.ratio)} than its peers in "
        f"{judgement.measures[worst.column].title}{more}"
    )
    if odd.settings and not odd.few:
        first = odd.settings[0]
        words += (
            f"; no other node has {_fact_label(first.subject, first.name)} {_differing_value_text(first.value)}"
            * (not first.matching)
        )
    return words


def retested_effect_words(judgement: peers.FleetJudgement, suspect: RetestedMeasure) -> str:
    """`create a file: 12 % slower (95 % CI 10 to 14 %), 3 rounds`."""
    size = units.format_effect(suspect.ratio or suspect.screened)
    interval = f" (95 % CI {units.format_interval(*suspect.ci95, suspect.ratio)})" if suspect.ci95 else ""
    rounds = (
        count_noun(suspect.rounds, "round") + " of retests"
        if suspect.rounds
        else "at the first measurement only"
    )
    return f"{judgement.measures[suspect.column].title}: {size}{interval}, {rounds}"


def setting_words(setting: peers.Setting | peers.Rare) -> str:
    """`cpu governor: powersave here, performance on 39 of 39 peers (rule host.governor)`."""
    rule = f" (rule {setting.rule})" if setting.rule else ""
    peer_value, count = (setting.usual, 0) if isinstance(setting, peers.Rare) else setting.theirs[0]
    difference = (
        f"{_fact_label(setting.subject, setting.name)}: {_differing_value_text(setting.value, peer_value)}"
    )
    usual = _differing_value_text(peer_value, setting.value)
    if isinstance(setting, peers.Rare):
        return (
            f"{difference} on {fold_names(setting.nodes)}, {usual} on {format_percent(setting.share)} "
            f"of {setting.of}{rule}"
        )
    return f"{difference} here, {usual} on {count} of {setting.peers} peers{rule}"


def _outlier_section(judgement: peers.FleetJudgement, odd: peers.FleetOutlier) -> doc.ReportSection:
    parts: list[doc.Part] = [_retest_table(judgement, odd.standings)]
    if odd.settings:
        title = (
            _SMALL_FLEET_TEXT
            if odd.few
            else ("Facts in which it differs from its peers, the likeliest cause first")
        )
        parts += [doc.Heading(title), _differing_facts_table(odd.settings)]
        parts += [] if odd.few else _proof_parts(odd.settings[0])
    else:
        parts.append(doc.paragraph_of("No fact that was read differs from its peers'."))
    if odd.findings:
        parts.append(
            doc.paragraph_of(
                "Findings on it and on few of its peers:", *map(doc.Mono, odd.findings[:_MAX_NAMED])
            )
        )
    return doc.ReportSection(_outlier_words(judgement, odd), tuple(parts), role="critical")


def _retest_table(
    judgement: peers.FleetJudgement,
    standings: Sequence[RetestedMeasure],
    all_standings: Sequence[RetestedMeasure] = (),
) -> doc.Table:
    """`all_standings`: of which the first ones are the worst, a node."""
    measures = Counter(standing.node for standing in all_standings)
    rows = [
        (
            standing.node,
            judgement.measures[standing.column].title,
            units.format_effect(standing.screened),
            units.format_effect(standing.ratio) if standing.ratio else "–",
            units.format_interval(*standing.ci95, standing.ratio) if standing.ci95 else "–",
            str(standing.rounds) if standing.rounds else "–",
            str(measures[standing.node]) if all_standings else "–",
        )
        for standing in standings
    ]
    header = ("node", "measure", "first measurement", "retests", "95 % CI", "rounds", "measures")
    return doc.Table(header, tuple(rows), frozenset({5, 6})).without_empty_columns()


def _differing_facts_table(settings: Sequence[peers.Setting]) -> doc.Table:
    rows: list[tuple[doc.Cell, ...]] = [
        (
            doc.Mono(_fact_label(setting.subject, setting.name)),
            doc.Mono(_differing_value_text(setting.value, setting.theirs[0][0])),
            doc.Mono(join_names(
                [f"{_differing_value_text(value, setting.value)} ({count})" for value, count in setting.theirs], 3
            )),
            f"{setting.matching} of {setting.peers}", setting.component, doc.Mono(setting.rule) if setting.rule else "",
        )
        for setting in settings
    ]  # fmt: skip
    header = ("fact", "here", "peers", "peers like it", "part", "rule")
    return doc.Table(header, tuple(rows)).without_empty_columns()


def _proof_parts(first: peers.Setting) -> list[doc.Part]:
    parts: list[doc.Part] = []
    if first.why:
        parts.append(doc.paragraph_of(f"Why it can matter: {first.why}."))
    if first.experiment:
        parts.append(
            doc.paragraph_of(
                f"To prove it: {first.experiment}.", *([doc.Mono(first.command)] if first.command else [])
            )
        )
    if first.prove:
        ways = {"On that node:": f"run {first.prove}", "What the rule says:": f"rules --explain {first.rule}"}
        parts.append(doc.Bullets(tuple((words, doc.Mono(f"hostdx {way}")) for words, way in ways.items())))
    return parts


def _suspect_sections(judgement: peers.FleetJudgement) -> list[doc.ReportSection]:
    if not judgement.suspects:
        return []
    names = ",".join(dict.fromkeys(suspect.node for suspect in judgement.suspects))
    worst: dict[str, RetestedMeasure] = {}
    for suspect in judgement.suspects:
        worst.setdefault(suspect.node, suspect)
        if suspect.log_distance > worst[suspect.node].log_distance:
            worst[suspect.node] = suspect
    parts: list[doc.Part] = [
        _retest_table(judgement, list(worst.values())[:_MAX_MISSING], all_standings=judgement.suspects)
    ]
    if not judgement.rounds:
        parts.append(
            doc.paragraph_of(
                "One measurement names nobody: among many nodes some lie this far off by chance. Measure these again "
                "together with some others:",
                doc.Mono(f"hostdx fleet run {join_names(judgement.what, 1)} -w {names[:400]}"),
            )
        )
    title = "Inconclusive after the retests" if judgement.rounds else "To be measured again"
    return [doc.ReportSection(title, tuple(parts))]


def _slow_fast_sections(judgement: peers.FleetJudgement) -> list[doc.ReportSection]:
    sections = []
    alike: dict[frozenset[str], list[peers.FleetMeasure]] = {}
    for measure in judgement.measures:
        if measure.parts is not None:
            alike.setdefault(frozenset(measure.parts.slow), []).append(measure)
    for measure, *others in alike.values():
        parts = measure.parts
        assert parts is not None
        words = (
            f"{len(parts.slow)} nodes near {format_amount(parts.levels[0], measure.metric)}, {parts.fast} near "
            f"{format_amount(parts.levels[1], measure.metric)}: {units.format_effect(parts.ratio)}. Slower: "
            f"{join_names(parts.slow, _MAX_NAMED)}."
        )
        shown: list[doc.Part] = [doc.paragraph_of(words)]
        if parts.settings:
            shown += [doc.Heading("Settings that part them"), _parting_facts_table(parts.settings)]
        else:
            shown.append(doc.paragraph_of("No fact that was read parts them."))
        if others:
            shown.insert(
                1,
                doc.paragraph_of(
                    "The same nodes in:", join_names([other.title for other in others], _MAX_NAMED) + "."
                ),
            )
        sections.append(doc.ReportSection(f"Two groups in {measure.title}", tuple(shown)))
    return sections


def _parting_facts_table(settings: Sequence[peers.Parting]) -> doc.Table:
    def values_cell(values: tuple[tuple[Json, int], ...]) -> doc.Mono:
        return doc.Mono(
            join_names([f"{_differing_value_text(value)} ({count})" for value, count in values], 2)
        )

    rows: list[tuple[doc.Cell, ...]] = [
        (
            doc.Mono(_fact_label(parting.subject, parting.name)),
            values_cell(parting.lower),
            values_cell(parting.upper),
            format_percent(parting.right),
            parting.component,
        )
        for parting in settings
    ]
    header = ("fact", "slower nodes", "faster nodes", "nodes it places right", "part")
    return doc.Table(header, tuple(rows), frozenset({3})).without_empty_columns()


def _measure_sections(judgement: peers.FleetJudgement) -> list[doc.ReportSection]:
    if not judgement.measures:
        return []
    odd = {(item.node, item.column) for each in judgement.odd for item in each.standings}
    suspects = {(item.node, item.column) for item in judgement.suspects}
    rows: list[tuple[doc.Cell, ...]] = []
    strips: list[doc.Part] = []
    for number, item in enumerate(judgement.measures):
        rows.append(
            (
                item.title, item.key.metric, str(len(item.values)), format_amount(item.centre, item.metric),
                format_percent(item.spread), format_percent(item.smallest),
            )
        )  # fmt: skip
        if number < _MAX_STRIPS:
            marked = (
                {n for n, column in odd if column == number},
                {n for n, column in suspects if column == number},
            )
            lines = [
                "".join(words for words, _ in line).rstrip() for line in strip_lines(item, *marked, WIDTH)
            ]
            strips += [
                doc.Heading(f"{item.title}, {item.key.metric}"),
                doc.Picture(tuple(lines), strip_svg(item, *marked)),
            ]
    header = ("measure", "metric", "nodes", "median", "spread of nodes", "smallest detectable difference")
    table = doc.Table(header, tuple(rows), frozenset({2, 3, 4, 5}))
    return [
        doc.ReportSection("Measures", (table,)),
        doc.ReportSection("Each measure, a mark a node", tuple(strips), appendix=True),
    ]


def _rare_and_finding_sections(judgement: peers.FleetJudgement) -> list[doc.ReportSection]:
    sections = []
    if judgement.rare:
        few, many = ([item for item in judgement.rare if item.few is of_few] for of_few in (True, False))
        if many:
            sections.append(doc.ReportSection("Settings that hardly any node has", (_rare_table(many),)))
        if few:
            sections.append(doc.ReportSection(_SMALL_FLEET_TEXT, (_rare_table(few),)))
    if judgement.findings:
        rows = [_finding_on_nodes_row(item) for item in judgement.findings]
        table = doc.Table(("finding", "nodes", "on"), tuple(rows), frozenset({1}))
        sections.append(doc.ReportSection("Findings, the rarest first", (table,)))
    return sections


def _finding_on_nodes_row(finding: peers.FoundOn) -> tuple[doc.Cell, ...]:
    more = finding.count - len(finding.nodes)
    names = (
        ""
        if finding.count == finding.of
        else fold_names(finding.nodes) + (f" and {more} more" if more else "")
    )
    return doc.Mono(finding.finding), f"{finding.count} of {finding.of}", doc.Mono(names) if names else ""


def _rare_table(rare_settings: Sequence[peers.Rare]) -> doc.Table:
    rows: list[tuple[doc.Cell, ...]] = [
        (
            doc.Mono(_fact_label(setting.subject, setting.name)),
            doc.Mono(_differing_value_text(setting.value, setting.usual)),
            doc.Mono(fold_names(setting.nodes)),
            doc.Mono(_differing_value_text(setting.usual, setting.value)),
            format_percent(setting.share),
            doc.Mono(setting.rule) if setting.rule else "",
        )
        for setting in rare_settings
    ]
    header = ("fact", "value", "nodes", "usual", "of all", "rule")
    return doc.Table(header, tuple(rows), frozenset({4})).without_empty_columns()


def _missing_sections(missing: Sequence[peers.MissingNode]) -> list[doc.ReportSection]:
    if not missing:
        return []
    alike: dict[tuple[str, str, str], list[str]] = {}
    for missing_node in missing:
        round_ = f"retest {missing_node.round}" if missing_node.round else ""
        alike.setdefault((state_words(missing_node.state), round_, missing_node.reason), []).append(
            missing_node.node
        )
    rows = [(fold_names(nodes), str(len(nodes)), *why) for why, nodes in list(alike.items())[:_MAX_MISSING]]
    header = ("nodes", "count", "state", "round", "reason")
    parts: list[doc.Part] = [doc.Table(header, tuple(rows), frozenset({1})).without_empty_columns()]
    if len(alike) > _MAX_MISSING:
        parts.append(
            doc.paragraph_of(
                f"And {len(alike) - _MAX_MISSING} more reasons (--format ndjson lists all nodes)."
            )
        )
    return [doc.ReportSection("Nodes that did not answer", tuple(parts))]


def state_words(state: str) -> str:
    return _STATES.get(state, state.replace("_", " "))


def _hardware_group_sections(judgement: peers.FleetJudgement) -> list[doc.ReportSection]:
    items = []
    for group in judgement.groups:
        words = ", ".join(f"{kind} {which}" for kind, which in group.hardware) or "hardware not told"
        if group.named:
            why = f"no peers: fewer than {MIN_PEERS} nodes of this hardware"
            unlike = ", ".join(f"{kind} {which}" for kind, which in group.unlike)
            words = f"{fold_names(group.named)}: {why}" + (
                f"; unlike the largest group: {unlike}" * bool(unlike)
            )
        items.append((doc.Strong(count_noun(group.nodes, "node")), words))
    return (
        [doc.ReportSection("Groups of like hardware", (doc.Bullets(tuple(items)),), appendix=True)]
        if items
        else []
    )


def _method_parts(judgement: peers.FleetJudgement) -> tuple[doc.Part, ...]:
    if not judgement.measures:
        return (doc.paragraph_of(SAYS.text("fleet-few", least=peers.MIN_NODES)),)
    margin, cleared = judgement.margin, len({suspect.node for suspect in judgement.cleared})
    texts = (
        SAYS.text("fleet-measured", drawn=DRAWN, least=MIN_ROUNDS, most=MAX_ROUNDS, margin=margin),
        SAYS.text("fleet-settings"),
        SAYS.text("fleet-rounds", rounds=judgement.rounds, cleared=cleared),
    )
    return tuple(map(doc.paragraph_of, texts))


def _fact_label(subject: str, name: str) -> str:
    return f"{subject} {name}".strip()


def _differing_value_text(value: Json, other_value: Json = None) -> str:
    """Of a line of words, such as the kernel's parameters, only those that the value beside it has not."""
    if value is None:
        return "(not there)"
    if isinstance(value, str) and isinstance(other_value, str):
        others = other_value.split()
        own = [word for word in value.split() if word not in others]
        if own and len(own) < len(value.split()):
            return _differing_value_text(" ".join(own))
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return words if len(words) <= _VALUE else words[: _VALUE - 1] + "…"


def total_rate_sections(sums: Sequence[peers.Sum]) -> list[doc.ReportSection]:
    if not sums:
        return []
    shown = list(dict.fromkeys(name for node_sum in sums for name in node_sum.rates))[:_MAX_NODES]
    rows: list[tuple[doc.Cell, ...]] = []
    for node_sum in sums:
        part = (
            format_percent(node_sum.rates[name] / node_sum.total_rate) if name in node_sum.rates else "–"
            for name in shown
        )
        again = join_names(
            [format_amount(total, node_sum.metric) for total in node_sum.again], len(node_sum.again)
        )
        rows.append(
            (
                _title_and_variant(node_sum),
                str(len(node_sum.rates)),
                format_amount(node_sum.total_rate, node_sum.metric),
                again,
                *part,
            )
        )
    header = ("load", "nodes", "sum", "measured again", *shown)
    table = doc.Table(header, tuple(rows), frozenset(range(1, len(header)))).without_empty_columns()
    return [doc.ReportSection("Together", (table, doc.paragraph_of(SAYS.text("together"))))]


def total_rate_sentences(sums: Sequence[peers.Sum]) -> list[str]:
    """`12 nodes together: 3.2 GB/s in sequential read`, of the first loads."""
    return [
        f"{count_noun(len(node_sum.rates), 'node')} together: "
        f"{format_amount(node_sum.total_rate, node_sum.metric)} in {_title_and_variant(node_sum)}"
        for node_sum in sums[:_MAX_SUMS]
    ]


def _title_and_variant(node_sum: peers.Sum) -> str:
    return " ".join(filter(None, (node_sum.title, node_sum.key.variant)))


def format_amount(value: float, metric: Metric) -> str:
    return " ".join(units.metric_quantity(value, metric.unit)).strip()
