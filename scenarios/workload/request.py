"""What is asked for, from the command line's options or a TOML file with the same words: checked before a run."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from typing import Any

import msgspec

from hostdx.probes import units
from hostdx.probes.engine.command.energy import is_energy_readable
from hostdx.probes.files.safe_read import FileTooLarge, read_trusted_file
from hostdx.probes.types import Json
from hostdx.probes.units import parse_size
from hostdx.scenarios.contract.declared_options import COMMON_OPTIONS, declared_options
from hostdx.scenarios.contract.model import OptionMap, UsageError
from hostdx.scenarios.contract.option_value import parse_number
from hostdx.scenarios.contract.plan import Metric, Option, Workload
from hostdx.scenarios.workload.cold import ALL
from hostdx.scenarios.workload.group import ScoreReader
from hostdx.scenarios.workload.variant_bench import CPU, ENERGY, SCORE, SHOWN, WALL
from hostdx.scenarios.workload.variants import (
    CommandVariant,
    check_startable,
    make_variant,
    parse_variant,
    shell_words,
)

MAX_FILE_BYTES = 1 << 20
MAX_VARIANTS = 8
EVERY = 5  # runs between two treatments
EXAMPLE_VARIANTS = "--variant 'nvme: TMPDIR=/scratch' --variant 'sata: TMPDIR=/data'"
EXAMPLE_SERIES = "--series 20 --treat 'fstrim -v /scratch' --every 5"
MIN_SERIES_RUNS = 6  # hostdx.scenarios.experiment.trend tells no trend of fewer
IN_FILE = {
    option.name: option
    for option in declared_options(__file__, least_series=MIN_SERIES_RUNS)
    if option not in COMMON_OPTIONS and option.name not in ("file", "private", "call-paths")
}


class CommandRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`series`: so many runs of the one variant; 0: the variants are compared, the first one is the baseline."""

    jobs: tuple[CommandVariant, ...]
    load: Workload
    at_most_s: float
    prepare: tuple[str, ...] = ()
    cleanup: tuple[str, ...] = ()
    score: str = ""
    series: int = 0
    treat: tuple[str, ...] = ()
    every: int = EVERY
    cold: tuple[str, ...] = ()
    most_bytes: int = 0

    @property
    def variant_pairs(self) -> list[tuple[str, str]]:
        return [(self.jobs[0].id, other.id) for other in self.jobs[1:]]

    @property
    def fewest_runs(self) -> int:
        """Of a comparison's groups, which hold two runs of each variant; 0 for a series, which has no groups."""
        return 0 if self.series else 2 * len(self.jobs) * self.load.min_groups


def parse_request(options: OptionMap, cwd: str) -> CommandRequest:
    """Raises UsageError in one line."""
    words: dict[str, Any] = {k: v for k, v in options.values.items() if k in IN_FILE}
    if name := options.as_string("file"):
        in_file = _read_options_of_file(name)
        typed = {k for k in words if k in in_file and words[k] != IN_FILE[k].default}
        if typed:
            raise UsageError(f"--{min(typed)} is given on the command line and in {name}; give it once")
        words |= in_file
    directory = str(words.get("cwd") or cwd)
    command = str(words.get("cmd") or "")
    series = int(words.get("series") or 0)
    jobs = _parse_variants(words.get("variant") or [], command, directory, series)
    names = {variant.id for variant in jobs}
    _refuse_if_any(
        (series and len(jobs) != 1, "--series runs one variant; leave --variant out, or give it once"),
        (not series and len(jobs) < 2, f"give --variant twice at least: {EXAMPLE_VARIANTS}"),
        (len(jobs) > MAX_VARIANTS, f"at most {MAX_VARIANTS} variants in a run"),
        (len(names) < len(jobs), "two variants have the same name"),
    )
    commands = {k: shell_words(str(words.get(k) or ""), f"--{k}") for k in ("prepare", "cleanup", "treat")}
    for option, argv in commands.items():
        for variant in jobs if argv else ():
            check_startable(argv, variant.env, variant.cwd, f"--{option}")
    cold = tuple(str(path) for path in words.get("cold") or ())
    every = int(words.get("every") or EVERY)
    treat = commands["treat"]
    needs_series = bool(treat or words.get("every"))
    _refuse_if_any(
        (
            ALL in cold and os.geteuid(),
            "--cold all: needs root; name the files or folders that the command reads",
        ),
        (any(not path or "\0" in path for path in cold), "--cold: name a file or a folder, or all"),
        (needs_series and not (series and treat), f"--treat and --every need a series: {EXAMPLE_SERIES}"),
        (
            treat and every >= series,
            f"--every {every}: too many for a series of {series} runs: no treatment would run",
        ),
    )
    score = str(words.get("score") or "")
    if score:
        ScoreReader(score)
    at_most_s = float(words.get("at-most") or 600.0)
    return CommandRequest(
        jobs=jobs,
        load=_workload_with_metrics(score, str(words.get("score-better") or "more"), at_most_s),
        at_most_s=at_most_s,
        score=score,
        series=series,
        every=every,
        cold=cold,
        most_bytes=int(words.get("most-bytes") or 0),
        **commands,
    )


