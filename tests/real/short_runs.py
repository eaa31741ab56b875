"""A short run of every scenario on a disk of the test's own; one that needs no options has none here."""

from hostdx.scenarios.contract import registry
from tests.needs import KNOWN_DISK, NET_NAMESPACE, Need, program
from tests.real.iosched_kill import BRIEF
from tests.real.loop_disk import LoopDisk

OPTIONS: dict[str, tuple[str, ...]] = {
    "iosched": ("--dir", "{dir}", *BRIEF, "--load", "cpu", "--budget", "24"),
    "fstrim": ("--dir", "{dir}", "--round", "--budget", "3", "--yes"),
    "box": ("--dir", "{dir}", "--workers", "2", "--yes", "--budget", "12"),
    "fullstack": (
        "--dir",
        "{dir}",
        "--direction",
        "out",
        "--streams",
        "2",
        "--size",
        "64M",
        "--yes",
        "--budget",
        "12",
    ),
    "null": ("--dir", "{dir}", "--size", "64M", "--budget", "6"),
    "storage": ("--dir", "{dir}", "--size", "64M", "--budget", "14"),
    "kernel": ("--dir", "{dir}", "--size", "64M", "--budget", "14"),
    "cpuwatch": ("--pid", "1", "--seconds", "3"),
    "rpfilter": ("--yes", "--budget", "6", "--block", "0.1", "--routes", "3", "--rates", "0.1"),
    "dstate": ("--seconds", "3"),
    "workload": ("--cmd", "sleep 0.05", "--variant", "a:", "--variant", "b:", "--budget", "6"),
    "numa": ("--budget", "6"),
    "prove": (
        *("--setting", "block:{device}/nr_requests=64", "--setting", "block:{device}/read_ahead_kb=4096"),
        *("--load", "stream-read", "--dir", "{dir}", "--size", "64M", "--as-one", "--yes", "--budget", "40"),
    ),
}
# beside a disk; without them it refuses
NEEDS: dict[str, tuple[Need, ...]] = {
    "iosched": (KNOWN_DISK,),
    "prove": (KNOWN_DISK,),
    "rpfilter": (program("nft"), NET_NAMESPACE),
}


def scenario_names() -> list[str]:
    """Every scenario that is there."""
    return list(registry.scenario_names())


def short_run(name: str, disk: LoopDisk) -> list[str]:
    """The command line after `hostdx`."""
    return [
        "run",
        name,
        *(word.format(dir=disk.directory, device=disk.device) for word in OPTIONS.get(name, ())),
    ]
