"""Many nodes as a document: who is odd and why, who is to be measured again, the groups, who did not answer."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from app.report.figures.strip import strip_lines, strip_svg
from app.report.results.together import amount, sum_words, together
from probes import units
from probes.types import Json
from probes.units import counted, listed, percent
from scenarios.peers import judgement as peers
from scenarios.peers.node import folded
from scenarios.peers.retest import LEAST_ROUNDS, MOST_ROUNDS, RetestedSuspect
from scenarios.peers.screen import DRAWN, LEAST_PEERS
from scenarios.results import document as doc
from scenarios.rules.texts import Texts

SAYS = Texts(Path(__file__).with_name("texts.toml"))
WIDTH = 78
_TRIAGE = "triage"  # rules alone, nothing is measured
_MOST_NAMED = 12
_MOST_STRIPS = 40
_MOST_MISSING = 200
_VALUE = 60  # characters of a fact
_STATES = {"no_python": "no Python", "rubbish": "answer unusable"}
_FEW = f"Too few nodes ({peers.LEAST_NODES} are needed) to name a setting; these facts differ"


def fleet_document(found: peers.FleetJudgement) -> doc.ReportDocument:
    sections = [
        *together(found.sums),
        *(_odd_section(found, odd) for odd in found.odd),
        *_suspects(found),
        *_populations(found),
        *_measures(found),
        *_triaged(found),
        *_missing(found.missing),
        *_groups(found),
        doc.ReportSection("How it was judged", _method(found), appendix=True),
    ]
    what = listed(found.what, 3) or "nothing"
    return doc.ReportDocument(f"{counted(found.nodes, 'node')}: {what}", (lead(found),), tuple(sections))


def lead(found: peers.FleetJudgement) -> str:
    """The answer in a sentence or two."""
    said = []
    if found.odd:
        said.append("; ".join(_odd_words(found, odd) for odd in found.odd[:_MOST_NAMED]))
    open_ = dict.fromkeys(one.node for one in found.suspects)
    if open_ and not found.rounds:
        said.append(
            f"Measure {counted(len(open_), 'node')} again beside peers: {listed(list(open_), _MOST_NAMED)}"
        )
    elif open_:
        said.append(f"Inconclusive for {listed(list(open_), _MOST_NAMED)}")
    two = dict.fromkeys(measure.title for measure in found.measures if measure.parts is not None)
    if two:
        said.append(f"Two groups of nodes in {listed(list(two), 3)}")
    if not said and found.smallest is not None:
        said.append(
            f"No node of {found.compared} differs by more than {percent(found.smallest)} "
            f"in any of {counted(len(found.measures), 'measure')}"
        )
    elif not said:
        said.append(_rules_lead(found))
    if found.missing:
        said.append(f"{counted(len({one.node for one in found.missing}), 'node')} gave no answer")
    return ". ".join([*sum_words(found.sums), *said]) + "."


def _rules_lead(found: peers.FleetJudgement) -> str:
    if found.rare and not found.rare[0].few:
        first = found.rare[0]
        return f"{folded(first.nodes)} alone: {_fact(first.subject, first.name)} {_value(first.value, first.usual)}"
    most = max((group.nodes for group in found.groups), default=0)
    if not most:
        return "No answer could be read"
    if found.what != (_TRIAGE,):
        return f"Too few nodes to compare: it takes measurements of {LEAST_PEERS} nodes of the same hardware"
    few = f"Too few nodes to name a setting: it takes {peers.LEAST_NODES} of the same hardware"
    if found.rare:
        few += "; the facts that differ are listed"
    return few if most < peers.LEAST_NODES else "No setting and no finding singles out a node"


def _odd_words(found: peers.FleetJudgement, odd: peers.Odd) -> str:
    worst = min(odd.standings, key=lambda one: one.ratio or 1.0)
    others = len(odd.standings) - 1
    more = f" and differs in {counted(others, 'other measure')}" if others else ""
    words = f"{odd.node} is {units.effect(worst.ratio)} than its peers in {found.measures[worst.column].title}{more}"
    if odd.settings and not odd.few:
        first = odd.settings[0]
        words += f"; it alone has {_fact(first.subject, first.name)} {_value(first.value)}" * (
            not first.matching
        )
    return words


def standing_words(found: peers.FleetJudgement, one: RetestedSuspect) -> str:
    """`create a file: 12 % slower (95 % CI 10 to 14 %), 3 rounds`."""
    size = units.effect(one.ratio or one.screened)
    interval = f" (95 % CI {units.between(*one.ci95, one.ratio)})" if one.ci95 else ""
    rounds = counted(one.rounds, "round") + " of retests" if one.rounds else "at the first measurement alone"
    return f"{found.measures[one.column].title}: {size}{interval}, {rounds}"


def setting_words(one: peers.Setting | peers.Rare) -> str:
    """`cpu governor: powersave here, performance on 39 of 39 peers (rule host.governor)`."""
    rule = f" (rule {one.rule})" if one.rule else ""
    theirs, count = (one.usual, 0) if isinstance(one, peers.Rare) else one.theirs[0]
    what = f"{_fact(one.subject, one.name)}: {_value(one.value, theirs)}"
    usual = _value(theirs, one.value)
    if isinstance(one, peers.Rare):
        return f"{what} on {folded(one.nodes)}, {usual} on {percent(one.share)} of {one.of}{rule}"
    return f"{what} here, {usual} on {count} of {one.peers} peers{rule}"


def _odd_section(found: peers.FleetJudgement, odd: peers.Odd) -> doc.ReportSection:
    parts: list[doc.Part] = [_standing_table(found, odd.standings)]
    if odd.settings:
        title = _FEW if odd.few else ("Facts in which it differs from its peers, the likeliest cause first")
        parts += [doc.Heading(title), _settings(odd.settings)]
        parts += [] if odd.few else _proofs(odd.settings[0])
    else:
        parts.append(doc.paragraph_of("No fact that was read differs from its peers'."))
    if odd.findings:
        parts.append(
            doc.paragraph_of(
                "Findings on it and on few of its peers:", *map(doc.Mono, odd.findings[:_MOST_NAMED])
            )
        )
    return doc.ReportSection(_odd_words(found, odd), tuple(parts), role="critical")


def _standing_table(
    found: peers.FleetJudgement, standings: Sequence[RetestedSuspect], more: Sequence[RetestedSuspect] = ()
) -> doc.Table:
    """`more`: of which the first ones are the worst, a node."""
    measures = Counter(one.node for one in more)
    rows = [
        (
            one.node, found.measures[one.column].title, units.effect(one.screened),
            units.effect(one.ratio) if one.ratio else "–", units.between(*one.ci95, one.ratio) if one.ci95 else "–",
            str(one.rounds) if one.rounds else "–", str(measures[one.node]) if more else "–",
        )
        for one in standings
    ]  # fmt: skip
    header = ("node", "measure", "first measurement", "retests", "95 % CI", "rounds", "measures")
    return doc.Table(header, tuple(rows), frozenset({5, 6})).without_empty_columns()


def _settings(settings: Sequence[peers.Setting]) -> doc.Table:
    rows: list[tuple[doc.Cell, ...]] = [
        (
            doc.Mono(_fact(one.subject, one.name)), doc.Mono(_value(one.value, one.theirs[0][0])),
            doc.Mono(listed([f"{_value(value, one.value)} ({count})" for value, count in one.theirs], 3)),
            f"{one.matching} of {one.peers}", one.component, doc.Mono(one.rule) if one.rule else "",
        )
        for one in settings
    ]  # fmt: skip
    header = ("fact", "here", "peers", "peers like it", "part", "rule")
    return doc.Table(header, tuple(rows)).without_empty_columns()


def _proofs(first: peers.Setting) -> list[doc.Part]:
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


def _suspects(found: peers.FleetJudgement) -> list[doc.ReportSection]:
    if not found.suspects:
        return []
    names = ",".join(dict.fromkeys(one.node for one in found.suspects))
    worst: dict[str, RetestedSuspect] = {}
    for one in found.suspects:
        worst.setdefault(one.node, one)
        if one.off > worst[one.node].off:
            worst[one.node] = one
    parts: list[doc.Part] = [
        _standing_table(found, list(worst.values())[:_MOST_MISSING], more=found.suspects)
    ]
    if not found.rounds:
        parts.append(
            doc.paragraph_of(
                "One measurement names nobody: among many nodes some lie this far off by chance. Measure these again "
                "together with some others:", doc.Mono(f"hostdx fleet run {listed(found.what, 1)} -w {names[:400]}"),
            )
        )  # fmt: skip
    title = "Inconclusive after the retests" if found.rounds else "To be measured again"
    return [doc.ReportSection(title, tuple(parts))]


def _populations(found: peers.FleetJudgement) -> list[doc.ReportSection]:
    sections = []
    alike: dict[frozenset[str], list[peers.Measure]] = {}
    for measure in found.measures:
        if measure.parts is not None:
            alike.setdefault(frozenset(measure.parts.slow), []).append(measure)
    for measure, *others in alike.values():
        parts = measure.parts
        assert parts is not None
        words = (
            f"{len(parts.slow)} nodes near {amount(parts.levels[0], measure.metric)}, {parts.fast} near "
            f"{amount(parts.levels[1], measure.metric)}: {units.effect(parts.ratio)}. Slower: "
            f"{listed(parts.slow, _MOST_NAMED)}."
        )
        shown: list[doc.Part] = [doc.paragraph_of(words)]
        if parts.settings:
            shown += [doc.Heading("Settings that part them"), _partings(parts.settings)]
        else:
            shown.append(doc.paragraph_of("No fact that was read parts them."))
        if others:
            shown.insert(
                1,
                doc.paragraph_of(
                    "The same nodes in:", listed([one.title for one in others], _MOST_NAMED) + "."
                ),
            )
        sections.append(doc.ReportSection(f"Two groups in {measure.title}", tuple(shown)))
    return sections


def _partings(settings: Sequence[peers.Parting]) -> doc.Table:
    def told(values: tuple[tuple[Json, int], ...]) -> doc.Mono:
        return doc.Mono(listed([f"{_value(value)} ({count})" for value, count in values], 2))

    rows: list[tuple[doc.Cell, ...]] = [
        (
            doc.Mono(_fact(one.subject, one.name)),
            told(one.lower),
            told(one.upper),
            percent(one.right),
            one.component,
        )
        for one in settings
    ]
    header = ("fact", "slower nodes", "faster nodes", "nodes it places right", "part")
    return doc.Table(header, tuple(rows), frozenset({3})).without_empty_columns()


def _measures(found: peers.FleetJudgement) -> list[doc.ReportSection]:
    if not found.measures:
        return []
    odd = {(one.node, one.column) for each in found.odd for one in each.standings}
    suspects = {(one.node, one.column) for one in found.suspects}
    rows: list[tuple[doc.Cell, ...]] = []
    strips: list[doc.Part] = []
    for number, one in enumerate(found.measures):
        rows.append(
            (
                one.title, one.key.metric, str(len(one.values)), amount(one.centre, one.metric),
                percent(one.spread), percent(one.smallest),
            )
        )  # fmt: skip
        if number < _MOST_STRIPS:
            marked = (
                {n for n, column in odd if column == number},
                {n for n, column in suspects if column == number},
            )
            lines = [
                "".join(words for words, _ in line).rstrip() for line in strip_lines(one, *marked, WIDTH)
            ]
            strips += [
                doc.Heading(f"{one.title}, {one.key.metric}"),
                doc.Picture(tuple(lines), strip_svg(one, *marked)),
            ]
    header = ("measure", "metric", "nodes", "median", "spread of nodes", "smallest detectable difference")
    return [doc.ReportSection("Measures", (doc.Table(header, tuple(rows), frozenset({2, 3, 4, 5})), *strips))]


def _triaged(found: peers.FleetJudgement) -> list[doc.ReportSection]:
    sections = []
    if found.rare:
        few, many = ([one for one in found.rare if one.few is of_few] for of_few in (True, False))
        if many:
            sections.append(doc.ReportSection("Settings that hardly any node has", (_rare(many),)))
        if few:
            sections.append(doc.ReportSection(_FEW, (_rare(few),)))
    if found.findings:
        rows = [_found_row(one) for one in found.findings]
        table = doc.Table(("finding", "nodes", "on"), tuple(rows), frozenset({1}))
        sections.append(doc.ReportSection("Findings, the rarest first", (table,)))
    return sections


def _found_row(one: peers.FoundOn) -> tuple[doc.Cell, ...]:
    more = one.count - len(one.nodes)
    names = "" if one.count == one.of else folded(one.nodes) + (f" and {more} more" if more else "")
    return doc.Mono(one.finding), f"{one.count} of {one.of}", doc.Mono(names) if names else ""


def _rare(found: Sequence[peers.Rare]) -> doc.Table:
    rows: list[tuple[doc.Cell, ...]] = [
        (
            doc.Mono(_fact(one.subject, one.name)), doc.Mono(_value(one.value, one.usual)), doc.Mono(folded(one.nodes)),
            doc.Mono(_value(one.usual, one.value)), percent(one.share), doc.Mono(one.rule) if one.rule else "",
        )
        for one in found
    ]  # fmt: skip
    header = ("fact", "value", "nodes", "usual", "of all", "rule")
    return doc.Table(header, tuple(rows), frozenset({4})).without_empty_columns()


def _missing(missing: Sequence[peers.Missing]) -> list[doc.ReportSection]:
    if not missing:
        return []
    alike: dict[tuple[str, str, str], list[str]] = {}
    for one in missing:
        round_ = f"retest {one.round}" if one.round else ""
        alike.setdefault((state_words(one.state), round_, one.reason), []).append(one.node)
    rows = [(folded(nodes), str(len(nodes)), *why) for why, nodes in list(alike.items())[:_MOST_MISSING]]
    header = ("nodes", "count", "state", "round", "reason")
    parts: list[doc.Part] = [doc.Table(header, tuple(rows), frozenset({1})).without_empty_columns()]
    if len(alike) > _MOST_MISSING:
        parts.append(
            doc.paragraph_of(
                f"And {len(alike) - _MOST_MISSING} more reasons (--format ndjson lists all nodes)."
            )
        )
    return [doc.ReportSection("Nodes that did not answer", tuple(parts))]


def state_words(state: str) -> str:
    return _STATES.get(state, state.replace("_", " "))


def _groups(found: peers.FleetJudgement) -> list[doc.ReportSection]:
    items = []
    for group in found.groups:
        words = ", ".join(f"{kind} {which}" for kind, which in group.hardware) or "hardware not told"
        if group.named:
            why = f"no peers: fewer than {LEAST_PEERS} nodes of this hardware"
            unlike = ", ".join(f"{kind} {which}" for kind, which in group.unlike)
            words = f"{folded(group.named)}: {why}" + (f"; unlike the largest group: {unlike}" * bool(unlike))
        items.append((doc.Strong(counted(group.nodes, "node")), words))
    return (
        [doc.ReportSection("Groups of like hardware", (doc.Bullets(tuple(items)),), appendix=True)]
        if items
        else []
    )


def _method(found: peers.FleetJudgement) -> tuple[doc.Part, ...]:
    if not found.measures:
        return (doc.paragraph_of(SAYS.text("fleet-few", least=peers.LEAST_NODES)),)
    margin, cleared = found.margin, len({one.node for one in found.cleared})
    told = (
        SAYS.text("fleet-measured", drawn=DRAWN, least=LEAST_ROUNDS, most=MOST_ROUNDS, margin=margin),
        SAYS.text("fleet-settings"),
        SAYS.text("fleet-rounds", rounds=found.rounds, cleared=cleared),
    )
    return tuple(map(doc.paragraph_of, told))


def _fact(subject: str, name: str) -> str:
    return f"{subject} {name}".strip()


def _value(value: Json, beside: Json = None) -> str:
    """Of a line of words, such as the kernel's parameters, only those that the value beside it has not."""
    if value is None:
        return "(not there)"
    if isinstance(value, str) and isinstance(beside, str):
        others = beside.split()
        own = [word for word in value.split() if word not in others]
        if own and len(own) < len(value.split()):
            return _value(" ".join(own))
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return words if len(words) <= _VALUE else words[: _VALUE - 1] + "…"
