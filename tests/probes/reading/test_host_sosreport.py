"""An unpacked sosreport stands for a host: files as they were, commands' outputs by their mangled names."""

from hostdx.probes.types import Absent
from tests.fakes.hosts.tree import Tree


def test_a_command_file_may_not_lead_out(tree: Tree) -> None:
    host = tree.link("/sos_commands/kernel/uname_-a", "/etc/hostname").host()
    assert isinstance(host.read_command("uname", "-a"), Absent)
