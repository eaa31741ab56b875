"""`--before` … reboot … `--after`: which boots of a host were measured as which side, and what is still to do.

The plan is in the recordings themselves: each run says which side it is and which order was wanted.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from scenarios.model import Earlier, Options, SoFar, UsageError

Letter: TypeAlias = Literal["A", "B"]  # before, after
OPTION: dict[Letter, str] = {"A": "--before", "B": "--after"}
ORDERS = ("AB", "ABBA", "ABBAAB")


class Boot(msgspec.Struct, frozen=True, kw_only=True):
    """A finished run that says which side it is. `wall` is UTC, ISO 8601; `order` what was asked for with it."""

    recording: str
    side: Letter
    boot: str
    wall: str
    kernel: str
    order: str


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """The runs that belong together, the oldest first."""

    order: str
    runs: tuple[Boot, ...]

    @property
    def done(self) -> str:
        """The boots measured, each once: "AB". Several runs of one boot are one."""
        sides = {run.boot: run.side for run in self.runs}
        return "".join(sides.values())

    @property
    def left(self) -> str:
        """The boots still to be measured, in order: by count where the order was not kept."""
        if self.order.startswith(self.done):
            return self.order[len(self.done) :]
        have = Counter(self.done)
        left = []
        for letter in self.order:
            if have[letter]:
                have[letter] -= 1
            else:
                left.append(letter)
        return "".join(left)

    def recordings(self, side: Letter) -> tuple[str, ...]:
        return tuple(run.recording for run in self.runs if run.side == side)

    def kernels(self, side: Letter) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.kernel for run in self.runs if run.side == side and run.kernel))

    def side_of(self, boot: str) -> Letter | None:
        return next((run.side for run in self.runs if run.boot == boot), None)


def series_of(runs: Iterable[Boot]) -> list[Series]:
    """All series of one host, the oldest first. A `before` after a finished one begins the next."""
    found: list[Series] = []
    for run in sorted(runs, key=lambda r: (r.wall, r.recording)):
        last = found[-1] if found else None
        again = last is not None and last.side_of(run.boot) == run.side
        if last is None or (not last.left and not again and run.side == "A"):
            found.append(Series(order=run.order, runs=(run,)))
        else:
            longer = max(last.order, run.order, key=len)
            found[-1] = Series(order=longer, runs=(*last.runs, run))
    return found


def open_series(runs: Sequence[Boot]) -> Series | None:
    """The last one, if it still lacks a boot."""
    found = series_of(runs)
    return found[-1] if found and found[-1].left else None


def side_of(options: Options) -> Letter | None:
    """The side that a run is asked to be. Raises Usage for both."""
    before, after = options.is_set("before"), options.is_set("after")
    if before and after:
        raise UsageError("--before and --after exclude each other")
    return "A" if before else "B" if after else None


def boots(earlier: Iterable[Earlier]) -> list[Boot]:
    found = []
    for run in earlier:
        if run.options.get("before") or run.options.get("after"):
            boot = Boot(
                recording=run.recording,
                side="A" if run.options.get("before") else "B",
                boot=run.boot_id,
                wall=run.wall,
                kernel=str(run.facts.get("kernel release", "")),
                order=str(run.options.get("order") or ORDERS[0]),
            )
            found.append(boot)
    return found


def check(side: Letter, boot_id: str, earlier: Sequence[Earlier]) -> None:
    """Before the run: a boot cannot be both sides, and `--after` needs a `--before`. Raises Usage."""
    found = series_of(boots(earlier))
    last = found[-1] if found else None
    if last is None:
        if side == "B":
            raise UsageError("--after: no run of this host was recorded with --before; begin with that one")
        return
    other = last.side_of(boot_id)
    if other is not None and other != side and last.left:
        raise UsageError(f"{OPTION[side]}: this boot was measured with {OPTION[other]} already; reboot first")


def so_far(earlier: Sequence[Earlier]) -> SoFar:
    """What was measured until now, what can be compared, and what is still to do."""
    known = boots(earlier)
    found = series_of(known)
    if not found:
        return SoFar(lines=())
    series = found[-1]
    a, b = series.recordings("A"), series.recordings("B")
    return SoFar(
        lines=(_measured(series),),
        to_do=(_to_do(series),) if open_series(known) is not None else (),
        sides=(a, b) if a and b else None,
    )


def _measured(series: Series) -> str:
    parts = []
    for letter, option in OPTION.items():
        kernels = ", ".join(series.kernels(letter)) or "not measured yet"
        parts.append(f"{letter} ({option[2:]}): {kernels}")
    return f"boots measured: {series.done} of {series.order}; {'; '.join(parts)}"


def _to_do(series: Series) -> str:
    letter: Letter = "A" if series.left[0] == "A" else "B"
    kernels = series.kernels(letter)
    into = f"into {kernels[0]}" if kernels else "into the other kernel (or with the other setting)"
    again = " once more" if series.done.endswith(letter) else ""
    left = len(series.left)
    rest = f"; {left} boots are left" if left > 1 else ""
    return f"next: reboot {into}{again}, then `hostdx run kernel {OPTION[letter]}`{rest}"
