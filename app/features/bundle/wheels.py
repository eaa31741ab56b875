"""The wheels of what hostdx needs, as pip fetches them from the index that it is set to."""

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from app.terminal.failure import Failure

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
GLIBC = (
    "manylinux_2_28",
    "manylinux_2_17",
    "manylinux2014",
    "manylinux_2_12",
    "manylinux2010",
)  # EL 8 has 2.28
FETCHING_S = 600.0


def fetch_wheels(into: Path) -> list[Path]:
    """For every Python and machine, in versions that are installed here where they are. Raises Failure."""
    needed = _needed_packages()
    pins = into / "constraints.txt"
    installed = {
        distribution.name: distribution.version
        for distribution in metadata.distributions()
        if distribution.name != "hostdx"
    }
    pins.write_text("".join(f"{name}=={version}\n" for name, version in installed.items()))
    for python in PYTHONS:
        for machine in MACHINES:
            _run_pip(into, "-c", str(pins), *_target_options(python, machine), *needed)
    return sorted(into.glob("*.whl"))


def _needed_packages() -> list[str]:
    try:
        wanted = metadata.requires("hostdx") or []
    except metadata.PackageNotFoundError:
        raise Failure(
            "bundle: hostdx is not installed here, so what it needs is not known; pip install it"
        ) from None
    return [requirement for requirement in wanted if "extra ==" not in requirement]


def _target_options(python: str, machine: str) -> list[str]:
    tags = [f"--platform={glibc}_{machine}" for glibc in GLIBC]
    abis = [f"--abi={abi}" for abi in (f"cp{python.replace('.', '')}", "abi3", "none")]
    return [*tags, f"--python-version={python}", "--implementation=cp", *abis]


def _run_pip(into: Path, *arguments: str) -> None:
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