def _refuse_if_any(*faults: tuple[object, str]) -> None:
    """Raise UsageError for the first fault that is there. A fault is a condition and its line."""
    for is_there, line in faults:
        if is_there:
            raise UsageError(line)


def _workload_with_metrics(score: str, better: str, at_most_s: float) -> Workload:
    judged = [Metric(WALL, "s", better="less"), Metric(CPU, "s", better="less")]
    if is_energy_readable():
        judged.append(Metric(ENERGY, "J", better="less"))
    if score:
        judged.append(Metric(SCORE, "", better="less" if better == "less" else "more"))
    return Workload(
        id="command",
        title="the command",
        metrics=(*judged, *SHOWN),
        block_s=0.02,  # the warm-up tells how long it really takes
        max_block_s=at_most_s,
        min_operations=1,
        min_groups=4,
    )


def _parse_variants(variants: object, command: str, cwd: str, series: int) -> tuple[CommandVariant, ...]:
    if not isinstance(variants, list):
        raise UsageError("variant: a list is wanted")
    if not variants and series:
        return (make_variant("run", [], command, cwd),)
    return tuple(
        _variant_from_table(variant_words, command, cwd)
        if isinstance(variant_words, dict)
        else parse_variant(str(variant_words), command, cwd)
        for variant_words in variants
    )


def _variant_from_table(table: Mapping[str, Any], command: str, cwd: str) -> CommandVariant:
    """`[[variant]]` with `name` and the words; variables in capitals, or all in a table `env`."""
    words: list[tuple[str, str]] = []
    for key, value in table.items():
        if key == "env" and isinstance(value, dict):
            if odd := next((k for k, v in value.items() if "=" in k or isinstance(v, list | dict)), None):
                raise UsageError(f"variant {table.get('name', '')}: env: {odd!r} is no variable with a text")
            words += [("env", f"{k}={v}") for k, v in value.items()]
        elif isinstance(value, list | dict):
            raise UsageError(f"variant {table.get('name', '')}: {key}: a text or a number is wanted")
        elif key != "name":
            words.append((key, str(value)))
    return make_variant(str(table.get("name", "")), words, command, cwd)


def _read_options_of_file(name: str) -> dict[str, Json]:
    try:
        text = read_trusted_file(name, MAX_FILE_BYTES)
    except FileTooLarge:
        raise UsageError(f"--file {name}: more than {units.format_size(MAX_FILE_BYTES)}") from None
    except OSError as error:
        raise UsageError(f"--file {name}: {error.strerror}") from None
    try:
        file_words = tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--file {name}: {' '.join(str(error).split())[:200]}") from None
    if unknown := sorted(set(file_words) - set(IN_FILE)):
        raise UsageError(f"--file {name}: unknown word {unknown[0]!r}; known are {', '.join(IN_FILE)}")
    try:
        return {key: _option_of_file(IN_FILE[key], value) for key, value in file_words.items()}
    except ValueError as error:
        raise UsageError(f"--file {name}: {error}") from None


def _option_of_file(option: Option, value: Json) -> Json:
    """Of a file, as the command line would have it. Raises ValueError."""
    if option.kind in ("integer", "number"):
        if isinstance(value, bool | str):
            raise ValueError(f"{option.name}: a number is wanted")
        return parse_number(option, str(value))
    if option.kind == "bytes":
        if (size := parse_size(str(value))) is None:
            raise ValueError(f"{option.name}: write 512M or 4GiB")
        return size
    if option.name == "variant":
        if not isinstance(value, list):
            raise ValueError("variant: a list of tables or texts is wanted")
        return value
    texts = value if option.multiple and isinstance(value, list) else [value]
    if not all(isinstance(text, str) and text in (option.choices or (text,)) for text in texts):
        wanted = " or ".join(option.choices) or (
            "a text, or a list of texts," if option.multiple else "a text"
        )
        raise ValueError(f"{option.name}: {wanted} is wanted")
    return texts if option.multiple else value
