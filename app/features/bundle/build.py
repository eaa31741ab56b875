"""Makes the bundle: the same bytes from the same tree and wheels."""

import hashlib
import io
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import msgspec

from hostdx.app import __version__
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.probes.number_text import parse_unsigned

TREE = Path(__file__).parents[4]
OWN = ("hostdx/app", "hostdx/probes", "hostdx/scenarios")
EPOCH, OLDEST_S = "SOURCE_DATE_EPOCH", 315532800  # 1980: a zip knows nothing older
LEFT_OUT = (".pyi", ".c", ".h", ".pyc")


PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
# EL 8 has 2.28
GLIBC = ("manylinux_2_28", "manylinux_2_17", "manylinux2014", "manylinux_2_12", "manylinux2010")
FETCHING_S = 600.0


class PortableArchive(NamedTuple):
    data: bytes
    bill: bytes  # of materials
    wheels: int


def build_portable_archive() -> PortableArchive:
    """Raises Failure where pip cannot fetch the wheels, or the epoch is no number."""
    time_s = _source_date_epoch_s()
    with tempfile.TemporaryDirectory(prefix="hostdx-bundle-") as place:
        wheels = [(wheel_path.name, wheel_path.read_bytes()) for wheel_path in fetch_wheels(Path(place))]
    parts: dict[str, dict[str, bytes]] = {"any": _own_files_by_path()}
    for name, wheel in wheels:
        part = parts.setdefault(_interpreter_and_machine(name), {})
        with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
            part |= {n: archive.read(n) for n in archive.namelist() if not n.endswith((*LEFT_OUT, "/"))}
    packed = {name: make_archive(part, time_s) for name, part in sorted(parts.items())}
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in packed.items()}
    digest = hashlib.sha256("".join(sums.values()).encode()).hexdigest()
    manifest = {
        "name": f"hostdx-{__version__}-{digest[:12]}",
        "time_s": time_s,
        "parts": {
            name: {"sha256": sums[name], "files": [(path, len(data)) for path, data in sorted(part.items())]}
            for name, part in sorted(parts.items())
        },
    }
    members = {
        "__main__.py": (TREE / "hostdx/app/features/bundle/stub.py").read_bytes(),
        "hostdx_unpack.py": (TREE / "hostdx/app/features/bundle/unpack.py").read_bytes(),
        "manifest.json": msgspec.json.encode(manifest),
        **{f"{name}.zip": data for name, data in packed.items()},
    }
    data = make_archive(members, time_s, zipfile.ZIP_STORED, b"#!/usr/bin/env python3\n")
    return PortableArchive(data, bill_of_materials_json(wheels), len(wheels))


def make_archive(
    files: Mapping[str, bytes], time_s: int, compression: int = zipfile.ZIP_DEFLATED, head: bytes = b""
) -> bytes:
    """A zip whose bytes depend on names, contents and the time alone."""
    packed = io.BytesIO(head)
    packed.seek(len(head))
    when = datetime.fromtimestamp(time_s, UTC).timetuple()[:6]
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in sorted(files.items()):
            info = zipfile.ZipInfo(name, when)
            info.create_system, info.external_attr, info.compress_type = 3, 0o644 << 16, compression
            archive.writestr(info, data)
    return packed.getvalue()


def bill_of_materials_json(wheels: list[tuple[str, bytes]]) -> bytes:
    """The software bill of materials in CycloneDX 1.5: what is in it, and the SHA-256 that the index had for it."""
    components = []
    for file, wheel in wheels:
        name, version = file.split("-")[:2]
        name = name.replace("_", "-").lower()
        components.append(
            {
                "type": "library",
                "bom-ref": file,
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}?file_name={file}",
                "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(wheel).hexdigest()}],
            }
        )
    own = {
        "type": "application",
        "name": "hostdx",
        "version": __version__,
        "purl": f"pkg:pypi/hostdx@{__version__}",
    }
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
    }
    return msgspec.json.format(msgspec.json.encode(document)) + b"\n"


def _interpreter_and_machine(wheel: str) -> str:
    """`any`, or what its interpreter and machine are: `cp311-x86_64`, `abi3-aarch64`."""
    python, abi, platform = wheel.removesuffix(".whl").split("-")[-3:]
    if platform == "any":
        return "any"
    machine = "x86_64" if platform.endswith("x86_64") else "aarch64"
    return f"{abi if abi == 'abi3' else python}-{machine}"


def _own_files_by_path() -> dict[str, bytes]:
    folders = (path for folder in OWN for path in (TREE / folder).rglob("*") if path.is_file())
    return {
        str(path.relative_to(TREE)): path.read_bytes()
        for path in (TREE / "hostdx/__init__.py", *folders)
        if path.suffix not in LEFT_OUT and not path.name.startswith(".")
    }


def _source_date_epoch_s() -> int:
    epoch_text = os.environ.get(EPOCH, str(OLDEST_S))
    time_s = parse_unsigned(epoch_text)
    if time_s is None or not OLDEST_S <= time_s < 1 << 32:
        raise Failure(
            f"bundle: {EPOCH}={epoch_text!r}: give seconds since 1970, from {OLDEST_S} (1980) on", USAGE
        )
    return time_s


def fetch_wheels(into: Path) -> list[Path]:
    """For every Python and machine, in versions that are installed here where they are. Raises Failure."""
    needed = _required_packages()
    pins = into / "constraints.txt"
    installed = {
        distribution.name: distribution.version
        for distribution in metadata.distributions()
        if distribution.name != "hostdx"
    }
    pins.write_text("".join(f"{name}=={version}\n" for name, version in installed.items()))
    for python in PYTHONS:
        for machine in MACHINES:
            _download_wheels(into, "-c", str(pins), *_pip_target_options(python, machine), *needed)
    return sorted(into.glob("*.whl"))


def _required_packages() -> list[str]:
    try:
        wanted = metadata.requires("hostdx") or []
    except metadata.PackageNotFoundError:
        raise Failure(
            "bundle: hostdx is not installed here, so what it needs is not known; pip install it"
        ) from None
    return [requirement for requirement in wanted if "extra ==" not in requirement]


def _pip_target_options(python: str, machine: str) -> list[str]:
    tags = [f"--platform={glibc}_{machine}" for glibc in GLIBC]
    abis = [f"--abi={abi}" for abi in (f"cp{python.replace('.', '')}", "abi3", "none")]
    return [*tags, f"--python-version={python}", "--implementation=cp", *abis]


def _download_wheels(into: Path, *arguments: str) -> None:
    argv = [sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "-d", str(into), *arguments]
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, errors="backslashreplace", timeout=FETCHING_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"bundle: pip did not end within {FETCHING_S:.0f} s; is its index reachable?") from None
    if done.returncode:
        error_lines = [
            line for line in done.stderr.splitlines() if re.match(r"ERROR|.*No module named", line)
        ]
        raise Failure(
            f"bundle: pip cannot fetch what hostdx needs: {(error_lines or ['it said nothing'])[-1][:300]}"
        )
