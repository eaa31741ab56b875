"""Many small cases in one test: a test of its own for each costs more than the case."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

C = TypeVar("C")


def assert_each(cases: Iterable[C], check: Callable[[C], object], *, name: Callable[[C], str] = str) -> None:
    """Run `check` on every case and raise one AssertionError that names each case which failed, with its cause."""
    failures, count = [], 0
    for case in cases:
        count += 1
        try:
            check(case)
        except Exception as error:
            failures.append(f"{name(case)}: {type(error).__name__}: {str(error)[:2000]}")
    assert count, "there are no cases"
    assert not failures, f"{len(failures)} of {count} cases fail:\n" + "\n".join(failures)
