"""What triage says about trimming: one line a question, for disks that no rule would accuse too."""

from pathlib import Path

from hostdx.probes.types import UnreadFact
from hostdx.scenarios.fstrim.glance import MAX_FILE_SYSTEMS, glance
from tests.fakes.answering import Answering
from tests.fakes.hosts.facts import join_fact_name
from tests.fakes.hosts.tree import Tree

VDA = "/sys/devices/pci0000:00/0000:00:04.0/virtio1/block/vda"
UNIT = "/usr/lib/systemd/system/fstrim.timer"
ASK = "systemctl show fstrim.timer -p LoadState,ActiveState,UnitFileState,LastTriggerUSec"
ON = "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\nLastTriggerUSec=Mon 2026-11-16 00:13:11 UTC\n"


def texts(tree: Tree, systemctl: str = ON) -> dict[str, str]:
    texts = {}
    for entry in glance(Answering(tree.root, {ASK: systemctl})):
        if isinstance(entry, UnreadFact):
            texts[join_fact_name(entry)] = f"absent: {entry.absent.reason}"
        else:
            texts[join_fact_name(entry)] = str(entry.value)
    return texts


def virtual_disk(tmp_path: Path, options: str = "rw", cap: int = 1 << 30) -> Tree:
    tree = Tree(tmp_path).disk(VDA, "254:0", discard_max_bytes=cap, discard_granularity=4096, rotational=1)
    tree.put(UNIT, "[Timer]\nOnCalendar=weekly\n")
    tree.put("/proc/diskstats", " 254 0 vda 10 0 80 5 10 0 4194304 5 0 9 10 3 0 6291456 0 0 0\n")
    return tree.put("/proc/self/mountinfo", f"30 1 254:0 / /data rw - ext4 /dev/vda {options}\n")


def test_nobody_trims_it_and_why(tmp_path: Path) -> None:
    tree = virtual_disk(tmp_path).put("/etc/fstab", "/dev/vdb / ext4 defaults 0 1\n")
    assert texts(tree)["trim.vda.by"].startswith("nobody: it is not in /etc/fstab")
    assert texts(tree.put("/etc/cron.daily/t", "fstrim -v /data\n"))["trim.vda.by"] == "/etc/cron.daily/t"


def test_what_swallows_discards_ends_it_there(tmp_path: Path) -> None:
    facts = texts(virtual_disk(tmp_path, cap=0))
    assert facts["trim.vda.way"].endswith("; vda (disk) takes no discards")
    assert set(facts) == {"trim.timer", "trim.vda.way"}


def test_online_discard_is_a_trimmer(tmp_path: Path) -> None:
    off = "LoadState=not-found\nActiveState=inactive\nUnitFileState=\nLastTriggerUSec=\n"
    facts = texts(virtual_disk(tmp_path, "rw,discard"), off)
    assert facts["trim.timer"] == "none runs here" and facts["trim.vda.by"] == "discard"


def test_hundreds_of_volumes_do_not_fill_the_screen(tmp_path: Path) -> None:
    tree, lines = virtual_disk(tmp_path), []
    for number in range(MAX_FILE_SYSTEMS + 3):
        tree.disk(f"/sys/devices/virtual/block/dm-{number}", f"253:{number}", discard_max_bytes=4096)
        lines.append(f"3{number} 1 253:{number} / /v{number} rw - xfs /dev/dm-{number} rw\n")
    facts = texts(tree.put("/proc/self/mountinfo", "".join(lines)))
    assert facts["trim.more"] == "3 more file systems"
    assert sum(name.endswith(".way") for name in facts) == MAX_FILE_SYSTEMS
