"""What /proc/mdstat tells of arrays where sysfs was not captured."""

from __future__ import annotations

from pathlib import Path

from probes.reading.host import Host
from probes.system.disk.arrays import read_mdstat

TEXT = """Personalities : [raid1] [raid6]
md0 : active raid1 sdb1[1] sda1[0](F)
      1046528 blocks super 1.2 [2/1] [_U]

md1 : active raid6 sdc1[0] sdd1[1] sde1[2] sdf1[3]
      292945152 blocks super 1.2 level 6, 512k chunk [4/4] [UUUU]
      [==>..................]  recovery = 12.6% (37043392/292945152) finish=127.5min speed=33440K/sec

md2 : inactive sdg1[0](S)
unused devices: <none>
"""


def test_each_array_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/mdstat").write_text(TEXT)
    assert read_mdstat(Host(str(tmp_path))) == (("md0", 1, ""), ("md1", 0, "recovery"))


def test_without_the_file_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    assert read_mdstat(Host(str(tmp_path))) == ()
