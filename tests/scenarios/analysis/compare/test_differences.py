"""Fingerprints: what differs, what goes along with it, what cannot be attributed and how it would be split."""

from __future__ import annotations

from collections.abc import Mapping

from probes.types import Json
from scenarios.analysis.compare.differences import Fingerprints, compare_fingerprints
from scenarios.analysis.compare.effects import effects_between
from scenarios.analysis.compare.run_summary import FactKey
from tests.fakes.streams.takes import take

BASE: dict[FactKey, Json] = {
    ("kernel", "release"): "5.10.0-28-amd64",
    ("os", "name"): "Debian GNU/Linux 11 (bullseye)",
    ("mount:/data", "mount"): "ext4 on /dev/sda (rw)",
    ("disk:sda", "model"): "SAMSUNG MZ7L",
    ("mitigation", "retbleed"): "Not affected",
    ("memory", "available"): 12345,
}


def _compared(*sides: Mapping[FactKey, Json] | list[Mapping[FactKey, Json]]) -> Fingerprints:
    a, b = (
        [take({"syscall": 1000.0}, name=f"{s}{n}", facts=facts) for n, facts in enumerate(side)]
        for s, side in zip("ab", ([x] if isinstance(x, Mapping) else x for x in sides), strict=True)
    )
    return compare_fingerprints(a, b, effects_between(a, b, margin=0.05))


def test_nothing_differs() -> None:
    found = _compared(BASE, BASE | {("memory", "available"): 99})
    assert found.differences == () and found.attribution.word == "nothing differs" and found.same == 5


def test_a_kernel_alone_is_named_and_its_mitigations_go_along() -> None:
    found = _compared(
        BASE, BASE | {("kernel", "release"): "6.1.0-18-amd64", ("mitigation", "retbleed"): "Vulnerable"}
    )
    assert found.attribution.word == "one"
    assert found.attribution.components == ("kernel",) and found.attribution.along == ("mitigations",)


def test_kernel_and_file_system_and_disk_cannot_be_attributed() -> None:
    other = BASE | {
        ("kernel", "release"): "6.1.0-18-amd64",
        ("mount:/data", "mount"): "xfs on /dev/sda (rw)",
        ("disk:sda", "model"): "INTEL SSDSC2",
    }
    attribution = _compared(BASE, other).attribution
    assert attribution.word == "several"
    assert set(attribution.components) == {"kernel", "file system", "disk"}
    assert set(attribution.experiments) == set(attribution.components)


def test_what_moves_the_loads_that_moved_comes_first() -> None:
    facts = BASE | {("mitigation", "retbleed"): "Mitigation: IBRS", ("disk:sda", "model"): "INTEL SSDSC2"}
    a = [take({"syscall": 1000.0, "fsync-4k": 1000.0}, name="a", facts=BASE)]
    slow_calls = [take({"syscall": 300.0, "fsync-4k": 1000.0}, name="b", facts=facts)]
    slow_disk = [take({"syscall": 1000.0, "fsync-4k": 200.0}, name="b", facts=facts)]
    for b, first in ((slow_disk, "disk"), (slow_calls, "disk")):
        ranked = compare_fingerprints(a, b, effects_between(a, b, margin=0.05)).differences
        assert ranked[0].component == first  # a disk is known to move ten times as much ...
    ranked = compare_fingerprints(a, slow_calls, effects_between(a, slow_calls, margin=0.05)).differences
    quiet = compare_fingerprints(a, slow_disk, effects_between(a, slow_disk, margin=0.05)).differences
    mitigated = [next(d.rank for d in found if d.component == "mitigations") for found in (ranked, quiet)]
    assert mitigated[0] > mitigated[1]  # ... and what moves system calls counts more where these moved


def test_a_disk_that_only_one_side_has_is_one_difference() -> None:
    other = {k: v for k, v in BASE.items() if k[0] != "disk:sda"}
    found = _compared(BASE, other | {("disk:nvme0n1", "model"): "PM9A3", ("disk:nvme0n1", "size"): 1})
    assert [(d.subject, d.name) for d in found.differences] == [("disk:nvme0n1", ""), ("disk:sda", "")]
    assert found.attribution.components == ("disk",)


