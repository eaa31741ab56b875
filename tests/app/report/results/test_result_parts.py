"""A result without a view of its own: a table of its fields, without what is empty in all of its rows."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from app.recordings.session import RunSession
from app.report.results.result_parts import _field_parts, result_parts
from scenarios.contract.results.document import Heading, Table
from scenarios.contract.results.result import Result


class Row(msgspec.Struct, omit_defaults=True):
    workload: str
    remarks: tuple[str, ...] = ()
    share: float | None = None
    mean: float | None = None
    limit: float | None = None


class Rows(Result, frozen=True, tag="test.rows/1"):
    name: ClassVar[str] = "rows"
    value: tuple[Row, ...]


class Whole(msgspec.Struct):
    best_of: str
    rows: tuple[Row, ...]


class One(Result, frozen=True, tag="test.one/1"):
    name: ClassVar[str] = "one"
    value: Whole


ROWS = (Row("a", mean=0.0), Row("b", limit=2.5))


def test_rows_are_a_table_that_has_no_empty_column() -> None:
    (table,) = result_parts(RunSession(), Rows(t=1.0, value=ROWS))
    assert isinstance(table, Table)
    assert table.header == ("workload", "mean", "limit")
    assert table.rows == (("a", "0", "–"), ("b", "–", "2.5"))
    assert table.right == {1, 2}


def test_a_record_is_its_fields_and_what_holds_more_comes_after_it() -> None:
    first, heading, rows = result_parts(RunSession(), One(t=1.0, value=Whole("three", ROWS)))
    assert first == Table(("what", "value"), (("best of", "three"),))
    assert heading == Heading("rows") and isinstance(rows, Table)


def test_nanoseconds_are_read_as_a_duration() -> None:
    (table,) = _field_parts(RunSession(), [{"load": "a", "p99_ns": 1_250_000}, {"load": "b", "p99_ns": None}])
    assert isinstance(table, Table)
    assert (table.header, [row[1] for row in table.rows]) == (("load", "p99"), ["1.25 ms", "–"])
