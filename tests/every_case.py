"""Many small cases in one test: a test of its own for each costs more than the case."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
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


@contextmanager
def own_fixtures(fixtures: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """Yield the fixtures as a case has them: pytest makes one of each for the whole test."""
    with ExitStack() as stack:
        copies = dict(fixtures)
        if "tmp_path" in copies:
            copies["tmp_path"] = copies["tmp_path"] / f"case{number}"
            copies["tmp_path"].mkdir()
        if "monkeypatch" in copies:
            copies["monkeypatch"] = stack.enter_context(copies["monkeypatch"].context())
        if "capsys" in copies:
            copies["capsys"].readouterr()
        yield copies


def every_case(
    names: str | Sequence[str], cases: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator like `pytest.mark.parametrize` that makes one test of all cases. Two of them multiply.

    Each case has a directory, patches and output of its own; all share the other fixtures, which must be those of a
    file or of the session.
    Raises TypeError where a case has a mark.
    """
    words = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    all_cases = list(cases)
    if any(hasattr(case, "marks") for case in all_cases):
        raise TypeError(f"{names}: a case with a mark (one_always) is a test of its own")

    def decorate_test(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def check_every_case(**fixtures: Any) -> None:
            def check(numbered: tuple[int, Any]) -> None:
                number, case = numbered
                values = (case,) if len(words) == 1 else case
                with own_fixtures(fixtures, number) as fixture_copies:
                    function(**fixture_copies, **dict(zip(words, values, strict=True)))

            assert_each(enumerate(all_cases), check, name=lambda numbered: f"{numbered[1]!r:.300}")

        signature = inspect.signature(function)
        fixture_parameters = [value for name, value in signature.parameters.items() if name not in words]
        check_every_case.__signature__ = signature.replace(parameters=fixture_parameters)  # type: ignore[attr-defined]
        return check_every_case

    return decorate_test
