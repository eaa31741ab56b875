"""What an import did with every numeric field of its file: imported, a condition, or left out with a reason.

`formats/accounts.toml` declares it for each kind. Fields of JSON are paths ("jobs/read/iops": lists add no part), those
of a table its columns. A field that no declaration names is left out as unknown, and a test fails on it. Free text has
no fields that could be listed: there the import names what it recognised.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.imports import json_text
from hostdx.probes.imports.formats import load_format_toml
from hostdx.probes.imports.model import ImportRefusedError, ImportResult, OmittedFields
from hostdx.probes.imports.numbers import parse_number
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.sysstat.sysstat_table import SysstatFile, columns_left_out

Use: TypeAlias = Literal["imported", "condition", "left out", "unknown"]
MAX_LISTED_BYTES = 8 << 20  # of JSON: as Python objects it takes some ten times its length
UNKNOWN_REASON = "hostdx does not know the field"
_MAX_FIELDS = 5000
_MAX_ROWS = 1000  # of a table: further rows have the same columns


class LeftOutFields(msgspec.Struct, frozen=True):
    """Fields that are left out together."""

    name: str
    reason: str
    fields: tuple[str, ...]


class FieldAccount(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """What becomes of a kind's fields. `*` stands for one part of a path, `**` for any number of parts.

    `form`: "json", or "csv" with a heading, or "columns" of a table that the importer has read itself.
    """

    form: Literal["json", "csv", "columns"] = "json"
    heading: str = ""  # what the heading of a CSV begins with; "": it is the first line
    delimiter: str = ","
    imported: tuple[str, ...] = ()
    condition: tuple[str, ...] = ()
    left_out: tuple[LeftOutFields, ...] = ()

    def use_and_omission_of(self, field: str) -> tuple[Use, LeftOutFields | None]:
        """Return what is done with a field, and with what it is left out. The more special declaration stands first."""
        for omission in self.left_out:
            if matches_any(omission.fields, field):
                return "left out", omission
        if matches_any(self.condition, field):
            return "condition", None
        return ("imported", None) if matches_any(self.imported, field) else ("unknown", None)


@lru_cache(maxsize=1)
def load_field_accounts() -> dict[str, FieldAccount]:
    """By kind. A kind without an entry is free text."""
    return load_format_toml("accounts.toml", dict[str, FieldAccount])


def with_left_out_fields(result: ImportResult, kind: str, source: ImportSource) -> ImportResult:
    """The result with what of its file is left out."""
    account = load_field_accounts().get(kind)
    if account is None:
        return result
    if account.form == "json" and source.size > MAX_LISTED_BYTES:
        too_large = OmittedFields(
            name="fields of a large file", reason="what is left out of more than 8 MiB is not listed"
        )
        return msgspec.structs.replace(result, left_out=(*result.left_out, too_large))
    groups: dict[tuple[str, str], int] = {}
    for field in numeric_fields(source, account, result):
        use, omission = account.use_and_omission_of(field)
        if use == "left out" and omission is not None:
            key = (omission.name, omission.reason)
        elif use == "unknown":
            key = (field, UNKNOWN_REASON)
        else:
            continue
        groups[key] = groups.get(key, 0) + 1
    omitted = tuple(OmittedFields(name=name, reason=reason, fields=n) for (name, reason), n in groups.items())
    return msgspec.structs.replace(result, left_out=(*result.left_out, *omitted))


def numeric_fields(source: ImportSource, account: FieldAccount, result: ImportResult) -> list[str]:
    """The numeric fields of the file, each once."""
    if account.form == "columns":
        return list(_left_out_columns(result))[:_MAX_FIELDS]
    names: dict[str, None] = {}
    for field, _ in _csv_numbers(source, account) if account.form == "csv" else _json_numbers(source):
        if len(names) >= _MAX_FIELDS:
            break
        names[field] = None
    return list(names)


def _json_numbers(source: ImportSource) -> Iterator[tuple[str, float]]:
    try:
        for _, _, document in json_text.iterate_documents(source.data, object, source.name):
            yield from _numbers_with_paths(document, "")
    except ImportRefusedError:
        return  # the importer says what is broken


def _numbers_with_paths(value: object, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers_with_paths(inner, f"{path}/{key}" if path else str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers_with_paths(inner, path)
    elif not isinstance(value, bool) and (read := parse_number(value)) is not None:
        yield path, read


def _csv_numbers(source: ImportSource, account: FieldAccount) -> Iterator[tuple[str, float]]:
    heading: Sequence[str] = ()
    try:
        for row, cells in enumerate(csv.reader(source.read_lines(), delimiter=account.delimiter)):
            is_heading = ",".join(cells).startswith(account.heading) if account.heading else not row
            if is_heading:
                heading = [cell.strip() for cell in cells]
            elif row > _MAX_ROWS:
                return
            for name, cell in zip(heading, cells, strict=False):
                if (read := parse_number(cell)) is not None:
                    yield name, read
    except csv.Error:
        return


def _left_out_columns(result: ImportResult) -> Iterator[str]:
    """`memory/kbcached`: of sysstat's tables those columns that gave no figure."""
    if isinstance(result.detail, SysstatFile):
        yield from columns_left_out(result.detail.tables)


@lru_cache(maxsize=4096)
def _compile_field_pattern(declared: str) -> re.Pattern[str]:
    parts = {"**": ".+", "*": "[^/]*"}
    return re.compile("".join(parts.get(p) or re.escape(p) for p in re.split(r"(\*\*|\*)", declared)))


def matches_any(declared: Sequence[str], field: str) -> bool:
    return any(_compile_field_pattern(text).fullmatch(field) for text in declared)
