"""Rows for differences.toml: which component a fact belongs to, and that every name in it is known."""

from hostdx.scenarios.triage.knowledge.differences import (
    component_named,
    fact_influence_of,
    load_components,
    load_difference_patterns,
    load_fact_influences,
)
from hostdx.scenarios.triage.knowledge.loads import load_groups

ROWS = [
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
    ("security/selinux", "security modules"),
    ("cgroup/cpu", "limits"),
    ("nic:eth0/driver", "network"),
    ("run/version", "measurement"),
]


def test_every_entry_is_sourced_and_has_a_row() -> None:
    movers = [fact_influence_of(fact) for fact, _ in ROWS]
    groups = {group.name for group in load_groups().entries}
    for mover in load_fact_influences().entries:
        assert mover.sources and any(mover is known_mover for known_mover in movers), mover.facts
        assert component_named(mover.component) is not None
        assert set(mover.moves) <= groups
    for pattern in load_difference_patterns().entries:
        assert pattern.sources and {*pattern.slower, *pattern.equal} <= groups
        assert all(component_named(name) for name in pattern.components)
    names = {component.name for component in load_components().entries}
    assert all(set(component.along) <= names for component in load_components().entries)
