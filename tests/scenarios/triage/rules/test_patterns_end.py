"""No pattern of a rule can match a line in many ways within a loop: on a long text it would never end."""

import itertools
import re
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hostdx.scenarios.contract.folders import SCENARIOS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from re import _constants as code  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]

LETTERS = frozenset(map(chr, range(9, 127)))
REPEATS = (code.MAX_REPEAT, code.MIN_REPEAT)
CLASSES = {
    code.CATEGORY_SPACE: r"\s", code.CATEGORY_NOT_SPACE: r"\S", code.CATEGORY_DIGIT: r"\d",
    code.CATEGORY_NOT_DIGIT: r"\D", code.CATEGORY_WORD: r"\w", code.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def letters_of_set(parts: list[tuple[object, object]]) -> frozenset[str]:
    letters: set[str] = set()
    for op, value in parts:
        if op is code.LITERAL:
            letters.add(chr(value))  # type: ignore[arg-type]
        elif op is code.RANGE:
            letters |= {c for c in LETTERS if value[0] <= ord(c) <= value[1]}  # type: ignore[index]
        elif op is code.CATEGORY:
            letters |= {c for c in LETTERS if re.match(CLASSES[value], c)}
    return LETTERS - letters if parts[0][0] is code.NEGATE else frozenset(letters)


def repeated_letters(item: tuple[object, object]) -> frozenset[str]:
    """Of `[ \\t]+` or `.*` the letters of one step; empty for what is no loop over single letters."""
    op, value = item
    if op not in REPEATS or value[1] < code.MAXREPEAT or len(value[2]) != 1:  # type: ignore[index]
        return frozenset()
    [(inner_op, inner_value)] = value[2]  # type: ignore[index]
    if inner_op is code.IN:
        return letters_of_set(inner_value)
    if inner_op in (code.LITERAL, code.NOT_LITERAL):
        return frozenset({chr(inner_value)}) if inner_op is code.LITERAL else LETTERS - {chr(inner_value)}
    return LETTERS - {"\n"} if inner_op is code.ANY else frozenset()


def loops_with_two_ways(sequence: object, in_loop: bool = False) -> Iterator[str]:
    """Two neighbours in a loop that take the same letter: where one ends and the next begins is free at each turn."""
    items = list(sequence)  # type: ignore[call-overload]
    for item, following in itertools.pairwise(items):
        if in_loop and repeated_letters(item) & repeated_letters(following):
            yield f"{item} {following}"
    for op, value in items:
        if op in REPEATS:
            yield from loops_with_two_ways(
                value[2], in_loop or (value[1] >= code.MAXREPEAT and len(value[2]) > 1)
            )
        elif op is code.SUBPATTERN:
            yield from loops_with_two_ways(value[3], in_loop)
        elif op in (code.ASSERT, code.ASSERT_NOT):
            yield from loops_with_two_ways(value[1], in_loop)
        elif op is code.BRANCH:
            for choice in value[1]:
                yield from loops_with_two_ways(choice, in_loop)


def texts_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts_of(inner)


def patterns_of(path: Path) -> Iterator[str]:
    """What a rule may search: with anything in the place of the row's values. Sentences are no patterns."""
    for text in texts_of(tomllib.loads(path.read_text())):
        if "\\" in text or "[" in text:
            yield re.sub(r"\{[a-z_]+\}", "x", text)


def test_no_loop_takes_one_line_in_two_ways() -> None:
    assert [*loops_with_two_ways(parser.parse(r"^a\n(?:[ \t]+[^\n]*\n)*?[ \t]+b"))]
    assert not [*loops_with_two_ways(parser.parse(r"^a\n(?:[ \t][^\n]*\n)*?[ \t]+b"))]
    checked, endless = 0, []
    for path in SCENARIOS.rglob("*.toml"):
        for pattern in patterns_of(path):
            with warnings.catch_warnings(), suppress(re.error):
                warnings.simplefilter("ignore")  # a sentence with brackets is read as a pattern, too
                parsed = parser.parse(pattern, re.MULTILINE)
                checked += 1
                endless += [f"{path.name}: {pattern}: {loop}" for loop in loops_with_two_ways(parsed)]
    assert checked > 1000 and not endless, endless
