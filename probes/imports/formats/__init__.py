"""What is known of each tool's output as data: `NAME.toml` beside this module, one a format."""

from typing import TypeVar

from hostdx.probes.files.safe_read import read_own_data

T = TypeVar("T")


def load_format(file: str, kind: type[T]) -> T:
    """The TOML file of that name, as this type."""
    return read_own_data(__file__, file, kind)
