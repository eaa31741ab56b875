"""Rules that are data, made into rules that triage can ask: each answers found, fine, not applicable or unknown."""

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial

from probes.host import Host
from probes.read_trace import Trace, tracing
from probes.system.software.distribution import distribution
from probes.types import Absent, present
from scenarios.finding import Evidence, Finding, Remedy, Severity
from scenarios.rule import HostRule, Inapplicable, Unreadable
from scenarios.rules import services, settings
from scenarios.rules.expression import Value, expression
from scenarios.rules.known import written
from scenarios.rules.read import Read, last_line, read
from scenarios.rules.rule_file import Advice, Answer, RuleText
from scenarios.rules.subjects.log import lines_of, unlisted_lines
from scenarios.rules.table import SubjectRow
from scenarios.rules.tables import TABLES
from scenarios.rules.words import Words, for_all, plain, plain_each, typable

MAX_SHOWN_ROWS = 8
MAX_SOURCES = 6
MAX_FILES_OF_A_VALUE = 3  # a value that comes from more is cited by the rule's own source
_ORDER: tuple[Severity, ...] = ("critical", "warning", "notice", "ok")


def rule_of(text: RuleText) -> HostRule:
    return HostRule(text.id, text.id.split(".", 1)[0], text.title, partial(check, text), explanation(text))


def check(text: RuleText, host: Host) -> Iterator[Finding]:
    """Raises Unreadable and Inapplicable, after what was found."""
    rows = rows_of(text, host)
    if isinstance(rows, Absent):
        raise Unreadable(rows.reason)
    found: dict[Severity, list[SubjectRow]] = {}
    unknown: list[tuple[str, str]] = []
    seen = False
    for row in rows:
        full = completed(text, host, row)
        answer, reason = answer_of(text, full)
        seen = seen or answer != "not applicable"
        if answer == "found":
            found.setdefault(severity_of(text, full), []).append(full)
        elif answer == "unknown":
            unknown.append((row.subject, reason))
    for severity in (s for s in _ORDER if s in found):
        yield finding(text, host, severity, found[severity])
    if unknown:
        raise Unreadable(_unknown(unknown))
    if not seen:
        raise Inapplicable(text.otherwise or f"nothing here that {text.title} is about")


def rows_of(text: RuleText, host: Host) -> list[SubjectRow] | Absent:
    """Of a table, of the log, or of a path with wildcards: `name` is what stands for them, `mc0/dimm3`."""
    with tracing() as trace:
        rows = _rows(text, host)
    host.once(_traces)[text.each] = trace
    return rows


def _rows(text: RuleText, host: Host) -> list[SubjectRow] | Absent:
    if text.log:
        return lines_of(host, text.log, text.worse, text.log_words)
    if text.rest:
        rules = written().rules
        listed = {rule.log: rule.log_words for rule in rules if rule.log}
        counted = {read.log: read.log_words for rule in rules for read in rule.read.values() if read.log}
        return unlisted_lines(host, listed | counted)
    if not text.each.startswith("/"):
        table = TABLES.get(text.each)
        return host.once(table) if table is not None else Absent(f"there is no table {text.each}", "invalid")
    asked = [n for n, part in enumerate(text.each.split("/")) if set(part) & set("*?[")]
    rows = []
    for path in host.glob(text.each):
        parts = path.split("/")
        name = "/".join(parts[n] for n in asked)
        rows.append(SubjectRow(name, {"name": name, "path": path}, path))
    return rows


def completed(text: RuleText, host: Host, row: SubjectRow) -> SubjectRow:
    """With what the rule reads and names itself."""
    if text.read:
        columns: dict[str, Callable[[], Value]] = {
            name: partial(last_line, host, text.read[one.last])
            if one.last
            else partial(_read, host, one, row)
            for name, one in text.read.items()
        }
        row = row.extended(columns)
    for name, words in text.let.items():
        row = row.extended({name: partial(expression(words).value, row)})
    return row


def _read(host: Host, what: Read, row: SubjectRow) -> Value:
    return read(host, what, row.folder, _texts(what, row))


def _texts(what: Read, row: SubjectRow) -> dict[str, str]:
    return {name: str(row[name]) for name in row if f"{{{name}}}" in what.path + " ".join(what.command)}


def answer_of(text: RuleText, row: SubjectRow) -> tuple[Answer, str]:
    """With the reason where it is unknown."""
    if text.where:
        about = expression(text.where)(row)
        if isinstance(about, Absent):
            return "unknown", about.reason
        if not about:
            return "not applicable", text.otherwise
    wrong = expression(text.when)(row)
    if isinstance(wrong, Absent):
        return "unknown", wrong.reason
    return ("found" if wrong else "fine"), ""


