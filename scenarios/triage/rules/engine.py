"""Rules that are data, made into rules that triage can ask: each answers found, fine, not applicable or unknown."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import matches_glob
from hostdx.probes.reading.read_trace import ReadTrace
from hostdx.probes.system.software.distribution import read_distribution
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy, Severity
from hostdx.scenarios.contract.rule import FactUnreadable, HostRule, RuleInapplicable
from hostdx.scenarios.triage.knowledge.fault_lines import KERNEL, list_fault_lines
from hostdx.scenarios.triage.rules import services, settings
from hostdx.scenarios.triage.rules.expression import Value, parse_expression
from hostdx.scenarios.triage.rules.known import TABLES, load_written_rules
from hostdx.scenarios.triage.rules.read import ReadingText, last_kernel_log_line, read_value
from hostdx.scenarios.triage.rules.rule_file import Answer, RemedyAdvice, RuleText
from hostdx.scenarios.triage.rules.subjects.log import rows_of_log_lines, rows_of_unlisted_lines
from hostdx.scenarios.triage.rules.subjects.service_log import (
    fault_line_rows,
    rows_of_service_lines,
    rows_of_unlisted_service_lines,
)
from hostdx.scenarios.triage.rules.table import SubjectRow
from hostdx.scenarios.triage.rules.text_rows import rows_of_matches
from hostdx.scenarios.triage.rules.words import (
    SentenceTemplate,
    as_line_to_type,
    commands_for_rows,
    fill_line_for_each_value,
    fill_unquoted,
)

_PLACEHOLDER = re.compile(r"\{(\w+)\}")  # of a value of the row, in a path, a command or a pattern
MAX_SHOWN_ROWS = 8
MAX_SOURCES = 6
MAX_FILES_OF_A_VALUE = 3  # a value that comes from more is cited by the rule's own source
_ORDER: tuple[Severity, ...] = ("critical", "warning", "notice", "ok")


def host_rule_of(text: RuleText) -> HostRule:
    return HostRule(
        text.id, text.id.split(".", 1)[0], text.title, partial(check_rule, text), explanation_lines(text)
    )


def check_rule(text: RuleText, host: Host) -> Iterator[Finding]:
    """Raises FactUnreadable and RuleInapplicable, after what was found."""
    rows = rows_to_check(text, host)
    if isinstance(rows, Absent):
        raise FactUnreadable(rows.reason, rows.kind)
    groups: dict[tuple[Severity, str], list[SubjectRow]] = {}
    keys: set[str] = set()
    unknown: list[tuple[str, Absent]] = []
    is_applicable = False
    for row in rows:
        full = row_with_rule_values(text, host, row)
        answer, why = answer_and_reason_of(text, full)
        is_applicable = is_applicable or answer != "not applicable"
        if answer == "found":
            cause, repeats = _finding_it_follows_from(text, host, full)
            if repeats:
                continue
            groups.setdefault(("notice" if cause else severity_of(text, full), cause), []).append(full)
        elif answer == "unknown":
            unknown.append((row.subject, why))
    for (severity, cause), same in sorted(groups.items(), key=lambda group: _ORDER.index(group[0][0])):
        for together in [[row] for row in same] if text.singly else [same]:
            finding = rule_finding(text, host, severity, together, cause)
            if finding.key in keys:  # else it would take the place of the one before in the run
                finding = msgspec.structs.replace(finding, subject=finding.title)
            keys.add(finding.key)
            yield finding
    if unknown:
        raise FactUnreadable(_names_and_first_reason(unknown), unknown[0][1].kind)
    if not is_applicable:
        raise RuleInapplicable(text.otherwise or f"not on this host: {text.title}")


def _finding_it_follows_from(text: RuleText, host: Host, row: SubjectRow) -> tuple[str, bool]:
    """Return the title of the finding that this row follows from, and whether the row only repeats it.

    The title is empty without such a finding. A finding that is milder than this row is no cause of it.
    """
    severities = _ORDER[: 1 + min(_ORDER.index(severity_of(text, row)), 1)] if text.follows else ()
    for cause in text.follows:
        finding = _worst_finding(host, cause.rule) if parse_expression(cause.when)(row) is True else None
        if finding is not None and finding.severity in severities:
            return finding.title, cause.repeats
    return "", False


def _worst_finding(host: Host, rule_id: str) -> Finding | None:
    findings = host.compute_once(_new_finding_cache)
    if rule_id not in findings:
        findings[rule_id] = None  # while it is asked: two that name each other are no causes
        named = (rule for rule in load_written_rules().rules if rule.id == rule_id)
        with suppress(FactUnreadable, RuleInapplicable):
            findings[rule_id] = next(chain.from_iterable(check_rule(rule, host) for rule in named), None)
    return findings[rule_id]


def _new_finding_cache(_: Host) -> dict[str, Finding | None]:
    """By rule, its worst finding; filled as rules ask."""
    return {}


def rows_to_check(text: RuleText, host: Host) -> list[SubjectRow] | Absent:
    """Of a table, of the log, or of a path with wildcards: `name` is what stands for them, `mc0/dimm3`."""
    with ReadTrace() as trace:
        rows = _rule_rows(text, host)
    host.compute_once(_new_trace_cache)[text.each] = trace
    return rows


def _rule_rows(text: RuleText, host: Host) -> list[SubjectRow] | Absent:
    if text.rest and text.programs:
        return rows_of_unlisted_service_lines(host, load_written_rules().rules)
    if text.programs and not text.log:
        return fault_line_rows(host, load_written_rules().rules)
    if text.programs:
        return rows_of_service_lines(host, text)
    if text.log:
        return rows_of_log_lines(host, text.log, text.worse, text.log_words, text.settled, text.by_disk)
    if text.rest:
        rules = load_written_rules().rules
        listed = {rule.log: rule.log_words for rule in rules if rule.log and not rule.programs}
        counted: dict[str, Sequence[str]] = {}
        for rule in rules:
            patterns = {read.log: read.log_words for read in rule.read.values() if read.log}
            # by a rule that has something to look at here: else nobody speaks of them. A log always gives a row
            if patterns and (rule.log in listed or _rule_rows(rule, host)):
                counted |= patterns
        of_table = {
            line.pattern: line.pattern_words for line in list_fault_lines() if KERNEL in line.programs
        }
        return rows_of_unlisted_lines(host, listed | counted | of_table)
    if text.rows:
        return rows_of_matches(host, text.each, text.rows, text.command)
    if not text.each.startswith("/"):
        table = TABLES.get(text.each)
        return (
            host.compute_once(table)
            if table is not None
            else Absent(f"there is no table {text.each}", "invalid")
        )
    rows = []
    for pattern in text.each.split():
        asked = [n for n, part in enumerate(pattern.split("/")) if set(part) & set("*?[")]
        for path in host.glob_paths(pattern):
            parts = path.split("/")
            name = "/".join(parts[n] for n in asked)
            rows.append(SubjectRow(name, {"name": name, "path": path}, path))
    return rows


def row_with_rule_values(text: RuleText, host: Host, row: SubjectRow) -> SubjectRow:
    """With what the rule reads and names itself. A path that is read may hold what the rule names."""

    def value_of(reading: ReadingText) -> Value:
        if reading.last:
            return last_kernel_log_line(host, text.read[reading.last])
        return read_value(host, reading, row.folder, _texts_asked_for(reading, row))

    if text.read:
        columns = {name: partial(value_of, reading) for name, reading in text.read.items()}
        row = row.with_columns(columns)
    for name, words in text.let.items():
        row = row.with_columns({name: partial(parse_expression(words).value, row)})
    return row


def _texts_asked_for(reading: ReadingText, row: SubjectRow) -> dict[str, str]:
    """Return the values that the path, the command or the pattern asks for."""
    asked_names = _PLACEHOLDER.findall(" ".join((reading.path, *reading.command, reading.match)))
    return {name: str(row[name]) for name in asked_names if name in row and is_present(row[name])}


def answer_and_reason_of(text: RuleText, row: SubjectRow) -> tuple[Answer, Absent]:
    """With the reason where it is unknown or not applicable."""
    if text.where:
        about = parse_expression(text.where)(row)
        if isinstance(about, Absent):
            return "unknown", about
        if not about:
            return "not applicable", Absent(text.otherwise)
    wrong = parse_expression(text.when)(row)
    if isinstance(wrong, Absent):
        return "unknown", wrong
    return ("found" if wrong else "fine"), Absent("")


def severity_of(text: RuleText, row: SubjectRow) -> Severity:
    for severity, words in (("critical", text.critical), ("warning", text.warning)):
        if words and parse_expression(words)(row) is True:
            return severity  # type: ignore[return-value]
    return text.severity


def _shorten_list(names: Sequence[str]) -> str:
    """The first of them: who reads 88 names looks for the ninth in the tool that changes them."""
    return ", ".join(names[:MAX_SHOWN_ROWS]) + (", ..." if len(names) > MAX_SHOWN_ROWS else "")


def rule_finding(
    text: RuleText, host: Host, severity: Severity, rows: Sequence[SubjectRow], cause: str = ""
) -> Finding:
    """One finding, however many it is about: 119 disks are one line with a count.

    `cause`: the title of the finding that it follows from, whose remedy comes first.
    """
    rows = _without_repeated_sentences(text, rows)
    first = rows[0]
    evidence = list(evidence_of(text, host, rows[:MAX_SHOWN_ROWS]))
    subjects = tuple(row.subject for row in rows)
    if len(rows) > MAX_SHOWN_ROWS:
        rest = _shorten_list(subjects[MAX_SHOWN_ROWS:])
        sources = ", ".join(_sources_of(text, host, rows[MAX_SHOWN_ROWS], text.when)) or text.each
        evidence.append(Evidence(f"and {len(rows) - MAX_SHOWN_ROWS} more: {rest}", sources))
    if len(rows) == 1:
        title = SentenceTemplate(text.text).fill_sentence(first)
    else:
        template = text.many or "{count} times: " + text.text
        names = [row.subject for row in rows if row.subject]
        subject_names = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        title = SentenceTemplate(template).fill_sentence(
            first.with_columns({"count": len(rows), "subjects": subject_names})
        )
    why = SentenceTemplate(text.why).fill_sentence(first)
    return Finding(
        id=text.id,
        severity=severity,
        confidence=text.confidence,
        alike=why if text.singly else "",  # one rule may be about many faults: a table's rows
        subject=first.subject if len(rows) == 1 else "",
        subjects=subjects if len(rows) > 1 else (),
        title=title,
        evidence=(*evidence, Evidence(f"It follows from: {cause}" if cause else why)),
        remedy=(Remedy(title="See to its cause first; what stays after that has a cause of its own"),)
        if cause
        else rule_remedies(text, host, rows),
        references=text.references,
        prove=text.prove,
        prove_options=tuple(SentenceTemplate(word).fill_sentence(first) for word in text.prove_options),
        load=text.load,
    )


def _without_repeated_sentences(text: RuleText, rows: Sequence[SubjectRow]) -> list[SubjectRow]:
    """Of rows that say the same of one thing the first: a sosreport keeps one output under several names."""
    if len(rows) < 2 or not all(row.folder.startswith("/sos_commands/") for row in rows):
        return list(rows)
    sentence = SentenceTemplate(text.text)
    kept: dict[str, SubjectRow] = {}
    for row in rows:
        kept.setdefault(sentence.fill_sentence(row), row)
    return list(kept.values())


def evidence_of(text: RuleText, host: Host, rows: Sequence[SubjectRow]) -> Iterator[Evidence]:
    """Each line with the files of its own row that its values were read from; what two rows say alike is one line."""
    lines: dict[str, list[str]] = {}
    for template in text.evidence or (text.text,):
        words = SentenceTemplate(template)
        for row in rows:
            lines.setdefault(words.fill_clauses(row), []).extend(
                _sources_of(text, host, row, *words.expression_texts)
            )
    lines.pop("", None)  # all of it was left out, as nothing of it is known
    for line, sources in lines.items():
        yield Evidence(line, ", ".join(list(dict.fromkeys(sources))[:MAX_SOURCES]))


def _sources_of(text: RuleText, host: Host, row: SubjectRow, *expressions: str) -> list[str]:
    """Return what the values of these expressions were read from, of this row; what was not read is no source."""
    cited = SentenceTemplate(text.source).fill_sentence(row).split(", ") if text.source else []
    patterns = [
        pattern if pattern.startswith("/") else host.captured_output_path_or_command(pattern)
        for pattern in cited
    ]
    table = host.compute_once(_new_trace_cache).get(text.each, ReadTrace())
    places: list[str] = []
    for pattern in patterns:
        if "*" in pattern:
            places += [place for place in table if matches_glob(place, pattern)]
        elif pattern in table or host.resolve_path(pattern) in table:
            places.append(pattern)
    others: list[str] = []
    for name in dict.fromkeys(name for words in expressions for name in sorted(_needed_names(text, words))):
        of = text.read.get(name)
        if name in row and isinstance(value := row[name], Absent):
            if of is not None and of.path and value.kind == "unsupported" and value.source:
                places.append(value.source)  # the file was read, and does not say it
            continue
        place = of.source_path(row.folder, _texts_asked_for(of, row)) if of is not None else ""
        traced = row.value_sources(name)
        if {place, f"{place}/"} & {*traced}:
            places.append(place)
            continue
        files = _files_or_folders(traced)
        matching_files = [file for file in files if any(matches_glob(file, pattern) for pattern in patterns)]
        places += matching_files or (files if len(files) <= MAX_FILES_OF_A_VALUE else [])
        others += files
    return _shorten_sources(places, patterns) or _shorten_sources(
        [*_sources_of_row_in_table(table, row), *others], patterns
    )


def _shorten_sources(places: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Each once; of many that meet one pattern the pattern."""
    shown: list[str] = []
    for place in dict.fromkeys(places):
        pattern = next((p for p in patterns if "*" in p and matches_glob(place, p)), place)
        many = sum(matches_glob(other, pattern) for other in {*places}) > MAX_FILES_OF_A_VALUE
        shown.append(pattern if many else place)
    return list(dict.fromkeys(shown))[:MAX_SOURCES]


