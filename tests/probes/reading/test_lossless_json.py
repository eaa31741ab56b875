"""Any path comes back from JSON as the bytes that it was."""

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from hostdx.probes.reading.lossless_json import Decoder, encode, escape_text, unescape_text
from hostdx.scenarios.contract import events as ev

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


@given(st.dictionaries(ANY_TEXT, ANY_TEXT))
def test_so_does_any_text_in_a_document(values: dict[str, str]) -> None:
    document = encode(values)
    assert Decoder(dict[str, str]).decode(document) == values
    assert Decoder(dict[str, str]).decode_lines(document + b"\n\n" + document + b"\n") == [values, values]


def test_what_needs_no_escape_is_as_msgspec_writes_it() -> None:
    note = ev.Note(t=1.5, text='ré "quoted"\n')
    assert encode(note) == msgspec.json.encode(note)