def severity_of(text: RuleText, row: SubjectRow) -> Severity:
    for severity, words in (("critical", text.critical), ("warning", text.warning)):
        if words and expression(words)(row) is True:
            return severity  # type: ignore[return-value]
    return text.severity


def _listed(names: Sequence[str]) -> str:
    """The first of them: who reads 88 names looks for the ninth in the tool that changes them."""
    return ", ".join(names[:MAX_SHOWN_ROWS]) + (", ..." if len(names) > MAX_SHOWN_ROWS else "")


def finding(text: RuleText, host: Host, severity: Severity, rows: Sequence[SubjectRow]) -> Finding:
    """One finding, however many it is about: 119 disks are one line with a count."""
    first = rows[0]
    evidence = list(evidence_of(text, host, rows[:MAX_SHOWN_ROWS]))
    subjects = tuple(row.subject for row in rows)
    if len(rows) > MAX_SHOWN_ROWS:
        rest = _listed(subjects[MAX_SHOWN_ROWS:])
        sources = ", ".join(_sources(text, host, rows[MAX_SHOWN_ROWS], text.when)) or text.each
        evidence.append(Evidence(f"and {len(rows) - MAX_SHOWN_ROWS} more: {rest}", sources))
    if len(rows) == 1:
        title = Words(text.text).filled(first)
    else:
        template = text.many or "{count} times: " + text.text
        names = [row.subject for row in rows if row.subject]
        named = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        title = Words(template).filled(first.extended({"count": len(rows), "subjects": named}))
    return Finding(
        id=text.id,
        severity=severity,
        confidence=text.confidence,
        subject=first.subject if len(rows) == 1 else "",
        subjects=subjects if len(rows) > 1 else (),
        title=title,
        evidence=(*evidence, Evidence(text.why)),
        remedy=remedies(text, host, rows),
        references=text.references,
        prove=text.prove,
        prove_options=tuple(Words(word).filled(first) for word in text.prove_options),
    )


def evidence_of(text: RuleText, host: Host, rows: Sequence[SubjectRow]) -> Iterator[Evidence]:
    """Each line with the files of its own row that its values were read from; what two rows say alike is one line."""
    lines: dict[str, list[str]] = {}
    for template in text.evidence or (text.text,):
        words = Words(template)
        for row in rows:
            lines.setdefault(words.filled(row), []).extend(_sources(text, host, row, *words.names))
    lines.pop("", None)  # all of it was left out, as nothing of it is known
    for line, sources in lines.items():
        yield Evidence(line, ", ".join(list(dict.fromkeys(sources))[:MAX_SOURCES]))


def _sources(text: RuleText, host: Host, row: SubjectRow, *expressions: str) -> list[str]:
    """What the values of these expressions were read from, of this row; what was not read is no source."""
    cited = Words(text.source).filled(row).split(", ") if text.source else []
    patterns = [pattern if pattern.startswith("/") else host.output_of(pattern) for pattern in cited]
    table = host.once(_traces).get(text.each, Trace())
    places: list[str] = []
    for pattern in patterns:
        if "*" in pattern:
            places += [place for place in table if fnmatchcase(place, pattern)]
        elif pattern in table or host.real(pattern) in table:
            places.append(pattern)
    others: list[str] = []
    for name in dict.fromkeys(name for words in expressions for name in sorted(_names(text, words))):
        if name in row and isinstance(row[name], Absent):
            continue
        of = text.read.get(name)
        place = of.place(row.folder, _texts(of, row)) if of is not None else ""
        told = row.sources(name)
        if {place, f"{place}/"} & {*told}:
            places.append(place)
            continue
        files = _files(told)
        meant = [file for file in files if any(fnmatchcase(file, pattern) for pattern in patterns)]
        places += meant or (files if len(files) <= MAX_FILES_OF_A_VALUE else [])
        others += files
    return _few(places, patterns) or _few([*_of_table(table, row), *others], patterns)


