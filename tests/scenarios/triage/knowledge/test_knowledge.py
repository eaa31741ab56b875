"""Rows for each dated entry: each is sourced, and its neighbours are not meant."""

from contextlib import suppress
from functools import cache
from pathlib import Path

from hostdx.probes.reading.host import Host
from hostdx.probes.system.bios.attribute_file import read_attribute_file
from hostdx.probes.system.firewall.firewalld import Firewalld
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract.finding import Finding, fold_alike_findings
from hostdx.scenarios.contract.knowledge_file import load_entries
from hostdx.scenarios.contract.rule import RuleInapplicable
from hostdx.scenarios.triage.knowledge.bios import (
    BiosReading,
    all_readings,
    is_known_attribute,
    vendor_of,
)
from hostdx.scenarios.triage.knowledge.differences import (
    are_within_tolerance,
    component_named,
    fact_influence_of,
    load_components,
    load_difference_patterns,
    load_fact_influences,
)
from hostdx.scenarios.triage.knowledge.fault_lines import (
    ANY,
    KERNEL,
    FaultLine,
    PrintedState,
    list_fault_lines,
    list_printed_states,
)
from hostdx.scenarios.triage.knowledge.firewalld import (
    rp_filter_meaning_of,
    rp_filter_vocabularies,
    rp_filter_vocabulary_of,
)
from hostdx.scenarios.triage.knowledge.kernels import KernelFault, all_kernel_faults, kernel_faults_of_release
from hostdx.scenarios.triage.knowledge.loads import list_load_groups, list_scores
from hostdx.scenarios.triage.rules.engine import check_rule
from hostdx.scenarios.triage.rules.rule_file import RuleText
from tests.every_case import assert_each, every_case
from tests.scenarios.planted import our_rules

OLD = {"amd-dummy-wait", "xfs-log-lock"}  # of every upstream kernel before 6.0

KERNEL_ROWS = [
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
    (
        "6.11.10",
        "",
        {
            "ibrs-entry",
            "io-uring-iowait",
            "eevdf-database",
            "thp-alignment",
            "sata-link-power",
            "nfs-6.11-spin",
        },
    ),
    (
        "6.11.11",
        "",
        {"ibrs-entry", "io-uring-iowait", "eevdf-database", "thp-alignment", "sata-link-power"},
    ),
    ("6.12.1", "", {"ibrs-entry", "io-uring-iowait", "eevdf-database", "sata-link-power"}),
    ("6.13", "", {"ibrs-entry", "io-uring-iowait", "sata-link-power"}),
    ("5.2.14", "", {"cfs-quota", "btrfs-5.2", *OLD}),
    ("5.2.15", "", {"cfs-quota", *OLD}),
    ("4.19.83", "", {"cfs-quota", *OLD}),
    ("4.19.84", "", OLD),
    ("4.18.0-348", "", {"cfs-quota", *OLD}),  # upstream's 4.18: no .el8, nothing of EL 8's
    ("", "", set()),
    ("garbage", "", set()),
]


def test_every_kernel_fault_is_sourced_and_has_a_row() -> None:
    fault_ids = {
        id(f) for release, version, _ in KERNEL_ROWS for f in kernel_faults_of_release(release, version)
    }
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


DIFFERENCE_ROWS = [
    ("kernel/release", "kernel"),
    ("kernel/config.PREEMPT", "kernel"),
    ("kernel/preemption", "kernel defaults"),
    ("mitigation/retbleed", "mitigations"),
    ("kernel/parameters", "boot parameters"),
    ("changed settings/boot parameter iommu", "boot parameters"),
    ("changed settings/vm.swappiness", "settings"),
    ("cpu/model", "machine"),
    ("cpu/smt", "CPUs in use"),
    ("cpu/offline", "CPUs in use"),
    ("directory/file_system", "file system"),
    ("directory/options", "file system"),
    ("directory/layers", "disk"),
    ("directory/disks", "disk"),
    ("limits/cpus_allowed", "limits"),
    ("run/host", "machine"),
    ("memory/total", "machine"),
    ("bios/version", "firmware"),
    ("cpu/microcode", "firmware"),
    ("cpu/governor", "frequency"),
    ("cpu/frequency_driver", "frequency driver"),
    ("kernel/clock_source", "kernel defaults"),
    ("memory/transparent_huge_pages", "kernel defaults"),
    ("mount:/data/type", "file system"),
    ("mount:/data/options", "file system"),
    ("disk:sda/model", "disk"),
    ("disk:sda/scheduler", "scheduler"),
    ("disk:sda/scheduler_settings", "kernel defaults"),
    ("os/name", "system"),
    ("module/nf_tables", "kernel"),
    ("package/linux-image", "packages"),
    ("packages/others", "other packages"),
    ("sysctl/vm.swappiness", "settings"),
    ("sysctl/net.core.rmem_max", "settings"),
    ("sysctl/kernel.numa_balancing", "settings"),
    ("tuned/profile", "settings"),
    ("security/selinux", "security modules"),
    ("cgroup/cpu", "limits"),
    ("nic:eth0/driver", "network"),
    ("run/version", "measurement"),
]


