"""`hostdx run kernel --before` … reboot … `--after`: checks beforehand, and says afterwards what is still to do."""

from __future__ import annotations

import os
from collections.abc import Mapping

from app.failure import USAGE, Failure
from app.process import boot_id
from app.recording.reboots import runs
from probes.types import Json
from scenarios.kernel.reboots import Letter, Series, open_series, series_of

OPTION: dict[Letter, str] = {"A": "--before", "B": "--after"}


def side_of(options: Mapping[str, Json]) -> Letter | None:
    """The side that a run is asked to be. Raises Failure for both."""
    before, after = bool(options.get("before")), bool(options.get("after"))
    if before and after:
        raise Failure("run kernel: --before and --after exclude each other", USAGE)
    return "A" if before else "B" if after else None


def check(side: Letter) -> None:
    """Before the run: a boot cannot be both sides, and `--after` needs a `--before`. Raises Failure."""
    known = runs(os.uname().nodename)
    found = series_of(known)
    last = found[-1] if found else None
    if last is None:
        if side == "B":
            raise Failure(
                "run kernel --after: no run of this host was recorded with --before; begin with that one",
                USAGE,
            )
        return
    other = last.side_of(boot_id())
    if other is not None and other != side and last.left:
        raise Failure(
            f"run kernel {OPTION[side]}: this boot was measured with {OPTION[other]} already; reboot first",
            USAGE,
        )


def after_run() -> list[str]:
    """What was measured until now, the answer as far as there is one, and what is still to do."""
    known = runs(os.uname().nodename)
    found = series_of(known)
    if not found:
        return []
    series = found[-1]
    lines = [_measured(series)]
    if series.recordings("A") and series.recordings("B"):
        lines += _compared(series)
    if open_series(known) is not None:
        lines.append(_to_do(series))
    return lines


def _measured(series: Series) -> str:
    parts = []
    letters: tuple[Letter, ...] = ("A", "B")
    for letter in letters:
        kernels = ", ".join(series.kernels(letter)) or "not measured yet"
        parts.append(f"{letter} ({OPTION[letter][2:]}): {kernels}")
    return f"boots measured: {series.done} of {series.order}; {'; '.join(parts)}"


def _to_do(series: Series) -> str:
    letter: Letter = "A" if series.left[0] == "A" else "B"
    kernels = series.kernels(letter)
    into = f"into {kernels[0]}" if kernels else "into the other kernel (or with the other setting)"
    again = " once more" if series.done.endswith(letter) else ""
    left = len(series.left)
    rest = f"; {left} boots are left" if left > 1 else ""
    return f"next: reboot {into}{again}, then `hostdx run kernel {OPTION[letter]}`{rest}"


def _compared(series: Series) -> list[str]:
    from app.recording.sides import paths, takes
    from app.report.results.comparison import headline
    from scenarios.compare.comparison import compared

    a, b = series.recordings("A"), series.recordings("B")
    found = compared(takes(paths(a)), takes(paths(b)))
    return [headline(found), f"comparison: hostdx compare {' '.join(a)} -- {' '.join(b)}"]
