"""A file of rules: TOML with one `[[rule]]` for each. A rule that is wrong is named with its line and left out."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from hostdx.probes.files.safe_read import FileTooLarge, read_regular, read_trusted_file
from hostdx.probes.reading.parsed_toml import parse_toml
from hostdx.probes.reading.patterns import add_needed_words
from hostdx.probes.types import Json
from hostdx.scenarios.contract.finding import Confidence, Severity
from hostdx.scenarios.triage.rules.expression import InvalidExpression, parse_expression
from hostdx.scenarios.triage.rules.read import ReadingText
from hostdx.scenarios.triage.rules.words import SentenceTemplate

MAX_RULE_FILE_BYTES = 1 << 20
Answer = Literal["found", "fine", "not applicable", "unknown"]


class RemedyAdvice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to do. `on` takes the place of `commands` and `persistent` on these distributions: debian, redhat, suse …

    `set`: sysctls and files below /sys with the values they should have: their commands, and how to take them back, are
    made from it and from what is read. `switch`: settings of `hostdx prove` that `commands` set.
    `when`: the rows that it helps; without one it is for all of them. `no_command`: why nothing can be typed, where
    that is so.
    """

    title: str
    when: str = ""
    set: dict[str, str] = {}
    switch: dict[str, str] = {}
    commands: tuple[str, ...] = ()
    persistent: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    warning: str = ""
    no_command: str = ""
    on: dict[str, dict[str, tuple[str, ...]]] = {}


