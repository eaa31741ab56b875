"""One reader for all line-oriented formats: what each line of a tool's output means is data, `formats/NAME.toml`.

A line is taken by the first rule whose pattern matches. The pattern's groups become names; figures, conditions and
facts are named groups, and texts such as a load's name are templates over the names: `{size:bytes}`, `{test:lower}`,
`{nodes:count}`, `{copies:copy|copies}`. A rule that `begins` opens a new block: a run, a table, a stressor. Names and
conditions of a block hold for all its figures, wherever they stand in it.
"""

import ast
import math
import operator
import re
from bisect import bisect_right
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import chain
from statistics import median
from typing import Literal, NamedTuple

import msgspec

from hostdx.probes import units
from hostdx.probes.imports.accounting import UNKNOWN_REASON
from hostdx.probes.imports.dates import date_to_iso, epoch_to_iso
from hostdx.probes.imports.formats import RecognisedFormat, load_format_toml
from hostdx.probes.imports.model import (
    Better,
    Contradiction,
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    ImportTrouble,
    Noted,
    Of,
    OmittedFields,
    compare_claim,
    join_repetitions_or_number_runs,
)
from hostdx.probes.imports.numbers import geometric_mean, parse_number
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.types import Json

_MAX_BLOCKS = 10_000
_MAX_FIGURES = 20_000
_MAX_NAMES = 300
_MAX_LENGTH = 200  # of a name's text


