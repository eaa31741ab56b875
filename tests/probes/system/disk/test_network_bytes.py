"""What NFS moved, read from the mounts' statistics."""

from hostdx.probes.system.disk.mounts import nfs_bytes
from tests.fakes.hosts.tree import Tree

STATS = """device /dev/sda1 mounted on / with fstype ext4
device srv:/home mounted on /home with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2
\tbytes:\t900 20 400 3 1000 23 1 1
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
device srv:/data mounted on /data with fstype nfs4 statvers=1.1
\tbytes:\t0 0 0 0 5 0 0 0
device srv:/odd mounted on /odd with fstype nfs4 statvers=1.1
\tbytes:\t7
"""


def test_what_was_asked_of_the_servers_and_what_became_dirty(tree: Tree) -> None:
    assert nfs_bytes(tree.host()) == 0
    tree.put("/proc/self/mountstats", STATS)
    assert nfs_bytes(tree.host()) == 1000 + 20 + 3 + 5
