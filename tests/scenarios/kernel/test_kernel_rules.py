"""Kernels with known faults: a version alone is a notice, with its symptom a warning, and silence where "
"it cannot matter."""

from pathlib import Path

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.kernel import rules
from hostdx.scenarios.kernel.rules import NEEDS, SYMPTOMS, check_known_faults
from hostdx.scenarios.triage.knowledge.kernels import all_kernel_faults
from tests.every_case import every_case

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
    """Nothing of the processor was captured: the fault's evidence says so, not that no fact could show it."""
    finding = _faults(_host(tmp_path, proc__sys__kernel__osrelease="4.16.15"))["kernel.amd-dummy-wait"]
    unmet = rules.NEEDS["amd"](Host(str(tmp_path)))
    assert isinstance(unmet, Absent) and any(unmet.reason in e.text for e in finding.evidence)


def test_every_need_and_symptom_that_is_named_is_known() -> None:
    for fault in all_kernel_faults().entries:
        assert set(fault.needs) <= set(NEEDS)
        assert not fault.symptom or fault.symptom in SYMPTOMS
        assert not fault.quiet or fault.symptom


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
