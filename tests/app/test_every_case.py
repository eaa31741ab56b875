"""Cases in one test: each runs with directory, patches and output of its own, and each that fails is named."""

import os
from pathlib import Path

import pytest

from tests.every_case import assert_each, every_case


@every_case("word", ["a", "b"])
@every_case(("number", "half"), [(2, 1), (4, 2)])
def test_two_lists_multiply_and_share_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    word: str,
    number: int,
    half: int,
) -> None:
    assert not [*tmp_path.iterdir()] and "OF_A_CASE" not in os.environ and capsys.readouterr().out == ""
    (tmp_path / "of_a_case").touch()
    monkeypatch.setenv("OF_A_CASE", word)
    print(word)
    assert number == 2 * half


def test_every_product_is_run() -> None:
    cases: list[tuple[int, str]] = []
    every_case("word", ["a", "b"])(
        every_case("number", [1, 2])(lambda word, number: cases.append((number, word)))
    )()
    assert cases == [(1, "a"), (2, "a"), (1, "b"), (2, "b")]


def test_each_that_fails_is_named_and_none_is_an_error() -> None:
    def check(number: int) -> None:
        assert number % 2 == 0, "odd"

    with pytest.raises(AssertionError, match=r"(?s)2 of 4 cases fail:\n1: AssertionError: odd.*\n3: "):
        every_case("number", range(4))(lambda number: check(number))()
    with pytest.raises(AssertionError, match="there are no cases"):
        assert_each([], check)
    with pytest.raises(TypeError):
        every_case("number", [pytest.param(1, marks=pytest.mark.real)])
