"""No two facts of a host have one name: `compare` and `fleet` keep facts by subject and name, and see only the last."""

from collections import Counter
from collections.abc import Callable
from itertools import chain
from pathlib import Path

from hostdx.probes.reading.host import Host
from hostdx.probes.system.firewall.summary import firewall_facts
from hostdx.probes.system.summary import summary_facts
from hostdx.scenarios.analysis.compare.run_summary import FactKey
from hostdx.scenarios.triage.triage import scenario_facts
from tests.every_case import assert_each
from tests.fakes.hosts import odd_machines
from tests.fakes.hosts.server import Server
from tests.fakes.hosts.tree import Tree
from tests.scenarios.test_planted_faults import PLANTED

MACHINES: list[Callable[[Path], Tree]] = [
    build
    for name, build in vars(odd_machines).items()
    if callable(build) and getattr(build, "__module__", "") == odd_machines.__name__ and name[0] != "_"
]


def fact_keys(host: Host) -> list[FactKey]:
    host.is_static = True
    entries = chain(summary_facts(host), firewall_facts(host), scenario_facts(host))
    return [(entry.subject, entry.name) for entry in entries]


def check_names(host: Host) -> None:
    keys = fact_keys(host)
    assert keys
    assert [key for key, count in Counter(keys).items() if count > 1] == []


def crowded_tree(root: Path) -> Tree:
    """A disk of two file systems, limits in two nested groups, boot parameters, and one of them twice."""
    disk = "/sys/devices/pci0000:00/0000:00:04.0/virtio1/block/vda"
    tree = Tree(root).disk(disk, "254:0", discard_max_bytes=1 << 30)
    mounts = "20 1 0:5 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    for number, place in ((1, "/"), (2, "/data")):
        tree.files(f"{disk}/vda{number}", dev=f"254:{number}", size=512, partition=number)
        for folder in ("class/block", "dev/block"):
            name = f"vda{number}" if folder == "class/block" else f"254:{number}"
            tree.link(f"/sys/{folder}/{name}", f"../..{disk.removeprefix('/sys')}/vda{number}")
        mounts += f"3{number} 1 254:{number} / {place} rw - ext4 /dev/vda{number} rw\n"
    tree.put("/proc/self/mountinfo", mounts).put("/proc/self/cgroup", "0::/batch.slice/job\n")
    tree.put("/sys/fs/cgroup/cgroup.controllers", "cpu io memory\n")
    for group, rate in (("batch.slice", 100), ("batch.slice/job", 200)):
        tree.put(f"/sys/fs/cgroup/{group}/cgroup.procs")
        tree.put(f"/sys/fs/cgroup/{group}/io.max", f"254:0 wbps={rate}\n")
    return tree.put("/proc/cmdline", "pci=noaer swiotlb=noforce libata.force=1:1.5 libata.force=2:3.0\n")


def test_each_fact_of_a_machine_has_its_own_name(tmp_path: Path) -> None:
    builders = [*MACHINES, crowded_tree]
    assert_each(
        builders,
        lambda build: check_names(build(tmp_path / build.__name__).host()),
        name=lambda build: build.__name__,
    )


def test_each_fact_of_a_planted_server_has_its_own_name(tmp_path: Path) -> None:
    server = Server(tmp_path)
    paths = {path: text for _, _, files in PLANTED for path, text in files.items()}
    for path, text in paths.items():  # all faults at once
        server.put(path, text)
    check_names(Host(str(server.root)))