def test_every_difference_is_sourced_and_has_a_row() -> None:
    movers = [fact_influence_of(fact) for fact, _ in DIFFERENCE_ROWS]
    groups = {group.name for group in list_load_groups().entries}
    for mover in load_fact_influences().entries:
        assert mover.sources and any(mover is known_mover for known_mover in movers), mover.facts
        assert component_named(mover.component) is not None
        assert set(mover.moves) <= groups
    for pattern in load_difference_patterns().entries:
        assert pattern.sources and {*pattern.slower, *pattern.equal} <= groups
        assert all(component_named(name) for name in pattern.components)
    names = {component.name for component in load_components().entries}
    assert all(set(component.along) <= names for component in load_components().entries)


def test_a_setting_that_moves_no_load_has_no_figure() -> None:
    for name in (
        "fs.inotify.max_user_watches",
        "kernel.pid_max",
        "vm.max_map_count",
        "fs.protected_symlinks",
    ):
        assert fact_influence_of(f"sysctl/{name}") is None
    assert are_within_tolerance("sysctl/fs.inotify.max_user_watches", (22812, 22009))
    assert not are_within_tolerance("sysctl/fs.inotify.max_user_watches", (22812, 524288))


LOAD_ROWS = [
    ("ior-hard-read", "IO500 bandwidth"),
    ("mdtest-hard-stat", "IO500 metadata"),
    ("find", "IO500 metadata"),
    ("cpu", "CPU"),
    ("cpu-hash", "CPU"),
    ("memory-copy", "memory"),
    ("page-fault", "memory"),
    ("syscall", "system calls"),
    ("context-switch", "system calls"),
    ("fork", "processes"),
    ("file-create", "files"),
    ("metadata", "files"),
    ("randread-4k-qd1", "storage"),
    ("write-1m", "storage"),
    ("tcp-stream", "network"),
    ("something new", "other"),
    ("CPU", "CPU"),  # by its own name: a mean
]


def test_every_load_is_sourced_and_has_a_row() -> None:
    rows = {group for _, group in LOAD_ROWS}
    for entry in list_load_groups().entries:
        assert entry.sources and 0 < entry.run_to_run < 0.5 and entry.name in rows
    assert all(score.sources for score in list_scores().entries)


BIOS = Path(__file__).parents[3] / "fixtures" / "bios"


def _read(path: Path) -> dict[str, BiosReading]:
    attribute_file = read_attribute_file(str(path), is_known_attribute)
    assert is_present(attribute_file)
    return {
        r.id: r
        for r in all_readings(attribute_file.values, attribute_file.pending, vendor_of(attribute_file.vendor))
    }


@every_case(
    ("text", "name", "value"),
    [
        (
            "[Key=BIOS.Setup.1-1#SysProfileSettings]\n#ApbDis=Disabled\nSysProfile=Custom\n",
            "ApbDis",
            "Disabled",
        ),
        ('<Component><Attribute Name="ApbDis">Enabled</Attribute></Component>', "ApbDis", "Enabled"),
        ('<Setting name="APBDIS" order="1" selectedOption="Auto" type="Option">', "APBDIS", "Auto"),
        ("Processors.SOCP-states=P0\n", "Processors.SOCP-states", "P0"),
        ('{"Bios.v1": [{"Attributes": {"ApbDis": "Enabled"}}]}', "ApbDis", "Enabled"),
        ('{"ApbDis": "Enabled"}', "ApbDis", "Enabled"),
    ],
)
def test_the_vendors_tools_files(tmp_path: Path, text: str, name: str, value: str) -> None:
    (tmp_path / "saved").write_text(text)
    reading = _read(tmp_path / "saved")["apbdis"]
    assert (reading.name, reading.value) == (name, value)


def test_what_a_restart_will_change(tmp_path: Path) -> None:
    (tmp_path / "saved").write_text("#ApbDis=Disabled (Pending Value=Enabled)\n")
    reading = _read(tmp_path / "saved")["apbdis"]
    assert (reading.value, reading.pending) == ("Disabled", "Enabled")


