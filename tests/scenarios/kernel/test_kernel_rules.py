"""Kernels with known faults: a version alone is a notice, with its symptom a warning, and silence where "
"it cannot matter."""

from __future__ import annotations

from pathlib import Path

import pytest

from probes.reading.host import Host
from probes.types import Absent
from scenarios.contract.finding import Finding
from scenarios.contract.rule import Unreadable
from scenarios.kernel import rules, symptoms
from scenarios.kernel.rules import check_known_faults
from scenarios.kernel.symptoms import NEEDS, SYMPTOMS
from scenarios.triage.knowledge.kernels import kernel_faults
from tests.every_case import every_case

OSRELEASE, RETBLEED = "proc/sys/kernel/osrelease", "sys/devices/system/cpu/vulnerabilities/retbleed"


def _host(root: Path, **files: str) -> Host:
    for path, text in files.items():
        target = root / path.replace("__", "/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n")
    (root / "sys").mkdir(exist_ok=True)
    return Host(str(root))


def _found(host: Host) -> dict[str, Finding]:
    return {finding.id: finding for finding in check_known_faults(host)}


def test_a_version_alone_is_a_notice(tmp_path: Path) -> None:
    host = _host(tmp_path, proc__sys__kernel__osrelease="4.18.0-372.93.1.el8_6.x86_64")
    finding = _found(host)["kernel.el86-iowait"]
    assert finding.severity == "notice" and finding.confidence == "hint"
    assert finding.title.startswith("4.18.0-372.93.1.el8_6.x86_64 ")


def test_what_could_not_be_read_is_the_reason(tmp_path: Path) -> None:
    """Nothing of the processor was captured: the fault's evidence says so, not that no fact could show it."""
    finding = _found(_host(tmp_path, proc__sys__kernel__osrelease="4.16.15"))["kernel.amd-dummy-wait"]
    unmet = rules.NEEDS["amd"](Host(str(tmp_path)))
    assert isinstance(unmet, Absent) and any(unmet.reason in e.text for e in finding.evidence)


def test_with_its_symptom_it_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = _host(tmp_path, proc__sys__kernel__osrelease="4.18.0-372.93.1.el8_6.x86_64")
    monkeypatch.setitem(rules.SYMPTOMS, "iowait", lambda host: "62 % of the CPU time is I/O wait")
    finding = _found(host)["kernel.el86-iowait"]
    assert finding.severity == "warning" and finding.confidence == "rule"
    assert any("62 %" in e.text for e in finding.evidence)


def test_what_cannot_matter_here_is_not_said(tmp_path: Path) -> None:
    host = _host(
        tmp_path,
        proc__sys__kernel__osrelease="5.19.1",
        sys__devices__system__cpu__vulnerabilities__retbleed="Not affected",
    )
    assert "kernel.ibrs-entry" not in _found(host)
    (tmp_path / RETBLEED).write_text("Mitigation: IBRS\n")
    assert "kernel.ibrs-entry" in _found(Host(str(tmp_path)))
    (tmp_path / RETBLEED).write_text("Mitigation: Enhanced IBRS\n")
    assert "kernel.ibrs-entry" not in _found(Host(str(tmp_path)))


@every_case(
    ("vendor", "flags", "said"),
    [
        ("GenuineIntel", "fpu ibrs ibpb", True),
        ("GenuineIntel", "fpu ibrs ibpb ibrs_enhanced", False),
        ("AuthenticAMD", "fpu ibrs ibpb", False),
    ],
)
def test_a_capture_without_vulnerabilities_still_tells_the_processor(
    tmp_path: Path, vendor: str, flags: str, said: bool
) -> None:
    host = _host(
        tmp_path,
        proc__sys__kernel__osrelease="6.1.0-13-amd64",
        proc__cpuinfo=f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n",
    )
    assert ("kernel.ibrs-entry" in _found(host)) == said


def test_what_costs_nothing_is_said_with_its_symptom_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = _host(tmp_path, proc__sys__kernel__osrelease="6.6.40")
    assert "kernel.io-uring-iowait" not in _found(host)
    monkeypatch.setitem(rules.SYMPTOMS, "iowait-idle-disks", lambda host: "50 % of the CPU time is I/O wait")
    assert _found(host)["kernel.io-uring-iowait"].severity == "warning"


def test_a_fixed_kernel_is_silent(tmp_path: Path) -> None:
    assert _found(_host(tmp_path, proc__sys__kernel__osrelease="4.18.0-372.96.1.el8_6.x86_64")) == {}


def test_without_a_release_nothing_is_claimed(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="release"):
        _found(_host(tmp_path, sys__x="1"))


def test_every_need_and_symptom_that_is_named_is_known() -> None:
    for fault in kernel_faults().entries:
        assert set(fault.needs) <= set(NEEDS)
        assert not fault.symptom or fault.symptom in SYMPTOMS
        assert not fault.quiet or fault.symptom


@every_case("probe", [*NEEDS.values(), *SYMPTOMS.values()])
def test_every_probe_answers_on_an_empty_capture_and_here(probe: symptoms.Probe, tmp_path: Path) -> None:
    for host in (_host(tmp_path, sys__x="1"), Host()):
        assert isinstance(probe(host), str | Absent)


@every_case(
    ("periods", "throttled", "usage_s", "shows"),
    [
        (1000, 400, 50, True),  # stopped in 40 % of the periods at a quarter of its two CPUs
        (1000, 400, 190, False),  # it used its quota: that is what a quota is for
        (1000, 10, 50, False),
        (0, 0, 0, None),
    ],
)
def test_throttling_counts_below_the_quota_only(
    periods: int, throttled: int, usage_s: int, shows: bool | None
) -> None:
    values = {"nr_periods": periods, "nr_throttled": throttled, "usage_usec": usage_s * 1_000_000}
    answer = symptoms._describe_throttling(values, 2.0)
    assert isinstance(answer, Absent) if shows is None else bool(answer) == shows


def test_link_trouble_is_read_from_the_log(tmp_path: Path) -> None:
    lines = ("ata3.00: exception Emask 0x10 SAct 0x0", "ata3: hard resetting link", "usb 1-1: reset")
    (tmp_path / "dmesg").write_text("".join(f"[    {n}.0] {line}\n" for n, line in enumerate(lines)))
    answer = symptoms.ata_errors(_host(tmp_path, sys__x="1"))
    assert isinstance(answer, str) and answer.startswith("2 lines")
