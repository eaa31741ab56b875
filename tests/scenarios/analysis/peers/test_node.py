"""Which nodes are peers: by hardware, not by what a setting or a kernel decides."""

from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.run_summary import FactKey
from hostdx.scenarios.analysis.peers.node import hardware_of_facts

GIB = 1 << 30
FACTS: dict[FactKey, Json] = {
    ("cpu", "model"): "AMD EPYC 7451",
    ("cpu", "sockets"): 2,
    ("cpu", "threads"): 96,
    ("kernel", "release"): "6.1.0",
    ("memory", "total"): 251 * GIB,
    ("disk:sda", "kind"): "disk",
    ("disk:sda", "model"): "ST9250610NS",
    ("disk:sda", "size"): 250059350016,
    ("nic:eth0", "driver"): "igb",
    ("nic:eth0", "speed"): 1000,
}


def test_settings_kernels_and_device_names_make_no_other_hardware() -> None:
    other = {
        (subject.replace("sda", "sdb").replace("eth0", "eno1"), name): value
        for (subject, name), value in FACTS.items()
    }
    other |= {("cpu", "threads"): 48, ("kernel", "release"): "6.12.0", ("nic:eno1", "speed"): 100}
    other[("memory", "total")] = 248 * GIB  # a crash kernel
    assert hardware_of_facts(other) == hardware_of_facts(FACTS)
