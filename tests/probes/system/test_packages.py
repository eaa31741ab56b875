"""The installed packages, of dpkg and of a sosreport: versions of those that matter, a digest of the rest."""

from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.software import packages as room
from hostdx.probes.system.software.packages import InstalledPackages, read_packages
from hostdx.probes.types import Absent

STATUS = """Package: {name}
Status: {status}
Architecture: amd64
Version: {version}
Conffiles:
 Version: of no package
"""


def host_of(tmp_path: Path, path: str, text: str) -> Host:
    file = tmp_path / "root" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    (tmp_path / "root/proc").mkdir(exist_ok=True)
    return Host(str(tmp_path / "root"))


def dpkg(tmp_path: Path, *rows: tuple[str, str], status: str = "install ok installed") -> InstalledPackages:
    text = "\n".join(STATUS.format(name=name, version=version, status=status) for name, version in rows)
    packages = read_packages(host_of(tmp_path, "var/lib/dpkg/status", text))
    assert isinstance(packages, InstalledPackages)
    return packages


def test_versions_of_what_matters_and_a_digest_of_the_rest(tmp_path: Path) -> None:
    rows = [
        ("linux-image-6.1.0-18-amd64", "6.1.76-1"), ("linux-image-6.1.0-22-amd64", "6.1.94-1"),
        ("linux-image-amd64", "6.1.94-1"), ("intel-microcode", "3.2"), ("firmware-misc-nonfree", "2023"),
        ("bash", "5.2"), ("kernel-wedge", "1"),
    ]  # fmt: skip
    packages = dpkg(tmp_path, *rows)
    assert packages.telling == {
        "linux-image": "6.1.76-1, 6.1.94-1", "intel-microcode": "3.2", "firmware-misc-nonfree": "2023",
    }  # fmt: skip
    assert packages.others.startswith("7 packages, ")
    assert dpkg(tmp_path, *reversed(rows)) == packages
    updated = [(name, "9" if name == "intel-microcode" else version) for name, version in rows]
    assert dpkg(tmp_path, *updated).others == packages.others
    other = [(name, "9" if name == "bash" else version) for name, version in rows]
    assert (
        dpkg(tmp_path, *other).others != packages.others
        and dpkg(tmp_path, *other).telling == packages.telling
    )
    assert dpkg(tmp_path, *rows, ("falcon-sensor", "7")).others != packages.others


def test_what_is_removed_is_not_installed(tmp_path: Path) -> None:
    assert dpkg(tmp_path, ("tuned", "1"), status="deinstall ok config-files").telling == {}


def test_a_sosreport_of_an_el_host(tmp_path: Path) -> None:
    lines = """kernel-4.18.0-553.el8.x86_64      Mon Jan  1 00:00:00 2024
kernel-4.18.0-477.el8.x86_64      Mon Jan  1 00:00:00 2024
kernel-core-4.18.0-553.el8.x86_64 Mon Jan  1 00:00:00 2024
microcode_ctl-20230808-2.el8.x86_64
bash-4.4.20-5.el8.x86_64
no package
"""
    packages = read_packages(host_of(tmp_path, "installed-rpms", lines))
    assert isinstance(packages, InstalledPackages) and packages.source == "installed-rpms"
    assert packages.telling == {
        "kernel": "4.18.0-477.el8, 4.18.0-553.el8",
        "kernel-core": "4.18.0-553.el8",
        "microcode_ctl": "20230808-2.el8",
    }
    assert packages.others.startswith("5 packages")


def test_rpm_is_asked_where_there_is_no_dpkg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host()
    monkeypatch.setattr(room, "STATUS", str(tmp_path / "none"))
    monkeypatch.setattr(Host, "read_command", lambda self, *argv, **more: "glibc\t2.34-1\tx86_64\nodd line")
    packages = read_packages(host)
    assert isinstance(packages, InstalledPackages) and packages.telling == {"glibc": "2.34-1"}
    monkeypatch.setattr(
        Host, "read_command", lambda self, *argv, **more: Absent("rpm is not installed", "tool")
    )
    assert isinstance(read_packages(Host()), Absent)
