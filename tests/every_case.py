"""Many small cases in one test: a test of its own for each costs more than the case."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

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


def every_case(
    names: str | Sequence[str], cases: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator like `pytest.mark.parametrize` that makes one test of all cases. Two of them multiply.

    Only for a test whose fixtures are those of a file or of the session: all cases share them.
    Raises TypeError where a case has a mark.
    """
    words = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = list(cases)
    if any(hasattr(case, "marks") for case in listed):
        raise TypeError(f"{names}: a case with a mark (one_always) is a test of its own")

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def check_every_case(**fixtures: Any) -> None:
            def check(case: Any) -> None:
                values = (case,) if len(words) == 1 else case
                function(**fixtures, **dict(zip(words, values, strict=True)))

            assert_each(listed, check, name=lambda case: f"{case!r:.300}")

        signature = inspect.signature(function)
        kept = [value for name, value in signature.parameters.items() if name not in words]
        check_every_case.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return check_every_case

    return decorate
