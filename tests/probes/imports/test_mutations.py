"""Whatever the bytes are: a result with finite values, or one line."""

import math
import random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from hostdx.probes.imports import kinds
from hostdx.probes.imports.model import ImportRefusedError
from hostdx.probes.imports.source import ImportSource
from tests.every_case import every_case
from tests.measured.reading.imports_mutations import mutate
from tests.probes.imports import originals as texts


def _check(data: bytes, kind: str | None) -> None:
    try:
        result = kinds.parse(ImportSource("x", data), kinds.find_kind(kind) if kind else None)
    except ImportRefusedError as error:
        assert "\n" not in error.why
        return
    assert all(math.isfinite(m.value) and all(map(math.isfinite, m.runs)) for m in result.measures)
    assert all(math.isfinite(p.value) and math.isfinite(p.at_s) for p in result.points)
    assert all(map(math.isfinite, (n for s in result.series for n in (*s.values, *s.at_s))))
    msgspec.json.encode(msgspec.structs.replace(result, series=()))


@every_case("kind", texts.ALL)
def test_damaged_results(kind: str) -> None:
    draw = random.Random(kind)
    original = texts.ALL[kind].encode()
    for turn in range(60):
        _check(mutate(original, draw), kind if turn % 2 else None)


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=400), st.sampled_from([k.id for k in kinds.KINDS if k.id != "darshan"]))
def test_any_bytes(data: bytes, kind: str) -> None:
    _check(data, kind)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(texts.ALL)), st.integers(0, 400), st.text(max_size=30))
def test_any_text_in_the_middle(kind: str, place: int, text: str) -> None:
    original = texts.ALL[kind]
    _check((original[:place] + text + original[place:]).encode("utf-8", "surrogatepass"), kind)
