"""The build with a Python of its own: PyInstaller's folder with the whole standard library, and the private tree."""

import compileall
import gzip
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path
from py_compile import PycInvalidationMode

from tests.release.packages import RECIPES

PYINSTALLER = "pyinstaller>=6.10,<7"
# of the standard library: what no program needs at run time
LEFT_OUT = frozenset(
    (
        "antigravity",
        "ensurepip",
        "idlelib",
        "lib2to3",
        "this",
        "tkinter",
        "turtle",
        "turtledemo",
        "venv",
        "test",
    )
)
_NEEDED = re.compile(rb"GLIBC_(\d+)\.(\d+)(?:\.\d+)?\0")


def missing_part() -> str:
    """Why this Python cannot be frozen; empty where it can."""
    is_shared = sysconfig.get_config_var("Py_ENABLE_SHARED") or Path(sys.base_prefix) == Path("/usr")
    return "" if is_shared else f"{sys.executable} has no shared library (--enable-shared)"


def freeze_folder(tree: Path, into: Path) -> Path:
    """`hostdx` with its program of the same name, below `into`; `tree` is what a package installs."""
    tools = into / "venv-pyinstaller"
    subprocess.run([sys.executable, "-m", "venv", str(tools)], check=True)
    subprocess.run([str(tools / "bin/pip"), "install", "-q", PYINSTALLER], check=True)
    names = sorted(n for n in sys.stdlib_module_names if n not in LEFT_OUT and not n.startswith("_"))
    words = [word for name in names for word in ("--hidden-import", name)]
    for name in names:
        if (Path(sysconfig.get_path("stdlib")) / name / "__init__.py").exists():
            words += ["--collect-submodules", name]
    frozen = into / "own-python"
    paths = {"--distpath": frozen, "--workpath": into / "pyinstaller-work", "--specpath": into}
    argv = [
        str(tools / "bin/pyinstaller"),
        "--noconfirm",
        "--onedir",
        "--name",
        "hostdx",
        "--log-level",
        "ERROR",
    ]
    for option, path in paths.items():
        argv += [option, str(path)]
    excluded = [word for name in sorted(LEFT_OUT) for word in ("--exclude-module", name)]
    subprocess.run(
        [*argv, *words, *excluded, str(RECIPES / "own_python.py")],
        env={"SOURCE_DATE_EPOCH": "315532800", "PYTHONHASHSEED": "1"} | os.environ,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    private = frozen / "hostdx/_internal/hostdx"
    shutil.copytree(tree / "usr/lib/hostdx", private)
    compileall.compile_dir(
        private, stripdir=str(private), quiet=2, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH
    )
    return frozen / "hostdx"


def archive_folder(folder: Path, into: Path, version: str, machine: str) -> Path:
    path = into / f"hostdx-{version}-{machine}.tar.gz"

    def without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mtime = 315532800
        return member

    with (
        path.open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packer,
        tarfile.open(fileobj=packer, mode="w") as archive,
    ):
        archive.add(folder, folder.name, filter=without_owner)  # in the order of names
    return path


def newest_glibc(place: Path) -> tuple[tuple[int, int], str]:
    """The newest version of glibc that a file below `place` asks for, and the file."""
    newest = (0, 0), "none"
    for path in sorted(p for p in place.rglob("*") if p.is_file() and not p.is_symlink()):
        data = path.read_bytes()
        if data.startswith(b"\x7fELF"):
            for major, minor in _NEEDED.findall(data):
                newest = max(newest, ((int(major), int(minor)), str(path.relative_to(place))))
    return newest
