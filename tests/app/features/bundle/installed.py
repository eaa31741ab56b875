"""What is installed beside this interpreter as wheels, as the index would have them: a bundle without a network."""

import re
import sys
from importlib import metadata
from pathlib import Path

from hostdx.app.features.bundle import build


def needed_packages(names: list[str]) -> set[str]:
    """All that they need and that is installed."""
    packages: set[str] = set()
    while names:
        name = re.split(r"[^A-Za-z0-9._-]", names.pop())[0].lower()
        if name in packages:
            continue
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        packages.add(name)
        names += [requirement for requirement in needs if "extra ==" not in requirement]
    return packages


def copy_installed(into: Path) -> list[Path]:
    """In place of pip's: the same names, tags and contents."""
    wheels = []
    for name in sorted(needed_packages(build._required_packages())):
        package = metadata.distribution(name)
        files = {
            str(f): f.locate() for f in package.files or () if ".." not in f.parts and f.suffix != ".pyc"
        }
        parts = [path.rpartition("/")[2] for path in files if path.endswith(".so")]
        tag = "py3-none-any"
        if parts:
            python = "cp36-abi3" if "abi3" in parts[0] else "cp3{0}-cp3{0}".format(sys.version_info[1])
            tag = f"{python}-manylinux2014_{build.os.uname().machine}"
        wheel = into / f"{name.replace('-', '_')}-{package.version}-{tag}.whl"
        contents = {path: Path(str(place)).read_bytes() for path, place in files.items()}
        wheel.write_bytes(build.make_archive(contents, build.OLDEST_S))
        wheels.append(wheel)
    return sorted(wheels)
