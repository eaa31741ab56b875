"""Any path comes back from JSON as the bytes that it was."""

from __future__ import annotations

import os

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.recordings.writer import encode_event
from probes.reading.lossless_json import Decoder, encode, escape_text, unescape_text
from scenarios.contract import events as ev

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # with lone surrogates


@given(st.binary())
@example(b"r\xe9sultats")
@example(b"r\\xe9sultats")
@example(b"\\\\\\xe9\xe9\\")
@example("ré\ud7ff".encode())
def test_every_byte_string_comes_back(path: bytes) -> None:
    form = escape_text(path.decode("utf-8", "surrogateescape"))
    form.encode("utf-8", "strict")
    assert unescape_text(form).encode("utf-8", "surrogateescape") == path


def test_every_single_byte_and_every_pair_with_a_backslash() -> None:
    paths = [bytes([a]) for a in range(256)] + [b"\\" + bytes([a]) for a in range(256)]
    forms = [escape_text(os.fsdecode(path)) for path in paths]
    assert len(set(forms)) == len(paths)
    assert [os.fsencode(unescape_text(form)) for form in forms] == paths


@given(st.dictionaries(ANY_TEXT, ANY_TEXT))
def test_so_does_any_text_in_a_document(values: dict[str, str]) -> None:
    document = encode(values)
    assert Decoder(dict[str, str]).decode(document) == values
    assert Decoder(dict[str, str]).decode_lines(document + b"\n\n" + document + b"\n") == [values, values]


def test_what_needs_no_escape_is_as_msgspec_writes_it() -> None:
    note = ev.Note(t=1.5, text='ré "quoted"\n')
    assert encode(note) == msgspec.json.encode(note)


def test_an_event_with_a_raw_name_comes_back() -> None:
    fact = ev.Note(t=1.0, text=os.fsdecode(b"/data/r\xe9sul\\tats"))
    line = encode_event(fact)
    assert line.isascii() and b"r\\\\xe9sul\\\\\\\\tats" in line
    assert Decoder(ev.Common).decode(line) == fact


def test_a_backslash_of_an_earlier_version_stays() -> None:
    assert unescape_text("dev-disk\\x2duuid C:\\temp \\") == "dev-disk\\x2duuid C:\\temp \\"


@pytest.mark.parametrize("line", [b'{"type":"\\\\xe9","t":0}', b'{"\\u005cxe9":1,"type":"note"}'])
def test_a_field_or_type_of_raw_bytes_is_an_error_of_the_document(line: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        Decoder(ev.Common).decode(line)
