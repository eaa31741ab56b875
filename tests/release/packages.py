"""The .deb and the .rpm, from what the bundle holds for one machine: the same files in a private tree."""

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import pytest

from hostdx.app.features.watch import timer as timers
from hostdx.app.features.watch.battery import NightSettings
from hostdx.app.features.watch.incidents import recorder as incident_service
from hostdx.app.features.watch.timer import NAME, WatchTimer
from tests.syntax import ROOT

RECIPES = ROOT / ".packaging"
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
MAN = "usr/share/man/man1/hostdx.1.gz"
SHELLS = {
    "bash": "usr/share/bash-completion/completions/hostdx",
    "zsh": "usr/share/zsh/site-functions/_hostdx",
    "fish": "usr/share/fish/vendor_completions.d/hostdx.fish",
}
UNITS = "usr/lib/systemd/system"
RECORDER = incident_service.NAME
TMPFILES = "usr/lib/tmpfiles.d/hostdx.conf"
DOC = "usr/share/doc/hostdx"
OVERRIDES = "usr/share/lintian/overrides/hostdx"
VENDORS = "usr/share/zsh/vendor-completions/_hostdx"  # where Debian's zsh looks


def stage(bundle: Path, root: Path, machine: str) -> Path:
    """What a package installs, below `root`; the same for both kinds."""
    with zipfile.ZipFile(bundle) as outer:
        manifest = json.loads(outer.read("manifest.json"))
        for name in manifest["parts"]:
            if name == "any" or name.endswith(machine):
                zipfile.ZipFile(io.BytesIO(outer.read(f"{name}.zip"))).extractall(root / "usr/lib/hostdx")
    cache = {"XDG_CACHE_HOME": str(root.parent / "cache")}
    texts = {MAN: ["man"], **{path: ["completion", shell] for shell, path in SHELLS.items()}}
    for path, words in texts.items():
        stdout = subprocess.run(
            [sys.executable, str(bundle), *words], env=os.environ | cache, capture_output=True, check=True
        ).stdout
        _write(root / path, gzip.compress(stdout, mtime=0) if path.endswith(".gz") else stdout)
    with pytest.MonkeyPatch.context() as patched:  # as the package's own program would print them
        patched.setattr(timers, "own_command", lambda: ("/usr/bin/hostdx",))
        timer = WatchTimer(at="02:30", wanted=NightSettings())
        _write(root / UNITS / f"{NAME}.service", timer.service_unit.encode())
        _write(root / UNITS / f"{NAME}.timer", timer.timer_unit.encode())
        patched.setattr(incident_service, "own_command", lambda: ("/usr/bin/hostdx",))
        for name, text in incident_service.IncidentService().files.items():
            _write(root / UNITS / name, text.encode())
    _write(root / TMPFILES, (RECIPES / "tmpfiles.conf").read_bytes())
    _write(root / "usr/bin/hostdx", (RECIPES / "hostdx.sh").read_bytes(), 0o755)
    _write(root / "etc/hostdx/README", (RECIPES / "etc-README").read_bytes())
    (root / "etc/hostdx/knowledge.d").mkdir()
    _write(root / DOC / "copyright", (ROOT / "LICENSE").read_bytes())
    changes = gzip.compress((ROOT / "CHANGELOG.md").read_bytes(), mtime=0)
    _write(root / DOC / "changelog.gz", changes)
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
        os.utime(path, (manifest["time_s"],) * 2)
    return root


def deb(tree: Path, into: Path, version: str, machine: str) -> Path:
    work = into / f"deb-{version}"
    shutil.copytree(tree, work)
    (work / VENDORS).parent.mkdir(parents=True)
    (work / SHELLS["zsh"]).rename(work / VENDORS)
    (work / SHELLS["zsh"]).parent.rmdir()
    _write(work / OVERRIDES, (RECIPES / "deb/overrides").read_bytes())
    _write(work / DOC / "copyright", (RECIPES / "deb/copyright").read_bytes())
    (work / DOC / "changelog.gz").rename(work / DOC / "CHANGELOG.md.gz")
    made_at = datetime.fromtimestamp((work / MAN).stat().st_mtime, UTC)
    changes = (
        f"hostdx ({version}) unstable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n"
        f" -- hostdx <hostdx@localhost>  {format_datetime(made_at)}\n"
    )
    _write(work / DOC / "changelog.gz", gzip.compress(changes.encode(), mtime=0))
    files = sorted(path for path in work.rglob("*") if path.is_file())
    size = sum(path.stat().st_size for path in files) >> 10
    sums = "".join(
        f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(work)}\n" for path in files
    )
    control = (RECIPES / "deb/control").read_text()
    for mark, value in (("@VERSION@", version), ("@ARCHITECTURE@", DEBIAN[machine]), ("@SIZE@", f"{size}")):
        control = control.replace(mark, value)
    texts = {"control": control, "md5sums": sums, "conffiles": "/etc/hostdx/README\n"}
    for name, text in texts.items():
        _write(work / "DEBIAN" / name, text.encode())
    for name in ("postinst", "prerm", "postrm"):
        _write(work / "DEBIAN" / name, (RECIPES / "deb" / name).read_bytes(), 0o755)
    path = into / f"hostdx_{version}_{DEBIAN[machine]}.deb"
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Zxz", "-z3", "--build", str(work), str(path)],
        env={"SOURCE_DATE_EPOCH": "315532800"} | os.environ, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    shutil.rmtree(work)
    return path


def rpm(tree: Path, into: Path, version: str, machine: str) -> Path:
    top = into / "rpmbuild"
    defined = {"_topdir": top, "staged": tree, "version": version, "_dbpath": top / "db"}
    words = [word for name, value in defined.items() for word in ("--define", f"{name} {value}")]
    argv = [
        "rpmbuild",
        "-bb",
        "--quiet",
        "--target",
        f"{machine}-linux",
        *words,
        str(RECIPES / "hostdx.spec"),
    ]
    subprocess.run(
        argv, env={"SOURCE_DATE_EPOCH": "315532800"} | os.environ, check=True, stdout=subprocess.DEVNULL
    )
    [path] = top.rglob("hostdx-*.rpm")
    path = path.rename(into / path.name)
    shutil.rmtree(top)
    return path


def _write(path: Path, data: bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
