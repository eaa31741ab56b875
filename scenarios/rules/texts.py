"""What a scenario's findings say: `findings.toml` in its folder, its templates filled with what code computed.

`{name}` is a value as it is, `{name:percent}` one by `probes.units`, `{{name}}` stays `{name}`. In a command a value is
quoted unless it is `{name:raw}`, and several values make a line each. `[line.NAME]` is evidence or a part of a title.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from probes.units import Quantity
from scenarios.finding import Confidence, Evidence, Finding, Remedy, Severity
from scenarios.knowledge.load import read_tables
from scenarios.rules.words import FORMS, said, typable

_T = TypeVar("_T", bound=msgspec.Struct)
_HOLE = re.compile(r"\{\{\w+\}\}|\{(\w+)(?::([a-z]+))?\}")


class LineText(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    text: str
    source: str = ""

    def templates(self) -> Iterator[str]:
        yield from (self.text, self.source)


class RemedyText(Remedy, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As a remedy, of templates."""

    def templates(self) -> Iterator[str]:
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

    def templates(self) -> Iterator[str]:
        yield from (self.title, self.alike, self.advice, *self.prove_options)
        for line in self.evidence:
            yield from line.templates()


Entry = FindingText | RemedyText | LineText
_KINDS: dict[str, type[Entry]] = {"finding": FindingText, "remedy": RemedyText, "line": LineText}


class Texts:
    """One file's; read when the first text of it is needed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def entries(self) -> dict[tuple[str, str], Entry]:
        """By kind and name. Raises ValueError that names the file and the entry which is wrong."""
        found: dict[tuple[str, str], Entry] = {}
        for kind, named in read_tables(self.path).items():
            if kind not in _KINDS or not isinstance(named, dict):
                raise ValueError(f"{self.path}: {kind} is none of {', '.join(_KINDS)}")
            for name, entry in named.items():
                try:
                    found[kind, name] = msgspec.convert(entry, _KINDS[kind])
                except msgspec.ValidationError as error:
                    raise ValueError(f"{self.path}: {kind}.{name}: {error}") from None
        for (kind, name), made in found.items():
            if wrong := _fault(made, found):
                raise ValueError(f"{self.path}: {kind}.{name}: {wrong}")
        return found

    def asks(self, kind: str, name: str) -> frozenset[str]:
        """The fields that must be given for it."""
        made = self.entries[kind, name]
        own = {hole[1] for text in made.templates() for hole in _holes(text)}
        more = made.remedy if isinstance(made, FindingText) else ()
        return frozenset(own).union(*(self.asks("remedy", one) for one in more))

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
        """What is given comes before the file's own; of evidence, remedies and references it comes after them."""
        text = self._text(FindingText, "finding", name)
        fields["subject"] = subject
        advice = (Remedy(title=self._filled(text.advice, fields)),) if text.advice else ()
        return Finding(
            id=id or text.id or f"{self.path.parent.name}.{name}",
            severity=severity or text.severity,
            confidence=confidence or text.confidence,
            title=title or self._filled(text.title, fields),
            subject=subject,
            subjects=subjects,
            alike=alike or self._filled(text.alike, fields),
            evidence=(*(self._evidence(line, fields) for line in text.evidence), *evidence),
            remedy=(*advice, *(self._remedy(one, fields) for one in text.remedy), *remedy),
            references=(*text.references, *references),
            prove=text.proofs.get(proof, text.prove),
            prove_options=prove_options or tuple(self._filled(one, fields) for one in text.prove_options),
            answers=answers or text.answers,
        )

    def remedy(self, name: str, /, **fields: object) -> Remedy:
        return self._remedy(name, fields)

    def evidence(self, name: str, /, **fields: object) -> Evidence:
        return self._evidence(self._text(LineText, "line", name), fields)

    def text(self, name: str, /, **fields: object) -> str:
        return self._filled(self._text(LineText, "line", name).text, fields)

    def _text(self, kind: type[_T], table: str, name: str) -> _T:
        found = self.entries.get((table, name))
        if not isinstance(found, kind):
            raise KeyError(f"{self.path}: there is no {table}.{name}")
        return found

    def _remedy(self, name: str, fields: Mapping[str, object]) -> Remedy:
        text = self._text(RemedyText, "remedy", name)
        return Remedy(
            title=self._filled(text.title, fields),
            commands=self._lines(text.commands, fields),
            persistent=self._lines(text.persistent, fields),
            verify=self._lines(text.verify, fields),
            undo=self._lines(text.undo, fields),
            warning=self._filled(text.warning, fields),
        )

    def _evidence(self, line: LineText, fields: Mapping[str, object]) -> Evidence:
        return Evidence(self._filled(line.text, fields), self._filled(line.source, fields))

    def _lines(self, templates: Sequence[str], fields: Mapping[str, object]) -> tuple[str, ...]:
        made: list[str] = []
        for template in templates:
            names = [hole[1] for hole in _holes(template)]
            many = next((name for name in names if isinstance(fields.get(name), tuple)), "")
            values = fields[many] if many else ("",)
            assert isinstance(values, tuple)
            filled = (self._filled(template, {**fields, many: value}, quoted=True) for value in values)
            made += map(typable, filled)
        return tuple(made)

    def _filled(self, template: str, fields: Mapping[str, object], *, quoted: bool = False) -> str:
        def one(hole: re.Match[str]) -> str:
            if hole[1] is None:
                return hole[0][1:-1]
            if hole[1] not in fields:
                raise KeyError(f"{self.path}: no value for {hole[1]} in {template!r}")
            value, form = fields[hole[1]], hole[2] or ""
            if isinstance(value, Quantity):  # a pair of words, but not two values
                value = str(value)
            word = value if isinstance(value, str) else said(value, "" if form == "raw" else form)
            return shlex.quote(word) if quoted and form != "raw" else word

        return _HOLE.sub(one, template)


def _holes(template: str) -> Iterator[re.Match[str]]:
    return (hole for hole in _HOLE.finditer(template) if hole[1] is not None)


def _fault(made: Entry, found: Mapping[tuple[str, str], Entry]) -> str:
    for hole in (hole for text in made.templates() for hole in _holes(text)):
        if hole[2] not in (None, "raw", *FORMS):
            return f"{hole[2]} is no form"
    if isinstance(made, RemedyText):
        for line in (*made.commands, *made.persistent, *made.verify, *made.undo):
            for hole in _holes(line):
                if hole[2] != "raw" and line[: hole.start()].count("'") % 2:
                    return f"{hole[0]} is quoted already in {line!r}"
    missing = (
        [one for one in made.remedy if ("remedy", one) not in found] if isinstance(made, FindingText) else []
    )
    return f"there is no remedy.{missing[0]}" if missing else ""


@cache
def texts(folder: str) -> Texts:
    """The one of a scenario's folder."""
    return Texts(Path(__file__).parents[1] / folder / "findings.toml")
