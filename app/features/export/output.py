"""The folder of an export: one file a table, written while the recordings are read, below a descriptor of the folder.

Whoever owns a folder above can rename it, or put a link in the place of a name: nothing is written elsewhere for that.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import IO, TYPE_CHECKING, Literal, TypeAlias

import msgspec

from hostdx.app.features.export.rows import Cells
from hostdx.app.features.export.schema import COLUMNS, ColumnSchema, table_columns_document
from hostdx.app.report.json_document import to_json_text
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.printable import make_cell_printable, make_json_printable
from hostdx.probes.files.path_walk import UntrustedLink, locate_name

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet

Form: TypeAlias = Literal["parquet", "csv", "ndjson"]
FORMS: tuple[Form, ...] = ("parquet", "csv", "ndjson")
MAX_HELD_ROWS = 10_000  # of a table, before they are written
SCHEMA_FILE = "schema.json"


class NdjsonWriter:
    """One JSON object a line; times are UTC, ISO 8601."""

    def __init__(self, table: str, file: IO[bytes]) -> None:
        self._file = file
        self._names = [column.name for column in COLUMNS[table]]

    def write_rows(self, rows: Sequence[Cells]) -> None:
        for row in rows:
            self._file.write(
                make_json_printable(msgspec.json.encode(dict(zip(self._names, row, strict=True)))) + b"\n"
            )

    def close(self) -> None:
        self._file.flush()


class CsvWriter:
    """Comma-separated, with a header. Empty: null. No cell is a formula, nor more than a line."""

    def __init__(self, table: str, file: IO[bytes]) -> None:
        self._text = io.TextIOWrapper(file, "utf-8", newline="", write_through=False)
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._writer.writerow([column.name for column in COLUMNS[table]])

    def write_rows(self, rows: Sequence[Cells]) -> None:
        self._writer.writerows([_csv_cell(value) for value in row] for row in rows)

    def close(self) -> None:
        self._text.flush()
        self._text.detach()


class ParquetTableWriter:
    """Parquet with zstd; each column's metadata holds its unit and meaning."""

    def __init__(self, table: str, file: IO[bytes]) -> None:
        self._schema = _arrow_schema(COLUMNS[table])
        from pyarrow import parquet

        self._writer: parquet.ParquetWriter = parquet.ParquetWriter(file, self._schema, compression="zstd")

    def write_rows(self, rows: Sequence[Cells]) -> None:
        import pyarrow

        arrays = [
            pyarrow.array(values, field.type)
            for values, field in zip(zip(*rows, strict=True), self._schema, strict=True)
        ]
        self._writer.write_batch(pyarrow.record_batch(arrays, self._schema))

    def close(self) -> None:
        self._writer.close()


WRITERS: Mapping[Form, type[NdjsonWriter] | type[CsvWriter] | type[ParquetTableWriter]] = {
    "ndjson": NdjsonWriter,
    "csv": CsvWriter,
    "parquet": ParquetTableWriter,
}


