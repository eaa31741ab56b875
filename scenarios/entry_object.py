"""What an entry point of another package names."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def load_entry(entry: EntryPoint) -> object:
    """Return the entry's object. Raises Exception alone: a module that leaves the program when it is imported, too."""
    try:
        return cast("object", entry.load())
    except SystemExit as error:
        raise ImportError("its module ends the program when it is imported") from error