@cache
def rule_of_fault_lines() -> RuleText:
    return next(rule for rule in our_rules().rules if rule.id == "service.fault-line")


def severities(root: Path, entry: FaultLine, lines: list[str]) -> list[str]:
    program = "some-daemon" if ANY in entry.programs else entry.programs[0]
    sender = "kernel" if program == KERNEL else f"{program}[{1 if program == 'systemd' else 812}]"
    log = root / "var/log/messages"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("".join(f"Nov 30 10:00:{n:02d} srv {sender}: {line}\n" for n, line in enumerate(lines)))
    host = Host(str(root))
    host.is_static = True
    severities_of_findings = []
    with suppress(RuleInapplicable):  # raised after what was found
        severities_of_findings += [finding.severity for finding in check_rule(rule_of_fault_lines(), host)]
    return severities_of_findings


def test_its_example_is_found_and_its_trap_is_not(tmp_path: Path) -> None:
    def check(entry: FaultLine) -> None:
        assert severities(tmp_path, entry, [entry.example] * entry.least) == [entry.severity]
        assert severities(tmp_path, entry, [entry.trap] * 20) == []
        if entry.least > 1:
            assert severities(tmp_path, entry, [entry.example] * (entry.least - 1)) == []

    assert_each(list_fault_lines(), check, name=lambda entry: entry.example)


def test_a_later_line_says_that_it_is_over(tmp_path: Path) -> None:
    def check(entry: FaultLine) -> None:
        assert severities(tmp_path, entry, [entry.example] * entry.least + [entry.trap]) == []

    assert_each(
        (entry for entry in list_fault_lines() if entry.settled), check, name=lambda entry: entry.example
    )


def findings_of(root: Path, *lines: tuple[str, str]) -> list[Finding]:
    log = root / "var/log/messages"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(
        "".join(
            f"Nov 30 10:00:00 srv {program}[812]: {line} {n}\n" for n in range(9) for program, line in lines
        )
    )
    host = Host(str(root))
    host.is_static = True
    with suppress(RuleInapplicable):
        return fold_alike_findings(check_rule(rule_of_fault_lines(), host))
    return []


def test_what_any_program_says_is_not_said_again_where_an_entry_names_its_line(tmp_path: Path) -> None:
    full = "write failed: No space left on device"
    assert [f.subject for f in findings_of(tmp_path, ("rsyslogd", full))] == ["rsyslogd"]
    assert [f.subject for f in findings_of(tmp_path, ("some-daemon", full))] == ["some-daemon"]
    assert findings_of(tmp_path, ("some-daemon", f"level=info {full}")) == []


def test_programs_with_one_fault_are_one_finding_and_two_faults_are_two(tmp_path: Path) -> None:
    (alike,) = findings_of(tmp_path, ("first", "Stale file handle"), ("second", "Stale file handle"))
    assert alike.subjects == ("first", "second")
    unlike = findings_of(tmp_path, ("first", "Stale file handle"), ("second", "No buffer space available"))
    assert {finding.subject for finding in unlike} == {"first", "second"}


UNSET = Absent("not set")


def read(version: str | Absent, value: str | Absent, backend: str | Absent = UNSET) -> Firewalld:
    return Firewalld(version=version, ipv6_rpfilter=value, backend=backend, running=True)


def test_before_the_first_range_nothing_is_claimed() -> None:
    assert isinstance(rp_filter_vocabulary_of("0.3.8"), Absent)
    assert isinstance(rp_filter_meaning_of(read(Absent("unknown version"), "yes")), Absent)


def test_the_word_that_ends_the_cost_is_in_the_vocabulary() -> None:
    for entry in rp_filter_vocabularies():
        assert entry.off in entry.values
        assert entry.off not in ("strict", "loose")


@every_case("entry", list_printed_states())
def test_a_printed_state_is_found_in_its_example_alone(tmp_path: Path, entry: PrintedState) -> None:
    rules = our_rules().rules
    rule = next(rule for rule in rules if rule.id == "host.printed-state")

    def severities_of(folder: Path, text: str) -> list[str]:
        output = folder / entry.outputs[0].lstrip("/").replace("*", "x")
        output.parent.mkdir(parents=True)
        output.write_text(text)
        findings: list[str] = []
        with suppress(RuleInapplicable):
            findings += [finding.severity for finding in check_rule(rule, Host(str(folder)))]
        return findings

    assert severities_of(tmp_path / "example", entry.example) == [entry.severity]
    assert severities_of(tmp_path / "trap", entry.trap) == []