def _few(places: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Each once; of many that meet one pattern the pattern."""
    shown: list[str] = []
    for place in dict.fromkeys(places):
        pattern = next((p for p in patterns if "*" in p and fnmatchcase(place, p)), place)
        many = sum(fnmatchcase(other, pattern) for other in {*places}) > MAX_FILES_OF_A_VALUE
        shown.append(pattern if many else place)
    return list(dict.fromkeys(shown))[:MAX_SOURCES]


def _files(told: Sequence[str]) -> list[str]:
    return [place for place in told if not place.endswith("/")] or [place.rstrip("/") for place in told]


def _of_table(table: Trace, row: SubjectRow) -> list[str]:
    """Of a table that read its rows' values together: what bears this row's name, or all where that is little."""
    read = _files(list(table))
    named = re.compile(rf"(?<!\w){re.escape(row.subject)}(?!\w)")
    own = [place for place in read if row.subject and named.search(place)]
    chosen = own or read
    return chosen if len(chosen) <= MAX_SOURCES else []


def _traces(_: Host) -> dict[str, Trace]:
    """By table, what was read for it; filled as rules ask."""
    return {}


def _names(text: RuleText, words: str) -> frozenset[str]:
    """What an expression asks for, with what is behind a `let`."""
    names = expression(words).names
    return names.union(*(_names(text, text.let[name]) for name in names if name in text.let))


def remedies(text: RuleText, host: Host, rows: Sequence[SubjectRow]) -> tuple[Remedy, ...]:
    """Each for all rows that it helps: one for those whose title is the same. What changes nothing here is left out."""
    made: list[Remedy] = []
    for advice in text.remedy:
        alike: dict[str, list[SubjectRow]] = {}
        for row in rows:
            if not advice.when or expression(advice.when)(row) is True:
                alike.setdefault(Words(advice.title).filled(row), []).append(row)
        for title, those in alike.items():
            one = remedy(host, advice, those, text.id, title)
            if one.commands or one.persistent or not (advice.commands or advice.set):
                made.append(one)
    return tuple(made)


def remedy(host: Host, one: Advice, rows: Sequence[SubjectRow], rule: str, title: str) -> Remedy:
    """As it is typed on this distribution, for all of these rows."""
    where = host.once(distribution)
    own = one.on.get(where.id) or one.on.get(where.family, {}) if present(where) else {}
    pairs = [
        (place, plain(value, row))
        for row in rows
        for key, value in one.set.items()
        for place in plain_each(key, row)
    ]
    made = settings.lines(host, {k: v for k, v in pairs if k and v}, rule.rpartition(".")[2])

    def lines(name: str, usual: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
        templates = own.get(name, usual)
        filled = (line for template in templates for line in for_all(template, rows))
        return tuple(typable(line) for line in (*filled, *more) if line and services.exist(host, line))

    return Remedy(
        title=title,
        commands=lines("commands", one.commands, made.commands),
        persistent=lines("persistent", one.persistent, made.persistent),
        verify=lines("verify", one.verify, made.verify),
        undo=lines("undo", one.undo, made.undo),
        warning=one.warning,
        no_command=one.no_command,
    )


def _done(one: Advice) -> tuple[str, ...]:
    return (*one.commands, *(f"{key} = {value}" for key, value in one.set.items()))


def _unknown(unknown: Sequence[tuple[str, str]]) -> str:
    subject, reason = unknown[0]
    if len(unknown) == 1:
        return reason if not subject or subject in reason else f"{subject}: {reason}"
    names = ", ".join(name for name, _ in unknown[:6] if name)
    more = f" and {len(unknown) - 6} more" if len(unknown) > 6 else ""
    return f"{names}{more}: {reason}" if names else reason


def explanation(text: RuleText) -> tuple[str, ...]:
    """What `hostdx rules --explain` prints."""
    looks = [f"{name}: {one.said()}" for name, one in text.read.items()]
    severity = f"{text.severity}" + (f", warning if {text.warning}" if text.warning else "")
    severity += f", critical if {text.critical}" if text.critical else ""
    return tuple(
        f"{head:<11} {line}"
        for head, line in (
            ("looks at", text.each + (f" where {text.where}" if text.where else "")),
            *((("lines", text.log),) if text.log else ()),
            *(("reads", line) for line in looks),
            *(("with", f"{name} = {words}") for name, words in text.let.items()),
            ("finds something if", text.when),
            ("severity", f"{severity}; confidence {text.confidence}"),
            ("says", text.text),
            ("because", text.why),
            *(("do", f"{one.title}: {'; '.join(_done(one))}".rstrip(": ")) for one in text.remedy),
            *(("verify", line) for one in text.remedy for line in one.verify),
            *(("reference", line) for line in text.references),
            *((("proof", f"hostdx run {text.prove}"),) if text.prove else ()),
        )
    )
