"""Golden cell grids: text files that a reader can compare. `HOSTDX_GOLDEN=write` makes them anew; look at the diff."""

import os
from pathlib import Path

GOLDEN = Path(__file__).parents[2] / "app" / "tui" / "golden"


def compare_golden(name: str, text: str) -> None:
    """Compares with the file of that name, or writes it where that was asked for."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("HOSTDX_GOLDEN") == "write":
        path.write_text(text, "utf-8")
        return
    assert path.exists(), f"{path} is missing: HOSTDX_GOLDEN=write makes it"
    assert text == path.read_text("utf-8"), f"the screen differs from {path}"