def test_what_varies_within_a_side_is_no_difference_between_them() -> None:
    governor = ("cpu", "governor")
    found = _compared(
        [BASE | {governor: "ondemand"}, BASE | {governor: "performance"}], BASE | {governor: "performance"}
    )
    assert found.differences == () and found.varying == ("cpu/governor",)


def test_what_one_side_did_not_record_is_unknown() -> None:
    """An older recording without sysctls does not differ in all of them."""
    found = _compared(BASE, BASE | {("sysctl", "vm.swappiness"): "10"})
    assert found.differences == () and found.unknown == ("sysctl/vm.swappiness",)


def test_what_could_not_be_read_is_unknown() -> None:
    a = [take({"syscall": 1.0}, name="a", facts=BASE)]
    facts = {k: v for k, v in BASE.items() if k != ("disk:sda", "model")} | {("disk:sda", "size"): 5}
    b = [take({"syscall": 1.0}, name="b", facts=facts, absent=[("disk:sda", "model")])]
    found = compare_fingerprints(a, b, [])
    assert found.unknown == ("disk:sda/model",)


def test_an_import_has_no_fingerprint() -> None:
    assert _compared(BASE, {}).attribution.word == "no fingerprint"


MEASURED: dict[FactKey, Json] = BASE | {
    ("directory", "file_system"): "ext4",
    ("directory", "disks"): ["disk sata SAMSUNG MZ7L"],
    ("directory", "devices"): ["sda", "sda1"],
    ("disk:sdb", "model"): "TOSHIBA MG08",
}


def test_a_disk_beside_the_measured_one_is_no_suspect() -> None:
    other = MEASURED | {
        ("disk:sdb", "model"): "INTEL SSDSC2",
        ("mount:/data", "mount"): "xfs on /dev/sdb (rw)",
    }
    found = _compared(MEASURED, other)
    assert found.attribution.word == "nothing differs" and len(found.differences) == 2
    assert _compared(MEASURED, MEASURED | {("disk:sda", "model"): "B"}).attribution.components == ("disk",)


def test_another_disk_under_the_measured_directory_is_one() -> None:
    nvme = {k: v for k, v in MEASURED.items() if k[0] != "disk:sda"} | {
        ("directory", "disks"): ["disk nvme PM9A3"],
        ("directory", "devices"): ["nvme0n1"],
        ("disk:nvme0n1", "model"): "PM9A3",
    }
    assert _compared(MEASURED, nvme).attribution.components == ("disk",)


def test_what_a_kernel_reckons_or_lacks_is_no_setting_that_changed() -> None:
    """As measured between 5.10 and 6.1 of one distribution on one machine, nothing set."""
    old = BASE | {("memory", "total"): 1011396608, ("sysctl", "kernel.threads-max"): "7354"}
    old |= {("sysctl", "kernel.sched_min_granularity_ns"): "750000"}
    new = BASE | {("memory", "total"): 1007341568, ("sysctl", "kernel.threads-max"): "7316"}
    new |= {("kernel", "release"): "6.1.0-56-amd64"}
    attribution = _compared(old, new).attribution
    assert (attribution.word, attribution.components) == ("one", ("kernel",))
    assert _compared(old, new | {("memory", "total"): 8 << 30}).attribution.word == "several"
    swapped = new | {("sysctl", "kernel.threads-max"): "100000"}
    assert "settings" in _compared(old, swapped).attribution.components


def test_mitigations_go_along_with_the_command_line_that_switched_them_off() -> None:
    off = BASE | {("kernel", "parameters"): "mitigations=off", ("mitigation", "retbleed"): "Vulnerable"}
    attribution = _compared(BASE | {("kernel", "parameters"): "none"}, off).attribution
    assert (attribution.components, attribution.along) == (("boot parameters",), ("mitigations",))
