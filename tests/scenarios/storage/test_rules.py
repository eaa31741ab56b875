"""Disk rules on small captured trees: what they say, and that they stay silent on healthy ones."""

import os
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk import smart
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.events import Checked, Found
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.rule import FactUnreadable, HostRule, RuleInapplicable
from hostdx.scenarios.storage import rules as storage
from hostdx.scenarios.triage.rules.engine import check_rule
from hostdx.scenarios.triage.rules.known import load_written_rules
from hostdx.scenarios.triage.triage import apply_rule
from tests.every_case import every_case

PCI = "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"


def asked_ncq(host: Host) -> list[Finding]:
    return _ask_rule(host, "storage.ncq")


def asked_smart(host: Host) -> list[Finding]:
    return _ask_rule(host, "storage.smart")


def asked_downshifts(host: Host) -> list[Finding]:
    return _ask_rule(host, "storage.sata-downshift")


def asked_sata_link(host: Host) -> list[Finding]:
    return _ask_rule(host, "storage.sata-link")


def _ask_rule(host: Host, id: str) -> list[Finding]:
    return list(check_rule(next(rule for rule in load_written_rules().rules if rule.id == id), host))


def write_file(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def make_link(root: Path, path: str, target: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.symlink_to(target)


def nvme_host(root: Path, width: str) -> Host:
    write_file(root, f"{PCI}/nvme/nvme0/nvme0n1/size", "1953525168\n")
    write_file(root, f"{PCI}/nvme/nvme0/nvme0n1/queue/rotational", "0\n")
    write_file(root, f"{PCI}/nvme/nvme0/model", "Samsung PM9A3   \n")
    write_file(root, f"{PCI}/nvme/nvme0/transport", "pcie\n")
    for folder, lanes in ((PCI, width), (str(Path(PCI).parent), "4")):
        write_file(root, f"{folder}/current_link_speed", "8.0 GT/s PCIe\n")
        write_file(root, f"{folder}/max_link_speed", "8.0 GT/s PCIe\n")
        write_file(root, f"{folder}/current_link_width", f"{lanes}\n")
        write_file(root, f"{folder}/max_link_width", "4\n")
    make_link(root, f"{PCI}/nvme/nvme0/device", "../../../0000:01:00.0")
    make_link(root, f"{PCI}/nvme/nvme0/nvme0n1/device", "../../nvme0")
    make_link(root, "sys/class/nvme/nvme0", f"../../../{PCI}/nvme/nvme0")
    make_link(root, "sys/block/nvme0n1", f"../../{PCI}/nvme/nvme0/nvme0n1")
    make_link(root, "sys/class/block/nvme0n1", f"../../../{PCI}/nvme/nvme0/nvme0n1")
    return Host(str(root))


def sata_host(root: Path, **files: str) -> Host:
    base = "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0"
    write_file(root, f"{base}/block/sda/size", "976773168\n")
    write_file(root, f"{base}/block/sda/queue/rotational", "0\n")
    write_file(root, f"{base}/model", "Samsung SSD 870\n")
    for name, text in files.items():
        write_file(root, f"{base}/{name}", text)
    make_link(root, f"{base}/block/sda/device", "../../../0:0:0:0")
    make_link(root, "sys/block/sda", f"../../{base}/block/sda")
    make_link(root, "sys/class/block/sda", f"../../../{base}/block/sda")
    return Host(str(root))


@every_case(
    ("guest", "caches", "off"),
    [
        (True, ("write back", "write through"), ["sdb"]),
        (True, ("write back", "write back"), []),
        (True, ("write through", "write through"), []),
        (False, ("write back", "write through"), None),  # storage.write-cache says it of each disk
    ],
)
def test_one_of_two_like_disks_without_its_write_cache(
    tmp_path: Path, guest: bool, caches: tuple[str, str], off: list[str] | None
) -> None:
    sata_host(tmp_path)
    base = "sys/devices/pci0000:00/0000:00:1f.2/ata2/host1/target1:0:0/1:0:0:0"
    write_file(tmp_path, f"{base}/block/sdb/size", "976773168\n")
    write_file(tmp_path, f"{base}/model", "Samsung SSD 870\n")
    make_link(tmp_path, f"{base}/block/sdb/device", "../../../1:0:0:0")
    make_link(tmp_path, "sys/block/sdb", f"../../{base}/block/sdb")
    make_link(tmp_path, "sys/class/block/sdb", f"../../../{base}/block/sdb")
    for name, cache in zip(("sda", "sdb"), caches, strict=True):
        write_file(tmp_path, f"sys/block/{name}/queue/write_cache", f"{cache}\n")
    if guest:
        write_file(tmp_path, "proc/cpuinfo", "flags : fpu hypervisor\n")
        write_file(tmp_path, "sys/class/dmi/id/sys_vendor", "QEMU\n")
    if off is None:
        with pytest.raises(RuleInapplicable):
            list(storage.find_differing_caches(Host(str(tmp_path))))
        return
    assert [f.subject for f in storage.find_differing_caches(Host(str(tmp_path)))] == off


def test_a_queue_that_cannot_be_read_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(FactUnreadable):
        list(asked_ncq(sata_host(tmp_path)))


@pytest.mark.parametrize(
    ("policy", "ids"), [("med_power_with_dipm\n", ["storage.link-power"]), ("max_performance\n", [])]
)
def test_a_sleeping_link_is_a_hint(tmp_path: Path, policy: str, ids: list[str]) -> None:
    write_file(tmp_path, "sys/class/scsi_host/host0/link_power_management_policy", policy)
    link_power = list(storage.check_link_power(sata_host(tmp_path)))
    assert [f.id for f in link_power] == ids
    assert all("echo max_performance" in f.remedy[0].commands[0] for f in link_power)


SMARTCTL = """#!/bin/sh
echo '{answer}'
exit {status}
"""


def with_smartctl(folder: Path, answer: str, status: int, monkeypatch: pytest.MonkeyPatch) -> Host:
    """The live host, with one SATA disk and a smartctl of our own first in PATH."""
    program = folder / "smartctl"
    program.write_text(SMARTCTL.format(answer=answer, status=status))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    (folder / "tree").mkdir()
    smart_disks = smart.list_smart_disks(sata_host(folder / "tree"))
    monkeypatch.setattr(smart, "list_smart_disks", lambda _host: smart_disks)
    monkeypatch.setattr(smart, "os", SimpleNamespace(geteuid=lambda: 0))
    return Host()


@every_case(
    ("answer", "reason"),
    [
        (
            '{"smartctl": {"messages": [{"string": "Smartctl open device: Permission denied"}]}}',
            "Permission denied",
        ),
        ("{}", "reports no health"),
        ('{"smart_status": []}', "reports no health"),
        ("nonsense", "reports no health"),
    ],
)
def test_an_answer_without_health_is_unreadable_and_not_healthy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, reason: str
) -> None:
    with pytest.raises(FactUnreadable, match=reason):
        list(asked_smart(with_smartctl(tmp_path, answer, 2, monkeypatch)))


def test_every_disk_is_asked_and_one_that_does_not_answer_is_not_fine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = with_smartctl(tmp_path, '{"smart_status": {"passed": true}}', 0, monkeypatch)
    [disk] = smart.list_smart_disks(host)
    many = [msgspec.structs.replace(disk, name=f"sd{n}") for n in range(30)]
    monkeypatch.setattr(smart, "list_smart_disks", lambda _host: many)
    fine = smart.SmartHealth(passed=True)
    answers: dict[str, smart.SmartHealth | Absent] = {f"sd{n}": fine for n in range(30)}
    answers |= {"sd28": smart.SmartHealth(passed=False), "sd29": Absent("no answer")}
    monkeypatch.setattr(smart, "smart_report", lambda _host, name: answers[name])
    events = list(
        apply_rule(
            HostRule(
                "storage.smart",
                "storage",
                "x",
                partial(check_rule, next(r for r in load_written_rules().rules if r.id == "storage.smart")),
            ),
            host,
            lambda: 0.0,
        )
    )
    assert [e.finding.subject for e in events if isinstance(e, Found)] == ["sd28"]
    last = events[-1]
    assert isinstance(last, Checked) and (last.state, "sd29" in last.reason) == ("spoke", True)


@pytest.mark.parametrize("driver", ["ata_piix", "pata_amd"])
def test_a_parallel_disk_has_no_queue_to_miss(tmp_path: Path, driver: str) -> None:
    base = "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0"
    write_file(tmp_path, f"{base}/scsi_host/host0/proc_name", f"{driver}\n")
    with pytest.raises(RuleInapplicable):
        list(asked_ncq(sata_host(tmp_path, queue_depth="1\n")))


def test_a_link_of_which_one_end_is_silent_is_unknown(tmp_path: Path) -> None:
    sata_host(tmp_path)
    write_file(tmp_path, "sys/class/ata_link/link1/sata_spd", "6.0 Gbps\n")
    with pytest.raises(FactUnreadable, match="sda: one end of its link"):
        list(asked_sata_link(Host(str(tmp_path))))


def ata_link(root: Path, count: str, now: str = "6.0 Gbps") -> Host:
    write_file(root, "sys/class/ata_link/link1/sata_spd", f"{now}\n")
    if count:
        write_file(root, "sys/class/ata_device/dev1.0/spdn_cnt", f"{count}\n")
    return sata_host(root)


def test_a_link_that_came_down_and_went_back_is_told_with_its_count(tmp_path: Path) -> None:
    (asked_downshift,) = asked_downshifts(ata_link(tmp_path, "3"))
    assert (
        asked_downshift.severity == "warning"
        and "3 times" in asked_downshift.title
        and "6 Gbit/s now" in asked_downshift.title
    )
    assert asked_downshift.evidence[0].source == "/sys/class/ata_device/dev1.0/spdn_cnt"


def test_a_link_that_never_came_down_is_not_accused_and_one_without_a_count_unreadable(
    tmp_path: Path,
) -> None:
    assert list(asked_downshifts(ata_link(tmp_path / "a", "0"))) == []
    with pytest.raises(FactUnreadable):
        list(asked_downshifts(ata_link(tmp_path / "b", "")))
    with pytest.raises(RuleInapplicable):
        list(asked_downshifts(nvme_host(tmp_path / "c", "4")))
