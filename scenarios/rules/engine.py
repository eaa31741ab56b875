"""Rules that are data, made into rules that triage can ask: each answers found, fine, not applicable or unknown."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from probes.host import Host
from probes.system.software.distribution import distribution
from probes.types import Absent, present
from scenarios.finding import Evidence, Finding, Remedy, Severity
from scenarios.rule import Inapplicable, Rule, Unreadable
from scenarios.rules import settings
from scenarios.rules.expression import Value, expression
from scenarios.rules.known import written
from scenarios.rules.read import Read, last_line, read
from scenarios.rules.rule_file import Advice, Answer, RuleText
from scenarios.rules.subjects.log import lines_of
from scenarios.rules.table import SubjectRow
from scenarios.rules.tables import TABLES
from scenarios.rules.words import Words, plain, typable, typed

MOST_SHOWN = 8
MOST_SOURCES = 3
_ORDER: tuple[Severity, ...] = ("critical", "warning", "notice", "ok")


def rule_of(text: RuleText) -> Rule:
    return Rule(text.id, text.id.split(".", 1)[0], text.title, partial(check, text), explanation(text))


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
    if text.log:
        others = (rule.log for rule in written().rules if rule.log and not rule.rest) if text.rest else ()
        return lines_of(host, text.log, text.worse, tuple(others))
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
            name: partial(last_line, host, text.read[one.last].log)
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
    return ", ".join(names[:MOST_SHOWN]) + (", ..." if len(names) > MOST_SHOWN else "")


def finding(text: RuleText, host: Host, severity: Severity, rows: Sequence[SubjectRow]) -> Finding:
    """One finding, however many it is about: 119 disks are one line with a count."""
    first = rows[0]
    shown = rows[:MOST_SHOWN] if len(rows) > 1 else rows
    source = ", ".join(_sources(text, host, first))
    evidence = [Evidence(line, source) for line in _evidence(text, shown)]
    subjects = tuple(row.subject for row in rows)
    if len(rows) > MOST_SHOWN:
        evidence.append(Evidence(f"and {len(rows) - MOST_SHOWN} more: {_listed(subjects[MOST_SHOWN:])}"))
    if len(rows) == 1:
        title = Words(text.text).filled(first)
    else:
        template = text.many or "{count} times: " + text.text
        named = ", ".join(subjects[:3]) + (", ..." if len(subjects) > 3 else "")
        title = Words(template).filled(first.extended({"count": len(rows), "subjects": named}))
    return Finding(
        id=text.id,
        severity=severity,
        confidence=text.confidence,
        subject=first.subject if len(rows) == 1 else "",
        subjects=subjects if len(rows) > 1 else (),
        title=title,
        evidence=(*evidence, Evidence(text.why)),
        remedy=tuple(remedy(host, one, first, text.id) for one in text.remedy),
        references=text.references,
        prove=text.prove,
        prove_options=tuple(Words(word).filled(first) for word in text.prove_options),
    )


def _evidence(text: RuleText, rows: Sequence[SubjectRow]) -> Iterator[str]:
    seen: set[str] = set()
    for template in text.evidence or (text.text,):
        words = Words(template)
        for row in rows:
            line = words.filled(row)
            if line not in seen:
                seen.add(line)
                yield line


def _sources(text: RuleText, host: Host, row: SubjectRow) -> list[str]:
    """The files and commands that the answer was read from: of those that a rule may read, not each is there."""
    asked = _names(text, text.when)
    told: list[str] = []
    silent: set[str] = set()
    for name, one in text.read.items():
        if name in asked and (place := one.place(row.folder, _texts(one, row))):
            if isinstance(row[name], Absent):
                silent.add(place)
            else:
                told.append(place)
    own = Words(text.source).filled(row) if text.source else ""
    also = [own] if own and (own in told or own not in silent) else []
    return list(dict.fromkeys((*also, *told)))[:MOST_SOURCES]


def _names(text: RuleText, words: str) -> frozenset[str]:
    """What an expression asks for, with what is behind a `let`."""
    names = expression(words).names
    return names.union(*(_names(text, text.let[name]) for name in names if name in text.let))


def remedy(host: Host, one: Advice, row: SubjectRow, rule: str) -> Remedy:
    """As it is typed on this distribution."""
    where = host.once(distribution)
    own = one.on.get(where.id) or one.on.get(where.family, {}) if present(where) else {}
    wanted = {plain(key, row): plain(value, row) for key, value in one.set.items()}
    made = settings.lines(host, {k: v for k, v in wanted.items() if k and v}, rule.rpartition(".")[2])

    def lines(name: str, usual: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
        filled = (typed(line, row) for line in own.get(name, usual))
        return tuple(typable(line) for line in (*filled, *more) if line)

    return Remedy(
        title=Words(one.title).filled(row),
        commands=lines("commands", one.commands, made.commands),
        persistent=lines("persistent", one.persistent, made.persistent),
        verify=lines("verify", one.verify, () if one.verify else made.verify),
        undo=lines("undo", one.undo, made.undo),
        warning=one.warning,
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
