"""JSON inside other text: warnings before it, a summary after it, several documents one after another."""

import re
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from hostdx.probes import units
from hostdx.probes.imports.model import ImportRefusedError
from hostdx.probes.imports.numbers import parse_number
from hostdx.probes.types import Json

T = TypeVar("T")

NOT_FINITE_LIMIT = 100 << 20  # bytes
UNTYPED_LIMIT = 32 << 20  # bytes: as Python objects JSON takes some ten times its length
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
# an object or array, not a brace or bracket in a line of text: "[eta 00m:17s]"
_START = re.compile(rb"^[ \t]*[{\[](?=\s*[\"{\[\]}])", re.MULTILINE)
# old fio, sysbench and others print C's floats
_NOT_FINITE = re.compile(rb"([:\[,]\s*)[+-]?(?:nan|inf|infinity|NaN|Infinity)(?=\s*[,}\]])")
_WORDS = (b"nan", b"NaN", b"inf", b"Inf")
_BROKEN = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
_STEP = 1 << 20  # bytes looked at at once
_MAX_STARTS = 200  # lines that begin with a brace and are no document
MAX_DOCUMENTS = 100_000


def decode_document(data: bytes | memoryview, kind: type[T], subject: str) -> T:
    """One document. Raises ImportRefusedError with the place."""
    value, end = decode_first_document(data, kind, subject)
    rest = bytes(data[end : end + 4096]).strip()
    if rest:
        line = _count_line_ends(memoryview(data)[:end]) + 1
        raise ImportRefusedError(
            f"line {line}: something follows the JSON document", "remove everything but the document"
        )
    return value


def decode_untyped(data: bytes, subject: str) -> Any:
    """One document as Python objects, up to 32 MiB."""
    if len(data) > UNTYPED_LIMIT:
        raise ImportRefusedError(
            f"{subject} larger than {units.format_size(UNTYPED_LIMIT)}", "import a part of it"
        )
    return decode_document(data, Any, subject)


def decode_first_document(data: bytes | memoryview, kind: type[T], subject: str) -> tuple[T, int]:
    """The first document and where it ends. NaN and infinity are read as "", which is no number; not in a view."""
    view = memoryview(data)
    try:
        return _decode_first_and_end(view, kind)
    except _BROKEN as error:
        broken: Exception = error
    if not isinstance(data, memoryview) and (cleaned := blank_non_finite_numbers(data, subject)) is not None:
        try:
            return _decode_first_and_end(memoryview(cleaned), kind)
        except _BROKEN as error:
            broken = error
    raise _explain_error(view, broken, subject)


def blank_non_finite_numbers(data: bytes | bytearray, subject: str) -> bytearray | None:
    """The same without C's NaN and infinity, every byte in its place; None where it has none.

    Raises ImportRefusedError where the second copy would be too large.
    """
    if not any(word in data for word in _WORDS) or not _NOT_FINITE.search(data):
        return None
    if len(data) > NOT_FINITE_LIMIT:
        raise ImportRefusedError(
            f"{subject}: holds nan or inf, and is larger than {units.format_size(NOT_FINITE_LIMIT)}",
            "write null for them: sed -i 's/: *-\\?nan/: null/g; s/: *-\\?inf/: null/g' FILE",
        )
    cleaned, start = bytearray(), 0
    while start < len(data):  # from quote to quote: none of them stands in what is looked for
        end = data.find(b'"', start + _STEP) if start + _STEP < len(data) else -1
        stop = end if end > 0 else len(data)
        cleaned += _NOT_FINITE.sub(lambda f: f[1] + b'""'.ljust(len(f[0]) - len(f[1])), data[start:stop])
        start = stop
    return cleaned


def _decode_first_and_end(view: memoryview, kind: type[T]) -> tuple[T, int]:
    try:
        return msgspec.json.decode(view, type=kind), len(view)
    except msgspec.DecodeError as error:
        trailing = _TRAILING.search(str(error))
        if trailing is None or isinstance(error, msgspec.ValidationError):
            raise
        end = int(trailing[1]) - 1  # msgspec names the place after the character
        return msgspec.json.decode(view[:end], type=kind), end


def iterate_documents(data: bytes | bytearray, kind: type[T], subject: str) -> Iterator[tuple[int, int, T]]:
    """Start, end and value of every document that begins a line. Text between them is left out.

    Raises ImportRefusedError where none can be read at all; one after a good one ends the list with Refused.
    """
    position, tried, count = 0, 0, 0
    view, is_cleaned = memoryview(data), False
    while count < MAX_DOCUMENTS:
        start = _START.search(data, position)
        if start is None:
            break
        begin = start.end() - 1
        try:
            value, length = decode_first_document(view[begin:], kind, subject)
        except ImportRefusedError:
            if not is_cleaned:  # once for all documents: each may hold a nan
                is_cleaned, cleaned = True, blank_non_finite_numbers(data, subject)
                if cleaned is not None:
                    data, view = cleaned, memoryview(cleaned)
                    continue
            tried += 1
            # a brace in a line of text is no document; one that opens an object with a key is
            if count or tried >= _MAX_STARTS or re.match(rb'[{\[]\s*"', data[begin : begin + 200]):
                raise
            position = start.end()
            continue
        yield begin, begin + length, value
        position, count = begin + length, count + 1


def _explain_error(view: memoryview, error: Exception, subject: str) -> ImportRefusedError:
    if isinstance(error, RecursionError):
        return ImportRefusedError(f"{subject}: nested too deeply", "check how the file was made")
    if isinstance(error, UnicodeDecodeError):
        return ImportRefusedError(
            f"{subject}: byte {error.start} is not UTF-8", "check how the file was copied"
        )
    text = " ".join(str(error).split())[:160]
    place = re.search(r"\(byte (\d+)\)", text)
    if place is not None:
        end = int(place[1])
        before = bytes(view[max(0, end - _STEP) : end])
        line, column = _count_line_ends(view[:end]) + 1, len(before) - before.rfind(b"\n")
        return ImportRefusedError(
            f"{subject}: line {line} column {column}: {text}", "repair it there, or export it again"
        )
    if "truncated" in text:
        lines = _count_line_ends(view) + 1
        return ImportRefusedError(
            f"{subject}: ends in line {lines} before it is complete", "copy or export it again"
        )
    return ImportRefusedError(f"{subject}: {text}", "check which tool and version wrote it")


def _count_line_ends(view: memoryview) -> int:
    """Of a large document no copy is made."""
    return sum(bytes(view[at : at + _STEP]).count(b"\n") for at in range(0, len(view), _STEP))


def mapping_or_empty(value: Json) -> dict[str, Json]:
    """The object, or an empty one where it is something else."""
    return value if isinstance(value, dict) else {}


def text_or_number(value: Json, limit: int = 300) -> str | None:
    """Text, or a number as text; None for everything else and for ""."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        return None
    return str(value)[:limit]


def numeric_members(values: Json, max_members: int = 200) -> dict[str, float]:
    """The members that are numbers: "" and other text are absent, not zero."""
    read = {str(k)[:120]: parse_number(v) for k, v in list(mapping_or_empty(values).items())[:max_members]}
    return {k: v for k, v in read.items() if v is not None}
