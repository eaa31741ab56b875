"""`--before` … reboot … `--after`: which boots of a host were measured as which side, and what is still to do.

The plan is in the recordings themselves: each run says which side it is and which order was wanted.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from hostdx.scenarios.contract.model import EarlierRun, OptionMap, SeriesProgress, UsageError

Letter: TypeAlias = Literal["A", "B"]  # before, after
OPTION: dict[Letter, str] = {"A": "--before", "B": "--after"}
ORDERS = ("AB", "ABBA", "ABBAAB")


class BootRun(msgspec.Struct, frozen=True, kw_only=True):
    """A finished run that says which side it is. `wall` is UTC, ISO 8601; `order` what was asked for with it."""

    recording: str
    side: Letter
    boot: str
    wall: str
    kernel: str
    order: str


class BootSeries(msgspec.Struct, frozen=True, kw_only=True):
    """The runs that belong together, the oldest first."""

    order: str
    runs: tuple[BootRun, ...]

    @property
    def measured_variants(self) -> str:
        """The boots measured, each once: "AB". Several runs of one boot are one."""
        sides = {run.boot: run.side for run in self.runs}
        return "".join(sides.values())

    @property
    def remaining_variants(self) -> str:
        """The boots still to be measured, in order: by count where the order was not kept."""
        if self.order.startswith(self.measured_variants):
            return self.order[len(self.measured_variants) :]
        have = Counter(self.measured_variants)
        left = []
        for letter in self.order:
            if have[letter]:
                have[letter] -= 1
            else:
                left.append(letter)
        return "".join(left)

    def recordings_of(self, side: Letter) -> tuple[str, ...]:
        return tuple(run.recording for run in self.runs if run.side == side)

    def kernels_of(self, side: Letter) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.kernel for run in self.runs if run.side == side and run.kernel))

    def variant_of_boot(self, boot: str) -> Letter | None:
        return next((run.side for run in self.runs if run.boot == boot), None)


def boot_series_of(runs: Iterable[BootRun]) -> list[BootSeries]:
    """All series of one host, the oldest first. A `before` after a finished one begins the next."""
    all_series: list[BootSeries] = []
    for run in sorted(runs, key=lambda r: (r.wall, r.recording)):
        last = all_series[-1] if all_series else None
        again = last is not None and last.variant_of_boot(run.boot) == run.side
        if last is None or (not last.remaining_variants and not again and run.side == "A"):
            all_series.append(BootSeries(order=run.order, runs=(run,)))
        else:
            longer = max(last.order, run.order, key=len)
            all_series[-1] = BootSeries(order=longer, runs=(*last.runs, run))
    return all_series


def unfinished_series(runs: Sequence[BootRun]) -> BootSeries | None:
    """The last one, if it still lacks a boot."""
    all_series = boot_series_of(runs)
    return all_series[-1] if all_series and all_series[-1].remaining_variants else None


def variant_of_options(options: OptionMap) -> Letter | None:
    """The side that a run is asked to be. Raises UsageError for both."""
    before, after = options.is_set("before"), options.is_set("after")
    if before and after:
        raise UsageError("--before and --after exclude each other")
    return "A" if before else "B" if after else None


def boot_runs_of(earlier: Iterable[EarlierRun]) -> list[BootRun]:
    variant_boots = []
    for run in earlier:
        if run.options.get("before") or run.options.get("after"):
            boot = BootRun(
                recording=run.recording,
                side="A" if run.options.get("before") else "B",
                boot=run.boot_id,
                wall=run.wall,
                kernel=str(run.facts.get("kernel release", "")),
                order=str(run.options.get("order") or ORDERS[0]),
            )
            variant_boots.append(boot)
    return variant_boots


def check_boot_of_variant(side: Letter, boot_id: str, earlier: Sequence[EarlierRun]) -> None:
    """Before the run: a boot cannot be both sides, and `--after` needs a `--before`. Raises UsageError."""
    all_series = boot_series_of(boot_runs_of(earlier))
    last = all_series[-1] if all_series else None
    if last is None:
        if side == "B":
            raise UsageError("--after: no run of this host was recorded with --before; begin with that one")
        return
    other = last.variant_of_boot(boot_id)
    if other is not None and other != side and last.remaining_variants:
        raise UsageError(f"{OPTION[side]}: this boot was measured with {OPTION[other]} already; reboot first")


def describe_boot_series(earlier: Sequence[EarlierRun]) -> SeriesProgress:
    """Return what was measured until now, what can be compared, and what is still to do."""
    measured_boots = boot_runs_of(earlier)
    all_series = boot_series_of(measured_boots)
    if not all_series:
        return SeriesProgress(lines=())
    series = all_series[-1]
    a, b = series.recordings_of("A"), series.recordings_of("B")
    return SeriesProgress(
        lines=(_format_measured_boots(series),),
        to_do=(_format_next_step(series),) if unfinished_series(measured_boots) is not None else (),
        sides=(a, b) if a and b else None,
    )


def _format_measured_boots(series: BootSeries) -> str:
    parts = []
    for letter, option in OPTION.items():
        kernels = ", ".join(series.kernels_of(letter)) or "not measured yet"
        parts.append(f"{letter} ({option[2:]}): {kernels}")
    return f"boots measured: {series.measured_variants} of {series.order}; {'; '.join(parts)}"


def _format_next_step(series: BootSeries) -> str:
    letter: Letter = "A" if series.remaining_variants[0] == "A" else "B"
    kernels = series.kernels_of(letter)
    into = f"into {kernels[0]}" if kernels else "into the other kernel (or with the other setting)"
    again = " once more" if series.measured_variants.endswith(letter) else ""
    left = len(series.remaining_variants)
    rest = f"; {left} boots are left" if left > 1 else ""
    return f"next: reboot {into}{again}, then `hostdx run kernel {OPTION[letter]}`{rest}"