class FigureRule(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A figure. `seconds` names the group that has how long it ran; `when`: names that must have these texts."""

    metric: str
    workload: str = ""  # "": the format's
    unit: str = ""
    factor: float = 1.0
    better: Better = "more"
    of: Of = "mean"
    judged: bool = True
    seconds: str = ""
    when: dict[str, str] = {}


class FactRule(msgspec.Struct, frozen=True):
    """`value`: a template; "": the group's own text."""

    name: str
    value: str = ""
    unit: str = ""
    subject: str = ""


class ClaimCheck(msgspec.Struct, frozen=True):
    """A claim against the formula of its parts, made where a line has the group `at`. All are arithmetic over names."""

    id: str
    at: str
    subject: str
    claimed: str
    formula: str
    rule: str
    unit: str = ""
    slack: str = "0.01"
    absolute: float = 0.0
    when: str = "1"


class LineRule(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", dict=True):
    """What a line means. Conditions of a rule with figures are of these figures alone, others of the block.

    `heading`: how the group `columns` is split into the names of a table; `first`: what a row's first fields are.
    `conditions`: by group, or by a template of several, the condition's name. `pairs`: a pattern with a name and a
    value, conditions by their own names. `invalid`: why the figures before are invalid: of the last row, of the block
    or of the file. `when`: names that must have these texts for the rule to hold. `ends_table`: no row of the table
    follows. `lasting`: its conditions hold for all blocks that begin after it. `counts`: a name that says how many such
    lines the block has.
    """

    match: str
    begins: bool = False
    heading: str = ""
    first: tuple[str, ...] | None = None
    values: dict[str, FigureRule] = {}
    conditions: dict[str, str] = {}
    facts: dict[str, FactRule] = {}
    sets: dict[str, str] = {}
    when: dict[str, str] = {}
    ends_table: bool = False
    lasting: bool = False
    counts: str = ""
    pairs: str = ""
    invalid: str = ""
    invalidates: Literal["row", "block", "file"] = "row"
    trouble: str = ""
    subject: str = ""
    said: str = ""

    @cached_property
    def compiled_pattern(self) -> re.Pattern[str]:
        return re.compile(self.match, re.ASCII)


class ColumnRule(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A table's column by its heading: a figure, a condition of the row's figures (and a name; `without` these words),
    a word that makes the row invalid, or left out with a reason.
    """

    match: str
    values: tuple[FigureRule, ...] = ()
    condition: str = ""
    without: tuple[str, ...] = ()
    invalid_if: str = ""
    invalid: str = ""
    left_out: str = ""


class DerivedFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that follows from the names of a block, where the block has none of the metrics `unless`."""

    metric: str
    unit: str
    formula: str
    seconds: str = ""
    unless: tuple[str, ...] = ()


class ExpectedLine(msgspec.Struct, frozen=True):
    """A line that a good run has: without it the trouble is told."""

    match: str
    trouble: str


class LineFormat(RecognisedFormat, frozen=True, kw_only=True):
    """`repeated`: what the same figure once more is: its repetition, a newer one, or another. `several`: a prefix where
    several blocks have figures.
    """

    kind: str
    tool: str
    nothing: tuple[str, str]
    workload: str = ""
    names: dict[str, str] = {}  # that hold where the file tells no others
    repeated: Literal["median", "last", "apart"] = "apart"
    several: str = ""
    unfinished: str = ""
    line: tuple[LineRule, ...] = ()
    column: tuple[ColumnRule, ...] = ()
    derived: tuple[DerivedFigure, ...] = ()
    check: tuple[ClaimCheck, ...] = ()
    expect: tuple[ExpectedLine, ...] = ()
    recomputed: tuple[str, ...] = ()

    def parse(self, source: ImportSource) -> ImportResult:
        """Raises ImportRefusedError where no block has a figure."""
        reader = _LineReader(self)
        for line in source.read_lines():
            reader.read(line)
        return reader.make_result()


@lru_cache(maxsize=32)
def load_line_format(name: str) -> LineFormat:
    return load_format_toml(f"{name}.toml", LineFormat)


class _BlockFigure(NamedTuple):
    quantity: FigureRule
    value: float
    names: dict[str, str]
    conditions: dict[str, str]


class _FormatBlock:
    """What stands between two lines that begin something."""

    def __init__(self, names: Mapping[str, str], conditions: Mapping[str, str]) -> None:
        self.names, self.conditions = dict(names), dict(conditions)
        self.figures: list[_BlockFigure] = []
        self.rows: list[int] = []  # where each row's figures begin
        self.invalid: dict[int, str] = {}  # by the number of the row; -1: all
        self.series: dict[str, list[float]] = {}  # every number that a name had

    def row_of(self, figure: int) -> int:
        return bisect_right(self.rows, figure) - 1


class _LineReader:
    def __init__(self, form: LineFormat) -> None:
        self.form = form
        self.blocks = [_FormatBlock(form.names, {})]
        self.head: dict[str, str] = {}  # the first text of each name in the file
        self.facts: dict[tuple[str, str], Noted] = {}
        self.troubles: dict[str, list[ImportTrouble]] = {}
        self.contradictions: list[Contradiction] = []
        self.met_expectations = [False] * len(form.expect)
        self._lasting: dict[str, str] = {}
        self._columns: list[str] = []
        self._headings: dict[str, None] = {}

    def read(self, line: str) -> None:
        for place, expected in enumerate(self.form.expect):
            self.met_expectations[place] = (
                self.met_expectations[place] or re.search(expected.match, line) is not None
            )
        for rule in self.form.line:
            if rule.first is not None and not self._columns:
                continue
            if any(self.blocks[-1].names.get(name, "") != text for name, text in rule.when.items()):
                continue
            if match := rule.compiled_pattern.match(line):
                self._apply_rule(rule, match, line)
                return

    def _apply_rule(self, rule: LineRule, match: re.Match[str], line: str) -> None:
        if rule.begins and len(self.blocks) < _MAX_BLOCKS:
            self.blocks.append(_FormatBlock(self.form.names, self._lasting))
        if rule.begins or rule.ends_table:
            self._columns = []
        block = self.blocks[-1]
        groups = {k: v.strip()[:_MAX_LENGTH] for k, v in match.groupdict().items() if v is not None}
        groups |= rule.sets
        if rule.counts:
            groups[rule.counts] = str(int(block.names.get(rule.counts, "0")) + 1)
        if rule.heading:
            self._columns = [c for c in re.split(rule.heading, groups["columns"].strip()) if c][:_MAX_NAMES]
            self._headings |= dict.fromkeys(self._columns)
        for name, text in groups.items():
            self.head.setdefault(name, text)
            if (read := parse_number(text)) is not None and len(
                block.series.setdefault(name, [])
            ) < _MAX_FIGURES:
                block.series[name].append(read)
        scope: Mapping[str, str] = ChainMap(groups, block.names)
        texts = {
            group: fill_template(group, scope) if "{" in group else groups.get(group, "")
            for group in rule.conditions
        }
        conditions = {
            fill_template(name, scope): texts[group]
            for group, name in rule.conditions.items()
            if texts[group]
        }
        conditions |= (
            {k.strip(): v.strip() for k, v in re.findall(rule.pairs, line, re.ASCII)} if rule.pairs else {}
        )
        if rule.first is not None:
            self._add_table_row(rule, line, groups)
        elif rule.values:
            block.rows.append(len(block.figures))
            for group, quantity in rule.values.items():
                self._add_figure(block, quantity, groups.get(group), groups, conditions)
        else:
            block.conditions |= conditions
            self._lasting |= conditions if rule.lasting else {}
        block.names |= groups
        for group, fact in rule.facts.items():
            if (text := groups.get(group)) and len(self.facts) < _MAX_NAMES:
                subject = fill_template(fact.subject, scope)
                self.facts[fact.name, subject] = Noted(
                    name=fact.name,
                    value=_number_or_text(fill_template(fact.value, scope) or text),
                    unit=fact.unit,
                    subject=subject,
                )
        if rule.invalid:
            row = len(block.rows) - 1 if rule.invalidates == "row" else -1
            for invalid in self.blocks if rule.invalidates == "file" else [block]:
                invalid.invalid[row] = fill_template(rule.invalid, scope)
        if rule.trouble:
            subject, trouble_text = (
                fill_template(rule.subject, scope),
                fill_template(rule.said, {**scope, "count": "{count}"}),
            )
            self.troubles.setdefault(rule.trouble, []).append(
                ImportTrouble(id=rule.trouble, subject=subject, said=trouble_text)
            )
        self._check_claims(rule, block, scope)

    def _add_table_row(self, rule: LineRule, line: str, groups: dict[str, str]) -> None:
        """Fields by the names of their columns; a name that stands twice is the first one's."""
        block, fields, first = self.blocks[-1], line.split(), rule.first or ()
        groups |= dict(zip(first, fields, strict=False))
        block.rows.append(len(block.figures))
        used_names: set[str] = set()
        conditions: dict[str, str] = {}
        for name, text in zip(self._columns, fields[len(first) :], strict=False):
            column = self._find_column(name)
            if column is None or name in used_names:
                continue
            used_names.add(name)
            if column.condition and text not in column.without:
                conditions[column.condition] = groups[column.condition] = text
            if column.invalid_if and text.lower() == column.invalid_if.lower():
                block.invalid[len(block.rows) - 1] = column.invalid
            for quantity in column.values:
                self._add_figure(block, quantity, text, {**groups, "column": name}, conditions)

    def _find_column(self, name: str) -> ColumnRule | None:
        return next((column for column in self.form.column if re.search(column.match, name)), None)

    def _add_figure(
        self,
        block: _FormatBlock,
        quantity: FigureRule,
        text: str | None,
        names: dict[str, str],
        conditions: dict[str, str],
    ) -> None:
        value = parse_number(text)
        if value is not None and value > 0 and sum(len(b.figures) for b in self.blocks[-1:]) < _MAX_FIGURES:
            block.figures.append(_BlockFigure(quantity, value, names, conditions))

    def _check_claims(self, rule: LineRule, block: _FormatBlock, scope: Mapping[str, str]) -> None:
        for check in self.form.check:
            if check.at not in rule.compiled_pattern.groupindex:
                continue
            parts = [
                evaluate_formula(text, scope, block.series)
                for text in (check.claimed, check.formula, check.slack, check.when)
            ]
            claimed, gives, slack, applies = parts
            if claimed and gives and slack is not None and applies and len(self.contradictions) < 100:
                self.contradictions += compare_claim(
                    check.id, fill_template(check.subject, scope), claimed, gives, check.rule, slack, check.absolute,
                    unit=check.unit,
                )  # fmt: skip

    def make_result(self) -> ImportResult:
        form = self.form
        self._add_derived_figures()
        measured = [block for block in self.blocks if block.figures]
        measures = list(_merge_figures(form, self._make_measures(measured)))
        if not measures:
            raise ImportRefusedError(f"{form.tool}: {form.nothing[0]}", form.nothing[1])
        troubles = [
            msgspec.structs.replace(trouble, said=trouble.said.replace("{count}", str(len(same))))
            for same in self.troubles.values()
            for trouble in (same[:1] if "{count}" in same[0].said else same[:_MAX_NAMES])
        ]
        began = self.head.get("began")
        troubles += [
            ImportTrouble(id=expected.trouble)
            for expected, is_met in zip(form.expect, self.met_expectations, strict=True)
            if not is_met
        ]
        if form.unfinished and (missing := len(self.blocks) - 1 - len(measured)) > 0:
            troubles.append(ImportTrouble(id=form.unfinished, said=str(missing)))
        return ImportResult(
            kind=form.kind,
            tool=form.tool,
            version=self.head.get("version"),
            host=self.head.get("host"),
            began=date_to_iso(began) or epoch_to_iso(parse_number(began)),
            measures=tuple(measures),
            facts=tuple(self.facts.values()),
            troubles=tuple(troubles),
            contradictions=tuple(self.contradictions),
            recomputed=form.recomputed,
            seconds=sum({m.workload: m.seconds for m in measures}.values()) or None,
            left_out=tuple(self._left_out_columns()),
        )

    def _add_derived_figures(self) -> None:
        for block in self.blocks:
            metrics = {quantity.metric for quantity, *_ in block.figures}
            for derived in self.form.derived:
                value = evaluate_formula(derived.formula, block.names, block.series)
                if value and not metrics & set(derived.unless):
                    quantity = FigureRule(metric=derived.metric, unit=derived.unit, seconds=derived.seconds)
                    block.figures.append(_BlockFigure(quantity, value, {}, {}))

    def _make_measures(self, blocks: list[_FormatBlock]) -> Iterator[ImportedMeasure]:
        """Blocks that the format numbers are calls of the tool, others parts of one."""
        every = [list(self._block_measures(block)) for block in blocks]
        yield from (
            join_repetitions_or_number_runs(every, self.form.several)
            if self.form.several
            else chain.from_iterable(every)
        )

    def _block_measures(self, block: _FormatBlock) -> Iterator[ImportedMeasure]:
        for place, (quantity, value, names, conditions) in enumerate(block.figures):
            scope = ChainMap(names, block.names)
            if any(scope.get(name) != text for name, text in quantity.when.items()):
                continue
            reason = block.invalid.get(-1) or block.invalid.get(block.row_of(place), "")
            seconds = parse_number(scope.get(quantity.seconds)) if quantity.seconds else None
            yield ImportedMeasure(
                workload=fill_template(quantity.workload or self.form.workload, scope),
                metric=fill_template(quantity.metric, scope), value=value * quantity.factor,
                unit=fill_template(quantity.unit, scope), better=quantity.better, judged=quantity.judged,
                of=quantity.of, seconds=seconds or 0.0, conditions=block.conditions | conditions, invalid=reason,
            )  # fmt: skip

    def _left_out_columns(self) -> Iterator[OmittedFields]:
        for name in self._headings:
            column = self._find_column(name)
            if column is None or column.left_out:
                yield OmittedFields(name=name, reason=column.left_out if column else UNKNOWN_REASON)


def _merge_figures(form: LineFormat, measures: Iterable[ImportedMeasure]) -> Iterator[ImportedMeasure]:
    """The same figure once more is a repetition, a newer one, or another, as the format says."""
    if form.repeated == "apart":
        yield from measures
        return
    alike: dict[tuple[str, str], list[ImportedMeasure]] = {}
    for measure in measures:
        alike.setdefault((measure.workload, measure.metric), []).append(measure)
    for same in alike.values():
        if form.repeated == "last" or len(same) == 1:
            yield same[-1]
        else:
            values = tuple(m.value for m in same[:1000])
            yield msgspec.structs.replace(same[-1], value=median(values), runs=values, of="median")


def _number_or_text(text: str) -> Json:
    value = parse_number(text)
    return text if value is None else int(value) if value.is_integer() else value


class _TemplateText(str):
    """A name's text in a template: `{size:bytes}`, `{test:lower}`, `{copies:copy|copies}`."""

    def __format__(self, spec: str) -> str:
        if spec == "bytes":
            value = parse_number(str(self))
            return units.format_size(value, 6) if value is not None else str(self)
        if spec == "lower":
            return self.lower()
        if spec == "count":
            return str(len(self.split()))
        singular, _, plural = spec.partition("|")
        return f"{self} {singular if self == '1' else plural}" if plural else str(self)


class _TemplateTexts(dict[str, _TemplateText]):
    def __missing__(self, key: str) -> _TemplateText:
        return _TemplateText("")


def fill_template(text: str, names: Mapping[str, str]) -> str:
    """The text with its names filled in; a name that is not there is empty."""
    if "{" not in text:
        return text
    return text.format_map(_TemplateTexts({name: _TemplateText(value) for name, value in names.items()}))


_OPERATORS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.USub: operator.neg, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


def evaluate_formula(
    formula: str, names: Mapping[str, str], series: Mapping[str, list[float]]
) -> float | None:
    """Arithmetic over names; `geomean(NAME)` over all numbers that the name had in the block. None where one lacks."""

    def value(node: ast.AST) -> float:
        match node:
            case ast.Expression(body=body):
                return value(body)
            case ast.Constant(value=int() | float() as plain):
                return float(plain)
            case ast.Name(id=name):
                read = parse_number(names.get(name))
                if read is None:
                    raise LookupError(name)
                return read
            case ast.BinOp(left=left, op=op, right=right):
                return float(_OPERATORS[type(op)](value(left), value(right)))
            case ast.UnaryOp(op=op, operand=operand):
                return float(_OPERATORS[type(op)](value(operand)))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return float(_OPERATORS[type(op)](value(left), value(right)))
            case ast.Call(func=ast.Name(id="geomean"), args=[ast.Name(id=name)]):
                return geometric_mean(series.get(name, [])) or math.nan
        raise LookupError(ast.dump(node))

    try:
        result = value(_parse_formula(formula))
    except (ArithmeticError, LookupError):
        return None
    return result if math.isfinite(result) else None


@lru_cache(maxsize=256)
def _parse_formula(formula: str) -> ast.Expression:
    return ast.parse(formula, mode="eval")
