"""What is installed beside this interpreter as wheels, as the index would have them: a bundle without a network."""

import re
import sys
from importlib import metadata
from pathlib import Path

from hostdx.app.features.bundle import build


def closure(names: list[str]) -> set[str]:
    """All that they need and that is installed."""
    found: set[str] = set()
    while names:
        name = re.split(r"[^A-Za-z0-9._-]", names.pop())[0].lower()
        if name in found:
            continue
        try:
            wanted = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        found.add(name)
        names += [one for one in wanted if "extra ==" not in one]
    return found


def fetched(into: Path) -> list[Path]:
    """In place of pip's: the same names, tags and contents."""
    made = []
    for name in sorted(closure(build._needed_packages())):
        one = metadata.distribution(name)
        files = {str(f): f.locate() for f in one.files or () if ".." not in f.parts and f.suffix != ".pyc"}
        parts = [path.rpartition("/")[2] for path in files if path.endswith(".so")]
        tag = "py3-none-any"
        if parts:
            python = "cp36-abi3" if "abi3" in parts[0] else "cp3{0}-cp3{0}".format(sys.version_info[1])
            tag = f"{python}-manylinux2014_{build.os.uname().machine}"
        wheel = into / f"{name.replace('-', '_')}-{one.version}-{tag}.whl"
        contents = {path: Path(str(place)).read_bytes() for path, place in files.items()}
        wheel.write_bytes(build.make_archive(contents, build.OLDEST_S))
        made.append(wheel)
    return sorted(made)
