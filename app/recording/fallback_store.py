"""A recording whose disk is full by the end of the run is kept on another one: what was measured is not lost."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

PLACES = ("/var/tmp", "/tmp", "/dev/shm")


def rescued(path: Path, length: int, rest: Iterable[bytes]) -> Path | None:
    """The first `length` bytes of the file and then `rest`, in a private file on another file system; None: nowhere."""
    lines = list(rest)
    for place in (os.environ.get("TMPDIR", ""), *PLACES):
        try:
            if not place.startswith("/") or Path(place).stat().st_dev == path.parent.stat().st_dev:
                continue
            descriptor, name = tempfile.mkstemp(prefix=f"{path.stem}-", suffix=path.suffix, dir=place)
        except OSError:
            continue
        try:
            with os.fdopen(descriptor, "wb") as out:
                with path.open("rb") as written:
                    out.write(written.read(length))
                out.writelines(lines)
                out.flush()
                os.fsync(out.fileno())
            return Path(name)
        except OSError:
            Path(name).unlink(missing_ok=True)
    return None
