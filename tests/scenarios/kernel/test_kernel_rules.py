"""Rules, symptoms and reboots of two kernels."""

import re
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.rule import FactUnreadable
from hostdx.scenarios.kernel import rules
from hostdx.scenarios.kernel.reboots import BootRun, Letter, boot_series_of, unfinished_series
from hostdx.scenarios.kernel.rules import NEEDS, SYMPTOMS, check_known_faults
from hostdx.scenarios.triage.knowledge.kernels import all_kernel_faults
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree

OSRELEASE, RETBLEED = "proc/sys/kernel/osrelease", "sys/devices/system/cpu/vulnerabilities/retbleed"


def _host(root: Path, **files: str) -> Host:
    for path, text in files.items():
        target = root / path.replace("__", "/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n")
    (root / "sys").mkdir(exist_ok=True)
    return Host(str(root))


def _faults(host: Host) -> dict[str, Finding]:
    return {finding.id: finding for finding in check_known_faults(host)}


def test_what_could_not_be_read_is_the_reason(tmp_path: Path) -> None:
    """Nothing of the processor was captured: whether the fault matters is not answered, and nobody is accused."""
    host = _host(tmp_path, proc__sys__kernel__osrelease="4.16.15")
    unmet = rules.NEEDS["amd"](host)
    assert isinstance(unmet, Absent)
    findings: list[Finding] = []
    with pytest.raises(FactUnreadable, match=re.escape(unmet.reason)):
        findings.extend(check_known_faults(host))
    assert findings == []


def test_every_need_and_symptom_that_is_named_is_known() -> None:
    for fault in all_kernel_faults().entries:
        assert set(fault.needs) <= set(NEEDS)
        assert not fault.symptom or fault.symptom in SYMPTOMS
        assert not fault.quiet or fault.symptom or fault.stack


@every_case("probe", [*NEEDS.values(), *SYMPTOMS.values()])
def test_every_probe_answers_on_an_empty_capture_and_here(probe: rules.Probe, tmp_path: Path) -> None:
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
    answer = rules._describe_throttling(values, 2.0)
    assert isinstance(answer, Absent) if shows is None else bool(answer) == shows


def test_link_trouble_is_read_from_the_log(tmp_path: Path) -> None:
    lines = ("ata3.00: exception Emask 0x10 SAct 0x0", "ata3: hard resetting link", "usb 1-1: reset")
    (tmp_path / "dmesg").write_text("".join(f"[    {n}.0] {line}\n" for n, line in enumerate(lines)))
    answer = rules.ata_errors(_host(tmp_path, sys__x="1"))
    assert isinstance(answer, str) and answer.startswith("2 lines")


def _make_runs(text: str, order: str = "ABBA") -> list[BootRun]:
    """ "A1 B2": side and boot, in the order measured."""
    boots = []
    for number, word in enumerate(text.split()):
        side: Letter = "A" if word[0] == "A" else "B"
        boots.append(
            BootRun(
                recording=f"{number:02}",
                side=side,
                boot=word[1:],
                wall=f"2026-11-{number + 1:02}",
                kernel=side,
                order=order,
            )
        )
    return boots


@every_case(
    ("runs", "order", "done", "remaining"),
    [
        ("A1", "AB", "A", "B"),
        ("A1 B2", "AB", "AB", ""),
        ("A1", "ABBA", "A", "BBA"),
        ("A1 B2", "ABBA", "AB", "BA"),
        ("A1 B2 B2", "ABBA", "AB", "BA"),  # a second run of the same boot is no second boot
        ("A1 B2 B3", "ABBA", "ABB", "A"),
        ("A1 B2 B3 A4", "ABBA", "ABBA", ""),
        ("A1 A2 B3", "ABBA", "AAB", "B"),  # the order was not kept: what is missing counts
        ("A1 B2 A3", "ABBA", "ABA", "B"),
    ],
)
def test_what_is_still_to_do(runs: str, order: str, done: str, remaining: str) -> None:
    (series,) = boot_series_of(_make_runs(runs, order))
    assert (series.measured_variants, series.remaining_variants) == (done, remaining)
    assert (unfinished_series(_make_runs(runs, order)) is None) == (remaining == "")


STAT = "cpu  100 0 100 1000 {waited} 0 0 0 0 0\ncpu0 100 0 100 1000 {waited} 0 0 0 0 0\n"
DISK = "   8       0 sda 10 0 80 5 10 0 80 5 0 {busy_ms} 10\n"


def put_counters(tree: Tree, waited: int, busy_ms: int) -> None:
    tree.put("/proc/stat", STAT.format(waited=waited))
    tree.put("/proc/diskstats", DISK.format(busy_ms=busy_ms))


@pytest.mark.parametrize(("busy_ms", "shows"), [(0, True), (10**9, False)])
def test_io_wait_beside_idle_disks_is_what_the_disks_do_between_both_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, busy_ms: int, shows: bool
) -> None:
    """A triage reads what stands still once: the disks were never seen busy, and a saturated one was called idle."""
    tree = Tree(tmp_path)
    put_counters(tree, waited=0, busy_ms=0)
    host = tree.host()
    monkeypatch.setattr(host, "live", True)
    monkeypatch.setattr(rules.time, "sleep", lambda _: put_counters(tree, waited=400, busy_ms=busy_ms))
    with host.read_static_parts_once():
        iowait_idle_disks = rules.iowait_idle_disks(host)
    assert bool(iowait_idle_disks) is shows, iowait_idle_disks
