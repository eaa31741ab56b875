"""What keeps the clock low: a limit, a governor, a share, boost; each as what it is, and nothing without one."""

from pathlib import Path

from hostdx.probes.system.processor.frequency import read_frequency
from hostdx.scenarios.numa.settings import frequency_holder, limited_khz
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree

P = "cpufreq/policy0"
CPU = "/sys/devices/system/cpu"


@every_case(
    ("files", "limit", "holder"),
    [
        ({}, None, None),
        ({f"{P}/scaling_max_freq": 1_200_000}, 1_200_000, None),
        ({f"{P}/scaling_governor": "powersave"}, None, "powersave"),
        ({f"{P}/scaling_governor": "userspace"}, None, "userspace"),
        ({f"{P}/scaling_governor": "powersave", f"{P}/scaling_driver": "intel_pstate"}, None, None),
        ({"intel_pstate/max_perf_pct": 50}, None, "performance limit"),
        ({"intel_pstate/max_perf_pct": 100}, None, None),
        ({"cpufreq/boost": 0}, None, "boost off"),
        # Some drivers lower the limit to the base clock with boost; below that somebody else did.
        (
            {"cpufreq/boost": 0, f"{P}/scaling_max_freq": 2_300_000, f"{P}/base_frequency": 2_300_000},
            None,
            "boost off",
        ),
        (
            {"cpufreq/boost": 0, f"{P}/scaling_max_freq": 1_200_000, f"{P}/base_frequency": 2_300_000},
            1_200_000,
            "boost off",
        ),
    ],
)
def test_what_keeps_the_clock_low(
    tmp_path: Path, files: dict[str, str | int], limit: int | None, holder: str | None
) -> None:
    tree = Tree(tmp_path)
    usual: dict[str, str | int] = {
        f"{P}/scaling_driver": "acpi-cpufreq",
        f"{P}/scaling_governor": "performance",
        f"{P}/scaling_max_freq": 3_500_000,
        f"{P}/cpuinfo_max_freq": 3_500_000,
        "cpufreq/boost": 1,
    }
    for name, value in (usual | files).items():
        tree.put(f"{CPU}/{name}", f"{value}\n")
    host, clock = tree.host(), read_frequency(tree.host())
    assert (limited_khz(host, clock), frequency_holder(host, clock)) == (limit, holder)
