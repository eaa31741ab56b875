"""Kernel threads by their names: each kind is met by a name that kernels give, and programs by none."""

from __future__ import annotations

from scenarios.triage.knowledge.waits import kernel_thread, kernel_threads
from tests.every_case import every_case

NAMES = (
    "kipmi0",
    "acpi_pad/0",
    "kworker/0:1-kacpid",
    "vhost-4711",
    "khugepaged",
    "kswapd0",
    "kcompactd1",
    "ksmd",
    "ksoftirqd/17",
    "irq/45-nvme0q3",
    "kworker/u16:3-kcryptd/254:0",
    "kworker/u8:2-flush-254:0",
    "md127_raid6",
    "jbd2/sda1-8",
    "z_wr_iss",
    "nfsd",
    "loop0",
    "edac-poller",
    "ptlrpcd_00_01",
    "kauditd",
    "rcu_preempt",
    "migration/3",
    "scsi_eh_4",
)


@every_case("name", NAMES)
def test_each_kind_is_met(name: str) -> None:
    found = kernel_thread(name)
    assert found is not None and found.commands


def test_every_kind_has_its_row() -> None:
    assert [kernel_thread(name) for name in NAMES] == list(kernel_threads())


@every_case("name", ["kworker/3:1-events", "krfcommd", ""])
def test_others_are_not_known(name: str) -> None:
    assert kernel_thread(name) is None