class Cause(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a finding may follow from: the `rule` that finds it on this host; `when`: the rows that it explains.

    `repeats`: these rows say the same once more, and are left out.
    """

    rule: str
    when: str = "True"
    repeats: bool = False


class TestRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The answer that a row of these values must get. Values that are not given are unknown."""

    __test__ = False  # none of pytest's classes
    answer: Answer = msgspec.field(name="is")
    row: dict[str, Json] = {}


def _computed_part_in_braces(line: str) -> str:
    """Return what stands in braces and is worked out, which is nothing that a shell knows: `chunk // 512`."""
    for match in re.finditer(r"(?<!\$)\{([^{}]*)\}", line):
        part = str(match[1])
        try:
            tree = ast.parse(part.partition(":")[0].strip(), mode="eval").body
        except SyntaxError:
            continue
        if isinstance(tree, ast.BinOp | ast.Call | ast.IfExp | ast.Compare | ast.BoolOp):
            return part
    return ""


class RuleText(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One rule as it is written.

    `each`: a table (`hostdx rules --tables`) or a path with `*`; every row of it that meets `where` is looked at.
    `when` is true where something is wrong. `warning` and `critical` raise the severity where they are true.
    `load`: the load of `hostdx prove` under which the remedy's settings are tried.
    `text` is the finding of one row, `many` that of several. `why`: the mechanism and what it costs at most.
    Of `each = "log"` the rows are the devices that the lines name which meet `log`; `worse` meets the worst of them;
    a later line of the same device that meets `settled` says that it is over (column `over`); with `by_disk` the port,
    the partitions and the other names of one disk are one row;
    with `programs` the lines are those of these daemons, in the system's log and in `files` of the first, a row each;
    with `rest` of all lines that no other rule speaks of and that are not harmless (knowledge/kernel_lines.toml).
    `singly`: each row is a finding of its own.
    `follows`: where one of these rules finds something loud, the rows that it explains are a notice which names it.
    `rows`: of the files of `each`, or of what `command` prints, each match is a row; its named groups are columns.
    """

    id: str
    title: str
    each: str
    when: str
    text: str
    why: str
    rows: str = ""
    command: tuple[str, ...] = ()
    log: str = ""
    log_words: tuple[str, ...] = ()  # worked out: probes/reading/patterns.py
    singly: bool = False
    programs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    worse: str = ""
    settled: str = ""
    by_disk: bool = False
    rest: bool = False
    where: str = ""
    otherwise: str = ""
    read: dict[str, ReadingText] = {}
    let: dict[str, str] = {}
    severity: Severity = "notice"
    warning: str = ""
    critical: str = ""
    confidence: Confidence = "rule"
    many: str = ""
    evidence: tuple[str, ...] = ()
    source: str = ""
    follows: tuple[Cause, ...] = ()
    remedy: tuple[RemedyAdvice, ...] = ()
    references: tuple[str, ...] = ()
    prove: str = ""
    prove_options: tuple[str, ...] = ()
    load: str = ""
    tests: tuple[TestRow, ...] = ()

    def _lines_to_type(self) -> Iterator[str]:
        for item in self.remedy:
            yield from (*item.commands, *item.persistent, *item.verify, *item.undo)
            yield from (word for pair in (item.set | item.switch).items() for word in pair)

    def find_problem(self) -> str:
        """Return what is wrong with it, in one line; empty where nothing is."""
        if not re.fullmatch(r"[a-z][a-z0-9]*\.[a-z0-9][a-z0-9.-]*", self.id):
            return f"id {self.id!r} is not of the form subject.name"
        try:
            advised = (*(item.when for item in self.remedy), *(item.when for item in self.follows))
            for text in (self.when, self.where, self.warning, self.critical, *self.let.values(), *advised):
                if text:
                    parse_expression(text)
            for template in (
                self.text,
                self.many,
                self.source,
                self.why,
                *self.evidence,
                *(item.title for item in self.remedy),
                *(word for item in self.remedy for pair in (item.set | item.switch).items() for word in pair),
            ):
                SentenceTemplate(template)
        except InvalidExpression as error:
            return str(error)
        if unfilled := next(filter(None, map(_computed_part_in_braces, self._lines_to_type())), ""):
            return f"{{{unfilled}}}: a command is filled with names only; give it a name by `let`"
        plain_texts = (
            self.title,
            self.otherwise,
            *(w for a in self.remedy for w in (a.warning, a.no_command)),
        )
        if unfilled := next((line for line in plain_texts if "{" in line), ""):
            return f"{unfilled!r} is shown as it is written: nothing in braces is filled there"
        if (bool(self.log) or self.rest) != (self.each == "log"):
            return 'each = "log" and a pattern `log`, or `rest`, belong together'
        if (self.rows and not self.each.startswith("/")) or (self.command and not self.rows):
            return "`rows` cuts files of a path, and `command` belongs to `rows`"
        try:
            re.compile(self.rows)
            re.compile(self.log)
            re.compile(self.worse)
            re.compile(self.settled)
        except re.error as error:
            return f"log or rows: {error}"
        for name, item in self.read.items():
            if sum(map(bool, (item.path, item.command, item.log, item.last, item.service))) != 1:
                return f"read.{name} needs a path, a command, a service, a pattern of the log, or whose last line"
            if item.last and not (item.last in self.read and self.read[item.last].log):
                return f"read.{name}: {item.last} is no read with a log"
            try:
                re.compile(item.match)
                re.compile(item.log)
            except re.error as error:
                return f"read.{name}.match: {error}"
        return ""


class RuleFile(msgspec.Struct, frozen=True):
    """The good rules of a file, and a line for each that is not: `FILE:LINE: what is wrong`."""

    rules: tuple[RuleText, ...]
    problems: tuple[str, ...] = ()


def _drop_tests_and_add_words(parsed: dict[str, Json]) -> None:
    """Remove the tests' rows, half of a file; add the words that the log must have for a rule to match."""
    rules = parsed.get("rule")
    for entry in rules if isinstance(rules, list) else ():
        if isinstance(entry, dict):
            entry.pop("tests", None)
    add_needed_words(parsed)


def _line_of_rule(data: bytes, number: int) -> int:
    """Return the line on which the rule of this number (from 0) begins; 1 where it is written in another way."""
    heads = [n for n, line in enumerate(data.splitlines(), 1) if re.match(rb"\s*\[\[\s*rule\s*\]\]", line)]
    return heads[number] if number < len(heads) else 1


def parse_rule_file(path: Path, *, tested: bool = False) -> RuleFile:
    """Never raises: a file that cannot be read or is no TOML is one problem.

    `tested`: one of our own. Its rows, half of its text, are for the tests that have found it right.
    """
    try:
        data = (
            read_regular(str(path), MAX_RULE_FILE_BYTES)
            if tested
            else read_trusted_file(path, MAX_RULE_FILE_BYTES)
        )
        parsed = parse_toml(path, data, _drop_tests_and_add_words) if tested else tomllib.loads(data.decode())
        entries = parsed.get("rule", [])
    except FileTooLarge:
        return RuleFile((), (f"{path}:1: longer than {MAX_RULE_FILE_BYTES} bytes",))
    except OSError as error:
        return RuleFile((), (f"{path}: {error.strerror}",))
    except UnicodeDecodeError as error:
        return RuleFile((), (f"{path}:{data[: error.start].count(10) + 1}: not UTF-8",))
    except (ValueError, RecursionError) as error:  # tomllib's own, and int()'s of thousands of digits
        line_number = re.search(r"at line (\d+)", str(error))
        return RuleFile((), (f"{path}:{line_number[1] if line_number else 1}: {error}",))
    if not isinstance(entries, list):
        return RuleFile((), (f"{path}:1: rule must be an array of tables, [[rule]]",))
    good: list[RuleText] = []
    problems: list[str] = []
    for number, entry in enumerate(entries):
        try:
            rule = msgspec.convert(entry, RuleText)
            wrong = "" if tested else rule.find_problem()
        except (msgspec.ValidationError, RecursionError) as error:
            rule, wrong = None, str(error)
        if rule is None or wrong:
            problems.append(f"{path}:{_line_of_rule(data, number)}: {wrong}")
        else:
            good.append(rule)
    return RuleFile(tuple(good), tuple(problems))