class ExportFolder:
    """All tables of an export. Used as a context: an exception removes the files that were begun."""

    def __init__(self, path: str, form: Form) -> None:
        """Raises Failure: not a new or empty directory, or not writable."""
        self.path = path
        self.counts = dict.fromkeys(COLUMNS, 0)
        self._form = form
        self._held: dict[str, list[Cells]] = {table: [] for table in COLUMNS}
        self._writers: dict[str, NdjsonWriter | CsvWriter | ParquetTableWriter] = {}
        self._names: list[str] = []
        self._stack = ExitStack()
        self._folder = _make_or_open_empty_folder(path)
        self._stack.callback(os.close, self._folder)

    def __enter__(self) -> ExportFolder:
        try:
            for table in COLUMNS:
                file = self._stack.enter_context(self._create_file(f"{table}.{self._form}"))
                self._writers[table] = WRITERS[self._form](table, file)
        except OSError as error:
            self._delete_written_files()
            raise self._cannot_write_failure(error) from None
        except BaseException:
            self._delete_written_files()
            raise
        return self

    def add(self, table: str, row: Cells) -> None:
        """Raises Failure where the disk is full."""
        held = self._held[table]
        held.append(_cells_as_utf8(row))
        if len(held) >= MAX_HELD_ROWS:
            self._write_held_rows(table)

    def _write_held_rows(self, table: str) -> None:
        held = self._held[table]
        if held:
            try:
                self._writers[table].write_rows(held)
            except OSError as error:
                raise self._cannot_write_failure(error) from None
            self.counts[table] += len(held)
            held.clear()

    def finish(self) -> None:
        """Write what is held, and the schema last: a folder with a schema is whole. Raises Failure."""
        for table, writer in self._writers.items():
            self._write_held_rows(table)
            try:
                writer.close()
            except OSError as error:
                raise self._cannot_write_failure(error) from None
        try:
            with self._create_file(SCHEMA_FILE) as file:
                file.write(to_json_text(table_columns_document()).encode() + b"\n")
        except OSError as error:
            raise self._cannot_write_failure(error) from None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._delete_written_files()
        else:
            self._stack.close()

    def _delete_written_files(self) -> None:
        for name in self._names:
            try:
                os.unlink(name, dir_fd=self._folder)
            except OSError:
                continue
        try:
            self._stack.close()
        except OSError:  # the disk is full: what was still to be written is not wanted any more
            return

    def _create_file(self, name: str) -> IO[bytes]:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(name, flags, 0o644, dir_fd=self._folder)
        self._names.append(name)
        return os.fdopen(descriptor, "wb")

    def _cannot_write_failure(self, error: OSError) -> Failure:
        return Failure(f"export: {self.path}: cannot be written: {error.strerror or error}")


def _make_or_open_empty_folder(path: str) -> int:
    """Open a new or an empty directory. Raises Failure."""
    try:
        place = locate_name(path.rstrip("/") or "/")
    except UntrustedLink as why:
        raise Failure(f"export: {path}: {why}; name a directory in a folder that is yours alone") from None
    except (OSError, ValueError) as error:
        raise Failure(f"export: {path}: cannot be written: {getattr(error, 'strerror', error)}") from None
    try:
        try:
            os.mkdir(place.name, 0o755, dir_fd=place.folder)
        except FileExistsError:
            pass
        folder = place.open_name(os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise Failure(f"export: {path}: cannot be written: {error.strerror}") from None
    finally:
        os.close(place.folder)
    with os.scandir(folder) as entries:
        is_empty = not any(entries)
    if not is_empty:
        os.close(folder)
        raise Failure(f"export: {path}: is not empty; name a new directory", USAGE)
    return folder


def _cells_as_utf8(row: Cells) -> Cells:
    """Bytes that are no UTF-8 are written as a person reads them."""
    if all(not isinstance(value, str) or value.isascii() for value in row):
        return row
    return tuple(
        value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
        for value in row
    )


def _csv_cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return make_cell_printable(value)
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
    return repr(value)


def _arrow_schema(columns: Sequence[ColumnSchema]) -> pyarrow.Schema:
    """Raises Failure without pyarrow."""
    try:
        import pyarrow
    except ImportError:
        raise Failure(
            "export: --format parquet needs pyarrow: `pip install 'hostdx[parquet]'`; csv and ndjson need nothing",
            USAGE,
        ) from None
    types = {
        "text": pyarrow.string(),
        "integer": pyarrow.int64(),
        "real": pyarrow.float64(),
        "flag": pyarrow.bool_(),
        "time": pyarrow.timestamp("us", tz="UTC"),
    }
    return pyarrow.schema(
        pyarrow.field(
            column.name,
            types[column.type],
            column.nullable,
            {"unit": column.unit, "description": column.description},
        )
        for column in columns
    )