def _files_or_folders(places: Sequence[str]) -> list[str]:
    return [place for place in places if not place.endswith("/")] or [place.rstrip("/") for place in places]


def _sources_of_row_in_table(table: ReadTrace, row: SubjectRow) -> list[str]:
    """Of a table that read its rows' values together: what bears this row's name, or all where that is little."""
    read = _files_or_folders(list(table))
    name_pattern = re.compile(rf"(?<!\w){re.escape(row.subject)}(?!\w)")
    own = [place for place in read if row.subject and name_pattern.search(place)]
    chosen = own or read
    return chosen if len(chosen) <= MAX_SOURCES else []


def _new_trace_cache(_: Host) -> dict[str, ReadTrace]:
    """By table, what was read for it; filled as rules ask."""
    return {}


def _needed_names(text: RuleText, words: str) -> frozenset[str]:
    """Return what an expression asks for, with what is behind a `let`."""
    names = parse_expression(words).needed_names
    return names.union(*(_needed_names(text, text.let[name]) for name in names if name in text.let))


def rule_remedies(text: RuleText, host: Host, rows: Sequence[SubjectRow]) -> tuple[Remedy, ...]:
    """Each for all rows that it helps: one for those whose title is the same. What changes nothing here is left out."""
    all_remedies: list[Remedy] = []
    for advice in text.remedy:
        alike: dict[str, list[SubjectRow]] = {}
        for row in rows:
            if not advice.when or parse_expression(advice.when)(row) is True:
                alike.setdefault(SentenceTemplate(advice.title).fill_sentence(row), []).append(row)
        for title, those in alike.items():
            rule_remedy = make_remedy(host, advice, those, text.id, title)
            if rule_remedy.commands or rule_remedy.persistent or not (advice.commands or advice.set):
                all_remedies.append(rule_remedy)
    return tuple(all_remedies)


