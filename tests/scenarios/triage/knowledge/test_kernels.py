"""Rows for kernels.toml: the versions that a fault names are matched, their neighbours are not."""

from pathlib import Path

from hostdx.scenarios.contract.knowledge_file import load_entries
from hostdx.scenarios.triage.knowledge.kernels import KernelFault, all_kernel_faults, kernel_faults_of_release
from tests.every_case import every_case

OLD = {"amd-dummy-wait", "xfs-log-lock"}  # of every upstream kernel before 6.0

ROWS = [
    # the versions that the talk names
    ("4.18.0-348.el8.x86_64", "", {"bfq-stall"}),
    # a z-stream's numbers count in it alone
    ("4.18.0-372.87.1.el8_6.x86_64", "", set()),
    ("4.18.0-372.88.1.el8_6.x86_64", "", {"el86-iowait"}),
    ("4.18.0-372.93.1.el8_6.x86_64", "", {"el86-iowait"}),
    ("4.18.0-372.95.1.el8_6.x86_64", "", {"el86-iowait"}),
    ("4.18.0-372.96.1.el8_6.x86_64", "", set()),
    ("4.18.0-372.93.1.el8_7.x86_64", "", set()),
    ("4.18.0-513.5.1.el8_9.x86_64", "", set()),
    ("3.10.0-1062.4.1.el7.x86_64", "", {"cfs-quota"}),
    ("3.10.0-1062.8.1.el7.x86_64", "", set()),
    ("5.14.0-180.el9.x86_64", "", {"amd-dummy-wait"}),
    ("5.14.0-181.el9.x86_64", "", set()),
    ("4.18.0-348.7.1.el8_5.x86_64", "", {"bfq-stall"}),
    ("4.18.0-331.el8.x86_64", "", {"blk-mq-null", "bfq-unpatched"}),
    ("4.18.0-338.el8.x86_64", "", {"blk-mq-null", "bfq-unpatched"}),
    # and their neighbours
    ("4.18.0-358.el8.x86_64", "", {"bfq-unpatched"}),  # not seen to stall, and not known to be mended
    ("4.18.0-371.el8.x86_64", "", {"bfq-unpatched"}),
    ("4.18.0-357.el8.x86_64", "", {"bfq-stall"}),
    ("4.18.0-347.el8.x86_64", "", {"blk-mq-null", "bfq-unpatched"}),
    ("4.18.0-330.el8.x86_64", "", {"bfq-unpatched"}),
    ("4.18.0-305.25.1.el8_4.x86_64", "", {"bfq-unpatched"}),
    ("4.18.0-79.el8.x86_64", "", set()),
    ("4.18.0-372.9.1.el8.x86_64", "", set()),
    ("4.18.0-348.el9.x86_64", "", set()),  # the same number in another family says nothing
    ("5.14.0-427.13.1.el9_4.x86_64", "", set()),
    ("3.10.0-1160.el7.x86_64", "", set()),
    # upstream and Debian
    ("4.19.1", "", {"cfs-quota", *OLD}),
    ("4.19.2", "", {"cfs-quota", "stibp-everywhere", *OLD}),
    ("4.19.3", "", {"cfs-quota", "stibp-everywhere", *OLD}),
    ("4.19.4", "", {"cfs-quota", *OLD}),
    ("5.17.3", "", {"bfq-unpatched", *OLD}),
    ("5.18.0", "", OLD),
    ("5.7.19", "", OLD),
    ("5.13.15", "", {"bfq-unpatched", "blk-mq-null", *OLD}),
    ("5.13.16", "", {"bfq-unpatched", *OLD}),
    (
        "6.1.0-18-amd64",
        "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)",
        {"ibrs-entry", "io-uring-iowait", "md-raid5-hang"},
    ),
    (
        "5.10.0-28-amd64",
        "#1 SMP Debian 5.10.209-2 (2024-01-31)",
        {"bfq-unpatched", "md-raid5-hang", "xfs-log-lock"},
    ),
    ("5.10.166", "", {"bfq-unpatched", "md-raid5-hang", *OLD}),  # stable series that got a fix
    ("5.10.167", "", {"bfq-unpatched", "md-raid5-hang", "xfs-log-lock"}),
    ("6.1.38", "", {"ibrs-entry", "md-raid5-hang"}),
    ("6.1.93", "", {"ibrs-entry", "io-uring-iowait", "md-raid5-hang"}),
    ("6.1.63", "", {"ibrs-entry", "io-uring-iowait", "md-raid5-hang"}),
    ("6.1.65", "", {"ibrs-entry", "io-uring-iowait", "md-raid5-hang", "ext4-6.1.64"}),
    ("6.3.4", "", {"ibrs-entry", "md-raid5-hang", "xfs-6.3"}),
    ("6.3.5", "", {"ibrs-entry", "md-raid5-hang"}),
    ("6.1.94", "", {"ibrs-entry", "io-uring-iowait"}),
    ("4.19.315", "", {"md-raid5-hang", *OLD}),
    ("4.19.316", "", OLD),
    ("5.4.277", "", {"md-raid5-hang", *OLD}),
    ("5.4.278", "", OLD),
    ("5.10.218", "", {"bfq-unpatched", "md-raid5-hang", "xfs-log-lock"}),
    ("5.10.219", "", {"bfq-unpatched", "xfs-log-lock"}),
    ("5.15.160", "", {"bfq-unpatched", "md-raid5-hang", *OLD}),
    ("5.15.161", "", {"bfq-unpatched", *OLD}),
    ("6.4.9", "", {"ibrs-entry", "md-raid5-hang"}),
    ("6.6.33", "", {"ibrs-entry", "io-uring-iowait", "eevdf-database", "md-raid5-hang"}),
    ("6.6.34", "", {"ibrs-entry", "io-uring-iowait", "eevdf-database"}),
    (
        "6.9.3",
        "",
        {
            "ibrs-entry",
            "io-uring-iowait",
            "eevdf-database",
            "md-raid5-hang",
            "thp-alignment",
            "sata-link-power",
        },
    ),
    ("6.12.1", "", {"ibrs-entry", "io-uring-iowait", "eevdf-database", "sata-link-power"}),
    ("6.13", "", {"ibrs-entry", "io-uring-iowait", "sata-link-power"}),
    ("4.19.83", "", {"cfs-quota", *OLD}),
    ("4.19.84", "", OLD),
    ("4.18.0-348", "", {"cfs-quota", *OLD}),  # upstream's 4.18: no .el8, nothing of EL 8's
    ("", "", set()),
    ("garbage", "", set()),
]


