"""What a scenario's findings say: `findings.toml` in its folder, its templates filled with what code computed.

`{name}` is a value as it is, `{name:percent}` one by `hostdx.probes.units`, `{{name}}` stays `{name}`. In a command
a value is quoted unless it is `{name:raw}`, and several values make a line each. `[line.NAME]` is evidence or a part
of a title.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from hostdx.probes.units import DisplayQuantity
from hostdx.scenarios.contract.finding import Confidence, Evidence, Finding, Remedy, Severity
from hostdx.scenarios.contract.folders import SCENARIOS
from hostdx.scenarios.contract.knowledge_file import read_toml_tables
from hostdx.scenarios.triage.rules.words import FORMS, as_line_to_type, value_text

_T = TypeVar("_T", bound=msgspec.Struct)
_HOLE = re.compile(r"\{\{\w+\}\}|\{(\w+)(?::([a-z]+))?\}")


class LineText(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    text: str
    source: str = ""

    def all_templates(self) -> Iterator[str]:
        yield from (self.text, self.source)


class RemedyText(Remedy, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As a remedy, of templates."""

    def all_templates(self) -> Iterator[str]:
        yield from (self.title, self.warning, *self.commands, *self.persistent, *self.verify, *self.undo)


class FindingText(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`remedy` names entries of the same file, filled with the same values; `advice` is one of words alone.

    `id`: where it is not FOLDER.KEY. `proofs`: in place of `prove`, where it depends on the case which code names.
    """

    title: str
    id: str = ""
    severity: Severity = "notice"
    confidence: Confidence = "rule"
    alike: str = ""
    evidence: tuple[LineText, ...] = ()
    remedy: tuple[str, ...] = ()
    advice: str = ""
    references: tuple[str, ...] = ()
    prove: str = ""
    proofs: dict[str, str] = {}
    prove_options: tuple[str, ...] = ()
    answers: bool = False

    def all_templates(self) -> Iterator[str]:
        yield from (self.title, self.alike, self.advice, *self.prove_options)
        for line in self.evidence:
            yield from line.all_templates()


Entry = FindingText | RemedyText | LineText
_KINDS: dict[str, type[Entry]] = {"finding": FindingText, "remedy": RemedyText, "line": LineText}


class FindingTexts:
    """One file's; read when the first text of it is needed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def all_entries(self) -> dict[tuple[str, str], Entry]:
        """By kind and name. Raises ValueError that names the file and the entry which is wrong."""
        converted: dict[tuple[str, str], Entry] = {}
        for kind, entries_by_name in read_toml_tables(self.path).items():
            if kind not in _KINDS or not isinstance(entries_by_name, dict):
                raise ValueError(f"{self.path}: {kind} is none of {', '.join(_KINDS)}")
            for name, entry in entries_by_name.items():
                try:
                    converted[kind, name] = msgspec.convert(entry, _KINDS[kind])
                except msgspec.ValidationError as error:
                    raise ValueError(f"{self.path}: {kind}.{name}: {error}") from None
        for (kind, name), text_entry in converted.items():
            if wrong := _find_template_fault(text_entry, converted):
                raise ValueError(f"{self.path}: {kind}.{name}: {wrong}")
        return converted

    def required_fields(self, kind: str, name: str) -> frozenset[str]:
        """The fields that must be given for it."""
        text_entry = self.all_entries[kind, name]
        own = {hole[1] for text in text_entry.all_templates() for hole in _template_holes(text)}
        more = text_entry.remedy if isinstance(text_entry, FindingText) else ()
        return frozenset(own).union(*(self.required_fields("remedy", remedy_name) for remedy_name in more))

    def finding(
        self,
        name: str,
        /,
        *,
        id: str = "",
        severity: Severity | None = None,
        confidence: Confidence | None = None,
        title: str = "",
        subject: str = "",
        subjects: tuple[str, ...] = (),
        alike: str = "",
        evidence: Sequence[Evidence] = (),
        remedy: Sequence[Remedy] = (),
        references: Sequence[str] = (),
        proof: str = "",
        prove_options: tuple[str, ...] = (),
        answers: bool = False,
        **fields: object,
    ) -> Finding:
        """Put the given values before the file's own; evidence, remedies and references come after them."""
        text = self._entry_of_kind(FindingText, "finding", name)
        fields["subject"] = subject
        advice = (Remedy(title=self._fill_template(text.advice, fields)),) if text.advice else ()
        return Finding(
            id=id or text.id or f"{self.path.parent.name}.{name}",
            severity=severity or text.severity,
            confidence=confidence or text.confidence,
            title=title or self._fill_template(text.title, fields),
            subject=subject,
            subjects=subjects,
            alike=alike or self._fill_template(text.alike, fields),
            evidence=(*(self._fill_evidence(line, fields) for line in text.evidence), *evidence),
            remedy=(*advice, *(self._fill_remedy(template, fields) for template in text.remedy), *remedy),
            references=(*text.references, *references),
            prove=text.proofs.get(proof, text.prove),
            prove_options=prove_options
            or tuple(self._fill_template(template, fields) for template in text.prove_options),
            answers=answers or text.answers,
        )

    def remedy(self, name: str, /, **fields: object) -> Remedy:
        return self._fill_remedy(name, fields)

    def evidence(self, name: str, /, **fields: object) -> Evidence:
        return self._fill_evidence(self._entry_of_kind(LineText, "line", name), fields)

    def text(self, name: str, /, **fields: object) -> str:
        return self._fill_template(self._entry_of_kind(LineText, "line", name).text, fields)

    def _entry_of_kind(self, kind: type[_T], table: str, name: str) -> _T:
        text_entry = self.all_entries.get((table, name))
        if not isinstance(text_entry, kind):
            raise KeyError(f"{self.path}: there is no {table}.{name}")
        return text_entry

    def _fill_remedy(self, name: str, fields: Mapping[str, object]) -> Remedy:
        text = self._entry_of_kind(RemedyText, "remedy", name)
        return Remedy(
            title=self._fill_template(text.title, fields),
            commands=self._fill_lines(text.commands, fields),
            persistent=self._fill_lines(text.persistent, fields),
            verify=self._fill_lines(text.verify, fields),
            undo=self._fill_lines(text.undo, fields),
            warning=self._fill_template(text.warning, fields),
        )

    def _fill_evidence(self, line: LineText, fields: Mapping[str, object]) -> Evidence:
        return Evidence(self._fill_template(line.text, fields), self._fill_template(line.source, fields))

    def _fill_lines(self, templates: Sequence[str], fields: Mapping[str, object]) -> tuple[str, ...]:
        filled_lines: list[str] = []
        for template in templates:
            names = [hole[1] for hole in _template_holes(template)]
            many = next((name for name in names if isinstance(fields.get(name), tuple)), "")
            values = fields[many] if many else ("",)
            assert isinstance(values, tuple)
            filled = (self._fill_template(template, {**fields, many: value}, quoted=True) for value in values)
            filled_lines += map(as_line_to_type, filled)
        return tuple(filled_lines)

    def _fill_template(self, template: str, fields: Mapping[str, object], *, quoted: bool = False) -> str:
        def fill_hole(hole: re.Match[str]) -> str:
            if hole[1] is None:
                return hole[0][1:-1]
            if hole[1] not in fields:
                raise KeyError(f"{self.path}: no value for {hole[1]} in {template!r}")
            value, form = fields[hole[1]], hole[2] or ""
            if isinstance(value, DisplayQuantity):  # a pair of words, but not two values
                value = str(value)
            word = value if isinstance(value, str) else value_text(value, "" if form == "raw" else form)
            return shlex.quote(word) if quoted and form != "raw" else word

        return _HOLE.sub(fill_hole, template)


def _template_holes(template: str) -> Iterator[re.Match[str]]:
    return (hole for hole in _HOLE.finditer(template) if hole[1] is not None)


def _find_template_fault(text_entry: Entry, all_entries: Mapping[tuple[str, str], Entry]) -> str:
    for hole in (hole for text in text_entry.all_templates() for hole in _template_holes(text)):
        if hole[2] not in (None, "raw", *FORMS):
            return f"{hole[2]} is no form"
    lines: tuple[str, ...] = ()  # of a shell, which has braces of its own
    if isinstance(text_entry, RemedyText):
        lines = (*text_entry.commands, *text_entry.persistent, *text_entry.verify, *text_entry.undo)
        for line in lines:
            for hole in _template_holes(line):
                if hole[2] != "raw" and line[: hole.start()].count("'") % 2:
                    return f"{hole[0]} is quoted already in {line!r}"
    for sentence in (text for text in text_entry.all_templates() if text not in lines):
        if set("{}") & set(_HOLE.sub("", sentence)):
            return f"a brace that no value fills in {sentence!r}"
    missing = (
        [remedy_name for remedy_name in text_entry.remedy if ("remedy", remedy_name) not in all_entries]
        if isinstance(text_entry, FindingText)
        else []
    )
    return f"there is no remedy.{missing[0]}" if missing else ""


@cache
def finding_texts(folder: str) -> FindingTexts:
    """Return the texts of a feature's folder, such as `storage` or `triage/host`."""
    return FindingTexts(SCENARIOS / folder / "findings.toml")
