"""Reads knowledge: dated, sourced TOML in `triage/knowledge`, and a site's own in /etc/hostdx/knowledge.d/*.toml.

A file holds arrays of tables (`[[kernel_fault]]`); each table is one entry of the array's type. A site's file
may hold any of them, and its entries come first, so that a site can say something before we do.
"""

import datetime
from pathlib import Path
from typing import Generic, TypeVar, cast

import msgspec

from hostdx.probes.files.path_ownership import find_root_objection
from hostdx.probes.files.safe_read import FileTooLarge, read_regular, read_trusted_file
from hostdx.probes.reading.parsed_toml import parse_toml
from hostdx.probes.reading.patterns import add_needed_words
from hostdx.probes.types import Json

PACKAGE = Path(__file__).parents[1]
KNOWLEDGE = PACKAGE / "triage" / "knowledge"
SITE = Path("/etc/hostdx/knowledge.d")
MAX_FILE_BYTES = 1 << 20  # a knowledge file is written by hand; anything longer is not one

T = TypeVar("T")


class KnowledgeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One table of a knowledge file. `dated`: when its sources were read."""

    dated: datetime.date


class LoadedEntries(msgspec.Struct, Generic[T], frozen=True):
    """The entries, a site's own first, and one line for each of the site's that could not be used."""

    entries: tuple[T, ...]
    problems: tuple[str, ...] = ()


def _parse_by_tomllib(data: bytes) -> dict[str, Json]:
    import tomllib  # 8 ms of a start: ours were parsed before

    return tomllib.loads(data.decode())


def read_toml_tables(path: Path) -> dict[str, Json]:
    """One file's content. Raises ValueError with one line that names the file."""
    own = path.is_relative_to(PACKAGE)
    try:
        # our own files lie beside our code: whoever may put a link there may change the code
        data = read_regular(str(path), MAX_FILE_BYTES) if own else read_trusted_file(path, MAX_FILE_BYTES)
    except FileTooLarge:
        raise ValueError(f"{path}: longer than {MAX_FILE_BYTES} bytes") from None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    try:
        read = parse_toml(path, data, add_needed_words) if own else _parse_by_tomllib(data)
    except (ValueError, RecursionError) as error:  # tomllib's own, and int()'s of thousands of digits
        raise ValueError(f"{path}: {error}") from None
    return read


def read_entries(path: Path, key: str, kind: type[T]) -> LoadedEntries[T]:
    """The entries under `key` in one file; one that does not fit its type is a problem, not a failure."""
    try:
        rows = read_toml_tables(path).get(key, [])
    except ValueError as error:
        return LoadedEntries((), (str(error),))
    if not isinstance(rows, list):
        return LoadedEntries((), (f"{path}: {key} must be an array of tables, [[{key}]]",))
    good: list[T] = []
    problems: list[str] = []
    for number, entry in enumerate(rows, 1):
        try:
            good.append(msgspec.convert(entry, kind))
        except msgspec.ValidationError as error:
            problems.append(f"{path}: {key} number {number}: {error}")
    return LoadedEntries(tuple(good), tuple(problems))


_loaded: dict[tuple[str, str, Path], object] = {}


def load_entries(name: str, key: str, kind: type[T], site: Path = SITE) -> LoadedEntries[T]:
    """The entries under `key` of `name`.toml, after those of the site's own files; read once.

    Raises ValueError where our own file is wrong; a site's mistakes are returned as problems.
    """
    if (name, key, site) not in _loaded:
        own = read_entries(KNOWLEDGE / f"{name}.toml", key, kind)
        if own.problems:
            raise ValueError(own.problems[0])
        site_files, distrusted = trusted_files(site)
        parts = [read_entries(path, key, kind) for path in site_files]
        _loaded[name, key, site] = LoadedEntries(
            tuple(e for part in parts for e in part.entries) + own.entries,
            distrusted + tuple(p for part in parts for p in part.problems),
        )
    return cast(LoadedEntries[T], _loaded[name, key, site])


def trusted_files(site: Path) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """A site's files, and a line for each that root leaves out because others could write it: rules name commands."""
    good: list[Path] = []
    problems: list[str] = []
    for path in sorted(site.glob("*.toml")):
        if writer := find_root_objection(str(path)):
            problems.append(f"{path}: not read as root: {writer}")
        else:
            good.append(path)
    return tuple(good), tuple(problems)