def test_every_entry_is_sourced_and_has_a_row() -> None:
    fault_ids = {id(f) for release, version, _ in ROWS for f in kernel_faults_of_release(release, version)}
    for fault in all_kernel_faults().entries:
        assert fault.sources and fault.dated and fault.remedy
        assert id(fault) in fault_ids, f"no row meets {fault.id} of {fault.family}"


SITE_ENTRY = """
[[kernel_fault]]
id = "our-own"
title = "Our driver"
family = "el9"
since = "5.14.0-427"
dated = 2026-01-02
effect = "slow"
remedy = "update"
sources = ["ticket 12"]
"""


@every_case(
    ("text", "problem"),
    [
        ("[[kernel_fault]]\nid = 3\n", "kernel_fault number 1"),
        ("kernel_fault = 1\n", "array of tables"),
        ("not toml", "10-bad.toml"),
        (SITE_ENTRY + "typo = 1\n", "unknown field `typo`"),
    ],
)
def test_a_sites_mistake_is_said_and_costs_nothing_else(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "10-bad.toml").write_text(text)
    (tmp_path / "20-good.toml").write_text(SITE_ENTRY)
    table = load_entries("kernels", "kernel_fault", KernelFault, site=tmp_path)
    assert table.entries[0].id == "our-own"
    assert problem in table.problems[0]