def make_remedy(
    host: Host, advice: RemedyAdvice, rows: Sequence[SubjectRow], rule: str, title: str
) -> Remedy:
    """As it is typed on this distribution, for all of these rows."""
    system = host.compute_once(read_distribution)
    own = advice.on.get(system.id) or advice.on.get(system.family, {}) if is_present(system) else {}
    wanted = _filled_settings(advice.set, rows)
    setting_lines = settings.commands_to_change_settings(host, wanted, rule.rpartition(".")[2])

    def command_lines(name: str, usual: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
        templates = own.get(name, usual)
        filled = (line for template in templates for line in commands_for_rows(template, rows))
        wanted_lines = (line for line in (*filled, *more) if line)
        return tuple(
            as_line_to_type(s) for line in wanted_lines for s in services.commands_that_work(host, line)
        )

    return Remedy(
        title=title,
        commands=command_lines("commands", advice.commands, setting_lines.commands),
        persistent=command_lines("persistent", advice.persistent, setting_lines.persistent),
        verify=command_lines("verify", advice.verify, setting_lines.verify),
        undo=command_lines("undo", advice.undo, setting_lines.undo),
        warning=advice.warning,
        no_command=advice.no_command,
        settings=_filled_settings(advice.switch, rows)
        if advice.commands
        else settings.settings_to_change(host, wanted),
    )


def _filled_settings(templates: Mapping[str, str], rows: Sequence[SubjectRow]) -> dict[str, str]:
    pairs = [
        (place, fill_unquoted(value, row))
        for row in rows
        for key, value in templates.items()
        for place in fill_line_for_each_value(key, row)
    ]
    return {key: value for key, value in pairs if key and value}


def _advice_commands(advice: RemedyAdvice) -> tuple[str, ...]:
    return (*advice.commands, *(f"{key} = {value}" for key, value in advice.set.items()))


def _names_and_first_reason(unknown: Sequence[tuple[str, Absent]]) -> str:
    subject, reason = unknown[0][0], unknown[0][1].reason
    if len(unknown) == 1:
        return reason if not subject or subject in reason else f"{subject}: {reason}"
    names = ", ".join(name for name, _ in unknown[:6] if name)
    more = f" and {len(unknown) - 6} more" if len(unknown) > 6 else ""
    return f"{names}{more}: {reason}" if names else reason


def explanation_lines(text: RuleText) -> tuple[str, ...]:
    """Return what `hostdx rules --explain` prints."""
    looks = [f"{name}: {item.source_words()}" for name, item in text.read.items()]
    severity = f"{text.severity}" + (f", warning if {text.warning}" if text.warning else "")
    severity += f", critical if {text.critical}" if text.critical else ""
    return tuple(
        f"{head:<11} {line}"
        for head, line in (
            ("looks at", text.each + (f" where {text.where}" if text.where else "")),
            *((("lines", text.log),) if text.log else ()),
            *((("rows", text.rows),) if text.rows else ()),
            *(("reads", line) for line in looks),
            *(("with", f"{name} = {words}") for name, words in text.let.items()),
            ("finds something if", text.when),
            ("severity", f"{severity}; confidence {text.confidence}"),
            *(("follows", f"{item.rule}, for rows where {item.when}") for item in text.follows),
            ("says", text.text),
            ("because", text.why),
            *(
                ("do", f"{item.title}: {'; '.join(_advice_commands(item))}".rstrip(": "))
                for item in text.remedy
            ),
            *(("verify", line) for item in text.remedy for line in item.verify),
            *(("reference", line) for line in text.references),
            *((("proof", f"hostdx run {text.prove}"),) if text.prove else ()),
        )
    )
